# No server, or one that does not answer: 69, soon, and never the status of busy.
load helper

setup_file() {
  start_server
  PORT=$(free_port)
  export PORT
}
teardown_file() { stop_servers; }

# every_verb TEXT [OPTION...]: each fails with 69 and one line with TEXT, and runs no command.
every_verb() {
  local text=$1
  shift
  set -- --connect-timeout 500ms "$@"
  expect_error 69 "$text" in_time rlock run "$@" "$key" -- touch ran
  expect_error 69 "$text" in_time rlock run "$@" -n -E 9 "$key" -- touch ran
  expect_error 69 "$text" in_time rlock run "$@" -w 200ms "$key" -- touch ran
  expect_error 69 "$text" in_time rlock acquire "$@" "$key"
  expect_error 69 "$text" in_time rlock acquire "$@" -n "$key"
  expect_error 69 "$text" in_time rlock acquire "$@" -w 200ms "$key"
  expect_error 69 "$text" in_time rlock renew "$@" "$key" 0123
  expect_error 69 "$text" in_time rlock release "$@" "$key" 0123
  expect_error 69 "$text" in_time rlock release "$@" --force "$key"
  expect_error 69 "$text" in_time rlock status "$@" "$key"
  expect_error 69 "$text" in_time rlock status "$@" --exit-code
  [ ! -e ran ]
}
# Far longer than any timeout in here, far shorter than none.
in_time() { timeout 120 "$@"; }

# fake REPLY...: a server at unix://$PWD/fake that does only that.
fake() {
  local reply options=()
  for reply; do options+=(--reply "$reply"); done
  background python3 -B "$BATS_TEST_DIRNAME/faults/fake_server.py" --listen "unix:$PWD/fake" --seconds 600 \
    "${options[@]}" >fake.log
  until_true 10 grep -q ready fake.log
  export RLOCK_SERVER=unix://$PWD/fake
}

@test "nothing listens on a TCP port" {
  export RLOCK_SERVER=redis://127.0.0.1:$PORT/3
  every_verb "cannot connect to redis://127.0.0.1:$PORT/3: Connection refused"
  RLOCK_SERVER="redis://[::1]:$PORT" expect_error 69 "redis://[::1]:$PORT" rlock status --connect-timeout 100ms
}

@test "there is no such socket, or nobody behind it" {
  export RLOCK_SERVER=unix:///nonexistent/socket
  every_verb 'cannot connect to unix:///nonexistent/socket: No such file'
  python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("dead")'
  RLOCK_SERVER=unix://$PWD/dead expect_error 69 "$PWD/dead: Connection refused" rlock status --connect-timeout 100ms
  touch plain
  RLOCK_SERVER=unix://$PWD/plain expect_error 69 "$PWD/plain" rlock status --connect-timeout 100ms
}

@test "a name that nobody knows" {
  export RLOCK_SERVER=redis://no-such-host.invalid
  expect_error 69 no-such-host.invalid in_time rlock acquire --connect-timeout 1s -n "$key"
  expect_error 69 no-such-host.invalid in_time rlock status --connect-timeout 1s
}

@test "where nothing was configured, the message tells what to do" {
  if (exec 5<>/dev/tcp/127.0.0.1/6379) 2>/dev/null; then skip 'a server listens on the default port'; fi
  unset RLOCK_SERVER
  every_verb 'redis://127.0.0.1:6379'
  expect_error 69 RLOCK_SERVER rlock status --connect-timeout 100ms
  expect_error 69 '--server local' rlock status --connect-timeout 100ms
}

@test "where something was configured, the message does not guess" {
  local file=$PWD/conf
  run --separate-stderr -69 rlock status --connect-timeout 100ms --server redis://127.0.0.1:$PORT
  [[ $stderr != *local* && $stderr != *RLOCK_SERVER* ]]
  RLOCK_SERVER=redis://127.0.0.1:$PORT run --separate-stderr -69 rlock status --connect-timeout 100ms
  [[ $stderr != *local* && $stderr != *RLOCK_SERVER* ]]
  unset RLOCK_SERVER
  echo "server = redis://127.0.0.1:$PORT" >"$file"
  run --separate-stderr -69 rlock status --connect-timeout 100ms --config "$file"
  [[ $stderr != *local* && $stderr != *RLOCK_SERVER* ]]
}

@test "a server that accepts and closes" {
  fake close-at-once
  every_verb "$PWD/fake"
}

@test "a server that closes instead of answering" {
  fake close
  every_verb "$PWD/fake"
}

