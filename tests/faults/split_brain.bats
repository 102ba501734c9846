# shellcheck shell=bash
# The short form of split_brain.py; tests/soak.sh runs it at length.
load ../helper

@test "a master and its clients are cut off together: set as status -v advises, no two commands run at once" {
  python3 -B -c 'import sys; sys.path.insert(0, sys.argv[1]); import namespaces; sys.exit(not namespaces.is_possible())' \
    "$BATS_TEST_DIRNAME" || skip 'needs root and network namespaces'
  # More than the 2 s that the advice asks for: a busy machine may be late too.
  python3 -B "$BATS_TEST_DIRNAME/split_brain.py" --splits 1 --contenders 4 --max-lag 2 --down-after 7000 -- --grace 2s
}
