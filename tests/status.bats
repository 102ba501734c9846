load helper

# No lease here ends by itself.
export RLOCK_TTL=10m

setup_file() { start_server; }
teardown_file() { stop_servers; }

# five_waiters: behind a holder, each of a user of its own: w1 first.
five_waiters() {
  local i
  token=$(USER=ann rlock acquire --ttl 10m "$key")
  for i in 1 2 3 4 5; do
    USER=w$i background rlock run "$key" -- true
    until_true 10 waiting "$i"
  done
}

# holds QUERY: the JSON in $output is such.
holds() {
  jq -e "$1" >/dev/null <<<"$output" || {
    echo "not so: $1: $output" >&2
    return 1
  }
}

# harmless FILE: only newlines and what prints; in an error, the bytes.
harmless() {
  python3 - "$1" <<-'END'
	import sys, unicodedata
	text = open(sys.argv[1], "rb").read().decode()
	assert text, "empty"
	bad = [hex(ord(c)) for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")]
	sys.exit(f"raw: {bad}" if bad else 0)
	END
}
ascii_only() { [ -s "$1" ] && [ "$(LC_ALL=C tr -d '\n\040-\176' <"$1" | wc -c)" = 0 ]; }

@test "--json tells the holder and five waiters in order while they wait" {
  local token
  five_waiters
  run --separate-stderr -0 rlock status --json "$key"
  [ "${#lines[@]}" = 1 ]
  holds ".version == 1 and .key == \"$key\" and .held and .waiting == 5 and (.holders | length) == 1"
  holds "[.waiters[].user] == [\"w1\", \"w2\", \"w3\", \"w4\", \"w5\"]"
  holds ".holders[0].user == \"ann\" and .holders[0].host == \"$(uname -n)\" and .holders[0].pid > 1"
  holds ".holders[0].fence == $(redis get "rlock:f:{rlock:$key}")"
  holds '.holders[0].ttl_ms > 300000 and .holders[0].ttl_ms <= 600000 and .holders[0].held_ms >= 0 and .holders[0].held_ms < 300000'
  holds '.holders[0].since | test("^20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]Z$")'
  holds '[.waiters[].waiting_ms] | . == (sort | reverse) and .[0] < 300000'
  holds 'all(.waiters[]; .pid > 1 and (.since | endswith("Z")))'
  rlock release "$key" "$token"
  finish
}

@test "a waiter's pid is that of its rlock, a holder's of what it holds for" {
  rlock run "$key" -- sh -c 'echo $PPID >pid; until [ -e go ]; do sleep 0.01; done' 3>&- &
  until_true 10 test -s pid
  background rlock run "$key" -- true
  until_true 10 waiting 1
  run --separate-stderr -0 rlock status --json "$key"
  holds ".holders[0].pid == $(cat pid) and .waiters[0].pid == $!"
  touch go
  finish
}

@test "without a key, all locks, and nothing else that lies on the server" {
  redis flushall
  redis set other-data 1
  run -0 rlock status --json
  [ "$(jq -c . <<<"$output")" = '{"version":1,"locks":[]}' ]
  run --separate-stderr -0 rlock status
  [ -z "$output" ]
  [[ $stderr == "rlock: no locks at unix://"* ]]
  run --separate-stderr -0 rlock status -q
  [ -z "$output$stderr" ]
  local token
  token=$(rlock acquire beta)
  rlock acquire alpha
  redis set rlock:gamma theirs
  background rlock run beta -- true
  until_true 10 waiting 1 beta
  run -0 rlock status --json
  holds '[.locks[].key] == ["alpha", "beta", "gamma"]'
  holds '.locks[0].waiting == 0 and .locks[1].waiting == 1 and .locks[2].holders[0].foreign'
  run --separate-stderr -0 rlock status
  [ "${#lines[@]}" = 4 ]
  [[ ${lines[1]} = beta*' 1 '* && ${lines[2]} = alpha* && ${lines[3]} = gamma* ]]
  rlock release beta "$token"
  finish
  # A run of beta has ended, and its lock is remembered for that.
  run -0 rlock status --json
  holds '[.locks[].key] == ["alpha", "beta", "gamma"] and (.locks[1] | .held == false and .last_run.exit_status == 0)'
  token=$(rlock acquire delta)
  rlock release delta "$token"
  run -0 rlock status --json
  holds '[.locks[].key] == ["alpha", "beta", "gamma"]'
}

@test "without a key, the locks of the prefix alone, under an empty one too" {
  not_under_acl 'other prefixes are denied'
  redis flushall
  rlock acquire --prefix team: mine
  rlock acquire theirs
  rlock acquire --prefix '' 'bare{tag}'
  run -0 rlock status --prefix team: --json
  holds '[.locks[].key] == ["mine"]'
  run -0 rlock status --json
  holds '[.locks[].key] == ["theirs"]'
  run -0 rlock status --prefix '' --json
  holds '[.locks[].key] == ["bare{tag}", "rlock:theirs", "team:mine"]'
  # A prefix is no pattern.
  run -0 rlock status --prefix 't*' --json
  holds '.locks == []'
}

@test "a free key is told to be free" {
  run -0 rlock status "$key"
  [ "$output" = $'key    '"$key"$'\nstate  free (nothing is known of it: never used, or long ago)' ]
  run -0 rlock status --json "$key"
  [ "$output" = "{\"version\":1,\"key\":\"$key\",\"held\":false,\"holders\":[],\"waiting\":0,\"waiters\":[],\"last_run\":null}" ]
}

@test "--exit-code answers an if" {
  local token
  if rlock status --exit-code -q "$key"; then false; fi
  expect 1 rlock status --exit-code "$key"
  expect 1 rlock status --exit-code --json "$key"
  token=$(rlock acquire "$key")
  if ! rlock status --exit-code -q "$key"; then false; fi
  expect 0 rlock status --exit-code "$key"
  expect 0 rlock status -q --exit-code "$key"
  [ -z "$output" ]
  rlock release "$key" "$token"
  expect 1 rlock status --exit-code "$key"
  redis rpush "rlock:$key" theirs
  expect 0 rlock status --exit-code "$key"
  redis flushall
  expect 1 rlock status --exit-code
  rlock acquire "$key"
  expect 0 rlock status --exit-code
}

@test "a lock of another program has a ttl, and no name" {
  redis set "rlock:$key" theirs px 50000
  run -0 rlock status "$key"
  [[ $output == *$'\n(not an rlock)'\ +([-\ ])[1-5][0-9]s* ]]
  run -0 rlock status --json "$key"
  holds '.held and .holders[0].foreign and .holders[0].ttl_ms > 1000'
  redis persist "rlock:$key"
  run -0 rlock status --json "$key"
  holds '.held and .holders[0].foreign and .holders[0].ttl_ms == null'
  run --separate-stderr -0 rlock status "$key"
  [[ $output == *' no end '* ]]
  [[ $stderr == "rlock: $key never expires: "*"rlock release --force $key" ]]
  run --separate-stderr -75 rlock acquire -n "$key"
  [[ $stderr == *'; it never expires: '*"rlock release --force $key" ]]
  rlock release --force "$key"
}

@test "how to release a lock that never expires is told with the prefix and the form that it has" {
  not_under_acl 'other prefixes are denied'
  redis set "$key" theirs
  expect_error 75 "rlock release --force --prefix '' $key" rlock acquire -n --prefix '' "$key"
  run --separate-stderr -0 rlock status --prefix '' "$key"
  [[ $stderr == *"rlock release --force --prefix '' $key" ]]
  redis del "$key"
  redis hset "$key" 2bd4a3de-e5b4-4f4c-8c3f-7b6ba2a9a9a1:54 1
  expect_error 75 "rlock release --force --prefix '' --compat redisson $key" \
    rlock acquire -n --prefix '' --compat redisson "$key"
  expect_error 75 'a program other than rlock; it never expires; it is a lock of Redisson: use --compat redisson' \
    rlock acquire -n --prefix '' "$key"
}

@test "under an empty prefix a lock of another library is told from data by its end" {
  not_under_acl 'other prefixes are denied'
  redis flushall
  redis set data 1
  redis hset hash field 1
  expect 1 rlock status --prefix '' --exit-code
  redis set theirs token px 60000
  expect 0 rlock status --prefix '' --exit-code
  run -0 rlock status --prefix '' --json
  holds '[.locks[].key] == ["theirs"]'
}

# many N: that many locks of another library.
many() {
  redis flushall
  redis eval 'for i = 1, ARGV[1] do redis.call("SET", "rlock:many-" .. i, "x", "PX", 3600000) end' 0 "$1"
}

@test "a hundred thousand locks are listed, and many travel together" {
  local count=100000
  [ -z "${TEST_SANITIZER:-}" ] || count=10000
  many $count
  rlock status >table
  [ "$(wc -l <table)" = $((count + 1)) ]
  rlock status --json >json
  jq -e ".locks | length == $count" json
  many 5000
  strace -e trace=sendto,write,writev -o sent rlock status --exit-code -q
  # One request each would be 5000.
  [ "$(wc -l <sent)" -lt 500 ]
  redis flushall
}

@test "TERM ends it at once, whether it asks, waits for an answer or writes" {
  many 1000
  sleeps() { [ "$(state_of "$1")" = S ]; }
  local pid what
  kill -STOP "$(server_pid)"
  for what in '' "$key"; do
    rlock status $what 3>&- &
    pid=$!
    until_true 10 sleeps "$pid"
    kill -TERM "$pid"
    ended 143 "$pid"
  done
  kill -CONT "$(server_pid)"
  # More than a pipe takes, and nobody reads.
  many 5000
  mkfifo pipe
  exec 8<>pipe
  rlock status >pipe 3>&- &
  pid=$!
  read -r _ <&8
  until_true 10 sleeps "$pid"
  kill -TERM "$pid"
  ended 143 "$pid"
  exec 8>&-
  redis flushall
}

@test "a command line is shown only where its user asked for it" {
  hold() {
    rlock run "$@" "$key" -- sh -c 'touch up; until [ -e go ]; do sleep 0.01; done' --password=canary 3>&- &
    until_true 10 test -e up
  }
  release() {
    touch go
    wait "$!"
    rm up go
  }
  hold
  run -0 rlock status --json "$key"
  holds '.holders[0] | has("command") | not'
  run -0 rlock status -v
  [[ $output != *canary* ]]
  run -0 redis hvals "rlock:i:{rlock:$key}"
  [[ $output != *canary* ]]
  release
  hold --show-command
  run -0 rlock status --json "$key"
  # As a shell would read it.
  holds '.holders[0].command == "sh -c '\''touch up; until [ -e go ]; do sleep 0.01; done'\'' --password=canary"'
  run -0 rlock status "$key"
  [[ $output == *' --password=canary'* ]]
  release
  RLOCK_SHOW_COMMAND=true hold
  run -0 rlock status "$key"
  [[ $output == *' --password=canary'* ]]
  release
}

@test "no token is ever shown" {
  local token
  five_waiters
  redis zrange "rlock:q:{rlock:$key}" 0 -1 >tokens
  echo "$token" >>tokens
  [ "$(wc -l <tokens)" = 6 ]
  {
    rlock status
    rlock status -v "$key"
    rlock status -v --json
    rlock status --json "$key"
    rlock acquire -vn "$key" || true
    rlock release -v "$key" 0123 || true
    rlock release -v --force "$key"
  } >shown 2>&1
  [ "$(wc -l <shown)" -gt 10 ]
  run -1 grep -Ff tokens shown
  finish
}

@test "whatever stands in a record, nothing raw comes out" {
  local bytes i words=() odd corpus=0
  redis flushall
  for ((i = 0; i < 256; i++)); do words+=("$(printf '\\x%02x' $i)"); done
  bytes=$(printf %s "${words[@]}")
  # CSI and OSC in seven and eight bits and as UTF-8, direction and zero width marks, overlong and broken UTF-8.
  for odd in "$bytes" '\x1b[31mred\x1b[0m' '\x1b]0;title\x07' '\x9b31m' '\x9d0;title\x9c' '\xc2\x9b31m' '\xc2\x85' \
    '\xe2\x80\xae' '\xe2\x81\xa6' '\xe2\x80\x8f' '\xd8\x9c' '\xe2\x80\xa8' '\xef\xbb\xbf' '\xc0\x9b' '\xe0\x80\x9b' \
    '\xed\xa0\x80' '\xf4\x90\x80\x80' '\xf3\xa0\x80\xa1' '\xe2\x80' '\xff\xfe' '\r\n\t\b'; do
    # As redis-cli reads it from a file: in quotes, with escapes. A word of a record holds no space.
    # A key with braces is named in another way.
    local word=${odd/'\x20'/} name=${odd/'\x7b'/}
    name=${name/'\x7d'/}
    cat <<-END | redis >/dev/null
	set "rlock:$name" token px 60000
	hset "rlock:i:{rlock:$name}" token "1 s 1 1 7 1 $word $word $odd"
	zadd "rlock:q:{rlock:$name}" 1 waiter
	hset "rlock:i:{rlock:$name}" waiter "1 p 1 1 0 1 $word $word $odd"
	set "rlock:$key" token px 60000
	hset "rlock:i:{rlock:$key}" token "1 s 1 1 7 1 $word $word $odd"
	END
    rlock status "$key" >>table
    rlock status --json "$key" >>json
    rlock acquire -n "$key" 2>>errors || true
    rlock acquire -v -w 10ms "$key" 2>>errors || true
    rlock release --force "$key" 2>>errors
    corpus=$((corpus + 1))
  done
  harmless table
  harmless errors
  ascii_only json
  # Key, state, mode; a heading and the holder.
  [ "$(wc -l <table)" = $((6 * corpus)) ]
  [ "$(wc -l <json)" = $corpus ]
  [ "$(jq .holders[0].pid json | sort -u)" = 1 ]
  # A line each; that it waits is said only where the first answer came before the 10 ms were over.
  [ "$(grep -c '^rlock: busy: ' errors)" = $((2 * corpus)) ]
  [ "$(grep -c '^rlock: released ' errors)" = $corpus ]
  rlock status >table
  harmless table
  [ "$(wc -l <table)" = $((1 + corpus)) ]
  rlock status --json >json
  ascii_only json
  jq -e ".locks | length == $corpus" json
}

@test "records that make no sense harm nobody" {
  local odd
  redis set "rlock:$key" token px 60000
  redis zadd "rlock:q:{rlock:$key}" 1e300 a -inf b inf c 1.5 d 1e19 e
  for odd in '' x '1' '1 s ' '1 s 1 1 1' '1 s x y z w' '2 s 1 1 7 1 h u c' '1 s 1 99999999999999999999 99999999999999999999 99999999999999999999 h u c' \
    '1 s -1 -1 -1 -1 h u c' '1 s 1 -9223372036854775808 1 1 h u c' '1 s 1 9223372036854775807 1 1 h u c' '        '; do
    redis hset "rlock:i:{rlock:$key}" token "$odd" a "$odd" b "$odd" d "$odd"
    expect 0 rlock status "$key"
    run --separate-stderr -0 rlock status --json "$key"
    holds '.held and .waiting == 5'
    expect 75 rlock acquire -n "$key"
  done
}

@test "a user with control characters in his name is shown without" {
  USER=$'\e]0;title\a\xff\u202e' rlock acquire "$key"
  rlock status "$key" >table
  harmless table
  grep -q '\\x1b\]0;title\\x07' table
  LOGNAME=$'\e[2J' USER='' rlock acquire "$key-2"
  rlock status >table
  harmless table
}

@test "a user or host with spaces does not shift the rest of the record" {
  USER='ann marie' rlock run --show-command "$key" -- sh -c 'rlock status --json "$RLOCK_KEY"' >json
  jq -e '.holders[0].user == "ann_marie" and (.holders[0].command | startswith("sh -c "))' json
}

@test "of a long queue the first thousand are listed and all are counted" {
  rlock acquire "$key"
  redis eval 'for i = 1, 1234 do redis.call("ZADD", KEYS[1], i, "w" .. i) end' 1 "rlock:q:{rlock:$key}"
  run --separate-stderr -0 rlock status --json "$key"
  holds '.waiting == 1234 and (.waiters | length) == 1000'
  run --separate-stderr -0 rlock status "$key"
  [[ ${lines[-1]} == *"and 234 more"* ]]
}

@test "a table that cannot be written is an error" {
  rlock acquire "$key"
  expect 70 sh -c 'rlock status >/dev/full'
  expect 70 sh -c 'rlock status --json >/dev/full'
  # But whoever closes the pipe has read enough: rlock status | head
  python3 - "$key" <<-'END'
	import os, subprocess, sys
	for options, status in (([], 0), (["--json"], 0), (["--exit-code", sys.argv[1]], 0), (["--exit-code", "free"], 1)):
	    reader, writer = os.pipe()
	    os.close(reader)
	    done = subprocess.run(["rlock", "status", *options], stdout=writer, stderr=subprocess.PIPE)
	    os.close(writer)
	    assert (done.returncode, done.stderr) == (status, b""), (options, done)
	END
}

@test "status changes nothing" {
  rlock acquire "$key"
  redis set "rlock:$key-2" theirs
  local before
  before=$(redis info persistence | grep rdb_changes)
  rlock status
  rlock status --json "$key"
  rlock status --exit-code "$key-2"
  rlock status "$key-3"
  [ "$(redis info persistence | grep rdb_changes)" = "$before" ]
}

@test "a side key of another type hides its own lock's queue, and no other lock" {
  rlock acquire "$key" >/dev/null
  redis set 'rlock:q:{rlock:odd}' x
  redis hset 'rlock:i:{rlock:odd}' a b
  redis set 'rlock:i:{rlock:other}' x
  redis set rlock:other token px 60000
  expect 0 rlock status --json
  [ "$(jq -r --arg key "$key" '.locks[] | select(.key == $key) | .held' <<<"$output")" = true ]
  [ "$(jq -r '.locks[] | select(.key == "other") | .held' <<<"$output")" = true ]
  redis del 'rlock:q:{rlock:odd}' 'rlock:i:{rlock:odd}' 'rlock:i:{rlock:other}' rlock:other
}

@test "what another hand wrote at any length is shown as long as an rlock writes it, and widens no table" {
  redis flushall
  local long
  long=$(printf 'x%.0s' {1..20000})
  rlock acquire "$key"
  rlock acquire "$key-2"
  redis set "rlock:$long" token px 60000
  redis hset "rlock:i:{rlock:$long}" token "1 s 1 1 7 1 $long $long $long"$'\x1f'"$long"
  rlock status --json "xxx*" >json
  [ "$(jq '.locks[0].holders[0] | [.host, .user, .command, .label | length] | join(" ")' json)" = '"255 255 500 256"' ]
  [ "$(jq '.locks[0].key | length' json)" = 20000 ]
  rlock status >table
  grep -qxE "$key +held .*" table
  [ "$(wc -L <table)" -le 200 ]
  grep -qE '^x{50,}…  held   x{50,}…  ' table
}