@test "a server that stops in the middle of an answer" {
  fake half
  every_verb "$PWD/fake"
}

@test "a server that accepts and says nothing" {
  fake silent
  every_verb "no answer from unix://$PWD/fake"
}

@test "an answer that drips for ever" {
  background python3 -B "$BATS_TEST_DIRNAME/faults/fake_server.py" --listen "unix:$PWD/fake" --seconds 600 \
    --reply endless --drip 20 >fake.log
  until_true 10 grep -q ready fake.log
  RLOCK_SERVER=unix://$PWD/fake every_verb "no answer from unix://$PWD/fake"
}

@test "a server that is frozen" {
  not_under_acl 'its URL is shown without the password'
  start_server frozen
  export RLOCK_SERVER=$url
  kill -STOP "$(server_pid frozen)"
  every_verb "no answer from $url"
}

@test "a server whose backlog is full" {
  python3 - <<-'END' 3>&- &
	import os, socket, time
	server = socket.socket(socket.AF_UNIX)
	server.bind("full")
	server.listen(0)
	clients = []
	while True:
	    client = socket.socket(socket.AF_UNIX)
	    client.setblocking(False)
	    try:
	        client.connect("full")
	        clients.append(client)
	    except BlockingIOError:
	        break
	open("ready", "w")
	time.sleep(600)
	END
  until_true 10 test -e ready
  RLOCK_SERVER=unix://$PWD/full expect_error 69 "$PWD/full" in_time rlock status --connect-timeout 100ms
  RLOCK_SERVER=unix://$PWD/full expect_error 69 "$PWD/full" in_time rlock acquire -n --connect-timeout 100ms "$key"
}

@test "something that does not speak the protocol" {
  fake 'text:HTTP/1.1 400 Bad Request'
  every_verb "$PWD/fake does not speak RESP"
}

@test "a server that goes away while one waits is not busy" {
  start_server gone
  export RLOCK_SERVER=$url
  rlock acquire -t 10m "$key"
  background rlock run -w 5s "$key" -- touch ran
  until_true 10 waiting 1
  kill -KILL "$(server_pid gone)"
  ended 69 $!
  [ ! -e ran ]
}

@test "a server that freezes while one waits is not busy" {
  start_server freezing
  export RLOCK_SERVER=$url
  rlock acquire -t 10m "$key"
  background rlock run -w 5s --connect-timeout 500ms "$key" -- touch ran
  until_true 10 waiting 1
  kill -STOP "$(server_pid freezing)"
  ended 69 $!
  [ ! -e ran ]
}

@test "waiters outlive a restart of the server that keeps its data, in order" {
  local i token
  start_server kept --appendonly yes --appendfsync always
  export RLOCK_SERVER=$url
  token=$(rlock acquire --ttl 60s "$key")
  for i in 1 2 3; do
    background rlock run "$key" -- sh -c "echo $i >>order"
    until_true 10 waiting "$i"
  done
  kill -KILL "$(server_pid kept)"
  until_true 10 is_gone "$(server_pid kept)"
  start_server kept --appendonly yes --appendfsync always
  channels() { [ "$(redis pubsub channels "rlock:w:{*}:*" | grep -c .)" = 3 ]; }
  until_true 20 channels
  waiting 3
  rlock release "$key" "$token"
  finish
  [ "$(paste -sd ' ' order)" = '1 2 3' ]
}

@test "waiters outlive a restart of the server that forgets, and keep their places" {
  local i pids=()
  start_server forgetful
  export RLOCK_SERVER=$url
  redis set "rlock:$key" somebody
  for i in 1 2 3; do
    background rlock run "$key" -- sh -c "echo $i >>order"
    pids+=($!)
    until_true 10 waiting "$i"
  done
  kill -STOP "${pids[@]}"
  kill -KILL "$(server_pid forgetful)"
  until_true 10 is_gone "$(server_pid forgetful)"
  start_server forgetful
  redis set "rlock:$key" somebody
  # Back in another order than they came.
  for i in 2 1 0; do
    kill -CONT "${pids[i]}"
    until_true 20 waiting $((3 - i))
  done
  redis del "rlock:$key"
  finish
  [ "$(paste -sd ' ' order)" = '1 2 3' ]
}

@test "a waiter gives up on a server that stays away" {
  start_server away
  export RLOCK_SERVER=$url
  rlock acquire -t 10m "$key"
  background rlock run --ttl 1s --connect-timeout 500ms "$key" -- touch ran
  until_true 10 waiting 1
  kill -KILL "$(server_pid away)"
  ended 69 $!
}
