#!/usr/bin/env bash
# Tries the package where nothing else is installed: in a fresh Debian of the given suite. Ends with N passed, N failed.
#
#   packaging/try-deb.sh SUITE FILE.deb
#
# Installs it, runs it as root, as cron would and as an ordinary user, looks for its manual and completions, upgrades it beside
# the administrator's configuration, and removes it. SUITE is bookworm, trixie, …; the mirror is the one that this machine's apt
# uses. Needs root and debootstrap. Leaves nothing behind. BARE_ROOTS: see packaging/bare.bash.
set -euo pipefail

suite=${1-} package=${2-}
if [[ ! $suite =~ ^[a-z]+$ || ! -e $package || $# != 2 ]]; then
    echo 'usage: try-deb.sh SUITE FILE.deb' >&2
    exit 64
fi
package=$(realpath -e -- "$package")
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
. packaging/bare.bash
make_root "$suite"
mkdir "$root/srv/try"
cp "$package" "$root/srv/try/rlock.deb"

cat >"$root/srv/try/try.bash" <<'END'
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
version=$1
cd /srv/try
passed=0 failed=0

# is NAME COMMAND...: one of the tests.
is() {
    local name=$1
    shift
    if "$@" >said 2>&1 </dev/null; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAILED: %s\n' "$name"
        cat said
    fi
}
fatal() {
    printf 'try-deb: %s\n' "$*" >&2
    cat log >&2
    exit 1
}
installed() { dpkg-query -W -f '${Package}\n' | sort; }
# All files but what apt, dpkg and man keep for themselves.
files() {
    find / -xdev \( -path /proc -o -path /dev -o -path /srv/try -o -path /var/cache -o -path /var/lib/apt \
        -o -path /var/lib/dpkg -o -path /var/log -o -path /tmp -o -path /run \) -prune -o -print | sort
}
as_user() { setpriv --reuid ann --regid ann --init-groups env HOME=/home/ann "$@"; }
until_true() {
    local end=$((SECONDS + 10))
    until "$@" >/dev/null 2>&1; do
        ((SECONDS < end)) || return 1
        sleep 0.05
    done
}

# What is used beside it, so that what comes later is the package alone. No service starts in here.
printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
chmod 755 /usr/sbin/policy-rc.d
apt-get update >log 2>&1 || fatal 'apt-get update failed'
apt-get install -y --no-install-recommends redis-server man-db bash-completion zsh fish >log 2>&1 || fatal 'apt-get failed'
useradd --create-home ann
useradd bob
installed >packages.before
files >files.before

apt-get install -y --no-install-recommends ./rlock.deb >log 2>&1 || fatal 'the package cannot be installed'
is 'it brings no other package' diff <(installed | grep -vx rlock) packages.before
is 'no compiler is there' bash -c 'for program in cc c++ cmake ld; do ! command -v $program || exit; done'
is 'dpkg finds its files as they were packed' bash -c '[ -z "$(dpkg --verify rlock)" ]'
is 'the version' [ "$(rlock --version | head -n 1)" = "rlock $version" ]
is 'where the PATH of cron finds it' env -i PATH=/usr/bin:/bin sh -c '[ "$(command -v rlock)" = /usr/bin/rlock ]'
is 'the manual' man -w rlock
is 'the manual of the file' man -w 5 rlock.conf
is 'the manual is readable' bash -c 'man rlock | col -b | grep -q "^ *rlock run"'
is 'bash completes it' bash -c '. /usr/share/bash-completion/bash_completion; _completion_loader rlock; complete -p rlock'
is 'zsh completes it' zsh -fc 'autoload -U compinit; compinit -D; [[ ${_comps[rlock]} == _rlock ]]'
is 'fish completes it' bash -c 'HOME=/srv/try fish -c "complete -C \"rlock rel\"" | grep -q ^release'
is 'the documents' ls /usr/share/doc/rlock/{copyright,changelog.gz,README.md,examples/rlock.conf}
is 'no configuration that only root can read' test ! -e /etc/rlock.conf

redis-server --port 0 --unixsocket /srv/try/redis.sock --unixsocketperm 777 --save '' >redis.log 2>&1 &
redis=$!
until_true redis-cli -s redis.sock ping || fatal 'redis-server does not answer'
url=unix:///srv/try/redis.sock
is 'it locks on a server' env -i PATH=/usr/bin:/bin RLOCK_SERVER=$url rlock run key -- true
is 'a job finds the lock held' env RLOCK_SERVER=$url bash -c 'rlock run key -- rlock status key --exit-code -q'
is 'an ordinary user who names no server is told of the server' bash -c '[ "$1" = 69 ]' bash \
    "$(as_user rlock run -n --connect-timeout 1ms key -- true >/dev/null 2>&1; echo $?)"
is 'an ordinary user names a server' as_user env RLOCK_SERVER=$url rlock run key -- true
is 'and that says nothing that cron would mail' bash -c '[ ! -s said ]'
is 'the server of an ordinary user' as_user rlock --server local run key -- true

# The administrator's own, with the password of a server: an upgrade and a removal leave it alone.
install -m 640 -g ann /usr/share/doc/rlock/examples/rlock.conf /etc/rlock.conf
printf 'server = %s\n' "$url" >>/etc/rlock.conf
is 'the configuration counts' rlock run key -- true
is 'whose group may read it, locks there too' as_user rlock run -q key -- true
is 'who may not read it gets an error' bash -c '[ "$1" = 78 ]' bash \
    "$(setpriv --reuid bob --regid bob --init-groups rlock status >/dev/null 2>&1; echo $?)"
dpkg-deb --raw-extract rlock.deb newer
sed -i "s/^Version: .*/Version: $version+1/" newer/DEBIAN/control
dpkg-deb --root-owner-group --build newer newer.deb >log 2>&1 || fatal 'dpkg-deb failed'

# Held by the older rlock, which is upgraded and then removed while it runs.
mkfifo go
as_user rlock --server local run held -- cat go >held.out 2>&1 &
holder=$!
until_true as_user rlock --server local status held --exit-code
is 'an upgrade' dpkg --install newer.deb
is 'an upgrade keeps the configuration' grep -qx "server = $url" /etc/rlock.conf
is 'an upgrade keeps who may read it' [ "$(stat -c '%a %U %G' /etc/rlock.conf)" = '640 root ann' ]

cp /usr/bin/rlock ./rlock
is 'it is removed' apt-get remove -y rlock
is 'removed, the configuration stays' test -e /etc/rlock.conf
is 'removed, nothing else stays' diff <(files | grep -vx /etc/rlock.conf) files.before
is 'a lock held before is still held' as_user ./rlock --server local status held --exit-code
is 'removed, dpkg knows nothing of it' bash -c '! dpkg-query -W rlock'
echo >go
is 'and who held a lock ends well' wait "$holder"
kill "$redis"
echo "$passed passed, $failed failed"
((failed == 0))
END
in_root /srv/try/try.bash "$(dpkg-deb --field "$package" Version)"
