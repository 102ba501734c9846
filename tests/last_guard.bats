# What stands behind rlock and its guard: the kernel (R43), the clock at the start of a command (R2), another try.
# shellcheck disable=SC2016,SC2154 # the command expands what stands in single quotes; helper.bash sets key
load helper

setup_file() { start_server; }
teardown_file() { stop_servers; }
teardown() {
  thaw
  end_jobs
}

@test "rlock and its guard stopped together: by the end of the lease all is dead, and the lock is free" {
  start_job -t 2s
  local stopped
  stopped=$(uptime_now)
  kill -STOP "$rlock" "$guard"
  until_true 10 job_is_dead
  # rlock and the command by the timer, the rest by the guard that wakes up then.
  holds "$(last_beat) < $stopped + 2 + 1"
  ended 137 "$rlock"
  until_true 10 is_free
  until_true 10 is_gone "$guard"
}

@test "rlock and its guard stopped together, and let go in time: the command goes on beyond that lease" {
  start_job -t 4s
  kill -STOP "$rlock" "$guard"
  kill -CONT "$rlock" "$guard"
  sleep 5
  job_runs
  is_held
  kill -TERM "$rlock"
  ended 143 "$rlock"
}

@test "rlock frozen, so that nothing wakes it: the kernel ends it in time, and its guard tells of it in its place" {
  local group
  group=$(awk '$3 == "cgroup2" { print $2 "/rlock-'$$'"; exit }' /proc/mounts)
  mkdir "$group" 2>/dev/null || skip 'needs root and cgroup v2'
  start_job -t 2s 2>said
  echo "$rlock" >"$group/cgroup.procs"
  echo 1 >"$group/cgroup.freeze"
  ended 137 "$rlock"
  rmdir "$group"
  job_is_dead
  until_true 5 is_free
  until_true 5 grep -q "^rlock: lost $key .*rlock was frozen" said
}

@test "rlock killed while its guard is stopped: the guard goes on and does its part" {
  start_job -t 60s
  kill -STOP "$guard"
  kill -KILL "$rlock"
  until_true 10 job_is_dead
  until_true 10 is_free
  until_true 10 is_gone "$guard"
}

@test "a keeper and its guard stopped together: the script is dead by the end of the lease, and the lock is free" {
  key=last-guard-$BASHPID
  echo 'eval "$(rlock acquire --export -t 2s --while-pid $$ "$1")" || exit; touch has_it; sleep 1000' >script
  bash script "$key" 3>&- &
  local script=$! keeper guard
  until_true 10 test -e has_it
  keeper=$(pgrep -f "^rlock-keeper $key\$")
  guard=$(pgrep -f "^rlock-guard $key\$")
  kill -STOP "$keeper" "$guard"
  until_true 10 is_gone "$script"
  until_true 10 is_gone "$keeper"
  until_true 10 is_gone "$guard"
  until_true 10 is_free
}

# strained PLAN... -- COMMAND...: runs it with system calls that fail or wait as strace is told.
strained() {
  local plan=()
  while [ "$1" != -- ]; do
    plan+=(-e "inject=$1")
    shift
  done
  shift
  strace -f -o calls -e signal=none "${plan[@]}" "$@"
}

@test "a command whose lease has ended by the time it could start is not started" {
  not_sanitized 'is slow under strace'
  expect 79 strained timer_create:error=EAGAIN vfork:delay_enter=1500000 -- rlock run -t 1s "$key" -- touch started
  [[ $output = *"the command was not started"* ]]
  run ! grep 'execve(.*\["touch"' calls
  is_free
}

@test "where the kernel has no timer, or rlock is process 1, the guard comes before the command" {
  (
    ulimit -i 0
    expect 0 rlock run "$key" -- sh -c 'pgrep -P "$PPID" | grep -vx $$'
    [[ $output = *'timer'* ]]
  )
  unshare --pid --fork --mount-proc true 2>/dev/null || skip 'the rest needs root and namespaces'
  expect 0 unshare --pid --fork --mount-proc rlock run "$key" -- sh -c 'pgrep -P "$PPID" | grep -vx $$'
}

@test "--on-lost warn: rlock stopped in its first milliseconds costs the command nothing" {
  expect 79 rlock run --on-lost warn -t 300ms "$key" -- sh -c 'kill -STOP $PPID; sleep 1; touch lived; kill -CONT $PPID'
  [ -e lived ]
}

@test "a moment without processes costs no job: guard and renewal start as soon as they can" {
  local port user=$((3000000 + BASHPID))
  setpriv --reuid "$user" --regid "$user" --clear-groups true 2>/dev/null || skip 'needs root'
  port=$(free_port)
  redis config set port "$port"
  redis config set protected-mode no
  cp "$RLOCK" .
  chmod -R a+rwX .
  mkfifo -m 666 go
  # Two is rlock and its command; no guard, no thread.
  local as_user=(setpriv --reuid "$user" --regid "$user" --clear-groups)
  "${as_user[@]}" prlimit --nproc=2:100 ./rlock run --server "redis://127.0.0.1:$port" -t 3s "$key" -- cat go 3>&- 2>said &
  rlock=$!
  until_true 10 grep -q 'trying again' said
  "${as_user[@]}" prlimit --pid "$rlock" --nproc=100
  until_true 10 guard_of "$rlock"
  until_true 10 is_held
  sleep 4
  is_held
  echo >go
  ended 0 "$rlock"
  redis config set port 0
}

# ticks PID: the processor time that it has had.
ticks() { sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'; }
@test "the guard rests when the command is over and rlock has not ended, however late that is" {
  own_server
  start_job_that_stops_the_server
  local before
  before=$(ticks "$guard")
  sleep 1
  (($(ticks "$guard") - before < $(getconf CLK_TCK) / 4))
  kill -KILL "$rlock"
  kill_own_server
}
# In $rlock, stopped with its release under way, and past the end of its lease.
start_job_that_stops_the_server() {
  rlock run -t 3s -k 100ms "$key" -- sh -c 'until [ -e go ]; do sleep 0.01; done; kill -STOP "$1"; touch over' sh "$(server_pid "own-$BATS_TEST_NUMBER")" 3>&- &
  rlock=$!
  until_true 10 guard_of "$rlock"
  guard=$(guard_of "$rlock")
  touch go
  until_true 10 test -e over
  until_true 10 has_no_command
  kill -STOP "$rlock"
  sleep 3
}
has_no_command() { [ "$(pgrep -P "$rlock")" = "$guard" ]; }

@test "a keeper does not release while its process cannot be killed" {
  own_server
  needs_freezer
  key=last-guard-$BASHPID
  echo 'eval "$(rlock acquire --export -t 2s --while-pid $$ "$1")" || exit; touch has_it; sleep 1000' >script
  bash script "$key" 3>&- &
  local script=$! keeper
  until_true 10 test -e has_it
  keeper=$(pgrep -f "^rlock-keeper $key\$")
  freeze "$script"
  # It stands still, as for a late renewal that it has got, and still has the lock.
  redis persist "rlock:$key"
  kill -STOP "$(server_pid "own-$BATS_TEST_NUMBER")"
  sleep 2
  kill -CONT "$(server_pid "own-$BATS_TEST_NUMBER")"
  until_true 30 is_gone "$keeper"
  is_held
  kill_own_server
}
