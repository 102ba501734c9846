# For every .bats file: `load helper`, then in setup_file `start_server`, in teardown_file `stop_servers`.
# Each test has a lock of its own in $key; the server of the file answers at $url.
# shellcheck shell=bash

bats_require_minimum_version 1.5.0

RLOCK=${RLOCK:-$(cd "${BASH_SOURCE[0]%/*}/.." && pwd)/build/release/rlock}
PATH="${RLOCK%/*}:$PATH"
# Seconds, for a test that hangs: far more than any takes, on a busy machine too.
export BATS_TEST_TIMEOUT=${BATS_TEST_TIMEOUT:-600}

# What the machine or its user may have set must not reach the tests.
unset "${!RLOCK_@}" REDISCLI_AUTH CI
# A configuration file that the group can write is refused.
umask 022
# A bare machine has no locale set, and without one bash writes \u as it stands.
export LC_ALL=C.UTF-8
export RLOCK PATH HOME="${BATS_FILE_TMPDIR:-/nonexistent}" XDG_CONFIG_HOME="${BATS_FILE_TMPDIR:-/nonexistent}/config"

setup() {
  begin_test
  [ -z "${url:-}" ] || export RLOCK_SERVER=$url
}

# skip_file REASON: called by setup_file, which then returns: each test of the file is skipped. bats 1.8, which Debian 12 has,
# takes a skip in setup_file for a failure.
skip_file() { export skipped_file=$1; }
# lacks_store: whether missing_store, of etcd.bash or zookeeper.bash, names something; then the file is skipped.
lacks_store() {
  local missing
  missing=$(missing_store)
  [ -n "$missing" ] && skip_file "$missing"
}

# begin_test: what a file with a setup of its own calls first.
begin_test() {
  [ -z "${skipped_file:-}" ] || skip "$skipped_file"
  key="key-$BATS_TEST_NUMBER"
  cd "$BATS_TEST_TMPDIR" || return 1
  # bats counts the time in a job of its own. Killed, that would leave its sleep behind, and bats waits for it.
  jobs_before=$(jobs -p)
}

teardown() { end_jobs; }

# What a test left running in its background ends with it; the clock does not, so nothing does where a setup of the file's own
# has not noted it.
end_jobs() {
  local pid
  [ -n "${jobs_before-}" ] || return 0
  for pid in $jobs_before; do
    until_true 0 clock_listens "$pid" 2>/dev/null || true
  done
  for pid in $(jobs -p); do
    [[ $'\n'$jobs_before$'\n' == *$'\n'$pid$'\n'* ]] || { kill -KILL "$pid" && wait "$pid"; } 2>/dev/null || true
  done
}

