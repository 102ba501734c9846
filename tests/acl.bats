# What a user of the server must be allowed: tests/acl.conf, the line that the manual prints, and no more.
load helper

acl=$(cat "$BATS_TEST_DIRNAME/acl.conf")

setup_file() { start_server; }
teardown_file() { stop_servers; }

# permit RULE...: those of the user, from here on.
permit() {
  # What an attempt before left waiting would be denied more.
  end_jobs
  redis acl setuser minimal reset '>p' "$@"
  redis acl log reset
  # With the scripts cached, EVAL would not be missed.
  redis script flush
  redis flushall
  export RLOCK_SERVER=unix://minimal:p@$sock
}
denied() { redis acl log; }
nothing_denied() {
  [ -z "$(denied)" ] || {
    denied >&2
    return 1
  }
}

# leave_records: those of dead holders, as many as are swept out with the long way of a hand-over.
leave_records() {
  local i
  for i in $(seq 20); do redis hset "rlock:i:{rlock:$key}" "dead$i" '1 s 1 1 1 1 host ann '; done >/dev/null
}

# everything HOW: each verb, a hand-over, one that gives up, a renewal, a lock deleted from outside; a waiter that was
# killed, too: passing it takes seconds where channels are denied.
everything() {
  local token pid lock=rlock:$key status=0 dead=0
  rm -f passed up
  token=$(rlock acquire "$key") || return
  expect 75 rlock acquire -n "$key" || return
  expect 75 rlock run -w 50ms "$key" -- true || return
  rlock renew --ttl 1m "$key" "$token" || return
  rlock status --json "$key" >/dev/null || return
  rlock status --json >list || return
  [ "$(jq -r '.locks[].key' list)" = "$key" ] || return
  if [ "$1" = with_a_dead_waiter ]; then
    dead=1
    rlock run "$key" -- true 3>&- &
    until_true 10 waiting 1 || return
    kill -KILL "$!"
  fi
  rlock run "$key" -- sh -c 'echo 1 >>passed' 3>&- &
  pid=$!
  until_true 10 waiting $((dead + 1)) || return
  rlock run "$key" -- sh -c 'echo 2 >>passed' 3>&- &
  until_true 10 waiting $((dead + 2)) || return
  leave_records
  rlock release "$key" "$token" || return
  wait "$pid" || return
  wait "$!" || return
  [ "$(paste -sd ' ' passed)" = '1 2' ] || return
  rlock acquire "$key" >token || return
  rlock release --force "$key" || return
  rlock run --ttl 10m "$key" -- sh -c 'touch up; exec sleep 600' 3>&- &
  until_true 10 test -e up || return
  # Soon: within one that is still to be renewed for the first time.
  until_true 5 renewed || return
  redis del "$lock" >/dev/null
  wait "$!" || status=$?
  [ "$status" = 79 ] || return
  token=$(rlock acquire --shared "$key") || return
  rlock run --shared "$key" -- true || return
  rlock renew "$key" "$token" || return
  rlock status --json "$key" >/dev/null || return
  rlock release "$key" "$token" || return
  rlock run --slots 2 "$key" -- true
}
renewed() { [ "$(redis pttl "rlock:$key")" -gt 500000 ]; }

# The same in brief, whether it succeeds or not: every command of rlock is sent, unless one before was denied.
sketch() {
  local token pid
  token=$(rlock acquire -n --shared "$key") || return
  rlock run -n --shared "$key" -- true || return
  rlock release "$key" "$token" || return
  rlock run -n --replicas 1 --connect-timeout 100ms "$key" -- true || [ $? = 69 ] || return
  token=$(rlock acquire -n "$key") || return
  rlock renew "$key" "$token" || return
  rlock status "$key" || return
  rlock status || return
  rlock run -w 5m "$key" -- sleep 0.1 3>&- &
  pid=$!
  until_true 20 waits_or_is_gone "$pid" || return
  leave_records
  rlock release --force "$key" || return
  wait "$pid"
}

waits_or_is_gone() { waiting 1 || is_gone "$1"; }

@test "everything works with what acl.conf permits, and nothing is denied" {
  # shellcheck disable=SC2086 # words
  permit $acl
  everything with_a_dead_waiter
  nothing_denied
}

