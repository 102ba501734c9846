# run --timeout D: a command that has run for so long is stopped, and the lock released. 124, as timeout(1) has it.
load helper

setup_file() { start_server; }
teardown_file() { stop_servers; }

last_run() { rlock status --json "$key" | jq -c ".last_run | $1"; }

@test "a command that has run for so long gets TERM, with all that it started; 124, and the lock is free" {
  write_job
  expect 124 rlock run --timeout 2s "$key" -- ./job
  [ "$output" = "rlock: stopping the command of $key: it has run for 2s (--timeout)" ]
  is_free
  job_runs
  job_is_dead
}

@test "it counts from the start of the command, not from that of the wait" {
  rlock run "$key" -- sh -c 'touch up; until [ -e go ]; do sleep 0.01; done' 3>&- &
  until_true 10 test -e up
  background rlock run --timeout 60s "$key" -- true
  until_true 10 waiting 1
  background rlock run --timeout 10ms -w 1ms -E 0 "$key" -- true
  sleep 0.1
  touch go
  finish
}

@test "what ignores TERM is killed after --kill-after, and the lock is held until then" {
  cat >stubborn <<-'END'
	trap 'touch told' TERM
	while :; do
	  # The TERM may end this rlock too, which is not 1.
	  rlock status --exit-code -q "$RLOCK_KEY"
	  [ $? != 1 ] || touch not-held
	  sleep 0.02
	done
	END
  expect 124 rlock run -t 60s --timeout 500ms -k 1s "$key" -- bash stubborn
  [ -e told ]
  [ ! -e not-held ]
  is_free
}

@test "--signal is what it gets, and 124 is the status whatever the command makes of it" {
  local status
  for status in 0 3; do
    rm -f got
    expect 124 env --default-signal rlock run -q --timeout 500ms --signal USR1 "$key" -- \
      bash -c 'trap "touch got; exit $0" USR1; while :; do sleep 0.02; done' "$status"
    [ -e got ]
    [[ $output = "rlock: stopping the command of $key: "* ]]
  done
}

@test "a command that ends before keeps its status, and 0 is no limit" {
  expect 3 rlock run --timeout 60s "$key" -- sh -c 'exit 3'
  expect 0 rlock run --timeout 0 "$key" -- sleep 0.1
  expect 143 rlock run --timeout 60s "$key" -- sh -c 'kill -TERM $$'
}

@test "with --tree it ends what goes on behind the command" {
  write_job
  expect 124 rlock run --tree --timeout 1500ms "$key" -- sh -c './beat job >/dev/null 2>&1 & until [ -s job.beats ]; do sleep 0.01; done'
  is_gone "$(cat job.pid)"
}

@test "the last run says so, in the table, in JSON and to --once; --hold goes on" {
  expect 124 rlock run --timeout 100ms --hold 10m "$key" -- sleep 60
  [ "$(last_run .exit_status)" = 124 ]
  rlock status "$key" | grep -qE '^last run +exit 124 \(timed out\) at '
  expect 75 rlock run -n "$key" -- true
  rlock release --force "$key"
  expect 0 rlock run --once 1h "$key" -- touch ran
  [ -e ran ]
}

@test "json: the stop is an event of its own, in front of the release" {
  expect 124 rlock run --log-format json --timeout 300ms "$key" -- sleep 60
  printf '%s\n' "$output" >said
  [ "$(jq -r .event said | xargs)" = 'acquired timed_out released' ]
  [ "$(jq -c 'select(.event == "timed_out") | [.key, .level, .exit_status, .held_ms >= 300]' said)" = "[\"$key\",\"error\",124,true]" ]
}

@test "a lock that is lost meanwhile is lost: 79, and no grace for the command" {
  rlock run -t 60s -k 19s --timeout 300ms "$key" -- bash -c 'trap "touch told" TERM; while :; do sleep 0.02; done' 3>&- &
  local rlock=$!
  until_true 10 test -e told
  redis set "rlock:$key" theirs px 60000
  ended 79 "$rlock"
}

@test "an inner run is stopped by the timeout of the outer one, and has one of its own" {
  expect 124 rlock run --timeout 1s "$key" -- rlock run "$key" -- sleep 60
  is_free
  expect 124 rlock run "$key" -- rlock run --timeout 100ms "$key" -- sleep 60
  is_free
}

@test "a bad duration is refused, and a configuration file can set it" {
  expect_error 64 "--timeout: 'soon' is not a duration" rlock run --timeout soon "$key" -- true
  printf '[run]\ntimeout = 100ms\n' >conf
  expect 124 rlock run --config conf "$key" -- sleep 60
}
