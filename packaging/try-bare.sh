#!/usr/bin/env bash
# Tries the two commands of the README where nothing is installed: in a fresh Debian of the given suite.
#
#   packaging/try-bare.sh [--sudo] SUITE [--worktree | --binary FILE]
#
# SUITE is bookworm, trixie, …; the mirror is the one that this machine's apt uses. Tries the commit that is checked
# out, or with --worktree the files as they are now. --binary FILE: also the files as they are now, but only the tests, and
# with this rlock (that of packaging/release.sh) in place of one that is built there. --sudo: as an ordinary user who may use sudo, not
# as root. Needs root, debootstrap and git. Leaves nothing behind.
# BARE_ROOTS: see packaging/bare.bash.
set -euo pipefail

# Seconds, for each of the two.
limit=4000

user=root
if [[ ${1-} == --sudo ]]; then user=ann && shift; fi
suite=${1-} source=${2---commit}
arguments=2
[[ $source != --binary ]] || arguments=3
if [[ ! $suite =~ ^[a-z]+$ || $source != --@(commit|worktree|binary) || ($# -ne 1 && $# -ne arguments) ]]; then
    echo 'usage: try-bare.sh [--sudo] SUITE [--worktree | --binary FILE]' >&2
    exit 64
fi
binary=
[[ $source != --binary ]] || binary=$(realpath -e -- "$3")
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
. packaging/bare.bash
command -v git >/dev/null || die 'needs git'
make_root "$suite"

home=/root
if [[ $user != root ]]; then
    home=/home/$user
    cat >"$root/make_user" <<END
apt-get update -qq && apt-get install -y -qq --no-install-recommends sudo >/dev/null
useradd --create-home --shell /bin/bash $user
echo "$user ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/$user
END
    in_root /make_user
fi

checkout=$root$home/rlock
if [[ $source != --commit ]]; then
    mkdir "$checkout"
    # Also what is new, but not what is ignored; a file that was deleted and not committed is listed and not there.
    git ls-files -z --cached --others --exclude-standard |
        while IFS= read -r -d '' file; do [[ ! -e $file ]] || printf '%s\0' "$file"; done |
        tar --create --null --files-from=- | tar --extract --no-same-owner --directory="$checkout"
else
    git clone --quiet --no-local . "$checkout"
fi

scripts=(packaging/quickstart.sh tests/run.sh)
if [[ -n $binary ]]; then
    install -D -m 755 -T "$binary" "$root/opt/release/rlock"
    scripts=('tests/run.sh --rlock /opt/release/rlock')
fi

chown -R --reference="$root$home" "$checkout"

cat >"$root/try" <<'END'
cd ~/rlock
status=0
for script in "${@:2}"; do
    SECONDS=0
    result=passed
    # shellcheck disable=SC2086 # with its arguments
    timeout --kill-after=10 "$1" bash $script </dev/null || result="failed with status $?" status=1
    report+="try-bare: $script $result in $SECONDS s"$'\n'
done
printf '\n%s' "$report"
exit "$status"
END
cat >"$root/as_user" <<END
exec setpriv --reuid $user --regid $user --init-groups env HOME=$home USER=$user LOGNAME=$user bash "\$@"
END
in_root /as_user /try "$limit" "${scripts[@]}"
