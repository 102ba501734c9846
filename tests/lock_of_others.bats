# What other libraries lock with SET KEY TOKEN NX PX locks rlock out, and the other way round.
load helper

acl_more='~* &*'
export RLOCK_PREFIX=

setup_file() { start_server; }
teardown_file() { stop_servers; }

# The first python3 that has Debian's python3-redis.
python() {
  local python
  for python in python3 /usr/bin/python3; do
    "$python" -c 'import redis' 2>/dev/null && exec "$python" "$@"
  done
  echo 'no python3-redis' >&2
  return 1
}

foreign_waits() {
  [ "$(redis zcard "rlock:q:{$key}")" = 1 ]
}

@test "a key set by another library is busy, and it stands" {
  redis set "$key" theirs nx px 60000
  expect_error 75 "busy: $key is held by a program other than rlock" rlock run -n "$key" -- touch ran
  expect_error 75 "busy: $key is held by a program other than rlock" rlock acquire -w 200ms "$key"
  [ ! -e ran ]
  [ "$(redis get "$key")" = theirs ]
  [ "$(redis pttl "$key")" -gt 30000 ]
}

@test "a waiter has the lock when the other library deletes its key" {
  redis set "$key" theirs nx px 60000
  background rlock run "$key" -- touch ran
  background rlock run "$key" -- touch ran2
  waiters() { [ "$(redis zcard "rlock:q:{$key}")" = 2 ]; }
  until_true 10 waiters
  [ ! -e ran ]
  redis del "$key"
  # Sooner than the look that every waiter takes now and then.
  until_true 3 test -e ran
  until_true 3 test -e ran2
  finish
}

@test "a waiter has the lock when the key of the other library expires" {
  redis set "$key" theirs nx px 700
  expect 0 rlock run -w 5m "$key" -- true
}

waits_until_deleted() {
  background rlock run "$key" -- touch ran
  until_true 10 foreign_waits
  [ ! -e ran ]
  redis del "$key"
  until_true 3 test -e ran
  finish
}

@test "a key that never expires holds until it is deleted" {
  redis set "$key" theirs
  expect 75 rlock acquire -w 200ms "$key"
  waits_until_deleted
}

@test "no other library can set the key of a lock" {
  local token
  token=$(rlock acquire "$key")
  [ -z "$(redis set "$key" theirs nx px 1000)" ]
  [ "$(redis get "$key")" = "$token" ]
  rlock release "$key" "$token"
  [ "$(redis set "$key" theirs nx px 1000)" = OK ]
}

@test "a key of another type keeps the lock busy, is called what it is, and is left alone" {
  redis hset hash field value
  redis rpush list one two
  redis zadd zset 1 one
  redis sadd set one
  redis xadd stream '*' field value
  local type
  for type in hash list zset set stream; do
    redis dump $type >before
    expect_error 75 "busy: $type on the server is other data, not a lock; is --prefix '' right?" rlock run -n $type -- true
    expect_error 75 "busy: $type on the server is other data, not a lock" rlock acquire -w 50ms $type
    expect_error 79 "not released: $type on the server is other data, not a lock" rlock release --force $type
    expect_error 79 "lost: $type on the server is other data, not a lock; is --prefix '' right?" rlock renew $type token
    expect_error 79 "lost: $type on the server is other data, not a lock" rlock release $type token
    run --separate-stderr -0 rlock status $type
    [[ $output == *'not a lock'*'(other data, not a lock)'* ]]
    [ "$stderr" = "rlock: $type on the server is other data, not a lock; is --prefix '' right?" ]
    rlock status --json $type | jq -e '.held and (.holders | length == 1) and .holders[0].other_data' >/dev/null
    run --separate-stderr -75 rlock run -v -w 100ms $type -- true
    [[ $stderr == *"waiting for $type, whose key on the server is other data, not a lock"* ]]
    expect 0 rlock status --exit-code $type
    redis dump $type >after
    cmp before after
  done
}

@test "a string that is too long for the token of any library is other data: release --force leaves it alone" {
  local length
  for length in 513 3000000; do
    head -c "$length" /dev/zero | tr '\0' d | redis -x set "$key"
    expect_error 75 "busy: $key on the server is other data, not a lock" rlock run -n "$key" -- true
    expect_error 79 "not released: $key on the server is other data, not a lock; is --prefix '' right?" rlock release --force "$key"
    [ "$(redis strlen "$key")" = "$length" ]
  done
  head -c 512 /dev/zero | tr '\0' d | redis -x set "$key"
  expect 0 rlock release --force "$key"
  [ "$(redis exists "$key")" = 0 ]
}

@test "a key of another type makes way by being deleted" {
  redis hset "$key" field value
  waits_until_deleted
}

