# What only ZooKeeper has: its URLs, users, certificates, limits, and what rlock leaves there.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # the command expands what stands in single quotes; helper.bash sets key, url
load helper
load certificates
load zookeeper
load stores

setup_file() { start_store; }
teardown_file() { stop_servers; }

let_go() {
  touch go
  ended 0 "$rlock"
}

# tls_store CLIENTS: an own store that speaks TLS at 127.0.0.1:$tls_port as server.crt, and knows ca.crt; CLIENTS need a
# certificate, or none do. It speaks without TLS too.
tls_store() {
  tls_port=$(free_port)
  cat server.crt server.key >server.pem
  # Netty serves TLS; Debian's class path names no more than some of its parts.
  [ "${ZOOKEEPER_JARS%zookeeper.jar}" = "$ZOOKEEPER_JARS" ] ||
    local ZOOKEEPER_JARS=$ZOOKEEPER_JARS:/usr/share/java/netty-codec.jar:/usr/share/java/netty-resolver.jar
  own_store serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory "secureClientPort=$tls_port" \
    "ssl.keyStore.location=$PWD/server.pem" ssl.keyStore.type=PEM "ssl.trustStore.location=$PWD/ca.crt" ssl.trustStore.type=PEM \
    "ssl.clientAuth=$1"
}

@test "a URL that is wrong: what, and how it is meant" {
  local bad
  for bad in zookeeper:// zookeeper:///chroot zookeeper://h:0 zookeeper://h:70000 zookeeper://h:x zookeeper://h,,i zookeeper://h,h \
    'zookeeper://h?cacert=x' 'zookeepers://h?nope=1' 'zookeeper://u:p%zz@h' 'zookeepers://h?cert=x' 'zookeeper://h//x' \
    'zookeeper://h/a/../b' 'zookeeper://:canary@h' 'zookeeper://h zookeeper://i' 'zookeeper://h,redis://i'; do
    expect 64 rlock run --server "$bad" "$key" -- touch ran
    [[ $output == 'rlock: '* && $output != *canary* ]]
    [ "${#lines[@]}" = 1 ]
  done
  expect_error 64 'a user without a password' rlock run --server zookeeper://ann@h "$key" -- touch ran
  echo canary >password
  chmod 600 password
  expect_error 64 'names no user' rlock run --server zookeeper://h --password-file password "$key" -- touch ran
  [ ! -e ran ]
}

@test "something that does not speak the protocol of ZooKeeper, and one who hangs up: each is called that, and no command runs" {
  local reply said
  for reply in 'text:HTTP/1.1 400 Bad Request' close; do
    said="does not speak ZooKeeper's protocol"
    [ "$reply" != close ] || said='it may have no majority, or too many connections'
    background python3 -B "$BATS_TEST_DIRNAME/faults/fake_server.py" --listen 127.0.0.1:0 --seconds 600 --reply "$reply" >fake.log
    until_true 10 grep -q ready fake.log
    expect_error 69 "$said" rlock run -w 100ms --server "zookeeper://$(sed -n 's/^ready //p' fake.log)" "$key" -- touch ran
    [[ $said != does* || $stderr != *majority* ]]
    kill $!
    : >fake.log
  done
  [ ! -e ran ]
}

