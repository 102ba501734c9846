# The short form of consensus.py, and of stalls.py, stalled_leader.py and late_answers.py, on etcd.
# shellcheck shell=bash
load ../helper
load consensus

has_etcd() { command -v etcd >/dev/null || skip 'no etcd'; }

@test "three members of etcd, one of which is killed or stopped, compacted, rlocks stopped: no overlap, no fence backwards (R45)" {
  has_etcd
  consensus --kinds kill,stop,compact,clients --seconds 14 --every 4
}

@test "three members of etcd, one of which is split from the others or cut off: no overlap, no fence backwards (R45)" {
  has_etcd
  isolated
  consensus --kinds split,cut --seconds 16 --every 6
}

@test "three members of etcd, and the disk of the leader stands still for longer than a lease: no overlap (R45)" {
  has_etcd
  isolated
  has_disks
  consensus --kinds disk --seconds 22 --every 14 --ttl 3 --contenders 4
}

@test "the leader of etcd, whose disk stands still, answers keepalives: whoever speaks to it alone stops before the next one starts (R45)" {
  has_etcd
  isolated
  has_disks
  python3 -B "$BATS_TEST_DIRNAME/stalled_leader.py"
}

@test "answers of etcd that come late to a renewal or an acquire: dead before what was asked for may be over (R3, R45)" {
  has_etcd
  python3 -B "$BATS_TEST_DIRNAME/late_answers.py" --trials renewal,acquire
}

@test "requests to etcd that come late make no entry for nobody (R45)" {
  has_etcd
  python3 -B "$BATS_TEST_DIRNAME/late_answers.py" --trials requests
}

@test "etcd: a free lock is taken at once by the first who lives, who is dead or frozen ahead costs about a claim (R28, R40)" {
  has_etcd
  stalls etcd released,gave_up,head_killed,lock_deleted,three_killed_with_the_holder
  stalls etcd 1_frozen,3_frozen
}
