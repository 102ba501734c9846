# shellcheck disable=SC2016,SC2154 # the command expands what stands in single quotes; helper.bash sets key, url, sock
load helper

setup_file() { start_server; }
teardown_file() { stop_servers; }

# The lock as a shell holds it that has called acquire.
acquire() {
  RLOCK_TOKEN=$(rlock acquire "$@" "$key")
  export RLOCK_KEY=$key RLOCK_TOKEN
}
scripts_called() { redis info commandstats | sed -n 's/^cmdstat_eval\(sha\)\?:calls=\([0-9]*\).*/\2/p' | awk '{ n += $1 } END { print n + 0 }'; }

@test "below a shell that holds the lock, two nested runs renew, and do not wake each other" {
  not_under_acl 'counts the calls of all'
  python3 "$BATS_TEST_DIRNAME/faults/proxy.py" --listen "unix:$PWD/slow" --to "unix:$sock" --fault 'delay both 2' \
    >proxy 3>&- &
  until_true 10 grep -q ready proxy
  export RLOCK_SERVER=unix://$PWD/slow
  acquire -t 5s
  redis config resetstat
  background rlock run -t 5s -k 100ms "$key" -- sleep 6
  background rlock run -t 5s -k 100ms "$key" -- sh -c 'sleep 6; redis-cli -s "$sock" get "rlock:$RLOCK_KEY" >at-the-end'
  finish
  echo "scripts: $(scripts_called)"
  # Each looks once, and renews at the start and three times a lease; each renewal makes the other look.
  [ "$(scripts_called)" -gt 6 ]
  [ "$(scripts_called)" -lt 60 ]
  # Kept beyond its first 5 s.
  [ "$(cat at-the-end)" = "$RLOCK_TOKEN" ]
}

@test "below a shell that holds the lock, a nested run releases nothing" {
  acquire -t 60s
  expect 0 rlock run "$key" -- true
  [ "$(redis get "rlock:$key")" = "$RLOCK_TOKEN" ]
}

# The last of a nested run's own words: its pid in nested.pid, and what it lives by; ends when there is `end`.
nested='rlock run "$RLOCK_KEY" -- sh -c "echo \$\$ >nested.pid; until [ -e end ]; do sleep 0.01; done; touch ended"'

# start_nested [OPTION...]: a run whose shell has ended, and left a nested run at work. Its pid is in $rlock.
start_nested() {
  rlock run "$@" "$key" -- sh -c "$nested & until [ -s nested.pid ]; do sleep 0.01; done; echo \$! >inner; touch left" 3>&- &
  rlock=$!
  until_true 10 [ -e left ]
  until_true 10 guard_of "$rlock"
  until_true 10 nested_guard "$(cat inner)"
}
nested_guard() { pgrep -P "$1" -x rlock-nested; }
next_runs() { # the next holder, which looks whether the nested one lives
  rlock run "$key" -- sh -c 'grep -qs "^State:.[^ZX]" "/proc/$(cat nested.pid)/status" && touch overlap; touch next' 3>&- &
  next=$!
  until_true 10 waiting 1
}

@test "the outer one's shell ends first: the lock is kept until the nested run has ended, and released then" {
  start_nested
  next_runs
  [ ! -e next ]
  [ ! -e ended ]
  touch end
  ended 0 "$rlock"
  ended 0 "$next"
  [ -e ended ] && [ ! -e overlap ]
}

@test "the outer one renews for the nested run, which asks the server once" {
  not_under_acl 'counts the calls of all'
  redis config resetstat
  local begin=$SECONDS
  start_nested -t 3s -k 50ms
  sleep 4
  is_held
  touch end
  ended 0 "$rlock"
  echo "scripts: $(scripts_called)"
  # acquire, check (twice where the server has to be told the script), release; a renewal each second, and one at the start.
  [ "$(scripts_called)" -lt $((10 + SECONDS - begin)) ]
}

