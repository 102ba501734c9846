# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # the command expands what stands in single quotes; helper.bash sets key, url, sock
load helper

setup_file() { start_server; }
teardown_file() { stop_servers; }

# start_job [OPTION...]: a job with its daemon under the lock, at work when this returns; rlock's pid is in $rlock.
start_job() {
  write_job
  rlock run "$@" "$key" -- ./job 2>error 3>&- &
  rlock=$!
  until_true 10 job_runs
}

# start_command OPTION... SCRIPT: the same with a shell script, which has to make the file `up`. No signal is ignored.
start_command() {
  env --default-signal rlock run "${@:1:$#-1}" "$key" -- sh -c "${*: -1}" 2>error 3>&- &
  rlock=$!
  until_true 10 [ -e up ]
}
idle='touch up; for _ in $(seq 1000); do sleep 0.02 & wait $!; done'

# delete_lock: its run ends for that, and ./job with it.
delete_lock() {
  redis del "rlock:$key"
  until_true 10 is_gone "$rlock"
  ended 79 "$rlock"
  job_is_dead
}

@test "a stopped server: the command and its daemon are dead before it can give the lock to a waiter" {
  start_job -t 2s
  export -f job_is_dead is_gone state_of
  rlock run "$key" -- bash -c 'job_is_dead && touch alone; cut -d" " -f1 /proc/uptime >next' 3>&- &
  local waiter=$!
  until_true 10 waiting 1
  kill -STOP "$(server_pid)"
  sleep 2.1
  kill -CONT "$(server_pid)"
  ended 79 "$rlock"
  ended 0 "$waiter"
  [ -e alone ]
  holds "$(last_beat) < $(cat next)"
  grep -q "^rlock: lost $key after .*: it could not be renewed in time; stopping the command" error
}

@test "a lock deleted by somebody: the command is ended at once" {
  # The next renewal would be in 20 s.
  start_job -t 60s
  delete_lock
  [[ $(cat error) =~ ^"rlock: lost $key after "[0-9ms\ ]+": the server says that this rlock no longer holds it; stopping the command"$ ]]
  is_free
}

@test "a lock that somebody else has taken: the command is ended, and theirs still stands" {
  start_job -t 60s
  redis set "rlock:$key" theirs px 60000
  ended 79 "$rlock"
  job_is_dead
  [ "$(redis get "rlock:$key")" = theirs ]
  holds "$(redis pttl "rlock:$key") > 30000"
}

@test "a lock that somebody else has taken leaves no grace: the command is killed, not told" {
  start_command -t 60s -k 20s "trap 'touch told' TERM; $idle"
  redis set "rlock:$key" theirs px 60000
  ended 79 "$rlock"
  [ ! -e told ]
}

@test "a lock that is taken after it was deleted ends the grace" {
  start_command -t 60s -k 20s "trap 'touch told' TERM; $idle"
  redis del "rlock:$key"
  until_true 10 [ -e told ]
  redis set "rlock:$key" theirs px 60000
  until_true 5 is_gone "$rlock"
  ended 79 "$rlock"
}

@test "where the server does not tell of changes, the next renewal finds it" {
  start_server mute --user default on nopass '~*' '&*' +@all '-client|tracking'
  export RLOCK_SERVER=$url
  start_job -t 3s
  delete_lock
}

@test "a server that dies for good: the command is dead by the end of the lease" {
  start_server mortal
  export RLOCK_SERVER=$url
  start_job -t 2s
  local died
  kill -KILL "$(server_pid mortal)"
  died=$(uptime_now)
  rm "$BATS_FILE_TMPDIR/mortal.pid"
  ended 79 "$rlock"
  job_is_dead
  holds "$(last_beat) < $died + 2"
}

