# --compat redisson: the lock is an RLock of Redisson. First the hash, the count and the channel, with what Redisson sends
# done by hand; then Redisson itself, where there is a JDK and Maven has or gets it.
load helper
load topologies

# What docs/servers.md adds to acl.conf; the names of the locks are bare here.
acl_more='~* &redisson_lock__channel:* &redisson_rwlock:* +lrange +spublish +pubsub|shardnumsub'
export RLOCK_PREFIX='' RLOCK_COMPAT=redisson

setup_file() {
  local port
  port=$(free_port)
  export tcp_url=redis://127.0.0.1:$port
  export client=$BATS_FILE_TMPDIR/client
  start_server server --port "$port" --bind 127.0.0.1
  no_redisson=$(bash "$BATS_TEST_DIRNAME/redisson/build.sh" "$client") || export no_redisson
}
teardown_file() {
  stop_servers
  [ ! -e "$BATS_FILE_TMPDIR/field_pid" ] || stop_field
}

is_held() { [ "$(redis exists "$key")" = 1 ]; }
is_free() { [ "$(redis exists "$key")" = 0 ]; }
waiting() { [ "$(redis zcard "rlock:q:{$key}")" = "$1" ]; }
channel() { echo "redisson_lock__channel:{$key}"; }
listens() { [ "$(redis pubsub numsub "${1:-$(channel)}" | tail -1)" -ge 1 ]; }

# field TOKEN: as it stands in the hash.
field() { sed -E 's/^(.{8})(.{4})(.{4})(.{4})(.{12})$/\1-\2-\3-\4-\5:1/' <<<"$1"; }

theirs=0f5d8a52-7a34-4c0c-9d7a-3a0b8f5a1c11:47
# their_lock [MS [KEY]]: what Redisson sends to lock; "" when it has it, else the ttl of the holder.
their_lock() {
  redis eval 'if redis.call("exists", KEYS[1]) == 1 and redis.call("hexists", KEYS[1], ARGV[2]) == 0 then
                return redis.call("pttl", KEYS[1])
              end
              redis.call("hincrby", KEYS[1], ARGV[2], 1)
              redis.call("pexpire", KEYS[1], ARGV[1])
              return false' 1 "${2:-$key}" "${1:-30000}" "$theirs"
}
# their_unlock: and to unlock.
their_unlock() {
  redis eval 'if redis.call("hincrby", KEYS[1], ARGV[2], -1) > 0 then return 0 end
              redis.call("del", KEYS[1])
              redis.call("publish", KEYS[2], ARGV[1])
              return 1' 2 "$key" "$(channel)" 0 "$theirs"
}
# listener: one who sleeps until it is told; hears CHANNEL, and what it hears stands in heard.
listener() {
  background redis-cli -s "$sock" subscribe "${1:-$(channel)}" >heard
  until_true 10 listens "${1:-$(channel)}"
}
messages() { grep -cx 0 heard || true; }
told() { [ "$(messages)" = "$1" ]; }

@test "the lock is Redisson's hash, under the token as a UUID, and counts 1 however often it is renewed" {
  local token
  token=$(rlock acquire -t 20s "$key")
  [ "$(redis hgetall "$key" | paste -sd ' ')" = "$(field "$token") 1 mode rlock" ]
  [ "$(redis pttl "$key")" -le 20000 ]
  rlock renew -t 10m "$key" "$token"
  [ "$(redis hgetall "$key" | paste -sd ' ')" = "$(field "$token") 1 mode rlock" ]
  [ "$(redis pttl "$key")" -gt 300000 ]
  [ "$(their_lock)" -gt 300000 ]
  rlock release "$key" "$token"
  is_free
  [ -z "$(their_lock)" ]
}

@test "who sleeps until it is told is told at a release, at a forced one, and by the guard of a killed rlock" {
  local token
  listener
  token=$(rlock acquire "$key")
  rlock release "$key" "$token"
  until_true 10 told 1
  rlock acquire "$key"
  rlock release --force "$key"
  until_true 10 told 2
  background rlock run -t 60s "$key" -- sleep 60
  local rlock=$!
  until_true 10 guard_of "$rlock"
  until_true 10 is_held
  kill -KILL "$rlock"
  until_true 10 told 3
  is_free
}

