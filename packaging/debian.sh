#!/usr/bin/env bash
# Builds rlock_VERSION_ARCH.deb, and prints its path. Needs no root, and for a given binary no compiler and no library: what
# packaging/install-deps.sh package installs is enough.
#
#   packaging/debian.sh [--binary FILE] [--output DIR]
#
# Packs the release build of packaging/release.sh, which it makes first, or the given binary, such as build/release/rlock. The
# package lands in build/, or in DIR. The same source and binary give the same bytes: times are SOURCE_DATE_EPOCH, or else that
# of the commit. DEBFULLNAME and DEBEMAIL are the maintainer, as for all of Debian's tools.
set -euo pipefail

die() {
    printf 'debian: %s\n' "$*" >&2
    exit 1
}

binary='' output=
while (($# > 0)); do
    case $1 in
        --binary) binary=$(realpath -e -- "${2:?--binary wants a FILE}") || exit ;;
        --output) output=$(realpath -e -- "${2:?--output wants a DIR}") || exit ;;
        *)
            echo 'usage: debian.sh [--binary FILE] [--output DIR]' >&2
            exit 64
            ;;
    esac
    shift 2
done
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
for program in dpkg-deb dpkg-shlibdeps cmake make strip readelf; do
    command -v "$program" >/dev/null || die "there is no $program; packaging/install-deps.sh package installs it"
done
umask 022
version=$(<VERSION)
maintainer="${DEBFULLNAME:-The rlock authors} <${DEBEMAIL:-rlock@rlock.invalid}>"
# shellcheck source=packaging/binary.bash
. packaging/binary.bash
epoch=$(source_date)
export SOURCE_DATE_EPOCH=$epoch LC_ALL=C.UTF-8 TZ=UTC

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
root=$work/debian/rlock documents=$work/debian/rlock/usr/share/doc/rlock

if [[ -z $binary ]]; then
    bash packaging/release.sh --binary-only --out "$work" x86_64 >&2
    binary=$work/rlock-$version-x86_64-linux/rlock
fi
architecture=$(processor_of "$binary")

# All but the binary, from a configuration of its own: what somebody has set for hers must not reach the package.
stage() {
    cmake -S . -B "$work/build" -G 'Unix Makefiles' -DRLOCK_DATA_ONLY=ON -DCMAKE_INSTALL_PREFIX=/usr \
        -DRLOCK_ZSH_DIR=share/zsh/vendor-completions &&
        DESTDIR=$root cmake --install "$work/build" --component data
}
stage >"$work/log" 2>&1 || die "cmake --install failed: $(<"$work/log")"
install -D -m 755 "$binary" "$root/usr/bin/rlock"
# That of a release is stripped, and stays as it is, whatever this strip would make of it.
if [[ $(readelf --section-headers --wide "$binary") == *'] .'@(symtab|debug)* ]]; then
    strip --strip-unneeded --remove-section=.comment --remove-section=.note "$root/usr/bin/rlock" 2>/dev/null ||
        [[ $architecture != "$(dpkg --print-architecture)" ]] || die "cannot strip $binary"
fi

install -D -m 640 packaging/examples/rlock.conf "$root/etc/rlock.conf"
install -D -m 644 packaging/debian/lintian-overrides "$root/usr/share/lintian/overrides/rlock"
# The only text that every glibc has.
libc=musl
! grep -q GLIBC_TUNABLES "$binary" || libc=glibc
cat packaging/debian/copyright "packaging/debian/copyright.$libc" >"$documents/copyright"
rm "$documents/LICENSE"
sed -i 's|](LICENSE)|](copyright)|' "$documents/README.md"

# "## VERSION (date)", then paragraphs that begin with "- "; in lines of 78 columns at most.
awk -v maintainer="$maintainer" -v date="$(date -R -d "@$epoch")" '
    function put(    i, line) {
        line = "  *"
        for (i = 1; i <= count; i++) {
            if (length(line) + 1 + length(words[i]) > 78) { print line; line = "   " }
            line = line " " words[i]
        }
        if (count) print line
        count = 0
    }
    function finish() { put(); if (open) printf "\n -- %s  %s\n\n", maintainer, date }
    /^## / { finish(); printf "rlock (%s) unstable; urgency=medium\n\n", $2; open = 1; next }
    open { from = /^- /; if (from) put(); for (i = 1 + from; i <= NF; i++) words[++count] = $i }
    END { finish() }' CHANGELOG.md >"$documents/changelog"
rm "$documents/CHANGELOG.md"
grep -q "^rlock ($version) " "$documents/changelog" || die "CHANGELOG.md has no section for $version"
gzip -9n "$documents/changelog" "$root"/usr/share/man/man?/*

mkdir "$root/DEBIAN"
echo /etc/rlock.conf >"$root/DEBIAN/conffiles"
(cd "$root" && find etc usr -type f ! -path etc/rlock.conf -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
# Of a static binary: none. dpkg-shlibdeps wants a source package around it.
printf 'Source: rlock\n\nPackage: rlock\nArchitecture: any\n' >"$work/debian/control"
depends=$(cd "$work" && dpkg-shlibdeps -O --ignore-missing-info "$root/usr/bin/rlock" 2>"$work/log" |
    sed -n 's/^shlibs:Depends=//p') || die "dpkg-shlibdeps: $(<"$work/log")"
# As dpkg-gencontrol reckons, whatever the file system: KiB of each file, and one for each directory.
size=$(find "$root/etc" "$root/usr" -printf '%y %s\n' |
    awk '{ sum += $1 == "f" ? int(($2 + 1023) / 1024) : 1 } END { print sum }')
cat >"$root/DEBIAN/control" <<END
Package: rlock
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $size
${depends:+Depends: $depends
}Recommends: ca-certificates
Suggests: redis-server | valkey-server
Section: admin
Priority: optional
Description: lock over Redis or Valkey for shell scripts, cron and CI
 rlock run KEY -- COMMAND holds a lock on a Redis or Valkey server while
 COMMAND runs: flock(1) for all machines that reach the server. Who finds it
 held waits, in order of arrival, or gives up. The lease is renewed while
 COMMAND runs; if it cannot be renewed, COMMAND is stopped before anybody else
 can have the lock.
 .
 There are readers and writers, slots, cron jobs that run once in a fleet,
 and acquire, renew and release for scripts. Sentinel, Cluster, several
 independent servers and TLS are understood.
END

find "$root" -exec touch --no-dereference --date="@$epoch" {} +
output=${output:-$PWD/build}
mkdir -p "$output"
package=$output/rlock_${version}_$architecture.deb
dpkg-deb --root-owner-group -Zxz --build "$root" "$package" >"$work/log" 2>&1 || die "dpkg-deb: $(<"$work/log")"
echo "$package"
