load helper

acl_more='~key-*'  # one test has no prefix

setup_file() { start_server; }
teardown_file() { stop_servers; }

wrong=0123456789abcdef0123456789abcdef

pttl() { redis pttl "rlock:$key"; }
holder() { redis get "rlock:$key"; }

@test "a wrong token releases nothing" {
  local token
  token=$(rlock acquire "$key")
  expect_error 79 "lost: $key is held by somebody else" rlock release "$key" $wrong
  [ "$(holder)" = "$token" ]
  rlock release "$key" "$token"
  is_free
}

@test "a prefix of the token, or the token and more, releases nothing" {
  local token
  token=$(rlock acquire "$key")
  expect 79 rlock release "$key" "${token:0:31}"
  expect 79 rlock release "$key" "${token}0"
  expect 79 rlock release "$key" "${token^^}x"
  [ "$(holder)" = "$token" ]
}

@test "the second release is told that nobody holds it" {
  local token
  token=$(rlock acquire "$key")
  expect 0 rlock release "$key" "$token"
  [ -z "$output" ]
  expect_error 79 "lost: $key is not held by anybody" rlock release "$key" "$token"
}

@test "the second release does not touch the next holder" {
  local first second
  first=$(rlock acquire "$key")
  rlock release "$key" "$first"
  second=$(rlock acquire "$key")
  expect_error 79 "lost: $key is held by somebody else" rlock release "$key" "$first"
  [ "$(holder)" = "$second" ]
}

@test "a wrong token renews nothing" {
  local token
  token=$(rlock acquire --ttl 20s "$key")
  expect_error 79 "lost: $key is held by somebody else" rlock renew --ttl 1h "$key" $wrong
  [ "$(pttl)" -le 20000 ]
  rlock release "$key" "$token"
  expect_error 79 "lost: $key is not held by anybody" rlock renew "$key" "$token"
  is_free
}

@test "renew extends the lease and never shortens it" {
  local token
  token=$(rlock acquire --ttl 20s "$key")
  [ "$(pttl)" -le 20000 ]
  expect 0 rlock renew --ttl 10m "$key" "$token"
  [ -z "$output" ]
  [ "$(pttl)" -gt 500000 ]
  [ "$(pttl)" -le 600000 ]
  expect 0 rlock renew --ttl 1s "$key" "$token"
  [ "$(pttl)" -gt 500000 ]
  RLOCK_TTL=20m expect 0 rlock renew "$key" "$token"
  [ "$(pttl)" -gt 1000000 ]
}

@test "the token comes as an argument, from the environment or from standard input" {
  local token
  token=$(rlock acquire "$key")
  RLOCK_TOKEN=$token expect 0 rlock renew "$key"
  rlock renew "$key" - <<<"$token"
  printf %s "$token" | rlock renew "$key" -
  # What is typed beats what is set.
  RLOCK_TOKEN=$token expect 79 rlock renew "$key" $wrong
  RLOCK_TOKEN=$wrong expect 0 rlock renew "$key" "$token"
  rlock release "$key" - <<<"$token"
  is_free
  token=$(rlock acquire "$key")
  RLOCK_TOKEN=$token expect 0 rlock release "$key"
  is_free
}

@test "a token that is missing, or none, is a usage error" {
  local verb
  for verb in release renew; do
    expect_error 64 TOKEN rlock $verb "$key"
    RLOCK_TOKEN='' expect_error 64 TOKEN rlock $verb "$key"
    expect_error 64 TOKEN rlock $verb "$key" - </dev/null
    # shellcheck disable=SC2016 # for the inner shell
    expect_error 64 TOKEN sh -c 'exec rlock "$@" - <&-' sh $verb "$key"
    expect_error 64 TOKEN rlock $verb "$key" $'new\nline'
    expect_error 64 TOKEN rlock $verb "$key" "$(printf '%600s')"
  done
  expect_error 64 'or set RLOCK_TOKEN; --force releases KEY without it' rlock release "$key"
}

@test "--force releases whoever holds it, and says whom" {
  USER=ann rlock acquire "$key"
  run --separate-stderr -0 rlock release --force "$key"
  [ -z "$output" ]
  [[ $stderr == "rlock: released $key, held by ann@$(uname -n) pid "* ]]
  is_free
  redis set "rlock:$key" theirs
  run --separate-stderr -0 rlock release --force "$key"
  [[ $stderr == "rlock: released $key, held by a program other than rlock" ]]
  is_free
  expect_error 79 "$key is not held by anybody" rlock release --force "$key"
}

@test "--force with a TOKEN is a mistake: it would release another's lock" {
  token=$(rlock acquire "$key")
  expect_error 64 'leave TOKEN out, or --force' rlock release --force "$key" "$token"
  is_held
  # A holder's environment names a token too, which nobody typed.
  RLOCK_TOKEN=other expect 0 rlock release --force "$key"
}

