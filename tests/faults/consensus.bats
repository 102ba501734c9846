# shellcheck shell=bash
# The short form of consensus.py, and of stalls.py on the same store; tests/soak.sh runs both at length.
load ../helper

setup() {
  begin_test
  command -v etcd >/dev/null || skip 'no etcd'
}

# consensus OPTION...: with a new seed each time, which is printed.
consensus() { python3 -B "$BATS_TEST_DIRNAME/consensus.py" --keep "$BATS_TEST_TMPDIR/trial" "$@"; }
# isolated: skips what needs networks and mounts of its own.
isolated() { { [ "$EUID" = 0 ] && unshare --net --mount true 2>/dev/null; } || skip 'needs root and network namespaces'; }

@test "three members of etcd, one of which is killed or stopped, compacted, rlocks stopped: no overlap, no fence backwards (R45)" {
  consensus --kinds kill,stop,compact,clients --seconds 14 --every 4
}

@test "three members of etcd, one of which is split from the others or cut off: no overlap, no fence backwards (R45)" {
  isolated
  consensus --kinds split,cut --seconds 16 --every 6
}

@test "three members of etcd, and the disk of the leader stands still for longer than a lease: no overlap (R45)" {
  isolated
  [ -e /dev/loop-control ] || skip 'needs loop devices'
  consensus --kinds disk --seconds 22 --every 14 --ttl 3 --contenders 4
}

stalls() { python3 -B "$BATS_TEST_DIRNAME/stalls.py" --store etcd --tries 1 --waiters 1,3 --bound 2.5 --events "$1"; }

@test "etcd: a free lock is taken at once by the first who lives, who is dead or frozen ahead costs about a claim (R28, R40)" {
  stalls released,gave_up,head_killed,lock_deleted,three_killed_with_the_holder
  stalls 1_frozen,3_frozen
}