@test "a nested run has no renewals of its own" {
  not_under_acl 'counts the calls of all'
  redis script flush
  redis config resetstat
  rlock run -t 60s "$key" -- rlock run -t 300ms -k 50ms "$key" -- sleep 2
  echo "scripts: $(scripts_called)"
  # acquire, renew, check, release, each twice on a server that has not seen it.
  [ "$(scripts_called)" -le 8 ]
}

@test "TERM to the outer one: the nested command has it once, and the next one begins when it has ended" {
  cat >job <<-'END'
	#!/bin/sh
	trap 'echo TERM >>seen' TERM
	echo $$ >nested.pid
	until [ -e end ]; do sleep 0.01 & wait $!; done
	touch ended
	END
  chmod +x job
  rlock run -t 60s -k 20s "$key" -- sh -c 'rlock run -k 20s "$RLOCK_KEY" -- ./job & wait' 3>&- &
  rlock=$!
  until_true 10 [ -s nested.pid ]
  until_true 10 guard_of "$rlock"
  next_runs
  kill -TERM "$rlock"
  until_true 10 [ -s seen ]
  # A second one comes through too, so that no other was on its way.
  kill -TERM "$rlock"
  until_true 10 has_lines 2 seen
  [ ! -e next ]
  touch end
  ended 143 "$rlock"
  ended 0 "$next"
  [ -e ended ]
  [ ! -e overlap ]
  has_lines 2 seen
}
has_lines() { [ "$(wc -l <"$2")" = "$1" ]; }

@test "the outer one killed: the nested run and its command are dead when the next one begins" {
  start_nested -t 60s
  next_runs
  kill -KILL "$rlock"
  ended 0 "$next"
  [ ! -e overlap ]
  [ ! -e ended ]
  until_true 5 is_gone "$(cat inner)"
}

@test "the outer one and its guard killed: the nested command is dead at once, though the lock is still held" {
  start_nested -t 60s
  # One that runs would replace its guard.
  until_true 10 guard_of "$rlock"
  kill -STOP "$rlock"
  kill -KILL "$(guard_of "$rlock")" "$rlock"
  until_true 5 is_gone "$(cat nested.pid)"
  until_true 5 is_gone "$(cat inner)"
  is_held && [ ! -e ended ]
}

@test "the nested run killed: its command and what that started are dead when the lock is free" {
  write_job
  rlock run -t 60s "$key" -- sh -c 'rlock run "$RLOCK_KEY" -- sh -c "./beat daemon & exec ./beat job" & echo $! >inner
    until [ -s job.beats ] && [ -s daemon.beats ]; do sleep 0.01; done; touch left' 3>&- &
  rlock=$!
  until_true 10 [ -e left ]
  until_true 10 nested_guard "$(cat inner)"
  export -f job_is_dead is_gone state_of
  rlock run "$key" -- bash -c 'job_is_dead && touch alone' 3>&- &
  local waiter=$!
  until_true 10 waiting 1
  kill -KILL "$(cat inner)"
  ended 0 "$rlock"
  ended 0 "$waiter"
  [ -e alone ]
}

@test "a nested run's guard killed, or the run stopped: the lock is kept" {
  start_nested -t 60s
  kill -KILL "$(nested_guard "$(cat inner)")"
  until_true 10 nested_guard "$(cat inner)"
  next_runs
  kill -STOP "$(cat inner)"
  touch end
  until_true 10 [ -e ended ]
  is_held
  [ ! -e next ]
  kill -CONT "$(cat inner)"
  ended 0 "$rlock"
  ended 0 "$next"
}

@test "the lock lost: the nested run ends with the outer one" {
  start_nested -t 60s
  redis del "rlock:$key"
  ended 79 "$rlock"
  is_gone "$(cat nested.pid)"
  is_gone "$(cat inner)"
  [ ! -e ended ]
}

