#!/usr/bin/env bats
# What errexit does not notice in the middle of a test cannot fail it; errexit.py, of the target lint, finds these.

bats_require_minimum_version 1.5.0

finder() { python3 -B "$BATS_TEST_DIRNAME/errexit.py" "$@"; }

@test "what is planted is found, and nothing else" {
  cd "$BATS_TEST_TMPDIR"
  # Bats takes a test for its own where it sees one.
  sed 's,^#,@,' >t <<-'END'
	#test "a" {
	  [ -e ran ] && is_free
	  if a && b; then c; fi
	  [[ a = a && b = b ]]
	  run sh -c "a && b"
	  a && b || c
	  for x in 1; do
	    ! is_free
	  done
	  ! is_free || return
	  run ! is_free
	  [ -e x ] && [ -e y ]
	}
	is_held() {
	  ! is_free
	  ! is_free
	}
	END
  run -1 finder t
  [ "${#lines[@]}" = 3 ]
  [ "${lines[0]}" = 't:2: [ -e ran ] && is_free' ]
  [ "${lines[1]}" = 't:8: ! is_free' ]
  [ "${lines[2]}" = 't:15: ! is_free' ]
}
