# Redlock: a lock on five independent servers, held by whoever has the votes of three.
load helper

names=(one two three four five)

setup_file() {
  local name
  servers=
  for name in one two three four five; do
    start_server "$name"
    servers+=${servers:+,}$url
  done
  export servers
  # With a short grace, a short lease has room for late renewals.
  mkdir -p "$XDG_CONFIG_HOME"
  echo 'kill-after = 100ms' >"$XDG_CONFIG_HOME/rlock.conf"
  # Until all are old enough to vote.
  until_true 10 all_vote
}
teardown_file() { stop_servers; }
setup() {
  begin_test
  export RLOCK_SERVER=$servers RLOCK_GRACE=1s RLOCK_TTL=3s
}
# What a test has killed or stopped is as before when the next begins.
teardown() {
  local name
  end_jobs
  for name in "${names[@]}"; do
    kill -CONT "$(server_pid "$name")" 2>/dev/null || true
    ! is_gone "$(server_pid "$name")" || start_server "$name"
    at "$name" -a secret config set requirepass '' >/dev/null 2>&1 || true
  done
  until_true 10 all_vote
}

# at NAME COMMAND...: asks one server directly.
at() { redis-cli -s "$BATS_FILE_TMPDIR/$1.sock" "${@:2}"; }
# A ttl and a second, which the server may be ahead.
is_old() { [ "$(at "$1" info server | sed -n 's/^uptime_in_seconds:\([0-9]*\).*/\1/p')" -ge 4 ]; }
all_vote() {
  local name
  for name in "${names[@]}"; do is_old "$name" || return 1; done
}
stop() { for name; do kill -STOP "$(server_pid "$name")"; done; }
kill_server() {
  for name; do
    kill -KILL "$(server_pid "$name")"
    until_true 10 is_gone "$(server_pid "$name")"
  done
}
# held_at: the names of the servers that know a holder of $key.
held_at() {
  for name in "${names[@]}"; do [ "$(at "$name" exists "rlock:$key" 2>/dev/null)" != 1 ] || echo "$name"; done
}
holders() { [ "$(held_at | wc -l)" = "$1" ]; }
# A server that answers late may be without a vote until the next renewal.
a_majority_holds() { [ "$(held_at | wc -l)" -ge 3 ]; }
queues() {
  local sum=0
  for name in "${names[@]}"; do sum=$((sum + $(at "$name" zcard "rlock:q:{rlock:$key}"))); done
  [ "$sum" = "$1" ]
}
# In the order in which this key asks them: it queues at the first.
first_in_order() {
  rlock acquire -t 20s "$key" >held
  rlock run -w 5m "$key" -- true 3>&- &
  until_true 10 queues 1
  for name in "${names[@]}"; do [ "$(at "$name" zcard "rlock:q:{rlock:$key}")" = 0 ] || first=$name; done
  rlock release "$key" "$(cat held)"
  wait $!
}

@test "every verb works on five servers" {
  expect 0 rlock run "$key" -- sh -c 'echo "$RLOCK_FENCE"; rlock status "$RLOCK_KEY"'
  [[ $output == *held* ]]
  until_true 10 holders 0
  token=$(rlock acquire -t 20s "$key")
  a_majority_holds
  expect 0 rlock status --exit-code "$key"
  rlock status --json "$key" | jq -e '.held and .votes >= 3 and .servers == 5 and (.holders | length) == 1'
  expect 0 rlock renew "$key" "$token"
  expect 79 rlock renew "$key" 00000000000000000000000000000000
  expect 79 rlock release "$key" 00000000000000000000000000000000
  a_majority_holds
  expect 0 rlock release "$key" "$token"
  until_true 10 holders 0
  expect 79 rlock release "$key" "$token"
  expect 1 rlock status --exit-code "$key"
  rlock acquire -t 20s "$key" >/dev/null
  [ "$(rlock status --json | jq -r '.locks[].key')" = "$key" ]
  expect 0 rlock release --force "$key"
  until_true 10 holders 0
}

@test "busy is 75, at once and after a wait, and leaves no trace of who waited" {
  rlock acquire -t 20s "$key" >token
  expect 75 rlock run -n "$key" -- touch ran
  expect 75 rlock run -w 300ms "$key" -- touch ran
  [ ! -e ran ]
  queues 0
  a_majority_holds
  for name in $(held_at); do [ "$(at "$name" get "rlock:$key")" = "$(cat token)" ]; done
}

