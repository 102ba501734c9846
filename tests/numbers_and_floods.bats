# R36, R37, R41 and R42 of PROOFS.md: numbers that no ttl is, messages that never stop, a table of tracked keys that is too small,
# records of megabytes. Counted and judged by order; where a time is the promise, it has the room of a busy machine.
load helper

setup_file() { start_server; }
teardown_file() { stop_servers; }

# A sanitizer takes more for itself.
is_small() { [ -n "${TEST_SANITIZER-}" ] || [ "$1" -lt 32768 ]; }
# peak PID: the most memory it ever had, kB.
peak() { sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$1/status"; }
subscribed() { [ "$(redis pubsub channels "rlock:w:*" | wc -l)" -ge "$1" ]; }

@test "a foreign lock for 292 years is waited for as any other" {
  local ms before
  for ms in 9223372036854 4611686018427387904; do
    redis set "rlock:$key" theirs PX "$ms"
    rlock run "$key" -- touch "turn-$ms" 3>&- &
    until_true 10 waiting 1
    before=$(scripts_run)
    expect 75 timeout -s KILL 60 rlock run -w 1s "$key" -- true
    [ $(($(scripts_run) - before)) -lt 30 ]
    redis del "rlock:$key"
    until_true 20 test -e "turn-$ms"
    wait $!
  done
}

@test "a flood on its channel keeps a waiter neither from its deadline nor from a signal, and fills no memory" {
  local channel flooder waiter number limit text before
  rlock acquire -t 5m "$key"
  for text in - g 'h 0' r; do
    number=75 limit=4s
    [ "$text" != - ] || number=143 limit=10m
    rlock run -w $limit "$key" -- true 3>&- &
    waiter=$!
    until_true 10 waiting 1
    channel=$(redis pubsub channels "rlock:w:*" | grep '}:')
    # A bound on both: a minute, and what the loop sends.
    timeout 60 /usr/bin/python3 - "$sock" "$channel" "$text" 3>&- <<-'END' &
	import socket, sys
	sock, channel, text = sys.argv[1:]
	text = "x" * 100_000 if text == "-" else text
	command = f"*3\r\n$7\r\nPUBLISH\r\n${len(channel)}\r\n{channel}\r\n${len(text)}\r\n{text}\r\n".encode()
	with socket.socket(socket.AF_UNIX) as client:
	    client.connect(sock)
	    while True:
	        client.sendall(command * 20)
	        client.recv(65536)
	END
    flooder=$!
    if [ "$text" = - ]; then
      for _ in {1..10}; do sampled_until_gone "$waiter" || sleep 0.05; done
      kill -TERM "$waiter"
    fi
    before=$(scripts_run)
    until_true 30 sampled_until_gone "$waiter"
    ended "$number" "$waiter"
    kill "$flooder"
    wait "$flooder" || true
    is_small "$(sort -n peaks | tail -n 1)"
    # A look, or two in a second: not one for each message.
    [ $(($(scripts_run) - before)) -lt 100 ]
  done
}

# sampled_until_gone PID: whether it has ended; its peak goes into ./peaks meanwhile.
sampled_until_gone() {
  peak "$1" >>peaks 2>/dev/null || true
  is_gone "$1"
}

@test "a server that never stops pushing keeps rlock neither from its deadline nor from a signal" {
  /usr/bin/python3 - s 3>&- <<-'END' &
	import os, socket, sys, threading
	push = b">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1000\r\n" + b"x" * 1000 + b"\r\n"
	def serve(client):
	    try:
	        client.recv(65536)
	        while True:
	            client.sendall(push * 4000)
	    except OSError:
	        pass
	with socket.socket(socket.AF_UNIX) as listener:
	    listener.bind(sys.argv[1])
	    listener.listen()
	    threading.Timer(100, os._exit, (0,)).start()
	    while True:
	        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
	END
  local server=$!
  until_true 10 test -S s
  expect 69 timeout -s KILL 60 rlock run --server "unix://$PWD/s" -n "$key" -- true
  rlock run --server "unix://$PWD/s" --connect-timeout 10m "$key" -- true 3>&- &
  local waiter=$!
  for _ in {1..10}; do sampled_until_gone "$waiter" || sleep 0.05; done
  kill -TERM "$waiter"
  until_true 20 sampled_until_gone "$waiter"
  ended 143 "$waiter"
  is_small "$(sort -n peaks | tail -n 1)"
  kill "$server"
}

# ---------------------------------------------------------------- client tracking


@test "a table of tracked keys that is too small costs idle holders and waiters a few looks, and then none" {
  local mode i before during
  own_server --tracking-table-max-keys 20
  for mode in --exclusive --shared '--slots=2'; do
    for i in {1..12}; do
      rlock run -t 6s $mode "$key$mode-$i" -- sleep 300 3>&- &
    done
    until_true 20 test_held 12
    rlock run -t 6s $mode "$key$mode-1" -- true 3>&- &
    # Some renewals, in which each finds out.
    sleep 6
    before=$(scripts_run)
    sleep 6
    during=$(($(scripts_run) - before))
    echo "$mode: $during scripts in 6 s" >&2
    # 12 holders renew three times, with shared ones looking as often again (client-tracking.md), and one waits.
    [ "$during" -lt 200 ]
    mapfile -t started <<<"$(jobs -p | grep -vxF "$jobs_before")"
    kill "${started[@]}"
    until_true 30 test_held 0
  done
}
test_held() { [ "$(redis --scan --pattern 'rlock:key*' | wc -l)" = "$1" ]; }

@test "a table that is large enough tells each change at once, and status -v says which is not" {
  not_under_acl 'may not ask for it'
  own_server --tracking-table-max-keys 20
  run --separate-stderr rlock status -v "$key"
  [[ $stderr == *"in redis.conf: tracking-table-max-keys 1000000 (it is 20)"* ]]
  redis config set tracking-table-max-keys 1000000
  run --separate-stderr rlock status -v "$key"
  [[ $stderr != *tracking-table* ]]
}

# ---------------------------------------------------------------- records of megabytes

@test "a record of megabytes is one row that cannot be read, and the lock is busy as before" {
  local token
  token=$(rlock acquire "$key")
  rlock acquire "$key-other"
  # Over what a reply may have in all.
  /usr/bin/python3 -c 'import sys; t = sys.argv[1] + "x" * (9 << 20); sys.stdout.write(t)' '1 s 1 1 1 ' |
    redis -x hset "rlock:i:{rlock:$key}" "$token"
  expect 75 rlock run -n "$key" -- true
  run -0 rlock status
  [[ $output == *"$key-other"*"$(id -un)"* ]]
  [[ $output == *"$key "* ]]
  run -0 rlock status --format prometheus
  [[ $output == *"rlock_up 1"* ]]
  rlock renew "$key" "$token"
  rlock release --force "$key"
  is_free
}