@test "a server that is away for less than the lease costs nothing" {
  start_command -t 9s -k 200ms 'touch up; until [ -e end ]; do sleep 0.05; done; exit 7'
  kill -STOP "$(server_pid)"
  # Beyond the first renewal, at 3 s.
  sleep 3.5
  kill -CONT "$(server_pid)"
  until_true 10 lease_is_longer_than 8000
  touch end
  ended 7 "$rlock"
  [ ! -s error ]
  is_free
}
@test "the lease is renewed for as long as the command runs" {
  rlock run -t 3s -k 100ms "$key" -- sleep 6.5 3>&- &
  local token
  until_true 10 is_held
  token=$(redis get "rlock:$key")
  while ! is_gone $!; do
    [ "$(redis get "rlock:$key")" = "$token" ] || until_true 2 is_gone $!
    sleep 0.05
  done
  ended 0 $!
  is_free
}
@test "no renewal comes after the release" {
  redis monitor >wire 3>&- &
  until_true 10 grep -q OK wire
  # The release is the second of the two scripts that a short job calls.
  rlock run "$key" -- true
  until_true 10 eval '[ "$(grep -c "unix:.*\"EVALSHA\"" wire)" -ge 2 ]'
  local release renewed
  release=$(grep 'unix:.*"EVALSHA"' wire | tail -n 1 | cut -d'"' -f4)
  # Ended at all moments around a renewal, which comes every second.
  for ms in {980..1025..5}; do
    rlock run -t 3s -k 50ms "$key" -- sleep "$((ms / 1000)).$(printf %03d $((ms % 1000)))"
  done
  redis echo over
  until_true 10 grep -q '"echo" "over"' wire
  # Each line of a client: script and token, which stands behind the keys. After its release, a token never comes again.
  awk -F'"' '/ unix:[^ ]*\] "EVALSHA"/ { print $4, $(8 + 2 * $6) }' wire >calls
  awk -v release="$release" 'released[$2] { exit 1 } $1 == release { released[$2] = 1; n++ } END { if (n != 11) exit 1 }' calls
  renewed=$(awk '{ print $1 }' calls | sort | uniq -c | wc -l)
  [ "$renewed" = 3 ] # acquire, renew, release
}

@test "a command that ignores TERM is killed after the grace, not before" {
  # The lease ends long after the grace: what dies only with it, by the guard, is seen to die late.
  local script="trap 'cut -d\" \" -f1 /proc/uptime >told' TERM; touch up; while :; do cut -d\" \" -f1 /proc/uptime >>beats"
  start_command -t 60s -k 2s "$script; sleep 0.02 & wait \$!; done"
  redis del "rlock:$key"
  ended 79 "$rlock"
  holds "$(tail -n 1 beats) > $(cat told) + 1 && $(tail -n 1 beats) < $(cat told) + 30"
}

@test "exit status 79 also where the command ends with 0 when told" {
  start_command "trap 'exit 0' TERM; $idle"
  redis del "rlock:$key"
  ended 79 "$rlock"
}

@test "--signal is what the command gets" {
  local name
  for name in INT USR1 15; do
    rm -f up
    start_command --signal "$name" "trap 'echo INT >seen; exit' INT; trap 'echo USR1 >seen; exit' USR1
      trap 'echo 15 >seen; exit' TERM; $idle"
    redis del "rlock:$key"
    ended 79 "$rlock"
    [ "$(cat seen)" = "$name" ]
  done
}

@test "what the command has started is told too, not only killed" {
  start_command "(trap 'touch told; exit' TERM; $idle) & wait"
  redis del "rlock:$key"
  ended 79 "$rlock"
  [ -e told ]
}

@test "a command that stands still when the lock is lost can still act on the signal" {
  start_command -t 60s -k 10s "trap 'touch told; exit' TERM; echo \$\$ >pid; $idle"
  kill -STOP "$(cat pid)"
  redis del "rlock:$key"
  until_true 5 is_gone "$rlock"
  ended 79 "$rlock"
  [ -e told ]
}

@test "what ignores TERM is dead when rlock ends, though the command itself ended when told" {
  start_command -k 300ms "(trap '' TERM; touch up; $idle) & echo \$! >pid; wait"
  until_true 10 [ -s pid ]
  redis del "rlock:$key"
  ended 79 "$rlock"
  is_gone "$(cat pid)"
}

@test "what starts itself anew again and again does not get away" {
  cat >respawn <<-'END'
	#!/bin/sh
	trap '' TERM
	touch up
	sleep 0.03
	[ "$2" -gt 1500 ] || setsid "$0" "$1" $(($2 + 1)) &
	END
  chmod +x respawn
  start_command -t 6s -k 300ms "trap '' TERM; $PWD/respawn $key 1 & $PWD/respawn $key 1 & wait; sleep 20"
  pgrep -f "$PWD/respawn"
  redis del "rlock:$key"
  until_true 10 is_gone "$rlock"
  ended 79 "$rlock"
  run -1 pgrep -f "$PWD/respawn"
}

@test "a nested run ends with the run around it" {
  write_job
  rlock run "$key" -- rlock run "$key" -- ./job 3>&- &
  rlock=$!
  until_true 10 job_runs
  delete_lock
}

@test "--on-lost warn lets the command go on to its end, and gives 79" {
  start_command --on-lost warn 'touch up; until [ -e end ]; do sleep 0.05; done; touch finished'
  redis del "rlock:$key"
  until_true 10 grep -q 'the command goes on' error
  touch end
  ended 79 "$rlock"
  [ -e finished ]
}

