#!/usr/bin/env bash
# Makes what people download: a tar file for each processor, with one static rlock for every Linux, its man pages, completions,
# licenses, documents and examples; a Debian package and an rpm of the same rlock; an image for containers, of all processors;
# rlock-VERSION.cdx.json, which names what is inside for programs that look for holes (CycloneDX); and SHA256SUMS.
# packaging/README.md says how a release is cut, and checked by somebody else.
#
#   packaging/release.sh [--out DIR] [--cache DIR] [--binary-only] [--without-security] [ARCH...]
#
# ARCH: x86_64, aarch64; default both. DIR: build/release-files, and ~/.cache/rlock-release for what a second run need not
# build again. --binary-only: just DIR/rlock-VERSION-ARCH-linux/rlock, with no package around it.
# --without-security: to try a build behind a mirror that lacks Debian's security suites; nothing to give away.
#
# The same sources give the same bytes, wherever and by whomever they are built: the time that is noted in the tar file is
# SOURCE_DATE_EPOCH, by default that of the commit. SOURCES in the tar file names the version of everything inside.
# Runs on Debian and Ubuntu on x86_64; docs/decisions/musl-release.md says why it builds as it does.
set -euo pipefail

# Debian's source packages, which apt checks, each from a suite that Debian still mends, and as its security suite has it where
# that is newer. A release is made anew when one of them is mended (SECURITY.md).
packages=(openssl/trixie hiredis/trixie c-ares/trixie http-parser/trixie cli11/bookworm nlohmann-json3/bookworm)

# What rlock does not use of OpenSSL. TLS 1.2 and 1.3 are there with all that a certificate may ask for, but without DHE:
# who has that has ECDHE.
openssl_without=(
    no-shared no-pic no-apps no-docs no-tests no-module no-dso no-engine no-legacy no-async no-autoload-config no-ui-console
    no-ssl3 no-tls1 no-tls1_1 no-dtls no-quic no-comp no-srp no-srtp no-nextprotoneg no-cms no-ts no-ct no-cmp no-ocsp no-http
    no-rfc3779 no-idea no-rc2 no-rc4 no-bf no-cast no-camellia no-seed no-aria no-sm2 no-sm3 no-sm4 no-mdc2 no-md4 no-rmd160
    no-whirlpool no-siphash no-scrypt no-blake2 no-argon2 no-gost no-ec2m no-dsa no-slh-dsa no-ml-dsa no-dh no-des
    no-cmac no-ocb no-siv no-psk no-multiblock no-integrity-only-ciphers no-tls-deprecated-ec no-thread-pool
    no-default-thread-pool no-tfo no-dgram no-atexit no-deprecated
)
# Small, since what a short run costs is mostly the pages that it touches, after a boot from the disk.
# No exception passes through C, so it needs no tables for that.
c_flags='-Os -fomit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-pie -fno-pic -ffunction-sections'
c_flags+=' -fdata-sections -fstack-protector-strong'

die() {
    printf 'release: %s\n' "$*" >&2
    exit 1
}

# Silent, unless the command fails: then all it said.
quietly() {
    "$@" >"$work/log" 2>&1 </dev/null && return
    cat "$work/log" >&2
    die "failed: $*"
}

usage() {
    echo 'usage: release.sh [--out DIR] [--cache DIR] [--binary-only] [--without-security] [x86_64] [aarch64]' >&2
    exit 64
}

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=packaging/sources.sh
. "$root/packaging/sources.sh"

out=$root/build/release-files cache=${XDG_CACHE_HOME:-$HOME/.cache}/rlock-release
binary_only='' without_security='' architectures=()
while (($# > 0)); do
    case $1 in
        --out) out=${2:?--out wants a directory} && shift ;;
        --cache) cache=${2:?--cache wants a directory} && shift ;;
        --binary-only) binary_only=yes ;;
        --without-security) without_security=yes ;;
        x86_64 | aarch64) architectures+=("$1") ;;
        *) usage ;;
    esac
    shift
