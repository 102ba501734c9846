# The short form of consensus.py, and of deposed_leader.py, stalls.py and answers.py, on ZooKeeper.
# shellcheck shell=bash
load ../helper
load ../zookeeper
load consensus

has_zookeeper() { [ -z "$(missing_store)" ] || skip "$(missing_store)"; }

@test "three members of ZooKeeper and an observer, restarted in turn, a session that moves, all connections taken: no overlap (R45)" {
  has_zookeeper
  isolated
  consensus --store zookeeper --observer --kinds kill,split,roll,renew,crowd,clients --seconds 40 --every 5
}

@test "a leader of ZooKeeper that was deposed and does not know it: status shows nothing of what it still says (R45)" {
  has_zookeeper
  isolated
  python3 -B "$BATS_TEST_DIRNAME/deposed_leader.py" --keep "$BATS_TEST_TMPDIR/trial"
}

@test "ZooKeeper: a free lock is taken at once by the first who lives, who is dead or frozen ahead costs about a claim (R28, R40)" {
  has_zookeeper
  stalls zookeeper released,gave_up,head_killed,lock_deleted,3_frozen
}

@test "a follower of ZooKeeper is cut off right behind each kind of answer, and goes on answering: no overlap (R45)" {
  has_zookeeper
  isolated
  python3 -B "$BATS_TEST_DIRNAME/answers.py" --rounds 1 --kinds welcome,children,set_data --contenders 2 --keep "$BATS_TEST_TMPDIR/trial"
}
