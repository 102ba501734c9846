# A server that is away for a while costs nobody a lock, and keeps nobody from it for longer than it is away (R30).
load helper
# No lease here ends by itself.
export RLOCK_TTL=5m

setup_file() { start_server; }
teardown_file() { stop_servers; }

# What it knew when it was killed, it knows again.
keeps=(--appendonly yes --appendfsync always)

# start_job: a command that ends with 5 once there is a file go; what rlock says of it stands in said.
start_job() {
  background rlock run -v "$key" -- sh -c 'touch up; until [ -e go ]; do sleep 0.01; done; exit 5' 2>said
  job=$!
  until_true 10 test -e up
}
# A guard comes when a command has outlived its first milliseconds.
start_long_job() {
  start_job
  until_true 10 guard_of "$job"
}
answers() { [[ $(redis "${@:2}" 2>&1) == *"$1"* ]]; }
seconds() { date +%s.%N; }

@test "the server restarts while a job ends: the next one starts within a second of its return" {
  local back
  own_server "${keeps[@]}"
  start_long_job
  background rlock run -w 5m "$key" -- sh -c 'date +%s.%N >next'
  until_true 10 waiting 1
  kill_own_server
  touch go
  until_true 10 grep -q 'trying again' said
  own_server "${keeps[@]}"
  back=$(seconds)
  until_true 20 test -s next
  holds "$(cat next) - $back < 1.5"
  ended 5 "$job"
  unset 'background_pids[0]'
  finish
}

@test "it is away longer than rlock holds up its caller: the release goes on in the background" {
  own_server "${keeps[@]}"
  start_long_job
  kill_own_server
  touch go
  ended 5 "$job"
  grep -q "could not release $key: .*; still trying in the background" said
  own_server "${keeps[@]}"
  until_true 3 is_free
}

@test "the same where the job was too short for a guard" {
  not_sanitized 'makes no job short'
  own_server "${keeps[@]}"
  local pid
  pid=$(server_pid "own-$BATS_TEST_NUMBER")
  expect 5 rlock run "$key" -- sh -c "kill -KILL $pid; exit 5"
  [[ $output == *'still trying in the background'* ]]
  own_server "${keeps[@]}"
  until_true 3 is_free
}

@test "it is away when the guard of a killed rlock releases the lock" {
  own_server "${keeps[@]}"
  start_long_job
  local guard
  guard=$(guard_of "$job")
  kill_own_server
  kill -KILL "$job"
  # Its first try is long over.
  until_true 10 eval '[ "$(ps -o etimes= -p '"$guard"')" -ge 3 ]'
  own_server "${keeps[@]}"
  until_true 3 is_free
  until_true 3 is_gone "$guard"
}

@test "it loads its data when a job ends, a verb releases and a waiter comes" {
  local token kept
  own_server --dbfilename "$key.rdb" --rdbcompression no
  redis eval 'for i = 1, 1000 do redis.call("SET", "k" .. i, string.rep("x", 1100)) end' 0
  start_long_job
  token=$(rlock acquire -t 10m "$key-verb")
  kept=$(rlock acquire -t 10m "$key-kept")
  redis save
  kill_own_server
  # Five milliseconds a key, and a look at its clients after each.
  own_server --dbfilename "$key.rdb" --key-load-delay 5000 --loading-process-events-interval-bytes 1024
  until_true 10 answers LOADING get x
  background rlock run -w 5m "$key-new" -- touch new
  background rlock release --connect-timeout 1m "$key-verb" "$token"
  background rlock renew --connect-timeout 1m "$key-kept" "$kept"
  touch go
  answers LOADING get x
  ended 5 "$job"
  unset 'background_pids[0]'
  until_true 20 is_free
  finish
  [ -e new ]
  is_free "$key-verb"
}

@test "it is busy with a script when a job ends" {
  own_server --lua-time-limit 10
  start_long_job
  background redis-cli -s "$sock" eval 'while true do end' 0
  until_true 10 answers BUSY get x
  touch go
  until_true 10 grep -q 'BUSY.*trying again' said
  redis script kill
  ended 5 "$job"
  is_free
}

@test "it takes no writes when a job ends" {
  own_server
  start_long_job
  redis config set min-replicas-to-write 1
  touch go
  until_true 10 grep -q 'NOREPLICAS.*trying again' said
  redis config set min-replicas-to-write 0
  ended 5 "$job"
  is_free
}

@test "it has no connection left when a lock is released" {
  local token
  own_server
  token=$(rlock acquire -t 10m "$key")
  redis-cli -s "$sock" subscribe x >/dev/null 3>&- &
  local taker=$!
  until_true 10 eval '[ "$(redis pubsub channels)" = x ]'
  redis config set maxclients 1
  until_true 10 answers 'max number of clients' ping
  background rlock release -v "$key" "$token" 2>said
  until_true 10 grep -q 'max number of clients.*trying again' said
  kill "$taker"
  finish
  until_true 10 is_free
}

