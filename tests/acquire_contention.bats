load helper

setup_file() { start_server; }
teardown_file() { stop_servers; }

# waiter NAME [OPTION...]: waits for the lock in the background, then writes NAME into order.
waiter() {
  local name=$1
  shift
  background rlock run "$@" "$key" -- sh -c 'echo "$1" >>order' sh "$name"
}

# The waiters' tokens, first to last.
queue() { redis zrange "rlock:q:{rlock:$key}" 0 -1; }

grows_strictly() { sort -cnu "$1"; }

@test "two hundred at once: nobody loses a count, and every fence is higher than the one before" {
  cat >critical.sh <<-'END'
	#!/bin/sh
	read -r n <counter
	sleep 0.002
	echo $((n + 1)) >counter
	echo "$RLOCK_FENCE" >>fences
	END
  chmod +x critical.sh
  echo 0 >counter
  local i
  for ((i = 0; i < 200; i++)); do
    background rlock run "$key" -- ./critical.sh
  done
  finish
  [ "$(cat counter)" = 200 ]
  [ "$(wc -l <fences)" = 200 ]
  grows_strictly fences
  is_free
  waiting 0
}

@test "a queue of a hundred is served in the order of its tickets" {
  local i token
  token=$(rlock acquire -t 10m "$key")
  for ((i = 0; i < 100; i++)); do
    background rlock run "$key" -- sh -c 'echo "$RLOCK_TOKEN" >>order'
  done
  until_true 30 waiting 100
  queue >tickets
  rlock release "$key" "$token"
  finish
  diff tickets order
}

@test "who comes first runs first" {
  local i token
  token=$(rlock acquire -t 10m "$key")
  for i in $(seq 20); do
    waiter "$i"
    until_true 10 waiting "$i"
  done
  rlock release "$key" "$token"
  finish
  diff <(seq 20) order
}

@test "nobody is overtaken by one that does not wait" {
  local token
  token=$(rlock acquire -t 10m "$key")
  background rlock run "$key" -- sh -c 'until [ -e go ]; do sleep 0.01; done'
  until_true 10 waiting 1
  rlock release "$key" "$token"
  expect 75 rlock run -n "$key" -- true
  touch go
  finish
  # Nor in a lock that was not released, but lost.
  rlock acquire -t 10m "$key"
  background rlock run "$key" -- touch ran
  until_true 10 waiting 1
  redis del "rlock:$key"
  expect 75 rlock run -n "$key" -- true
  finish
  [ -e ran ]
}

@test "fences go on growing when the server has been flushed" {
  local i
  for i in 1 2 3; do
    rlock run "$key" -- sh -c 'echo "$RLOCK_FENCE" >>fences; echo "$RLOCK_FENCE" >>fences.'"$i"
    rlock run "$key" -- sh -c 'echo "$RLOCK_FENCE" >>fences'
    redis flushall
  done
  [ "$(wc -l <fences)" = 6 ]
  grows_strictly fences
}

@test "fifty killed in the queue hold up nobody" {
  local i token dead=()
  token=$(rlock acquire -t 10m "$key")
  for ((i = 0; i < 50; i++)); do
    waiter dead
    dead+=($!)
  done
  until_true 20 waiting 50
  background rlock run "$key" -- sh -c 'touch living; until [ -e go ]; do sleep 0.01; done'
  until_true 10 waiting 51
  local next
  next=$(queue | tail -1)
  kill -KILL "${dead[@]}"
  one_channel() { [ "$(redis pubsub channels "rlock:w:{rlock:$key}:*" | grep -c .)" = 1 ]; }
  until_true 10 one_channel
  rlock release "$key" "$token"
  # Within the release itself: there is no time in which it could stall.
  [ "$(redis get "rlock:$key")" = "$next" ]
  waiting 0
  until_true 10 test -e living
  [ ! -e order ]
  touch go
  until_true 10 is_free
}

# thousands_dead TICKET: so many stand before it.
thousands_dead() {
  redis eval 'for i = 1, 3000 do
    redis.call("ZADD", KEYS[1], ARGV[1] - 4000 + i, "dead" .. i)
    redis.call("HSET", KEYS[2], "dead" .. i, "1 s 1 1 0 7 host ann ")
  end' 2 "rlock:q:{rlock:$key}" "rlock:i:{rlock:$key}" "$1" >/dev/null
}