@test "--force leaves alone what cannot be a lock, and says so" {
  local uuid=285475da-9152-4c83-822a-67ee2f116a79 make before
  for make in 'rpush KEY a b' 'sadd KEY a' 'zadd KEY 1 a' 'xadd KEY 1-1 f v' 'hset KEY name Ann' \
    "hset KEY $uuid:1 1 name Ann" "hset KEY x:$uuid:1 1"; do
    redis del "$key"
    # shellcheck disable=SC2086 # words
    redis ${make/KEY/$key}
    before=$(redis --no-raw dump "$key")
    expect_error 79 "not released: $key on the server is other data" rlock release --prefix '' --force "$key"
    [ "$(redis --no-raw dump "$key")" = "$before" ]
    [ -z "$(redis keys "rlock:*$key*")" ]
  done
}

@test "--force hands the lock to the next waiter" {
  rlock acquire "$key"
  background rlock run "$key" -- touch ran
  until_true 10 waiting 1
  rlock release --force "$key"
  until_true 10 test -e ran
  finish
}

@test "acquire prints a token that nobody guesses" {
  local i
  for i in $(seq 20); do
    rlock acquire "$key-$i" >>tokens
  done
  [ "$(grep -cxE '[0-9a-f]{32}' tokens)" = 20 ]
  [ "$(sort -u tokens | wc -l)" = 20 ]
}

@test "acquire --json is an object with version, key, token, fence and ttl" {
  run --separate-stderr -0 rlock acquire --json --ttl 1m30s "$key"
  [ "${#lines[@]}" = 1 ]
  [ "$(jq -r .token <<<"$output")" = "$(holder)" ]
  [ "$(jq -r .key <<<"$output")" = "$key" ]
  [ "$(jq -c keys_unsorted <<<"$output")" = '["version","key","token","fence","ttl_ms"]' ]
  [ "$(jq .version <<<"$output")" = 1 ]
  [ "$(jq .ttl_ms <<<"$output")" = 90000 ]
  [ "$(jq .fence <<<"$output")" = "$(redis get "rlock:f:{rlock:$key}")" ]
}

@test "acquire --export sets the token and the fence in a shell" {
  sh -c '
    eval "$(rlock acquire --export "$1")"
    [ "$(redis-cli -s "$2" get "rlock:$1")" = "$RLOCK_TOKEN" ] &&
      [ "$(redis-cli -s "$2" get "rlock:f:{rlock:$1}")" = "$RLOCK_FENCE" ] &&
      rlock renew "$1" && rlock release "$1"' sh "$key" "$sock"
  is_free
}

@test "acquire to a full or broken output releases the lock" {
  local format
  for format in '' --json --export; do
    # shellcheck disable=SC2016 # for the inner shell
    expect_error 70 'cannot write the token' sh -c 'exec rlock acquire $1 "$2" >/dev/full' sh "$format" "$key"
    is_free
  done
  # A pipe that nobody reads any more.
  mkfifo pipe
  exec 5<>pipe 6>pipe 5<&-
  expect_error 70 'cannot write the token' sh -c 'exec rlock acquire "$1" >&6' sh "$key"
  exec 6>&-
  is_free
}

@test "acquire with its standard output closed releases the lock" {
  # shellcheck disable=SC2016 # for the inner shell
  expect_error 70 'cannot write the token' sh -c 'rlock acquire "$1" >&-' sh "$key"
  is_free
}

@test "an acquire that comes late or twice brings no lease back" {
  background redis-cli -s "$sock" monitor >commands
  until_true 10 grep -q OK commands
  local token acquire
  token=$(rlock acquire "$key")
  # As redis-cli reads it: the arguments in quotes.
  until_true 10 grep -q "$token" commands
  acquire=$(grep -F "$token" commands | grep -iF '"eval' | tail -1 | sed 's/^[^"]*//')
  replay() { redis <<<"$acquire"; }
  # Twice while it is held: the same fence, and no longer lease.
  [ "$(replay | sed -n 2p)" = "$(redis get "rlock:f:{rlock:$key}")" ]
  rlock release "$key" "$token"
  [ "$(replay)" = -1 ]
  is_free
  token=$(rlock acquire "$key")
  [ "$(replay)" = -1 ]
  [ "$(holder)" = "$token" ]
  rlock release "$key" "$token"
  [ "$(replay)" = -1 ]
  is_free
}

@test "an acquire that comes after its waiter gave up does not queue it again" {
  background redis-cli -s "$sock" monitor >commands
  until_true 10 grep -q OK commands
  local token
  token=$(rlock acquire "$key")
  expect 75 rlock acquire -w 2s "$key"
  rlock release "$key" "$token"
  redis echo the-end
  until_true 10 grep -q the-end commands
  # Each of its acquires once more: they say who it is.
  grep -i '"eval' commands | grep -F " $(uname -n) " | grep -vF "$token" | sed 's/^[^"]*//' >late
  [ "$(wc -l <late)" -ge 2 ]
  [ "$(redis <late | sort -u)" = -1 ]
  is_free
  waiting 0
}

@test "a KEY that looks like a pattern is told what it is, where nobody holds it" {
  local token
  for verb in 'release --force' 'release' 'renew'; do
    # shellcheck disable=SC2086 # words
    RLOCK_TOKEN=x expect_error 79 "'job-*' prints those that match, one a line, for xargs" rlock $verb 'job-*'
  done
  # One of just that name is released.
  token=$(rlock acquire 'job-*')
  expect 0 rlock release 'job-*' "$token"
}
