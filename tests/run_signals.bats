# shellcheck disable=SC2016,SC2154 # the command expands what stands in single quotes; helper.bash sets key, url, sock
load helper

setup_file() { start_server; }
teardown_file() { stop_servers; }

# A shell ignores SIGINT and SIGQUIT in what it starts in the background, nohup SIGHUP.
plain=(env --default-signal)

# A command that writes down each signal in `seen`, and ends with 7 once `end` is there.
write_listener() {
  cat >listener <<-'END'
	#!/bin/sh
	for name in HUP INT QUIT USR1 USR2 ALRM TERM; do
	  trap "echo $name >>seen" $name
	done
	echo $$ >listening
	until [ -e end ]; do
	  sleep 0.02 &
	  wait $!
	done
	exit 7
	END
  chmod +x listener
}

# saw NAME...: these signals, in this order, and no other.
saw() { [ "$(xargs <seen)" = "$*" ]; }

# A job that waits for a lock which another has; its pid is in $waiter.
start_waiter() {
  rlock acquire -t 60s "$key" >token
  "$@" rlock run "$key" -- touch ran 3>&- &
  waiter=$!
  until_true 10 waiting 1
}

@test "a signal sent to rlock reaches the command once, whichever it is" {
  write_listener
  "${plain[@]}" rlock run "$key" -- ./listener 3>&- &
  local rlock=$! name sent=()
  until_true 10 [ -e listening ]
  # Each next one shows that the one before came only once; the last is sent twice for that.
  for name in TERM INT HUP QUIT USR1 USR2 ALRM TERM INT; do
    kill "-$name" "$rlock"
    sent+=("$name")
    until_true 10 saw "${sent[@]}"
  done
  touch end
  ended 7 "$rlock"
  saw "${sent[@]}"
  is_free
}

@test "a command ended by a forwarded signal gives 128 + its number, and the lock is free" {
  ulimit -c 0
  local name
  for name in TERM INT HUP QUIT USR1 USR2 ALRM; do
    "${plain[@]}" rlock run "$key" -- sleep 60 3>&- &
    until_true 10 is_held
    # The command may not be there yet; the status is the same.
    kill "-$name" $!
    ended $((128 + $(kill -l "$name"))) $!
    is_free
  done
}

@test "a signal while waiting: gone at once, out of the queue, 128 + its number" {
  local name
  for name in TERM INT HUP QUIT USR1 USR2 ALRM; do
    start_waiter "${plain[@]}"
    kill "-$name" "$waiter"
    until_true 2 is_gone "$waiter"
    ended $((128 + $(kill -l "$name"))) "$waiter"
    waiting 0
    rlock release "$key" - <token
  done
  [ ! -e ran ]
}

@test "a waiter goes at once though the server does not answer" {
  start_waiter
  kill -STOP "$(server_pid)"
  kill -TERM "$waiter"
  until_true 3 is_gone "$waiter"
  kill -CONT "$(server_pid)"
  ended 143 "$waiter"
  # Its release arrives late, or the next look finds that it is dead.
  rlock release "$key" - <token
  expect 0 rlock run -w 5m "$key" -- true
  [ ! -e ran ]
}

@test "rlock goes at once though the server has not answered yet, and the late answer leaves no lock" {
  kill -STOP "$(server_pid)"
  rlock run "$key" -- touch ran 3>&- &
  local rlock=$!
  until_true 10 grep -q '^State.*S' "/proc/$rlock/status"
  kill -TERM "$rlock"
  until_true 3 is_gone "$rlock"
  ended 143 "$rlock"
  kill -CONT "$(server_pid)"
  until_true 3 is_free
  [ ! -e ran ]
}

@test "the first of several waiters goes, and the next has the lock" {
  start_waiter
  rlock run "$key" -- touch second-ran 3>&- &
  local second=$!
  until_true 10 waiting 2
  kill -TERM "$waiter"
  ended 143 "$waiter"
  rlock release "$key" - <token
  wait "$second"
  [ -e second-ran ] && [ ! -e ran ]
}

