# acquire --while-pid: a lock that a process has for as long as it lives, and that a process in the background renews.
# shellcheck disable=SC2016 # the scripts below expand what stands in single quotes
load helper

setup_file() { start_server; }
teardown_file() { stop_servers; }
# Keepers are found by the name of their lock, among all processes of the machine.
setup() {
  begin_test
  key="while-pid-$BASHPID"
  export RLOCK_SERVER=$url
}

# script BODY [OPTION...]: starts ./script, which acquires $key for itself with these options and then does BODY. Its pid in
# $script; returns when it has the lock.
script() {
  local body=$1
  shift
  cat >script <<-END
	eval "\$(rlock acquire --export --while-pid \$\$ ${*@Q} '$key')" || exit
	echo \$\$ >has_it
	$body
	END
  rm -f has_it
  bash script 2>>said 3>&- &
  script=$!
  until_true 10 test -s has_it
}
# The pid of a part of the keeper of $key: rlock-keeper or rlock-guard.
part() { pgrep -f "^$1 $key\$"; }
none_left() { ! part rlock-keeper && ! part rlock-guard; }
guard_is_not() { [ -n "$(part rlock-guard)" ] && [ "$(part rlock-guard)" != "$1" ]; }
# A body that writes the time as long as it lives.
beats='while :; do read -r up _ </proc/uptime; echo "$up" >>beats; sleep 0.02; done'
# ended_in_time WHEN SECONDS: the last beat was less than so long after.
ended_in_time() { holds "$(tail -n 1 beats) < $1 + $2"; }

@test "one line in a script: it has the lock until it ends, and then the lock is free at once" {
  mkfifo go
  script 'read -r _ <go; exit 7'
  [ "$(rlock status --json "$key" | jq .holders[0].pid)" = "$script" ]
  expect 75 rlock run -n "$key" -- true
  echo >go
  ended 7 "$script"
  until_true 5 is_free
  until_true 5 none_left
  [ ! -s said ]
}

@test "a script that is killed, with no chance to clean up: the next holder comes at once" {
  script 'exec sleep 1000'
  background rlock run "$key" -- touch ran
  until_true 10 waiting 1
  kill -KILL "$script"
  until_true 4 test -e ran
  until_true 5 none_left
}

@test "it is renewed, also by the script itself" {
  script 'until [ -e go ]; do sleep 0.02; done; rlock renew && touch still; exec sleep 1000' -t 9s -k 100ms
  until_renewed 8000
  until_renewed 8000
  touch go
  until_true 10 test -e still
  [ "$(rlock status --json "$key" | jq .holders[0].pid)" = "$script" ]
  [ ! -s said ]
}

