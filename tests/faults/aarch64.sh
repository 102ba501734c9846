#!/usr/bin/env bash
# The rlock of another processor, under qemu-user: bats files of what it does itself.
#
#   tests/faults/aarch64.sh FILE
#
# Left out is what qemu stands in the way of: it makes vfork a fork, has signals of its own, and is the program that /proc
# shows.
set -euo pipefail
program=$(realpath -e -- "${1:?usage: aarch64.sh FILE}")
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
command -v qemu-aarch64-static >/dev/null || { echo 'skipped: there is no qemu-aarch64-static'; exit; }
wrapper=$(mktemp -d)
trap 'rm -rf "$wrapper"' EXIT
# shellcheck disable=SC2016 # for that one
printf '#!/bin/bash\nexec qemu-aarch64-static -0 "$0" %q "$@"\n' "$program" >"$wrapper/rlock"
chmod +x "$wrapper/rlock"
RLOCK=$wrapper/rlock bats once.bats tls.bats redlock.bats release_ownership.bats </dev/null
