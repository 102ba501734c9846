# shellcheck disable=SC2016,SC2154 # the command expands what stands in single quotes; helper.bash sets key, url, sock
load helper

setup_file() { start_server; }
teardown_file() { stop_servers; }

# watch_wire: from here on the file wire gets each command that reaches the server.
watch_wire() {
  redis monitor >wire 3>&- &
  until_true 10 grep -q OK wire
}
# The commands of clients, without those that scripts call, once all have been written.
seen_on_wire() {
  redis echo over >/dev/null
  until_true 10 grep -q '"echo" "over"' wire
  sed -n 's/^[0-9.]* \[[0-9]* unix:[^]]*\] //p' wire | grep -v '"echo" "over"'
}

# seen_once COMMAND...: it succeeds in one of many tries. A busy machine makes some of the short jobs long, which cost more.
seen_once() {
  for _ in {1..30}; do
    ! "$@" || return 0
    end_jobs
  done
  return 1
}

@test "a short job costs the server two commands: acquire and release" {
  not_under_acl 'AUTH is one more'
  rlock run "$key" -- true
  seen_once two_commands
}
two_commands() {
  watch_wire
  rlock run "$key" -- true
  seen_on_wire >commands
  cat commands
  [ "$(wc -l <commands)" = 2 ] && [ "$(grep -c '^"EVALSHA" ' commands)" = 2 ]
}

@test "with a password and a database it is still one flight each way" {
  not_under_acl 'its users are its own'
  start_server strict --requirepass secret
  export REDISCLI_AUTH=secret RLOCK_SERVER="$url?db=3"
  rlock run "$key" -- true
  seen_once one_flight
}
one_flight() {
  redis config resetstat
  strace -qq -o calls -e trace=network rlock run "$key" -- true
  cat calls
  redis info commandstats >statistics
  # rlock's AUTH, and that of the redis-cli which asks.
  [ "$(grep -c '^connect(' calls)" = 1 ] && [ "$(grep -c '^send' calls)" = 2 ] &&
    grep -q '^cmdstat_auth:calls=2,' statistics &&
    grep -q '^cmdstat_select:calls=1,' statistics &&
    grep -q '^cmdstat_evalsha:calls=2,' statistics
}

@test "localhost is the loopback, and nobody is asked: no thread, no file" {
  not_sanitized 'opens files'
  local port
  port=$(free_port)
  redis config set port "$port"
  export RLOCK_SERVER=redis://localhost:$port
  [ -z "${TEST_ACL:-}" ] || RLOCK_SERVER=redis://minimal:p@localhost:$port
  # Under strace and load even `true` may take longer than short; so it has to be seen once.
  for _ in {1..20}; do
    strace -f -qq -o calls -e signal=none -e trace=clone,clone3,open,openat,connect rlock run "$key" -- true
    grep "^$(head -1 calls | cut -d' ' -f1) " calls >made
    [ "$(wc -l <made)" != 1 ] || break
  done
  redis config set port 0
  cat made
  [ "$(wc -l <made)" = 1 ]
  grep -q 'connect(.*127\.0\.0\.1' made
}

@test "a short job has neither a thread nor a guard: one vfork is all" {
  # Under strace and load even `true` may take longer than short; so it has to be seen once.
  for _ in {1..20}; do
    strace -f -qq -o calls -e trace=process rlock run "$key" -- /bin/true
    grep -E '(clone|clone3|fork)\(' calls >made || true
    [ "$(wc -l <made)" != 1 ] || break
  done
  cat made
  [ "$(wc -l <made)" = 1 ]
  grep -q ' vfork(' made
}

