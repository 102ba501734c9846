# A server that restarted and has forgotten its locks: a holder reclaims its lock, unless somebody else had it meanwhile.
load helper
# No lease here ends by itself.
export RLOCK_TTL=5m

setup_file() { start_server; }
teardown_file() { stop_servers; }

# knows_renew: so that the first renewal is one flight, and all of it is answered when its first command is.
knows_renew() { redis script load "$(cat "$(dirname "$RLOCK")/scripts/renew.lua")"; }
restart() {
  kill_own_server
  own_server "$@"
}

# start_job [OPTION...]: a command that ends with 5 once there is a file go; what rlock says of it stands in said.
start_job() {
  knows_renew
  background rlock run -v "$@" "$key" -- \
    sh -c 'printenv RLOCK_TOKEN RLOCK_FENCE >lease; touch up; until [ -e go ]; do sleep 0.01; done; exit 5' 2>said
  job=$!
  until_true 10 test -e up
  # Renewed for the first time, it knows the server.
  until_true 10 renewed
}
renewed() { [ "$(redis info commandstats | sed -n 's/^cmdstat_client|tracking:calls=\([0-9]*\).*/\1/p')" -ge 1 ]; }
# is_reclaimed: the lock, its fence and its record are on the server as the command knows them.
is_reclaimed() {
  [ "$(redis get "rlock:$key")" = "$(sed -n 1p lease)" ] &&
    [ "$(redis get "rlock:f:{rlock:$key}")" = "$(sed -n 2p lease)" ] &&
    [ "$(rlock status --json "$key" | jq -r '.holders[0] | "\(.fence) \(.pid)"')" = "$(sed -n 2p lease) ${1:-$job}" ]
}
# job_ends: with its own status; it gave the lock back.
job_ends() {
  touch go
  ended 5 "$job"
  unset 'background_pids[0]'
  is_free
}
# job_is_lost: its command was stopped, and rlock said so.
job_is_lost() {
  ended 79 "$job"
  unset 'background_pids[0]'
  grep -q 'lost .*no longer holds it' said
}

@test "a job whose lock the server forgot holds it again, under its token and fence, and ends as if nothing had been" {
  own_server
  start_job
  restart
  until_true 10 is_reclaimed
  grep -q "restarted and had forgotten $key; reclaimed it" said
  expect 75 rlock run -n "$key" -- true
  job_ends
}

@test "again and again, and the next fence is higher" {
  own_server
  start_job
  for _ in 1 2 3; do
    restart
    until_true 10 is_reclaimed
  done
  job_ends
  [ "$(rlock acquire --json "$key" | jq .fence)" -gt "$(sed -n 2p lease)" ]
}

@test "the same on a server that came back with an old snapshot" {
  own_server --dbfilename "$key.rdb"
  rlock run "$key" -- true
  redis save
  grep -q "rlock:f:{rlock:$key}" "$BATS_FILE_TMPDIR/$key.rdb"
  start_job
  # The server tells only in whole seconds when it started.
  until_true 5 eval '(($(date +%s) > $(redis lastsave)))'
  restart --dbfilename "$key.rdb"
  until_true 10 is_reclaimed
  job_ends
}

@test "deleted by a person after it was reclaimed, it is lost" {
  own_server
  start_job
  restart
  until_true 10 is_reclaimed
  redis del "rlock:$key"
  job_is_lost
  is_free
}

@test "the same where the restart broke off the first try to renew" {
  own_server
  start_job
  kill_own_server
  rm "$sock"
  # The server that is dying accepts a connection, and ends it.
  timeout 120 socat "UNIX-LISTEN:$sock" SYSTEM:'head -c 1 >asked' || true
  test -s asked
  own_server
  until_true 10 is_reclaimed
  redis del "rlock:$key"
  job_is_lost
}

@test "deleted by a person on a server that restarted and had kept it, it is lost" {
  own_server --appendonly yes --appendfsync always
  start_job
  redis pexpire "rlock:$key" 200000
  restart --appendonly yes --appendfsync always
  until_true 10 eval '[ "$(redis pttl "rlock:$key")" -gt 250000 ]'
  redis del "rlock:$key"
  job_is_lost
  is_free
}

@test "deleted by a person on a server that did not restart, it is lost, also where the connection broke meanwhile" {
  own_server
  start_job
  kill -STOP "$job"
  redis del "rlock:$key"
  redis client kill type normal
  kill -CONT "$job"
  job_is_lost
  is_free
}

@test "somebody else has acquired it since the restart: lost" {
  own_server
  start_job
  kill -STOP "$job"
  restart
  rlock acquire "$key" >token
  kill -CONT "$job"
  job_is_lost
  [ "$(redis get "rlock:$key")" = "$(cat token)" ]
}

@test "somebody else has had it since the restart: lost" {
  own_server
  start_job
  kill -STOP "$job"
  restart
  rlock run "$key" -- true
  kill -CONT "$job"
  job_is_lost
  is_free
}

