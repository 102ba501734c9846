# run --hold D: the lock is held for D from its start at least, and no process stays for that.
load helper

setup_file() { start_server; }
teardown_file() { stop_servers; }

# No process is left of the run with this pid.
nobody_stays() { ! pgrep -f "^rlock(-guard)?( .*)? $key( |\$)" >/dev/null; }
since() { rlock status --json "$key" | jq -r '.holders[0].fence'; }
left() { redis pttl "rlock:$key"; }
# is_held_on FROM TO: after its command, for so many milliseconds more.
is_held_on() {
  [[ $(redis get "rlock:$key") == hold:* ]] && (($(left) >= $1 && $(left) <= $2))
}

@test "--hold keeps the lock though the command has ended, and run returns without a process that stays" {
  key=held-by-$$  # among all processes of the machine
  rlock run --hold 1h "$key" -- true
  nobody_stays
  is_held_on 3500000 3600000
  expect_error 75 "whose command has ended (--hold)" rlock run -n "$key" -- touch ran
  expect 75 rlock run -w 100ms --hold 1s "$key" -- touch ran
  [ ! -e ran ]
}

@test "a hold shorter than the ttl, and one that is longer" {
  rlock run -t 1m --hold 5s "$key-a" -- true
  rlock run -t 3s --hold 1h "$key-b" -- true
  [ "$(redis pttl "rlock:$key-a")" -le 5000 ]
  [ "$(redis pttl "rlock:$key-b")" -gt 3000000 ]
}

@test "a command that runs for longer than the hold releases as ever" {
  rlock run --hold 100ms "$key" -- sleep 0.15
  is_free
}

@test "the hold counts from the start of the lease, not from the end of the command" {
  start_held --hold 1h
  sleep 1.1
  touch go
  ended 0 "$rlock"
  is_held_on 3000000 3598900
}

@test "--hold counts however the command has ended" {
  expect 3 rlock run --hold 1m "$key" -- sh -c 'exit 3'
  is_held_on 30000 60000
  redis del "rlock:$key"
  expect 137 rlock run --hold 1m "$key" -- sh -c 'kill -9 $$'
  is_held_on 30000 60000
  redis del "rlock:$key"
  start_held --hold 1m
  kill -TERM "$rlock"
  ended 143 "$rlock"
  is_held_on 30000 60000
}

@test "a command that cannot be started holds nothing: another host may have it" {
  expect 127 rlock run --hold 1m "$key" -- ./missing
  is_free
  touch plain
  expect 126 rlock run --hold 1m "$key" -- ./plain
  is_free
}

@test "the waiters take it in their order when the hold ends, and not before" {
  local start i
  start_held --hold 2s -t 1m
  start=$(since)
  for i in 1 2 3 4 5; do
    background sh -c 'rlock run '"$key"' -- sh -c "echo '"$i"' >>order; redis-cli -s $sock time >time.'"$i"'"'
    until_true 10 waiting "$i"
  done
  touch go
  ended 0 "$rlock"
  finish
  [ "$(tr -d "\n" <order)" = 12345 ]
  # Two lines, seconds and microseconds.
  (($(awk '{ printf NR == 1 ? "%d" : "%06d", $1 }' time.1) - start >= 2000000))
}

@test "who waits hears at once until when it is held" {
  start_held --hold 1h -t 1h
  background rlock run -v "$key" -- true 2>said
  until_true 10 waiting 1
  redis-cli -s "$sock" subscribe "rlock:w:{rlock:$key}:$(redis zrange "rlock:q:{rlock:$key}" 0 0)" >heard 3>&- &
  until_true 10 grep -q subscribe heard
  touch go
  ended 0 "$rlock"
  until_true 10 grep -q '^h ' heard
  rlock release --force "$key"
  finish
}

@test "the token of a run that has ended neither renews nor releases the hold, and re-enters nothing" {
  rlock run --hold 1m "$key" -- sh -c 'echo "$RLOCK_TOKEN" >token'
  expect_error 79 "" rlock renew -t 1h "$key" "$(cat token)"
  expect_error 79 "" rlock release "$key" "$(cat token)"
  RLOCK_KEY=$key RLOCK_TOKEN=$(cat token) expect 75 rlock run -n "$key" -- touch ran
  [ ! -e ran ]
  is_held_on 30000 60000
}

@test "what the command left running cannot make the hold last longer" {
  rlock run --hold 1m "$key" -- sh -c 'setsid sh -c "touch up; until [ -e go ]; do sleep 0.01; done; rlock renew -t 1h; echo \$? >end" >/dev/null 2>&1 &'
  until_true 10 test -e up
  touch go
  until_true 10 grep -q 79 end
  is_held_on 30000 60000
}

@test "release --force ends a hold, and says whose it is" {
  USER=ann rlock run --hold 1h "$key" -- true
  expect 0 rlock release --force "$key"
  [[ $output == *ann@* ]]
  is_free
}

