# --grace: a server that has just started may have forgotten who held what, and so keeps its free locks for them.
load helper

setup_file() { start_server; }
teardown_file() { stop_servers; }

# young_server: one that started at $started or a moment later, by this machine's clock; nobody is left to come back to it.
young_server() {
  started=$(date +%s.%N)
  start_server "own-$BATS_TEST_NUMBER"
  export RLOCK_SERVER=$url
}
# waiter NAME [OPTION...]: a run that waits for $key; when it ran stands in ran.NAME.
waiter() {
  background rlock run "${@:2}" "$key" -- sh -c "date +%s.%N >ran.$1"
}
infos() { redis info commandstats | sed -n 's/^cmdstat_info:calls=\([0-9]*\).*/\1/p'; }

@test "who finds the lock free on a young server is told so, and it is not busy" {
  young_server
  expect_error 69 'restarted ' rlock run -n --grace 1h "$key" -- touch ran
  expect_error 69 "ago, its holders may come back; $key is kept for them for " rlock acquire -E 0 -n --grace 1h "$key"
  expect_error 69 'its holders may come back' rlock run -w 300ms --grace 1h "$key" -- touch ran
  RLOCK_GRACE=1h expect_error 69 'its holders may come back' rlock acquire -n "$key"
  # As a command of another run it asks once before it waits.
  RLOCK_TOKEN=x RLOCK_KEY=other expect_error 69 'its holders may come back' rlock run -w 300ms --grace 1h "$key" -- touch ran
  [ ! -e ran ]
  waiting 0
  expect 0 rlock run -n "$key" -- touch ran
  [ -e ran ]
}

@test "a lock that is held is busy, on a young server too" {
  young_server
  rlock acquire -t 10m "$key"
  expect 75 rlock run -n --grace 1h "$key" -- true
}

@test "a grace of any length is kept, up to the longest duration" {
  young_server
  expect_error 69 'its holders may come back' rlock run -n --grace 3650d "$key" -- true
  expect_error 64 '--grace' rlock run -n --grace never "$key" -- true
  expect_error 64 '--grace' rlock run -n --grace 4000000000d "$key" -- true
}

@test "when the grace is over, the waiters run, in their order" {
  young_server
  waiter 1 --grace 9s
  until_true 10 waiting 1
  waiter 2 --grace 9s
  until_true 10 waiting 2
  waiter 3 --grace 9s
  until_true 10 waiting 3
  finish
  holds "$(cat ran.1) - $started >= 8.9"
  holds "$(cat ran.1) < $(cat ran.2) && $(cat ran.2) < $(cat ran.3)"
}

@test "the same where waiters poll, because channels are denied to them" {
  young_server
  redis acl setuser default resetchannels
  waiter 1 --grace 9s
  until_true 10 waiting 1
  waiter 2 --grace 9s
  finish
  holds "$(cat ran.1) - $started >= 8.9"
  holds "$(cat ran.1) < $(cat ran.2)"
}

@test "a holder hands the lock over, however young the server is" {
  young_server
  local token
  token=$(rlock acquire -t 10m "$key")
  waiter 1 --grace 1h
  until_true 10 waiting 1
  RLOCK_GRACE=1h rlock release "$key" "$token"
  finish
  [ -e ran.1 ]
}

@test "a waiter that gives up hands nobody the lock that is kept" {
  young_server
  waiter 1 --grace 1h
  until_true 10 waiting 1
  expect 69 rlock run -w 200ms --grace 1h "$key" -- true
  RLOCK_GRACE=1h expect 79 rlock release "$key" unknown-token
  is_free
  waiting 1
  [ ! -e ran.1 ]
}

@test "who may not ask for INFO is told so, and acquires nothing" {
  redis acl setuser noinfo on '>p' '~*' '&*' +@all -info
  RLOCK_SERVER=unix://noinfo:p@$sock expect_error 77 'denies INFO, which --grace needs' \
    rlock run -n --grace 1s "$key" -- touch ran
  is_free
  RLOCK_SERVER=unix://noinfo:p@$sock expect 0 rlock run -n "$key" -- touch ran
}

@test "without --grace the server is not asked how old it is, nor where the lock is held" {
  redis config resetstat
  rlock acquire -t 10m "$key"
  expect 75 rlock acquire -n --grace 1h "$key"
  [ "$(infos)" = '' ]
  rlock release --force "$key"
  expect 0 rlock run "$key" -- true
  [ "$(infos)" = 1 ] # the question of this test before
}