@test "waiters get their turn in the order in which they came" {
  # A lease that nobody renews could end before all have come.
  background rlock run "$key" -- sh -c 'touch up; until [ -e go ]; do sleep 0.01; done'
  until_true 10 test -e up
  for i in 1 2 3 4 5 6; do
    background rlock run -w 5m "$key" -- sh -c "echo $i >>order"
    until_true 10 queues "$i"
  done
  touch go
  finish
  [ "$(tr -d '\n' <order)" = 123456 ]
}

commands_processed() { at "$1" info stats | sed -n 's/^total_commands_processed:\([0-9]*\).*/\1/p'; }
# Whether the vote on the first server has been renewed since the last look (left, ms), long before its end.
renewed_early() {
  local last=$left
  left=$(at "$first" pttl "rlock:$key")
  ((last >= 1000 && left > last))
}

@test "a waiter that has the first vote and no more keeps it, and asks no server all the time" {
  local left=0
  first_in_order
  rlock acquire --ttl 30s "$key" >token
  at "$first" del "rlock:$key"
  for name in "${names[@]}"; do commands_processed "$name" >"before.$name"; done
  rlock run -w 15s "$key" -- touch ran 3>&- &
  pid=$!
  until_true 12 renewed_early
  until_true 12 renewed_early
  sleep 1
  for name in "${names[@]}"; do
    count=$(($(commands_processed "$name") - $(cat "before.$name")))
    echo "$name: $count commands"
    ((count < 200))
  done
  ended 75 "$pid"
  [ ! -e ran ]
  queues 0
}

@test "two servers that are down cost nobody the lock" {
  kill_server one two
  for i in 1 2 3 4 5; do expect 0 rlock run -w 5m "$key" -- sh -c 'rlock run "$RLOCK_KEY" -- echo in'; done
  token=$(rlock acquire -t 20s "$key")
  expect 75 rlock run -n "$key" -- true
  expect 0 rlock renew "$key" "$token"
  expect 0 rlock status --exit-code "$key"
  expect 0 rlock release "$key" "$token"
}