# The clock of bats is told by a signal that the test is over. Told before it listens, it leaves its sleep behind too.
clock_listens() {
  local child name field mask
  kill -0 "$1" || return 0
  # Each test ends with this, so nothing is started for it; but where the kernel lists no children.
  if [ -e "/proc/$1/task/$1/children" ]; then read -r child <"/proc/$1/task/$1/children"; else child=$(pgrep -P "$1"); fi
  [ -n "$child" ] && read -r name <"/proc/${child%% *}/comm" && [ "$name" = sleep ] || return
  while read -r field mask && [ "$field" != SigCgt: ]; do :; done <"/proc/$1/status"
  ((16#${mask:-0} & 1 << (6 - 1))) # SIGABRT
}

# background COMMAND...: leaves it running, its pid in $!; finish waits for all of these, and fails when one did.
background() {
  "$@" 3>&- &
  background_pids+=($!)
}
finish() {
  local pid
  for pid in "${background_pids[@]}"; do
    wait "$pid" || return 1
  done
  background_pids=()
}

# ended STATUS PID: waits for a job; whether it ended with that status.
ended() {
  local status=0
  wait "$2" || status=$?
  [ "$status" = "$1" ] || {
    echo "ended with $status, not $1" >&2
    return 1
  }
}

# start_server [NAME [REDIS OPTION...]]: a server on a private Unix socket, answering when this returns.
# Sets and exports url, and sock for redis-cli. Its pid stands in a file, for stop_servers.
start_server() {
  local name=${1:-server}
  shift || true
  export sock=$BATS_FILE_TMPDIR/$name.sock
  export url=unix://$sock
  # With TEST_ACL=1, rlock is a user who may do what acl.conf says and no more; a file with other prefixes names them in
  # acl_more, one with users of its own sets TEST_ACL to nothing. Without a password, because none in a URL reaches a nested
  # rlock.
  local user=()
  if [ -n "${TEST_ACL:-}" ]; then
    # shellcheck disable=SC2046,SC2206,SC2207 # words
    user=(--user minimal nopass $(cat "$BATS_TEST_DIRNAME/acl.conf") ${acl_more:-})
    url=unix://minimal:@$sock
  fi
  redis-server --port 0 --unixsocket "$sock" --save '' --appendonly no --dir "$BATS_FILE_TMPDIR" \
    --maxmemory-policy noeviction "${user[@]}" "$@" >"$BATS_FILE_TMPDIR/$name.log" 2>&1 3>&- &
  disown $!
  echo $! >"$BATS_FILE_TMPDIR/$name.pid"
  until_true 10 redis-cli -s "$sock" ping
}

# own_server [OPTION...]: a server of this test alone, which may spoil it.
own_server() {
  start_server "own-$BATS_TEST_NUMBER" "$@"
  export RLOCK_SERVER=$url
}
kill_own_server() {
  kill -KILL "$(server_pid "own-$BATS_TEST_NUMBER")"
  until_true 10 is_gone "$(server_pid "own-$BATS_TEST_NUMBER")"
}

server_pid() { cat "$BATS_FILE_TMPDIR/${1:-server}.pid"; }

stop_servers() {
  local file
  for file in "$BATS_FILE_TMPDIR"/*.pid; do
    [ -e "$file" ] || continue
    kill -CONT "$(cat "$file")" 2>/dev/null || true
    kill -KILL "$(cat "$file")" 2>/dev/null || true
  done
}

# free_port: one of TCP that nobody listens on.
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# redis COMMAND...: asks the server of the file directly.
redis() { redis-cli -s "$sock" "$@"; }
# scripts_run: how many the server has run, by their names.
scripts_run() { redis info commandstats | sed -n 's/^cmdstat_evalsha:calls=\([0-9]*\),.*/\1/p'; }

# until_true SECONDS COMMAND...: waits for a condition, looking often; fails when it does not come in time. Fewer than 10
# seconds are how soon a promise wants it; 10 and more are there for what hangs, and are taken three times. They are seconds of
# an idle machine: on a busy one, time counts as much less as a short sleep takes longer than it should.
until_true() {
  local patience=$(($1 * 1000000 + 500000)) began=${EPOCHREALTIME/[.,]/} woke slept now nap pause
  (($1 < 10)) || patience=$((patience * 3))
  shift
  woke=$began
  until "$@" >/dev/null 2>&1; do
    if ((patience < 0)); then
      echo "never came true: $*" >&2
      return 1
    fi
    # What has taken long is looked for less often: the looks of all tests took half of the machine. At most this part later.
    nap=$(((woke - began) / 16))
    nap=$((nap < 10000 ? 10000 : nap > 100000 ? 100000 : nap))
    printf -v pause 0.%06d "$nap"
    slept=${EPOCHREALTIME/[.,]/}
    sleep "$pause"
    now=${EPOCHREALTIME/[.,]/}
    # One of 10 ms takes 12, since it has to be started, too; no machine is taken for more than ten times slower.
    slept=$((now - slept - nap + 10000))
    patience=$((patience - (now - woke) * 12000 / (slept < 12000 ? 12000 : slept > 120000 ? 120000 : slept)))
    woke=$now
  done
}

# until_renewed MS: the lease of $key begins anew; MS is less than its ttl, and more than its holder lets pass without one.
until_renewed() {
  redis pexpire "rlock:$key" "$1"
  until_true 10 lease_is_longer_than "$1"
}
lease_is_longer_than() { [ "$(redis pttl "rlock:$key")" -gt "$1" ]; }

is_held() { [ "$(redis exists "rlock:${1:-$key}")" = 1 ]; }
is_free() { [ "$(redis exists "rlock:${1:-$key}")" = 0 ]; }
# waiting N [KEY]: exactly N stand in the queue.
waiting() { [ "$(redis zcard "rlock:q:{rlock:${2:-$key}}")" = "$1" ]; }
is_gone() { ! kill -0 "$1" 2>/dev/null || [ "$(state_of "$1")" = Z ]; }
state_of() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -c1; }
# The guard of an rlock, once it is there.
guard_of() {
  local pid
  for pid in $(ps -o pid= --ppid "$1"); do
    [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = rlock-guard ] && echo "$pid" && return 0
  done
  return 1
}

# start_held OPTION...: `go` ends the job that it starts; its pid in $rlock.
start_held() {
  rlock run "$@" "$key" -- sh -c 'touch up; until [ -e go ]; do sleep 0.01; done' 3>&- &
  rlock=$!
  until_true 10 test -e up
}

# write_job: ./job is a command with a daemon of its own (double fork, setsid). Both write their pid (job.pid,
# daemon.pid), and as long as they live the time (job.beats, daemon.beats).
write_job() {
  cat >beat <<-'END'
	#!/bin/sh
	echo $$ >"$1.pid"
	for _ in $(seq 2000); do
	  read -r up _ </proc/uptime
	  echo "$up" >>"$1.beats"
	  sleep 0.02
	done
	END
  printf '#!/bin/sh\n(setsid ./beat daemon >/dev/null 2>&1 &)\nexec ./beat job\n' >job
  chmod +x beat job
}
# start_job [OPTION...]: that job with its daemon under the lock, at work when this returns, and the guard too.
# shellcheck disable=SC2034 # for the tests
start_job() {
  write_job
  rlock run "$@" "$key" -- ./job 3>&- &
  rlock=$!
  until_true 10 job_runs
  until_true 10 guard_of "$rlock"
  guard=$(guard_of "$rlock")
}
job_runs() { [ -s job.beats ] && [ -s daemon.beats ]; }
job_is_dead() { is_gone "$(cat job.pid)" && is_gone "$(cat daemon.pid)"; }
last_beat() { sort -n job.beats daemon.beats | tail -n 1; }
# Seconds since boot, as the beats are.
uptime_now() { cut -d' ' -f1 /proc/uptime; }
# holds EXPRESSION: for fractions, which the shell cannot reckon with.
holds() { awk "BEGIN { exit !($1) }"; }

# not_under_acl WHY: skips a test that a user of the server's cannot pass.
not_under_acl() { [ -z "${TEST_ACL:-}" ] || skip "$1"; }

# not_sanitized WHAT: skips a test of what a sanitizer does in the same process.
not_sanitized() { [ -z "${TEST_SANITIZER:-}" ] || skip "$TEST_SANITIZER $1"; }

# python_with MODULE: a Python that has it in $python, or the test is skipped.
python_with() {
  for python in python3 /usr/bin/python3; do
    ! "$python" -c "import $1" 2>/dev/null || return 0
  done
  skip "no $1 for Python"
}

# needs_mounts: skips the test where it cannot mount for itself alone. To be called by the test itself, not under run.
needs_mounts() {
  { [ "$EUID" = 0 ] && unshare --mount true 2>/dev/null; } || skip 'needs root and mount namespaces'
}

# needs_freezer: makes a control group of version 1 in $freezer, where a frozen process cannot be killed, as one that is stuck
# in the kernel; skips the test where it cannot. The teardown of the file has to call thaw.
needs_freezer() {
  freezer=/sys/fs/cgroup/freezer/rlock-$$-$BATS_TEST_NUMBER
  mkdir "$freezer" 2>/dev/null || skip 'needs root and the freezer of cgroup v1'
}
# freeze PID
freeze() {
  echo "$1" >"$freezer/cgroup.procs"
  echo FROZEN >"$freezer/freezer.state"
  until_true 10 grep -qx FROZEN "$freezer/freezer.state"
}
# Kills what is frozen; does nothing without a freezer.
thaw() {
  [ -e "${freezer:-}" ] || return 0
  xargs -r kill -KILL <"$freezer/cgroup.procs" || true
  echo THAWED >"$freezer/freezer.state"
  until_true 10 rmdir "$freezer"
}

# expect STATUS COMMAND...: runs it (output in $output, $lines) and checks its exit status.
expect() {
  local wanted=$1
  shift
  run "-$wanted" "$@" || {
    printf 'output: %s\n' "$output" >&2
    return 1
  }
}

# expect_error STATUS TEXT COMMAND...: it ends so, with nothing on standard output, and says on standard error the one
# line "rlock: ...TEXT...".
expect_error() {
  local wanted=$1 text=$2
  shift 2
  run --separate-stderr "$@"
  # shellcheck disable=SC2154 # bats sets them
  if ((status != wanted)) || [ -n "$output" ] || ((${#stderr_lines[@]} != 1)) ||
    [[ ${stderr_lines[0]} != "rlock: "*"$text"* ]]; then
    printf '%s\nstatus: %s, not %s\noutput: %s\nerror, wanted "%s": %s\n' \
      "$*" "$status" "$wanted" "$output" "$text" "$stderr" >&2
    return 1
  fi
}

# How many connections the server of the file has had, this one too.
connections() { redis info stats | sed -n 's/^total_connections_received:\([0-9]*\).*/\1/p'; }
# nobody_called: this look is the only one that the server had since the last; a file that asks sets met in its setup.
nobody_called() {
  local now
  now=$(connections)
  [ "$now" = $((met + 1)) ] || {
    echo "$((now - met - 1)) calls" >&2
    return 1
  }
  met=$now
}

# wrong TEXT ARGUMENT...: rlock says so of these arguments, and asks no server.
wrong() {
  local text=$1
  shift
  expect_error 64 "$text" rlock "$@"
  nobody_called
}