done
((${#architectures[@]} > 0)) || architectures=(x86_64 aarch64)
[[ $(uname -m) == x86_64 ]] || die 'the compiler that packaging/zig.txt names runs on x86_64'

bash "$root/packaging/install-deps.sh" release
version=$(head -n 1 "$root/VERSION")
# git hides the commit from whoever does not own the files, such as root in a container.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" -c safe.directory="$root" log -1 --format=%ct 2>/dev/null ||
    stat -c %Y "$root/VERSION")}
export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC
umask 022
mkdir -p "$out" "$cache"
out=$(realpath "$out") cache=$(realpath "$cache")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
# Two at once would build the same things.
exec 9>"$cache/lock"
flock 9

# The compiler: a directory for each version of zig.txt.
install_zig() {
    local name
    name=$(sha256sum "$root/packaging/zig.txt")
    zig=$cache/zig-${name::16}
    [[ ! -x $zig/ziglang/zig ]] || return 0
    echo 'release: fetching the compiler' >&2
    quietly python3 -m pip download --quiet --no-deps --require-hashes --only-binary=:all: --dest "$work" \
        --requirement "$root/packaging/zig.txt"
    rm -rf "$zig"
    quietly python3 -m zipfile --extract "$work"/ziglang-*.whl "$work/zig"
    chmod +x "$work/zig/ziglang/zig"
    mv "$work/zig" "$zig"
}

# make_tools ARCH: cc, c++, ar and ranlib for it, first in the path, by names that tell nothing of this machine: OpenSSL
# notes the name of its compiler. It does not tell its version either: for an assembler that it does not know, OpenSSL
# leaves out what needs AVX, 0.9 MB for large amounts of data. AES, GCM and ChaCha keep those for AES-NI and SSE.
make_tools() {
    local tool arguments
    mkdir -p "$work/tools-$1"
    for tool in cc c++ ar ranlib; do
        arguments=("$zig/ziglang/zig" "$tool")
        [[ $tool != c* ]] ||
            arguments+=(-target "$1-linux-musl" "-ffile-prefix-map="{"$work","$root","$cache"}"=.")
        printf '#!/bin/bash\n[[ $* != -v ]] || exit 0\nexec %s "$@"\n' "${arguments[*]@Q}" >"$work/tools-$1/musl-$tool"
        chmod +x "$work/tools-$1/musl-$tool"
    done
}

with_tools() {
    PATH=$work/tools-$arch:$PATH CC=musl-cc CXX=musl-c++ AR=musl-ar RANLIB=musl-ranlib \
        ZIG_GLOBAL_CACHE_DIR=$cache/zig-cache ZIG_LOCAL_CACHE_DIR=$cache/zig-cache quietly "$@"
}

cmake_for_target() {
    with_tools cmake -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="$arch" \
        -DCMAKE_C_COMPILER=musl-cc -DCMAKE_CXX_COMPILER=musl-c++ -DCMAKE_AR="$work/tools-$arch/musl-ar" \
        -DCMAKE_RANLIB="$work/tools-$arch/musl-ranlib" "$@"
}

build_openssl() {
    cd "$work/$arch/openssl"
    # shellcheck disable=SC2086 # words
    with_tools perl Configure "linux-$arch" --prefix=/usr --libdir=lib --openssldir=/etc/ssl "${openssl_without[@]}" $c_flags
    with_tools make -j"$(nproc)" build_libs
    # It notes its own prefix.
    with_tools make DESTDIR="$work/$arch/openssl-installed" install_dev
    cp -r "$work/$arch/openssl-installed/usr/." "$1"
}

build_hiredis() {
    cd "$work/$arch/hiredis"
    with_tools make -j"$(nproc)" OPTIMIZATION="$c_flags" DEBUG_FLAGS= REAL_CFLAGS="-std=c99 $c_flags" static
    with_tools make PREFIX="$1" pkgconfig
    install -D -m 644 -t "$1/include/hiredis" ./*.h
    install -D -m 644 -t "$1/lib" libhiredis.a
    install -D -m 644 -t "$1/lib/pkgconfig" hiredis.pc
}

build_c-ares() {
    cd "$work/$arch/c-ares"
    # The last four: how musl declares these calls, which it would find out by a thousand compilations.
    CFLAGS=$c_flags with_tools ./configure --host="$arch-linux-musl" --prefix="$1" --disable-shared --enable-static \
        --disable-tests --disable-libgcc \
        curl_cv_func_recv_args='int,void *,size_t,int,ssize_t' curl_cv_func_send_args='int,const void *,size_t,int,ssize_t' \
        curl_cv_func_recvfrom_args='int,void *,size_t,int,struct sockaddr *,socklen_t *,ssize_t' \
        curl_cv_func_getnameinfo_args='const struct sockaddr *,socklen_t,socklen_t,int'
    with_tools make -j"$(nproc)" -C include
    with_tools make -j"$(nproc)" -C src/lib install
    install -D -m 644 -t "$1/lib/pkgconfig" libcares.pc
    install -D -m 644 -t "$1/include" include/ares*.h
}

build_http-parser() {
    cd "$work/$arch/http-parser"
    # shellcheck disable=SC2086 # words
    with_tools musl-cc $c_flags -c http_parser.c
    install -d "$1/include" "$1/lib"
    with_tools musl-ar rcs "$1/lib/libhttp_parser.a" http_parser.o
    install -m 644 -t "$1/include" http_parser.h
}

build_cli11() {
    cmake_for_target -S "$work/$arch/cli11" -B "$work/$arch/cli11-build" -DCMAKE_INSTALL_PREFIX="$1" \
        -DCLI11_BUILD_TESTS=OFF -DCLI11_BUILD_EXAMPLES=OFF -DCLI11_BUILD_DOCS=OFF
    quietly cmake --install "$work/$arch/cli11-build"
}

build_nlohmann-json3() {
    cmake_for_target -S "$work/$arch/nlohmann-json3" -B "$work/$arch/json-build" -DCMAKE_INSTALL_PREFIX="$1" \
        -DJSON_BuildTests=OFF
    quietly cmake --install "$work/$arch/json-build"
}

# Sets prefix: a directory with the libraries for $arch. Its name is made of all that its contents depend on.
build_libraries() {
    local name package
    name=$({
        declare -p arch files openssl_without c_flags
        declare -f make_tools build_openssl build_hiredis build_c-ares build_http-parser build_cli11 build_nlohmann-json3 build_libraries
        cat "$root/packaging/zig.txt"
    } | sha256sum)
    prefix=$cache/$arch-${name::16}
    [[ ! -d $prefix ]] || return 0
    mkdir -p "$work/$arch/prefix"
    for package in "${packages[@]}"; do
        echo "release: building ${package%/*} for $arch" >&2
        extract_source "$package" "$work/$arch/${package%/*}"
        "build_${package%/*}" "$work/$arch/prefix"
        install -D -m 644 -t "$work/$arch/prefix/licenses/${package%/*}" \
            "$(find "$work/$arch/${package%/*}" -maxdepth 1 \( -iname 'LICENSE*' -o -iname 'COPYING*' \) -type f | sort | head -n 1)"
    done
    install -D -m 644 -T "$zig/ziglang/lib/libc/musl/COPYRIGHT" "$work/$arch/prefix/licenses/musl/COPYRIGHT"
    install -D -m 644 -T "$zig/ziglang/lib/libcxx/LICENSE.TXT" "$work/$arch/prefix/licenses/libc++/LICENSE.TXT"
    # The .pc files find their prefix by where they are, and musl has all of libdl in libc.
    sed -i -E "s|^prefix=.*|prefix=\${pcfiledir}/../..|; s|$work/$arch/prefix|\${prefix}|; /^Libs.private:/d" "$work/$arch"/prefix/lib/pkgconfig/*.pc
    mv "$work/$arch/prefix" "$prefix"
}

build_rlock() {
    local at=CMAKE_FIND_ROOT_PATH
    mkdir -p "$work/$arch"
    PKG_CONFIG_LIBDIR=$prefix/lib/pkgconfig cmake_for_target -S "$root" -B "$work/$arch/rlock" \
        -DCMAKE_PREFIX_PATH="$prefix" -D$at="$prefix" -D${at}_MODE_PACKAGE=ONLY -D${at}_MODE_LIBRARY=BOTH \
        -D${at}_MODE_INCLUDE=ONLY -DCMAKE_CXX_FLAGS="-fno-pic -DRLOCK_MUSL_VERSION=$musl" \
        -DCMAKE_EXE_LINKER_FLAGS=-s
    with_tools cmake --build "$work/$arch/rlock" --target rlock
}

# pack: a tar file and the packages of what was built for $arch; the binary, with the licenses beside it, joins binaries.
pack() {
    local name=rlock-$version-$arch-linux made=$work/made
    if [[ -n $binary_only ]]; then
        install -D -m 755 -T "$work/$arch/rlock/rlock" "$out/$name/rlock"
        return
    fi
    install -D -m 755 -T "$work/$arch/rlock/rlock" "$made/$name/rlock"
    cd "$root"
    quietly cmake --install "$work/$arch/rlock" --component data --prefix "$work/$arch/data"
    cp -a "$work/$arch/data/share/doc/rlock/." "$made/$name/"
    install -D -m 644 -t "$made/$name" packaging/examples/rlock.conf packaging/rlock@.service
    install -D -m 644 -t "$made/$name/man" man/*
    install -D -m 644 -t "$made/$name/completions" completions/*
    cp -r "$prefix/licenses" "$made/$name/"
    printf '%s\n' "rlock $version, built by packaging/release.sh${without_security:+ --without-security} of these:" "$files" \
        >"$made/$name/SOURCES"
    (cd "$made/$name" && find . -type f ! -name SHA256SUMS -printf '%P\0' | sort -z | xargs -0 sha256sum >"$work/sums" &&
        install -m 644 -T "$work/sums" SHA256SUMS)
    tar --create --directory="$made" --format=ustar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
        --mode=u=rwX,go=rX "$name" | gzip -9 --no-name >"$out/$name.tar.gz"
    bash packaging/debian.sh --binary "$made/$name/rlock" --output "$out" >/dev/null
    bash packaging/rpm.sh --binary "$made/$name/rlock" --output "$out" >/dev/null
    binaries+=("$made/$name/rlock")
}

install_zig
mapfile -t suites < <(printf '%s\n' "${packages[@]#*/}" | sort -u)
open_sources "$work/apt" "${suites[@]}"
files=$(for package in "${packages[@]}"; do source_files "$package" || exit; done)
musl=$(sed -nE 's/.*"([0-9.]+)".*/\1/p' "$zig/ziglang/lib/libc/musl/src/internal/version.h")
libcpp=$(sed -nE 's/.*define _LIBCPP_VERSION ([0-9]+)$/\1/p' "$zig/ziglang/lib/libcxx/include/__config")
libcpp=$((libcpp / 10000)).$((libcpp / 100 % 100)).$((libcpp % 100))
files+=$'\n'$(grep ^ziglang "$root/packaging/zig.txt")$'\n'"musl $musl ziglang"$'\n'"libc++ $libcpp ziglang"
binaries=()
for arch in "${architectures[@]}"; do
    make_tools "$arch"
    build_libraries
    echo "release: building rlock for $arch" >&2
    build_rlock
    pack
done
if [[ -z $binary_only ]]; then
    bash "$root/packaging/image.sh" --output "$out" "${binaries[@]}" >/dev/null
    python3 "$root/packaging/sbom.py" "$version" "$SOURCE_DATE_EPOCH" <<<"$files" >"$out/rlock-$version.cdx.json"
    (cd "$out" && sha256sum rlock-"$version"-*.tar.gz rlock_"$version"_*.deb rlock-"$version"-*.rpm rlock-"$version"-image.tar \
        "rlock-$version.cdx.json" >SHA256SUMS)
fi
echo "release: made $out" >&2