@test "SIGHUP stays ignored under nohup, while running and while waiting" {
  write_listener
  nohup rlock run "$key" -- ./listener >/dev/null 2>&1 3>&- &
  local rlock=$!
  until_true 10 [ -e listening ]
  kill -HUP "$rlock" "$(cat listening)"
  kill -USR1 "$rlock"
  until_true 10 saw USR1
  touch end
  ended 7 "$rlock"
  saw USR1

  start_waiter nohup
  kill -HUP "$waiter"
  rlock release "$key" - <token
  wait "$waiter"
  [ -e ran ]
}

# signal_at_random HOW ROUNDS COMMAND...: starts it again and again on a terminal of its own, each time with a signal at
# a random moment after the exec: from the terminal (KEY), or by kill. Prints each status as a shell would give it.
signal_at_random() {
  cat >rounds.py <<-'END'
	import os, pty, random, signal, sys, time

	def start(command):
	    """Returns pid and terminal when the command has been executed, which closes the pipe."""
	    read_end, write_end = os.pipe()
	    pid, terminal = pty.fork()
	    if pid == 0:
	        os.execvp(command[0], command)
	    os.close(write_end)
	    os.read(read_end, 1)
	    os.close(read_end)
	    return pid, terminal

	def status_of(pid):
	    end = time.monotonic() + 120
	    while time.monotonic() < end:
	        ended, status = os.waitpid(pid, os.WNOHANG)
	        if ended:
	            return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
	        time.sleep(0.0005)
	    os.kill(pid, signal.SIGKILL)
	    return "never"

	for _ in range(int(sys.argv[2])):
	    pid, terminal = start(sys.argv[3:])
	    time.sleep(random.uniform(0, 0.012))
	    if sys.argv[1] == "KEY":
	        os.write(terminal, b"\x03")
	    else:
	        os.kill(pid, signal.Signals["SIG" + sys.argv[1]])
	    print(status_of(pid), flush=True)
	    os.close(terminal)
	END
  "${plain[@]}" python3 rounds.py "$@"
}

@test "a signal at any moment around the start: never a command that goes on, never a lock left behind" {
  local name
  ulimit -c 0
  for name in TERM INT HUP QUIT USR1; do
    signal_at_random "$name" 40 rlock run "$key" -- sleep 60 >ended
    [ "$(sort ended | uniq -c | xargs)" = "40 $((128 + $(kill -l "$name")))" ]
    is_free
  done
}

@test "Ctrl-C at any moment around the start: the same" {
  signal_at_random KEY 80 rlock run "$key" -- sleep 60 >ended
  [ "$(sort ended | uniq -c | xargs)" = "80 130" ]
  is_free
}

@test "a signal after the lock was taken and before the command was started: it is not started" {
  # It stands for a while before the system call that makes the command's process.
  strace -f -qq -o trace -e trace=vfork,execve -e inject=vfork:delay_enter=3000000 rlock run "$key" -- touch ran 3>&- &
  local strace=$!
  until_true 10 is_held
  kill -TERM "$(pgrep -P "$strace")"
  ended 143 "$strace"
  # One that is started may die of the signal before it has done anything.
  run ! grep 'execve("[^"]*/touch"' trace
  [ ! -e ran ]
  is_free
}

# A terminal with an interactive shell on it; keys sends it what is typed. The shell's pid is in $shell.
open_terminal() {
  mkfifo keyboard
  "${plain[@]}" script -qfc 'echo $$ >shell; exec bash --norc --noprofile -i' screen <keyboard >/dev/null 2>&1 3>&- &
  terminal=$!
  exec 8>keyboard
  until_true 10 [ -s shell ]
  shell=$(cat shell)
}
keys() { printf '%b' "$1" >&8; }
close_terminal() { exec 8>&-; }

# The rlock that the shell has started.
rlock_of_shell() { rlock=$(pgrep -x -P "$shell" rlock); }
are_in_state() {
  local wanted=$1 pid
  shift
  for pid; do [[ $wanted == *"$(state_of "$pid")"* ]] || return 1; done
}

