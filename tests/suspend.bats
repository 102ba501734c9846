# A suspended machine (R13): every deadline is on the clock that runs on meanwhile.
# shellcheck disable=SC2154 # helper.bash sets key
load helper

setup_file() { start_server; }
teardown_file() { stop_servers; }

@test "each clock that is read and each timer that is set counts the time asleep" {
  not_sanitized 'is slow under strace'
  # In this namespace the clock that counts it is 1,000,000 s ahead of the one that does not, as after a long sleep.
  local asleep=(unshare --time --boottime 1000000)
  "${asleep[@]}" true 2>/dev/null || skip 'needs root and time namespaces'
  expect 0 strace -f -o calls -e trace=timer_create,timer_settime,timerfd_create,timerfd_settime \
    "${asleep[@]}" rlock run -t 5s "$key" -- sleep 0.5
  grep -E 'timer(fd)?_create\(' calls >made
  grep -q timer_create made
  grep -q timerfd_create made
  run ! grep -v CLOCK_BOOTTIME made
  # Its reading is in what the timers are set to: no instant but a later one.
  grep -oE 'ABSTIME.*it_value=\{tv_sec=[0-9]+' calls | grep -oE '[0-9]+$' >instants
  grep -q '[1-9]' instants
  awk '$1 != 0 && $1 < 1000000 { early = 1; print } END { exit early }' instants
}

# has_timer PID SECONDS: one that counts the time asleep, and is due within so much.
has_timer() {
  awk -v within="$2" '/^clockid:/ { counts = $2 == 7 } /^it_value:/ && counts { sub(/.*\(/, ""); left = $0 + 0; found = found || (left > 0 && left < within) }
    END { exit !found }' /proc/"$1"/fdinfo/*
}

@test "the next renewal and a waiter's next heartbeat are on such timers" {
  rlock run -t 60s "$key" -- sleep 60 3>&- &
  # After 20 s; the command is to be asked to end at 53 s.
  until_true 10 has_timer $! 21
  rlock run "$key" -- true 3>&- &
  until_true 10 has_timer $! 10
}
