#!/usr/bin/env bash
# Builds rlock-VERSION-1.ARCH.rpm, and prints its path. Needs no root, and for a given binary no compiler and no library: what
# packaging/install-deps.sh package installs is enough.
#
#   packaging/rpm.sh [--binary FILE] [--output DIR]
#
# What is packed, where it lands and what its times are: as for packaging/debian.sh. The same source, binary and rpmbuild give the
# same bytes. It is not signed: SHA256SUMS of the release is (packaging/README.md).
set -euo pipefail

# shellcheck source=packaging/binary.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/binary.bash"
read_arguments "$@"
begin_package rpmbuild cmake make strip readelf
build_binary
processor=$(processor_of "$binary")
declare -A name_of=([amd64]=x86_64 [arm64]=aarch64)
architecture=${name_of[$processor]}
root=$work/root

stage "$root"
put_licenses "$binary" "$root/usr/share/licenses/rlock"
rm "$root/usr/share/doc/rlock/LICENSE"
sed -i 's|](LICENSE)|](../../licenses/rlock/LICENSE)|' "$root/usr/share/doc/rlock/README.md"
set_times "$root"

{
    # Who built it, where and when are not part of it; nothing that is packed is changed; the digest and the compression are what
    # every rpm knows that is not past its support.
    cat <<END
%global _buildhost rlock
%global use_source_date_epoch_as_buildtime 1
%global clamp_mtime_to_source_date_epoch 1
%global __os_install_post %{nil}
%global debug_package %{nil}
%global _build_id_links none
%global _binary_payload w9.xzdio
%global _binary_filedigest_algorithm 8
%global __requires_exclude_from ^/usr/share/doc/
Name: rlock
Version: $version
Release: 1
Summary: $(head -n 1 packaging/description)
License: $(spdx_of "$binary")
AutoProv: no
Recommends: ca-certificates

%description
$(sed 1,2d packaging/description)

%install
cp -a $root/. %{buildroot}/

%files
%defattr(-,root,root)
%license /usr/share/licenses/rlock/*
END
    # The directories that are rlock's own, and all other files.
    find "$root/usr" -path '*/rlock*' -type d -printf '%%dir /usr/%P\n' -o \
        -path '*/licenses/*' -o ! -type d -path '*/share/man/*' -printf '%%doc /usr/%P\n' -o ! -type d -printf '/usr/%P\n' | sort
} >"$work/rlock.spec"
# What this user or an earlier build has set does not count.
HOME=$work rpmbuild -bb --target "$architecture-linux" --define "_topdir $work/rpmbuild" --define "_tmppath $work" \
    "$work/rlock.spec" >"$work/log" 2>&1 || die "rpmbuild: $(<"$work/log")"
package=rlock-$version-1.$architecture.rpm
mv "$work/rpmbuild/RPMS/$architecture/$package" "$output/"
echo "$output/$package"
