#!/usr/bin/env bash
# Proves that the suite can fail (R26): puts one plausible bug at a time into a copy of the tree (mutants.txt), builds
# it, and runs the test that ought to catch it. Prints a table and `N passed, N failed`; a mutant that no test
# catches has failed, and so has one that does not build or whose text has moved.
#
# Tests below unit are of unit_tests, with the beginning of a name for a filter.
#
#   tests/mutants.sh [NAME...]
#   tests/mutants.sh --dry-run [NAME...]   builds and tests nothing: only whether each can be put where it belongs, and
#                                          whether its test is there
set -euo pipefail
cd "$(dirname "$0")/.."
dry=
if [[ ${1-} == --dry-run ]]; then dry=1 && shift; fi
[[ $dry ]] || bash packaging/install-deps.sh test

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
git ls-files -z --cached --others --exclude-standard | tar --null -T - -c | tar -x -C "$tree"
cd "$tree"
[[ $dry ]] || cmake --preset release -DCMAKE_BUILD_TYPE=Debug -DRLOCK_WERROR=OFF >/dev/null
[[ $dry ]] || cmake --build --preset release --target rlock >"$tree/build.log" 2>&1 || { cat "$tree/build.log"; exit 1; }
export RLOCK=$tree/build/release/rlock

# put FILE OLD NEW: replaces what stands there exactly once.
put() {
  python3 - "$@" <<'PYTHON'
import sys
path, old, new = sys.argv[1], *(a.replace("\\n", "\n").replace("\\|", "|") for a in sys.argv[2:])
text = open(path, encoding="utf-8").read()
if text.count(old) != 1:
    sys.exit(f"{path}: found {text.count(old)} times: {old}")
open(path, "w", encoding="utf-8").write(text.replace(old, new))
PYTHON
}

# there FILE FILTER: `applies` where such a test exists.
there() {
  if [[ $1 == unit/* ]]; then
    grep -E "^TEST.*\b$2" "tests/$1" >/dev/null && echo applies || echo untested
    return
  fi
  grep -E '^@test' "tests/$1" | sed -E 's/^@test ["'"'"'](.*)["'"'"'] \{$/\1/' | grep -E -- "$2" >/dev/null && echo applies || echo untested
}

# fails FILE FILTER: whether these tests do; failure.txt names the first.
fails() {
  if [[ $1 == unit/* ]]; then
    ! timeout -k 5 300 build/release/unit_tests --gtest_brief=1 --gtest_filter="*.$2*" >unit.log 2>&1 </dev/null || return 1
    sed -nE 's/^\[  FAILED  \] ([^ ]*) \(.*/\1/p' unit.log >failure.txt
  else
    ! timeout -k 5 300 bats -f "$2" "tests/$1" >bats.log 2>&1 </dev/null 3>&- || return 1
    sed -nE 's/^not ok [0-9]* //p' bats.log >failure.txt
  fi
}

trim() { sed 's/^ *//; s/ *$//' <<<"$1"; }

passed=0 failed=0
verdict() {
  printf '%-30s %-8s %-10s %s\n' "$1" "$2" "$3" "$4"
  case $3 in caught | applies) passed=$((passed + 1)) ;; *) failed=$((failed + 1)) ;; esac
}

printf '%-30s %-8s %-10s %s\n' mutant promise verdict test
while IFS= read -r line <&3; do
  [[ $line != \#* && -n $line ]] || continue
  # A bar of the code itself is written \|.
  IFS=$'\x1f' read -r name promise file old new tests filter <<<"${line// | /$'\x1f'}"
  (($# == 0)) || [[ " $* " == *" $name "* ]] || continue
  cp "src/$file" saved
  if ! put "src/$file" "$(trim "$old")" "$(trim "$new")"; then
    verdict "$name" "$promise" moved "$tests"
  elif [[ $dry ]]; then
    verdict "$name" "$promise" "$(there "$tests" "$filter")" "$tests: $filter"
  elif ! cmake --build --preset release --target "$([[ $tests == unit/* ]] && echo unit_tests || echo rlock)" >build.log 2>&1; then
    tail -n 20 build.log
    verdict "$name" "$promise" unbuilt "$tests"
  elif fails "$tests" "$filter"; then
    verdict "$name" "$promise" caught "$(grep -m1 . failure.txt || echo "$tests did not end")"
  else
    verdict "$name" "$promise" survived "$tests: $filter"
  fi
  cp saved "src/$file"
done 3<tests/mutants.txt

echo "$passed passed, $failed failed"
((failed == 0 && passed > 0))
