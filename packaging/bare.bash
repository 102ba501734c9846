# shellcheck shell=bash
# A bare Debian in a directory that is gone when the script ends: what try-bare.sh and try-deb.sh share, which source this.
# Needs root and debootstrap. BARE_ROOTS may name a directory: fresh roots are kept there as SUITE.tar, and taken from there.

PATH=$PATH:/usr/sbin:/sbin

die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

((EUID == 0)) || die 'needs root, for debootstrap and chroot'
for program in debootstrap unshare; do
    command -v "$program" >/dev/null || die "needs $program"
done

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

# make_root SUITE: fills $root from the mirror that this machine's apt uses, and tells the apt in there how to reach it.
make_root() {
    local suite=$1 mirror name tar=${BARE_ROOTS:+$BARE_ROOTS/$1.tar}
    # shellcheck disable=SC2016 # for apt
    mirror=$(apt-get indextargets --format '$(REPO_URI)' \
        'Identifier: Packages' 'Component: main' 'Origin: Debian' 'Label: Debian' | sed '/^cdrom:/d')
    mirror=${mirror%%$'\n'*}
    [[ -n $mirror ]] || die 'apt has no Debian entry (apt-get update may help)'

    echo "${0##*/}: making a bare $suite" >&2
    mkdir "$root"
    if [[ -n $tar && -e $tar ]]; then
        tar --extract --numeric-owner --preserve-permissions --directory="$root" --file="$tar"
    else
        debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$work/log" 2>&1 || {
            cat "$work/log" >&2
            die 'debootstrap failed'
        }
        [[ -z $tar ]] || { tar --create --numeric-owner --directory="$root" --file="$tar.$$" . && mv "$tar.$$" "$tar"; }
    fi

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
}

# in_root SCRIPT ARGUMENT...: runs it with bash in there, with /proc and /dev; returns its status. The first process of a pid
# namespace: when it ends, all others there do, whatever it left running.
in_root() {
    local status=0
    # In the background, since only then does a signal find this shell listening.
    # shellcheck disable=SC2016 # for the inner shell
    unshare --mount --pid --fork --kill-child bash -c '
        mount --bind "$1" "$1" && mount --rbind /dev "$1/dev" && mount -t proc proc "$1/proc" &&
            exec chroot "$1" /usr/bin/env -i "${@:4:$2}" bash "$3" "${@:4+$2}"
    ' bash "$root" "${#environment[@]}" "$1" "${environment[@]}" "${@:2}" &
    namespace=$!
    wait "$namespace" || status=$?
    namespace=
    return "$status"
}
