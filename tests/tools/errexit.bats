#!/usr/bin/env bats
# A list of commands in the middle of a test cannot fail it; errexit.py finds these.

bats_require_minimum_version 1.5.0

finder() { python3 -B "$BATS_TEST_DIRNAME/errexit.py" "$@"; }

@test "no test has a condition that bats does not notice" {
  finder "$BATS_TEST_DIRNAME"/*.bats "$BATS_TEST_DIRNAME"/../*.bats "$BATS_TEST_DIRNAME"/../*/*.bats
}

@test "what is planted is found, and nothing else" {
  printf '%s\n' '@test "a" {' '  [ -e ran ] && is_free' '  if a && b; then c; fi' '  [[ a = a && b = b ]]' \
    '  run sh -c "a && b"' '  a && b || c' '  [ -e x ] && [ -e y ]' '}' >"$BATS_TEST_TMPDIR/t"
  run -1 finder "$BATS_TEST_TMPDIR/t"
  [ "$output" = "$BATS_TEST_TMPDIR/t:2: [ -e ran ] && is_free" ]
}
