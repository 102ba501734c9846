# Kernels, containers and machines that lack what a plain Linux has.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # as in run_lease_lost.bats
load helper

setup_file() { start_server; }
teardown_file() { stop_servers; }

denied() { python3 "$BATS_TEST_DIRNAME/faults/denied.py" "$@"; }

# lose_and_kill WHAT...: under these denials the command and its daemon are stopped with a lost lock, and with a killed rlock.
lose_and_kill() {
  write_job
  denied "$@" "$RLOCK" run -t 60s -k 1s "$key" -- ./job 3>&- 2>said &
  until_true 10 job_runs
  until_true 10 rlock_guards $!
  redis del "rlock:$key"
  ended 79 $!
  job_is_dead
  [[ $(cat said) == *"rlock: lost $key "* ]]

  rm -f ./*.beats
  # As an exec, so that its pid is that of rlock.
  (exec python3 "$BATS_TEST_DIRNAME/faults/denied.py" "$@" "$RLOCK" run -t 60s "$key" -- ./job) 3>&- 2>>said &
  local victim=$!
  until_true 10 job_runs
  until_true 10 guard_of "$victim"
  kill -KILL "$victim"
  until_true 5 is_free
  job_is_dead
  ! grep -vE '^rlock: (lost|no kernel timer backs up the guard: timer_create: )' said
}
rlock_guards() { pgrep -P "$1" -x rlock-guard || pgrep -P "$(pgrep -P "$1" -x rlock)" -x rlock-guard; }

@test "a kernel without pidfds and close_range: a lost lock and a killed rlock still leave nothing running" {
  lose_and_kill ENOSYS pidfd_open,pidfd_send_signal,pidfd_getfd,close_range
}

@test "a seccomp filter that denies pidfds and close_range: the same" {
  lose_and_kill EPERM pidfd_open,pidfd_send_signal,pidfd_getfd,close_range
}

@test "where close_range is denied the guard has none of the caller's descriptors either" {
  (exec 9>open && exec python3 "$BATS_TEST_DIRNAME/faults/denied.py" EPERM close_range "$RLOCK" run "$key" -- sleep 30) 3>&- &
  until_true 10 guard_of $!
  until_true 10 has_closed "$(guard_of $!)" 9
  [ -e "/proc/$!/fd/9" ]
  kill -TERM $!
  ended 143 $!
}
has_closed() { [ -e "/proc/$1/fd/0" ] && [ ! -e "/proc/$1/fd/$2" ]; }

@test "a filter that denies signals to pidfds, timers and realtime priority: the same" {
  lose_and_kill EPERM pidfd_send_signal,timer_create,timerfd_create,sched_setscheduler,sched_setattr
}

@test "a filter that denies to be a subreaper and to have a session: the command of a lost lock is stopped" {
  write_job
  denied EPERM prctl=36,setsid "$RLOCK" run -t 60s -k 1s "$key" -- ./beat job 3>&- &
  until_true 10 test -s job.beats
  redis del "rlock:$key"
  ended 79 $!
  is_gone "$(cat job.pid)"
}

@test "what needs a pidfd says so in one line: --while-pid" {
  expect_error 70 'pidfd_open, which Linux has since 5.3' denied ENOSYS pidfd_open "$RLOCK" acquire --while-pid $$ "$key"
  is_free
}

@test "without pidfds a nested run re-enters the lock of the outer one" {
  expect 3 denied ENOSYS pidfd_open,pidfd_send_signal,close_range "$RLOCK" run "$key" -- "$RLOCK" run "$key" -- sh -c 'exit 3'
}

@test "no /proc: the job runs, and a lost lock is one line and 79" {
  not_sanitized 'looks into /proc itself'
  needs_mounts
  unshare --mount sh -c 'mount -t tmpfs none /proc && exec "$@"' sh \
    "$RLOCK" run -t 60s -k 1s "$key" -- sh -c 'echo $$ >pid; sleep 30 & wait' 3>&- 2>said &
  until_true 10 test -s pid
  until_true 10 is_held
  redis del "rlock:$key"
  ended 79 $!
  is_gone "$(cat pid)"
}

@test "nothing can be written anywhere, and there is no /tmp: a long job runs" {
  needs_mounts
  # Both may lie in /tmp.
  expect 0 unshare --mount sh -c 'mount -t tmpfs none /mnt && touch /mnt/rlock /mnt/sock &&
    mount --bind "$1" /mnt/rlock && mount --bind "$2" /mnt/sock && shift 2 && cd / &&
    mount -o remount,bind,ro / &&
    for place in /tmp /dev/shm /run; do mount -t tmpfs -o ro none "$place" || exit; done
    exec "$@"' sh "$RLOCK" "$sock" \
    /mnt/rlock run --server unix:///mnt/sock "$key" -- sh -c 'sleep 0.2; ! touch /tmp/file 2>/dev/null && echo "$RLOCK_KEY"'
  [ "$output" = "$key" ]
}

@test "as process 1 of a container it passes signals on, and reaps whatever ends there" {
  needs_mounts
  unshare --pid --fork --kill-child --mount-proc "$RLOCK" run "$key" -- bash -c '
    trap "sleep 0.1; ps -eo stat= | grep -c Z >zombies; exit 7" TERM
    (for i in 1 2 3; do (sleep 0.05 &) done)
    touch ready; while :; do sleep 0.05; done' 3>&- &
  until_true 10 test -e ready
  kill -TERM "$(pgrep -P $! -x rlock)"
  ended 7 $!
  [ "$(cat zombies)" = 0 ]
}

@test "no terminal, 16 descriptors and little memory: a long job runs, and its lock is renewed" {
  not_sanitized 'takes terabytes of addresses'
  (ulimit -n 16 -v 100000 && exec setsid --wait "$RLOCK" run -t 3s -k 100ms "$key" -- sh -c 'sleep 4; exit 4') 3>&- &
  ended 4 $!
}

@test "too few descriptors: one line and the right status, or the job runs" {
  not_sanitized 'opens libraries and files of its own'
  local most
  for most in 4 5 6 7; do
    run bash -c 'ulimit -n "$1" && exec "${@:2}"' bash "$most" "$RLOCK" run --connect-timeout 5s "$key" -- true
    [ "$status" = 0 ] || { [[ $status == @(69|125) ]] && [[ $output == "rlock: "*@("Too many open files"|"No file descriptors available")* ]]; }
  done
  is_free
}

@test "a root with nothing but the program, a shell and resolv.conf" {
  needs_mounts
  { busybox true && ! ldd "$(command -v busybox)"; } &>/dev/null || skip "needs a static busybox"
  ! ldd "$RLOCK" &>/dev/null || skip 'the rlock under test is not static'
  mkdir -p root/bin root/etc root/run
  cp "$RLOCK" "$(command -v busybox)" root/bin/
  ln -s busybox root/bin/sh
  echo 'nameserver 192.0.2.1' >root/etc/resolv.conf
  : >root/run/sock
  # A socket cannot be copied, so it is mounted there.
  alone() { unshare --mount sh -c 'mount --bind "$1" root/run/sock && shift && exec chroot root "$@"' sh "$sock" "$@"; }
  expect 0 alone /bin/rlock run --server unix:///run/sock "$key" -- /bin/sh -c 'busybox sleep 0.2; echo "$RLOCK_KEY"'
  [ "$output" = "$key" ]
  expect 0 alone /bin/rlock --help
  expect_error 69 'nothing.example' alone /bin/rlock run -w 1s --connect-timeout 500ms --server redis://nothing.example "$key" -- true
  expect_error 78 'local: neither' alone /bin/rlock run --server local "$key" -- true
}
