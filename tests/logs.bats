# What is said, and to whom: people on standard error, programs by --log-format json, and syslog.
load helper

setup_file() { start_server; }
teardown_file() { stop_servers; }

# event NAME QUERY [FILE]: one of the objects in said (or FILE) is of this event, and such.
event() {
  jq -es "any(.[]; .event == \"$1\" and ($2))" "${3:-said}" >/dev/null || {
    echo "no $1 with $2: $(cat "${3:-said}")" >&2
    return 1
  }
}
has_event() { jq -es "any(.[]; .event == \"$1\")" "${2:-said}" >/dev/null; }
# Each line is an object that has these.
are_objects() {
  jq -es 'length > 0 and all(.[]; (.time | test("^20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-9:]{8}[.][0-9]{3}Z$"))
    and (.level | IN("error", "warning", "info", "debug")) and (.event | length > 0) and (.message | length > 0))' "$1" >/dev/null
}
# job: a command that ends when there is a file go.
job=(sh -c 'touch up; until [ -e go ]; do sleep 0.01; done')

@test "json: a run that waits, acquires and releases is three objects, with the names of status" {
  local label=$'https://ci/7 \e[31m日'
  rlock run --label "$label" "$key" -- "${job[@]}" 3>&- &
  until_true 10 test -e up
  background rlock run --log-format json "$key" -- true 2>said
  until_true 10 has_event waiting
  touch go
  finish
  are_objects said
  [ "$(jq -r .event said | tr '\n' ' ')" = 'waiting acquired released ' ]
  event waiting ".key == \"$key\" and .level == \"info\" and .ahead == 0 and .holder.user == \"$(id -un)\" and .holder.pid > 1
    and .holder.host == \"$(uname -n)\" and (.holder.since | endswith(\"Z\")) and .holder.fence > 0"
  [ "$(jq -r 'select(.event == "waiting").holder.label' said)" = "$label" ]
  event acquired ".key == \"$key\" and .fence == $(redis get "rlock:f:{rlock:$key}") and .waited_ms >= 0 and .ttl_ms == 30000"
  event released ".key == \"$key\" and .held_ms >= 0 and .fence == $(jq 'select(.event == "acquired").fence' said)"
  # Nothing of it steers a terminal.
  [ "$(LC_ALL=C tr -d '\n\040-\176' <said | wc -c)" = 0 ]
  ! grep -q '^rlock' said
}

# of_release FILTER [FILE]: of the objects of that event.
of_release() { jq -c "select(.event == \"released\") | $1" "${2:-said}"; }

@test "a release says how the command ended: its status, its signal, in the text and in the fields" {
  expect 3 rlock run -v "$key" -- sh -c 'exit 3'
  [[ $output =~ "rlock: released $key after "[0-9]+s": exit 3"$ ]]
  expect 143 rlock run -v "$key" -- sh -c 'kill -TERM $$'
  [[ $output =~ "rlock: released $key after "[0-9]+s": signal 15"$ ]]
  expect 127 rlock run --log-format json "$key" -- ./no-such-command
  printf '%s\n' "$output" >said
  [ "$(of_release '[.exit_status, has("signal")]')" = '[127,false]' ]
  rlock run --log-format json --with "$key-2" "$key" -- sh -c 'kill -TERM $$' 2>said || [ $? = 143 ]
  [ "$(of_release '[.key, .exit_status, .signal]' | xargs)" = "[$key,143,15] [$key-2,143,15]" ]
  rlock run --timeout 100ms -v "$key" -- sleep 60 2>said || [ $? = 124 ]
  grep -q "^rlock: released $key after [0-9]*s: exit 124 (timed out)$" said
  rlock acquire "$key" >token
  rlock release --log-format json "$key" "$(cat token)" 2>said
  [ "$(of_release 'has("exit_status")')" = false ]
}

@test "json: every renewal with -v; one that fails, the server back, and the loss without" {
  own_server
  rlock run -v --log-format json -t 3s -k 100ms "$key" -- sleep 1.5 2>said
  event renewed ".key == \"$key\" and .level == \"debug\" and .fence > 0 and .ttl_ms == 3000"
  background rlock run --log-format json -t 3s "$key" -- "${job[@]}" 2>said
  until_true 10 guard_of $!
  kill_own_server
  until_true 10 has_event lost
  are_objects said
  finish || true
  [[ $(jq -r .event said | tr '\n' ' ') = 'acquired renewal_failing lost '* ]]
  event renewal_failing ".key == \"$key\" and .fence > 0 and .left_ms > 0 and .left_ms <= 3000"
  event lost ".key == \"$key\" and .level == \"error\" and .fence > 0 and 
    .held_ms > 1000 and .held_ms < 600000 and .exit_status == 79"
}