@test "with --grace nobody gets in before the holder is back, and it hands the lock over as always" {
  own_server
  export RLOCK_GRACE=10m
  start_job --grace 0
  kill -STOP "$job"
  background rlock run "$key" -- sh -c 'touch next'
  until_true 10 waiting 1
  restart
  until_true 10 waiting 1
  expect 69 rlock run -n "$key" -- true
  kill -CONT "$job"
  until_true 10 is_reclaimed
  expect 75 rlock run -n "$key" -- true
  [ ! -e next ]
  touch go
  ended 5 "$job"
  unset 'background_pids[0]'
  finish
  [ -e next ]
}

@test "with --grace also where the server restarts in the first milliseconds of the command" {
  not_sanitized 'makes no job short'
  own_server
  local pid
  pid=$(server_pid "own-$BATS_TEST_NUMBER")
  background rlock run --grace 1ms -v "$key" -- sh -c "kill -KILL $pid; touch up; until [ -e go ]; do sleep 0.01; done; exit 5" 2>said
  job=$!
  until_true 10 is_gone "$pid"
  own_server
  until_true 10 grep -q 'reclaimed it' said
  job_ends
}

@test "a job ends while the server is away, which comes back without the lock: it was not lost" {
  own_server
  start_job
  kill_own_server
  touch go
  until_true 10 grep -q 'trying again' said
  own_server
  ended 5 "$job"
  unset 'background_pids[0]'
  run -1 grep "lost $key" said
  is_free
}

@test "a run inside a script that called acquire reclaims for the script" {
  own_server
  eval "$(rlock acquire --export "$key")"
  local script
  script=$(rlock status --json "$key" | jq '.holders[0].pid')
  start_job
  grep -q "$RLOCK_TOKEN" lease
  restart
  until_true 10 is_reclaimed "$script"
  touch go
  ended 5 "$job"
  unset 'background_pids[0]'
  expect 0 rlock release
}

@test "a run inside the one whose lock was forgotten neither takes it nor waits for its turn: that one reclaims it" {
  own_server
  local grace job
  for grace in 0 1h; do
    rm -f up go ran said
    redis config resetstat
    knows_renew
    background rlock run -v "$key" -- sh -c "touch up; until [ -e go ]; do sleep 0.01; done
      rlock run -v -t 5m --grace $grace \"\$RLOCK_KEY\" -- touch ran; exit 5" 2>said
    job=$!
    until_true 10 test -e up
    until_true 10 renewed
    kill -STOP "$job"
    restart
    touch go
    until_true 10 grep -q "held by nobody; waiting for the run around" said
    [ ! -e ran ]
    is_free
    kill -CONT "$job"
    ended 5 "$job"
    background_pids=()
    [ -e ran ]
    is_free
  done
}

@test "where the run around it has lost the lock and goes on, a run inside acquires it" {
  own_server
  background rlock run -v --on-lost warn "$key" -- sh -c 'touch up; until [ -e go ]; do sleep 0.01; done
    rlock run -w 5m "$RLOCK_KEY" -- touch ran; exit 5' 2>said
  until_true 10 test -e up
  redis del "rlock:$key"
  until_true 10 grep -q 'the command goes on' said
  touch go
  ended 79 "$!"
  background_pids=()
  [ -e ran ]
}

@test "a reclaim that goes unanswered is sent again, and does nothing when it comes late" {
  own_server
  background python3 -B "$BATS_TEST_DIRNAME/faults/proxy.py" --listen "unix:$PWD/proxy" --to "unix:$sock" \
    --control "unix:$PWD/control" --fault 'hold match=is_forgotten after=60000' >ready
  local proxy=$!
  until_true 10 grep -qs ready ready
  unset 'background_pids[0]'
  RLOCK_SERVER=unix://$PWD/proxy RLOCK_TTL=15s start_job -k 100ms
  restart
  held() { [ "$(echo stats | socat -t 60 - "UNIX:$PWD/control" | jq .held)" = "$1" ]; }
  until_true 10 held 1
  until_true 10 is_reclaimed
  touch go
  ended 5 "$job"
  is_free
  echo clear | socat -t 60 - "UNIX:$PWD/control"
  until_true 10 held 0
  # The proxy has had its answer.
  until_true 10 eval '[ "$(redis info commandstats | sed -n "s/^cmdstat_eval:calls=\([0-9]*\).*/\1/p")" -ge 1 ]'
  is_free
  kill "$proxy"
}

@test "where INFO is denied, a restart cannot be told from a deleted lock: lost" {
  local user=(--user noinfo on nopass '~*' '&*' +@all -info)
  own_server "${user[@]}"
  RLOCK_SERVER=unix://noinfo:x@$sock start_job
  restart "${user[@]}"
  job_is_lost
  is_free
}

@test "who saw the server go leaves its free locks to their holders for a moment, also without --grace" {
  own_server
  rlock acquire "$key" >token
  background rlock run -v "$key" -- touch next 2>said
  until_true 10 waiting 1
  kill_own_server
  until_true 10 grep -q 'trying again' said
  own_server --slowlog-log-slower-than 0 --slowlog-max-len 1000
  finish
  [ -e next ]
  # An argument of its acquire: no grace, and for how many milliseconds the lock is kept.
  waits() { redis slowlog get 1000 | grep -Ec '^0 [1-9][0-9]*$'; }
  local waits
  waits=$(waits)
  [ "$waits" -ge 1 ]
  # Who comes anew does not wait.
  rlock run "$key" -- true
  [ "$(waits)" = "$waits" ]
}