@test "it is down at the start: every verb finds it when it comes" {
  local token verb
  own_server "${keeps[@]}"
  token=$(rlock acquire -t 10m "$key-held")
  kill_own_server
  for verb in "run -w 5m $key-run -- true" "acquire -w 5m $key-acquire" "run --connect-timeout 1m $key-none -- true" \
    "renew --connect-timeout 1m $key-held $token" "status --connect-timeout 1m $key-held"; do
    # shellcheck disable=SC2086 # words
    background rlock -v $verb 2>>said >out
  done
  until_true 10 eval '[ "$(grep -c "trying again" said)" -ge 5 ]'
  own_server "${keeps[@]}"
  finish
}

@test "it is down when a run inside that of another key comes: that one asks again too" {
  own_server
  kill_own_server
  RLOCK_KEY=around RLOCK_TOKEN=0123456789abcdef0123456789abcdef background rlock run "$key" -- touch ran
  # It has tried by then.
  sleep 0.3
  own_server
  finish
  [ -e ran ]
}

@test "what each try says is said once under -v" {
  RLOCK_SERVER=unix:///nonexistent expect 69 rlock run -v --connect-timeout 1s "$key" -- true
  [ "$(grep -c 'trying again' <<<"$output")" = 1 ]
}

@test "with --nonblock a server that is down is not waited for" {
  RLOCK_SERVER=unix:///nonexistent expect 69 timeout 40 rlock run -n --connect-timeout 1m "$key" -- true
}

@test "a waiter with --wait outlives any outage, however long ago its last answer" {
  own_server "${keeps[@]}"
  rlock acquire -t 10m "$key"
  background rlock run -v --ttl 1s -w 5m "$key" -- touch ran 2>said
  until_true 10 waiting 1
  kill_own_server
  # Longer than anyone waits without --wait.
  local end=$((SECONDS + 12))
  until_true 30 eval "((SECONDS > $end))"
  own_server "${keeps[@]}"
  rlock release --force "$key"
  finish
  [ -e ran ]
}

@test "TERM while a wait ends and the server hangs: gone at once" {
  own_server
  background python3 -B "$BATS_TEST_DIRNAME/faults/proxy.py" --listen "unix:$PWD/proxy" --to "unix:$sock" \
    --control "unix:$PWD/control" --commands commands >ready
  until_true 10 grep -qs ready ready
  expect 0 rlock run "$key" -- true # from here on the server knows the scripts
  RLOCK_SERVER=unix://$PWD/proxy expect 0 rlock run "$key" -- true
  # The last was the release, as which one steps out of the queue too.
  echo "hold match=$(grep -o 'EVALSHA", "[0-9a-f]*' commands | tail -n 1 | grep -o '[0-9a-f]*$') after=60000" |
    socat -t 60 - "UNIX:$PWD/control"
  rlock acquire -t 10m "$key"
  RLOCK_SERVER=unix://$PWD/proxy rlock run -w 1s --connect-timeout 1m "$key" -- true 3>&- &
  local waiter=$!
  held() { [ "$(echo stats | socat -t 60 - "UNIX:$PWD/control" | jq .held)" = 1 ]; }
  until_true 10 held
  kill -TERM "$waiter"
  until_true 2 is_gone "$waiter"
  ended 143 "$waiter"
}

@test "TERM while a job ends and the server hangs: its status stands, and the lock is released later" {
  own_server
  start_long_job
  kill -STOP "$(server_pid "own-$BATS_TEST_NUMBER")"
  touch go
  until_true 10 eval '! pgrep -P "$job" -x sh'
  kill -TERM "$job"
  ended 5 "$job"
  kill -CONT "$(server_pid "own-$BATS_TEST_NUMBER")"
  until_true 3 is_free
}

@test "it becomes a replica, and its name leads to the new master: holders and waiters go there" {
  local token other name
  start_server "new-$BATS_TEST_NUMBER"
  other=$sock
  own_server
  start_long_job
  token=$(redis get "rlock:$key")
  rlock run -t 24s "$key-renewed" -- sh -c 'until [ -e go ]; do sleep 0.01; done' 3>&- &
  background_pids+=($!)
  until_true 10 is_held "$key-renewed"
  background rlock run -w 5m "$key" -- sh -c 'echo first >>order'
  until_true 10 waiting 1
  background rlock run -w 5m "$key" -- sh -c 'echo second >>order'
  until_true 10 waiting 2
  # What the new master has been told of: who holds, but not who waits.
  for name in "$key" "$key-renewed"; do
    redis-cli -s "$other" set "rlock:$name" "$(redis get "rlock:$name")" px 20000
  done
  mv "$sock" old
  ln -s "$other" "$sock"
  redis-cli -s old replicaof 127.0.0.1 1
  # The waiters come back with their tickets, both of them before the lock is free.
  until_true 20 waiting 2
  [ "$(redis get "rlock:$key")" = "$token" ]
  until_true 10 eval '[ "$(redis pttl "rlock:$key-renewed")" -gt 20000 ]'
  touch go
  ended 5 "$job"
  unset 'background_pids[0]'
  finish
  [ "$(cat order)" = $'first\nsecond' ]
}
