# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # as in run_lease_lost.bats
load helper

setup_file() { start_server; }
teardown_file() { stop_servers; }

# tell WHAT SINCE: how long it took, in the output of bats; under load it may take long, so nobody checks it.
tell() { echo "# $1 after $((${EPOCHREALTIME//[.,]/} - ${2//[.,]/})) us" >&3; }

has_more_lines_than() { (($(wc -l <"$2") > $1)); }

@test "rlock killed: the command and its daemon are dead, and the next waiter runs, at once" {
  start_job -t 60s
  export -f job_is_dead is_gone state_of
  rlock run "$key" -- bash -c 'job_is_dead && touch alone' 3>&- &
  local waiter=$! began
  until_true 10 waiting 1
  began=$EPOCHREALTIME
  kill -KILL "$rlock"
  until_true 3 job_is_dead
  tell 'command and daemon dead' "$began"
  # Its lease would go on for a minute.
  until_true 10 is_gone "$waiter"
  tell 'the next one done' "$began"
  ended 0 "$waiter"
  [ -e alone ]
  until_true 10 is_gone "$guard"
}

@test "rlock killed, and nobody waits: the lock is free" {
  start_job -t 60s
  kill -KILL "$rlock"
  until_true 10 is_free
  job_is_dead
}

@test "rlock killed: the guard goes when the lease has ended though the server does not answer, and nobody is left" {
  start_job -t 3s
  kill -STOP "$(server_pid)"
  kill -KILL "$rlock"
  until_true 3 job_is_dead
  until_true 10 is_gone "$guard"
  kill -CONT "$(server_pid)"
}

@test "rlock killed: a daemon that began long after the guard is dead too" {
  write_job
  rlock run -t 60s "$key" -- sh -c 'until [ -e begin ]; do sleep 0.02; done; exec ./job' 3>&- &
  rlock=$!
  until_true 10 guard_of "$rlock"
  # By now the guard sleeps.
  until_true 10 is_in_state S "$(guard_of "$rlock")"
  touch begin
  until_true 10 job_runs
  kill -KILL "$rlock"
  until_true 3 job_is_dead
  until_true 10 is_free
}
is_in_state() { [ "$(state_of "$2")" = "$1" ]; }

@test "rlock killed: what has forgotten its environment is dead too, once the guard has seen it" {
  write_job
  # Begun only when the guard is there, which then looks round once a lease.
  rlock run -t 3s -k 100ms "$key" -- sh -c 'until [ -e begin ]; do sleep 0.02; done
    (env -i setsid ./beat daemon >/dev/null 2>&1 &); exec ./beat job' 3>&- &
  rlock=$!
  until_true 10 guard_of "$rlock"
  touch begin
  until_true 10 job_runs
  looks() { awk '/^voluntary/ { print $2 }' "/proc/$(guard_of "$rlock")/status"; }
  local before
  before=$(looks)
  looked_twice() { (($(looks) >= before + 2)); }
  until_true 20 looked_twice
  kill -KILL "$rlock"
  until_true 3 is_gone "$(cat job.pid)"
  if ! until_true 3 is_gone "$(cat daemon.pid)"; then
    kill -KILL "$(cat daemon.pid)"
    false
  fi
}

@test "rlock killed in its first milliseconds: the command does not outlive it" {
  # The one argument that only these have.
  local forever="61.$$$BATS_TEST_NUMBER" round delay
  for round in {1..80}; do
    rlock run -t 60s "$key-$round" -- sleep "$forever" 3>&- &
    printf -v delay '0.%06d' $((RANDOM % 12000))
    sleep "$delay"
    kill -KILL $!
  done
  until_true 3 none_of "sleep $forever"
}
none_of() { ! pgrep -fx "$1"; }

@test "rlock stopped: the command is dead by the end of the lease, and rlock is woken to tell of it" {
  start_job -t 2s
  local stopped
  kill -STOP "$rlock"
  stopped=$(uptime_now)
  until_true 5 job_is_dead
  holds "$(last_beat) < $stopped + 2"
  until_true 5 is_free
  ended 79 "$rlock"
}

@test "rlock stopped with its whole group: the same" {
  write_job
  setsid rlock run -t 2s "$key" -- ./job 3>&- &
  rlock=$!
  until_true 10 job_runs
  until_true 10 guard_of "$rlock"
  local stopped
  kill -STOP -- "-$rlock"
  stopped=$(uptime_now)
  until_true 5 job_is_dead
  holds "$(last_beat) < $stopped + 2"
  ended 79 "$rlock"
}

@test "rlock stopped in its first milliseconds: the command is dead by the end of the lease all the same" {
  local forever="62.$$$BATS_TEST_NUMBER" round delay stopped=()
  for round in {1..20}; do
    rlock run -t 1s "$key-$round" -- sleep "$forever" 3>&- &
    stopped+=($!)
    printf -v delay '0.%06d' $((RANDOM % 12000))
    sleep "$delay"
    kill -STOP $!
  done
  until_true 3 none_of "sleep $forever"
  kill -KILL "${stopped[@]}" 2>/dev/null || true
}