@test "runs of another lock, nested ones among them, are not waited for" {
  rlock run "$key" -- sh -c 'rlock run other -- rlock run other -- sh -c "touch up; until [ -e end ]; do sleep 0.01; done" &
    until [ -e up ]; do sleep 0.01; done'
  is_free
  is_held other
  # Nor do they, which wait for our lock, keep it from them.
  rlock run "$key" -- sh -c 'RLOCK_TOKEN= rlock run "$RLOCK_KEY" -- touch got & sleep 0.1'
  until_true 10 [ -e got ]
  touch end
  until_true 10 is_free other
}

@test "whenever the outer one's shell ends: the nested run is inside alone, under its lock or one of its own" {
  local round
  background sh -c 'until [ -e done ]; do rlock run "$0" -- sh -c "mkdir in || touch overlap; sleep 0.002; rmdir in"; done' "$key"
  for round in {1..60}; do
    rlock run "$key" -- sh -c 'rlock run "$RLOCK_KEY" -- sh -c "mkdir in || touch overlap; sleep 0.01; rmdir in; echo >>inside" &
      sleep "$0"' "0.00$((RANDOM % 10))"
  done
  until_true 20 has_lines 60 inside
  touch 'done'
  finish
  [ ! -e overlap ]
}

@test "a nested run that starts while the outer one releases waits for the end of that, and takes the lock for itself" {
  local outer before
  not_under_acl 'a proxy here passes no password on'
  python3 -B "$BATS_TEST_DIRNAME/faults/proxy.py" --listen "unix:$PWD/proxy" --to "unix:$sock" --control "unix:$PWD/control" \
    >ready 2>&1 3>&- &
  until_true 10 grep -qs ready ready
  # Left by the command of the outer run, it starts the nested one when it is told. It talks to the server itself.
  RLOCK_SERVER="unix://$PWD/proxy" background rlock run -t 5m "$key" -- bash -c '
    echo "hold match=$RLOCK_TOKEN count=99 after=60000" | socat -t 60 - UNIX:control
    echo "$RLOCK_TOKEN" >outer
    (until [ -e start ]; do sleep 0.01; done
      RLOCK_SERVER=unix://$0 exec rlock run "$RLOCK_KEY" -- sh -c "echo \$RLOCK_TOKEN >nested") &' "$sock"
  outer=${background_pids[0]}
  until_true 10 eval '[ "$(cat "/proc/$outer/comm")" = rlock-releasing ]'
  before=$(scripts_called)
  touch start
  until_true 10 eval '[ "$(scripts_called)" -gt "$before" ]'
  echo clear | socat -t 60 - UNIX:control
  finish
  until_true 10 [ -s nested ]
  [ "$(cat nested)" != "$(cat outer)" ]
}

@test "a nested run has the fence of the lock, though the server has lost the record of it" {
  redis del "rlock:i:{rlock:$key}"
  expect 0 rlock run "$key" -- sh -c 'echo "$RLOCK_FENCE"; redis-cli -s "$sock" del "rlock:i:{rlock:$RLOCK_KEY}"
    rlock run "$RLOCK_KEY" -- sh -c "echo \$RLOCK_FENCE"'
  [ "${lines[0]}" = "${lines[2]}" ]
}

@test "two nested runs are inside together" {
  expect 0 rlock run "$key" -- sh -c 'rlock run "$RLOCK_KEY" -- sh -c "touch a; until [ -e b ]; do sleep 0.01; done" &
    rlock run "$RLOCK_KEY" -- sh -c "touch b; until [ -e a ]; do sleep 0.01; done"; wait $!'
}

@test "who waits for a lock of a run further up is told of it" {
  run --separate-stderr -75 rlock run "$key" -- rlock run "$key-2" -- rlock run -w 300ms "$key" -- touch ran
  [[ $stderr == *"held by a run around this one"* ]]
  [ ! -e ran ]
}