@test "none of it can be left out" {
  # shellcheck disable=SC2086 # words
  permit $acl
  sketch
  nothing_denied
  local word less
  for word in $acl; do
    [[ $word == +* || $word == ~* || $word == \&* ]] || continue
    less=${acl/" $word"/}
    [ "$less" != "$acl" ]
    key=key-${word//[^a-z]/}
    # shellcheck disable=SC2086 # words
    permit $less
    sketch >said 2>&1 || true
    if nothing_denied 2>/dev/null; then
      echo "not needed: $word" >&2
      return 1
    fi
  done
}

@test "where channels are denied, waiters poll, and all else works" {
  # shellcheck disable=SC2086 # words
  permit $acl resetchannels
  everything with_a_dead_waiter
  [[ $(denied) == *channel* ]]
}

@test "where subscribing and publishing are denied, waiters poll, and all else works" {
  # shellcheck disable=SC2086 # words
  permit $acl -subscribe -publish -pubsub
  everything with_living_waiters
  [[ $(denied) == *subscribe* ]]
}

@test "where PUBSUB is denied, the dead count as living for a while, and all else works" {
  # shellcheck disable=SC2086 # words
  permit $acl -pubsub
  everything with_a_dead_waiter
  [[ $(denied) == *pubsub* ]]
}

@test "where SCAN is denied, one lock can be looked at, and the list says why it cannot" {
  # shellcheck disable=SC2086 # words
  permit $acl -scan
  rlock acquire "$key"
  expect 0 rlock status --exit-code "$key"
  expect_error 77 NOPERM rlock status
}

# Which right is for which URL or option: what docs/servers.md says.
@test "without INFO, WAIT or CONFIG GET only what needs them is refused, and says so" {
  # shellcheck disable=SC2086 # words
  permit $acl -info -wait
  everything with_living_waiters
  expect_error 77 'denies INFO, which --grace needs' rlock acquire -n --grace 1s "$key-2"
  expect_error 77 'denies WAIT, which --replicas needs' rlock acquire -n --replicas 1 "$key-3"
  # Nothing may stay behind of what was refused.
  [ "$(redis exists "rlock:$key-2" "rlock:$key-3")" = 0 ]
  expect 0 rlock status -v "$key"
  [[ $output == *'an ACL denies'* ]]
  permit $acl '+config|get'
  expect 0 rlock status -v "$key"
  [[ $output != *'an ACL denies'* ]]
  nothing_denied
}

@test "a database in the URL needs SELECT" {
  # shellcheck disable=SC2086 # words
  permit $acl
  expect_error 77 NOPERM rlock --server "unix://minimal:p@$sock?db=3" acquire -n "$key"
  # shellcheck disable=SC2086 # words
  permit $acl +select
  expect 0 rlock --server "unix://minimal:p@$sock?db=3" run "$key" -- true
  nothing_denied
}

@test "Sentinels: ROLE on the servers, and a user of their own" {
  load topologies
  start_field sentinel replicas=1,sentinels=1
  local each said
  # shellcheck disable=SC2016 # Python
  for each in servers watchers; do
    said="'$acl'.split() + ['+role']"
    [ "$each" = servers ] || said="'on -@all +subscribe &+switch-master &+promoted-slave +sentinel|get-master-addr-by-name +sentinel|master +sentinel|masters'.split()"
    field "for each in field.$each: each.redis('ACL', 'SETUSER', 'least', 'reset', '>p', *$said); each.redis('ACL', 'LOG', 'RESET')"
  done
  echo p >password
  expect 0 rlock --server "redis+sentinel://least:p@${url#*//}?sentinel_user=least&sentinel_password_file=password" run "$key" -- true
  field "print(*[each.redis('ACL', 'LOG') for each in field.servers + field.watchers])" >log
  stop_field
  [ "$(tr -d ' []\n' <log)" = '' ] || { cat log >&2; return 1; }
}

@test "several servers need no more than one, and INFO" {
  load topologies
  start_field redlock servers=3
  field "for each in field.servers: each.redis('ACL', 'SETUSER', 'least', 'reset', '>p', *'$acl'.split()); each.redis('ACL', 'LOG', 'RESET')"
  echo p >password
  RLOCK_SERVER=${url//redis:\/\//redis:\/\/least:@}
  export RLOCK_SERVER RLOCK_GRACE=1s RLOCK_TTL=3s RLOCK_PASSWORD_FILE=password
  # Until they are old enough to vote.
  until_true 10 rlock run -n "$key" -- true
  background rlock run -k 100ms "$key" -- sh -c 'touch up; sleep 1.5'
  until_true 10 test -e up
  expect 75 rlock acquire -n "$key"
  expect 0 rlock run "$key" -- true
  finish
  expect 0 rlock status --json "$key"
  field "print(*[each.redis('ACL', 'LOG') for each in field.servers])" >log
  field "[each.redis('ACL', 'SETUSER', 'least', '-info') for each in field.servers]"
  run rlock acquire -n "$key"
  stop_field
  [ "$status" = 77 ] && [[ $output == *INFO* ]]
  [ "$(tr -d ' []\n' <log)" = '' ] || { cat log >&2; return 1; }
}

@test "keys of others are out of reach" {
  # shellcheck disable=SC2086 # words
  permit $acl
  expect_error 77 ACL rlock acquire --prefix other: "$key"
  [ "$(redis exists "other:$key")" = 0 ]
}

# team NAME: the user NAME, with the rule that docs/servers.md prints for app1. Leaves the URL in RLOCK_SERVER.
team() {
  local rule common=${acl/'~rlock:* resetchannels &rlock:w:* '/}
  [ "$common" != "$acl" ]
  rule=$(sed -n 's/^    \(~app1:.*\)$/\1/p' "$BATS_TEST_DIRNAME/../docs/servers.md")
  [ -n "$rule" ]
  # shellcheck disable=SC2086 # words
  redis acl setuser "$1" reset '>p' $common ${rule//app1/$1}
}
as() {
  local name=$1
  shift
  RLOCK_SERVER=unix://$name:p@$sock RLOCK_PREFIX=$name: "$@"
}
# out_of_reach WHAT COMMAND...: the server lets app2 carry the command out, but not on that key or channel.
out_of_reach() {
  local what=$1
  shift
  run redis --user app2 --pass p --no-auth-warning "$@"
  [[ $output == *"No permissions to access a $what"* || $output == *"NOPERM"*"$what"* ]] || {
    printf '%s: %s\n' "$*" "$output" >&2
    return 1
  }
}

@test "two teams with the rule of docs/servers.md share a server, and neither can touch what is the other's" {
  local name lock token side touched=0
  redis flushall
  team app1
  team app2
  redis acl log reset
  for name in app1 app2; do
    for lock in "$key" "a{b}$key"; do
      token=$(as "$name" rlock acquire "$lock")
      as "$name" rlock renew "$lock" "$token"
      as "$name" rlock run "$lock" -- touch "$name-ran" 3>&- &
      side=":{$name:$lock}"
      [ "$lock" = "$key" ] || side="::$name:$lock"
      until_true 10 test_waits "rlock:q$side"
      as "$name" rlock status --json >list
      jq -e --arg lock "$lock" '[.locks[] | select(.held).key] == [$lock]' list
      as "$name" rlock release "$lock" "$token"
      wait "$!"
      [ -e "$name-ran" ]
      rm "$name-ran"
    done
  done
  nothing_denied

  # A lock that is held, and one that waits, so that every key there is exists.
  for lock in "$key" "a{b}$key"; do
    token=$(as app1 rlock acquire "$lock")
    as app1 rlock run "$lock" -- true 3>&- &
    side=":{app1:$lock}"
    [ "$lock" = "$key" ] || side="::app1:$lock"
    until_true 10 test_waits "rlock:q$side"
    out_of_reach channel publish "rlock:w$side:token" g
    out_of_reach channel subscribe "rlock:w$side:token"
    RLOCK_PREFIX=app1: RLOCK_SERVER=unix://app2:p@$sock expect_error 77 ACL rlock acquire -n "$lock"
    RLOCK_PREFIX=app1: RLOCK_SERVER=unix://app2:p@$sock expect_error 77 ACL rlock release --force "$lock"
    RLOCK_PREFIX=app1: RLOCK_SERVER=unix://app2:p@$sock expect_error 77 ACL rlock status "$lock"
  done
  redis --scan | grep app1: >names
  for side in q i f t; do grep -q "^rlock:$side:" names; done
  while read -r name; do
    out_of_reach key get "$name"
    out_of_reach key del "$name"
    out_of_reach key eval "return redis.call('del', KEYS[1])" 1 "$name"
    touched=$((touched + 1))
  done <names
  [ "$touched" -ge 8 ]
}
test_waits() { [ "$(redis zcard "$1")" = 1 ]; }