@test "--hold: it stays held by nobody, and who sleeps is told how long" {
  listener
  rlock run -t 60s --hold 15s "$key" -- true
  until_true 10 told 1
  [[ $(redis hgetall "$key" | paste -sd ' ') == *':0 1'* ]]
  [ "$(their_lock)" -le 15000 ]
  expect_error 75 "busy: $key is held" rlock run -n "$key" -- true
  until_true 10 is_free
}

@test "who listens to the sharded channel is told too" {
  redis ssubscribe "$(channel)" >heard 3>&- &
  until_true 10 grep -q ssubscribe heard
  rlock run "$key" -- true
  until_true 10 told 1
}

@test "a name with a brace in it stands bare in the channel's" {
  local name
  for name in 'a{b}c' 'x{y'; do
    listener "redisson_lock__channel:$name"
    rlock run "$name" -- true
    until_true 10 told 1
    end_jobs
  done
}

@test "nobody is told when the lock goes to a waiter; it is when the last one has released" {
  local token
  listener
  token=$(rlock acquire "$key")
  background rlock run "$key" -- sh -c 'touch up; until [ -e go ]; do sleep 0.01; done'
  until_true 10 waiting 1
  rlock release "$key" "$token"
  until_true 10 test -e up
  told 0
  touch go
  until_true 10 told 1
}

# queue N: so many rlocks, one after the other, each for 40 ms.
queue() {
  local i token
  token=$(rlock acquire "$key")
  for ((i = 0; i < $1; ++i)); do background rlock run "$key" -- sleep 0.04; done
  until_true 10 waiting "$1"
  rlock release "$key" "$token"
}

# A queue of rlocks leaves the lock free while somebody sleeps until it is told.
leaves_it_free() {
  listener
  local pid=$!
  unset 'background_pids[0]'
  queue 15
  # Nobody comes, and they go on, all of them.
  finish
  # The last release is told as well.
  until_true 10 is_free
  [ "$(messages)" -ge 2 ]
  kill "$pid"
}

@test "while somebody sleeps until it is told, a queue of rlocks leaves the lock free now and then, and says so" {
  leaves_it_free
}

@test "so it does with a name of rlock's own namespace, which is handed over by a shorter way" {
  key=rlock:$key
  leaves_it_free
}

@test "while nobody does, it does not" {
  # One who hears everything counts for nothing.
  redis-cli -s "$sock" psubscribe '*' >heard 3>&- &
  until_true 10 grep -q psubscribe heard
  queue 8
  finish
  told_all() { [ "$(grep -cx "$(channel)" heard)" = 1 ]; }
  until_true 10 told_all
}

@test "who may not ask who sleeps hands the lock over all the same" {
  local token
  redis acl setuser "blind-$key" on '>p' '+@all' -pubsub '~*' '&*'
  export RLOCK_SERVER=unix://blind-$key:p@$sock
  token=$(rlock acquire "$key")
  background rlock run "$key" -- touch ran
  until_true 10 waiting 1
  rlock release "$key" "$token"
  # Sooner than a heartbeat.
  until_true 3 test -e ran
}

@test "where it cannot be seen who sleeps, and a lock of Redisson's was met, rlocks leave the lock free now and then" {
  redis acl setuser "blind-$key" on '>p' '+@all' -pubsub '~*' '&*'
  export RLOCK_SERVER=unix://blind-$key:p@$sock
  their_lock
  background rlock run "$key" -- sh -c 'touch up; until [ -e go ]; do sleep 0.01; done'
  until_true 10 waiting 1
  background rlock run "$key" -- touch ran
  until_true 10 waiting 2
  listener
  their_unlock
  until_true 10 test -e up
  told 1
  sleep 0.3 # a library was met, so it is due after 200 ms
  touch go
  # Told before the last release, while somebody waits.
  until_true 10 test -e ran
  until_true 10 told 3
}

