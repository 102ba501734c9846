# What the packages of a given binary share. Sourced by debian.sh, rpm.sh and image.sh.
# shellcheck shell=bash

die() {
    printf '%s: %s\n' "$(basename "$0" .sh)" "$*" >&2
    exit 1
}

# read_arguments [--binary FILE] [--output DIR]: sets binary and output, which stay empty where they are not given.
read_arguments() {
    binary='' output=
    while (($# > 0)); do
        case $1 in
            --binary) binary=$(realpath -e -- "${2:?--binary wants a FILE}") || exit ;;
            --output) output=$(realpath -e -- "${2:?--output wants a DIR}") || exit ;;
            *)
                echo "usage: ${0##*/} [--binary FILE] [--output DIR]" >&2
                exit 64
                ;;
        esac
        shift 2
    done
}

# begin_package PROGRAM...: dies where a PROGRAM is not there. Goes to the top folder; sets version; epoch, which is what the
# times in a package are: SOURCE_DATE_EPOCH, or else that of the commit; work, a directory that ends with the script; and
# output, the directory where the package lands.
begin_package() {
    local program
    cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
    for program; do
        command -v "$program" >/dev/null || die "there is no $program; packaging/install-deps.sh package installs it"
    done
    umask 022
    version=$(<VERSION)
    # git hides the commit from whoever does not own the files, such as root in a container.
    epoch=${SOURCE_DATE_EPOCH:-$(git -c safe.directory="$PWD" log -1 --format=%ct 2>/dev/null || stat -c %Y VERSION)}
    export SOURCE_DATE_EPOCH=$epoch LC_ALL=C.UTF-8 TZ=UTC
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    trap 'exit 1' HUP INT TERM
    mkdir -p "${output:=$PWD/build}"
}

# build_binary: sets binary to one of packaging/release.sh, unless one was given.
build_binary() {
    [[ -z $binary ]] || return 0
    bash packaging/release.sh --binary-only --out "$work" x86_64 >&2
    binary=$work/rlock-$version-x86_64-linux/rlock
}

# processor_of BINARY: amd64 or arm64, as Debian and images call it.
processor_of() {
    case $(readelf --file-header "$1" 2>/dev/null | sed -n 's/^ *Machine: *//p') in
        *X86-64) echo amd64 ;;
        AArch64) echo arm64 ;;
        *) die "$1 is not a program for x86_64 or aarch64" ;;
    esac
}

# libc_of BINARY: glibc or musl.
libc_of() {
    # The only text that every glibc has.
    if grep -q GLIBC_TUNABLES "$1"; then echo glibc; else echo musl; fi
}

# copyright_of BINARY: who has the rights to what is linked into it, as Debian writes that.
copyright_of() { cat packaging/debian/copyright "packaging/debian/copyright.$(libc_of "$1")"; }

# spdx_of BINARY: the same as an SPDX expression.
spdx_of() {
    local of_libc='Apache-2.0 WITH LLVM-exception'
    [[ $(libc_of "$1") == musl ]] || of_libc='Zlib AND LGPL-2.1-or-later AND GPL-3.0-or-later WITH GCC-exception-3.1'
    echo "MIT AND BSD-3-Clause AND Apache-2.0 AND $of_libc"
}

# put_licenses BINARY DIR: also the texts of the libraries' licenses, which a release has beside BINARY.
put_licenses() {
    install -D -m 644 LICENSE "$2/LICENSE"
    copyright_of "$1" >"$2/copyright"
    [[ ! -d $(dirname "$1")/licenses ]] || cp -r "$(dirname "$1")/licenses/." "$2/"
}

# stage ROOT [-DNAME=VALUE...]: what every package has below ROOT/usr. The definitions are for cmake.
stage() {
    local root=$1
    # All but the binary, from a configuration of its own: what somebody has set for hers must not reach the package.
    {
        cmake -S . -B "$work/build" -G 'Unix Makefiles' -DRLOCK_DATA_ONLY=ON -DCMAKE_INSTALL_PREFIX=/usr "${@:2}" &&
            DESTDIR=$root cmake --install "$work/build" --component data
    } >"$work/log" 2>&1 || die "cmake --install failed: $(<"$work/log")"
    gzip -9n "$root"/usr/share/man/man?/*
    install -D -m 755 "$binary" "$root/usr/bin/rlock"
    # That of a release is stripped, and stays as it is, whatever this strip would make of it.
    [[ $(readelf --section-headers --wide "$binary") == *'] .'@(symtab|debug)* ]] || return 0
    # The strip of another processor's machine may not know this one.
    strip --strip-unneeded --remove-section=.comment --remove-section=.note "$root/usr/bin/rlock" 2>/dev/null ||
        [[ $(processor_of "$binary") != "$(processor_of "$BASH")" ]] || die "cannot strip $binary"
}

# set_times DIR: the same for everybody who packs it.
set_times() { find "$1" -exec touch --no-dereference --date="@$epoch" {} +; }
