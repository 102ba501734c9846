# run --once D: nothing to do where a run of the key has succeeded within D. And the last run, which status shows, and --remember.
load helper

setup_file() { start_server; }
teardown_file() { stop_servers; }

last() { echo "rlock:l:{rlock:$key}"; }
fence() { echo "rlock:f:{rlock:$key}"; }
# remembered KEY DAYS: an hour may have passed.
remembered() {
  local left
  left=$(redis pttl "$1")
  ((($2 * 24 - 1) * 3600000 < left && left <= $2 * 24 * 3600000))
}
last_run() { rlock status --json "$key" | jq -c ".last_run | $1"; }
runs() { [ "$(wc -l 2>/dev/null <ran)" = "$1" ]; }
job() { rlock run "$@" "$key" -- sh -c 'echo >>ran'; }
# start_job OPTION...: one that ends with what ./go says; its pid in $rlock.
start_job() {
  rlock run "$@" "$key" -- sh -c 'touch up; until [ -s go ]; do sleep 0.01; done; exit "$(cat go)"' 3>&- &
  rlock=$!
  until_true 10 test -e up
}
done_with() {
  echo "$1" >go.new
  mv go.new go
}

@test "--once does nothing where a run has succeeded, and says so with -v only" {
  job
  run --separate-stderr -0 job --once 1h
  [ -z "$output$stderr" ]
  expect 0 job -v --once 1h
  [[ $output == "rlock: nothing to do: a run of $key succeeded "*" ago, that of "*" (--once)" ]]
  runs 1
}

@test "a first run, and one whose time is over, run" {
  job --once 1h
  runs 1
  job --once 1ms
  runs 2
  job --once 1h
  runs 2
}

@test "a run that failed, was killed or lost its lock does not count" {
  expect 1 rlock run "$key" -- false
  job --once 1h
  runs 1
  redis del "$(last)"
  expect 137 rlock run "$key" -- sh -c 'kill -9 $$'
  job --once 1h
  runs 2
  redis del "$(last)"
  start_job -k 100ms
  redis del "rlock:$key"
  ended 79 "$rlock"
  job --once 1h
  runs 3
  redis del "$(last)"
  # 0, but not under the lock.
  rm up
  start_job --on-lost warn
  redis set "rlock:$key" theirs px 60000
  done_with 0
  ended 79 "$rlock"
  redis del "rlock:$key"
  job --once 1h
  runs 4
}

@test "a run that failed later does not hide one that has succeeded" {
  local i
  job
  for i in 1 2; do
    expect 3 rlock run "$key" -- sh -c 'exit 3'
    expect 0 job -v --once 1h
    [[ $output == "rlock: nothing to do: a run of $key succeeded "*" ago (--once)" ]]
  done
  runs 1
}

@test "a success is remembered for the longest --once that anybody has used" {
  job --once 20d
  remembered "$(last)" 20
  job --remember 15m
  remembered "$(last)" 20
  expect 1 rlock run --remember 0 "$key" -- false
  remembered "$(last)" 20
  job --once 20d
  runs 2
}

@test "a run and its fence are remembered for 8 days, from the first run of a name on, or for as long as --remember says" {
  job
  remembered "$(last)" 8
  remembered "$(fence)" 8
  job --remember 2d
  remembered "$(last)" 2
  remembered "$(fence)" 8
  RLOCK_REMEMBER=9d job
  remembered "$(last)" 9
  remembered "$(fence)" 9
  redis flushall
  job --remember 15m
  (($(redis pttl "$(last)") <= 900000 && $(redis pttl "$(last)") > 800000))
  (($(redis pttl "$(fence)") <= 900000 && $(redis pttl "$(fence)") > 800000))
}

@test "--remember 0 leaves no last run" {
  job
  job --remember 0
  [ "$(redis exists "$(last)")" = 0 ]
  runs 2
}

@test "the fence of a name whose first run took longer than a fence is kept is remembered all the same" {
  local given
  rlock run "$key" -- sh -c 'echo "$RLOCK_FENCE" >given; redis-cli -s "$1" del "$2"' - "$sock" "$(fence)"
  given=$(cat given)
  [ "$(redis get "$(fence)")" = "$given" ]
  remembered "$(fence)" 8
  # The same where another waits, and gets a later one.
  start_job
  background job
  until_true 10 waiting 1
  redis del "$(fence)"
  done_with 0
  finish
  (($(redis get "$(fence)") > given))
  remembered "$(fence)" 8
}

@test "--once has nothing to wait for where it is done, whoever holds the lock" {
  job
  start_job
  expect 0 job -n --once 1h
  expect 0 job --once 1h
  runs 1
  done_with 1
  ended 1 "$rlock"
}

