# Two releases of rlock in one fleet: what one writes of itself, the other need not understand.
load helper

setup_file() {
  start_server
  # The next release: its records have another version, and one more word.
  mkdir "$BATS_FILE_TMPDIR/next"
  local script
  for script in "$(dirname "$RLOCK")"/scripts/*.lua; do
    sed -e "s/^local VERSION = '1'/local VERSION = '3 new'/" "$script" >"$BATS_FILE_TMPDIR/next/${script##*/}"
    run ! cmp -s "$script" "$BATS_FILE_TMPDIR/next/${script##*/}"
  done
}
teardown_file() { stop_servers; }

# next SCRIPT TOKEN ARGV...: a step of the next release.
next() {
  local script=$1 token=$2
  shift 2
  redis eval "$(cat "$BATS_FILE_TMPDIR/next/$script.lua")" 7 "rlock:$key" "rlock:q:{rlock:$key}" \
    "rlock:i:{rlock:$key}" "rlock:f:{rlock:$key}" "rlock:t:{rlock:$key}:$token" "rlock:l:{rlock:$key}" \
    "rlock:h:{rlock:$key}" "$@"
}
is_subscribed() { [ "$(redis pubsub numsub "rlock:w:{rlock:$key}:$1" | tail -n 1)" = 1 ]; }
held_by() { [ "$(redis get "rlock:$key")" = "$1" ]; }

@test "waiters of two releases are served in one order, each by the other" {
  background rlock run "$key" -- sh -c 'touch held; until [ -e go ]; do sleep 0.01; done; echo first >>order'
  until_true 10 test -e held
  background redis-cli -s "$sock" subscribe "rlock:w:{rlock:$key}:nextone" >heard
  local listener=$!
  until_true 10 is_subscribed nextone
  next acquire nextone nextone 60000 0 s '7 host ann ' '' x >/dev/null
  background rlock run "$key" -- sh -c 'echo third >>order'
  until_true 10 waiting 2
  expect 0 rlock status --json "$key"
  [ "$(jq '.waiters | length' <<<"$output")" = 2 ]
  [ "$(jq -r '.waiters[0].host' <<<"$output")" = null ]

  touch go
  until_true 10 grep -qx g heard
  next acquire nextone nextone 60000 0 s '7 host ann ' '' x >confirmed
  [ "$(head -n 1 confirmed)" = 1 ]
  [[ $(redis hget "rlock:i:{rlock:$key}" nextone) == '3 new s '* ]]
  echo second >>order
  [ "$(rlock status --json "$key" | jq -c '.held, .holders[0].foreign')" = $'true\nnull' ]
  rlock status "$key" | grep -q 'another version'

  next release nextone nextone 30000 '' >/dev/null
  kill "$listener"
  until_true 10 grep -qx third order
  [ "$(paste -sd ' ' order)" = 'first second third' ]
}

@test "a waiter of another release is served on its sharded channel" {
  background rlock run "$key" -- sh -c 'touch held; until [ -e go ]; do sleep 0.01; done'
  until_true 10 test -e held
  background redis-cli -s "$sock" ssubscribe "rlock:w:{rlock:$key}:nextone" >heard
  local listener=$!
  until_true 10 eval '[ "$(redis pubsub shardnumsub "rlock:w:{rlock:$key}:nextone" | tail -n 1)" = 1 ]'
  next acquire nextone nextone 60000 0 c '7 host ann ' '' x >/dev/null
  touch go
  until_true 10 grep -qx g heard
  until_true 10 held_by nextone
  kill "$listener"
}

@test "a waiter of another release that is dead does not keep the lock" {
  background rlock run "$key" -- sh -c 'touch held; until [ -e go ]; do sleep 0.01; done'
  until_true 10 test -e held
  next acquire gone gone 60000 0 s '7 host ann ' '' x >/dev/null
  background rlock run "$key" -- touch served
  until_true 10 waiting 2
  touch go
  until_true 10 test -e served
  finish
}
