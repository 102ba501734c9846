# shellcheck shell=bash
# The soak, briefly: contenders, waiters and releases under faults drawn at random. tests/soak.sh does it at length.
load ../helper

# soak OPTION...: with a new seed each time; what went wrong is printed with it.
soak() {
  local seed=$RANDOM
  python3 -B "$BATS_TEST_DIRNAME/soak" --keep "$BATS_TEST_TMPDIR/soak" --seed "$seed" "$@"
}

@test "contenders under kills, stops and a server that is hurt: nothing is wrong" {
  soak --only contest --seconds 18 --round 6 --weathers server,network,calm --longest 1500 --ttl 2000,8000 --wait 5000 \
    --shapes plain,export,export-two
}

@test "a lock that is released while the server is away is acquired as soon as it is back" {
  soak --only release --seconds 12
}

@test "a server that is flooded, never stops pushing, has a small table or a lock for 292 years; each verb while it stands still" {
  soak --only verb,odd --topology single,etcd --seconds 12
}
