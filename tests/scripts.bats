# Each script of src/stores/redis/scripts/scripts as it is sent, through redis-cli alone: every return that its header promises.
load helper

setup_file() { start_server; }
teardown_file() { stop_servers; }

setup_names() {
  lock=${namespace-rlock:}$key queue="rlock:q:{rlock:$key}" info="rlock:i:{rlock:$key}" fence="rlock:f:{rlock:$key}"
  last="rlock:l:{rlock:$key}" window="rlock:b:{rlock:$key}"
  holders="rlock:h:{rlock:$key}"
}

# script NAME TOKEN ARGV...: its reply, an item a line. TOKEN names the key of those that have left.
script() {
  local name=$1 token=$2
  shift 2
  setup_names
  redis eval "${prelude-}$(<"${RLOCK%/*}/scripts/$name.lua")" 8 \
    "$lock" "$queue" "$info" "$fence" "rlock:t:{rlock:$key}:$token" "$last" "$window" "$holders" "$@"
}

# acquire TOKEN [TTL [TICKET [WAKE [WHO [GRACE]]]]]: in the mode $mode, else alone.
acquire() { script acquire "$1" "$1" "${2:-30000}" "${3-}" "${4-s}" "${5-7 host ann }" "${6-}" "${mode:-x}"; }
release() { script release "$1" "$1" "${2:-10000}" "${3-}"; }
# release_and TOKEN COMMAND...: releases and runs these in one go, before a claim can run out: each reply, from a line on.
release_and() {
  local token=$1 sha
  shift
  setup_names
  sha=$(redis script load "$(<"${RLOCK%/*}/scripts/release.lua")")
  printf '%s\n' multi \
    "evalsha $sha 8 $lock $queue $info $fence rlock:t:{rlock:$key}:$token $last $window $holders $token 10000 \"\"" \
    "$@" exec | redis | sed '/^OK$/d; /^QUEUED$/d'
}
# hold TOKEN MS: its command has ended, nobody is to have the lock for so long.
hold() { script release "$1" "$1" 10000 '' '' '' "$2"; }
# run_ended TOKEN EXIT [ONCE]: a run releases, which is remembered for $remember milliseconds, else a minute.
run_ended() { script release "$1" "$1" 10000 '' '' '' '' "$2 42 ${3:-0} 7 host ann " "${remember:-60000}"; }
# once TOKEN MS [TICKET]: an acquire that has nothing to do where a run has succeeded.
once() { script acquire "$1" "$1" 30000 "${3-}" s '7 host ann ' '' x "$2"; }
renew() { script renew "$1" "$1" "${2:-30000}"; }
# reclaim TOKEN FENCE [RUN [TTL]]: without RUN as one who knows the server from before it restarted.
# ... who last renewed $away milliseconds ago, else one.
reclaim() { script reclaim "$1" "$1" "${4:-30000}" "$2" "${3-before}" '7 host ann ' "${other-}" "${mode:-x}" "${away:-1}"; }
run_id() { redis info server | sed -n 's/^run_id:\([0-9a-f]*\).*/\1/p'; }
check() { script check "$1" "$1"; }
inspect() { script inspect '' "${1:-100}"; }

channel() { echo "rlock:w:{rlock:$key}:$1"; }
# listener TOKEN: the waiter's subscription; what it hears stands in heard.TOKEN. Its pid in $!.
listener() {
  background redis-cli -s "$sock" subscribe "$(channel "$1")" >"heard.$1"
  until_true 10 is_heard "$1"
}
is_heard() { [ "$(redis pubsub numsub "$(channel "$1")" | tail -1)" = 1 ]; }
heard() { tail -1 "heard.$1" | grep -qx "$2"; }

# queued TOKEN: with a subscription and a place at the end of the queue.
queued() {
  listener "$1"
  acquire "$1" 30000 0 >/dev/null
}
holder() { redis get "rlock:$key"; }
# claimed_by TOKEN: it was handed the lock. However slow the test is from here on, the claim does not run out.
claimed_by() {
  [ "$(redis eval 'redis.call("PEXPIRE", KEYS[1], 1000000) return redis.call("GET", KEYS[1])' 1 "rlock:$key")" = "$1" ]
}
# records: the tokens that have one.
records() { redis hkeys "rlock:i:{rlock:$key}" | grep -vx @ | sort; }
line() { sed -n "$1p"; }

# is REPLY ITEM...: compares with what is expected, item by item, as patterns. Empty items at the end do not show.
is() {
  local reply=$1 item i=0
  local -a items
  mapfile -t items <<<"$reply"
  shift
  for item; do
    # shellcheck disable=SC2053 # a pattern
    [[ ${items[i]} == $item ]] || {
      printf 'item %d is "%s", not "%s" in: %s\n' $((i + 1)) "${items[i]}" "$item" "$reply" >&2
      return 1
    }
    i=$((i + 1))
  done
  ((${#items[@]} <= i)) || {
    printf '%d items, not %d: %s\n' "${#items[@]}" "$i" "$reply" >&2
    return 1
  }
}

# by_short_way: from now on rlocks are known to have the lock for themselves, for as long as the test lasts. Where that is not
# known, as at first, the long way of release hands the lock over, and notes it.
by_short_way() {
  setup_names
  redis set "$window" '0 9999999999999'
}

# both_ways BODY: by the long way of release, and on another key by the short one, which stands in front of it.
both_ways() {
  "$@"
  key+=-short
  by_short_way
  "$@"
}

@test "acquire takes a free lock, for its ttl, and returns the fence" {
  local reply now
  now=$(redis time | head -1)
  reply=$(acquire a 20000)
  setup_names
  is "$reply" 1 "$(redis get "$fence")"
  [ "$(line 2 <<<"$reply")" -ge "${now}000000" ]
  [ "$(holder)" = a ]
  [ "$(redis pttl "$lock")" -le 20000 ]
  [ "$(redis pttl "$lock")" -gt 10000 ]
  is "$(redis hget "$info" a)" "1 s * * $(redis get "$fence") 7 host ann "
}

@test "acquire again returns the same fence, and only ever lengthens the lease" {
  local first
  first=$(acquire a 20000)
  is "$(acquire a 20000)" 1 "$(line 2 <<<"$first")"
  is "$(acquire a 100)" 1 "$(line 2 <<<"$first")"
  [ "$(redis pttl "rlock:$key")" -gt 10000 ]
  is "$(acquire a 60000 0)" 1 "$(line 2 <<<"$first")"
  [ "$(redis pttl "rlock:$key")" -gt 30000 ]
  waiting 0
}

@test "acquire of a held lock that is not to queue changes nothing" {
  acquire a
  is "$(acquire b)" 0 0 -1 '[0-9]*' 1 '1 s * 7 host ann *' 0
  waiting 0
  setup_names
  [ "$(redis hlen "$info")" = 1 ]
  [ "$(holder)" = a ]
}

@test "a record that is too long is not read, and the lock goes on without it" {
  setup_names
  acquire a
  queued b
  lengthen() { head -c 140000 /dev/zero | tr '\0' x | cat <(printf '1 s 1 1 1 ') - | redis -x hset "$info" "$1"; }
  lengthen a
  lengthen b
  is "$(acquire c)" 0 0 -1 '[0-9]*' 1 '' 0
  is "$(check a)" 1 0 '' x
  is "$(renew a)" 1 0 '[0-9a-f]*'
  is "$(inspect)" held '' '[0-9]*' '[0-9]*' 1 '[0-9]*' '' '' x
  is "$(script release '' '' 0 1)" 1
  until_true 10 heard b g
  claimed_by b
  is "$(acquire b)" 1 '[0-9]*'
}

@test "acquire queues behind all, and again at the same place" {
  local first
  acquire a
  first=$(acquire b 30000 0)
  is "$first" 0 '[1-9]*' 0 '[0-9]*' 1 '1 s *' 0
  is "$(acquire c 30000 0)" 0 '[1-9]*' 1 '[0-9]*' 1 '1 s *' 0
  is "$(acquire b 30000 0)" 0 "$(line 2 <<<"$first")" 0 '[0-9]*' 1 '1 s *' 0
  waiting 2
}

@test "acquire with an earlier ticket queues where it stood before" {
  local ticket
  acquire a
  ticket=$(acquire b 30000 0 | line 2)
  acquire c 30000 0
  redis zrem "rlock:q:{rlock:$key}" b
  is "$(acquire b 30000 "$ticket")" 0 "$ticket" 0 '[0-9]*' 1 '1 s *' 0
  is "$(redis zrange "rlock:q:{rlock:$key}" 0 -1)" b c
}

@test "acquire of a free lock overtakes no living waiter" {
  acquire a
  queued b
  redis del "rlock:$key"
  # The lock is handed to b; c hears who has it now.
  is "$(acquire c)" 0 0 -1 '[0-9]*' 1 '1 s *' 0
  [ "$(holder)" = b ]
  until_true 10 heard b g
}

@test "acquire of the first waiter takes a free lock" {
  acquire a
  queued b
  queued c
  redis del "rlock:$key"
  is "$(acquire b 30000 0)" 1 '[1-9]*'
  [ "$(holder)" = b ]
  waiting 1
}

@test "acquire skips the dead" {
  local i
  acquire a
  for i in $(seq 50); do acquire "dead$i" 30000 0 >/dev/null; done
  waiting 50
  redis del "rlock:$key"
  is "$(acquire b)" 1 '[1-9]*'
  waiting 0
  is "$(records)" a b
}

@test "acquire of a token with a tombstone returns -1 and does nothing" {
  acquire a
  is "$(release a)" 1 ''
  is "$(acquire a)" -1
  is "$(acquire a 30000 0)" -1
  is_free
  waiting 0
}

@test "acquire says of a foreign holder that it is not known" {
  redis set "rlock:$key" theirs px 5000
  is "$(acquire a)" 0 0 -1 '[1-4][0-9][0-9][0-9]' 0 '' 0
  redis persist "rlock:$key"
  is "$(acquire a 30000 0)" 0 '[1-9]*' 0 -1 0 '' 0
  redis del "rlock:$key"
  # Other data, not a lock.
  redis hset "rlock:$key" field value
  is "$(acquire a)" 0 0 -1 -1 -2 '' 0
  [ "$(redis hget "rlock:$key" field)" = value ]
}

@test "fences grow across locks lost, released and flushed" {
  acquire a >>replies
  release a
  acquire b >>replies
  redis del "rlock:$key"
  acquire c >>replies
  redis flushall
  acquire d >>replies
  # A fence ahead of the clock stays ahead.
  setup_names
  redis set "$fence" 9000000000000000
  release d
  acquire e >>replies
  release e
  acquire f >>replies
  grep -vxe 1 -e '' replies | sort -cnu
  [ "$(grep . replies | tail -1)" = 9000000000000002 ]
}

@test "release releases, says who held, and leaves a tombstone of the token" {
  acquire a
  is "$(release a 12345)" 1 ''
  is_free
  setup_names
  [ "$(redis exists "$info" "$queue")" = 0 ]
  [ "$(redis pttl "rlock:t:{rlock:$key}:a")" -gt 10000 ]
}

@test "release with another's token touches nothing of the holder's" {
  acquire a
  is "$(release b)" 0 ''
  [ "$(holder)" = a ]
  is "$(acquire a)" 1 '[1-9]*'
}

@test "release of a lock that nobody holds returns -1" {
  is "$(release a)" -1 ''
  is "$(acquire a)" -1
}

@test "release takes a waiter out of the queue" {
  acquire a
  queued b
  queued c
  is "$(release b)" 0 ''
  [ "$(redis zrange "rlock:q:{rlock:$key}" 0 -1)" = c ]
  setup_names
  [ -z "$(redis hget "$info" b)" ]
  is "$(acquire b 30000 0)" -1
}

@test "a waiter that leaves a lock which has lapsed hands it to the next" {
  acquire a
  queued b
  queued c
  redis del "rlock:$key"
  is "$(release b)" -1 ''
  claimed_by c
  until_true 10 heard c g
}

@test "release with force releases whoever holds, and says whom" {
  acquire a
  is "$(release '' 10000 1)" 1 '1 s * 7 host ann '
  is_free
  redis set "rlock:$key" theirs
  is "$(release '' 10000 1)" 1 ''
  is "$(release '' 10000 1)" -1 ''
  redis rpush "rlock:$key" theirs
  is "$(release '' 10000 1)" -2 ''
  [ "$(redis lrange "rlock:$key" 0 -1)" = theirs ]
}

@test "release of a key of another type returns 0, and does not touch it" {
  redis rpush "rlock:$key" theirs
  is "$(release a)" 0 ''
  [ "$(redis lrange "rlock:$key" 0 -1)" = theirs ]
}

hands_over() {
  local fence_before token
  acquire a
  for token in b c d e f; do queued $token; done
  setup_names
  fence_before=$(redis get "$fence")
  release_and a "pttl $lock" >released
  cat released
  is "$(<released)" 1 '' '[0-9]*'
  [ "$(line 3 <released)" -le 1000 ]
  claimed_by b
  is "$(redis zrange "$queue" 0 -1)" c d e f
  is "$(records)" b c d e f
  [ "$(redis get "$fence")" -gt "$fence_before" ]
  until_true 10 heard b g
  until_true 10 heard e 'h 700'
  # The confirmation is an acquire: the fence of the hand-off, the whole lease.
  is "$(acquire b 60000)" 1 "$(redis get "$fence")"
  [ "$(redis pttl "$lock")" -gt 30000 ]
  for token in c d f; do heard $token 1; done
}
@test "release hands the lock to the first waiter, tells it, and tells who has come to be among the first three" {
  both_ways hands_over
}

@test "who has come to be among the first three is told, whichever way those ahead went" {
  local token
  acquire a
  for token in b c d e f g; do queued $token; done
  # One gives up.
  release c
  until_true 10 heard e 'h 700'
  heard f 1
  # One behind them gives up.
  release f
  # Two die, and the lock is taken by the one behind them.
  kill "${background_pids[0]}" "${background_pids[2]}"
  until_true 10 eval '! is_heard b && ! is_heard d'
  redis del "rlock:$key"
  is "$(acquire e 30000 0)" 1 '[1-9]*'
  until_true 10 heard g 'h 500'
}

skips_the_dead() {
  local i
  acquire a
  for i in $(seq 10); do acquire "dead$i" 30000 0 >/dev/null; done
  queued b
  queued late
  release a
  claimed_by b
  [ "$(redis zrange "rlock:q:{rlock:$key}" 0 -1)" = late ]
  is "$(records)" b late
  until_true 10 heard late 'h 500'
}
@test "release skips the dead and hands to the first living one" { both_ways skips_the_dead; }

# gone_records: of clients that are no more.
gone_records() {
  local i
  for i in $(seq 30); do redis hset "rlock:i:{rlock:$key}" "gone$i" '1 s 1 1 1 7 host ann ' >/dev/null; done
}

@test "records that nobody will read any more are swept out when a lock is acquired that has lapsed" {
  acquire a
  gone_records
  queued b
  queued c
  queued d
  redis del "rlock:$key"
  acquire c 30000 0
  is "$(records)" b c d
  # Since when silence counts is not forgotten with them.
  [ "$(redis hexists "rlock:i:{rlock:$key}" @)" = 1 ]
}

@test "so they are where somebody enters beside others who share, whose records stay" {
  local mode=s
  acquire a
  acquire b
  gone_records
  mode=x acquire dead 30000 0
  is "$(acquire c 30000 0)" 1 '[1-9]*'
  is "$(records)" a b c
}

@test "a pattern subscriber does not make a dead waiter live" {
  acquire a
  acquire dead 30000 0
  background redis-cli -s "$sock" psubscribe '*' >patterns
  until_true 10 grep -q psubscribe patterns
  release a
  is_free
}

@test "a waiter that polls is alive while it was seen of late" {
  acquire a
  acquire p 30000 0 p
  release a
  claimed_by p
  # Its last sign of life set back by hours.
  acquire q 30000 0 p
  setup_names
  redis hset "$info" q "1 p 1000000 1000000 0 7 host ann "
  release p
  is_free
}

passes_the_frozen() {
  acquire a
  queued frozen
  queued b
  setup_names
  redis hset "$info" frozen "1 s 1000000 1000000 0 7 host ann "
  release a
  claimed_by b
}
@test "a subscriber that has sent no heartbeat for long is frozen, and is passed" { both_ways passes_the_frozen; }

@test "one that is awake again, and asks before it is passed, has its place" {
  acquire a
  queued frozen
  queued b
  setup_names
  redis hset "$info" frozen "1 s 1000000 1000000 0 7 host ann "
  redis del "$lock"
  is "$(acquire frozen)" 1 '[1-9]*'
}

# ahead TOKEN: for how many seconds from now the waiter counts as heard, a little less being left of them.
ahead() {
  local now
  now=$(redis time | paste -sd ' ' | awk '{printf "%d%06d", $1, $2}')
  awk -v now="$now" '{printf "%.0f", ($3 - now) / 1000000}' <<<"$(redis hget "rlock:i:{rlock:$key}" "$1")"
}

@test "a waiter far behind counts as heard for longer, since it asks more seldom; not one that polls" {
  acquire a
  redis eval "for i = 1, 1000 do redis.call('ZADD', KEYS[1], i, 'before' .. i) end" 1 "rlock:q:{rlock:$key}"
  acquire b 30000 0
  [ "$(ahead b)" -ge 18 ]
  [ "$(ahead b)" -le 20 ]
  acquire p 30000 0 p
  [ "$(ahead p)" -le 0 ]
  redis eval "for i = 1001, 9000 do redis.call('ZADD', KEYS[1], i, 'before' .. i) end" 1 "rlock:q:{rlock:$key}"
  acquire c 30000 0
  [ "$(ahead c)" -ge 97 ]
  [ "$(ahead c)" -le 100 ]
  # Nothing of the queue is gone before its next heartbeat.
  [ "$(redis pttl "rlock:q:{rlock:$key}")" -gt 150000 ]
  [ "$(redis pttl "rlock:i:{rlock:$key}")" -gt 150000 ]
}

# claim_left WAKE [VALUE]: how long is left to a waiter of this kind to confirm where nothing can be published, in
# milliseconds. VALUE: of the key then.
claim_left() {
  redis del "rlock:$key" "rlock:q:{rlock:$key}" "rlock:i:{rlock:$key}" "rlock:t:{rlock:$key}:a"
  acquire a
  acquire b 30000 0 "$1"
  as=(--user silent --pass p --no-auth-warning)
  release a
  as=()
  [ "$(holder)" = "${2:-b}" ]
  left=$(redis pttl "rlock:$key")
}
redis() { redis-cli -s "$sock" "${as[@]}" "$@"; }

@test "where nothing can be published, a subscriber gets the time of a heartbeat to confirm, who polls does not" {
  redis acl setuser silent on '>p' '+@all' -publish '~*' '&*'
  listener b
  claim_left p
  ((left <= 3000))
  redis del "$window"
  claim_left s
  ((3000 < left && left <= 9000))
  by_short_way
  claim_left s
  ((3000 < left && left <= 9000))
  # Of one of several, too.
  local mode=1
  claim_left s rlock:holders:1
  ((3000 < left && left <= 9000))
}

@test "a claim that nobody confirms goes to the next" {
  acquire a
  queued b
  queued c
  release a
  claimed_by b
  # As if the claim had run out.
  redis pexpire "rlock:$key" 1
  until_true 10 is_free
  is "$(acquire c 30000 0)" 1 '[1-9]*'
  is "$(acquire b 30000 0)" 0 '[1-9]*' 0 '[0-9]*' 1 '1 s *' 0
}

@test "renew lengthens the lease of its token, never shortens it, and returns the fence" {
  acquire a 20000
  setup_names
  is "$(renew a 60000)" 1 "$(redis get "$fence")" "$(run_id)"
  [ "$(redis pttl "$lock")" -gt 30000 ]
  is "$(renew a 100)" 1 "$(redis get "$fence")" "$(run_id)"
  [ "$(redis pttl "$lock")" -gt 30000 ]
  [ "$(redis pttl "$info")" -gt 90000 ]
  redis del "$info"
  is "$(renew a)" 1 0 "$(run_id)"
}

@test "check returns the fence and the record of the holder's token, 0 for another's lock, -1 for nobody's; it writes nothing" {
  is "$(check a)" -1 0
  acquire a 20000
  setup_names
  redis pexpire "$lock" 10000
  redis config resetstat
  is "$(check a)" 1 "$(redis get "$fence")" "1 s * $(redis get "$fence") 7 host ann *" x
  [ "$(redis pttl "$lock")" -le 10000 ]
  redis info commandstats | sed 's/:.*//' >called
  run -1 grep -x 'cmdstat_\(set\|pexpire\|hset\|del\|zadd\|publish\)' called
  redis del "$info"
  is "$(check a)" 1 0 '' x
  is "$(check b)" 0 0
  redis del "$lock"
  redis hset "$lock" field value
  is "$(check a)" 0 0
}

@test "release with a hold leaves the lock to nobody, under the same fence, and tells the first waiters" {
  local fence_of_a
  fence_of_a=$(acquire a | line 2)
  queued b
  is "$(hold a 20000)" 1 ''
  [ "$(holder)" = hold:a ]
  [ "$(redis pttl "rlock:$key")" -le 20000 ]
  [ "$(redis pttl "rlock:$key")" -gt 10000 ]
  setup_names
  is "$(redis hget "$info" hold:a)" "1 h * * $fence_of_a 7 host ann "
  is "$(records)" b hold:a
  until_true 10 heard b 'h *[0-9]*'
  is "$(acquire b 30000 0)" 0 '[1-9]*' 0 '[12]*' 1 "1 h * * $fence_of_a 7 host ann " 0
  # The same again, and all that this token could still say.
  is "$(hold a 90000)" 0
  is "$(release a)" 0
  is "$(renew a 90000)" 0 1
  is "$(check a)" 0 1
  is "$(acquire a 90000)" -1
  [ "$(holder)" = hold:a ]
  [ "$(redis pttl "rlock:$key")" -le 20000 ]
  is "$(release other 10000 1)" 1 "1 h * * $fence_of_a 7 host ann "
  claimed_by b
}

@test "release with a hold of a lock that is not held holds nothing" {
  is "$(hold a 20000)" -1
  is_free
  acquire b
  is "$(hold a 20000)" 0
  [ "$(holder)" = b ]
}

@test "release of a run keeps how it ended, and when one last succeeded" {
  local success
  acquire a
  run_ended a 3
  setup_names
  is "$(redis get "$last")" "1 0 0 0 [0-9]* [0-9]* 3 42 0 7 host ann "
  acquire b
  run_ended b 0 5000
  success=$(redis get "$last" | cut -d' ' -f5,6)
  is "$(redis get "$last")" "1 5000 = = $success 0 42 5000 7 host ann "
  for token in c d; do
    acquire "$token"
    run_ended "$token" -9
    is "$(redis get "$last")" "1 5000 $success [0-9]* [0-9]* -9 42 0 7 host ann "
  done
  # Who does not hold has not run.
  acquire e
  run_ended f 0
  release e
  is "$(redis get "$last")" "1 5000 $success [0-9]* [0-9]* -9 42 0 7 host ann "
}

@test "acquire with a once that is satisfied changes nothing, whoever holds" {
  local before
  is "$(once a 5000)" 1 '[1-9]*'
  run_ended a 0
  before=$(redis keys "rlock:*{rlock:$key}*" | sort)
  is "$(once b 60000)" 2 '[0-9]*' '1 0 = = *'
  is "$(once b 60000 0)" 2 '[0-9]*' '1 0 = = *'
  [ "$(redis keys "rlock:*{rlock:$key}*" | sort)" = "$before" ]
  is_free
  acquire c
  is "$(once b 60000 0)" 2 '[0-9]*' '1 0 = = *'
  is "$(once c 60000)" 2 '[0-9]*' '1 0 = = *'
  [ "$(holder)" = c ]
  waiting 0
}

@test "a clock that was set back for longer than the once keeps nobody from running, a little keeps it" {
  local now
  setup_names
  now=$(redis time | head -1)
  redis set "$last" "1 0 = = $((now + 3600)) 1 0 42 0 7 host ann "
  is "$(once a 9000000)" 2 0 '1 0 = = *'
  is "$(once a 3000000)" 1 '[1-9]*'
}

sends_home() {
  local token
  acquire a
  for token in b c; do
    listener "$token"
    once "$token" 60000 0
  done
  queued d
  listener e
  once e 60000 0
  run_ended a 0
  for token in b c d; do until_true 10 heard "$token" g; done
  claimed_by d
  waiting 1
  is "$(records)" d e
}
@test "a run that succeeded sends home who waits for it with a once, and the next gets the lock" { both_ways sends_home; }

@test "a run that failed hands the lock to who waits for it with a once" {
  acquire a
  listener b
  once b 60000 0
  run_ended a 1
  claimed_by b
  is "$(once b 60000 0)" 1 '[1-9]*'
}

@test "who waits with a once has its turn after a lease that lapsed, too" {
  acquire a
  listener b
  once b 60000 0 >/dev/null
  redis del "rlock:$key"
  is "$(acquire c)" 0 0 -1 '[0-9]*' 1 '1 s *' 0
  claimed_by b
}

@test "renew of another's lock returns 0, of nobody's -1" {
  is "$(renew a)" -1 0
  is_free
  acquire b 20000
  is "$(renew a 60000)" 0 0
  [ "$(redis pttl "rlock:$key")" -le 20000 ]
  redis del "rlock:$key"
  redis hset "rlock:$key" field value
  is "$(renew a)" 0 0
  [ "$(redis pttl "rlock:$key")" = -1 ]
}

@test "renew and check tell a token that was released, whoever has the lock now" {
  acquire a
  release a
  is "$(renew a)" -1 1
  is "$(check a)" -1 1
  acquire b
  is "$(renew a)" 0 1
  is "$(check a)" 0 1
  is "$(renew c)" 0 0
}

@test "renew by one that waits leaves it in the queue" {
  acquire a
  acquire b 30000 0
  is "$(renew b)" 0 0
  waiting 1
}

@test "inspect tells free, held and foreign, and lists the queue in order" {
  is "$(inspect)" free '' -2 '[1-9]*' 0 '' '' x
  acquire a 20000
  is "$(inspect)" held '1 s *' '[0-9]*' '[1-9]*' 0 '' '' x
  local b c
  b=$(acquire b 30000 0 | line 2)
  c=$(acquire c 30000 0 | line 2)
  is "$(inspect)" held '1 s *' '[0-9]*' '[1-9]*' 2 "$b" '1 s *' "$c" '1 s *' '' x
  is "$(inspect 1)" held '1 s *' '[0-9]*' '[1-9]*' 2 "$b" '1 s *' '' x
  redis set "rlock:$key" theirs
  is "$(inspect 1)" foreign '' -1 '[1-9]*' 2 "$b" '1 s *' '' x
  redis del "rlock:$key"
  redis rpush "rlock:$key" theirs
  [ "$(inspect | head -1)" = data ]
  redis del "rlock:$key" "rlock:q:{rlock:$key}"
  acquire d
  run_ended d 0
  is "$(inspect)" free '' -2 '[1-9]*' 0 '' '1 0 = = *' x
}

@test "inspect writes nothing" {
  acquire a
  acquire dead 30000 0
  redis config set maxmemory 1
  inspect
  redis config set maxmemory 0
  waiting 1
  local before
  before=$(redis info persistence | grep rdb_changes)
  inspect
  [ "$(redis info persistence | grep rdb_changes)" = "$before" ]
}

@test "a lock deleted under its holder is handed over, not kept" {
  acquire a
  redis del "rlock:$key"
  queued b
  [ "$(holder)" = b ]
  is "$(renew a)" 0 0
  is "$(release a)" 0 ''
  [ "$(holder)" = b ]
}

@test "no side key outlives its use by more than a day" {
  acquire a 20000
  queued b
  release a
  local name
  setup_names
  for name in "$lock" "$queue" "$info" "$fence" "rlock:t:{rlock:$key}:a"; do
    [ "$(redis exists "$name")" = 0 ] || [ "$(redis pttl "$name")" -gt 0 ]
    [ "$(redis pttl "$name")" -le 86400000 ]
  done
}

@test "reclaim restores the lock, its fence and its record on a server that has forgotten them" {
  is "$(reclaim a 1234)" 1 1234 "$(run_id)"
  setup_names
  [ "$(holder)" = a ]
  [ "$(redis pttl "$lock")" -gt 20000 ]
  [ "$(redis get "$fence")" = 1234 ]
  [ "$(redis pttl "$fence")" -gt 80000000 ]
  is "$(redis hget "$info" a)" "1 s * 1234 7 host ann "
  [ "$(redis pttl "$info")" -gt 30000 ]
  # Sent again, it changes nothing but the end of the lease.
  redis pexpire "$lock" 10000
  is "$(reclaim a 1234)" 1 1234 "$(run_id)"
  [ "$(redis pttl "$lock")" -gt 20000 ]
  is "$(reclaim a 1234 before 5000)" 1 1234 "$(run_id)"
  [ "$(redis pttl "$lock")" -gt 20000 ]
  # The fence goes on from there.
  is "$(release a)" 1 ''
  [ "$(acquire b | line 2)" -gt 1234 ]
}

@test "reclaim keeps the waiters that came since the restart, and the lock goes to the first of them" {
  acquire gone
  queued b
  redis del "rlock:$key" "rlock:f:{rlock:$key}"
  is "$(reclaim a 1234)" 1 1234 "$(run_id)"
  waiting 1
  is "$(release a)" 1 ''
  claimed_by b
}

@test "reclaim of a lock that was deleted on a server that did not restart says that nobody holds it" {
  is "$(reclaim a 1234 "$(run_id)")" -1 0
  is_free
}

@test "reclaim before the first renewal goes by the fence, which is older than the server where that restarted" {
  local now
  is "$(reclaim a 1234 '')" 1 1234 "$(run_id)"
  redis del "rlock:$key" "rlock:f:{rlock:$key}"
  now=$(redis time | head -1)
  is "$(reclaim a "${now}000000" '')" -1 0
  is_free
}

@test "acquire says which run of the server it is only under a grace" {
  local fence
  fence=$(acquire a | line 2)
  is "$(acquire a)" 1 "$fence"
  is "$(acquire a 30000 '' s '7 host ann ' '1 0')" 1 "$fence" "$(run_id)"
}

@test "a free lock is kept for as long as the caller says, without a look at the server" {
  redis acl setuser noinfo reset on nopass '~*' '&*' +@all -info
  redis() { redis-cli -s "$sock" --user noinfo --pass x --no-auth-warning "$@"; }
  is "$(acquire a 30000 '' s '7 host ann ' '0 250')" 0 0 -1 250 1 "" 250
  is_free
  [ "$(acquire a 30000 '' s '7 host ann ' '0 0' | line 1)" = 1 ]
}

@test "reclaim after somebody else held the lock says that it is lost" {
  acquire b
  is "$(reclaim a 1234)" 0 0
  [ "$(holder)" = b ]
  release b
  is "$(reclaim a 1234)" -1 0
  is_free
  # Also where the clock stands behind our fence.
  is "$(reclaim a "$(($(redis time | head -1) + 3600))000000")" -1 0
  redis set "rlock:f:{rlock:$key}" no-fence
  is "$(reclaim a 1234)" -1 0
}

@test "reclaim takes no notice of a fence from before the server started" {
  redis set "rlock:f:{rlock:$key}" 1000
  is "$(reclaim a 1234)" 1 1234 "$(run_id)"
  [ "$(redis get "rlock:f:{rlock:$key}")" = 1234 ]
  redis del "rlock:$key"
  # Its own fence is not above itself.
  is "$(reclaim a 1234)" 1 1234 "$(run_id)"
  redis del "rlock:$key"
  redis set "rlock:f:{rlock:$key}" 1235
  is "$(reclaim a 1234)" -1 0
}

@test "reclaim on a promoted server takes no notice of a fence that is older than ours, however long it has been up" {
  local ours
  acquire before
  release before
  ours=$(($(redis get "rlock:f:{rlock:$key}") + 1000))
  is "$(reclaim a "$ours")" -1 0
  is "$(other=1 reclaim a "$ours" "$(run_id)")" -1 0
  is "$(other=1 reclaim a "$ours" '')" 1 "$ours" "$(run_id)"
  redis del "rlock:$key"
  redis set "rlock:f:{rlock:$key}" $((ours - 1))
  is "$(other=1 reclaim a "$ours")" 1 "$ours" "$(run_id)"
  release a
  acquire since
  release since
  is "$(other=1 reclaim b "$ours")" -1 0
}

@test "reclaim takes a missing fence for nobody only as long as somebody's would still be there" {
  local away=900000
  is "$(reclaim a 1234)" -1 0
  is "$(other=1 reclaim a 1234)" -1 0
  is_free
  # One that is there says it at any time.
  redis set "rlock:f:{rlock:$key}" 1234
  is "$(reclaim a 1234)" 1 1234 "$(run_id)"
  redis del "rlock:$key" "rlock:f:{rlock:$key}"
  away=800000
  is "$(reclaim a 1234)" 1 1234 "$(run_id)"
}

@test "reclaim of a released token does nothing" {
  release a
  is "$(reclaim a 1234)" -1 1
  is_free
}

@test "reclaim beside others: whoever comes back first, all do, until somebody else has come" {
  local mode=3 second own
  for other in '' 1; do
    key=key-reclaim-$other
    # A server counts its uptime in seconds: fences of the second in which it started are not known to be older.
    second=$(redis time | head -1)00000
    own=$(run_id)
    is "$(reclaim c "${second}3")" 1 "${second}3" "$own"
    is "$(reclaim a "${second}1")" 1 "${second}1" "$own"
    is "$(release c)" 1 ''
    is "$(reclaim b "${second}2")" 1 "${second}2" "$own"
    is "$(release a)" 1 ''
    is "$(release b)" 1 ''
    is "$(reclaim f "${second}1")" 1 "${second}1" "$own"
    is "$(reclaim g "${second}1")" 1 "${second}1" "$own"
    [ "$(redis get "rlock:f:{rlock:$key}")" = "${second}3" ]
    acquire d
    is "$(release d)" 1 ''
    is "$(reclaim e "${second}0")" 0 0
    [ "$(redis zcard "rlock:h:{rlock:$key}")" = 2 ]
  done
}

@test "reclaim on a full server writes nothing" {
  redis config set maxmemory 1
  run reclaim a 1234
  [[ $output == *OOM* ]]
  redis config set maxmemory 0
  is_free
  [ "$(redis exists "rlock:f:{rlock:$key}" "rlock:i:{rlock:$key}")" = 0 ]
}

@test "out of memory: nobody acquires, but the holder renews and releases, and the next has the lock" {
  acquire a 20000
  queued b
  redis config set maxmemory 1
  # Busy needs no memory to be said.
  is "$(acquire c)" 0 0 -1 '[0-9]*' 1 '1 s *' 0
  run acquire c 30000 0
  [[ $output == *OOM* ]]
  is "$(renew a 60000)" 1 '[1-9]*' "$(run_id)"
  [ "$(redis pttl "rlock:$key")" -gt 30000 ]
  is "$(release a)" 1 ''
  claimed_by b
  until_true 10 heard b g
  is "$(acquire b 30000)" 1 '[1-9]*'
  is "$(release b)" 1 ''
  is_free
  run acquire c
  [[ $output == *OOM* ]]
  is_free
  redis config set maxmemory 0
}

@test "a fence lives until the clock has caught up with it, and a day more; the first of a name a quarter of an hour" {
  local left
  setup_names
  acquire a
  left=$(redis pttl "$fence")
  ((800000 < left && left <= 900000))
  release a
  acquire b
  left=$(redis pttl "$fence")
  ((86000000 < left && left <= 86400000))
  release b
  # The clock was three days ahead when it was given out.
  redis set "$fence" $(($(redis time | head -1) + 3 * 86400))000000
  acquire c
  left=$(redis pttl "$fence")
  ((4 * 86390000 < left && left <= 4 * 86400000))
}

@test "what is no fence is replaced by the time" {
  local value now
  setup_names
  for value in inf nan -1 1e300 0x7fffffffffff 9007199254740991 9007199254740992 99999999999999999999 '' ' 1' garbage; do
    redis set "$fence" "$value"
    now=$(redis time | head -1)
    is "$(acquire "a$value")" 1 "$(redis get "$fence")"
    (("$(redis get "$fence")" / 1000000 - now < 60))
    is "$(release "a$value")" 1 ''
  done
}

@test "a side key of another type is an error, and nothing was written before it" {
  setup_names
  redis rpush "$fence" x
  run acquire a
  [[ $output == *WRONGTYPE* ]]
  is_free
  redis del "$fence"
  redis set "$queue" x
  run acquire a
  [[ $output == *WRONGTYPE* ]]
  is_free
  redis del "$queue"
  acquire a
  acquire b 30000 0
  redis del "$lock" "$info"
  redis set "$info" x
  run acquire b 30000 0
  [[ $output == *WRONGTYPE* ]]
  is_free
  redis del "$queue" "$info"
  acquire c
  redis set "$info" x px 60000
  is "$(renew c 60000)" 1 0 "$(run_id)"
  [ "$(redis pttl "$lock")" -gt 30000 ]
}

@test "a full server grants nothing, whoever stands dead in the queue" {
  acquire a
  acquire dead 30000 0
  redis del "rlock:$key"
  redis config set maxmemory 1
  run acquire b
  [[ $output == *OOM* ]]
  is_free
  waiting 1
  redis config set maxmemory 0
  is "$(acquire b)" 1 '[1-9]*'
  waiting 0
}

@test "a lock that somebody made endless stays so" {
  acquire a
  redis persist "rlock:$key"
  is "$(renew a)" 1 '[1-9]*' "$(run_id)"
  is "$(acquire a)" 1 '[1-9]*'
  [ "$(redis pttl "rlock:$key")" = -1 ]
}

@test "a value that is no token is not read whole, and an empty one holds too" {
  redis setrange "rlock:$key" 50000000 x
  redis config resetstat
  is "$(acquire a)" 0 0 -1 -1 -2 '' 0
  is "$(renew a)" 0 0
  is "$(release a)" 0 ''
  [ "$(inspect | head -1)" = data ]
  [ "$(redis info stats | sed -n 's/^total_net_output_bytes:\([0-9]*\).*/\1/p')" -lt 1000000 ]
  [ "$(redis info commandstats | grep -c '^cmdstat_get:')" = 0 ]
  redis set "rlock:$key" ''
  is "$(acquire b)" 0 0 -1 -1 0 '' 0
  is "$(release b)" 0 ''
  [ "$(redis exists "rlock:$key")" = 1 ]
}

@test "the clock of the server steps back: who comes later stands behind all the same" {
  local ahead ticket
  acquire a
  # As if it had come by a clock an hour ahead.
  ahead=$(($(redis time | head -1) + 3600))000000
  redis zadd "rlock:q:{rlock:$key}" "$ahead" early
  ticket=$(acquire b 30000 0 | line 2)
  [ "$ticket" = $((ahead + 1)) ]
  [ "$(acquire c 30000 0 | line 2)" = $((ahead + 2)) ]
  is "$(redis zrange "rlock:q:{rlock:$key}" 0 -1)" early b c
}

@test "the clock of the server steps forward: nobody is silent for that" {
  acquire a
  queued b
  queued c
  setup_names
  # As if all that was written an hour ago were the last there was.
  local hour_ago=$(($(redis time | head -1) - 3600))000000
  redis hset "$info" b "1 s $hour_ago $hour_ago 0 7 host ann " c "1 s $hour_ago $hour_ago 0 7 host ann " '@' "$hour_ago 0"
  # The first who is heard since.
  acquire c 30000 0
  release a
  claimed_by b
}

# at MS ACTION...: under a clock that stands there.
at() {
  clock_at "$1"
  shift
  "$@"
}
# stood_before N TOKEN: N who are dead stand before this one.
stood_before() {
  redis eval "local ticket = redis.call('ZSCORE', KEYS[1], ARGV[1])
    for i = 1, $1 do redis.call('ZADD', KEYS[1], ticket - $1 + i - 1, 'before' .. i) end" 1 "rlock:q:{rlock:$key}" "$2"
}
look() { acquire "$1" 30000 "$(redis zscore "rlock:q:{rlock:$key}" "$1")" >/dev/null; }

@test "where all who live are far behind, those who are frozen at the head are passed all the same" {
  at 100000000 acquire a 10000000
  queued frozen
  at 100000100 queued far
  stood_before 600 far
  look far
  # As seldom as it asks, and no clock has stepped.
  at 100013900 look far
  at 100028300 look far
  at 100042700 look far
  # Of so many dead, each call looks at some.
  until_true 0 eval 'release a && claimed_by far'
}

@test "the clock of the server steps forward by half a minute: nobody is silent for that, if some wait far behind too" {
  at 100000000 acquire a 10000000
  queued near
  at 100000100 queued far
  stood_before 600 far
  look far
  # The server stood still once, and all but one are heard again.
  at 100030000 look far
  look near
  at 100032000 look far
  at 100062000 look far
  release a
  claimed_by near
}

@test "a heartbeat of one far behind counts, though it comes when the last one ceases to" {
  at 100000000 acquire a 10000000
  at 99990000 queued far
  stood_before 600 far
  at 100000100 look far
  # As late as it said.
  at 100012100 look far
  redis zremrangebyrank "rlock:q:{rlock:$key}" 0 599
  at 100012200 queued b
  at 100019000 look b
  at 100026000 look b
  at 100033000 look b
  release a
  claimed_by far
}

@test "the clock of the server steps back to before its start: the grace lasts, and a lock can be reclaimed" {
  prelude="local real, redis = redis, {}
    setmetatable(redis, {__index = real})
    function redis.pcall(name, ...)
      if name == 'INFO' then return 'run_id:now\r\nuptime_in_seconds:-3590\r\n' end
      return real.pcall(name, ...)
    end
    "
  is "$(acquire b 30000 '' s '7 host ann ' '5000 0')" 0 0 -1 '[56][0-9][0-9][0-9]' 1 '' '[56][0-9][0-9][0-9]'
  is "$(reclaim a "$(($(redis time | head -1) + 3000))000000")" 1 '[1-9]*' now
}

# stepped UPTIME SECONDS: the server says that it is up for UPTIME, and that it is so many SECONDS after 100,000.
stepped() {
  prelude="local real, redis = redis, {}
    setmetatable(redis, {__index = real})
    function redis.call(name, ...)
      if name == 'TIME' then return {'$((100000 + $2))', '0'} end
      return real.call(name, ...)
    end
    function redis.pcall(name, ...)
      if name == 'INFO' then return 'run_id:${run:-now}\\r\\nuptime_in_seconds:$1\\r\\n' end
      return real.pcall(name, ...)
    end
    "
}
# is_kept MILLISECONDS: a free lock, under a grace of 5 s.
is_kept() { is "$(acquire kept 30000 '' s '7 host ann ' '5000 0')" 0 0 -1 "$1" 1 '' "$1"; }

@test "the clock of the server steps back to before its start: the grace counts from the first look, and no longer" {
  stepped -3590 0
  is_kept 6000
  stepped -3586 4
  is_kept 2000
  stepped -3584 6
  is "$(acquire b 30000 '' s '7 host ann ' '5000 0')" 1 '[1-9]*' now
  # Who releases it takes nothing of that away; nor is a small uptime, after an hour, that of a young server.
  release b
  is "$(acquire c 30000 '' s '7 host ann ' '5000 0')" 1 '[1-9]*' now
  release c
  stepped 2 3592
  is "$(acquire d 30000 '' s '7 host ann ' '5000 0')" 1 '[1-9]*' now
  release d
  setup_names
  [ "$(redis pttl "rlock:t:{rlock:$key}:@up")" -gt 3590000 ]
  # Another step, and another run, are young again.
  stepped -3593 -3
  is_kept 6000
  run=next stepped -3590 20
  is_kept 6000
}

@test "raise leaves no records that stay for ever" {
  acquire a
  setup_names
  redis del "$info"
  is "$(script raise a a 9000000000000000)" 1
  [ "$(redis pttl "$info")" -gt 60000 ]
  [ "$(redis pttl "$info")" -lt 100000 ]
}

@test "a record that is not understood is that of a living waiter as long as it has subscribed" {
  acquire a
  queued b
  setup_names
  redis hset "$info" b '2;{"of":"a later version"}'
  release a
  claimed_by b
}

@test "who returns to a queue that is gone calls all the others" {
  acquire a
  queued b
  local ticket
  ticket=$(redis zscore "rlock:q:{rlock:$key}" b)
  background redis-cli -s "$sock" subscribe "rlock:w:{rlock:$key}" >all
  until_true 10 grep -qx 1 all
  # There it stands.
  acquire b 30000 "$ticket"
  redis del "rlock:q:{rlock:$key}"
  acquire b 30000 "$ticket"
  until_true 10 grep -qx r all
  [ "$(grep -cx r all)" = 1 ]
}

@test "a free lock whose queue was lost is left free for a moment, for the waiters to come back in their order" {
  local earlier later
  acquire a
  queued b
  queued c
  earlier=$(redis zscore "rlock:q:{rlock:$key}" b)
  later=$(redis zscore "rlock:q:{rlock:$key}" c)
  redis del "$lock" "$queue" "$info"
  at 100000000 acquire c 30000 "$later" >was
  is "$(cat was)" 0 "$later" 0 100 -3 '' 0
  [ "$(redis pttl "$window")" -le 100 ]
  # However slow the test is.
  redis set "$window" '100000100 60000'
  # Nor do others have it in that time.
  is "$(at 100000050 acquire d)" 0 0 -1 50 -3 '' 0
  is "$(at 100000090 acquire b 30000 "$earlier")" 0 "$earlier" 0 10 -3 '' 0
  is "$(at 100000101 acquire c 30000 "$later")" 0 "$later" 0 '*' 1 '1 s *' 0
  [ "$(holder)" = b ]
}

@test "a look so soon after the last writes nothing" {
  acquire a
  acquire b 30000 0
  local before
  before=$(redis info persistence | grep rdb_changes)
  acquire b 30000 "$(redis zscore "rlock:q:{rlock:$key}" b)"
  [ "$(redis info persistence | grep rdb_changes)" = "$before" ]
}

@test "a replica's word that a lock is busy, or lost, is none" {
  local words
  acquire a
  redis replicaof 127.0.0.1 1
  words=$(acquire b) || true
  is "$words" '*READONLY*' || { redis replicaof no one && false; }
  words=$(renew b) || true
  redis replicaof no one
  is "$words" '*READONLY*'
}

@test "raise lets a holder's fence, and all that follow, be larger" {
  raise() { script raise "$1" "$1" "$2"; }
  is "$(raise a 9000000000000000)" -1
  acquire a
  is "$(raise b 9000000000000000)" 0
  is "$(raise a 9000000000000000)" 1
  is "$(redis get "$fence")" 9000000000000000
  is "$(acquire a)" 1 9000000000000000
  is "$(renew a)" 1 9000000000000000 "$(run_id)"
  [[ $(redis hget "$info" a) == '1 s '*' 9000000000000000 7 host ann ' ]]
  # Lower than the last: that one stays.
  is "$(raise a 8000000000000000)" 1
  is "$(redis get "$fence")" 9000000000000000
  release a
  is "$(acquire b)" 1 9000000000000001
}

@test "a token that is released without a tombstone may come again" {
  acquire a
  is "$(release a 0)" 1 ''
  [ "$(redis exists "rlock:t:{rlock:$key}:a")" = 0 ]
  [ "$(acquire a | head -1)" = 1 ]
  release a
  is "$(acquire a)" -1
}

young_vote() {
  acquire a
  queued b
  is "$(script release a a 10000 '' '3600000 0' 1)" 1 ''
  [ "$(redis exists "$lock")" = 0 ]
  acquire c
  release c
  # One that is alone does, since its holder was there.
  acquire d
}
@test "one of several servers hands nothing to a waiter while it is young" { both_ways young_vote; }

# Under a clock that stands, at $1 ms.
clock_at() {
  prelude="local real, redis = redis, {}
    setmetatable(redis, {__index = real})
    function redis.call(name, ...)
      if name == 'TIME' then return {'$(($1 / 1000))', '$(($1 % 1000))000'} end
      return real.call(name, ...)
    end
    "
}
# beside_is SINCE AFTER
beside_is() {
  [ "$(redis get "rlock:b:{rlock:$key}")" = "$*" ] || {
    echo "window: $(redis get "rlock:b:{rlock:$key}")" >&2
    return 1
  }
}
# Where a library was seen, and rlocks have had the lock for themselves since second 100.
beside_library() {
  clock_at 100000
  acquire a
  queued b
  queued c
  setup_names
  redis set "$window" '100000 2000' px 60000
}

@test "beside libraries: after two seconds a release leaves the lock free, and the first waiters are told to look" {
  beside_library
  clock_at 102000
  is "$(release a)" 1 ''
  is_free
  beside_is 102300 2000
  [ "$(redis pttl "$window")" -le 60000 ]
  until_true 10 heard b 'h 0'
  until_true 10 heard c 'h 400'
}

@test "beside libraries: nobody acquires the lock in that time, then the first of the queue does" {
  beside_library
  clock_at 102000
  release a
  clock_at 102299
  is "$(acquire d)" 0 0 -1 1 -3 '' 0
  is "$(acquire d 30000 0)" 0 '[1-9]*' 2 1 -3 '' 0
  is "$(acquire b 30000 0)" 0 '[1-9]*' 0 1 -3 '' 0
  is "$(release d)" -1 ''
  is_free
  clock_at 102300
  is "$(acquire b 30000 0)" 1 '[1-9]*'
  # From here on it counts anew.
  release b
  claimed_by c
  beside_is 102300 2000
}

@test "beside libraries: who comes in that time hands the lock over when it is past" {
  beside_library
  clock_at 102000
  release a
  clock_at 102300
  is "$(acquire d)" 0 0 -1 '[0-9]*' 1 '1 s *' 0
  claimed_by b
}

@test "beside libraries: where all who wait are dead, a newcomer has the lock at once" {
  beside_library
  clock_at 102000
  release a
  kill "${background_pids[@]}"
  until_true 10 eval '! is_heard b && ! is_heard c'
  is "$(acquire d)" 1 '[1-9]*'
}

@test "beside libraries: sooner, the lock goes to the first of the queue; an empty queue does not start the time anew" {
  beside_library
  clock_at 101999
  release a
  claimed_by b
  release b
  claimed_by c
  release c
  is_free
  clock_at 105000
  acquire d
  queued e
  release d
  is_free
}

@test "beside libraries: a waiter that cannot be told has the lock; so has one of several servers' votes" {
  beside_library
  clock_at 102000
  redis acl setuser silent on '>p' '+@all' -publish '~*' '&*'
  as=(--user silent --pass p --no-auth-warning)
  release a
  as=()
  claimed_by b
  beside_is 100000 2000
  script release b b 10000 '' '' 1
  claimed_by c
}

@test "beside libraries: a clock that steps back leaves the lock free no longer, and counts anew" {
  beside_library
  clock_at 102000
  release a
  clock_at 50000
  is "$(acquire b 30000 0)" 1 '[1-9]*'
  release b
  claimed_by c
  beside_is 50000 2000
}

@test "a library is noted where an acquire meets it, once" {
  clock_at 100000
  setup_names
  redis set "$lock" theirs px 60000
  acquire a
  beside_is 100000 2000
  local before
  before=$(redis info persistence | grep rdb_changes)
  clock_at 103000
  acquire a
  [ "$(redis info persistence | grep rdb_changes)" = "$before" ]
  # It was only supposed before: the time goes on.
  redis set "$window" '90000 60000' px 60000
  acquire a 30000 0
  beside_is 90000 2000
  redis del "$lock"
  redis hset "$lock" field value
  redis del "$window"
  acquire a
  beside_is 103000 2000
}

# seldom_left_free: rlocks alone, none of which has met a library.
seldom_left_free() {
  clock_at 100000
  acquire a
  queued b
  queued c
  queued d
  release a
  setup_names
  # The first time after two seconds, later once in a minute.
  beside_is 42000 60000
  [ "$(redis pttl "$window")" -gt 3000000 ]
  clock_at 101999
  release b
  beside_is 42000 60000
  [ "$(redis get "$lock")" = c ]
  clock_at 102000
  release c
  [ "$(redis exists "$lock")" = 0 ]
  beside_is 102300 60000
  clock_at 102300
  acquire d 30000 0
  queued e
  clock_at 162299
  release d
  [ "$(redis get "$lock")" = e ]
  queued f
  clock_at 162300
  release e
  [ "$(redis exists "$lock")" = 0 ]
}

@test "a key is left free seldom where no library was met, so that none waits for ever: a key in rlock's own namespace" { seldom_left_free; }
@test "so is a key outside it" { namespace='' seldom_left_free; }

@test "the first of the queue leaves while a library holds: the next one is told, since only the first waits for it" {
  setup_names
  redis set "$lock" theirs
  queued b
  queued c
  release b
  until_true 10 heard c 'h 0'
  # Not for an rlock's lock.
  redis del "$lock" "$queue" "$info"
  acquire a
  queued d
  queued e
  release d
  queued f
  heard e 1
}

# moving NAME TOKEN ARGV...: the script while a Cluster moves the slot, all of its ARGV given. What is not here may be on the
# other node.
moving() {
  local name=$1 token=$2
  shift 2
  setup_names
  redis eval "${prelude-}$(<"${RLOCK%/*}/scripts/$name.lua")" 1 "$lock" "$@" \
    "$queue" "$info" "$fence" "rlock:t:{rlock:$key}:$token" "$last" "$window" "$holders" "${moved:-split}"
}
moving_acquire() { moving acquire "$1" "$1" 30000 "${2-}" c '7 host ann ' '' "${mode:-x}" "${3-}"; }
moving_release() { moving release "$1" "$1" 10000 "${2-}" '' '' '' ''; }
undecided() { is "$("$@")" 'TRYAGAIN *'; }

@test "while a slot moves: who holds with others is not said to have lost the lock, whose holders are elsewhere" {
  local mode=2
  setup_names
  redis set "$lock" rlock:holders:2 px 60000
  undecided moving renew a a 30000
  undecided moving check a a
  undecided moving raise a a 5
  undecided moving reclaim a a 30000 5 before '7 host ann ' '' 2 1
  undecided moving_release a
  undecided moving_release '' 1
  undecided moving_acquire a
  undecided moving_acquire b 0
  [ "$(redis get "$lock")" = rlock:holders:2 ]
  [ "$(redis exists "$queue" "$info" "$fence" "$last" "$window" "$holders")" = 0 ]
}

@test "while a slot moves: nothing is made whose like may be elsewhere: no lock, no fence, no record" {
  setup_names
  undecided moving_acquire a
  undecided moving_acquire a 0
  undecided moving reclaim a a 30000 5 before '7 host ann ' '' x 1
  [ "$(redis exists "$lock" "$queue" "$info" "$fence" "$last" "$window" "$holders")" = 0 ]
  # Handed to it, but its record and its fence are elsewhere: the lease lasts until they have come.
  redis set "$lock" a px 1000
  undecided moving_acquire a 0
  [ "$(redis pttl "$lock")" -gt 10000 ]
  [ "$(redis exists "$info" "$fence")" = 0 ]
  # They are here, but not the last run, after which there may be nothing to do.
  acquire a
  is "$(moving_acquire a)" 1 '[1-9]*'
  undecided moving_acquire a '' 60000
}

@test "while a slot moves: a tombstone that the other node has is not made a second time, and counts" {
  local moved=ended
  acquire a
  is "$(moving_release a)" 1 ''
  [ "$(redis exists "rlock:t:{rlock:$key}:a")" = 0 ]
  is "$(moving_acquire a)" -1
  is "$(moving renew a a 30000)" -1 1
  is "$(moving_release a)" -1 ''
  moved="split"
  is "$(moving_release a)" -1 ''
  [ "$(redis exists "rlock:t:{rlock:$key}:a")" = 1 ]
}

# A node that a slot leaves fails each call for what is not there.
@test "while a slot moves: a reclaim that finds the lease prolongs it where its record has left" {
  acquire a
  setup_names
  redis del "$info" "$fence"
  redis pexpire "$lock" 1000
  prelude="local real, redis = redis, {}
    setmetatable(redis, {__index = real})
    function redis.call(name, key, ...)
      if key == '$info' then error('ASK') end
      return real.call(name, key, ...)
    end
    "
  is "$(moving reclaim a a 30000 5 before '7 host ann ' '' x 1)" 1 0 "$(run_id)"
  [ "$(redis pttl "$lock")" -gt 20000 ]
}

@test "while a slot moves: a waiter that leaves is not in the queue any more" {
  acquire a
  acquire b 30000 0
  acquire c 30000 0
  is "$(moving_release b)" 0
  [ "$(redis zrange "$queue" 0 -1)" = c ]
  is "$(acquire b 30000 0)" -1
}

@test "release with force leaves Redisson's lock alone: its waiters would not be told" {
  setup_names
  redis hset "$lock" 0f5d8a52-7a34-4c0c-9d7a-3a0b8f5a1c11:47 1
  queued b
  is "$(release '' 10000 1)" -3 ''
  [ "$(redis hlen "$lock")" = 1 ]
}

# Several holders. in_mode MODE COMMAND...: with an acquire or a reclaim in this mode.
in_mode() { local mode=$1 && "${@:2}"; }
holders() { redis zrange "rlock:h:{rlock:$key}" 0 -1 | sort | paste -sd ' '; }
# lapsed TOKEN...: the ends of their leases have come.
lapsed() {
  local token
  for token; do redis zadd "rlock:h:{rlock:$key}" xx 1 "$token" >/dev/null; done
}

@test "acquire shared: beside others that are shared, each with a fence of its own; the key lives as long as the last of them" {
  local fence_a fence_b
  setup_names
  fence_a=$(in_mode s acquire a 20000 | line 2)
  [ "$(redis get "$lock")" = rlock:holders:s ]
  fence_b=$(in_mode s acquire b 60000 | line 2)
  [ "$fence_b" -gt "$fence_a" ]
  [ "$(holders)" = 'a b' ]
  is "$(redis hget "$info" a)" "2 s * * $fence_a s 7 host ann "
  [ "$(redis pttl "$lock")" -gt 50000 ]
  # Again: nothing but a longer lease.
  is "$(in_mode s acquire a 90000)" 1 "$fence_a"
  [ "$(redis pttl "$lock")" -gt 80000 ]
  is "$(renew b 100)" 1 "$fence_b" "$(run_id)"
  is "$(check b)" 1 "$fence_b" '2 s *' s
  is "$(renew c)" 0 0
  is "$(check c)" 0 0
  is "$(release a)" 1 ''
  [ "$(holders)" = b ]
  [ "$(redis pttl "$lock")" -le 60000 ]
  is "$(redis hkeys "$info")" b
  is "$(release b)" 1 ''
  [ "$(redis exists "$lock" "$holders" "$info")" = 0 ]
}

@test "acquire alone waits for all who share, and with it those who come behind" {
  in_mode s acquire a 20000
  in_mode s acquire b 60000
  # The end of the last one is waited for.
  is "$(acquire w 30000 0)" 0 '[1-9]*' 0 '[45][0-9][0-9][0-9][0-9]' 1 '2 s *' 0
  # It is dead, and nobody has to wait for it.
  is "$(in_mode s acquire c)" 1 '[1-9]*'
  waiting 0
  queued w
  is "$(in_mode s acquire d)" 0 0 -1 '[0-9]*' 1 '2 s *' 0
  is "$(in_mode s acquire d 30000 0)" 0 '[1-9]*' 1 '[0-9]*' 1 '2 s *' 0
  # Who holds may ask again.
  is "$(in_mode s acquire a)" 1 '[1-9]*'
  [ "$(holders)" = 'a b c' ]
}

@test "a release hands the lock to all who may hold now, in order, each with its message, up to one who may not" {
  local token
  acquire a
  for token in b c; do mode=s queued $token; done
  queued w
  mode=s queued d
  setup_names
  # Their claims are a second long, and must not end here.
  release_and a "pttl $lock" "pexpire $lock 100000" "zadd $holders xx 9999999999999 b 9999999999999 c" >released
  cat released
  is "$(<released)" 1 '' '[0-9]*' 1 0
  [ "$(line 3 <released)" -le 1000 ]
  [ "$(holders)" = 'b c' ]
  until_true 10 heard b g
  until_true 10 heard c g
  is "$(redis zrange "rlock:q:{rlock:$key}" 0 -1)" w d
  for token in b c; do is "$(in_mode s acquire $token)" 1 '[1-9]*'; done
  is "$(release b)" 1 ''
  heard w 1
  is "$(release c)" 1 ''
  claimed_by w
  until_true 10 heard w g
  run -1 heard d g
  is "$(release w)" 1 ''
  [ "$(holders)" = d ]
}

@test "when a waiter leaves the head of the queue, those behind it that may hold now are handed the lock" {
  in_mode s acquire a
  queued w
  mode=s queued b
  mode=s queued c
  release w
  [ "$(holders)" = 'a b c' ]
  until_true 10 heard b g
  until_true 10 heard c g
}

@test "who takes a free lock by its own look lets in those behind it that may hold too" {
  local token mode=3
  redis set "rlock:$key" theirs
  for token in b c d e; do queued $token; done
  redis del "rlock:$key"
  is "$(acquire b 30000 0)" 1 '[1-9]*'
  [ "$(holders)" = 'b c d' ]
  until_true 10 heard c g
  until_true 10 heard d g
  setup_names
  [ "$(redis zrange "$queue" 0 -1)" = e ]
}

@test "one that comes in between takes its place, and lets in who stands behind" {
  local mode=s ticket
  redis set "rlock:$key" theirs
  queued b
  queued c
  mode=x queued w
  queued d
  ticket=$(redis zscore "rlock:q:{rlock:$key}" c)
  redis zrem "rlock:q:{rlock:$key}" c
  redis del "rlock:$key"
  is "$(acquire c 30000 "$ticket")" 1 '[1-9]*'
  [ "$(holders)" = 'b c' ]
}

@test "who comes back with the earliest ticket is neither refused nor passed in that very call" {
  local ticket
  acquire a
  queued b
  queued c
  ticket=$(redis zscore "rlock:q:{rlock:$key}" b)
  # As if its claim had run out.
  redis del "rlock:$key"
  redis zrem "rlock:q:{rlock:$key}" b
  is "$(acquire b 30000 "$ticket")" 1 '[1-9]*'
  [ "$(holder)" = b ]
}

@test "a writer that looks lets in the readers ahead of it" {
  local mode=s
  acquire a
  mode=x queued killed
  queued b
  mode=x queued w
  kill "${background_pids[0]}"
  until_true 10 eval '! is_heard killed'
  mode=x look w
  [ "$(holders)" = 'a b' ]
  waiting 1
}

# dead_before TICKET N: so many dead, and their records, stand before it.
dead_before() {
  setup_names
  redis eval 'for i = 1, ARGV[2] do
    redis.call("ZADD", KEYS[1], ARGV[1] - ARGV[2] + i - 1, "dead" .. i)
    redis.call("HSET", KEYS[2], "dead" .. i, "1 s 1 1 0 7 host ann ")
  end' 2 "$queue" "$info" "$1" "$2" >/dev/null
}

@test "a queue of dead entries: each call removes some hundreds, and says that there are more" {
  acquire a
  queued b
  dead_before "$(redis zscore "rlock:q:{rlock:$key}" b)" 1000
  background redis-cli -s "$sock" subscribe "rlock:w:{rlock:$key}" >all
  until_true 10 grep -qx 1 all
  [ "$(release a | line 4)" = 1 ]
  waiting 745
  until_true 10 grep -qx 'h 0' all
  [ "$(redis hlen "$info")" -lt 750 ]
  is_free
  # A newcomer holds nothing, and removes as many.
  is "$(acquire n)" 3
  waiting 489
  is "$(acquire n 30000 0)" 3
  is "$(release n)" -1 ''
  [ "$(holder)" = b ]
  waiting 0
}

@test "of many who may hold at once, each call lets in some hundreds, and tells the next" {
  local mode=s i
  mode=x acquire a
  listener w257
  # shellcheck disable=SC2046 # a word for each
  background redis-cli -s "$sock" subscribe $(for i in $(seq 300); do channel "w$i"; done) >/dev/null
  until_true 10 is_heard w300
  setup_names
  redis eval 'for i = 1, 300 do
    redis.call("ZADD", KEYS[1], i, "w" .. i)
    redis.call("HSET", KEYS[2], "w" .. i, "2 s " .. ARGV[1] .. "000000 " .. i .. " 0 s 7 host ann ")
  end' 2 "$queue" "$info" "$(redis time | head -1)"
  [ "$(release a | line 4)" = 1 ]
  [ "$(redis zcard "$holders")" = 256 ]
  waiting 44
  until_true 10 heard w257 'h 0'
  is "$(release a)" 0 ''
  waiting 0
}

@test "dead holders, and records of dead clients, do not hold up the server, however many there are" {
  local mode=s
  acquire a
  setup_names
  redis eval 'for i = 1, 2000 do redis.call("ZADD", KEYS[1], i, "dead" .. i) redis.call("HSET", KEYS[2], "dead" .. i, 1) end' \
    2 "$holders" "$info"
  acquire b
  [ "$(redis zcard "$holders")" = 1746 ]
  # What is freed is freed beside the server's work.
  redis config resetstat
  redis del "$lock"
  acquire c
  [ "$(holders)" = c ]
  release c
  mode=x acquire d
  redis eval 'for i = 1, 2000 do redis.call("HSET", KEYS[1], "dead" .. i, 1) end' 1 "$info"
  release d
  [ "$(redis exists "$info")" = 0 ]
  redis info commandstats | grep -q '^cmdstat_unlink:calls=3,'
}

@test "a lease that has ended frees its slot, and a key without living holders is free" {
  setup_names
  in_mode 2 acquire a
  in_mode 2 acquire b
  mode=2 queued c
  is "$(in_mode 2 acquire d)" 0 0 -1 '[12]*' 1 '2 s * 2 7 host ann ' 0
  lapsed a
  is "$(renew a)" 0 0
  [ "$(holders)" = 'a b' ]
  # It was nobody's to hand over: who looks next does it.
  is "$(in_mode 2 acquire d)" 0 0 -1 '[0-9]*' 1 '2 s *' 0
  [ "$(holders)" = 'b c' ]
  is "$(release a)" 0 ''
  [ "$(holders)" = 'b c' ]
  [ "$(redis hexists "$info" a)" = 0 ]
  lapsed b c
  is "$(check b)" -1 0
  is "$(renew b)" -1 0
  is "$(inspect | head -1)" free
  is "$(acquire e)" 1 '[1-9]*'
  [ "$(holder)" = e ]
  is "$(release b)" 0 ''
  # What was left there counts for nobody.
  release e
  is "$(in_mode 2 acquire f)" 1 '[1-9]*'
  [ "$(holders)" = f ]
}

@test "acquire in a mode that cannot wait for the others says in which they are, and changes nothing" {
  in_mode 2 acquire a
  is "$(in_mode 3 acquire b 30000 0)" -2 2
  is "$(acquire b 30000 0)" -2 2
  is "$(in_mode s acquire b 30000 0)" -2 2
  waiting 0
  release a
  acquire c
  is "$(in_mode 2 acquire b 30000 0)" -2 x
  release c
  # One who waits counts, too; a library does not.
  redis set "rlock:$key" theirs px 60000
  mode=2 queued d
  redis del "rlock:$key"
  is "$(in_mode 3 acquire b)" -2 2
  [ "$(holders)" = d ]
}

@test "a foreign holder is waited for in each mode, and the key of several is one to libraries" {
  redis set "rlock:$key" theirs px 60000
  is "$(in_mode s acquire a)" 0 0 -1 '[0-9]*' 0 '' 0
  is "$(in_mode 2 acquire a)" 0 0 -1 '[0-9]*' 0 '' 0
  redis del "rlock:$key"
  in_mode s acquire a
  [ -z "$(redis set "rlock:$key" theirs nx)" ]
}

@test "release with force releases all who share, and says whom" {
  in_mode s acquire a
  in_mode s acquire b
  queued c
  is "$(release '' 10000 1)" 1 '' '2 s *' '2 s *'
  claimed_by c
  is "$(renew a)" 0 0
}

@test "release with a hold keeps the slot for nobody" {
  in_mode 2 acquire a
  in_mode 2 acquire b
  is "$(hold a 20000)" 1 ''
  [ "$(holders)" = 'b hold:a' ]
  is "$(in_mode 2 acquire c)" 0 0 -1 '[0-9]*' 1 '2 *' 0
  is "$(renew a)" 0 1
  release b
  is "$(in_mode 2 acquire c)" 1 '[1-9]*'
  setup_names
  is "$(redis hget "$info" hold:a)" '2 h * 2 7 host ann '
}

@test "inspect lists all who share, and in which mode" {
  in_mode 3 acquire a 20000
  in_mode 3 acquire b 20000
  is "$(inspect)" held '' '[0-9]*' '[1-9]*' 0 '' '' 3 '2 s *' '1[0-9]*' '2 s *' '[12][0-9]*'
}

@test "reclaim shared: each takes its place beside the others, in whatever order; slots only as far as there are" {
  is "$(in_mode 2 reclaim b 2000)" 1 2000 "$(run_id)"
  is "$(in_mode 2 reclaim a 1000)" 1 1000 "$(run_id)"
  setup_names
  [ "$(redis get "$fence")" = 2000 ]
  [ "$(holders)" = 'a b' ]
  is "$(in_mode 2 reclaim c 3000)" 0 0
  is "$(in_mode s reclaim c 3000)" 0 0
  is "$(reclaim c 3000)" 0 0
  is "$(in_mode 2 reclaim a 1000)" 1 1000 "$(run_id)"
  release a
  # A fence was given since: somebody may have had that slot and left.
  in_mode 2 acquire d
  release d
  is "$(in_mode 2 reclaim c 3000)" 0 0
}

@test "under a grace nobody acquires beside those who came back" {
  in_mode s reclaim a 1000
  is "$(in_mode s acquire b 30000 '' s '7 host ann ' '3600000 0')" 0 0 -1 '[0-9]*' 1 '' '[0-9]*'
  is "$(in_mode s reclaim c 2000)" 1 2000 "$(run_id)"
}

@test "one that holds alone goes on alone, in whatever mode it asks again, and its lease is not shortened" {
  setup_names
  acquire a 600000
  is "$(in_mode s acquire a 1000)" 1 '[1-9]*'
  [ "$(redis get "$lock")" = a ]
  [ "$(redis pttl "$lock")" -gt 300000 ]
  is "$(redis hget "$info" a)" '1 s *'
}

@test "out of memory: nobody acquires beside others, but a sharer renews and releases, and the next ones hold" {
  in_mode s acquire a 20000
  in_mode s acquire c 20000
  queued w
  redis config set maxmemory 1
  release w
  run in_mode s acquire b
  [[ $output == *OOM* ]]
  [ "$(holders)" = 'a c' ]
  redis config set maxmemory 0
  queued v
  redis config set maxmemory 1
  is "$(renew a 60000)" 1 '[1-9]*' "$(run_id)"
  is "$(release a)" 1 ''
  is "$(release c)" 1 ''
  claimed_by v
  redis config set maxmemory 0
}
