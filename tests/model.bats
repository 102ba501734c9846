# The quickest questions to the model, and mutants of it that must be caught. tests/model/run.sh asks all.
load helper

setup() { :; }

@test "no lease is shortened, revived or renewed blindly, in every order of events (2 clients, any faults)" {
  bash "$BATS_TEST_DIRNAME/model/run.sh" lease renew_blind
}

@test "a message is no grant, and nobody is passed over" {
  bash "$BATS_TEST_DIRNAME/model/run.sh" push_is_grant handoff_unheld
}

@test "a grace as long as the lease keeps a restarted server's locks for their holders, who reclaim nobody else's" {
  bash "$BATS_TEST_DIRNAME/model/run.sh" no_grace reclaim_blind
}

@test "no two hold a majority of votes" {
  bash "$BATS_TEST_DIRNAME/model/run.sh" quorum young_votes taken_back_late token_goes_on
}

@test "the fence of who holds a majority of votes is larger than those before it" {
  bash "$BATS_TEST_DIRNAME/model/run.sh" quorum_fence no_raise
}

@test "what is left free to libraries is taken by no rlock past the queue, and comes back to it" {
  bash "$BATS_TEST_DIRNAME/model/run.sh" fifo_beside window_open_to_newcomers window_endless
}

@test "nobody acquires beside a writer or past a waiter, and all who may hold do" {
  bash "$BATS_TEST_DIRNAME/model/run.sh" modes slots one_slot_too_many reader_beside_a_writer leave_keeps_quiet stops_at_self returner_passed
}

@test "where a majority decides, nothing that comes late ends an entry early or makes one for nobody" {
  bash "$BATS_TEST_DIRNAME/model/run.sh" compares_no_version grant_with_enter claim_blind
}