@test "a node of the URL keeps locks apart; one that is missing is 78, and the message makes it" {
  expect_error 78 'has no node /team; make it: zkCli.sh' rlock run --server "zookeeper://$endpoint/team" "$key" -- touch ran
  expect_error 78 'has no node /team/a; make it, after /team if there is none: ' rlock run --server "zookeeper://$endpoint/team/a" "$key" -- touch ran
  RLOCK_SERVER=zookeeper://$endpoint/team/a every_verb 78 'has no node /team/a; make it, after /team if there is none: zkCli.sh -server '"$endpoint"' create /team/a'
  ask create /team
  ask create /team/a
  expect 0 rlock run --server "zookeeper://$endpoint/team/a" "$key" -- rlock run --server "$url" -n "$key" -- true
  rlock acquire --server "zookeeper://$endpoint/team/a" "$key"
  [ "$(rlock status --server "zookeeper://$endpoint/team/a" --format keys)" = "$key" ]
  is_free
}

@test "a node of the URL that is deleted with all below it: who held a lock there is told (79), and it is not made anew" {
  ask create /gone
  export RLOCK_SERVER=zookeeper://$endpoint/gone
  start_held -t 12s
  ask delete /gone
  ended 79 "$rlock"
  expect_error 78 'has no node /gone; make it: ' rlock run "$key" -- touch ran
  [ ! -e ran ]
}

@test "a user: the right to create below one node is all that is needed, and every verb works with it" {
  ask create /ann
  ask give /ann ann:pass c
  export RLOCK_SERVER=zookeeper://ann:pass@$endpoint/ann
  start_held -t 12s --label x
  background rlock run "$key" -- true
  until_true 10 waiting 1
  [ "$(status_of '.holders[0].label')" = x ]
  expect 75 rlock run -n "$key" -- true
  local token queue
  queue=$(ask_as ann:pass children /ann/q | head -n 1)
  token=$(ask_as ann:pass children "/ann/q/$queue" | head -n 1)
  RLOCK_KEY=$key RLOCK_TOKEN=${token%%-*} expect 0 rlock renew -t 12s "$key"
  let_go
  finish
  rlock release --force "$key" || true
  token=$(rlock acquire "$key")
  rlock renew -t 1m "$key" "$token"
  rlock release "$key" "$token"
  rlock run --hold 5s --slots 2 --once 1ms --with "$key-b" "$key" -- true
  rlock status --format keys | grep -qx "$key"
  # What it has made is nobody else's.
  local path shard
  shard=$(ask_as ann:pass children /ann/l | head -n 1)
  for path in /ann/q "/ann/q/$queue" /ann/l "/ann/l/$shard" "/ann/l/$shard/$(ask_as ann:pass children "/ann/l/$shard" | head -n 1)"; do
    ask_as ann:pass data "$path"
    run -1 ask data "$path"
    run -1 ask_as ben:pass data "$path"
  done
}

@test "a user: a wrong password, another user and none are 77, one line, and the password in none" {
  ask_as ann:pass create /anns
  rlock acquire --server "zookeeper://ann:pass@$endpoint/anns" "$key"
  RLOCK_SERVER=zookeeper://ann:CANARY-wrong@$endpoint/anns every_verb 77 'denies this to the user ann, or the password is wrong'
  RLOCK_SERVER=zookeeper://ben:CANARY-wrong@$endpoint/anns every_verb 77 'denies this to the user ben, or the password is wrong'
  RLOCK_SERVER=zookeeper://$endpoint/anns every_verb 77 'wants a user; write zookeeper://USER:PASSWORD@HOST'
  export RLOCK_SERVER=zookeeper://ann:CANARY-wrong@$endpoint/anns
  rlock run -v "$key" -- true >>said 2>&1 || true
  rlock status -v >>said 2>&1 || true
  run -1 grep -i canary said
}

@test "a user: the password comes from a file, stands in no process list, and not in the command's environment" {
  ask_as 'ann:zkcanary:@/? %' create /file
  printf '%s\n' 'zkcanary:@/? %' >password
  chmod 600 password
  expect 0 rlock run --server "zookeeper://ann@$endpoint/file" --password-file password "$key" -- true
  rlock run --server "zookeeper://ann:zkcanary%3A%40%2F%3F%20%25@$endpoint/file" "$key" -- \
    sh -c 'env >env; cat /proc/[0-9]*/cmdline >argv 2>/dev/null; touch up; until [ -e go ]; do sleep 0.01; done' 3>&- &
  rlock=$!
  until_true 10 test -e up
  run -1 grep -a zkcanary env argv
  let_go
}

@test "a user: the password changes while one holds and others wait, and nobody loses anything" {
  ask_as ann:before create /rotate
  (umask 077 && echo before >password)
  export RLOCK_SERVER=zookeeper://ann@$endpoint/rotate RLOCK_PASSWORD_FILE=$PWD/password
  start_held -t 12s
  background rlock run -w 5m "$key" -- touch next
  until_true 10 waiting 1
  local entry
  entry=/rotate/q/$(ask_as ann:before children /rotate/q)
  entry=$entry/$(ask_as ann:before children "$entry" | head -n 1)
  # Whoever comes now has the new one, and the nodes' list still has the old one.
  echo after >password
  ask_as ann:before give /rotate ann:after
  renewed() { [ "$(ask_as ann:after version "$entry")" != "$before" ]; }
  for _ in 1 2; do
    before=$(ask_as ann:after version "$entry")
    until_true 10 renewed
  done
  waiting 1
  expect 0 rlock run "$key-2" -- true
  let_go
  finish
  [ -e next ]
  # Who has a wrong one is told so, and that it came from the file.
  echo wrong >password
  expect_error 77 'or the password is wrong; the password comes from' rlock run -n "$key" -- touch ran
  [ ! -e ran ]
}

@test "TLS: a server that the certificate names is spoken to, any other is not; the mend is named" {
  authority ca
  authority other
  certificate server ca 'DNS:localhost,IP:127.0.0.1'
  tls_store none
  local address=127.0.0.1:$tls_port
  expect 0 rlock run --server "zookeepers://$address?cacert=$PWD/ca.crt" "$key" -- sh -c 'sleep 0.1'
  expect 0 rlock run --server "zookeepers://localhost:$tls_port?cacert=$PWD/ca.crt" "$key" -- rlock status "$key"
  expect_error 77 certificate rlock run --server "zookeepers://$address?cacert=$PWD/other.crt" "$key" -- touch ran
  expect_error 77 certificate rlock run --server "zookeepers://$address" "$key" -- touch ran
  # The other way round.
  expect_error 69 'zookeepers://' rlock run --connect-timeout 1s --server "zookeeper://$address" "$key" -- touch ran
  expect_error 69 'zookeeper://' rlock run --connect-timeout 1s --server "zookeepers://$endpoint" "$key" -- touch ran
  [ ! -e ran ]
}

@test "TLS: a server that asks for a client's certificate gets it; without one, or with one that it does not trust: 77" {
  authority ca
  authority other
  certificate server ca 'DNS:localhost,IP:127.0.0.1'
  certificate me ca '' me
  certificate stranger other '' me
  tls_store need
  local address=127.0.0.1:$tls_port
  export RLOCK_SERVER="zookeepers://$address?cacert=$PWD/ca.crt&cert=$PWD/me.crt&key=$PWD/me.key"
  start_held -t 12s
  background rlock run "$key" -- true
  until_true 10 waiting 1
  let_go
  finish
  expect_error 77 '?cert=FILE&key=FILE' rlock run --server "zookeepers://$address?cacert=$PWD/ca.crt" "$key" -- touch ran
  expect_error 77 '' rlock run \
    --server "zookeepers://$address?cacert=$PWD/ca.crt&cert=$PWD/stranger.crt&key=$PWD/stranger.key" "$key" -- touch ran
  [ ! -e ran ]
}

@test "too many connections from one host: 69, and the message names maxClientCnxns; who holds the lock goes on" {
  own_store maxClientCnxns=3
  # A renewal connects anew, and somebody else may have its place meanwhile. Under a sanitizer, where that is long, none comes.
  local ttl=12s
  [ -z "${TEST_SANITIZER:-}" ] || ttl=1m
  start_held -t "$ttl"
  background rlock run -w 5m "$key" -- touch next
  until_true 10 waiting 1
  # Two are the holder's and the waiter's.
  exec {third}<>"/dev/tcp/127.0.0.1/${endpoint##*:}"
  expect_error 69 maxClientCnxns rlock run -n "$key-2" -- touch ran
  expect_error 69 maxClientCnxns rlock acquire -w 300ms "$key-2"
  expect_error 69 maxClientCnxns rlock status
  exec {third}>&-
  expect 0 rlock run "$key-2" -- true
  let_go
  finish
  [ -e next ]
  [ ! -e ran ]
}

@test "a request that is longer than the server takes (jute.maxbuffer): 69, and nothing is left" {
  own_store -Djute.maxbuffer=700
  local long
  long=$(printf 'k%.0s' {1..900})
  expect 0 rlock run "$key" -- true
  expect_error 69 'closed the connection' rlock run -n "$long" -- touch ran
  expect_error 69 'closed the connection' rlock acquire -w 300ms "$long"
  [ ! -e ran ]
  [ "$(ask children /rlock/q | wc -l)" -le 1 ]
}

# create_large PATH NAME DATA COUNT: nodes below it, whose names have so many bytes more, or so many of data.
create_large() {
  python3 -B - "$endpoint" "$BATS_TEST_DIRNAME" "$@" <<-'END'
	import sys
	address, tests, path, name, data, count = sys.argv[1:]
	sys.path.append(tests)
	from zookeeper import Client
	host, port = address.split(":")
	with Client(host, int(port)) as client:
	    for i in range(int(count)):
	        client.create(f"{path}{i}" + int(name) * "x", int(data) * b"x")
	END
}

@test "a queue whose listing is longer than rlock takes: 69, and what to do; whoever holds the lock goes on, and releases it" {
  own_store
  start_held -t 12s
  local queue entry before
  queue=$(queue_of)
  entry=$(entries)
  create_large "$queue/" 900000 0 10
  renewed() { [ "$(ask version "$entry")" != "$before" ]; }
  # A lease and a half.
  for _ in 1 2 3 4 5; do
    before=$(ask version "$entry")
    until_true 10 renewed
  done
  expect_error 69 'more than 8 MiB' rlock run -n "$key" -- touch ran
  expect_error 69 'more than 8 MiB' rlock run -w 300ms "$key" -- touch ran
  expect_error 69 'more than 8 MiB' rlock status "$key"
  expect 0 rlock run "$key-2" -- true
  touch go
  ended 0 "$rlock"
  ask delete "$queue"
  # Whoever ends with a failure reads the last run first.
  rlock run "$key" -- sh -c 'touch up2; until [ -e go2 ]; do sleep 0.01; done; exit 3' 3>&- &
  rlock=$!
  until_true 10 test -e up2
  queue=$(queue_of)
  create_large "$queue/" 900000 0 10
  touch go2
  ended 3 "$rlock"
  [ "$(ask children "$queue" | wc -l)" = 10 ]
  ask delete "$queue"
  expect 0 rlock run "$key" -- true
  [ ! -e ran ]
}

@test "a lock whose node is deleted with all below it: who held it is told (79), and the next one has it" {
  start_held -t 12s
  ask delete "$(queue_of)"
  ended 79 "$rlock"
  expect 0 rlock run "$key" -- true
}

@test "a queue whose listing is longer than rlock takes is one row that cannot be read: status shows the others, and ends with 69" {
  own_store
  rlock acquire "$key" >token
  rlock acquire --label other "$key-other" >>token
  create_large "$(queue_of)/" 900000 0 10
  partly() {
    run --separate-stderr -69 rlock status "$@"
    [[ $stderr == "rlock: "*"who holds $key is not shown: "*'more than 8 MiB'* && ${#stderr_lines[@]} = 1 ]]
  }
  partly
  [[ $output == *"$key "*'(cannot be read)'*"$key-other "*other* ]]
  partly "$key*"
  partly --json
  [ "$(jq -c --arg key "$key" '.locks[] | select(.key == $key) | [.held, .holders, .waiting, .waiters, (.error | length > 0)]' <<<"$output")" = '[true,[],10,[],true]' ]
  [ "$(jq -r '.locks[] | select(.error == null).holders[].label' <<<"$output")" = other ]
  partly --format prometheus
  grep -qx 'rlock_up 1' <<<"$output"
  grep -qx "rlock_lock_held{key=\"$key\"} 1" <<<"$output"
  grep -qx "rlock_lock_holders{key=\"$key-other\"} 1" <<<"$output"
  run -1 grep -q "^rlock_lock_\(holders\|lease_seconds\){key=\"$key\"}" <<<"$output"
  run -0 rlock status --format keys
  [ "$output" = "$key"$'\n'"$key-other" ]
}

@test "a record of megabytes is one row that cannot be read, and the lock is busy as before" {
  own_store -Djute.maxbuffer=20000000
  rlock acquire --label other "$key-other" >token
  rlock run "$key" -- true
  # Over what an answer may have.
  create_large "$(queue_of)/0123456789abcdef-x-000000000" 0 9000000 1
  expect 75 rlock run -n "$key" -- touch ran
  run -0 rlock status
  [[ $output == *"$key "*"$key-other "*other* ]]
  run -0 rlock status "$key"
  rlock release --force "$key"
  expect 0 rlock run -n "$key" -- true
  [ ! -e ran ]
}

@test "a ttl that is no session of this server's: refused with what it grants, and nothing is left of it" {
  own_store tickTime=500 maxSessionTimeout=60000
  expect_error 64 "--ttl 500ms is less than ZooKeeper at $endpoint grants, 1s to 1m; use --ttl 1s or more" rlock run -t 500ms "$key" -- touch ran
  expect_error 64 "--ttl 5m is more than ZooKeeper at $endpoint grants, 1s to 1m; use --ttl 1m or less" rlock run -t 5m "$key" -- touch ran
  local token
  token=$(rlock acquire -t 30s "$key")
  expect_error 64 "--ttl 5m is more than" rlock renew -t 5m "$key" "$token"
  is_held
  expect 0 rlock renew -t 1m "$key" "$token"
  expect 0 rlock release "$key" "$token"
  [ ! -e ran ]
  is_free
}

@test "a server that grants one length of sessions alone: the message names that one" {
  own_store minSessionTimeout=5000 maxSessionTimeout=5000
  expect_error 64 "--ttl 4s is less than ZooKeeper at $endpoint grants, 5s; use --ttl 5s" rlock run -t 4s "$key" -- touch ran
  expect_error 64 "--ttl 30s is more than ZooKeeper at $endpoint grants, 5s; use --ttl 5s" rlock run "$key" -- touch ran
  [[ $stderr != *' or '* ]]
  expect 0 rlock run -t 5s "$key" -- true
  [ ! -e ran ]
}

@test "a longer lease is another session, and keeps the place in the queue and the fence; the old session ends" {
  own_store
  local token fence
  token=$(rlock acquire -t 4s "$key")
  fence=$(status_of '.holders[0].fence')
  background rlock run "$key" -- sh -c 'echo "$RLOCK_FENCE" >next'
  until_true 10 waiting 1
  expect 0 rlock renew -t 1m "$key" "$token"
  [ "$(entries | wc -l)" = 2 ]
  [[ $(entries | head -n 1) == */"$token"-* ]]
  [ "$(status_of '.holders[0].fence')" = "$fence" ]
  waiting 1
  # The one of 4 s is over: the lock's and the waiter's are left.
  sessions() { [ "$(ask dump | grep -c '^0x')" = 2 ]; }
  until_true 10 sessions
  rlock release "$key" "$token"
  finish
  (($(cat next) > fence))
}

# Held by nobody's session.
hold() { rlock run -t 4s --hold 1h "$key" -- true; }

# Each opens the holder's session, which closes the connection of whoever has opened it before.
@test "renewals of many at once, where a write takes a while: all succeed, and the run keeps its lock" {
  not_sanitized 'is too slow for seven beside each other'
  own_store -Dzookeeper.flushDelay=200
  renew_at_once
}

@test "a waiter that stands still for longer than its session comes back at the end of the queue" {
  # A waiter's session is a minute, or as long as it may be.
  own_store maxSessionTimeout=4000
  hold
  rlock run -t 4s "$key" -- sh -c 'echo first >>order' 3>&- &
  local frozen=$!
  until_true 10 waiting 1
  background rlock run -t 4s "$key" -- sh -c 'echo second >>order'
  until_true 10 waiting 2
  kill -STOP "$frozen"
  until_true 20 waiting 1
  kill -CONT "$frozen"
  until_true 20 waiting 2
  rlock release --force "$key"
  ended 0 "$frozen"
  finish
  [ "$(paste -sd ' ' order)" = 'second first' ]
  is_free
}

@test "waiters keep their places though the server grants them sessions far shorter than a minute" {
  own_store tickTime=500 maxSessionTimeout=4000
  hold
  local i before
  for i in 1 2 3 4; do
    background rlock run -t 4s "$key" -- sh -c "echo $i >>order"
    until_true 10 waiting "$i"
  done
  before=$(entries)
  # Longer than their sessions, twice.
  sleep 10
  [ "$(entries)" = "$before" ]
  rlock release --force "$key"
  finish
  [ "$(paste -sd ' ' order)" = '1 2 3 4' ]
}

@test "nothing is left but last runs: no entry, and no session that has one" {
  own_store
  local token pid
  rlock run "$key" -- true
  token=$(rlock acquire "$key")
  rlock acquire -w 100ms "$key" || true
  rlock run "$key" -- true 3>&- &
  pid=$!
  until_true 10 waiting 1
  kill -TERM $pid
  ended 143 $pid
  rlock renew -t 1m "$key" "$token"
  rlock release "$key" "$token"
  start_held -t 12s
  until_renewed
  until_renewed
  let_go
  is_free
  rlock run --slots 2 "$key" -- true
  # Each session ends with what it was for.
  no_session() { [[ $(ask dump) == *'ephemerals (0)'* || $(ask dump) == *'Sessions with Ephemerals (0)'* ]]; }
  until_true 10 no_session
  run -1 grep /rlock <<<"$(ask dump)"
}

@test "a node that only looks like an entry, which no rlock would name so, is in nobody's way" {
  local name token
  token=$(rlock acquire "$key")
  for name in t-x-5 t-05-0000000005 %74-x-0000000005; do ask create "$(queue_of)/$name" x; done
  expect 0 rlock release "$key" "$token"
  expect 0 rlock run -n "$key" -- true
}

@test "last runs stand in many nodes, and the first run of a KEY removes some there that are too old" {
  own_store
  local i last_run shard
  rlock run "$key-1" -- true
  last_run=$(last_run_of "$key-1")
  shard=${last_run%/*}
  # Kept for a millisecond, and for a day.
  for i in 1 2; do ask create "$shard/old-$i" '1 0 1 1 1 - x'; done
  ask create "$shard/young" '86400000 0 1 1 1 - x'
  ask delete "$last_run"
  rlock run "$key-1" -- true
  run -0 ask children "$shard"
  [[ $output == *young* && $output != *old* ]]
  [ -n "$(last_run_of "$key-1")" ]
  for i in $(seq 2 12); do rlock run "$key-$i" -- true; done
  (($(ask children /rlock/l | wc -l) > 1))
  [ "$(rlock status --format keys | wc -l)" = 12 ]
}

@test "nodes that others have made are passed over, or told to be no lock of ours, and never crash anybody" {
  local value queue last_run n=0
  rlock acquire "$key" >token
  queue=$(queue_of)
  for value in '' x '9 9 9' "$(printf '%05000d' 1)" $'\e[31m' '1 holds 99999999999999999999 -1 - x'; do
    n=$((n + 1))
    ask create "$queue/odd-x$n" "$value"
    ask create "$queue/0123456789abcdef0123456789abcdef-x-000000010$n" "$value"
    expect 0 rlock status --json "$key"
    expect 0 rlock status "$key"
    [[ $output != *$'\e'* ]]
    expect 75 rlock run -n "$key" -- touch ran
    rlock run "$key-$n" -- true
    last_run=$(last_run_of "$key-$n")
    # A container without children may go at any moment.
    ask create "${last_run%/*}/stays-$n"
    ask delete "$last_run"
    ask create "$last_run" "$value"
    expect 0 rlock status --json "$key-$n"
    expect 0 rlock status
  done
  expect 0 rlock release --force "$key"
  [ ! -e ran ]
}