@test "a lock of Redisson's is busy, whoever asks, and stands" {
  [ -z "$(their_lock)" ]
  [ -z "$(their_lock)" ]
  expect_error 75 "busy: $key is held by a program other than rlock" rlock run -n "$key" -- touch ran
  expect_error 75 "busy: $key is held by a program other than rlock" rlock acquire -w 200ms "$key"
  expect_error 79 "$key is held by somebody else" rlock release "$key" 0f5d8a527a344c0c9d7a3a0b8f5a1c11
  expect_error 79 "$key is held by somebody else" rlock renew "$key" 0f5d8a527a344c0c9d7a3a0b8f5a1c11
  [ ! -e ran ]
  [ "$(redis hgetall "$key" | paste -sd ' ')" = "$theirs 2" ]
  rlock status "$key" | grep -q '^(not an rlock) '
}

@test "a waiter has the lock when Redisson has unlocked as often as it had locked" {
  their_lock
  their_lock
  background rlock run "$key" -- touch ran
  until_true 10 waiting 1
  [ "$(their_unlock)" = 0 ]
  is_held
  [ ! -e ran ]
  [ "$(their_unlock)" = 1 ]
  until_true 3 test -e ran
  finish
}

@test "a waiter has the lock when Redisson's lease ends, or its lock is deleted without a word" {
  their_lock 700
  expect 0 rlock run -w 5m "$key" -- true
  their_lock
  background rlock run "$key" -- touch ran
  until_true 10 waiting 1
  redis del "$key"
  until_true 3 test -e ran
  finish
}

@test "waiters pass the lock on in their order, each with a higher fence" {
  local token i
  token=$(rlock acquire "$key")
  for i in 1 2 3; do
    background rlock run "$key" -- sh -c "echo $i \$RLOCK_FENCE >>passed"
    until_true 10 waiting "$i"
  done
  rlock release "$key" "$token"
  finish
  [ "$(cut -d' ' -f1 passed | paste -sd ' ')" = '1 2 3' ]
  sort -c -n -k2 passed
}

@test "what runs under the lock meets the same lock" {
  # shellcheck disable=SC2016 # the command's own
  expect 0 env -u RLOCK_COMPAT rlock run --compat redisson "$key" -- sh -c '
    [ "$(redis-cli -s "$sock" type "$RLOCK_KEY")" = hash ] && rlock renew && rlock run -n "$RLOCK_KEY" -- true &&
      rlock status --exit-code "$RLOCK_KEY" && ! RLOCK_TOKEN= rlock run -n "$RLOCK_KEY" -- true'
  [[ $output == *"busy: $key is held by "*" pid "* ]]
  is_free
  # Without it, nothing of it is left.
  expect 0 rlock run --compat none "$key" -- sh -c '! env | grep RLOCK_COMPAT'
}

@test "what is no RLock is left alone: a plain lock, one for readers and writers, other data" {
  redis set plain theirs px 60000
  redis hset readers mode read "$theirs" 1
  redis hset data name value
  redis rpush list one
  local name why
  for name in plain readers data list; do
    redis dump $name >before
    why='is held by a program other than rlock'
    [[ $name != @(data|list) ]] || why="on the server is other data, not a lock of Redisson; leave out --compat redisson, or is"
    expect_error 75 "busy: $name $why" rlock run -n $name -- true
    [[ $name == @(data|list) ]] || why='is held by somebody else'
    expect_error 79 "lost: $name $why" rlock release $name 0123456789abcdef0123456789abcdef
    expect 0 rlock status --exit-code $name
    why="not released: $name on the server is other data"
    [ $name != plain ] || why="not released: $name is held; it is not a lock of Redisson: leave out --compat redisson"
    [ $name = readers ] || expect_error 79 "$why" rlock release --force $name
    redis dump $name >after
    cmp before after
  done
  expect 0 rlock release --force readers
}

