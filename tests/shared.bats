# rlock run --shared: many readers together, writers alone, in the order in which they came.
# shellcheck disable=SC2016,SC2154 # the command expands what stands in single quotes; helper.bash sets key, url, sock
load helper
load jobs

setup_file() { start_server; }
teardown_file() { stop_servers; }

reader() { job "$1" --shared "${@:2}"; }
writer() { job "$@"; }
marked() { [ "$(redis get "rlock:$key")" = rlock:holders:s ]; }
scripts_called() { redis info commandstats | sed -n 's/^cmdstat_eval\(sha\)\?:calls=\([0-9]*\).*/\2/p' | awk '{ n += $1 } END { print n + 0 }'; }
# A token's fence stands behind the time of its grant.
fences() { rlock status --json "$key" | jq -r '.holders[].fence'; }

@test "readers run together, each with a fence of its own; a writer runs when the last of them has ended" {
  local name
  for name in a b c; do reader $name; done
  all_run a b c
  marked
  [ "$(fences | sort -u | wc -l)" = 3 ]
  writer w
  local w=$!
  until_true 10 waiting 1
  end a b
  until_true 10 eval '[ "$(holders)" = 1 ]'
  run -1 runs w
  end c
  all_run w
  [ "$(redis exists "rlock:h:{rlock:$key}")" = 0 ]
  end w
  ended 0 $w
  is_free
}

@test "nobody passes a waiting writer, not even a reader that does not queue" {
  reader a
  all_run a
  writer w
  until_true 10 waiting 1
  reader b
  until_true 10 waiting 2
  expect_error 75 "busy: $key is held, shared, by" rlock run -n -s "$key" -- true
  expect 75 rlock run -w 100ms -s "$key" -- true
  expect 75 rlock run -n "$key" -- true
  end a
  all_run w
  run -1 runs b
  end w
  all_run b
  expect 0 rlock run -n -s "$key" -- true
  end b
  [ "$(grep in log | paste -sd ' ')" = 'a in w in b in' ]
}

@test "one release lets in all readers up to the next writer" {
  local name
  writer w
  all_run w
  for name in a b c d e; do reader $name && until_true 10 waiting $((++n)); done
  writer v
  until_true 10 waiting 6
  reader f
  until_true 10 waiting 7
  end w
  all_run a b c d e
  waiting 2
  fences >fences
  sort -nuc fences
  [ "$(wc -l <fences)" = 5 ]
  end a b c d e
  all_run v
  run -1 runs f
  end v
  all_run f
  end f
}

@test "a writer that gives up lets in the readers behind it" {
  reader a
  all_run a
  writer w
  local w=$!
  until_true 10 waiting 1
  reader b
  reader c
  until_true 10 waiting 3
  kill -TERM $w
  ended 143 $w
  all_run b c
  end a b c
}

@test "a writer that was killed while it waited holds up the readers behind it for a moment only" {
  reader a
  all_run a
  writer w
  local w=$!
  until_true 10 waiting 1
  reader b
  until_true 10 waiting 2
  reader c
  until_true 10 waiting 3
  kill -KILL $w
  until_true 4 runs b
  until_true 4 runs c
  end a b c
}

@test "a frozen reader does not keep the others: its claim ends alone" {
  writer w
  all_run w
  reader a
  local a=$!
  until_true 10 waiting 1
  reader b
  until_true 10 waiting 2
  writer v
  until_true 10 waiting 3
  kill -STOP $a
  end w
  all_run b
  run -1 runs a
  end b
  # One claim lease.
  until_true 4 runs v
  kill -CONT $a
  end v a
  all_run a
}

@test "a reader that was killed is released by its guard, or its lease ends alone; the others hold on" {
  reader a -t 5s -k 100ms
  local a=$!
  reader b
  reader c
  local c=$!
  all_run a b c
  until_true 10 guard_of $a
  until_true 10 guard_of $c
  kill -KILL $c
  until_true 10 eval '[ "$(holders)" = 2 ]'
  marked
  writer w
  until_true 10 waiting 1
  kill -KILL "$(guard_of $a)" $a
  end b
  until_true 10 runs w
  end w a
}

@test "the key deleted: all readers have lost it; one taken out of the holders: that one alone" {
  reader a -t 9s -k 100ms
  local a=$!
  reader b -t 9s -k 100ms
  local b=$!
  reader c -t 9s -k 100ms
  local c=$!
  all_run a b c
  local first
  first=$(redis zrange "rlock:h:{rlock:$key}" 0 0)
  redis zrem "rlock:h:{rlock:$key}" "$first"
  until_true 10 eval '[ "$(for pid in '"$a $b $c"'; do is_gone $pid && echo gone; done | wc -l)" = 1 ]'
  [ "$(holders)" = 2 ]
  redis del "rlock:$key"
  local pid status=0
  for pid in $a $b $c; do ended 79 "$pid"; done
}

@test "nobody is left of the holders, whose key was deleted or emptied: the waiters hold at once" {
  local gone
  for gone in del zpopmin; do
    key=key-$gone
    reader "a$gone" -t 60s
    all_run "a$gone"
    writer "w$gone" -t 60s
    until_true 10 waiting 1
    sleep 1 # by then it watches
    redis "$gone" "rlock:h:{rlock:$key}"
    until_true 2 runs "w$gone"
    end "a$gone" "w$gone"
  done
}

