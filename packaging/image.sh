#!/usr/bin/env bash
# Makes an image for containers, an OCI archive: rlock-VERSION-image.tar, and prints its path. No daemon, no network, no root.
#
#   packaging/image.sh [--output DIR] BINARY...
#
# BINARY: static programs as packaging/release.sh makes them, one for each processor; the image has an index of all.
# The image holds /rlock and /licenses, and nothing else; the licenses of the libraries are taken from beside BINARY, where a
# release has them. CA certificates are not needed: for rediss:// rlock reads those of the image that it is copied into, or the
# file that ?cacert= names, and an old copy of them in here would be trusted by nobody who maintains one. It runs as nobody. The
# same binaries give the same bytes: times are SOURCE_DATE_EPOCH, or else that of the commit.
#
#   COPY --from=rlock:VERSION /rlock /usr/bin/rlock
#   podman load -i rlock-VERSION-image.tar; docker load, where docker keeps its images with containerd
set -euo pipefail

# shellcheck source=packaging/binary.bash
. "$(dirname -- "${BASH_SOURCE[0]}")/binary.bash"

usage() {
    echo 'usage: image.sh [--output DIR] BINARY...' >&2
    exit 64
}

output='' binaries=()
while (($# > 0)); do
    case $1 in
        --output) output=$(realpath -e -- "${2:?--output wants a DIR}") && shift || exit ;;
        -*) usage ;;
        *) binaries+=("$(realpath -e -- "$1")") || exit ;;
    esac
    shift
done
((${#binaries[@]} > 0)) || usage
begin_package jq readelf sha256sum tar gzip
export LC_ALL=C
created=$(date -u -d "@$epoch" +%Y-%m-%dT%H:%M:%SZ)
mkdir -p "$work/image/blobs/sha256"

# as_tar DIR: all below it, the same bytes for the same files.
as_tar() {
    (cd "$1" && find . -mindepth 1 -printf '%P\0') | sort -z |
        tar --create --directory="$1" --format=ustar --mtime="@$epoch" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
            --no-recursion --null --files-from=-
}

# add_blob TYPE FILE: moves it into the image, and prints its descriptor.
add_blob() {
    local sum size
    sum=$(sha256sum <"$2")
    size=$(stat -c %s "$2")
    mv "$2" "$work/image/blobs/sha256/${sum%% *}"
    jq -cn --arg type "application/vnd.oci.image.$1" --arg digest "sha256:${sum%% *}" --argjson size "$size" \
        '{mediaType: $type, digest: $digest, size: $size}'
}

# add_image BINARY: the image for its processor; prints the descriptor of its manifest.
add_image() {
    local processor root=$work/root layer config sum
    processor=$(processor_of "$1")
    ! readelf --program-headers --wide "$1" | grep -qw INTERP ||
        die "$1 needs the libraries of a distribution, and an image of rlock alone has none; name a static one"
    rm -rf "$root"
    install -D -m 755 "$1" "$root/rlock"
    put_licenses "$1" "$root/licenses"
    as_tar "$root" >"$work/layer"
    sum=$(sha256sum <"$work/layer")
    gzip -9 --no-name "$work/layer"
    layer=$(add_blob layer.v1.tar+gzip "$work/layer.gz")
    jq -cnS --arg created "$created" --arg processor "$processor" --arg layer "sha256:${sum%% *}" --arg version "$version" \
        --arg licenses "$(spdx_of "$1")" '{
        created: $created, architecture: $processor, os: "linux",
        config: {User: "65534:65534", Entrypoint: ["/rlock"], Cmd: ["--help"],
            Labels: {"org.opencontainers.image.title": "rlock", "org.opencontainers.image.version": $version,
                "org.opencontainers.image.licenses": $licenses}},
        rootfs: {type: "layers", diff_ids: [$layer]},
        history: [{created: $created, created_by: "packaging/image.sh"}]}' >"$work/config"
    config=$(add_blob config.v1+json "$work/config")
    jq -cnS --argjson config "$config" --argjson layer "$layer" '{
        schemaVersion: 2, mediaType: "application/vnd.oci.image.manifest.v1+json", config: $config, layers: [$layer]}' \
        >"$work/manifest"
    add_blob manifest.v1+json "$work/manifest" |
        jq -c --arg processor "$processor" '. + {platform: {os: "linux", architecture: $processor}}'
}

for binary in "${binaries[@]}"; do
    add_image "$binary" >>"$work/manifests"
done
[[ -z $(jq -r .platform.architecture "$work/manifests" | sort | uniq -d) ]] || die 'two of the binaries are for the same processor'
jq -cs 'sort_by(.platform.architecture) | {schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json", manifests: .}' \
    "$work/manifests" >"$work/index"
index=$(add_blob index.v1+json "$work/index")
jq -cnS --argjson index "$index" --arg version "$version" '{
    schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json",
    manifests: [$index + {annotations: {"org.opencontainers.image.ref.name": $version,
        "io.containerd.image.name": ("docker.io/library/rlock:" + $version)}}]}' >"$work/image/index.json"
echo '{"imageLayoutVersion":"1.0.0"}' >"$work/image/oci-layout"

as_tar "$work/image" >"$work/image.tar"
mv "$work/image.tar" "$output/rlock-$version-image.tar"
echo "$output/rlock-$version-image.tar"