@test "who asks for the other kind of lock is told" {
  redis set "$key" theirs px 60000
  expect_error 75 'leave out --compat redisson' rlock run -n "$key" -- true
  redis del "$key"
  their_lock
  expect_error 75 'use --compat redisson' rlock run -n --compat none "$key" -- true
  redis del "$key"
  rlock acquire "$key"
  expect_error 75 'use --compat redisson' rlock acquire -n --compat none "$key"
  # One that waits is told at once, not when its time is over.
  rlock run --compat none "$key" -- true 2>said 3>&- &
  until_true 5 grep -q "waiting for $key, .* give --compat redisson to all of its users, or to none" said
  kill "$!"
  # One for readers and writers is Redisson's too.
  redis hset readers mode read "$theirs" 1
  expect_error 75 'use --compat redisson' rlock run -n --compat none readers -- true
}

@test "release --force without --compat redisson leaves a lock of Redisson alone, whose waiters it would not wake" {
  local name
  their_lock
  redis hset readers mode read "$theirs" 1 "$theirs:x" 1
  for name in "$key" readers; do
    redis dump "$name" >before
    expect_error 79 "not released: $name is held; it is a lock of Redisson: use --compat redisson" \
      rlock release --force --compat none "$name"
    redis dump "$name" >after
    cmp before after
    expect 0 rlock release --force "$name"
  done
}

# their_mode_lock MODE FIELD: what Redisson sends to acquire a lock for readers or writers; "" when it has it.
their_mode_lock() {
  redis eval 'local mode = redis.call("hget", KEYS[1], "mode")
              if mode == false then
                redis.call("hset", KEYS[1], "mode", ARGV[3])
                redis.call("hset", KEYS[1], ARGV[2], 1)
                redis.call("pexpire", KEYS[1], ARGV[1])
                return nil
              end
              return redis.call("pttl", KEYS[1])' 1 "$key" 30000 "$2" "$1"
}
their_read_lock() { their_mode_lock read "$theirs"; }
their_write_lock() { their_mode_lock write "$theirs:write"; }

@test "readers and writers of Redisson wait for the lock, however it was acquired, and are told when it is free" {
  local token
  token=$(rlock acquire -t 60s "$key")
  [ "$(their_read_lock)" -gt 0 ]
  [ "$(their_write_lock)" -gt 0 ]
  background rlock run -t 60s "$key" -- sh -c 'touch up; until [ -e go ]; do sleep 0.01; done'
  until_true 10 waiting 1
  rlock release "$key" "$token"
  until_true 10 test -e up
  # It was handed over, and confirmed.
  [ "$(their_read_lock)" -gt 0 ]
  [ "$(their_write_lock)" -gt 0 ]
  redis-cli -s "$sock" subscribe "redisson_rwlock:{$key}" >heard 3>&- &
  until_true 10 listens "redisson_rwlock:{$key}"
  touch go
  until_true 10 told 1
  finish
  [ -z "$(their_write_lock)" ]
  expect 75 rlock run -n "$key" -- true
}

@test "who waits in the queue of a fair lock is told, also when the first of that queue is dead" {
  redis rpush "redisson_lock_queue:{$key}" dead:1 "$theirs"
  listener "$(channel):$theirs"
  rlock run "$key" -- true
  until_true 10 told 1
}

@test "a claim is written as earlier releases read it, who cannot confirm another" {
  redis-cli -s "$sock" subscribe "rlock:w:{$key}:0f5d8a527a344c0c9d7a3a0b8f5a1c11" >/dev/null 3>&- &
  until_true 10 listens "rlock:w:{$key}:0f5d8a527a344c0c9d7a3a0b8f5a1c11"
  local token time
  token=$(rlock acquire -t 60s "$key")
  time=$(redis time | paste -sd ' ' | awk '{printf "%d%06d", $1, $2}')
  redis zadd "rlock:q:{$key}" "$time" 0f5d8a527a344c0c9d7a3a0b8f5a1c11
  redis hset "rlock:i:{$key}" 0f5d8a527a344c0c9d7a3a0b8f5a1c11 "1 s $time $time 0 7 host ann "
  rlock release "$key" "$token"
  [ "$(redis hkeys "$key")" = 0f5d8a52-7a34-4c0c-9d7a-3a0b8f5a1c11:1 ]
}