@test "--on-lost warn does so too where the lease runs out" {
  start_command -t 1s --on-lost warn 'touch up; until [ -e end ]; do sleep 0.05; done; touch finished'
  kill -STOP "$(server_pid)"
  until_true 10 grep -q 'the command goes on' error
  sleep 1
  kill -CONT "$(server_pid)"
  touch end
  ended 79 "$rlock"
  [ -e finished ]
}

@test "--no-renew stops the command before its lease ends" {
  start_job -t 2s --no-renew
  local left ends
  left=$(redis pttl "rlock:$key")
  ends="$(uptime_now) + $left / 1000"
  ended 79 "$rlock"
  job_is_dead
  holds "$(last_beat) < $ends"
  grep -q 'its lease ends, and --no-renew forbids renewing it' error
}

@test "with hardly a descriptor left the command is still stopped in time" {
  not_sanitized 'opens descriptors'
  local most status
  # Five: the standard ones, the connection, and what wakes on a loss; no timer, no guard, no look into /proc.
  for most in 5 6 7 8 9; do
    rm -f started
    status=0
    poor "$most" rlock run --ttl 2s --no-renew "$key" -- sh -c 'touch started; exec sleep 60' 2>said || status=$?
    cat said
    [ -e started ]
    [ "$status" = 79 ]
    grep -q "lost $key after .*: its lease ends" said
    run -1 grep stuck said
  done
}
# poor N COMMAND...: with descriptors below N alone.
poor() (
  exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
  ulimit -n "$1"
  shift
  exec "$@"
)

@test "with few descriptors left what the command has started is ended too, by the guard if need be, before the lock is free" {
  not_sanitized 'opens descriptors'
  local most
  # Nothing writes its pid: with so few descriptors a shell cannot.
  export forever=60.$$$BATS_TEST_NUMBER
  for most in 7 8 9 10 11; do
    poor "$most" rlock run --ttl 4s -k 300ms --no-renew "$key" -- sh -c 'sleep "$forever" & wait' &
    until_true 10 pgrep -fx "sleep $forever"
    ended 79 $!
    rlock run -w 5m "$key" -- true
    run -1 pgrep -fx "sleep $forever"
  done
}

@test "where nothing can wake a renewal, the command has one lease, and ends like any" {
  not_sanitized 'opens descriptors'
  run -0 timeout 120 bash -c "$(declare -f poor)"'; poor 6 rlock run --ttl 10s "$1" -- sleep 0.1' bash "$key"
  [[ $output == *"cannot renew"* ]]
  is_free
}

@test "--no-renew leaves alone a command that is done in time" {
  expect 7 rlock run -t 60s --no-renew "$key" -- sh -c 'sleep 0.1; exit 7'
  is_free
}

@test "a standard error that nobody reads delays nothing" {
  mkfifo full
  exec 9<>full
  dd if=/dev/zero of=full bs=4096 count=1000 oflag=nonblock || true
  write_job
  rlock run -t 4s -k 300ms "$key" -- sh -c 'trap "" TERM; exec ./job' 2>full 3>&- 9>&- &
  rlock=$!
  until_true 10 job_runs
  delete_lock
}

@test "a command killed for a lost lock leaves the terminal as it was before" {
  cat >terminal.py <<-'END'
	import os, pty, subprocess, sys, termios, time
	key, socket = sys.argv[1:]
	pid, terminal = pty.fork()
	if pid == 0:
	    os.execvp("rlock", ["rlock", "run", "-k", "100ms", key, "--", "sh", "-c", "trap '' TERM; until [ -e go ]; do sleep 0.01; done; stty raw -echo; touch raw; sleep 60"])
	before = termios.tcgetattr(terminal)
	open("go", "w").close()
	deadline = time.monotonic() + 20
	while not os.path.exists("raw") and time.monotonic() < deadline:
	    time.sleep(0.01)
	if termios.tcgetattr(terminal) == before:
	    sys.exit("the command did not change the terminal")
	subprocess.check_call(["redis-cli", "-s", socket, "del", "rlock:" + key], stdout=subprocess.DEVNULL)
	status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
	if status != 79 or termios.tcgetattr(terminal) != before:
	    sys.exit(f"status {status}, modes {termios.tcgetattr(terminal)[:4]} instead of {before[:4]}")
	END
  run -0 timeout 120 python3 terminal.py "$key" "$sock"
}

@test "answers that are slow, but in time for a try, keep the lease" {
  not_under_acl 'a proxy here passes no password on'
  python3 -B "$BATS_TEST_DIRNAME/faults/proxy.py" --listen "unix:$PWD/proxy" --to "unix:$sock" --control "unix:$PWD/control" \
    --fault 'delay down 900' >ready 2>&1 3>&- &
  until_true 10 grep -qs ready ready
  expect 0 env RLOCK_SERVER="unix://$PWD/proxy" rlock run --ttl 7200ms "$key" -- sleep 18
}