@test "a key on the terminal reaches the command once, not also through rlock" {
  write_listener
  open_terminal
  keys "rlock run $key -- ./listener; echo \$? >status\n"
  until_true 10 [ -e listening ]
  local sent=() stroke
  for stroke in '\003INT' '\034QUIT' '\003INT' '\034QUIT'; do
    keys "${stroke:0:4}"
    sent+=("${stroke:4}")
    until_true 10 saw "${sent[@]}"
  done
  # And what is sent to rlock alone is passed on all the same.
  rlock_of_shell
  kill -TERM "$rlock"
  until_true 10 saw "${sent[@]}" TERM
  touch end
  until_true 10 [ -s status ]
  [ "$(cat status)" = 7 ]
  saw "${sent[@]}" TERM
  close_terminal
}

@test "Ctrl-C: what the command leaves is ended too, though it ignores the key, and only then is the lock free" {
  open_terminal
  cat >left <<-'END'
	#!/bin/sh
	trap '' INT
	echo $$ >left.pid
	until [ -e end ]; do sleep 0.02; done
	END
  chmod +x left
  keys "rlock run -t 60s -k 200ms $key -- sh -c './left & wait'; echo \$? >status\n"
  until_true 10 [ -s left.pid ]
  rlock run "$key" -- sh -c 'grep -qs "^State:.[^ZX]" "/proc/$(cat left.pid)/status" && touch overlap; touch next' 3>&- &
  local next=$!
  until_true 10 waiting 1
  keys '\003'
  until_true 10 [ -s status ]
  [ "$(cat status)" = 130 ]
  ended 0 "$next"
  [ ! -e overlap ]
  touch end
  close_terminal
}

@test "Ctrl-C while waiting: out of the queue" {
  rlock acquire -t 60s "$key" >token
  open_terminal
  keys "rlock run $key -- touch ran\n"
  until_true 10 waiting 1
  keys '\003'
  until_true 10 waiting 0
  keys 'echo $? >status\n'
  until_true 10 [ -s status ]
  [ "$(cat status)" = 130 ]
  [ ! -e ran ]
  close_terminal
}

@test "SIGTSTP stops nothing where it was ignored before, nor where nobody could continue us" {
  write_listener
  (trap '' TSTP && exec "$RLOCK" run -t 60s "$key" -- ./listener 2>said) 3>&- &
  local rlock=$!
  until_true 10 [ -e listening ]
  kill -TSTP "$rlock"
  kill -USR1 "$rlock"
  until_true 10 saw USR1
  [ ! -s said ]
  touch end
  ended 7 "$rlock"
  rm listening seen end
  # An orphaned process group.
  setsid "$RLOCK" run -t 60s "$key" -- ./listener 3>&- &
  rlock=$!
  until_true 10 [ -e listening ]
  kill -TSTP "$rlock"
  kill -USR1 "$rlock"
  until_true 10 saw USR1
  touch end
  ended 7 "$rlock"
}

@test "Ctrl-Z while waiting keeps the place; fg goes on waiting" {
  rlock acquire -t 60s "$key" >token
  open_terminal
  keys "rlock run $key -- touch ran\n"
  until_true 10 waiting 1
  rlock_of_shell
  keys '\032'
  until_true 10 are_in_state T "$rlock"
  waiting 1
  keys 'fg; echo $? >status\n'
  until_true 10 are_in_state SRD "$rlock"
  rlock release "$key" - <token
  until_true 10 [ -s status ]
  [ "$(cat status)" = 0 ]
  [ -e ran ]
  close_terminal
}

@test "a terminal that hangs up ends the command, and the lock is free" {
  write_listener
  open_terminal
  keys "rlock run -t 60s $key -- sleep 61\n"
  until_true 10 rlock_of_shell
  until_true 10 guard_of "$rlock"
  local command
  command=$(pgrep -x -P "$rlock" sleep)
  kill -KILL "$terminal"
  until_true 10 is_gone "$command"
  until_true 10 is_free
}

