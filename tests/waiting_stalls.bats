# A free lock is taken at once by who waits for it, whatever happened before (R28): faults/stalls.py in brief. What it
# promises is a second; the bound here is what only a heartbeat, every 5 to 7 s, could break on a loaded machine.
load helper

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

stalls() {
  local events
  events=$(IFS=, && echo "$*")
  expect 0 python3 -B "$BATS_TEST_DIRNAME/faults/stalls.py" --tries 1 --waiters 1,3 --bound 2.5 --events "$events"
}

@test "a waiter ahead gave up or was killed, and a foreign holder goes" {
  stalls released foreign_goes gave_up head_killed
}

@test "waiters ahead are frozen, or were killed together with the holder" {
  stalls 1_frozen 3_frozen three_killed_with_the_holder
}

@test "however many are frozen ahead, each costs about a claim" {
  stalls 8_frozen
}

@test "the lock, the queue, all side keys or everything is deleted: the order is as it was" {
  stalls lock_deleted queue_deleted side_keys_deleted flushed
}