@test "redis-py's Lock and rlock exclude each other" {
  # Neither side runs ahead of the other by more than twenty cycles, so that they meet all the time.
  cat >theirs.py <<-'END'
	import sys, time, redis
	client = redis.Redis(unix_socket_path=sys.argv[1])
	for _ in range(int(sys.argv[3])):
	    with redis.lock.Lock(client, sys.argv[2], timeout=60, sleep=0.005):
	        n = int(open("counter").read())
	        time.sleep(0.002)
	        open("counter", "w").write(f"{n + 1}\n")
	        open("cycles", "a").write("theirs\n")
	    while open("cycles").read().count("theirs") > open("cycles").read().count("ours") + 20:
	        time.sleep(0.01)
	END
  cat >ours.sh <<-'END'
	#!/bin/bash
	for ((i = 0; i < $2; i++)); do
	  rlock run "$1" -- sh -c '
	    read -r n <counter
	    sleep 0.002
	    echo $((n + 1)) >counter
	    echo ours >>cycles' || exit
	  while (($(grep -c ours cycles) > $(grep -c theirs cycles) + 20)); do sleep 0.01; done
	done
	END
  echo 0 >counter
  : >cycles
  local i
  for i in 1 2 3 4; do
    background python theirs.py "$sock" "$key" 25
    background bash ours.sh "$key" 25
  done
  finish
  [ "$(cat counter)" = 200 ]
  [ "$(wc -l <cycles)" = 200 ]
  [ "$(uniq cycles | wc -l)" -ge 6 ]
}

signals() { redis lrange "lock-signal:$key" 0 -1; }
heard() { tail -n 1 heard | grep -qxF "$1"; }

@test "a lock:NAME that is released leaves one signal for a waiter of python-redis-lock, for a second" {
  # A second is soon over on a busy machine: so it has to be seen once.
  local how
  for how in '' --force; do
    redis del "lock-signal:$key"
    until_true 10 leaves_a_signal $how
    [ "$(redis pttl "lock-signal:$key")" -le 1000 ]
    # Another one is not added.
    until_true 10 leaves_a_signal $how
  done
}
leaves_a_signal() {
  local token
  token=$(rlock acquire -n "lock:$key") || return
  [ -z "$*" ] || token=
  # shellcheck disable=SC2086 # no word, or one
  rlock release "$@" "lock:$key" $token || return
  [ "$(signals)" = 1 ]
}

@test "other data in the place of the signal stand as they are" {
  redis set "lock-signal:$key" data
  rlock run "lock:$key" -- true
  [ "$(redis get "lock-signal:$key")" = data ]
  [ "$(redis pttl "lock-signal:$key")" = -1 ]
}

@test "a lock that goes to the next rlock is told to no library" {
  local token
  token=$(rlock acquire "lock:$key")
  background rlock run "lock:$key" -- sh -c 'until [ -e go ]; do sleep 0.01; done'
  until_true 10 eval '[ "$(redis zcard "rlock:q:{lock:$key}")" = 1 ]'
  rlock release "lock:$key" "$token"
  [ "$(redis exists "lock-signal:$key")" = 0 ]
  touch go
  finish
  [ "$(signals)" = 1 ] || until_true 10 leaves_a_signal
}

@test "the release of REGISTRY:KEY is told on the channel of Spring's registry" {
  redis-cli -s "$sock" subscribe my:registry-channel >heard 3>&- &
  until_true 10 grep -q subscribe heard
  rlock run "my:registry:$key" -- true
  until_true 5 heard "my:registry:$key"
}

@test "so it is on the channel that each lock of Spring Integration 7 has of its own" {
  redis-cli -s "$sock" psubscribe 'my:registry-channel:*' >heard 3>&- &
  until_true 10 grep -q psubscribe heard
  rlock run "my:registry:$key" -- true
  until_true 5 heard "my:registry:$key"
  grep -qx "my:registry-channel:my:registry:$key" heard
}

@test "with the prefix of rlock's own nobody is told anything, and it costs nothing" {
  own_server
  RLOCK_PREFIX='rlock:' rlock run "lock:$key" -- true
  redis info commandstats | sed 's/:.*//' >called
  run -1 grep -x 'cmdstat_\(llen\|lpush\|publish\)' called
}

@test "who may not tell a library still releases, and the server logs nothing of it" {
  not_under_acl 'has a user of its own'
  # shellcheck disable=SC2046 # words
  own_server --user plain on nopass $(cat "$BATS_TEST_DIRNAME/acl.conf") '~lock:*'
  export RLOCK_SERVER="unix://plain:@$sock"
  rlock run "lock:$key" -- true
  [ "$(redis exists "lock:$key" "lock-signal:$key")" = 0 ]
  [ -z "$(redis acl log)" ]
}