@test "Ctrl-Z stops rlock and the command; fg lets both go on, and the lease is renewed at once" {
  write_listener
  open_terminal
  keys "rlock run -t 60s $key -- ./listener 2>said\n"
  until_true 10 [ -e listening ]
  rlock_of_shell
  local command before
  command=$(cat listening)
  until_true 10 guard_of "$rlock"
  keys '\032'
  until_true 10 are_in_state T "$rlock" "$command"
  # What that costs, while there is time to go on.
  grep -qE "^rlock: stopped \(Ctrl-Z\), and $key is not renewed meanwhile: without fg within [1-5][0-9]s its command is killed and the lock lost$" said
  before=$(redis pttl "rlock:$key")
  keys 'fg; echo $? >status\n'
  until_true 10 are_in_state SRD "$rlock" "$command"
  until_true 10 lease_is_longer_than "$before"
  kill -USR1 "$rlock"
  until_true 10 saw USR1
  touch end
  until_true 10 [ -s status ]
  [ "$(cat status)" = 7 ]
  is_free
  close_terminal
}

@test "each Ctrl-Z is told of, in JSON too; --on-lost warn kills nothing, and a short run after fg ends as ever" {
  write_listener
  open_terminal
  keys "rlock run --log-format json --on-lost warn -t 60s $key -- ./listener 2>said\n"
  until_true 10 [ -e listening ]
  rlock_of_shell
  local i
  for i in 1 2 3; do
    keys '\032'
    until_true 10 are_in_state T "$rlock" "$(cat listening)"
    [ "$(grep -c '"event":"stopped"' said)" = "$i" ]
    keys 'fg\n'
    until_true 10 are_in_state SRD "$rlock" "$(cat listening)"
  done
  grep '"event":"stopped"' said | tail -n 1 >last
  jq -e --arg key "$key" '.key == $key and .left_ms > 0 and .left_ms < 60000 and (.message | endswith(" the lock is lost"))' last
  touch end
  keys 'echo $? >status\n'
  until_true 10 [ -s status ]
  [ "$(cat status)" = 7 ]
  is_free
  close_terminal
}

@test "a command that Ctrl-Z keeps beyond the lease is dead by its end, and rlock ends and tells of it" {
  write_listener
  open_terminal
  keys "rlock run -t 8s $key -- ./listener\n"
  until_true 10 [ -e listening ]
  rlock_of_shell
  until_true 10 guard_of "$rlock"
  keys '\032'
  until_true 10 are_in_state T "$rlock" "$(cat listening)"
  until_true 10 is_gone "$(cat listening)"
  until_true 10 is_free
  until_true 10 is_gone "$rlock"
  keys 'wait %1; echo $? >status\n'
  until_true 10 [ -s status ]
  [ "$(cat status)" = 79 ]
  close_terminal
}

# on_terminal KEYSTROKE|hangup COMMAND...: runs it as the leader of a session on a terminal of its own, presses the key once
# `held` is there (or hangs up), and prints its exit status, or "runs on" after two minutes.
on_terminal() {
  python3 - "$@" <<-'END'
	import os, pty, signal, sys, time
	what, command = sys.argv[1], sys.argv[2:]
	pid, terminal = pty.fork()
	if pid == 0:
	    os.execvp(command[0], command)
	end = time.monotonic() + 120
	while not os.path.exists("held") and time.monotonic() < end:
	    time.sleep(0.01)
	if what == "hangup":
	    os.close(terminal)
	else:
	    os.write(terminal, what.encode())
	while time.monotonic() < end:
	    done, status = os.waitpid(pid, os.WNOHANG)
	    if done:
	        print(os.waitstatus_to_exitcode(status))
	        break
	    time.sleep(0.01)
	else:
	    print("runs on")
	    os.kill(pid, signal.SIGKILL)
	END
}

@test "Ctrl-C ends a command that has made a process group of its own" {
  printf '#!/bin/sh\ntouch held\nexec sleep 600\n' >job
  chmod +x job
  [ "$(on_terminal $'\x03' rlock run "$key" timeout 50 ./job)" = 130 ]
  is_free
}

@test "a terminal that hangs up on rlock alone, the leader of its session, ends the command too" {
  [ "$(on_terminal hangup rlock run "$key" sh -c 'touch held; exec sleep 600')" = 129 ]
  is_free
}

@test "an alarm that the caller has set reaches the command" {
  expect 142 perl -e 'alarm 1; exec @ARGV' "${plain[@]}" rlock run "$key" sleep 20
  is_free
}
