# shellcheck shell=bash
# The short form of restarts.py; tests/soak.sh runs it at length.
load ../helper

@test "a server that forgets all, five times under 8 contenders: with --grace no overlap, nobody stopped, nothing said to fail" {
  python3 -B "$BATS_TEST_DIRNAME/restarts.py" --restarts 5 --grace --ttl 4 --gap 3 --away 0.5 --keep "$BATS_TEST_TMPDIR/trial"
}

@test "the same without --grace: nobody is stopped but where another was faster" {
  python3 -B "$BATS_TEST_DIRNAME/restarts.py" --restarts 5 --ttl 4 --gap 3 --away 0.5 --keep "$BATS_TEST_TMPDIR/trial"
}
