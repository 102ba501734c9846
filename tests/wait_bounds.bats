# -n and -w D end within D and half a second, whatever the servers do (R38); what is left to release is released behind that.
load helper

setup_file() { start_server; }
teardown_file() { stop_servers; }

# Far more than half a second, for a busy machine, and less than a --connect-timeout that nobody has set.
soon() {
  local start=${EPOCHREALTIME/./} status=0
  timeout 60 "$@" || status=$?
  [ $((${EPOCHREALTIME/./} - start)) -lt 4000000 ] || echo 'it took too long' >&2
  return "$status"
}
# each_ends SERVER [OPTION...]: unknown, soon, and no command was run.
each_ends() {
  local server=$1
  shift
  export RLOCK_SERVER=$server
  for wait in --nonblock --wait=200ms; do
    for verb in 'run' 'acquire'; do
      local words=(rlock "$verb" "$wait" --ttl "${ttl-5s}" "$@" "$key")
      [ "$verb" = acquire ] || words+=(-- touch ran)
      run --separate-stderr soon "${words[@]}"
      [ "$status" = 69 ]
      [[ $stderr != *'too long'* ]]
    done
  done
  [ ! -e ran ]
}
# silent: a server that accepts and says nothing, at $PWD/silent and at 127.0.0.1:$port.
silent() {
  local at
  port=$(free_port)
  for at in "unix:$PWD/silent" "127.0.0.1:$port"; do
    background python3 -B "$BATS_TEST_DIRNAME/faults/fake_server.py" --listen "$at" --seconds 60 >"ready.${at%%:*}"
    until_true 10 grep -q ready "ready.${at%%:*}"
  done
}
frozen_server() {
  own_server
  kill -STOP "$(server_pid "own-$BATS_TEST_NUMBER")"
}
thaw() { kill -CONT "$(server_pid "own-$BATS_TEST_NUMBER")"; }
releases_behind_it() { pgrep -f "^rlock-release $key" >/dev/null; }

@test "a server, TLS, a Sentinel, a Cluster that accept and say nothing" {
  silent
  each_ends "unix://$PWD/silent"
  each_ends "rediss://127.0.0.1:$port"
  each_ends "redis+sentinel://127.0.0.1:$port/mymaster"
  each_ends "redis+cluster://127.0.0.1:$port"
  # A password is answered first.
  REDISCLI_AUTH=secret each_ends "redis://127.0.0.1:$port"
}

@test "a server that is frozen: what it was asked for is released when it goes on" {
  frozen_server
  each_ends "$url"
  until_true 10 releases_behind_it
  thaw
  until_true 10 is_free
  until_true 20 eval '! releases_behind_it'
  is_free
}

@test "a server that freezes while one waits, or that cannot be waited for with too few replicas" {
  own_server
  # A third of the ttl would be enough of a bound.
  ttl=30s each_ends "$url" --replicas 1
  until_true 10 is_free
  rlock acquire --ttl 1h "$key" >token
  rlock run -w 3s "$key" -- touch ran 3>&- 2>error &
  local waiter=$! start
  until_true 10 waiting 1
  kill -STOP "$(server_pid "own-$BATS_TEST_NUMBER")"
  ended 69 "$waiter"
  grep -q 'no answer' error
  thaw
  until_true 10 waiting 0
  [ ! -e ran ]
}

@test "a majority that is frozen, of several servers" {
  local name servers=
  for name in one two three; do
    start_server "$name-$BATS_TEST_NUMBER"
    servers+=${servers:+,}$url
  done
  for name in one two; do kill -STOP "$(server_pid "$name-$BATS_TEST_NUMBER")"; done
  each_ends "$servers" --grace 1s
}

@test "a --connect-timeout that the user has set is left to the first answer" {
  frozen_server
  run --separate-stderr rlock run -n "$key" -- touch ran
  [ "$status" = 69 ]
  [[ $stderr == *'--connect-timeout D gives it longer to answer'* ]]
  for wait in '-n' '-w 200ms'; do
    kill -STOP "$(server_pid "own-$BATS_TEST_NUMBER")"
    rlock run $wait --connect-timeout 50s "$key" -- touch ran 3>&- &
    waiter=$!
    # Longer than it would wait otherwise.
    run -124 timeout 1.5 tail --pid="$waiter" -f /dev/null
    thaw
    ended 0 "$waiter"
    rm ran
  done
}

@test "several keys, and a run inside another one" {
  own_server
  rlock run "$key-outer" -- sh -c 'touch up; until [ -e go ]; do sleep 0.01; done; touch asks
    timeout 60 rlock run -n --with "$1-2" "$1" -- touch ran; echo $? >status; touch answered; until [ -e end ]; do sleep 0.01; done' \
    sh "$key" 3>&- &
  until_true 10 test -e up
  kill -STOP "$(server_pid "own-$BATS_TEST_NUMBER")"
  touch go
  until_true 10 test -e asks
  start=${EPOCHREALTIME/./}
  until_true 10 test -e answered
  [ $((${EPOCHREALTIME/./} - start)) -lt 4000000 ]
  [ "$(cat status)" = 69 ]
  thaw
  touch end
  wait $! || true
  [ ! -e ran ]
}
