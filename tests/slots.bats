# rlock run --slots N: at most N at once, in the order in which they came.
# shellcheck disable=SC2016,SC2154 # the command expands what stands in single quotes; helper.bash sets key, url, sock
load helper
load jobs

setup_file() { start_server; }
teardown_file() { stop_servers; }

# user NAME [OPTION...]: a job with one of two slots.
user() { job "$1" --slots 2 "${@:2}"; }

@test "so many run at once and no more, and those who wait come in their order" {
  local name
  user a
  user b
  all_run a b
  for name in c d e; do user $name && until_true 10 waiting $((++n)); done
  expect_error 75 "busy: all 2 slots of $key are held, one by" rlock run -n --slots 2 "$key" -- true
  expect 75 rlock run -w 100ms --slots 2 "$key" -- true
  expect 9 rlock run -n -E 9 --slots 2 "$key" -- true
  end b
  all_run c
  waiting 2
  end a
  all_run d
  waiting 1
  end c
  all_run e
  end d e
  until_true 10 is_free
  [ "$(redis exists "rlock:h:{rlock:$key}" "rlock:q:{rlock:$key}")" = 0 ]
}

@test "behind a foreign holder, all slots are given at once" {
  local name n=0
  redis set "rlock:$key" theirs px 60000
  for name in a b c; do user $name && until_true 10 waiting $((++n)); done
  redis del "rlock:$key"
  all_run a b
  waiting 1
  end a
  all_run c
  end b c
}

@test "another number, or another kind of lock, is an error that says which is in force; once the lock is free, any goes" {
  user a
  all_run a
  expect_error 78 "$key is in use with --slots 2, not --slots 3; give --slots 2 too, or choose another KEY" rlock run --slots 3 "$key" -- true
  expect_error 78 "$key is in use with --slots 2; give --slots 2 too, or choose another KEY" rlock run "$key" -- true
  expect_error 78 "$key is in use with --slots 2, not --shared; give --slots 2 too," rlock run -n -s "$key" -- true
  expect_error 78 'with --slots 2' rlock acquire -t 10m "$key"
  waiting 0
  [ "$(holders)" = 1 ]
  end a
  until_true 10 is_free
  expect 0 rlock run --slots 3 "$key" -- true
  expect 0 rlock run -s "$key" -- true
  expect 0 rlock run "$key" -- true
  rlock acquire -t 10m "$key"
  expect_error 78 "$key is in use without --slots; leave out --slots 2, or choose another KEY" rlock run --slots 2 "$key" -- true
  rlock release --force "$key"
  rlock acquire -t 10m -s "$key"
  expect_error 78 "$key is in use with --shared; leave out --slots 2, or choose another KEY" rlock run --slots 2 "$key" -- true
}

@test "a slot whose holder was killed is free at once, or when its lease ends where the guard is dead too" {
  user a -t 5s -k 100ms
  local a=$!
  user b
  local b=$!
  all_run a b
  until_true 10 guard_of $a
  until_true 10 guard_of $b
  user c
  until_true 10 waiting 1
  kill -KILL $b
  all_run c
  user d
  until_true 10 waiting 1
  kill -KILL "$(guard_of $a)" $a
  until_true 10 runs d
  [ "$(holders)" = 2 ]
  end a c d
}

@test "a slot handed to a frozen waiter goes to the next one" {
  user a
  user b
  all_run a b
  user c
  local c=$!
  until_true 10 waiting 1
  user d
  until_true 10 waiting 2
  kill -STOP $c
  end a
  until_true 4 runs d
  kill -CONT $c
  until_true 10 waiting 1
  end d
  all_run c
  end b c
}

@test "a frozen holder: its lease ends alone, its command is dead by then, and the slot is the next one's" {
  user a -t 5s -k 100ms
  local a=$!
  user b
  all_run a b
  until_true 10 guard_of $a
  user c
  until_true 10 waiting 1
  kill -STOP $a
  until_true 10 runs c
  run -1 grep -x 'a out' log
  ended 79 $a
  end b c
}

@test "acquire takes a slot, renew and release find it by its token" {
  local one two
  one=$(rlock acquire --slots 2 -t 5s "$key")
  two=$(rlock acquire --slots 2 -t 5s "$key")
  [ "$one" != "$two" ]
  expect 75 rlock acquire -n --slots 2 "$key"
  rlock renew -t 60s "$key" "$one"
  rlock release "$key" "$two"
  [ "$(holders)" = 1 ]
  expect_error 79 'held by somebody else' rlock renew "$key" "$two"
  expect 0 rlock acquire -n --slots 2 "$key"
  rlock release "$key" "$one"
}

@test "status tells how many slots are held, and by whom" {
  USER=ann rlock acquire -t 10m --slots 3 "$key"
  USER=ben rlock acquire -t 10m --slots 3 "$key"
  rlock status --json "$key" >json
  jq -e '.held and .mode == "slots" and .slots == 3 and [.holders[].user] == ["ann", "ben"]' json
  rlock status "$key" >table
  grep -q '^state *slots 2 of 3$' table
  [ "$(grep -Ec '^(ann|ben)@' table)" = 2 ]
  rlock status | grep -Eq "^$key +slots 2 of 3 +ann@.* [+] 1 "
  run --separate-stderr -0 rlock release --force "$key"
  [[ $stderr =~ ann@.*ben@ ]]
}

@test "a nested run has the slot of the one around it" {
  expect 0 rlock run --slots 1 "$key" -- rlock run -n --slots 1 "$key" -- true
  expect_error 78 'around this run' rlock run --slots 2 "$key" -- rlock run "$key" -- true
  expect_error 78 'around this run' rlock run "$key" -- rlock run --slots 2 "$key" -- true
  is_free
}

@test "a restarted server: each holder takes its slot again, and there are no more of them" {
  not_under_acl 'restarts the server'
  own_server
  user a -t 60s
  local a=$!
  user b -t 60s
  local b=$!
  all_run a b
  until_true 10 guard_of $a
  until_true 10 guard_of $b
  sleep 1.1 # a fence is a time, and the server counts its uptime in seconds
  kill_own_server
  own_server
  until_true 10 eval '[ "$(holders)" = 2 ]'
  expect 75 rlock run -n --slots 2 "$key" -- true
  end a b
  ended 0 $a
  ended 0 $b
}

@test "a bad number, and several independent servers, are errors" {
  local number
  for number in 0 -1 1.5 10001 many ''; do
    expect_error 64 '--slots' rlock run --slots "$number" "$key" -- true
  done
  expect_error 64 '--slots cannot be counted by several independent servers' \
    rlock run --slots 2 --server "$url,unix:///tmp/b.sock,unix:///tmp/c.sock" "$key" -- true
  is_free
}

@test "fifty for four slots, some of them killed: never more than four at once, and everybody is served" {
  python3 -B "$BATS_TEST_DIRNAME/faults/modes.py" --slots 4 --seconds 5 --kills 6
}
