# rlocks and libraries that ask for one key again and again, with nothing between two turns (--prefix '', or the default): neither keeps the
# other out. What decides is in scripts.bats; faults/beside.py at length is in soak.sh.
load helper

acl_more='~* &*'
export RLOCK_PREFIX=

setup_file() { start_server; }
teardown_file() { stop_servers; }

# library NAME SECONDS: a client of redis-py; its turns stand in the file log.
library() {
  local python
  for python in python3 /usr/bin/python3; do
    "$python" -c 'import redis' 2>/dev/null && break
  done
  exec "$python" "$BATS_TEST_DIRNAME/faults/beside_redis_py.py" "$sock" "$key" log "$1" "$2" "${3:-0}"
}
# rlocks FILE: again and again, until there is that file. Each turn is a line in the file ours. It is long enough for the others
# to come back to the queue, which is never empty.
rlocks() {
  until [ -e "$1" ]; do rlock run "$key" -- sh -c 'echo turn >>ours; sleep 0.1'; done
}
turns() { [ "$(grep -c . "$1")" -ge "$2" ]; }

# a_minute_passes: for the rule that a key is left free to libraries that nobody has met once a minute (scripts.bats has the
# time itself).
a_minute_passes() {
  redis eval 'local since, after = string.match(redis.call("GET", KEYS[1]), "^(%d+) (%d+)$")
    return redis.call("SET", KEYS[1], string.format("%.0f %s", since - 60000, after), "KEEPTTL")' 1 "rlock:b:{$RLOCK_PREFIX$key}"
}

asks() { redis client list | grep -q ' cmd=set '; }

# library_has_turns: beside six rlocks that hand the lock over among themselves, though none has met it.
library_has_turns() {
  for _ in 1 2 3 4 5 6; do background rlocks stop; done
  until_true 20 turns ours 20
  key=$RLOCK_PREFIX$key background library redis-py 600
  until_true 20 asks
  a_minute_passes
  until_true 30 turns log 1
  # Again and again: each time after rlocks have had theirs.
  local ours
  for _ in 1 2; do
    ours=$(grep -c . ours)
    until_true 30 turns ours $((ours + 20))
    until_true 30 turns log $(($(grep -c . log) + 1))
  done
  touch stop
}
@test "a library that no rlock has met has its turns beside six rlocks that hand the lock over among themselves" { library_has_turns; }
@test "so it has where the lock has rlock's own prefix" { RLOCK_PREFIX=rlock: library_has_turns; }

@test "an rlock has its turn beside three libraries" {
  for i in 1 2 3; do background library "$i" 600; done
  until_true 30 turns log 10
  for _ in $(seq 10); do expect 0 rlock run -w 5m "$key" -- true; done
}

# watches: the first of the queue tracks the key.
watches() { redis client list | grep -q 'flags=[A-Za-su-z]*t'; }

@test "who waits has the lock as soon as a library lets go, before that one asks again" {
  local try won=0
  for try in 1 2 3 4 5; do
    redis set "$key" theirs px 60000
    background rlock run "$key" -- sh -c "until [ -e go$try ]; do sleep 0.01; done"
    until_true 10 watches
    redis del "$key"
    sleep 0.1 # who looks without the server's word comes later
    if [ "$(redis set "$key" theirs nx px 60000)" = OK ]; then redis del "$key"; else won=$((won + 1)); fi
    touch "go$try"
    finish
  done
  ((won >= 1))
}

@test "those who wait for a library's lock have it in their order" {
  redis set "$key" theirs px 60000
  local i
  for i in 1 2 3 4; do
    background rlock run "$key" -- sh -c "echo $i >>order"
    until_true 10 waiters "$i"
  done
  redis del "$key"
  finish
  [ "$(tr -d '\n' <order)" = 1234 ]
}
waiters() { [ "$(redis zcard "rlock:q:{$key}")" = "$1" ]; }

@test "the first of the queue is killed while a library holds: the next one has the lock soon after" {
  redis set "$key" theirs px 60000
  background rlock run "$key" -- true
  until_true 10 waiters 1
  background rlock run "$key" -- touch ran
  until_true 10 waiters 2
  kill -KILL "${background_pids[0]}"
  redis del "$key"
  # Sooner than a heartbeat.
  until_true 3 test -e ran
}

@test "the first of the queue is killed in the time that is left to libraries: the next one has the lock soon after" {
  local holder
  holder=$(rlock acquire -t 10m "$key")
  background rlock run "$key" -- true
  until_true 10 waiters 1
  background rlock run "$key" -- touch ran
  until_true 10 waiters 2
  redis set "rlock:b:{$key}" '0 2000' px 60000
  kill -KILL "${background_pids[0]}"
  rlock release "$key" "$holder"
  until_true 3 test -e ran
}
