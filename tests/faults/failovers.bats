# shellcheck shell=bash
# Failovers of Sentinels under contenders, briefly. tests/soak.sh does it at length.
load ../helper

@test "a master is killed, told to fail over, frozen: under --grace no two commands run at once" {
  python3 -B "$BATS_TEST_DIRNAME/failovers.py" --failovers 3 --keep "$BATS_TEST_TMPDIR/trial" -- --grace 3s
}
