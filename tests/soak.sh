#!/usr/bin/env bash
# The long form of the fault proofs: everything that tests/run.sh does briefly, for as long as asked. Ends with
# `N passed, N failed`. Installs what is missing.
#
#   tests/soak.sh [--minutes N | --hours N] [--faults N] [--seed N] [--only WORDS]
#
# Defaults: 30 minutes or 3000 faults, a random seed. It is the soak that lasts so long, and a quarter of it again on a busy
# host; the rest has its own time. --only: those steps alone whose name has these words.
#
# In order: cuts at every byte of an exchange (socket, then TCP resets), faults that stay, the soak (everything at once, on
# each store and topology, with lease times of 200 ms to 30 s), also on a busy host and under sanitizers, 100 restarts of a
# server that forgets all, with and without --grace, rlocks beside libraries, members of etcd and ZooKeeper that are killed, cut
# off or stall, newer releases of etcd where there is Go, 100 failovers of Sentinels, plain, under --grace and under --replicas,
# masters cut off with their clients, services with Redisson where there is a JDK, the package in bare Debians, the whole suite
# under the least ACL and under sanitizers, the mutants, the fuzzer, the model.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
minutes=30 faults=3000 seed=$RANDOM only=''
while (($# > 0)); do
  case $1 in
    --minutes) minutes=$2 ;;
    --hours) minutes=$(($2 * 60)) ;;
    --faults) faults=$2 ;;
    --seed) seed=$2 ;;
    --only) only=$2 ;;
    *) echo "usage: soak.sh [--minutes N | --hours N] [--faults N] [--seed N] [--only WORDS]" >&2; exit 64 ;;
  esac
  shift 2
done
# shellcheck source=tests/sanitizers.bash
. tests/sanitizers.bash
bash packaging/install-deps.sh soak || exit
if [ -z "${RLOCK:-}" ]; then
  { cmake --preset release && cmake --build --preset release; } || exit
  export RLOCK=$PWD/build/release/rlock
fi
unset REDISCLI_AUTH
echo "seed $seed"

passed=0 failed=0
step() {
  local name=$1
  shift
  [[ $name == *"$only"* ]] || return
  echo "== $name: $*"
  if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $name"; fi
}

# What lasts: contenders, waiters and releases under faults; then beside a crowd of sleepers and busy cores.
seconds=$((minutes * 60))
step 'cuts' python3 tests/faults/cuts.py
step 'resets' python3 tests/faults/cuts.py --resets --step 3
step 'faults that stay' python3 tests/faults/deadlines.py --rounds "$minutes" --seed "$seed"
step 'cuts over TLS' python3 tests/faults/cuts.py --tls
step 'faults that stay, over TLS' python3 tests/faults/deadlines.py --tls --rounds "$minutes" --seed "$seed"
# A round of each weather of each topology takes about ten minutes.
step 'soak' python3 -B tests/faults/soak --topology all --seconds "$seconds" --faults "$faults" --seed "$seed"
step 'soak on a busy host' python3 -B tests/faults/soak --only contest,queue,release --seconds $((seconds / 4)) \
  --faults "$faults" --crowd 4000 --busy "$(nproc)" --seed $((seed + 1))