@test "a full server grants no lock, and releases one" {
  not_under_acl 'a server of its own'
  own_server
  local token
  token=$(rlock acquire "$key")
  redis config set maxmemory 1
  expect 69 rlock acquire -n other
  rlock release "$key" "$token"
  is_free
}

@test "a server that restarted and forgot the lock has it back, as Redisson's hash" {
  own_server
  background rlock run -t 5m "$key" -- sh -c 'printenv RLOCK_TOKEN >token; touch up; until [ -e go ]; do sleep 0.01; done'
  until_true 10 test -e up
  renewed() { [ "$(redis info commandstats | sed -n 's/^cmdstat_client|tracking:calls=\([0-9]*\).*/\1/p')" -ge 1 ]; }
  until_true 10 renewed
  kill_own_server
  own_server
  until_true 10 is_held
  [ "$(redis hgetall "$key" | paste -sd ' ')" = "$(field "$(cat token)") 1 mode rlock" ]
  touch go
  finish
  is_free
}

@test "several servers: a majority of Redisson's hashes" {
  not_under_acl 'servers of its own'
  local name urls=''
  for name in one two three; do
    start_server "$name-$BATS_TEST_NUMBER"
    urls+=${urls:+,}$url
  done
  at() { redis-cli -s "$BATS_FILE_TMPDIR/$1-$BATS_TEST_NUMBER.sock" "${@:2}"; }
  # So that they are soon old enough to vote.
  export RLOCK_SERVER=$urls RLOCK_TTL=4s RLOCK_GRACE=1s
  # shellcheck disable=SC2016 # the command's own
  expect 0 rlock run "$key" -- sh -c 'rlock renew && ! RLOCK_TOKEN= rlock run -n "$RLOCK_KEY" -- true'
  [ "$(at one exists "$key")$(at two exists "$key")$(at three exists "$key")" = 000 ]
  for name in one two; do at "$name" hset "$key" "$theirs" 1; done
  expect_error 75 "busy: $key" rlock run -n "$key" -- true
}