@test "status waits for a slow server where its vote decides whether the lock is held" {
  local with name start
  token=$(rlock acquire -t 20s "$key")
  mapfile -t with < <(held_at)
  ((${#with[@]} >= 3))
  for name in "${with[@]:3}"; do at "$name" del "rlock:$key"; done
  stop "${with[1]}"
  (sleep 0.7 && resume "${with[1]}") 3>&- &
  rlock status --json "$key" | jq -e '.held and .votes == 3'
  # But for no longer than one server may take.
  stop "${with[1]}"
  start=$EPOCHREALTIME
  expect 1 rlock status --exit-code --connect-timeout 1s "$key"
  awk "BEGIN { exit !($EPOCHREALTIME - $start < 5) }"
}

status_names_both() {
  local said
  said=$(rlock status -v 2>&1) || return
  [[ $said == *two.sock*'a majority is left without it'* &&
    $said == *'three.sock: it needs a password'*'a majority is left without it'* && $said != *'an ACL denies INFO'* ]]
}
@test "servers that the lock does without are named under -v" {
  kill_server two
  at three config set requirepass secret
  expect 0 rlock run -v "$key" -- true
  [[ $output == *'two.sock: No such file'*'a majority holds without it'* ]] ||
    [[ $output == *'two.sock: Connection refused; a majority holds without it'* ]]
  [[ $output == *'three.sock: it needs a password'*'a majority holds without it'* ]]
  until_true 10 status_names_both
  at three -a secret --no-auth-warning config set requirepass ''
  expect 0 rlock run "$key" -- true
  [ -z "$output" ]
}

@test "a server that stands still while the lock is held is named under -v" {
  background rlock run -v "$key" -- sh -c 'touch held; until [ -e go ]; do sleep 0.01; done' 2>said
  until_true 10 test -e held
  stop four
  until_true 10 grep -q 'no answer from .*four.sock.*; a majority holds without it' said
  touch go
  finish
}

@test "two servers that stand still cost nobody the lock, nor a holder hers" {
  first_in_order
  stop "$first" "$([ "$first" = four ] && echo five || echo four)"
  expect 0 rlock run -w 5m "$key" -- sleep 4
  background rlock run -w 5m "$key" -- sh -c 'touch running; sleep 1; echo 1 >>order'
  until_true 10 test -e running
  background rlock run -w 5m "$key" -- sh -c 'echo 2 >>order'
  finish
  [ "$(tr -d '\n' <order)" = 12 ]
}

@test "with three of five down it is 69, not busy, and the message names them" {
  rlock acquire -t 20s "other-$key" >/dev/null
  kill_server one two three
  until_true 10 two_are_left --connect-timeout 1s
  [[ $stderr == *one.sock*two.sock*three.sock* || $stderr == *three.sock* ]]
  expect_error 69 'are needed' rlock status "$key"
  [ ! -e ran ]
  until_true 10 not_held_at four
  until_true 10 not_held_at five
}
# One that is slow to answer, on a busy machine, counts as away too.
two_are_left() {
  expect_error 69 '2 of 5 servers can be used, and 3 are needed' rlock run -n "$@" "$key" -- touch ran
}
not_held_at() { [ "$(at "$1" exists "rlock:$key")" = 0 ]; }

@test "with three of five silent, those that answer are not called silent" {
  stop one two three
  for n in 1 2 3; do
    expect_error 69 '2 of 5 servers can be used, and 3 are needed' rlock run -w 2s "$key-$n" -- true
    [[ $stderr != *four.sock* ]]
    [[ $stderr != *five.sock* ]]
  done
}

@test "where the only server that says held is one of two, it is not busy" {
  export RLOCK_TTL=8s
  first_in_order
  rlock acquire -t 20s "$key" >/dev/null
  mapfile -t others < <(printf '%s\n' "${names[@]}" | grep -vx "$first")
  kill_server "${others[@]:0:3}"
  until_true 10 eval 'two_are_left --connect-timeout 1s || { [ "$status" = 69 ] || echo "$status" >>others; false; }'
  [ ! -e others ]
  [ ! -e ran ]
}

@test "what stood still while a lock came and went has no lock when it goes on" {
  export RLOCK_TTL=5s
  until_true 10 rlock run -n "$key" -- true
  for i in 1 2 3; do
    stop three five
    expect 0 rlock run "$key" -- true
    resume three five
    until_true 10 holders 0
    token=$(rlock acquire -t 20s "$key")
    stop one four
    expect 0 rlock release "$key" "$token"
    resume one four
    until_true 10 holders 0
  done
}
resume() { for name; do kill -CONT "$(server_pid "$name")"; done; }

# As a server has it that was away when the lock was released, and had written it to its disk.
@test "a vote that outlived its lease on the first server keeps nobody out" {
  first_in_order
  at "$first" set "rlock:$key" 0123456789abcdef0123456789abcdef px 60000
  expect 0 rlock run -n "$key" -- true
  background rlock run -w 5m "$key" -- sh -c 'touch running; sleep 1; echo 1 >>order'
  until_true 10 test -e running
  background rlock run -w 5m "$key" -- sh -c 'echo 2 >>order'
  expect 75 rlock run -n "$key" -- true
  finish
  [ "$(tr -d '\n' <order)" = 12 ]
  at "$first" del "rlock:$key"
}

@test "a server whose key was deleted is won back while the command runs" {
  rlock run "$key" -- sh -c 'touch running; until [ -e go ]; do sleep 0.01; done; touch ended' 3>&- &
  pid=$!
  until_true 10 test -e running
  until_true 10 holders 5
  at three del "rlock:$key"
  until_true 10 holders 5
  touch go
  ended 0 "$pid"
  [ -e ended ]
}

@test "a lock that was deleted on three servers is lost" {
  rlock run "$key" -- sleep 600 3>&- &
  pid=$!
  until_true 10 holders 5
  for name in one two three; do at "$name" set "rlock:$key" 0123456789abcdef0123456789abcdef px 9000; done
  ended 79 "$pid"
}

@test "a run whose lock another has by majority was lost, also where its own vote is left on two servers" {
  rlock run --no-renew -t 10s "$key" -- sh -c 'touch up; until [ -e go ]; do sleep 0.01; done' 3>&- &
  until_true 10 test -e up
  until_true 5 holders 5
  for name in one two three; do at "$name" set "rlock:$key" another px 60000; done
  touch go
  ended 79 $!
  for name in one two three; do [ "$(at "$name" get "rlock:$key")" = another ]; done
  # A majority that has forgotten it is not another.
  rm up go
  for name in one two three; do at "$name" del "rlock:$key"; done
  rlock run --no-renew -t 10s "$key" -- sh -c 'touch up; until [ -e go ]; do sleep 0.01; done' 3>&- &
  until_true 10 test -e up
  until_true 5 holders 5
  for name in one two three; do at "$name" del "rlock:$key"; done
  touch go
  ended 0 $!
}

@test "the holder reclaims the lock on a server that restarts and has forgotten everything" {
  rlock run "$key" -- sh -c 'touch running; until [ -e go ]; do sleep 0.01; done; touch ended' 2>err 3>&- &
  pid=$!
  until_true 10 holders 5
  sleep 1.2 # a renewal tells of the server's run
  kill_server two
  start_server two
  until_true 10 grep -q 'two.sock restarted and had forgotten' err
  until_true 10 holders 5
  touch go
  ended 0 "$pid"
  [ -e ended ]
}

@test "a server that has just started does not vote" {
  kill_server one two
  start_server one
  start_server two
  expect 0 rlock run -n "$key" -- true
  kill_server three
  expect_error 69 'restarted a moment ago' rlock run -n "$key" -- touch ran
  [ ! -e ran ]
  [ "$(held_at)" = '' ]
  # Once they are old enough, they do.
  expect 0 rlock run -w 5m "$key" -- touch ran
  is_old one
  is_old two
}

@test "who waits for servers that have just started is told so under -v" {
  local name
  for name in one two three; do
    kill_server "$name"
    start_server "$name"
  done
  expect 0 rlock run -v "$key" -- true
  [[ $output == *"waiting for $key, which is kept for its earlier holders for "[1-4]"s more: the 5 servers restarted"* ]]
}

@test "fences grow whichever majority gives them" {
  last=0
  for down in 'one two' 'three four' 'five one' 'two three' 'four five' 'one three'; do
    # shellcheck disable=SC2086 # two names
    stop $down
    fence=$(rlock run -w 5m "$key" -- sh -c 'echo "$RLOCK_FENCE"')
    for name in $down; do kill -CONT "$(server_pid "$name")"; done
    ((fence > last)) || {
      echo "$fence after $last, without $down" >&2
      return 1
    }
    last=$fence
  done
}

@test "the servers that grant a lock all know its fence before the command starts" {
  # It always has a vote, and is far ahead of the others.
  first_in_order
  at "$first" set "rlock:f:{rlock:$key}" 8000000000000000
  fence=$(rlock run "$key" -- sh -c 'echo "$RLOCK_FENCE"')
  count=0
  for name in "${names[@]}"; do
    [ "$(at "$name" get "rlock:f:{rlock:$key}")" -lt "$fence" ] || count=$((count + 1))
  done
  ((count >= 3))
}

# As a majority has it where servers are missing, and others were won behind the lease and do not know its fence yet.
@test "a nested run has the fence of the outer one, whatever fences the servers have of it" {
  export -f at
  expect 0 rlock run "$key" -- bash -c '
    for name in one two three four five; do
      record=$(at "$name" hget "rlock:i:{$RLOCK_PREFIX$RLOCK_KEY}" "$RLOCK_TOKEN")
      [ -n "$record" ] || continue
      # A word of the record, which has other numbers too.
      at "$name" hset "rlock:i:{$RLOCK_PREFIX$RLOCK_KEY}" "$RLOCK_TOKEN" "${record/ $RLOCK_FENCE / 1 }" >/dev/null
      echo changed
    done
    [ "$(rlock run "$RLOCK_KEY" -- sh -c "echo \$RLOCK_FENCE")" = "$RLOCK_FENCE" ] || exit 3'
  [[ $output == *changed*changed*changed* ]]
}

@test "URLs that lead to one server are told when they have given a majority" {
  ln -s "$BATS_FILE_TMPDIR/one.sock" again.sock
  ln -s "$BATS_FILE_TMPDIR/one.sock" thrice.sock
  urls=${servers%%,*},unix://$PWD/again.sock,unix://$PWD/thrice.sock
  expect_error 78 'are the same server' rlock run --server "$urls" "$key" -- touch ran
  [ ! -e ran ]
  holders 0
}

@test "a waiter that is ended by TERM leaves nothing on any server" {
  rlock acquire -t 20s "$key" >token
  rlock run "$key" -- touch ran 3>&- &
  pid=$!
  until_true 10 queues 1
  kill -TERM "$pid"
  ended 143 "$pid"
  queues 0
  expect 0 rlock release "$key" "$(cat token)"
  until_true 10 holders 0
  [ ! -e ran ]
}

@test "when a holder is killed its guard releases the lock on all servers" {
  rlock run "$key" -- sleep 600 3>&- &
  pid=$!
  until_true 10 guard_of "$pid"
  until_true 10 holders 5
  kill -KILL "$pid"
  until_true 10 holders 0
}

@test "--hold keeps the lock on each server, for others and in status" {
  rlock run --hold 1h "$key" -- true
  a_majority_holds
  for name in $(held_at); do [[ $(at "$name" get "rlock:$key") == hold:* ]]; done
  expect 75 rlock run -n "$key" -- touch ran
  [[ $output == *'whose command has ended (--hold)'* ]]
  rlock status --json "$key" | jq -e '.held and .votes >= 3 and .holders[0].hold and .last_run.exit_status == 0'
  expect 0 rlock release --force "$key"
  until_true 10 holders 0
}

@test "waiters get the lock in their order when the hold has ended on all servers" {
  rlock run --hold 8s "$key" -- true
  for i in 1 2 3; do
    background rlock run -w 5m "$key" -- sh -c "echo $i >>order"
    until_true 10 queues "$i"
  done
  finish
  [ "$(tr -d '\n' <order)" = 123 ]
}

@test "--once is told by any of the servers that a success was left on" {
  rlock run "$key" -- true
  stop one two
  expect 0 rlock run -v --once 1h "$key" -- touch ran
  [[ $output == *'nothing to do'* ]]
  kill -CONT "$(server_pid one)" "$(server_pid two)"
  # Two others have been away, and know of nothing: no majority is without one that knows.
  for name in three four; do at "$name" del "rlock:l:{rlock:$key}"; done
  expect 0 rlock run --once 1h "$key" -- touch ran
  [ ! -e ran ]
  until_true 10 holders 0
  for name in one two five; do at "$name" del "rlock:l:{rlock:$key}"; done
  expect 0 rlock run --once 1h "$key" -- touch ran
  [ -e ran ]
}

@test "waiters with --once end with 0 when the run before them has succeeded" {
  rlock run "$key" -- sh -c 'touch up; until [ -e go ]; do sleep 0.02; done' 3>&- &
  until_true 10 test -e up
  for i in 1 2 3; do
    background rlock run --once 1h -w 5m "$key" -- touch ran
    until_true 10 queues "$i"
  done
  touch go
  wait $!
  finish
  [ ! -e ran ]
  queues 0
  until_true 10 holders 0
}

@test "while a majority cannot be reached a holder is stopped before its lease ends" {
  rlock run --ttl 2s "$key" -- sh -c 'touch running; sleep 60' 3>&- &
  pid=$!
  until_true 10 test -e running
  stop one two three
  ended 79 "$pid"
}

@test "acquire --while-pid keeps a majority; a script that releases by itself is left alone, a killed one frees the lock" {
  key=while-pid-$BASHPID
  cat >script <<-END
	eval "\$(rlock acquire --export --while-pid \$\$ '$key')"
	echo \$\$ >has_it
	read -r _ <go && rlock release && read -r _ <go
	END
  mkfifo go
  bash script 3>&- &
  local script=$!
  until_true 10 test -s has_it
  stop one two
  sleep 4
  kill -CONT "$(server_pid one)" "$(server_pid two)"
  expect 75 rlock run -n "$key" -- true
  echo >go
  until_true 10 eval "! pgrep -f '^rlock-keeper $key\$'"
  expect 0 rlock run "$key" -- true
  echo >go
  ended 0 "$script"
  rm has_it
  bash script 3>&- &
  script=$!
  until_true 10 test -s has_it
  kill -KILL "$script"
  until_true 10 holders 0
}

# waiting_somewhere N: so many stand in the queues of all servers together.
waiting_somewhere() {
  local name n=0
  for name in one two three four; do n=$((n + $(at "$name" zcard "rlock:q:{rlock:$key}"))); done
  [ "$n" = "$1" ]
}

@test "readers share, each with a majority; a writer waits for them, and the next readers for the writer" {
  export RLOCK_TTL=8s
  background rlock run -s "$key" -- sh -c 'touch up.1; until [ -e go ]; do sleep 0.01; done'
  background rlock run -s "$key" -- sh -c 'touch up.2; until [ -e go ]; do sleep 0.01; done'
  until_true 10 test -e up.1
  until_true 10 test -e up.2
  rlock status --json "$key" >json
  jq -e '.held and .mode == "shared" and (.holders | length) == 2 and .votes >= 3' json
  kill_server five
  expect 75 rlock run -n "$key" -- true
  background rlock run "$key" -- sh -c 'echo writer >>order'
  until_true 10 waiting_somewhere 1
  background rlock run -s "$key" -- sh -c 'echo reader >>order'
  until_true 10 waiting_somewhere 2
  # Beyond the lease that they began with.
  sleep 9
  [ ! -e order ]
  touch go
  finish
  [ "$(paste -sd ' ' order)" = 'writer reader' ]
}