@test "thousands dead ahead: who does not wait has the lock at once, and a release hands it to the one who lives" {
  thousands_dead 5000
  expect 0 rlock run -n "$key" true
  waiting 0
  local token
  token=$(rlock acquire --ttl 10m "$key")
  rlock run "$key" -- touch ran 3>&- &
  until_true 10 waiting 1
  thousands_dead "$(redis zrange "rlock:q:{rlock:$key}" 0 0 withscores | tail -1)"
  rlock release "$key" "$token"
  # The release has handed it over when it ends.
  waiting 0
  wait $!
  [ -e ran ]
}

@test "a frozen waiter is passed by the one behind it, and runs when it thaws" {
  local token frozen
  token=$(rlock acquire -t 10m "$key")
  waiter frozen
  frozen=$!
  until_true 10 waiting 1
  waiter behind
  until_true 10 waiting 2
  kill -STOP "$frozen"
  rlock release "$key" "$token"
  until_true 20 test -s order
  [ "$(cat order)" = behind ]
  kill -CONT "$frozen"
  wait "$frozen"
  [ "$(tail -1 order)" = frozen ]
  is_free
}

@test "busy is 75 at once and after a time, and names the holder" {
  local token verb
  token=$(USER=ann rlock acquire -t 10m "$key")
  for verb in acquire run; do
    local command=()
    [ $verb = acquire ] || command=(-- touch ran)
    expect_error 75 "busy: $key is held by ann@$(uname -n) pid " rlock $verb -n "$key" "${command[@]}"
    expect_error 75 "busy: $key is held by ann@$(uname -n) pid " rlock $verb -w 300ms "$key" "${command[@]}"
    RLOCK_WAIT=0 expect_error 75 "busy: $key" rlock $verb "$key" "${command[@]}"
  done
  [ ! -e ran ]
  rlock release "$key" "$token"
}

@test "-q leaves the word busy out" {
  rlock acquire -t 10m "$key"
  expect 75 rlock acquire -qn "$key"
  [ -z "$output" ]
}

@test "-E chooses the status of busy, and of nothing else" {
  local code token
  token=$(rlock acquire -t 10m "$key")
  for code in 0 1 75 255; do
    expect $code rlock run -n -E $code "$key" -- true
    expect $code rlock acquire -w 1ms --conflict-exit-code $code "$key"
    # Where it is fine there is nothing to say.
    [[ $code == 0 && -z $output || $code != 0 && $output == *busy* ]]
  done
  rlock release "$key" "$token"
  expect 0 rlock run -n -E 9 "$key" -- true
  expect 75 rlock run -n -E 9 "$key" -- sh -c 'exit 75'
  RLOCK_SERVER=unix:///nonexistent expect 69 rlock run -n -E 0 "$key" -- true
}

@test "who gives up leaves the queue, and nothing of itself behind" {
  local token
  token=$(rlock acquire -t 10m "$key")
  background rlock run -w 5s "$key" -- true
  until_true 10 waiting 1
  ended 75 $!
  waiting 0
  [ "$(redis hkeys "rlock:i:{rlock:$key}" | grep -vcx @)" = 1 ]
  rlock release "$key" "$token"
  expect 0 rlock run -n "$key" -- true
}

@test "a lease that nobody releases ends, and the first waiter has it then" {
  rlock acquire --ttl 5s "$key"
  waiter first
  until_true 10 waiting 1
  waiter second
  finish
  diff <(printf '%s\n' first second) order
}

@test "acquire waits its turn among runs" {
  local token
  token=$(rlock acquire -t 10m "$key")
  waiter one
  until_true 10 waiting 1
  background sh -c 'rlock acquire "$1" >got && echo two >>order && mv got two' sh "$key"
  until_true 10 waiting 2
  waiter three
  until_true 10 waiting 3
  rlock release "$key" "$token"
  until_true 10 test -s two
  rlock release "$key" "$(cat two)"
  finish
  diff <(printf '%s\n' one two three) order
}