@test "the example of docs/servers.md does what it says, and nothing is denied that is more than it permits" {
  local more
  example=$(sed -n 's/^    \(rlock run --compat .*[^ ]\)  *# .*/\1/p' "$BATS_TEST_DIRNAME/../docs/servers.md")
  more=$(sed -n 's/^| `--compat redisson` | `\(.*\)` |$/\1/p' "$BATS_TEST_DIRNAME/../docs/servers.md")
  key=orders more=${more//\\/}
  # shellcheck disable=SC2046 # words
  redis acl setuser narrow reset on nopass $(cat "$BATS_TEST_DIRNAME/acl.conf") ${more/KEY/$key}
  redis acl log reset
  export RLOCK_SERVER=unix://narrow:@$sock
  printf '#!/bin/sh\nredis-cli -s "$sock" hlen orders >fields\n' >reindex.sh
  chmod +x reindex.sh
  listener
  unset RLOCK_COMPAT RLOCK_PREFIX
  bash -c "$example"
  [ "$(cat fields)" = 2 ]
  until_true 10 told 1
  end_jobs
  background_pids=()
  export RLOCK_COMPAT=redisson RLOCK_PREFIX=''
  rlock acquire "$key" >token
  background rlock run "$key" -- touch ran
  background rlock run "$key" -- touch ran2
  until_true 10 waiting 2
  rlock renew "$key" "$(cat token)"
  rlock status "$key"
  rlock release --force "$key"
  finish
  [ -e ran ]
  [ -e ran2 ]
  [ -z "$(redis acl log)" ] || {
    redis acl log >&2
    return 1
  }
}

# With Redisson itself. service: a JVM that does what it is ordered, one at a time; order LINE, and says PATTERN N: its Nth
# answer.
needs_redisson() { [ -z "${no_redisson:-}" ] || skip "$no_redisson"; }
service() {
  mkfifo orders
  "$client/client" "$tcp_url" "$key" "$@" <orders >said 3>&- &
  service=$!
  exec 4>orders
  until_true 30 says ready 1
}
order() { echo "$1" >&4; }
# shellcheck disable=SC2053 # a pattern
says() { [[ $(sed -n "$2p" said) == $1 ]]; }

@test "Redisson itself: each excludes the other, and wakes it, after a kill too" {
  needs_redisson
  local token rlock
  service 1500
  order lock
  until_true 10 says 'locked *' 2
  expect_error 75 "busy: $key" rlock run -n "$key" -- true
  background rlock run "$key" -- touch ran
  until_true 10 waiting 1
  order unlock
  until_true 3 test -e ran
  finish

  token=$(rlock acquire -t 60s "$key")
  order 'try 100'
  until_true 10 says busy 4
  order lock
  until_true 10 listens
  rlock release "$key" "$token"
  until_true 10 says 'locked *' 5
  order unlock
  until_true 10 says unlocked 6

  rlock run -t 60s "$key" -- sleep 60 3>&- &
  rlock=$!
  until_true 10 guard_of "$rlock"
  until_true 10 is_held
  order lock
  until_true 10 listens
  kill -KILL "$rlock"
  until_true 10 says 'locked *' 7

  background rlock run "$key" -- touch after
  until_true 10 waiting 1
  kill -KILL "$service"
  until_true 10 test -e after
  finish
  exec 4>&-
}

@test "Redisson itself: a fair lock, and one for readers and writers: each excludes the other, and is woken" {
  needs_redisson
  local token kind answers=1
  service
  for kind in fair read write; do
    order "kind $kind"
    until_true 10 says kind $((++answers))
    token=$(rlock acquire -t 60s "$key")
    order 'try 100'
    until_true 10 says busy $((++answers))
    order lock
    case $kind in
      fair) until_true 10 waits_in_turn ;;
      *) until_true 10 listens "redisson_rwlock:{$key}" ;;
    esac
    rlock release "$key" "$token"
    # Without a message it would look when the ttl that it has seen is over.
    until_true 10 says 'locked *' $((++answers))
    expect_error 75 "busy: $key" rlock run -n "$key" -- true
    background rlock run "$key" -- touch "ran-$kind"
    until_true 10 waiting 1
    order unlock
    until_true 10 says unlocked $((++answers))
    until_true 3 test -e "ran-$kind"
    finish
  done
  exec 4>&-
}
# A fair waiter stands in the queue, and is subscribed to a channel of its own.
waits_in_turn() {
  local first
  first=$(redis lindex "redisson_lock_queue:{$key}" 0)
  [ -n "$first" ] && listens "$(channel):$first"
}

@test "Redisson itself, in a Cluster: each excludes the other, and wakes it" {
  needs_redisson
  not_under_acl 'servers of its own'
  local token
  start_field cluster
  export RLOCK_SERVER=$url
  tcp_url=${url%%,*} service
  order lock
  until_true 20 says 'locked *' 2
  expect_error 75 "busy: $key" rlock run -n "$key" -- true
  background rlock run "$key" -- touch ran
  queued() { [ "$(rlock status --json "$key" | jq .waiting)" = 1 ]; }
  until_true 10 queued
  order unlock
  until_true 3 test -e ran
  finish
  token=$(rlock acquire -t 60s "$key")
  order lock
  listens_somewhere() {
    local port
    for port in $(grep -o '[0-9]*$' <<<"${url//,/$'\n'}"); do
      [ "$(redis-cli -p "$port" pubsub shardnumsub "$(channel)" | tail -n 1)" = 0 ] || return 0
    done
    return 1
  }
  until_true 10 listens_somewhere
  rlock release "$key" "$token"
  until_true 10 says 'locked *' 4
  exec 4>&-
}

# The short form of redisson.py, under load of other tests; tests/soak.sh runs it at length, and no wait is over 1 s.
@test "Redisson itself: three services and three rlocks, 200 cycles, then kills on both sides: no overlap, no exception" {
  needs_redisson
  run -0 python3 -B "$BATS_TEST_DIRNAME/faults/redisson.py" "$client/client" --cycles 200 --kills 4 --max-wait 30000
  echo "$output"
}