@test "waiters with --once end with 0 when the run before them has succeeded, and the next without it runs" {
  local i
  start_job
  for i in 1 2 3 4 5; do
    background job --once 1h
    until_true 10 waiting "$i"
  done
  background rlock run "$key" -- sh -c 'touch plain'
  until_true 10 waiting 6
  for i in 7 8; do
    background job --once 1h
    until_true 10 waiting "$i"
  done
  redis config resetstat
  done_with 0
  ended 0 "$rlock"
  finish
  [ -e plain ]
  [ ! -e ran ]
  waiting 0
  is_free
}

@test "waiters with --once go on waiting when the run before them has failed, and one of them runs" {
  local i
  start_job
  for i in 1 2 3; do
    background job --once 1h
    until_true 10 waiting "$i"
  done
  done_with 1
  ended 1 "$rlock"
  finish
  runs 1
}

@test "a waiter that nobody has told hears it when it is handed the lock, and hands it on" {
  local i
  start_job
  for i in 1 2; do
    background job --once 1h
    until_true 10 waiting "$i"
  done
  background rlock run "$key" -- sh -c 'touch plain'
  until_true 10 waiting 3
  # As a release that does not know of --once: the success is known, and the first is handed the lock.
  redis set "$(last)" "1 0 = = $(redis time | paste -sd ' ') 0 5 0 7 host ann "
  redis del "rlock:$key"
  finish
  [ -e plain ]
  [ ! -e ran ]
  done_with 0
  ended 79 "$rlock"
}

@test "--hold and --once: who comes while the lock is held on has nothing to do" {
  job --hold 1h
  expect 0 job --once 1h
  runs 1
  start=$(redis pttl "rlock:$key")
  ((start > 3000000))
}

@test "waiters with --once end at once though the lock is held on" {
  start_job --hold 1h
  background job --once 1h
  until_true 10 waiting 1
  done_with 0
  ended 0 "$rlock"
  finish
  [ ! -e ran ]
}

@test "a nested run is part of the one around it, and runs" {
  job
  rlock run "$key" -- sh -c 'rlock run -v --once 1h '"$key"' -- touch nested' 2>said
  [ -e nested ]
  grep -q 'inside another' said
}

@test "status tells who ran last, when, for how long, and how it ended" {
  local before
  before=$(date -u +%FT%TZ)
  USER=ann rlock run "$key" -- sleep 0.1
  expect 0 rlock status --json "$key"
  jq -e ".held == false and .last_run.user == \"ann\" and .last_run.host == \"$(uname -n)\" and .last_run.pid > 1 and
    .last_run.exit_status == 0 and (.last_run | has(\"signal\") | not) and .last_run.took_ms >= 100 and
    .last_run.started >= \"$before\" and .last_run.ended >= .last_run.started" <<<"$output"
  expect 0 rlock status "$key"
  [[ ${lines[2]} =~ ^last\ run\ +exit\ 0\ at\ [0-9:]{8}\ \([0-9ms\ ]+\ ago\),\ took\ [0-9]+ms,\ ann@$(uname -n)\ pid\ [0-9]+$ ]]
  expect 143 rlock run "$key" -- sh -c 'kill $$'
  [ "$(last_run '[.signal, .exit_status]')" = '[15,143]' ]
  expect 143 rlock run "$key" -- sh -c 'exit 143'
  [ "$(last_run '[.signal, .exit_status]')" = '[null,143]' ]
  expect 127 rlock run "$key" -- ./missing
  [ "$(last_run .exit_status)" = 127 ]
}

@test "what acquire and release do is no run" {
  rlock release "$key" "$(rlock acquire "$key")"
  [ "$(last_run .)" = null ]
}

@test "what stands in place of the last run is passed over, and shown harmlessly" {
  local value
  for value in x '2 0 = = 1 1 0 5 0 7 host ann ' '1 0 = = 99999999999999999999 1 0 5 0 7 host ann ' \
    "1 0 0 0 1 1 -3 -9223372036854775808 0 7 $(printf '\e[31m') ann " "$(printf '1 0 = = 1 1 -9999 5 0 7 host ann ')"; do
    redis set "$(last)" "$value"
    expect 0 rlock status "$key"
    [[ $output != *$'\e'* ]]
    expect 0 rlock status --json "$key"
    job --once 1s
    redis del "$(last)" "rlock:f:{rlock:$key}"
  done
  runs 5
  redis rpush "$(last)" x
  expect 0 rlock status "$key"
  job --once 1h
  job --once 1h
  runs 6
}

@test "rlock killed: its run does not count" {
  start_job
  until_true 10 guard_of "$rlock"
  kill -KILL "$rlock"
  until_true 10 is_free
  [ "$(last_run .signal)" = 9 ]
  job --once 1h
  runs 1
}

@test "a success counts though the server was away when it ended" {
  own_server
  start_job
  kill -STOP "$(server_pid "own-$BATS_TEST_NUMBER")"
  done_with 0
  ended 0 "$rlock"
  kill -CONT "$(server_pid "own-$BATS_TEST_NUMBER")"
  until_true 10 is_free
  job --once 1h
  [ ! -e ran ]
}
