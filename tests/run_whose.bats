# Whose a process is: whom a run ends, whom it leaves alone, and whom it cannot reach.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # as in run_lease_lost.bats
load helper

setup_file() { start_server; }
teardown_file() { stop_servers; }

denied() { python3 "$BATS_TEST_DIRNAME/faults/denied.py" "$@"; }
lives() { ! is_gone "$1"; }
# needs_namespaces OPTION...: what unshare has to be allowed.
needs_namespaces() { unshare "$@" true 2>/dev/null || skip "needs root or the right to: unshare $*"; }
has_children() { (($(pgrep -c -P "$1") >= $2)); }

# start_after_exec OPTION...: a shell that has a helper, with a child, becomes rlock. $rlock, helper.pid.
start_after_exec() {
  write_job
  sh -c './beat helper >/dev/null 2>&1 & shift; until [ -s helper.beats ]; do sleep 0.01; done; exec "$@"' sh - \
    rlock run "$@" "$key" -- ./job 2>error 3>&- &
  rlock=$!
  until_true 10 job_runs
  until_true 10 guard_of "$rlock"
  helper=$(cat helper.pid)
}
helper_goes_on() {
  local lines
  lives "$helper"
  lines=$(wc -l <helper.beats)
  until_true 10 has_more_lines_than "$((lines + 2))" helper.beats
  kill -KILL "$helper"
}
has_more_lines_than() { (($(wc -l <"$2") > $1)); }

@test "children from before an exec are not of the command: a lost lock leaves them" {
  start_after_exec -t 60s -k 1s
  redis del "rlock:$key"
  ended 79 "$rlock"
  job_is_dead
  helper_goes_on
}