@test "release --force releases all who hold it, and says who they were" {
  local one two
  one=$(USER=ann rlock acquire -t 10m -s "$key")
  two=$(USER=ben rlock acquire -t 10m -s "$key")
  run --separate-stderr -0 rlock release --force "$key"
  [[ $stderr =~ ann@.*ben@ ]]
  is_free
  expect_error 79 'is not held by anybody' rlock renew "$key" "$one"
  expect_error 79 'is not held by anybody' rlock release "$key" "$two"
}

@test "acquire, renew and release: each token stands for itself" {
  local one two
  one=$(rlock acquire -s -t 5s "$key")
  two=$(rlock acquire -s -t 5s "$key")
  rlock renew -t 60s "$key" "$one"
  [ "$(redis pttl "rlock:$key")" -gt 30000 ]
  rlock release "$key" "$one"
  # The key lives no longer than the last of its holders.
  [ "$(redis pttl "rlock:$key")" -le 5000 ]
  expect_error 79 'held by somebody else' rlock renew "$key" "$one"
  expect_error 79 'held by somebody else' rlock release "$key" "$one"
  rlock renew "$key" "$two"
  rlock release "$key" "$two"
  is_free
}

@test "status shows all who hold it, and how each waits" {
  USER=ann rlock acquire -t 10m -s "$key"
  USER=ben rlock acquire -t 10m -s "$key"
  writer w
  until_true 10 waiting 1
  reader a
  until_true 10 waiting 2
  rlock status --json "$key" >json
  jq -e '.held and .mode == "shared" and ([.holders[].user] | sort) == ["ann", "ben"]' json
  jq -e '[.waiters[].mode] == ["exclusive", "shared"] and (.holders | all(.ttl_ms > 0 and .ttl_ms <= 600000))' json
  rlock status "$key" >table
  grep -q '^state *shared 2$' table
  [ "$(grep -Ec '^(ann|ben)@' table)" = 2 ]
  grep -Eq '^1 +[^ ]+@.* exclusive$' table
  grep -Eq '^2 +[^ ]+@.* shared$' table
  rlock status | grep -Eq "^$key +shared 2 +(ann|ben)@.* [+] 1 "
  expect 0 rlock status --exit-code -q "$key"
  rlock release --force "$key"
  all_run w
  end w a
  all_run a
}

@test "a nested run asks for no more than the one around it has" {
  expect 0 rlock run -s "$key" -- rlock run -n -s "$key" -- rlock run -s "$key" -- true
  expect 0 rlock run "$key" -- rlock run -n -s "$key" -- true
  expect_error 78 "$key is held with --shared around this run, which asks to hold it alone: waiting" \
    rlock run -s "$key" -- rlock run "$key" -- true
  is_free
}

@test "a nested run of a shared one does not release it, and a shared token of a shell is renewed by the run" {
  reader a
  all_run a
  rlock run -s "$key" -- sh -c 'rlock run -s "$RLOCK_KEY" -- true; redis-cli -s "$sock" zcard "rlock:h:{rlock:$RLOCK_KEY}" >n'
  [ "$(cat n)" = 2 ]
  RLOCK_TOKEN=$(rlock acquire -s -t 3s "$key")
  export RLOCK_TOKEN RLOCK_KEY=$key
  expect 0 rlock run -s -t 3s -k 100ms "$key" -- sleep 4
  rlock release
  end a
}

@test "libraries keep out while readers hold, and readers while a library does" {
  reader a
  all_run a
  [ -z "$(redis set "rlock:$key" theirs nx px 1000)" ]
  end a
  until_true 10 is_free
  redis set "rlock:$key" theirs nx px 60000
  expect_error 75 'by a program other than rlock' rlock run -n -s "$key" -- true
  reader b
  until_true 10 waiting 1
  redis del "rlock:$key"
  all_run b
  end b
}

@test "a restarted server: each reader takes its place again" {
  not_under_acl 'restarts the server'
  own_server
  reader a -t 60s
  local a=$!
  reader b -t 60s
  local b=$!
  reader c -t 60s
  local c=$!
  all_run a b c
  until_true 10 guard_of $a
  until_true 10 guard_of $b
  until_true 10 guard_of $c
  sleep 1.1 # a fence is a time, and the server counts its uptime in seconds
  kill_own_server
  own_server
  until_true 10 eval '[ "$(holders)" = 3 ]'
  marked
  end a b c
  ended 0 $a
  ended 0 $b
  ended 0 $c
}

@test "fifty readers do not wake each other with their renewals" {
  not_under_acl 'counts the calls of all'
  local i
  for i in $(seq 50); do
    background rlock run -s -t 6s -k 100ms "$key" -- sh -c 'until [ -e end ]; do sleep 0.2; done'
  done
  until_true 20 eval '[ "$(holders)" = 50 ]'
  until_true 10 eval '[ "$(rlock status --json "$key" | jq "[.holders[].ttl_ms] | min")" -gt 4000 ]'
  redis config resetstat
  sleep 6
  local scripts
  scripts=$(scripts_called)
  touch end
  echo "scripts in one lease: $scripts"
  # Each renews three times, some a little late, and looks at most three times between two renewals.
  [ "$scripts" -ge 100 ]
  [ "$scripts" -le 1000 ]
  finish
}

@test "what does not go together is an error, and nothing is changed" {
  expect_error 64 '--exclusive and --shared exclude each other; leave one of them out' rlock run -x -s "$key" -- true
  expect_error 64 'exclude each other' rlock run -s --slots 2 "$key" -- true
  expect_error 64 '--compat redisson' rlock run -s --compat redisson "$key" -- true
  is_free
}

@test "fifty readers and writers, some of them killed: nobody beside a writer, and everybody is served" {
  python3 -B "$BATS_TEST_DIRNAME/faults/modes.py" --seconds 5 --kills 6
}
