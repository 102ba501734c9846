# shellcheck shell=bash
# The short form of minorities.py; tests/soak.sh runs it at length.
load ../helper

@test "five servers, of which two are killed, stopped or cut off all the time, under 8 contenders: no overlap, nobody stopped" {
  python3 -B "$BATS_TEST_DIRNAME/minorities.py" --seconds 15 --keep "$BATS_TEST_TMPDIR/trial"
}

@test "the same where all five may be in trouble: no overlap" {
  python3 -B "$BATS_TEST_DIRNAME/minorities.py" --seconds 10 --majority --keep "$BATS_TEST_TMPDIR/trial"
}