@test "children from before an exec: TERM leaves them, and so does the guard of a killed rlock" {
  start_after_exec -t 60s -k 1s
  kill -TERM "$rlock"
  ended 143 "$rlock"
  job_is_dead
  helper_goes_on
  is_free
  rm -f ./*.beats ./*.pid
  start_after_exec -t 60s
  kill -KILL "$rlock"
  until_true 10 is_free
  job_is_dead
  helper_goes_on
}

@test "children from before an exec: --tree does not wait for them" {
  sh -c 'sleep 50 & echo $! >helper.pid; exec "$@"' sh rlock run --tree "$key" -- sh -c 'sleep 0.3 & true' 3>&- &
  rlock=$!
  until_true 10 is_gone "$rlock"
  ended 0 "$rlock"
  is_free
  lives "$(cat helper.pid)"
  kill -KILL "$(cat helper.pid)"
}

@test "/proc of another pid namespace: nobody is killed by a pid of it" {
  not_sanitized 'looks into /proc itself'
  needs_namespaces --pid --fork
  # rlock is process 2 in there, and in /proc 2 is the parent of all threads of the kernel: their pids are those of siblings.
  unshare --pid --fork --kill-child sh -c '
    "$0" run -t 60s -k 1s "$1" -- sh -c "until [ -e begun ]; do sleep 0.02; done; echo \$\$ >inside; sleep 30 & wait" & rlock=$!
    i=0; while [ $i -lt 8 ]; do sleep 98 & echo $! >>siblings; i=$((i + 1)); done; touch begun
    wait $rlock; echo $? >status
    for pid in $(cat siblings); do kill -0 $pid && echo $pid >>alive; done
    exit 0' "$RLOCK" "$key" 2>error 3>&- &
  until_true 10 test -s inside
  redis del "rlock:$key"
  until_true 30 test -s status
  [ "$(cat status)" = 79 ]
  until_true 10 test -s alive
  [ "$(wc -l <alive)" = 8 ]
}

# nest TTL: a run of $key inside one of $key-outer, whose guard has seen that of the inner one. $outer, $inner, $guard.
nest() {
  rlock run -t "$1" -k 1s "$key-outer" -- "$RLOCK" run -t 1h "$key" -- sh -c 'echo $PPID >inner; exec sleep 71' 3>&- 2>error &
  outer=$!
  until_true 10 test -s inner
  inner=$(cat inner)
  until_true 10 guard_of "$outer"
  until_true 10 guard_of "$inner"
  guard=$(guard_of "$inner")
  # The outer guard looks round once a lease.
  local before
  before=$(looks)
  looked_twice() { (($(looks) >= before + 2)); }
  until_true 20 looked_twice
  # Not faster than those who would end it.
  kill -STOP "$guard"
}

looks() { awk '/^voluntary/ { print $2 }' "/proc/$(guard_of "$outer")/status"; }

@test "an inner run's lock is free soon after the outer run was killed" {
  nest 4s
  kill -KILL "$outer"
  until_true 10 is_free "$key-outer"
  is_gone "$inner"
  # The death of its rlock has woken it, and it may be through.
  kill -CONT "$guard" || is_gone "$guard"
  until_true 10 is_free
}

@test "an inner run's lock is free soon after the outer one's lock was taken by another" {
  nest 4s
  redis set "rlock:$key-outer" theirs px 60000
  ended 79 "$outer"
  is_gone "$inner"
  # The death of its rlock has woken it, and it may be through.
  kill -CONT "$guard" || is_gone "$guard"
  until_true 10 is_free
}

@test "an inner run's guard that was met before it had its name is spared, and releases" {
  command -v strace >/dev/null || skip 'there is no strace'
  not_sanitized 'does not start under strace'
  rlock run -t 1h "$key-outer" -- strace -f -qq -o trace -e signal=none -e trace=setsid -e inject=setsid:delay_enter=500000 \
    "$RLOCK" run -t 1h "$key" -- sh -c 'echo $PPID >inner; exec sleep 73' 3>&- 2>error &
  outer=$!
  until_true 10 pgrep -f "^rlock-guard $key\$"
  kill -KILL "$outer"
  until_true 10 is_free "$key-outer"
  until_true 10 is_gone "$(cat inner)"
  until_true 10 is_free
}

@test "what a keeper below a run keeps is released when that run is killed" {
  rlock run -t 60s "$key-outer" -- bash -c 'rlock acquire -t 1h --while-pid $$ "$1" >/dev/null && echo >up; sleep 72 & wait' bash "$key" 3>&- &
  outer=$!
  until_true 10 test -e up
  until_true 10 guard_of "$outer"
  guard=$(pgrep -f "^rlock-guard $key\$")
  keeper=$(pgrep -f "^rlock-keeper $key\$")
  kill -STOP "$guard" "$keeper"
  kill -KILL "$outer"
  until_true 10 is_free "$key-outer"
  kill -CONT "$guard" "$keeper"
  until_true 10 is_free
}

@test "a program that only calls itself a guard is not spared" {
  cp "$(command -v sleep)" rlock-guard
  rlock run -t 60s -k 1s "$key" -- bash -c '(exec -a "rlock-guard x" ./rlock-guard 73) & echo $! >daemon; wait' 3>&- 2>error &
  rlock=$!
  until_true 10 test -s daemon
  redis set "rlock:$key" theirs px 60000
  ended 79 "$rlock"
  is_gone "$(cat daemon)"
}

# As a user, where this is root, with a program that is root's and setuid: setuid_sleep.
prepare_setuid() {
  [ "$(id -u)" = 0 ] || skip 'needs root'
  setpriv --reuid 65534 --clear-groups true 2>/dev/null || skip 'needs setpriv'
  cp "$(command -v sleep)" setuid_sleep
  chmod 4755 setuid_sleep
  chmod 755 . .. "$BATS_FILE_TMPDIR" "$BATS_RUN_TMPDIR"
  chmod 777 . "$sock"
  setpriv --reuid 65534 --clear-groups test -x ./setuid_sleep || skip 'a user cannot see the directory of the test'
}
as_user() { exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }

@test "hidepid=2: a setuid child with our real user id does not outlive a lost lock" {
  prepare_setuid
  needs_namespaces --mount
  export sock key url
  # A user who shall see no others: setuid programs vanish from /proc, though their parents' lists have them.
  (exec unshare --mount sh -c 'mount -t proc -o hidepid=2 proc /proc &&
    exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"' sh "$RLOCK" run -t 60s -k 1s "$key" -- \
    sh -c './setuid_sleep 74 & echo $! >child; wait') 2>error 3>&- &
  rlock=$!
  until_true 10 test -s child
  until_true 10 is_held
  redis del "rlock:$key"
  ended 79 "$rlock" || { cat error; false; }
  until_true 5 is_gone "$(cat child)"
}

@test "a command that runs as another user: TERM is answered at once, and the lock is held until it ends" {
  prepare_setuid
  # The real user id too, as sudo sets it.
  cat >other.py <<-'END'
	import os, time
	os.setresuid(65533, 65533, 65533)
	open("up", "w")
	while not os.path.exists("end"): time.sleep(0.02)
	END
  # A user may not become another one: root's rlock without the right to signal others stands for sudo.
  (exec setpriv --bounding-set -kill --inh-caps -kill bash -c 'exec "$@"' bash \
    setpriv --reuid 65534 --keep-groups --inh-caps +setuid --ambient-caps +setuid \
    "$RLOCK" run -t 60s -k 1s "$key" -- python3 other.py) 2>error 3>&- &
  rlock=$!
  until_true 10 test -e up
  kill -TERM "$rlock"
  until_true 10 grep -q 'cannot signal process .*(python3): it runs as another user; the lock is held until it ends' error
  is_held
  lives "$rlock"
  touch end
  ended 0 "$rlock"
  is_free
  [ "$(wc -l <error)" = 1 ]
}

@test "a kernel that refuses a subreaper: the daemon of a lost lock is found by its environment" {
  write_job
  denied EPERM prctl=36 "$RLOCK" run -t 60s -k 1s "$key" -- ./job 3>&- 2>error &
  rlock=$!
  until_true 10 job_runs
  redis del "rlock:$key"
  ended 79 "$rlock"
  job_is_dead || { kill -KILL "$(cat daemon.pid)"; false; }
}

@test "a kernel that refuses a subreaper: TERM, a killed rlock and --tree know the daemon too" {
  write_job
  (exec python3 "$BATS_TEST_DIRNAME/faults/denied.py" EPERM prctl=36 "$RLOCK" run -t 60s -k 1s "$key" -- ./job) 3>&- 2>error &
  rlock=$!
  until_true 10 job_runs
  until_true 10 guard_of "$rlock"
  kill -TERM "$rlock"
  ended 143 "$rlock"
  job_is_dead || { kill -KILL "$(cat daemon.pid)"; false; }
  rm -f ./*.beats
  (exec python3 "$BATS_TEST_DIRNAME/faults/denied.py" EPERM prctl=36 "$RLOCK" run -t 60s -k 1s "$key" -- ./job) 3>&- 2>error &
  rlock=$!
  until_true 10 job_runs
  until_true 10 guard_of "$rlock"
  kill -KILL "$rlock"
  until_true 10 is_free
  job_is_dead
  denied EPERM prctl=36 "$RLOCK" run --tree "$key" -- sh -c '(setsid sh -c "sleep 1; touch ended" &)' 3>&-
  [ -e ended ]
}

@test "a guard that searches and releases is an ordinary process: it is realtime while it waits for its deadline alone" {
  [ "$(id -u)" = 0 ] || skip 'needs root'
  own_server
  rlock run -t 60s "$key" -- sleep 75 3>&- &
  rlock=$!
  until_true 10 guard_of "$rlock"
  guard=$(guard_of "$rlock")
  until_true 10 is_realtime "$guard"
  kill -STOP "$(server_pid "own-$BATS_TEST_NUMBER")"
  kill -KILL "$rlock"
  # It tries to release, for as long as the server is silent.
  until_true 10 is_ordinary "$guard"
  kill -CONT "$(server_pid "own-$BATS_TEST_NUMBER")"
  until_true 10 is_free
}

@test "a guard stays realtime while it looks for the few processes of a command, whose deadline might pass meanwhile" {
  [ "$(id -u)" = 0 ] || skip 'needs root'
  command -v strace >/dev/null || skip 'there is no strace'
  not_sanitized 'does not start under strace'
  strace -f -qq -o calls -e signal=none -e trace=sched_setattr,getdents64,openat rlock run "$key" -- \
    sh -c "until grep -q 'children\", O_RDONLY' calls; do sleep 0.05; done; sleep 0.1"
  grep -q 'sched_policy=SCHED_RR' calls
  run -1 grep 'sched_policy=SCHED_OTHER' calls
}
is_realtime() { chrt -p "$1" | grep -q SCHED_RR; }
# And takes what others leave.
is_ordinary() {
  chrt -p "$1" | grep -q SCHED_OTHER || return 1
  [ "$(ps -o ni= -p "$1")" -eq 10 ] || return 1
  [ ! -e "/proc/$1/autogroup" ] || grep -q 'nice 10$' "/proc/$1/autogroup"
}
