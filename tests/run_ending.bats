# shellcheck disable=SC2016,SC2154 # the command expands what stands in single quotes; helper.bash sets key, url, sock
load helper

setup_file() { start_server; }
teardown_file() { stop_servers; }

# What a command leaves: ./left, which writes down the signals that it gets (seen), its pid (left.pid), and as long as it
# lives the time (left.beats). It ends when there is `end`.
write_left() {
  cat >left <<-'END'
	#!/bin/bash
	for name in HUP INT USR1 TERM; do trap "echo $name >>seen" $name; done
	echo $$ >left.pid
	until [ -e end ]; do
	  read -r up _ </proc/uptime
	  echo "$up" >>left.beats
	  sleep 0.02 & wait $!
	done
	END
  chmod +x left
}
# start_leaver OPTION... SCRIPT: a run whose command is this shell script, with ./left begun; nothing is ignored.
start_leaver() {
  write_left
  env --default-signal rlock run "${@:1:$#-1}" "$key" -- bash -c "${*: -1}" 2>error 3>&- &
  rlock=$!
  until_true 10 [ -s left.beats ]
  until_true 10 guard_of "$rlock"
}
# begins_left: bash ignores INT and QUIT in what it begins in the background, unless job control is on.
begins_left='set -m; ./left & set +m'
next_runs() {
  rlock run "$key" -- sh -c 'grep -qs "^State:.[^ZX]" "/proc/$(cat left.pid)/status" && touch overlap; cut -d" " -f1 /proc/uptime >next' 3>&- &
  next=$!
  until_true 10 waiting 1
}
saw() { [ "$(xargs <seen)" = "$*" ]; }

@test "a shell that dies of TERM and leaves a child: the child gets TERM, SIGKILL after --kill-after, and then the next one begins" {
  start_leaver -t 60s -k 1s "$begins_left; wait"
  next_runs
  kill -TERM "$rlock"
  until_true 10 saw TERM
  local told
  told=$(uptime_now)
  ended 143 "$rlock"
  ended 0 "$next"
  [ ! -e overlap ]
  holds "$(tail -n 1 left.beats) > $told + 0.5"
}

@test "each signal that the command dies of goes to what it left, and the status is the command's" {
  local name
  for name in HUP INT USR1 TERM; do
    rm -f seen end left.*
    start_leaver -t 60s -k 30s "$begins_left; wait; wait"
    kill "-$name" "$rlock"
    until_true 10 saw "$name"
    is_held
    touch end
    ended "$((128 + $(kill -l "$name")))" "$rlock"
    is_free
  done
}

@test "a second signal meanwhile is passed on to them too" {
  start_leaver -t 60s -k 30s "$begins_left; wait"
  kill -TERM "$rlock"
  until_true 10 saw TERM
  kill -INT "$rlock"
  until_true 10 saw TERM INT
  kill -USR1 "$rlock"
  until_true 10 saw TERM INT USR1
  touch end
  ended 143 "$rlock"
}

@test "the lease is renewed while they tidy up" {
  start_leaver -t 15s -k 6s "trap 'exit 0' TERM; $begins_left; wait"
  kill -TERM "$rlock"
  until_true 10 saw TERM
  local before
  before=$(redis pttl "rlock:$key")
  lease_is_longer() { local now; now=$(redis pttl "rlock:$key"); ((now > before)) || ! before=$now; }
  until_true 10 lease_is_longer
  ended 0 "$rlock"
  is_gone "$(cat left.pid)"
}

@test "a lock that is lost while they tidy up ends them" {
  start_leaver -t 60s -k 20s "$begins_left; wait"
  kill -TERM "$rlock"
  until_true 10 saw TERM
  redis set "rlock:$key" theirs px 60000
  ended 79 "$rlock"
  is_gone "$(cat left.pid)"
}

@test "a signal that the command took for its own purposes does not end what it leaves" {
  local name
  for name in HUP USR1; do
    rm -f seen end left.* go
    start_leaver -t 60s -k 50ms "trap 'touch got' HUP USR1; $begins_left; until [ -e go ]; do sleep 0.02; done; exit 5"
    rm -f got
    kill "-$name" "$rlock"
    until_true 10 [ -e got ]
    sleep 0.1 # more than --kill-after
    touch go
    ended 5 "$rlock"
    is_free
    run ! is_gone "$(cat left.pid)"
    [ ! -e seen ]
    touch end
    until_true 10 is_gone "$(cat left.pid)"
  done
}