@test "rlock stopped and let go in time: the command goes on, and the lease is renewed" {
  start_job -t 60s
  kill -STOP "$rlock"
  local before
  before=$(redis pttl "rlock:$key")
  kill -CONT "$rlock"
  # The next renewal by itself would be 20 s away.
  until_true 10 lease_is_longer_than "$before"
  until_true 10 has_more_lines_than "$(($(wc -l <job.beats) + 5))" job.beats
  kill -TERM "$rlock"
  ended 143 "$rlock"
}

@test "the guard hears of each renewal: a command runs on beyond its first lease" {
  run -0 rlock run --ttl 3s -k 100ms "$key" -- sleep 5
  [ "$output" = '' ]
}

@test "a killed guard is replaced, and the new one guards" {
  start_job -t 60s
  local before
  for _ in 1 2; do
    before=$guard
    kill -KILL "$guard"
    until_true 10 is_gone "$guard"
    until_true 10 guard_of "$rlock"
    guard=$(guard_of "$rlock")
    [ "$guard" != "$before" ]
  done
  kill -KILL "$rlock"
  until_true 3 job_is_dead
  until_true 10 is_free
}

@test "whoever keeps killing the guard does not end the command" {
  start_job -t 60s
  for _ in {1..12}; do
    guard=$(guard_of "$rlock") || break
    kill -KILL "$guard"
    until_true 10 is_gone "$guard"
  done
  [ "$(state_of "$rlock")" != Z ]
  kill -TERM "$rlock"
  ended 143 "$rlock"
  is_free
}

@test "a stopped guard is in nobody's way" {
  start_job -t 60s
  kill -STOP "$guard"
  kill -TERM "$rlock"
  ended 143 "$rlock"
  is_free
  is_gone "$guard"
}

@test "the guard has nothing open that was the caller's" {
  exec 7<>theirs
  start_job -t 60s
  exec 7<&-
  local fd
  for fd in /proc/"$guard"/fd/*; do
    readlink "$fd"
  done | sort -u >open
  cat open
  run -1 grep -v '^/dev/null$\|^anon_inode:' open
}

@test "the guard ends with the command, and keeps nobody waiting for the output" {
  local began=$SECONDS guard
  guard=$(rlock run -t 10m "$key" -- sh -c 'until pgrep -x -P "$PPID" rlock-guard; do sleep 0.01; done')
  is_gone "$guard"
  ((SECONDS - began < 300))
}

@test "what a command leaves running goes on, and the lock is free" {
  write_job
  local pause
  for pause in 0 0.1; do
    rm -f daemon.*
    output=$(rlock run -t 60s "$key" -- sh -c './beat daemon >/dev/null 2>&1 & sleep "$1"; echo over' sh "$pause" 3>&-)
    [ "$output" = over ]
    is_free
    until_true 10 [ -s daemon.beats ]
    until_true 10 has_more_lines_than "$(($(wc -l <daemon.beats) + 5))" daemon.beats
    kill -KILL "$(cat daemon.pid)"
  done
}

@test "fifty killed waiters do not hold up the next living one" {
  rlock acquire -t 60s "$key" >token
  local dead=()
  for _ in {1..50}; do
    rlock run "$key" -- touch ghost 3>&- &
    dead+=($!)
  done
  until_true 20 waiting 50
  rlock run "$key" -- touch alive 3>&- &
  local alive=$!
  until_true 10 waiting 51
  kill -KILL "${dead[@]}"
  for pid in "${dead[@]}"; do
    until_true 5 is_gone "$pid"
  done
  local began=$EPOCHREALTIME
  rlock release "$key" - <token
  # Less than the claim of a single dead one, 3 s, would take.
  until_true 2 is_gone "$alive"
  tell 'the living one done' "$began"
  ended 0 "$alive"
  [ -e alive ] && [ ! -e ghost ]
}

@test "a guard that cannot look does not take that for nobody there: the lock is kept" {
  local rlock guard
  export forever="64.$$$BATS_TEST_NUMBER"
  rlock run -t 60s "$key" -- sh -c 'sleep "$forever" & sleep "${forever}5"' 3>&- &
  rlock=$!
  until_true 10 guard_of "$rlock"
  guard=$(guard_of "$rlock")
  until_true 10 pgrep -fx "sleep $forever"
  # Nothing new can be opened, whatever it has closed.
  prlimit --pid "$guard" --nofile=3:3
  kill -KILL "$rlock"
  until_true 20 is_gone "$guard"
  [ "$(redis exists "rlock:$key")" = 1 ]
  # What the guard had seen before is dead.
  pkill -KILL -f "^sleep $forever" || true
}

@test "a pattern that matches rlock's command line does not match the guard's, which names the key" {
  start_job -t 60s
  [ "$(pgrep -P "$rlock" -f '^rlock-guard ')" = "$guard" ]
  [ "$(tr '\0' ' ' <"/proc/$guard/cmdline" | sed 's/ *$//')" = "rlock-guard $key" ]
  # As pkill -9 -f 'rlock run' does, without the runs of others.
  run -1 pgrep -P "$rlock" -f 'rlock run'
  run -1 pgrep -P "$rlock" -f -- '-t 60s'
}