@test "a longer job has both, and they are gone with it" {
  rlock run "$key" -- sleep 60 3>&- &
  local rlock=$!
  until_true 10 guard_of "$rlock"
  until_true 10 has_threads 2 "$rlock"
  kill -TERM "$rlock"
  ended 143 "$rlock"
}
has_threads() { set -- "$1" /proc/"$2"/task/*; (($# - 1 == $1)); }

@test "a longer job asks only when it is time, and over one connection" {
  rlock run "$key" -- sleep 0.2
  redis config resetstat
  rlock run "$key" -- sleep 0.2
  redis info everything >statistics
  # Acquire; the first renewal, after a few milliseconds; release.
  grep '^cmdstat_evalsha:' statistics
  grep -q '^cmdstat_evalsha:calls=3,' statistics
  # The last is the one that asks.
  grep -q '^total_connections_received:2' statistics
}

@test "the answer of a server on this machine is looked for before rlock sleeps; a renewal sleeps" {
  strace -f -qq -o calls -e signal=none -e trace=sched_yield,sendto,execve rlock run -t 3s -k 100ms "$key" -- sleep 1.5
  local rlock
  rlock=$(head -n 1 calls | cut -d' ' -f1)
  grep -v "^$rlock " calls >others || true
  cat others
  grep -q "^$rlock .*sched_yield" calls
  grep -q sendto others
  run ! grep sched_yield others
}

# own_descriptors N PID: so many besides those that it got from its caller.
own_descriptors() { [ "$(readlink /proc/"$2"/fd/* | grep -cE '^(socket|anon_inode):')" = "$1" ]; }

@test "a waiter has the connection, a timer and one thread; a holder three events and a timer besides; its guard a timer, and a pidfd of rlock and of each process below" {
  not_sanitized 'has threads of its own'
  rlock run "$key" -- sleep 60 3>&- &
  local holder=$! waiter guard
  until_true 10 has_threads 2 "$holder"
  until_true 10 own_descriptors 6 "$holder"
  until_true 10 guard_of "$holder"
  guard=$(guard_of "$holder")
  until_true 10 has_threads 1 "$guard"
  until_true 10 own_descriptors 3 "$guard"
  rlock run "$key" -- true 3>&- &
  waiter=$!
  until_true 10 waiting 1
  has_threads 1 "$waiter"
  until_true 10 own_descriptors 2 "$waiter"
}

# wire_size WORD...: the bytes of this request.
wire_size() {
  local word length=$# size
  size=$((3 + ${#length}))
  for word; do
    length=${#word}
    size=$((size + 5 + ${#length} + length))
  done
  echo $size
}

@test "a short job sends these bytes and no more" {
  not_under_acl 'AUTH is some more'
  rlock run "$key" -- true
  seen_once these_bytes
}
these_bytes() {
  local LC_ALL=C keys pid token=0123456789abcdef0123456789abcdef USER=ann
  export USER
  strace -f -qq -o calls -e trace=sendto -e signal=none rlock run "$key" -- true
  cat calls
  read -r pid _ <calls
  script() { sha1sum <"$(dirname "$RLOCK")/scripts/$1.lua" | cut -d' ' -f1; }
  keys=(8 "rlock:$key" "rlock:q:{rlock:$key}" "rlock:i:{rlock:$key}" "rlock:f:{rlock:$key}" "rlock:t:{rlock:$key}:$token"
    "rlock:l:{rlock:$key}" "rlock:b:{rlock:$key}" "rlock:h:{rlock:$key}")
  local acquire release took
  took=$(redis get "rlock:l:{rlock:$key}" | cut -d' ' -f8)
  acquire=$(wire_size EVALSHA "$(script acquire)" "${keys[@]}" "$token" 30000 '' s "$pid $(uname -n) ann " '' x '')
  release=$(wire_size EVALSHA "$(script release)" "${keys[@]}" "$token" 30000 '' '' '' '' "0 $took 0 $pid $(uname -n) ann " \
    $((8 * 24 * 3600 * 1000)))
  echo "expected: $acquire $release"
  [ "$(sed -n 's/.*sendto(.* = //p' calls | paste -sd ' ')" = "$acquire $release" ]
}

first_track() { [ "$(redis client list | grep -c 'flags=[^ ]*t')" = "$1" ]; }

@test "a hand-over costs the server two commands, however many wait" {
  not_under_acl 'AUTH is one more'
  seen_once hand_overs 2
  seen_once hand_overs 12
}
# hand_overs CROWD: so many, one after the other.
hand_overs() {
  local crowd=$1 token tracking
  token=$(rlock acquire -t 10m "$key") || return
  for _ in $(seq "$crowd"); do background rlock run "$key" -- true; done
  until_true 20 waiting "$crowd" || return
  until_true 20 first_track $((crowd < 3 ? crowd : 3)) || return
  redis config resetstat
  rlock release "$key" "$token"
  finish || return
  # The release of the test; then each confirms and leaves.
  redis info commandstats >statistics
  cat statistics
  tracking=$(sed -n 's/^cmdstat_client|tracking:calls=\([0-9]*\),.*/\1/p' statistics)
  # Who has come to be among the first three asks to watch the lock, but not when it is handed to it before.
  grep -q "^cmdstat_evalsha:calls=$((1 + 2 * crowd))," statistics &&
    ! grep -E '^cmdstat_(eval|hello|subscribe):' statistics && ((${tracking:-0} < crowd / 2))
}

@test "every descriptor of rlock's is close-on-exec from its beginning" {
  not_sanitized 'opens descriptors'
  local made='^(open|openat|openat2|creat|socket|socketpair|accept4?|pipe2?|eventfd2?|timerfd_create|signalfd4?|epoll_create1?|inotify_init1?|memfd_create|dup[23]?)\(.* = [0-9]+$'
  for command in true 'sleep 0.1'; do
    # shellcheck disable=SC2086 # words are wanted
    strace -qq -o calls rlock run "$key" -- $command
    grep -cE "$made" calls
    run -1 grep -E "$made" <(grep -v CLOEXEC calls)
  done
}

@test "a server that has forgotten the scripts costs one more command each, once" {
  not_under_acl 'AUTH is one more'
  redis script flush
  watch_wire
  rlock run "$key" -- true
  rlock run "$key" -- true
  seen_on_wire >commands
  cat commands
  # Acquire and release, and renew where a busy machine has made a job long.
  local scripts
  scripts=$(grep '^"EVALSHA" ' commands | cut -d'"' -f4 | sort -u | wc -l)
  [ "$scripts" -ge 2 ]
  [ "$(grep -c '^"EVAL" ' commands)" = "$scripts" ]
}

@test "a waiter is told; it does not ask again and again" {
  not_under_acl 'AUTH is one more'
  seen_once told_and_quiet
}
told_and_quiet() {
  rlock acquire -t 10m "$key" >token || return
  watch_wire
  rlock run "$key" -- true 3>&- &
  local waiter=$!
  until_true 10 waiting 1
  sleep 2
  rlock release "$key" - <token
  wait "$waiter"
  seen_on_wire >commands
  cat commands
  # Two questions, HELLO and SUBSCRIBE; once it has settled, TRACKING and one question more; then it is told by the release.
  # The test's own looks at the queue are counted out.
  [ "$(sed "/$(cat token)/q" commands | grep -cv '"zcard"')" = 7 ]
}
