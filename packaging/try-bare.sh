#!/usr/bin/env bash
# Tries the two commands of the README where nothing is installed: in a fresh Debian of the given suite.
#
#   packaging/try-bare.sh SUITE [--worktree]
#
# SUITE is bookworm, trixie, …; the mirror is the one that this machine's apt uses. Tries the commit that is checked
# out, or with --worktree the files as they are now. Needs root, debootstrap and git. Leaves nothing behind.
set -euo pipefail

# Seconds, for each of the two.
limit=900

die() {
    printf 'try-bare: %s\n' "$*" >&2
    exit 1
}

suite=${1-} source=${2---commit}
if [[ ! $suite =~ ^[a-z]+$ || $source != --@(commit|worktree) || $# -gt 2 ]]; then
    echo 'usage: try-bare.sh SUITE [--worktree]' >&2
    exit 64
fi
((EUID == 0)) || die 'needs root, for debootstrap and chroot'
PATH=$PATH:/usr/sbin:/sbin
for program in debootstrap git unshare; do
    command -v "$program" >/dev/null || die "needs $program"
done
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

# shellcheck disable=SC2016 # for apt
mirror=$(apt-get indextargets --format '$(REPO_URI)' \
    'Identifier: Packages' 'Component: main' 'Origin: Debian' 'Label: Debian' | sed '/^cdrom:/d')
mirror=${mirror%%$'\n'*}
[[ -n $mirror ]] || die "apt has no Debian entry (apt-get update may help)"

work=$(mktemp -d)
chmod 755 "$work"
root=$work/root
namespace=
# Mounts are made in a namespace of their own, so rm meets none.
# shellcheck disable=SC2317 # called by the trap
cleanup() {
    if [[ -n $namespace ]]; then
        kill -KILL "$namespace" 2>/dev/null || true
        wait "$namespace" 2>/dev/null || true
    fi
    rm -rf --one-file-system "$work"
}
trap cleanup EXIT
trap 'exit 1' HUP INT TERM

echo "try-bare: making a bare $suite" >&2
debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$work/log" 2>&1 || {
    cat "$work/log" >&2
    die 'debootstrap failed'
}

# How this machine reaches its mirror: proxies, certificates, names.
apt-config dump | grep -E '^Acquire::(http|https|Check|Proxy|Retries)' >"$root/etc/apt/apt.conf.d/90this-machine" || true
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
if [[ $mirror == https:* && -e /etc/ssl/certs/ca-certificates.crt ]]; then
    install -D -m 644 -t "$root/etc/ssl/certs" /etc/ssl/certs/ca-certificates.crt
fi
environment=(HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "TERM=${TERM:-dumb}")
for name in http_proxy https_proxy ftp_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
    [[ -z ${!name-} ]] || environment+=("$name=${!name}")
done

if [[ $source == --worktree ]]; then
    mkdir "$root/root/rlock"
    # Also what is new, but not what is ignored; a file that was deleted and not committed is listed and not there.
    git ls-files -z --cached --others --exclude-standard |
        while IFS= read -r -d '' file; do [[ ! -e $file ]] || printf '%s\0' "$file"; done |
        tar --create --null --files-from=- | tar --extract --no-same-owner --directory="$root/root/rlock"
else
    git clone --quiet --no-local . "$root/root/rlock"
fi

# First process of its pid namespace: when it ends, all others there do, whatever the tests left running.
cat >"$root/root/try" <<'END'
mount -t proc proc /proc
cd /root/rlock
status=0
for script in packaging/quickstart.sh tests/run.sh; do
    SECONDS=0
    result=passed
    timeout --kill-after=10 "$1" bash "$script" </dev/null || result="failed with status $?" status=1
    report+="try-bare: $script $result in $SECONDS s"$'\n'
done
printf '\n%s' "$report"
exit "$status"
END
# In the background, since only then does a signal find this shell listening.
# shellcheck disable=SC2016 # for the inner shell
unshare --mount --pid --fork --kill-child bash -c '
    mount --bind "$1" "$1" && mount --rbind /dev "$1/dev" && exec chroot "$1" /usr/bin/env -i "${@:3}" bash /root/try "$2"
' bash "$root" "$limit" "${environment[@]}" &
namespace=$!
status=0
wait "$namespace" || status=$?
namespace=
exit "$status"