@test "acquire returns at once; the keeper has nothing open of the caller's and does not hear what ends the caller's group" {
  sleep 1000 3>&- &
  local other=$! token keeper
  exec 8>caller
  token=$(rlock acquire --while-pid "$other" "$key" 2>&1 | cat)
  exec 8>&-
  [ "$(redis get "rlock:$key")" = "$token" ]
  keeper=$(part rlock-keeper)
  [ "$(cat "/proc/$keeper/comm")" = rlock-keeper ]
  local fd
  for fd in "/proc/$keeper"/fd/* "/proc/$(part rlock-guard)"/fd/*; do
    [[ $(readlink "$fd") =~ ^(/dev/null|socket:.*|anon_inode:.*)$ ]]
  done
  [ "$(ps -o sid= -p "$keeper")" -eq "$keeper" ]
  [ "$(ps -o pgid= -p "$keeper")" -eq "$keeper" ]
  kill -HUP "$keeper"
  kill -TERM "$keeper"
  kill -INT "$keeper"
  expect 75 rlock run -n "$key" -- true
  [ "$(part rlock-keeper)" = "$keeper" ]
  kill -KILL "$other"
  until_true 5 is_free
}

@test "Ctrl-C that a script survives leaves it its lock" {
  cat >inner <<-END
	eval "\$(rlock acquire --export --while-pid \$\$ -t 9s -k 100ms '$key')" && exec python3 survivor
	END
  cat >survivor <<-'END'
	import os, signal, sys, time
	signal.signal(signal.SIGINT, lambda *_: open("got", "w").write("got"))
	open("has_it", "w").write(str(os.getpid()))
	while not os.path.exists("go"): time.sleep(0.02)
	sys.exit(5)
	END
  # Ctrl-C goes to the whole foreground group.
  python3 - <<-'END' 3>&- &
	import os, pty, signal, sys, time
	signal.signal(signal.SIGINT, signal.SIG_DFL)
	pid, terminal = pty.fork()
	if pid == 0: os.execlp("bash", "bash", "inner")
	while not os.path.exists("has_it"): time.sleep(0.01)
	os.write(terminal, b"\x03")
	sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
	END
  local terminal=$!
  until_true 10 test -s got
  # Renewed since.
  until_renewed 8000
  [ "$(rlock status --json "$key" | jq .holders[0].pid)" = "$(cat has_it)" ]
  touch go
  ended 5 "$terminal"
  until_true 5 is_free
}

@test "a lost lock: the script and what it has started get TERM, and it is told why" {
  # One that does not tell whose it is by its environment.
  script 'unset RLOCK_TOKEN; trap "echo TERM >>got" TERM; bash -c "trap \"echo child >>got; exit\" TERM; while :; do sleep 0.02; done" & wait; wait'
  until_true 5 pgrep -P "$script"
  redis del "rlock:$key"
  ended 143 "$script" || ended 0 "$script"
  until_true 5 none_left
  [ "$(sort got)" = $'TERM\nchild' ]
  grep -qx "rlock: lost $key after .*; stopping process $script" said
}

@test "a lost lock: what the script had started before goes on" {
  cat >script <<-END
	sleep 1000 &
	echo \$! >older
	sleep 0.1
	eval "\$(rlock acquire --export --while-pid \$\$ '$key')"
	sleep 1000 &
	echo \$! >younger
	touch has_it
	wait
	END
  bash script 2>said 3>&- &
  local script=$!
  until_true 10 test -e has_it
  redis del "rlock:$key"
  ended 143 "$script"
  until_true 5 none_left
  is_gone "$(cat younger)"
  [ "$(state_of "$(cat older)")" = S ]
  kill -KILL "$(cat older)"
}

@test "a lost lock: of a process that did not ask for the lock itself nothing else is stopped" {
  bash -c 'sleep 1000 & echo $! >child; until [ -e go ]; do sleep 0.02; done; sleep 1000 & echo $! >younger; wait' 3>&- &
  local other=$!
  rlock acquire --while-pid "$other" "$key"
  touch go
  until_true 5 test -s younger
  redis del "rlock:$key"
  ended 143 "$other"
  until_true 5 none_left
  local pid
  for pid in $(cat child younger); do
    [ "$(state_of "$pid")" = S ]
    kill -KILL "$pid"
  done
}

@test "a script that ignores the signal is killed, and what it left running too" {
  script 'trap "echo USR1 >got" USR1; (setsid bash -c "trap : TERM USR1; '"${beats//\"/\\\"}"'" &) ; while :; do sleep 0.02; done' \
    --signal USR1 -k 200ms
  until_true 5 test -s beats
  redis del "rlock:$key"
  ended 137 "$script"
  until_true 5 none_left
  [ "$(cat got)" = USR1 ]
  local last
  last=$(wc -l <beats)
  [ "$(wc -l <beats)" = "$last" ]
}

@test "a lock that another has taken: the script is killed at once" {
  script 'trap : TERM; while :; do sleep 0.02; done'
  redis set "rlock:$key" other
  ended 137 "$script"
  [ "$(redis get "rlock:$key")" = other ]
}

# May the keeper copy a descriptor of the script?
copies() {
  [ "$(id -u)" = 0 ] || [ "$(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0)" = 0 ] ||
    skip 'kernel.yama.ptrace_scope is set'
}

@test "a lost lock: the message stands in the log file between what the script writes before and after" {
  copies
  cat >script <<-END
	eval "\$(rlock acquire --export --on-lost warn --while-pid \$\$ '$key')" || exit
	echo before >&2
	rlock release -q --force '$key'
	for _ in \$(seq 500); do sleep 0.02; [ \$(wc -l <log) = 1 ] || break; done
	echo after >&2
	END
  bash script 2>log
  cat log
  [ "$(sed -n 1p log)" = before ]
  [[ $(sed -n 2p log) = "rlock: lost $key after "*' goes on' ]]
  [ "$(sed -n 3p log)" = after ]
}

@test "a lost lock: the message reaches a standard error that is a socket, as of a service of systemd" {
  copies
  cat >script <<-END
	eval "\$(rlock acquire --export --on-lost warn --while-pid \$\$ '$key')" || exit
	rlock release -q --force '$key'
	exec sleep 1000
	END
  cat >listen.py <<-'END'
	import socket, subprocess
	ours, theirs = socket.socketpair()
	script = subprocess.Popen(['bash', 'script'], stderr=theirs)
	theirs.close()
	ours.settimeout(60)
	print(ours.recv(1000).decode(), end='')
	script.kill()
	script.wait()
	END
  python3 listen.py >log
  grep -qx "rlock: lost $key after .* goes on" log
}

@test "--on-lost warn: the script is told, and goes on" {
  script 'for _ in $(seq 1000); do sleep 0.02; [ ! -e go ] || exit 3; done' --on-lost warn
  redis del "rlock:$key"
  until_true 5 grep -qx "rlock: lost $key after .*; process $script goes on" said
  until_true 5 none_left
  touch go
  ended 3 "$script"
  until_true 5 none_left
}

@test "a script that releases by itself goes on, and its keeper ends" {
  script 'rlock release && touch released; for _ in $(seq 1000); do sleep 0.02; [ ! -e go ] || exit 3; done'
  until_true 5 test -e released
  until_true 5 none_left
  expect 0 rlock run -n "$key" -- true
  touch go
  ended 3 "$script"
  [ ! -s said ]
}

@test "a script that releases by itself goes on, also where the next holder has the lock at once" {
  mkfifo go
  script 'read -r _ <go; rlock release; for _ in $(seq 1000); do sleep 0.02; [ ! -e end ] || exit 3; done'
  background rlock run "$key" -- sh -c 'touch ran; until [ -e end ]; do sleep 0.02; done'
  until_true 10 waiting 1
  echo >go
  until_true 5 test -e ran
  until_true 5 eval '! part rlock-keeper'
  touch end
  ended 3 "$script"
  finish
  [ ! -s said ]
}

@test "released while nothing tells the keeper: it finds out with its next renewal" {
  not_under_acl 'has a user of its own'
  own_server --user teller on nopass '~*' '&*' +@all '-client|tracking'
  export RLOCK_SERVER="unix://teller:@$sock"
  script 'rlock release; for _ in $(seq 1000); do sleep 0.02; [ ! -e go ] || exit 3; done' -t 9s -k 100ms
  until_true 10 none_left
  touch go
  ended 3 "$script"
}

@test "inside the script an rlock run of the same key is a re-entry" {
  script 'rlock run -n "$RLOCK_KEY" -- touch ran && rlock run -n other -- touch ran2; exec sleep 1000'
  until_true 5 test -e ran -a -e ran2
  is_held
}

@test "a server that stands still for some seconds costs the script nothing" {
  own_server
  script 'for _ in $(seq 1000); do sleep 0.02; [ ! -e go ] || exit 3; done' -t 9s -k 100ms
  kill -STOP "$(server_pid "own-$BATS_TEST_NUMBER")"
  # Beyond the first renewal, at 3 s.
  sleep 4
  kill -CONT "$(server_pid "own-$BATS_TEST_NUMBER")"
  touch go
  ended 3 "$script"
  until_true 5 is_free
}

@test "a server that is gone: the script is stopped before the lease can end" {
  own_server
  script "$beats" -t 1s
  until_true 5 test -s beats
  local from
  kill -STOP "$(server_pid "own-$BATS_TEST_NUMBER")"
  from=$(uptime_now)
  ended 143 "$script"
  ended_in_time "$from" 1
  grep -q 'could not be renewed in time' said
}

@test "a keeper that is killed: the script keeps its lease until its end, and no longer; the lock is free with it" {
  script "trap 'exit 9' TERM; $beats" -t 2s
  until_true 5 test -s beats
  local from
  kill -KILL "$(part rlock-keeper)"
  from=$(uptime_now)
  background rlock run "$key" -- touch ran
  ended 9 "$script"
  ended_in_time "$from" 2
  holds "$(tail -n 1 beats) > $from"
  until_true 5 test -e ran
  until_true 5 none_left
}

@test "a keeper that is killed: a script that ends by itself still gives its lock back" {
  mkfifo go
  script 'read -r _ <go; exit 4'
  kill -KILL "$(part rlock-keeper)"
  echo >go
  ended 4 "$script"
  until_true 5 is_free
  until_true 5 none_left
}

@test "a keeper that is frozen: the script is killed before the lease can end" {
  script "$beats" -t 1s
  until_true 5 test -s beats
  local from keeper
  keeper=$(part rlock-keeper)
  kill -STOP "$keeper"
  from=$(uptime_now)
  ended 137 "$script"
  ended_in_time "$from" 1
  # Unless the kernel has ended it by now.
  kill -CONT "$keeper" 2>/dev/null || true
  until_true 5 none_left
}

@test "a guard that is killed is replaced" {
  script 'exec sleep 1000'
  local guard
  guard=$(part rlock-guard)
  kill -KILL "$guard"
  until_true 5 guard_is_not "$guard"
  expect 75 rlock run -n "$key" -- true
}

@test "a process that ends while its rlock waits: it leaves the queue" {
  rlock acquire "$key"
  sleep 1000 3>&- &
  local other=$! waiter
  rlock acquire --while-pid "$other" "$key" >got 2>said 3>&- &
  waiter=$!
  until_true 10 waiting 1
  kill -KILL "$other"
  ended 64 "$waiter"
  waiting 0
  [ ! -s got ]
  grep -qx "rlock: --while-pid: process $other has ended; $key is not held" said
}

@test "what is not a process of one's own is refused before a server is asked" {
  local pid
  met=$(connections)
  for pid in 0 -1 x 1.5 99999999 007; do
    wrong "--while-pid: '$pid' is not a number from 1 to 4194304" acquire --while-pid="$pid" "$key"
  done
  pid=$(sh -c 'echo $$')
  wrong "--while-pid: there is no process $pid" acquire --while-pid "$pid" "$key"
  python3 -c 'import threading, time
t = threading.Thread(target=time.sleep, args=(1000,)); t.start(); print(t.native_id, flush=True)' >thread 3>&- &
  until_true 10 test -s thread
  wrong "--while-pid: $(cat thread) is not a process" acquire --while-pid "$(cat thread)" "$key"
  printf 'while-pid = 1\n' >conf
  expect_error 78 while-pid rlock acquire --config conf "$key"
  wrong '--ttl 100ms leaves no room' acquire --while-pid $$ -t 100ms -k 90ms "$key"
  run -64 bash -c 'exec rlock acquire --while-pid $$ "$1"' bash "$key"
  nobody_called
}

@test "process 1 is refused: it could not be stopped if the lock were lost" {
  # In a namespace of its own: it must not be that of this machine, whatever rlock does.
  { [ "$EUID" = 0 ] && unshare --pid --fork true 2>/dev/null; } || skip 'needs root and pid namespaces'
  run -64 timeout 120 unshare --pid --fork --kill-child bash -c '[ $$ = 1 ] && rlock acquire --while-pid 1 "$1"; exit $?' bash "$key"
  [ "$output" = 'rlock: --while-pid: process 1 cannot be stopped if the lock is lost; write rlock run KEY -- COMMAND' ]
  is_free
}

@test "a keeper that cannot begin, for want of descriptors: the lock is free, and no guard is left that stops the script" {
  not_sanitized 'needs descriptors of its own'
  local most failed=0
  for most in 5 6 7 8 9 10; do
    run bash -c 'ulimit -n "$1"; rlock acquire --while-pid $$ "$2" >token; status=$?; sleep 0.1; exit "$status"' \
      bash "$most" "$key"
    [ "$status" = 0 ] || failed=$((failed + 1))
    until_true 5 none_left
    is_free
  done
  [ "$failed" -ge 2 ]
}

@test "another user's process is refused" {
  { [ "$EUID" = 0 ] && command -v setpriv >/dev/null; } || skip 'needs root and setpriv'
  cp "$RLOCK" "$BATS_TEST_TMPDIR/rlock"
  exec 8<"$BATS_TEST_TMPDIR/rlock"
  expect_error 64 "--while-pid: process $$ belongs to another user" \
    setpriv --reuid=65534 --regid=65534 --clear-groups /proc/self/fd/8 acquire --while-pid $$ "$key"
}

@test "a kernel that cannot hold a process: it is said before anything is acquired" {
  command -v strace >/dev/null || skip 'there is no strace'
  not_sanitized 'does not start under strace'
  expect_error 70 'pidfd_open, which Linux has since 5.3: Function not implemented' \
    strace -f -qq -o trace -e inject=pidfd_open:error=ENOSYS rlock acquire --while-pid $$ "$key"
  is_free
}

@test "a token that nobody could read: the lock is free, and nothing is left" {
  sleep 1000 3>&- &
  expect_error 70 'cannot write the token' sh -c 'rlock acquire --while-pid "$1" "$2" >/dev/full' sh $! "$key"
  until_true 5 is_free
  until_true 5 none_left
}

@test "readers, slots and Redisson's locks are kept and released likewise" {
  local kind compat=none
  for kind in -s '--slots 1' -x; do
    [ "$kind" != -x ] || compat=redisson
    export RLOCK_COMPAT=$compat
    cat >script <<-END
	eval "\$(rlock acquire --export --while-pid \$\$ $kind -t 9s -k 100ms '$key')" || exit
	touch has_it
	until [ -e early ]; do sleep 0.02; done
	rlock release && touch released
	until [ -e end ]; do sleep 0.02; done
	exit 3
	END
    rm -f has_it early released end
    bash script 2>>said 3>&- &
    until_true 10 test -e has_it
    until_renewed 8000
    # shellcheck disable=SC2086 # two words
    expect 75 rlock run ${kind/#-s/-x} -n "$key" -- true
    kill -KILL $!
    until_true 5 is_free
    until_true 5 none_left
    rm -f has_it
    bash script 2>>said 3>&- &
    until_true 10 test -e has_it
    touch early
    until_true 5 test -e released
    until_true 5 none_left
    touch end
    ended 3 $!
  done
  [ ! -s said ]
}