@test "TERM, INT and QUIT count however long the command took to obey" {
  local name
  for name in TERM INT QUIT; do
    rm -f seen end left.* go got
    start_leaver -t 60s -k 50ms "trap 'touch got' TERM INT QUIT; $begins_left; until [ -e go ]; do sleep 0.02; done; exit 5"
    kill "-$name" "$rlock"
    until_true 10 [ -e got ]
    sleep 0.1 # more than --kill-after
    touch go
    ended 5 "$rlock"
    is_gone "$(cat left.pid)"
  done
}

@test "-v says how many processes go on" {
  write_left
  rlock run -v "$key" -- bash -c './left >/dev/null 2>&1 & until [ -s left.beats ]; do sleep 0.01; done' 2>said
  cat said
  grep -qE '^rlock: .*(1 of the processes that it started goes|[2-9] of the processes that it started go) on' said
  touch end
}

@test "--tree holds the lock until all that the command started has ended, and gives the command's status" {
  write_left
  rlock run --tree "$key" -- bash -c '(setsid ./left >/dev/null 2>&1 &); until [ -s left.beats ]; do sleep 0.01; done; echo $$ >over; exit 9' 3>&- &
  rlock=$!
  until_true 10 [ -s over ]
  until_true 10 is_gone "$(cat over)"
  # Who passes on a second signal did not end when the command had: the first was passed on after that.
  kill -USR1 "$rlock"
  until_true 10 saw USR1
  kill -USR1 "$rlock"
  until_true 10 saw USR1 USR1
  next_runs
  [ ! -e next ]
  touch end
  ended 9 "$rlock"
  ended 0 "$next"
  [ ! -e overlap ]
}

@test "TERM while --tree waits ends what is left" {
  start_leaver --tree -t 60s -k 200ms "$begins_left; touch over; exit 9"
  until_true 10 [ -e over ]
  kill -USR1 "$rlock"
  until_true 10 saw USR1
  is_held
  kill -TERM "$rlock"
  ended 9 "$rlock"
  saw USR1 TERM
  is_gone "$(cat left.pid)"
  is_free
}

@test "rlock killed while it waits for what the command left: that is dead, and the lock is free" {
  start_leaver --tree -t 60s "$begins_left; touch over"
  until_true 10 [ -e over ]
  kill -KILL "$rlock"
  until_true 10 is_free
  is_gone "$(cat left.pid)"
}

# another_user FILE: makes FILE a program that runs its arguments as root whoever starts it, as sudo does.
another_user() {
  cat >su.c <<-'END'
	#define _GNU_SOURCE
	#include <unistd.h>
	int main(int argc, char** argv) {
	  if (argc < 2 || setresuid(0, 0, 0) != 0) return 99;
	  execv(argv[1], argv + 1);
	  return 98;
	}
	END
  cc -o "$1" su.c
  chmod 4755 "$1"
}

@test "what cannot be killed because it is another user's keeps the lock until it ends" {
  [ "$EUID" = 0 ] || skip 'needs root'
  command -v setpriv >/dev/null || skip 'needs setpriv'
  another_user as_root
  chmod 777 . "$BATS_FILE_TMPDIR" "$BATS_RUN_TMPDIR"
  chmod 777 "$sock"
  local nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
  "${nobody[@]}" ./as_root /bin/true || skip 'setuid programs are not allowed here'
  cat >job <<-'END'
	#!/bin/sh
	echo $$ >pid
	touch runs
	until [ -e go ]; do sleep 0.02; done
	touch ended
	END
  chmod +x job
  "${nobody[@]}" rlock run -t 4s -k 100ms "$key" -- sh -c "./as_root $PWD/job; true" 2>said 3>&- &
  local rlock=$!
  until_true 10 test -e runs
  kill -TERM "$rlock"
  until_true 10 grep -q 'holding the lock until it ends' said
  expect 75 rlock run -w 5s "$key" -- touch beside
  [ ! -e beside ]
  touch go
  ended 143 "$rlock"
  [ -e ended ]
  is_free
}
