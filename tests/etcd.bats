# Every verb and kind of lock over a store that a majority decides. The name of this file says which: zookeeper.bats is a link
# to etcd.bats.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # the command expands what stands in single quotes; helper.bash sets key, url
load helper
load jobs
store=${BATS_TEST_FILENAME##*/}
store=${store%.bats}
load "$store"
load stores

setup_file() { start_store; }
teardown_file() { stop_servers; }

@test "run: the lock is held while the command runs, free when it has ended, and the status is the command's" {
  expect 7 rlock run "$key" -- sh -c 'rlock status --json "$RLOCK_KEY" >inside; echo "$RLOCK_TOKEN $RLOCK_FENCE" >env; exit 7'
  jq -e '.held and .waiting == 0 and (.holders | length) == 1 and .holders[0].ttl_ms > 20000' inside
  [[ $(cat env) =~ ^[0-9a-f]{32}\ [1-9][0-9]*$ ]]
  [ "$(jq .holders[0].fence inside)" = "$(cut -d' ' -f2 env)" ]
  is_free
  expect 137 rlock run "$key" -- sh -c 'kill -9 $$'
  expect 127 rlock run "$key" -- ./missing
  is_free
}

@test "busy is 75 at once and after a time, and names the holder; who gives up leaves nothing" {
  USER=ann rlock acquire "$key"
  expect_error 75 "busy: $key is held by ann@" rlock run -n "$key" -- touch ran
  expect_error 75 "busy: $key is held by ann@" rlock run -w 300ms "$key" -- touch ran
  expect 9 rlock run -n -E 9 "$key" -- touch ran
  expect 75 rlock acquire -n "$key"
  [ ! -e ran ]
  [ "$(entries | wc -l)" = 1 ]
}

@test "waiters run in the order in which they came, each with a higher fence" {
  local token i
  token=$(rlock acquire "$key")
  for i in 1 2 3 4 5; do
    background rlock run "$key" -- sh -c 'echo "$1 $RLOCK_FENCE" >>order' sh "$i"
    until_true 10 waiting "$i"
  done
  rlock release "$key" "$token"
  finish
  [ "$(cut -d' ' -f1 order | paste -sd ' ')" = '1 2 3 4 5' ]
  [ "$(sort -snuk2 order)" = "$(cat order)" ]
  is_free
}

@test "TERM to a waiter: it has left the queue when it ends" {
  rlock acquire "$key"
  rlock run "$key" -- touch ran 3>&- &
  until_true 10 waiting 1
  kill -TERM $!
  ended 143 $!
  [ "$(entries | wc -l)" = 1 ]
  [ ! -e ran ]
}

@test "acquire, renew and release are three processes that share a token" {
  local token
  token=$(rlock acquire -t 20s "$key")
  [[ $token =~ ^[0-9a-f]{32}$ ]]
  expect 0 rlock renew -t 1m "$key" "$token"
  (($(status_of '.holders[0].ttl_ms') > 30000))
  # Never shortened.
  expect 0 rlock renew -t 5s "$key" "$token"
  (($(status_of '.holders[0].ttl_ms') > 30000))
  expect 0 rlock release "$key" "$token"
  [ -z "$output" ]
  is_free
}

@test "a token that does not hold the lock renews and releases nothing: 79, and who does" {
  local token wrong=0123456789abcdef0123456789abcdef
  token=$(rlock acquire "$key")
  expect_error 79 "$key is held by somebody else" rlock release "$key" $wrong
  expect_error 79 "$key is held by somebody else" rlock renew "$key" $wrong
  expect 79 rlock release "$key" "${token:0:31}"
  expect 79 rlock release "$key" "${token}0"
  is_held
  rlock release "$key" - <<<"$token"
  expect_error 79 "$key is not held by anybody" rlock release "$key" "$token"
  expect_error 79 "$key is not held by anybody" rlock renew "$key" "$token"
  # The second release does not touch the next holder.
  rlock acquire "$key"
  expect_error 79 "$key is held by somebody else" rlock release "$key" "$token"
  is_held
}

@test "a token that waits is no holder's" {
  local token
  rlock acquire "$key"
  background rlock run "$key" -- true
  until_true 10 waiting 1
  token=$(entries | tail -n 1)
  token=${token##*/}
  token=${token%%-*}
  expect_error 79 "$key is held by somebody else" rlock renew "$key" "$token"
  rlock release --force "$key"
  finish
}

@test "--force releases whoever holds it, says whom, and the next waiter runs" {
  USER=ann rlock acquire "$key"
  background rlock run "$key" -- touch ran
  until_true 10 waiting 1
  run --separate-stderr -0 rlock release --force "$key"
  [[ $stderr == "rlock: released $key, held by ann@$(uname -n) pid "* ]]
  finish
  [ -e ran ]
  expect_error 79 "$key is not held by anybody" rlock release --force "$key"
}

@test "acquire --json and --export" {
  rlock acquire --json -t 20s "$key" >json
  jq -e '.key == "'"$key"'" and .version == 1 and .ttl_ms == 20000 and .fence > 0 and (.token | length == 32)' json
  rlock release "$key" "$(jq -r .token json)"
  sh -c 'eval "$(rlock acquire --export "$1")" && rlock renew && rlock run -n "$1" -- true && rlock release' sh "$key"
  is_free
  # What cannot be told to anybody is not kept.
  expect_error 70 'cannot write the token' sh -c 'exec rlock acquire "$1" >/dev/full' sh "$key"
  is_free
}

@test "acquire --while-pid: the lock is renewed as long as the process lives, and free at once when it is killed" {
  cat >script <<-END
	eval "\$(rlock acquire --export --while-pid \$\$ -t 4s -k 100ms '$key')" || exit
	echo \$\$ >has_it
	exec sleep 1000
	END
  bash script 3>&- &
  local script=$!
  until_true 10 test -s has_it
  until_renewed
  until_renewed
  [ "$(status_of '.holders[0].pid')" = "$script" ]
  background rlock run "$key" -- touch ran
  until_true 10 waiting 1
  kill -KILL "$script"
  until_true 10 test -e ran
  finish
}

@test "a nested run is inside the lock of the one around it, and asks for none" {
  expect 0 rlock run "$key" -- rlock run -n "$key" -- rlock run -n "$key" -- echo in
  [ "$output" = in ]
  is_free
  # The outer one's shell ends first.
  rlock run "$key" -- sh -c 'rlock run "$RLOCK_KEY" -- sh -c "touch inside; until [ -e go ]; do sleep 0.01; done; touch done" &
    until [ -e inside ]; do sleep 0.01; done' 3>&- &
  local outer=$!
  until_true 10 test -e inside
  background rlock run "$key" -- sh -c '[ -e done ] && touch next'
  until_true 10 waiting 1
  touch go
  ended 0 $outer
  finish
  [ -e next ]
}

@test "below a shell that holds the lock, a run renews it, and one with a shorter ttl does not cut the lease" {
  local token
  token=$(rlock acquire -t 4s "$key")
  RLOCK_KEY=$key RLOCK_TOKEN=$token expect 0 rlock run -t 4s -k 100ms "$key" -- sh -c 'sleep 5; rlock status --json "$RLOCK_KEY"'
  jq -e .held <<<"$output"
  rlock release "$key" "$token"
  start_held -t 30s
  RLOCK_KEY=$key RLOCK_TOKEN=$(first_token) expect 0 rlock renew -t 3s "$key"
  (($(status_of '.holders[0].ttl_ms') > 15000))
  touch go
  ended 0 $rlock
}

@test "readers run together, a writer when the last of them has ended, and readers behind it wait" {
  local name
  for name in a b; do job $name --shared; done
  all_run a b
  job w
  until_true 10 waiting 1
  job c --shared
  until_true 10 waiting 2
  expect 75 rlock run -n --shared "$key" -- true
  end a
  [ "$(holders)" -ge 1 ]
  run -1 runs w
  end b
  all_run w
  [ "$(status_of .mode)" = exclusive ]
  run -1 runs c
  end w
  all_run c
  [ "$(status_of .mode)" = shared ]
  end c
  until_true 10 is_free
}

@test "slots: so many run at once and no more, and those who wait come in their order" {
  local name n=0
  for name in a b; do job $name --slots 2; done
  all_run a b
  for name in c d e; do job $name --slots 2 && until_true 10 waiting $((++n)); done
  expect_error 75 "busy: all 2 slots of $key are held, one by" rlock run -n --slots 2 "$key" -- true
  expect 75 rlock run -w 100ms --slots 2 "$key" -- true
  [ "$(status_of '[.mode, .slots]')" = '["slots",2]' ]
  end b
  all_run c
  waiting 2
  end a
  all_run d
  end c
  all_run e
  end d e
  until_true 10 is_free
}

@test "another number of slots, or another kind of lock, is an error that says which is in force" {
  job a --slots 2
  all_run a
  expect_error 78 "$key is in use with --slots 2, not --slots 3; give --slots 2 too, or choose another KEY" rlock run --slots 3 "$key" -- true
  expect_error 78 "$key is in use with --slots 2; give --slots 2 too, or choose another KEY" rlock run "$key" -- true
  expect_error 78 "$key is in use with --slots 2, not --shared; give --slots 2 too," rlock run -n -s "$key" -- true
  [ "$(entries | wc -l)" = 1 ]
  end a
  until_true 10 is_free
  expect 0 rlock run --slots 3 "$key" -- true
  job b --shared
  all_run b
  expect_error 78 "$key is in use with --shared; leave out --slots 2, or choose another KEY" rlock run --slots 2 "$key" -- true
  end b
}

@test "--with: all keys or none, and the loss of one is the loss of all" {
  expect 0 rlock run --with "$key-b" --with "$key-c" "$key" -- sh -c 'for k in $RLOCK_KEYS; do rlock status --json $k; done'
  [ "$(grep -c '"held":true' <<<"$output")" = 3 ]
  rlock acquire "$key-b" >token
  expect_error 75 "busy: $key-b is held by" rlock run -n --with "$key-b" "$key" -- touch ran
  is_free
  rlock release "$key-b" "$(cat token)"
  start_held -k 100ms --with "$key-b"
  delete_lock "$key-b"
  ended 79 "$rlock"
  is_free
  is_free "$key-b"
}

@test "--hold keeps the lock, and its place in the queue, though the command has ended" {
  rlock run --hold 1h "$key" -- true
  expect_error 75 "whose command has ended (--hold)" rlock run -n "$key" -- touch ran
  rlock status --json "$key" | jq -e '.held and .holders[0].hold and .holders[0].ttl_ms > 3500000 and .holders[0].ttl_ms <= 3601000'
  USER=ann expect 0 rlock release --force "$key"
  is_free
  # The token of a run that has ended goes for nothing.
  rlock run --hold 1h "$key" -- sh -c 'echo "$RLOCK_TOKEN" >token'
  expect_error 79 "" rlock renew -t 2h "$key" "$(cat token)"
  expect_error 79 "" rlock release "$key" "$(cat token)"
  RLOCK_KEY=$key RLOCK_TOKEN=$(cat token) expect 75 rlock run -n "$key" -- touch ran
  rlock release --force "$key"
  start_held --hold 3s -t 30s
  background rlock run "$key" -- true
  until_true 10 waiting 1
  touch go
  ended 0 "$rlock"
  waiting 1
  finish
  is_free
  # One that runs for longer releases as ever.
  rlock run --hold 100ms "$key" -- sleep 0.2
  is_free
}

@test "--once does nothing where a run has succeeded, waiters included, and goes on where it failed" {
  local i
  expect 1 rlock run "$key" -- false
  rlock run --once 1h "$key" -- sh -c 'echo >>ran'
  rlock run --once 1h "$key" -- sh -c 'echo >>ran'
  expect 0 rlock run -v --once 1h "$key" -- sh -c 'echo >>ran'
  [[ $output == *"nothing to do: a run of $key succeeded "* ]]
  [ "$(wc -l <ran)" = 1 ]
  key=$key-2
  start_held
  for i in 1 2 3; do
    background rlock run --once 1h "$key" -- sh -c 'echo >>ran2'
    until_true 10 waiting "$i"
  done
  background rlock run "$key" -- touch plain
  until_true 10 waiting 4
  touch go
  ended 0 "$rlock"
  finish
  [ -e plain ]
  [ ! -e ran2 ]
  is_free
}

@test "the last run is told: who, how it ended, how long it took; a success is kept behind a failure" {
  USER=ann rlock run --label 'build 7' "$key" -- sleep 0.1
  rlock status --json "$key" | jq -e '.held == false and (.last_run | .user == "ann" and .exit_status == 0 and .took_ms >= 100 and
    .label == "build 7" and .ended >= .started)'
  expect 143 rlock run "$key" -- sh -c 'kill $$'
  rlock status --json "$key" | jq -e '.last_run | .signal == 15 and .exit_status == 143 and .succeeded != null'
  rlock release "$key" "$(rlock acquire "$key")"
  [ "$(status_of '.last_run.exit_status')" = 143 ]
}

@test "a label of the holder and of a waiter, whatever characters it has" {
  local text=$'https://ci/job/7 \x1f\n\x1b[31m 日本'
  start_held --label "$text"
  RLOCK_LABEL='the nightly one' background rlock run "$key" -- true
  until_true 10 waiting 1
  [ "$(rlock status --json "$key" | jq -r '.holders[0].label')" = "$text" ]
  [ "$(status_of '.waiters[0].label')" = 'the nightly one' ]
  touch go
  finish
}

@test "status: one lock with its holder and waiters in order" {
  local i
  USER=ann rlock acquire "$key" >token
  for i in 1 2 3; do
    USER=w$i background rlock run "$key" -- true
    until_true 10 waiting "$i"
  done
  rlock status --json "$key" >json
  jq -e '[.waiters[].user] == ["w1", "w2", "w3"] and .holders[0].user == "ann" and .holders[0].host == "'"$(uname -n)"'" and
    .holders[0].pid > 1 and .holders[0].held_ms >= 0 and .holders[0].held_ms < 300000 and
    (.holders[0].since | test("^20[0-9]{2}-")) and all(.waiters[]; .waiting_ms >= 0 and .pid > 1)' json
  rlock status "$key" >table
  grep -q "^ann@" table
  grep -q "^1 *w1@" table
  expect 0 rlock status -q --exit-code "$key"
  run -1 grep -F "$(cat token)" json table
  rlock release "$key" "$(cat token)"
  finish
  expect 1 rlock status -q --exit-code "$key"
}

@test "status: a list, keys, metrics, patterns, prefixes" {
  own_store
  run --separate-stderr -0 rlock status
  [[ -z $output && $stderr == "rlock: no locks at "* ]]
  rlock acquire job10 >/dev/null
  rlock acquire job2 >/dev/null
  rlock run ran -- true
  rlock release gone "$(rlock acquire gone)"
  rlock acquire --prefix team: theirs
  [ "$(rlock status --format keys | paste -sd ' ')" = 'job2 job10 ran' ]
  [ "$(rlock status --format keys 'job?')" = job2 ]
  [ "$(rlock status --prefix team: --format keys)" = theirs ]
  [ "$(rlock status --prefix '' --format keys | paste -sd ' ')" = 'rlock:job2 rlock:job10 rlock:ran team:theirs' ]
  [ "$(rlock status | wc -l)" = 4 ]
  [ "$(rlock status --json | jq -c '[.locks[] | [.key, .held]]')" = '[["job2",true],["job10",true],["ran",false]]' ]
  rlock status --format prometheus >metrics
  grep -qx 'rlock_up 1' metrics
  grep -q '^rlock_lock_held{key="job2"} 1$' metrics
  grep -q '^rlock_last_run_exit_status{key="ran"} 0$' metrics
}

@test "status --json is what the schema says" {
  local python
  python_with jsonschema
  rlock acquire "$key" >token
  background rlock run -s "$key" -- true
  until_true 10 waiting 1
  rlock run --hold 1h --show-command "$key-h" -- true
  {
    rlock status --json
    rlock status --json "$key"
    rlock status --json "$key-h"
    rlock status --json nobody
  } >said
  "$python" - "$BATS_TEST_DIRNAME/../docs/status.schema.json" <<-'END'
	import json, sys, jsonschema
	check = jsonschema.Draft202012Validator(json.load(open(sys.argv[1])))
	for line in open("said"):
	    check.validate(json.loads(line))
	END
  rlock release "$key" "$(cat token)"
  finish
}

@test "status --watch draws who comes and goes" {
  local python
  python_with pexpect
  timeout 120 "$python" - "$RLOCK" "$key" <<-'END'
	import os, subprocess, sys, pexpect
	rlock, key = sys.argv[1:]
	os.environ.update(TERM="xterm", NO_COLOR="1")
	watch = pexpect.spawn(rlock, ["status", "--watch", key], dimensions=(24, 100), timeout=60, encoding="utf-8")
	watch.expect("state +free")
	token = subprocess.check_output([rlock, "acquire", key], text=True).strip()
	watch.expect("state +held")
	subprocess.check_call([rlock, "release", key, token])
	watch.expect("state +free")
	watch.send("q")
	watch.expect(pexpect.EOF)
	watch.close()
	assert watch.exitstatus == 0, watch
	END
}

@test "what a store that a majority decides has no use for is refused, with the reason" {
  expect_error 64 '--replicas' rlock run --replicas 1 "$key" -- touch ran
  expect_error 64 '--grace' rlock run --grace 5s "$key" -- touch ran
  expect_error 64 '--compat' rlock run --compat redisson "$key" -- touch ran
  expect_error 64 '--compat' rlock acquire --compat redisson "$key"
  expect_error 64 '--ttl 300ms is ' rlock run -t 300ms "$key" -- touch ran
  [[ $stderr == *'use --ttl '* ]]
  [ ! -e ran ]
  is_free
}

@test "keys of any kind: spaces, slashes, percent, control-looking escapes, Unicode, 1024 bytes, one that begins like another" {
  local name names=('a b' 'a/b' '/a/' 'a/../b' 'a%2Fb' 'a%' '%' '日本 é' "it's \"x\"" '*' '[a]' 'a:b' '{a}' '-n' 'a' 'ab' '.' '..'
    "$(printf 'k%.0s' {1..1024})" "$(printf '/%.0s' {1..1000})")
  for name in "${names[@]}"; do
    expect 0 rlock run --prefix "$key:" -- "$name" sh -c 'printf %s "$RLOCK_KEY" >seen; rlock status --prefix "$0" --json -- "$RLOCK_KEY"' "$key:"
    [ "$(cat seen)" = "$name" ]
    jq -e --arg name "$name" '.key == $name and .held' <<<"$output"
    rlock acquire -t 10m --prefix "$key:" -- "$name" >/dev/null
    expect 75 rlock acquire --prefix "$key:" -n -- "$name"
  done
  # Each is a lock of its own, and listed once.
  [ "$(rlock status --prefix "$key:" --json | jq '[.locks[] | select(.held)] | length')" = "${#names[@]}" ]
  for name in "${names[@]}"; do
    rlock status --prefix "$key:" --json | jq -e --arg name "$name" 'any(.locks[]; .key == $name)' >/dev/null
    rlock release --prefix "$key:" --force -- "$name"
  done
  [ "$(rlock status --prefix "$key:" --json | jq '[.locks[] | select(.held)] | length')" = 0 ]
}

@test "a user, host or label that is odd is shown harmlessly" {
  USER=$'\e]0;title\a\xff\u202e x' rlock acquire --label $'\e[31m' "$key"
  rlock status "$key" >table
  run -1 grep -P '[\x00-\x08\x0b-\x1f\x7f]|\xe2\x80\xae' table
  rlock status --json "$key" | LC_ALL=C tr -d '\n\040-\176' >odd
  [ ! -s odd ]
}

@test "an entry that somebody deletes ends the command at once, though the next renewal is far" {
  write_job
  rlock run -t 60s -k 200ms "$key" -- ./job 2>error 3>&- &
  rlock=$!
  until_true 10 job_runs
  delete_lock
  until_true 10 is_gone "$rlock"
  ended 79 "$rlock"
  job_is_dead
  grep -q "^rlock: lost $key after .* no longer holds it; stopping the command" error
  is_free
}

@test "a server that does not answer: the command is dead by the deadline, before the next one runs" {
  own_store
  write_job
  rlock run -t 4s -k 200ms "$key" -- ./job 2>error 3>&- &
  rlock=$!
  until_true 10 job_runs
  export -f job_is_dead is_gone state_of
  rlock run "$key" -- bash -c 'job_is_dead && touch alone; cut -d" " -f1 /proc/uptime >next' 3>&- &
  local waiter=$! stopped
  until_true 10 waiting 1
  kill -STOP "$(own_pid)"
  stopped=$(uptime_now)
  ended 79 "$rlock"
  job_is_dead
  holds "$(last_beat) < $stopped + 4"
  kill -CONT "$(own_pid)"
  ended 0 "$waiter"
  [ -e alone ]
  holds "$(last_beat) < $(cat next)"
  grep -q "^rlock: lost $key after .*: it could not be renewed in time; stopping the command" error
}

@test "a server that restarts meanwhile costs neither the holder nor a waiter anything" {
  own_store
  start_held -t 30s
  local fence
  fence=$(status_of '.holders[0].fence')
  background rlock run "$key" -- sh -c 'echo "$RLOCK_FENCE" >second'
  local second=$!
  until_true 10 waiting 1
  background rlock run "$key" -- sh -c 'echo "$RLOCK_FENCE" >third'
  local third=$!
  until_true 10 waiting 2
  kill_own_store
  own_store
  [ "$(status_of '.holders[0].fence')" = "$fence" ]
  waiting 2
  # One that is not back within a claim is passed over.
  until_true 10 is_connected "$second"
  until_true 10 is_connected "$third"
  touch go
  ended 0 "$rlock"
  finish
  (($(cat second) > fence && $(cat third) > $(cat second)))
}

@test "rlock killed: the command and its daemon are dead, and the next waiter runs at once" {
  start_job -t 60s
  export -f job_is_dead is_gone state_of
  rlock run "$key" -- bash -c 'job_is_dead && touch alone' 3>&- &
  local waiter=$!
  until_true 10 waiting 1
  kill -KILL "$rlock"
  ended 0 "$waiter"
  [ -e alone ]
  until_true 10 is_gone "$guard"
  [ "$(status_of '.last_run.exit_status')" = 0 ]
}

@test "rlock and its guard killed: the lock is free when the lease ends" {
  start_held -t 15s
  until_true 10 guard_of "$rlock"
  kill -STOP "$rlock"
  kill -KILL "$(guard_of "$rlock")" "$rlock"
  is_held
  expect 0 rlock run -w 5m "$key" -- true
  is_free
}

@test "rlock stopped: the command is dead by the end of the lease, and rlock is woken to tell of it" {
  start_job -t 4s -k 200ms
  local stopped
  kill -STOP "$rlock"
  stopped=$(uptime_now)
  until_true 9 job_is_dead
  holds "$(last_beat) < $stopped + 4"
  ended 79 "$rlock"
  until_true 10 is_free
}

@test "what --hold has kept is over when it ends, for who does not wait too" {
  expect 0 rlock run --hold 1s "$key" true
  expect 75 rlock run -n "$key" true
  until_true 20 rlock run -n "$key" true
}

@test "--once looks while the lock is held, and whatever --remember says" {
  local token
  expect 0 rlock run --once 1h --remember 0 "$key" -- sh -c 'echo ran >>ran'
  expect 0 rlock run --once 1h --remember 0 "$key" -- sh -c 'echo ran >>ran'
  token=$(rlock acquire "$key")
  expect 0 rlock run -n --once 1h "$key" -- sh -c 'echo ran >>ran'
  expect 0 rlock run -w 10s --once 1h "$key" -- sh -c 'echo ran >>ran'
  rlock release "$key" "$token"
  [ "$(cat ran)" = ran ]
  rlock run --remember 0 other true
  run ! grep -q exit <(rlock status other)
}

@test "who does not wait is told of another number of slots as well" {
  local token
  token=$(rlock acquire --slots 2 "$key")
  expect_error 78 '--slots 2' rlock run -n "$key" -- touch ran
  expect_error 78 '--slots 2' rlock acquire -n --slots 3 "$key"
  rlock release "$key" "$token"
}

@test "an empty prefix is one too" {
  rlock acquire "$key"
  [[ $(rlock status --prefix '' --format keys) == *"$key" ]]
}

@test "renewals for longer, of many at once, all succeed, and the run keeps its lock" {
  renew_at_once
}

@test "the token of a waiter is not that of a holder: its release says so, and the waiter ends" {
  local token waiter
  token=$(rlock acquire "$key")
  rlock acquire "$key" 3>&- &
  until_true 10 waiting 1
  waiter=$(entries | grep -v "$token" | sed -E 's,.*/,,; s/-.*//')
  expect 79 rlock release "$key" "$waiter"
  ended 70 $!
  [ "$(entries | wc -l)" = 1 ]
  rlock release "$key" "$token"
}

@test "nothing listens, or nobody answers: 69, and soon" {
  export RLOCK_SERVER
  RLOCK_SERVER=$store://127.0.0.1:$(free_port)
  every_verb 69 'cannot connect to' --connect-timeout 500ms
  own_store
  kill -STOP "$(own_pid)"
  every_verb 69 'no answer' --connect-timeout 500ms
}

@test "of several members one that is down is passed over" {
  local dead
  dead=127.0.0.1:$(free_port)
  for RLOCK_SERVER in "$store://$dead,$endpoint" "$store://$endpoint,$dead"; do
    export RLOCK_SERVER
    for _ in 1 2 3; do expect 0 rlock run "$key" -- true; done
    [ "$(status_of .held)" = false ]
  done
}
