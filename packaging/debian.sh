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

# shellcheck source=packaging/binary.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/binary.bash"
read_arguments "$@"
begin_package dpkg-deb dpkg-shlibdeps cmake make strip readelf
maintainer="${DEBFULLNAME:-The rlock authors} <${DEBEMAIL:-rlock@rlock.invalid}>"
build_binary
architecture=$(processor_of "$binary")
root=$work/debian/rlock documents=$work/debian/rlock/usr/share/doc/rlock

stage "$root" -DRLOCK_ZSH_DIR=share/zsh/vendor-completions
install -D -m 644 packaging/debian/lintian-overrides "$root/usr/share/lintian/overrides/rlock"
copyright_of "$binary" >"$documents/copyright"
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
gzip -9n "$documents/changelog"

mkdir "$root/DEBIAN"
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
# Of a static binary: none. dpkg-shlibdeps wants a source package around it.
printf 'Source: rlock\n\nPackage: rlock\nArchitecture: any\n' >"$work/debian/control"
depends=$(cd "$work" && dpkg-shlibdeps -O --ignore-missing-info "$root/usr/bin/rlock" 2>"$work/log" |
    sed -n 's/^shlibs:Depends=//p') || die "dpkg-shlibdeps: $(<"$work/log")"
# As dpkg-gencontrol reckons, whatever the file system: KiB of each file, and one for each directory.
size=$(find "$root/usr" -printf '%y %s\n' |
    awk '{ sum += $1 == "f" ? int(($2 + 1023) / 1024) : 1 } END { print sum }')
{
    cat <<END
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
END
    # The first line, and behind an empty one the paragraphs.
    sed '1s/^/Description: /; 2d; 3,$s/^/ /; s/^ $/ ./' packaging/description
} >"$root/DEBIAN/control"

set_times "$root"
package=$output/rlock_${version}_$architecture.deb
dpkg-deb --root-owner-group -Zxz --build "$root" "$package" >"$work/log" 2>&1 || die "dpkg-deb: $(<"$work/log")"
echo "$package"