@test "json: busy, and errors, usage errors too, wherever the format was asked for" {
  rlock acquire -t 10m "$key"
  expect 75 rlock run -n --log-format json "$key" -- true
  printf '%s\n' "$output" >said
  event busy ".key == \"$key\" and .exit_status == 75 and .holder.pid > 1 and .waited_ms == 0"
  RLOCK_LOG_FORMAT=json expect 64 rlock run --no-such-option "$key" -- true
  printf '%s\n' "$output" >said
  event error '.level == "error" and .exit_status == 64 and (.message | contains("--no-such-option"))'
  # The format that the command line asks for, wherever it stands before COMMAND.
  local line
  for line in '--log-format json' '--log-format json -x -s KEY true' '-t bad --log-format json KEY true' \
    '--no-such-option --log-format=json KEY true' '-w 5s --log-format json -nE 999 KEY true'; do
    # shellcheck disable=SC2086 # words
    expect 64 rlock run $line
    are_objects <(printf '%s\n' "$output")
    [ "$(jq .exit_status <<<"$output")" = 64 ]
  done
  expect 64 rlock sttus --log-format json
  are_objects <(printf '%s\n' "$output")
  for line in '-x -s KEY rlock run --log-format json' '-t bad -- --log-format json'; do
    # shellcheck disable=SC2086 # words
    expect 64 rlock run $line
    [[ $output == 'rlock: '* ]]
  done
  RLOCK_SERVER=unix:///nonexistent expect 69 rlock acquire -n --log-format json "$key"
  printf '%s\n' "$output" >said
  event error ".key == \"$key\" and .exit_status == 69 and .tried_ms >= 0 and (.message | startswith(\"$key: \"))"
  # The verbs' own.
  for line in "release --force $key TOKEN" "acquire --export -E 0 $key" "status --watch $key"; do
    # shellcheck disable=SC2086 # words
    expect 64 rlock ${line%% *} --log-format json ${line#* }
    grep '^{' <<<"$output" | jq -e ".event == \"error\" and .key == \"$key\" and .exit_status == 64" >/dev/null
  done
  # The nearer one counts; -q does not silence errors.
  RLOCK_LOG_FORMAT=json expect_error 75 "busy: $key" rlock run -n --log-format text "$key" -- true
  expect 75 rlock run -n -q --log-format json "$key" -- true
  [ -z "$output" ]
  expect_error 64 --log-format rlock run --log-format xml "$key" -- true
}

@test "json: what the keeper of --while-pid has to say is an object too" {
  own_server
  sh -c 'rlock acquire --log-format json -t 2s --while-pid $$ '"$key"' && touch up; sleep 60' 2>said >token 3>&- &
  until_true 10 test -e up
  redis del "rlock:$key"
  ended 143 $!
  # It is said behind the TERM.
  until_true 10 event lost ".key == \"$key\" and (.message | contains(\"stopping process\"))"
  are_objects said
}

@test "an outage under -v is one line when the server is lost, and one when it is back" {
  local waiter
  own_server --appendonly yes --appendfsync always
  rlock acquire --ttl 1m "$key" >token
  rlock run -v "$key" -- true 2>said 3>&- &
  waiter=$!
  until_true 10 waiting 1
  kill_own_server
  until_true 10 grep -q 'trying again' said
  sleep 1 # tries of half a second and less
  own_server --appendonly yes --appendfsync always
  until_true 10 grep -q 'answers again' said
  rlock release "$key" "$(cat token)"
  ended 0 "$waiter"
  [ "$(grep -c '' said)" = 5 ] || { cat said; false; }
  [[ $(sed -n 1p said) = "rlock: waiting for $key, held by $(id -un)@$(uname -n) pid "*' since '[012][0-9]:[0-5][0-9]:[0-5][0-9] ]]
  [[ $(sed -n 2p said) = 'rlock: cannot connect to unix://'*'; trying again' ]]
  [[ $(sed -n 3p said) = 'rlock: unix://'*' answers again, after '[0-9]*s ]]
  [[ $(sed -n 4p said) = "rlock: holding $key, fence "* ]]
  [[ $(sed -n 5p said) = "rlock: released $key after "* ]]
}

# with_log COMMAND...: in a place where /dev/log is ./log, whoever listens there.
with_log() {
  # shellcheck disable=SC2016 # for the inner shell
  unshare --mount sh -c 'mkdir -p dev && mount --rbind /dev dev && mount -t tmpfs none /dev &&
    for each in null zero urandom tty; do touch /dev/$each && mount --bind dev/$each /dev/$each; done &&
    ln -s /proc/self/fd /dev/fd && ln -s "$PWD/log" /dev/log && exec "$@"' sh "$@"
}
# listen: writes what comes to ./log into the file journal, a line each; listen deaf reads nothing.
listen() {
  python3 - "$@" <<-'END' 3>&- &
	import os, socket, sys, time
	if os.path.exists("log"):
	    os.unlink("log")
	listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
	listener.bind("log.new")
	if sys.argv[1:] == ["deaf"]:
	    filler = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
	    try:
	        while True:
	            filler.sendto(b"x", "log.new")
	    except BlockingIOError:
	        pass
	os.rename("log.new", "log")
	with open("journal", "ab", 0) as journal:
	    while sys.argv[1:] == ["deaf"]:
	        time.sleep(1)
	    while True:
	        journal.write(listener.recv(65536) + b"\n")
	END
  until_true 10 test -S log
}

@test "--syslog: as rlock with its pid, by priority, and what goes on without -v; standard error is as ever" {
  needs_mounts
  listen
  with_log rlock run --syslog "$key" -- true 2>said
  [ ! -s said ]
  until_true 10 eval '[ "$(grep -c "" journal)" = 2 ]'
  [[ $(sed -n 1p journal) =~ ^'<14>'[A-Z][a-z]{2}' '[\ 0-9][0-9]' '[0-9:]{8}' rlock['[0-9]+"]: holding $key, fence "[0-9]+$ ]]
  [[ $(sed -n 2p journal) = '<14>'*"]: released $key after "*': exit 0' ]]
  rlock acquire --label $'one\ntwo' "$key"
  : >journal
  expect 75 with_log rlock run -n --syslog "$key" -- true
  expect 64 with_log rlock run --syslog -v --signal NONE "$key" -- true
  until_true 10 grep -q busy journal
  [[ $(cat journal) = '<12>'*"]: busy: $key is held by"*'(one\x0atwo)'* ]]
  # An error is one there too, and so is the format.
  RLOCK_SERVER=unix:///nonexistent run -69 with_log rlock acquire -n --syslog --log-format json "$key"
  until_true 10 grep -q '<11>' journal
  sed -n 's/^<11>.*rlock\[[0-9]*\]: //p' journal >said
  event error ".key == \"$key\""
  # With -q nothing but errors.
  with_log rlock run -q --syslog "$key-free" -- true
  run -1 grep free journal
}

@test "--syslog: a log that takes nothing, or that nobody reads, holds up neither the command nor its end" {
  needs_mounts
  listen deaf
  own_server
  with_log timeout -k 1 120 rlock run -v --syslog -t 2s "$key" -- sleep 60 2>said 3>&- &
  until_true 10 grep -q holding said
  kill_own_server
  ended 79 $!
  grep -q "lost $key after [0-9]*s" said
  own_server
  rm log
  with_log timeout -k 1 120 rlock run --syslog "$key" -- true
}

# listen_to_streams: the same where clients have to connect; listen_to_streams deaf accepts none, after one.
listen_to_streams() {
  python3 - "$@" <<-'END' 3>&- &
	import os, socket, sys, time
	listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
	listener.bind("log.new")
	listener.listen(0 if sys.argv[1:] == ["deaf"] else 64)
	if sys.argv[1:] == ["deaf"]:
	    filler = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
	    filler.connect("log.new")
	os.rename("log.new", "log")
	with open("journal", "ab", 0) as journal:
	    while sys.argv[1:] == ["deaf"]:
	        time.sleep(1)
	    while True:
	        with listener.accept()[0] as client, client.makefile("rb") as stream:
	            journal.write(stream.read() + b"\n")
	END
  until_true 10 test -S log
}

@test "--syslog: a log that wants a connection gets each message with a NUL behind it, and holds up nobody either" {
  needs_mounts
  listen_to_streams
  with_log rlock run --syslog "$key" -- true
  until_true 10 eval '[ "$(tr -cd "\0" <journal | wc -c)" = 2 ]'
  tr '\0' '|' <journal >said
  [[ $(sed -n 1p said) = '<14>'*"]: holding $key, fence "*'|' ]]
  [[ $(sed -n 2p said) = '<14>'*"]: released $key after "*'|' ]]
  rm log
  listen_to_streams deaf
  with_log timeout -k 1 120 rlock run --syslog "$key" -- true
}

@test "--syslog: rlock killed, its guard says so there" {
  needs_mounts
  listen
  # shellcheck disable=SC2016 # for the inner shell
  with_log sh -c 'echo $$ >pid; exec rlock run --syslog "$0" -- sleep 60' "$key" 3>&- &
  until_true 10 test -s pid
  until_true 10 guard_of "$(cat pid)"
  kill -KILL "$(cat pid)"
  until_true 10 is_free
  until_true 10 grep -qE "<12>.*: rlock was killed, .*; releasing $key after [0-9]+s: signal 9" journal
}