@test "status says that a lock is held by --hold, by whom and until when, and its fence stays" {
  local fence
  USER=ann rlock run --hold 1h "$key" -- sh -c 'echo "$RLOCK_FENCE" >fence'
  fence=$(cat fence)
  expect 0 rlock status --exit-code --json "$key"
  jq -e ".held and .holders[0].hold and .holders[0].user == \"ann\" and .holders[0].fence == $fence and
    .holders[0].ttl_ms > 3500000 and .holders[0].ttl_ms <= 3600000" <<<"$output"
  expect 0 rlock status "$key"
  [[ ${lines[1]} =~ ^state\ +on\ hold$ ]]
  grep -Eq "^ann@.* \(--hold\) .* (1h|59m [0-9]+s) +$fence$" <<<"$output"
  rlock status | grep -Eq "^$key +on hold +ann@"
  rlock release --force "$key"
  rlock run "$key" -- sh -c 'echo "$RLOCK_FENCE" >later'
  (($(cat later) > fence))
}

@test "rlock killed: the guard holds on for what is left" {
  local guard
  start_held --hold 1h
  until_true 10 guard_of "$rlock"
  guard=$(guard_of "$rlock")
  kill -KILL "$rlock"
  until_true 10 is_gone "$guard"
  is_held_on 3000000 3600000
  expect 0 rlock status --json "$key"
  jq -e '.last_run.signal == 9 and .last_run.exit_status == 137 and .holders[0].hold' <<<"$output"
}

@test "rlock killed, the guard replaced before: the same" {
  local guard
  has_another_guard() {
    guard_of "$rlock" >now || return
    [ "$(cat now)" != "$guard" ]
  }
  start_held --hold 1h
  until_true 10 guard_of "$rlock"
  guard=$(guard_of "$rlock")
  kill -KILL "$guard"
  until_true 10 has_another_guard
  kill -KILL "$rlock"
  until_true 10 is_held_on 3000000 3600000
}

@test "a lock that was lost is held on by nobody" {
  start_held --hold 1h -k 100ms
  redis del "rlock:$key"
  ended 79 "$rlock"
  is_free
  rm up
  start_held --hold 1h -t 1s
  until_true 10 guard_of "$rlock"
  kill -STOP "$rlock"
  until_true 10 is_free
  ended 79 "$rlock"
  is_free
}

@test "a lock that somebody else has by now is left alone" {
  start_held --hold 1h --on-lost warn
  redis set "rlock:$key" theirs px 60000
  touch go
  ended 79 "$rlock"
  [ "$(redis get "rlock:$key")" = theirs ]
}

@test "a server that is full holds on as well" {
  own_server
  start_held --hold 1h
  redis config set maxmemory 1
  touch go
  ended 0 "$rlock"
  is_held_on 3000000 3600000
  redis config set maxmemory 0
}

@test "a server that was away when the command ended holds on when it is back, and knows how it ended" {
  key=away-from-$$
  own_server
  start_held --hold 1h -t 1m
  kill -STOP "$(server_pid "own-$BATS_TEST_NUMBER")"
  touch go
  ended 0 "$rlock"
  kill -CONT "$(server_pid "own-$BATS_TEST_NUMBER")"
  until_true 10 is_held_on 3000000 3600000
  [ "$(rlock status --json "$key" | jq '.last_run.exit_status')" = 0 ]
  until_true 10 nobody_stays
}

@test "a nested run holds nothing on: the run around it does" {
  rlock run "$key" -- sh -c 'rlock run -v --hold 1h '"$key"' -- true' 2>said
  grep -q 'inside another' said
  is_free
  rlock run --hold 1h "$key" -- rlock run "$key" -- true
  is_held_on 3000000 3600000
}

@test "twenty hosts whose clocks differ by seconds run a job once" {
  local i
  for i in $(seq 20); do
    background sh -c "sleep $((i % 2)).$((i * 7 % 10)); exec rlock run --hold 1m -n -E 0 $key -- sh -c 'echo $i >>ran'" 2>>said
  done
  finish
  [ "$(wc -l <ran)" = 1 ]
  [ ! -s said ]
}

@test "slots that are held on: so many starts in that time, and no more" {
  rlock run --slots 2 --hold 1h "$key" -- true
  rlock run --slots 2 --hold 2s "$key" -- true
  expect 75 rlock run --slots 2 -n "$key" -- touch ran
  [[ $output == *'whose command has ended (--hold)'* ]]
  expect 0 rlock run --slots 2 -w 5m "$key" -- true
  rlock release --force "$key"
  is_free
}

@test "several keys are all held on, and --once looks at KEY" {
  rlock run --with "$key-b" --hold 1h "$key" -- true
  expect 75 rlock run -n "$key-b" -- touch ran
  expect 0 rlock run --with "$key-c" --once 1h "$key" -- touch ran
  [ ! -e ran ]
  is_free "$key-c"
}

@test "a hold that is none is an error" {
  met=$(connections)
  wrong "--hold: '0' is too short" run --hold 0 "$key" -- true
  wrong "--hold: 'soon' is not a duration" run --hold soon "$key" -- true
  wrong "--hold" acquire --hold 1s "$key"
}
