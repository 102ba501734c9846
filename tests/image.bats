# The image for containers, of the tested rlock. A release makes one of both processors; here one is enough, and a stand-in
# with another processor in its header for the other.

load helper

setup() {
  begin_test
  packaging=$BATS_TEST_DIRNAME/../packaging
  command -v jq readelf >/dev/null || skip 'no jq or no readelf'
  is_static || skip 'the tested rlock needs libraries'
}

is_static() { ! readelf --program-headers --wide "$RLOCK" | grep -qw INTERP; }

# make_image [BINARY...]: sets image to its path, and unpacks it into ./layout.
make_image() {
  image=$(SOURCE_DATE_EPOCH=1700000000 bash "$packaging/image.sh" --output . "$@")
  rm -rf layout
  mkdir layout
  tar --extract --directory=layout --file="$image"
}

blob() { echo "layout/blobs/sha256/${1#sha256:}"; }

# manifest_for PROCESSOR: the file of its manifest.
manifest_for() {
  blob "$(jq -r --arg processor "$1" '.manifests[] | select(.platform.architecture == $processor).digest' \
    "$(blob "$(jq -r '.manifests[0].digest' layout/index.json)")")"
}

# unpack PROCESSOR: its files into ./root.
unpack() {
  rm -rf root
  mkdir root
  tar --extract --gzip --directory=root --file="$(blob "$(jq -r '.layers[0].digest' "$(manifest_for "$1")")")"
}

own_processor() { case $(uname -m) in x86_64) echo amd64 ;; aarch64) echo arm64 ;; esac; }

# for_the_other FILE: a program of the other processor, as far as its header tells.
for_the_other() {
  cp "$RLOCK" "$1"
  if [[ $(own_processor) == amd64 ]]; then printf '\xb7'; else printf '\x3e'; fi |
    dd of="$1" bs=1 seek=18 conv=notrunc status=none
}

@test "the image holds rlock and licenses alone, for nobody, and each blob is what its name says" {
  make_image "$RLOCK"
  local file
  for file in layout/blobs/sha256/*; do
    [ "$(sha256sum <"$file" | cut -d' ' -f1)" = "${file##*/}" ]
  done
  unpack "$(own_processor)"
  cmp root/rlock "$RLOCK"
  [ "$(ls root)" = $'licenses\nrlock' ]
  grep -q OpenSSL root/licenses/copyright
  local config
  config=$(blob "$(jq -r .config.digest "$(manifest_for "$(own_processor)")")")
  [ "$(jq -r .config.User "$config")" = 65534:65534 ]
  [ "$(jq -c .config.Entrypoint "$config")" = '["/rlock"]' ]
  # The layer as it is without gzip.
  [ "$(jq -r '.rootfs.diff_ids[0]' "$config")" = \
    "sha256:$(gzip -dc "$(blob "$(jq -r '.layers[0].digest' "$(manifest_for "$(own_processor)")")")" | sha256sum | cut -d' ' -f1)" ]
}

@test "an image for both processors has one index, and the same binaries give the same bytes" {
  for_the_other other
  make_image "$RLOCK" other
  [[ $(manifest_for amd64) != "$(manifest_for arm64)" ]]
  [ -e "$(manifest_for amd64)" ]
  [ -e "$(manifest_for arm64)" ]
  mv "$image" first.tar
  make_image other "$RLOCK"
  cmp "$image" first.tar
}

@test "two binaries for one processor, and a program that needs libraries, are refused" {
  cp "$RLOCK" same
  run -1 bash "$packaging/image.sh" --output . "$RLOCK" same
  [[ $output == *'same processor'* ]]
  run -1 bash "$packaging/image.sh" --output . "$BASH"
  [[ $output == *'name a static one'* ]]
}

@test "rlock runs in the image, without anything beside it" {
  make_image "$RLOCK"
  unpack "$(own_processor)"
  [ "$(id -u)" = 0 ] || skip 'only root may change the root directory'
  run -0 chroot --userspec=65534:65534 root /rlock --version
  [[ $output == "rlock $(cat "$BATS_TEST_DIRNAME/../VERSION")"* ]]
}

@test "a container runtime starts it" {
  command -v crun >/dev/null || skip 'no crun'
  [ "$(id -u)" = 0 ] || skip 'this needs root'
  make_image "$RLOCK"
  unpack "$(own_processor)"
  mkdir bundle
  mv root bundle/rootfs
  (cd bundle && crun spec)
  jq '.process.args = ["/rlock", "--version"] | .process.terminal = false | .process.user = {uid: 65534, gid: 65534}' \
    bundle/config.json >changed
  mv changed bundle/config.json
  # A machine without cgroups that it may write, such as a container, starts none.
  crun --root "$PWD/state" --cgroup-manager=disabled run --bundle bundle "rlock-image-$$" >out 2>err || skip "crun: $(head -n 1 err)"
  grep -q "^rlock $(cat "$BATS_TEST_DIRNAME/../VERSION")" out
}

@test "podman loads it and runs it, as nobody" {
  command -v podman >/dev/null || skip 'no podman'
  [ "$(id -u)" = 0 ] || skip 'this needs root'
  make_image "$RLOCK"
  # All that it keeps is here.
  with_podman() {
    podman --root "$PWD/storage" --runroot "$PWD/run" --tmpdir "$PWD/tmp" --storage-driver vfs --cgroup-manager cgroupfs "$@"
  }
  local runtime image
  image=rlock:$(cat "$BATS_TEST_DIRNAME/../VERSION")
  with_podman load --quiet --input "rlock-${image#*:}-image.tar" 2>err
  [ "$(with_podman image inspect --format '{{.User}} {{.Architecture}}' "$image" 2>err)" = "65534:65534 $(own_processor)" ]
  for runtime in crun runc; do
    # Where its own limits are above those of this shell it may not set them.
    if with_podman --runtime "$runtime" run --rm --network none --ulimit nofile=256:256 --ulimit nproc=256:256 \
      "$image" --version >out 2>err; then
      grep -q "^$(echo "$image" | tr : ' ')" out
      return
    fi
  done
  # A machine without cgroups that it may write, such as a container, starts none.
  skip "podman: $(tail -n 1 err)"
}
