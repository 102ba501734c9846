#!/usr/bin/env bash
# From a clean clone to a lock that works: installs what is missing, builds build/release/rlock and shows it at work.
# Root, or a user who may sudo; exits non-zero where anything failed.
set -euo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
bash packaging/install-deps.sh build
cmake --preset release
cmake --build --preset release

rlock=$PWD/build/release/rlock
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# What is set up for a fleet is not for a demonstration.
unset "${!RLOCK_@}"

# The command itself keeps the order of events: what passes through pipes may come out in another one.
hello() {
    # shellcheck disable=SC2016 # for the inner shell
    "$rlock" --server local run -v hello -- sh -c '
        echo "$1 begins" >>"$2"
        echo "begins, fence $RLOCK_FENCE"
        sleep 2
        echo ends
        echo "$1 ends" >>"$2"
    ' sh "$1" "$out/order" 2>&1 | sed -u "s/^/  $1: /" | tee "$out/$1"
}

echo
echo 'Two at once, each: rlock --server local run -v hello -- sh -c "...; sleep 2; ..."'
hello one &
first=$!
hello two &
second=$!
wait "$first"
wait "$second"

# The demonstration is a test too: one after the other, and one was seen waiting.
paste -sd ' ' "$out/order" | grep -Eqx '(one|two) begins \1 ends (one|two) begins \2 ends' ||
    { echo 'quickstart: the two ran at the same time' >&2 && exit 1; }
grep -Eqi 'rlock: .*wait' "$out/one" "$out/two" ||
    { echo 'quickstart: neither waited for the other' >&2 && exit 1; }

cat <<END

It works. The binary is $rlock; from here:

  rlock run KEY -- COMMAND          hold KEY while COMMAND runs
  rlock status                      who holds what, who waits
  export RLOCK_SERVER=redis://HOST  one lock for all your machines, through a Redis or Valkey they all reach
  export RLOCK_SERVER=local         this machine alone, as shown above
  cmake --install build/release     put rlock into /usr/local/bin, as root

The server of "local" goes on running for the next call to find; it listens on a socket of your own and on no port.
END
