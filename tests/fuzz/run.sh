#!/usr/bin/env bash
# Fuzzes everything that reads bytes from elsewhere: replies, answers of ZooKeeper, URLs, durations, configuration files, each for
# SECONDS (30), under ASan and UBSan. Ends with `N passed, N failed`; what crashed a target stays in
# build/fuzz/crashes.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-30}

compiler=$(command -v clang++-19 || command -v clang++) || { echo "clang++ 16 or later is missing" >&2; exit 1; }
cmake --preset fuzz -DCMAKE_CXX_COMPILER="$compiler" >/dev/null
cmake --build --preset fuzz --target duration_fuzz address_fuzz ensemble_address_fuzz reply_fuzz gateway_fuzz jute_fuzz config_fuzz >/dev/null
mkdir -p build/fuzz/crashes

passed=0 failed=0
for target in duration address ensemble_address reply gateway jute config; do
  # What it finds on the way goes to a copy: the corpus in the tree is only what was put there.
  work=build/fuzz/work-$target
  mkdir -p "$work"
  if build/fuzz/${target}_fuzz -max_total_time="$seconds" -timeout=5 -rss_limit_mb=1024 -max_len=4096 \
    -artifact_prefix="build/fuzz/crashes/$target-" "$work" "tests/fuzz/corpus/$target" >"build/fuzz/$target.log" 2>&1; then
    passed=$((passed + 1))
    grep -h '^Done' "build/fuzz/$target.log" | sed "s/^/$target: /"
  else
    failed=$((failed + 1))
    tail -n 40 "build/fuzz/$target.log"
  fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