# soak_with PRESET SECONDS: the soak once more, with a build that looks at its memory (asan) or its threads (tsan).
soak_with() {
  local status=0 reports found
  reports=$(mktemp -d)
  cmake --preset "$1" && cmake --build --preset "$1" --target rlock || return
  (
    sanitizer_reports "$reports"
    export TEST_SANITIZER=$1 RLOCK=$PWD/build/$1/rlock
    python3 -B tests/faults/soak --topology all --seconds "$2" --faults "$faults" --seed $((seed + 2))
  ) || status=1
  mapfile -t found < <(sanitizer_findings "$reports")
  ((${#found[@]} == 0)) || { cat "${found[@]}" && status=1; }
  rm -rf "$reports"
  return "$status"
}
step 'soak under ASan and UBSan' soak_with asan "$seconds"
step 'soak under TSan' soak_with tsan $((seconds / 4))
step 'restarts, with a grace' python3 -B tests/faults/restarts.py --restarts 100 --grace --seed "$seed"
step 'restarts' python3 -B tests/faults/restarts.py --restarts 100 --seed "$seed"
step 'minorities of five servers' python3 -B tests/faults/minorities.py --seconds "$seconds" --seed "$seed"
step 'majorities of five servers' python3 -B tests/faults/minorities.py --seconds $((seconds / 4)) --majority --seed "$seed"
for store in etcd zookeeper; do
  step "three members of $store" python3 -B tests/faults/consensus.py --store "$store" --seconds "$seconds" --seed "$seed"
  step "three members of $store, many and short" python3 -B tests/faults/consensus.py --store "$store" \
    --seconds $((seconds / 4)) --contenders 20 --ttl 2 --every 4 --seed $((seed + 1))
  step "stalls of $store" python3 -B tests/faults/stalls.py --store "$store" --waiters 1,4,100 --bound 2
done
# Releases of etcd that no package has, alone and beside others, with wall clocks that step.
newer_etcd() {
  local made why status=0 version programs
  made=$(mktemp -d)
  why=$(bash tests/faults/make_etcd.sh "$made" 3.5.35 3.6.16) || status=$?
  if ((status == 3)); then
    echo "skipped: $why"
    status=0
  elif ((status == 0)); then
    for version in 3.5.35 3.6.16; do
      PATH=$made/$version:$PATH bash tests/run.sh tests/etcd{,_server,_servers,_wire}.bats || status=1
    done
    for programs in "$made/3.5.35/etcd:$made/3.6.16/etcd" "etcd:$made/3.5.35/etcd"; do
      ETCD=$programs python3 -B tests/faults/consensus.py --seconds $((seconds / 4)) --seed "$seed" || status=1
      ETCD=$programs python3 -B tests/faults/late_answers.py || status=1
    done
  fi
  rm -rf "$made"
  return "$status"
}
step 'newer releases of etcd' newer_etcd
for topology in single sentinel cluster redlock etcd zookeeper; do
  step "several keys, $topology" python3 -B tests/faults/several_keys.py --topology "$topology" --seconds $((seconds / 8)) \
    --contenders 24 --kills 2 --shared 0.2 --seed "$seed"
done
beside() { PATH=/usr/bin:$PATH python3 -B tests/faults/beside.py --seconds 60 --max-start 10 "$@"; }
step 'rlocks beside libraries' beside --rlocks 5 --libraries 2 --max-gap 3
step 'an rlock beside libraries' beside --rlocks 1 --libraries 5 --max-wait 1
step 'rlocks beside libraries that hold for longer' beside --rlocks 4 --libraries 4 --hold 30 --max-gap 5
for topology in single cluster redlock etcd zookeeper; do
  step "readers and writers, $topology" python3 -B tests/faults/modes.py --topology "$topology" --seconds $((seconds / 8)) \
    --contenders 40 --ttl 2000 --kills 4 --seed "$seed"
done
for topology in single cluster etcd zookeeper; do
  step "slots, $topology" python3 -B tests/faults/modes.py --slots 5 --topology "$topology" --seconds $((seconds / 8)) \
    --contenders 40 --ttl 2000 --kills 4 --seed "$seed"
done
step 'failovers' python3 tests/faults/failovers.py --failovers 100 --allow-overlaps --seed "$seed"
step 'failovers under --grace' python3 tests/faults/failovers.py --failovers 100 --pause 6 --seed "$seed" -- --grace 3s
step 'failovers under --replicas' python3 tests/faults/failovers.py --failovers 100 --seed "$seed" -- --replicas 2
for how in '--max-lag 2 -- --grace 2s' '--max-lag 0 -- --replicas 1'; do
  # shellcheck disable=SC2086 # words
  step "a master cut off together with its clients, $how" python3 -B tests/faults/split_brain.py --splits 20 --seed "$seed" $how
done
step 'many processes, every core busy' python3 tests/faults/busy_host.py --processes 10000 --kinds freeze,cut,kill,start,hold \
  --tries 100 --jobs 2 --seed "$seed"
step 'two hundred killed together' python3 tests/faults/busy_host.py --processes 8000 --busy 0 --kinds mass --holders 200 --jobs 1
step 'a Cluster that moves slots and hands over' python3 -B tests/faults/reshards.py --seconds $((seconds / 4)) --seed "$seed"
step 'a Cluster whose masters die' python3 -B tests/faults/reshards.py --seconds $((seconds / 4)) --befalls move,kill --seed "$seed"
beside_redisson() {
  local client why status
  client=$(mktemp -d)
  if why=$(bash tests/redisson/build.sh "$client"); then
    python3 -B tests/faults/redisson.py "$client/client" --cycles 2000 --kills $((minutes * 2)) --seed "$seed"
  else
    echo "skipped: $why"
  fi
  status=$?
  rm -rf "$client"
  return "$status"
}
step 'services with Redisson' beside_redisson
deb=$(mktemp -d)
package() { bash packaging/debian.sh --output "$deb" && lintian --fail-on error,warning "$deb"/*.deb; }
step 'a package without complaints' package
# For root alone, as debootstrap is.
for suite in $( ((EUID > 0)) || echo bookworm trixie); do
  step "the package in a bare $suite" bash packaging/try-deb.sh "$suite" "$deb"/*.deb
done
rm -rf "$deb"
# One file for every Linux: what packaging/release.sh makes, in bare Debians, and as another processor.
elsewhere() {
  local out status=0 suite
  out=$(mktemp -d)
  if bash packaging/release.sh --binary-only --out "$out"; then
    bash tests/faults/aarch64.sh "$out"/rlock-*-aarch64-linux/rlock || status=1
    for suite in bookworm trixie; do
      bash packaging/try-bare.sh "$suite" --binary "$(echo "$out"/rlock-*-x86_64-linux/rlock)" || status=1
    done
  else
    status=1
  fi
  rm -rf "$out"
  return "$status"
}
step 'the release build elsewhere' elsewhere
step 'suite under the least ACL' env TEST_ACL=1 bash tests/run.sh
step 'suite under ASan and UBSan' bash tests/run.sh --preset asan
step 'suite under TSan' bash tests/run.sh --preset tsan
step 'mutants' bash tests/mutants.sh
step 'fuzz' bash tests/fuzz/run.sh $((minutes * 6))
step 'model' bash tests/model/run.sh
echo "$passed passed, $failed failed"
((failed == 0 && passed > 0))
