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
  grep -E 'timer(fd)?_create' calls >made
  grep -q timer_create made
  grep -q timerfd_create made
  run ! grep -v CLOCK_BOOTTIME made
  # Its reading is in what the timers are set to: no instant but a later one.
  grep -oE 'ABSTIME.*it_value=\{tv_sec=[0-9]+' calls | grep -oE '[0-9]+$' >instants
  grep -q '[1-9]' instants
  awk '$1 != 0 && $1 < 1000000 { early = 1; print } END { exit early }' instants
}
