# Each error of a server, made for real: it has its own class and status, and is never taken for busy.
load helper

TEST_ACL=  # the users are its own

setup_file() { start_server; }
teardown_file() { stop_servers; }

# acquire_ends STATUS TEXT: run and acquire end so, without running a command.
acquire_ends() {
  expect_error "$1" "$2" rlock run --connect-timeout 500ms "$key" -- touch ran
  expect_error "$1" "$2" rlock run --connect-timeout 500ms -n -E 9 "$key" -- touch ran
  expect_error "$1" "$2" rlock run --connect-timeout 500ms -w 200ms "$key" -- touch ran
  expect_error "$1" "$2" rlock acquire --connect-timeout 500ms "$key"
  expect_error "$1" "$2" rlock acquire --connect-timeout 500ms -n "$key"
  expect_error "$1" "$2" rlock acquire --connect-timeout 500ms -w 200ms "$key"
  [ ! -e ran ]
}
# changes STATUS TEXT: so does what changes one.
changes() {
  expect_error "$1" "$2" rlock renew --connect-timeout 500ms "$key" "${token:-0123}"
  expect_error "$1" "$2" rlock release --connect-timeout 500ms "$key" "${token:-0123}"
  expect_error "$1" "$2" rlock release --connect-timeout 500ms --force "$key"
}
# looks STATUS TEXT: so does looking.
looks() {
  expect_error "$1" "$2" rlock status --connect-timeout 500ms "$key"
  expect_error "$1" "$2" rlock status --connect-timeout 500ms --exit-code
}
# spoiled TEXT [STATUS]: a server that takes no writes any more, with a lock $key-held of $token, and what -n ends with.
spoiled() {
  acquire_ends 69 "$1"
  key+=-held
  expect_error 69 "$1" rlock acquire --connect-timeout 500ms -w 200ms "$key"
  expect_error 69 "$1" rlock renew --connect-timeout 500ms --ttl 1h "$key" "$token"
  expect_error 69 "$1" rlock release --connect-timeout 500ms "$key" "$token"
  expect_error 69 "$1" rlock release --connect-timeout 500ms --force "$key"
  # Reading needs none.
  expect "${2:-75}" rlock acquire --connect-timeout 500ms -n "$key"
  expect 0 rlock status --exit-code "$key"
  [ "$(redis get "rlock:$key")" = "$token" ]
}
# Two keys are prolonged at each renewal.
renewed_twice() { [ "$(redis info commandstats | sed -n 's/^cmdstat_pexpire:calls=\([0-9]*\).*/\1/p')" -ge 4 ]; }
answers() { [[ $(redis "${@:2}" 2>&1) == *"$1"* ]]; }

@test "LOADING: not ready" {
  own_server --dbfilename "$key.rdb" --rdbcompression no
  redis eval 'for i = 1, 3000 do redis.call("SET", "k" .. i, string.rep("x", 1100)) end' 0
  redis save
  kill -KILL "$(server_pid "own-$BATS_TEST_NUMBER")"
  # Five milliseconds a key, and a look at its clients after each.
  own_server --dbfilename "$key.rdb" --key-load-delay 5000 --loading-process-events-interval-bytes 1024
  until_true 10 answers LOADING get x
  acquire_ends 69 'loading its data (LOADING)'
  changes 69 LOADING
  looks 69 LOADING
}

@test "BUSY with a script: not ready" {
  own_server --lua-time-limit 10
  background redis-cli -s "$sock" eval 'while true do end' 0
  until_true 10 answers BUSY get x
  acquire_ends 69 'busy with a script (BUSY)'
  changes 69 BUSY
  looks 69 BUSY
  redis script kill
  expect 0 rlock run "$key" -- true
}

# busy_without TYPE: the connections of this type are cut, and what comes now meets a server that is busy; until a file
# said names it, as rlock -v does.
busy_without() {
  # In one piece, so that nobody is back before it is busy.
  background sh -c 'printf "client kill type $1\r\neval \"while true do end\" 0\r\n" | socat -t 60 - "UNIX:$0"' "$sock" "$1"
  until_true 10 grep -q BUSY said
  redis script kill
}

@test "BUSY while a waiter comes back: it waits on in its own database, and as a subscriber" {
  local holder
  own_server --lua-time-limit 10
  RLOCK_SERVER+="?db=3"
  holder=$(rlock acquire --ttl 10m "$key")
  background rlock run -v "$key" -- touch ran 2>said
  redis() { redis-cli -s "$sock" -n 3 "$@"; }
  until_true 10 waiting 1
  busy_without pubsub
  subscribed() { [ -n "$(redis pubsub channels "rlock:w:*")" ]; }
  until_true 10 subscribed
  [ ! -e ran ]
  redis-cli -s "$sock" keys '*' | run -1 grep .
  rlock release "$key" "$holder"
  finish
  [ -e ran ]
}

@test "BUSY while a renewal comes back: it goes on in its own database" {
  own_server --lua-time-limit 10
  RLOCK_SERVER+="?db=3"
  background rlock run -v --ttl 9s -k 100ms "$key" -- sh -c 'touch up; until [ -e go ]; do sleep 0.01; done; exit 5' 2>said
  until_true 10 test -e up
  until_true 10 renewed_twice
  busy_without normal
  redis config resetstat
  until_true 10 renewed_twice
  touch go
  ended 5 "${background_pids[0]}"
  redis() { redis-cli -s "$sock" -n 3 "$@"; }
  is_free
}

@test "a password that is wrong for a while costs a held lock nothing" {
  own_server
  as=(--user admin --pass p --no-auth-warning)
  redis-cli -s "$sock" acl setuser admin on '>p' +@all '~*' '&*'
  redis() { redis-cli -s "$sock" "${as[@]}" "$@"; }
  redis acl setuser default off
  redis acl setuser u on '>right' +@all '~*' '&*'
  export RLOCK_SERVER=${url/unix:\/\//unix://u:right@}
  background rlock run -v --ttl 9s -k 100ms "$key" -- sh -c 'touch up; until [ -e go ]; do sleep 0.01; done; exit 5' 2>said
  until_true 10 test -e up
  until_true 10 renewed_twice
  redis acl setuser u resetpass '>other'
  redis client kill user u
  until_true 10 grep -q WRONGPASS said
  redis acl setuser u resetpass '>right'
  redis config resetstat
  until_true 10 renewed_twice
  touch go
  ended 5 "${background_pids[0]}"
  is_free
}

@test "OOM: not ready for more, but what is held is renewed, released and handed over" {
  local token
  own_server
  token=$(rlock acquire --ttl 20s "$key")
  background rlock run "$key" -- touch next
  until_true 10 waiting 1
  redis config set maxmemory 1
  expect 0 rlock renew --ttl 1m "$key" "$token"
  [ "$(redis pttl "rlock:$key")" -gt 30000 ]
  expect 0 rlock status --exit-code "$key"
  expect 0 rlock release "$key" "$token"
  finish
  [ -e next ]
  is_free
  acquire_ends 69 'out of memory (OOM)'
}

@test "OOM during a run: it renews, ends with its own status, and releases the lock" {
  own_server
  background rlock run --ttl 3s -k 100ms "$key" -- sh -c 'touch up; until [ -e go ]; do sleep 0.01; done; exit 5'
  until_true 10 test -e up
  redis config set maxmemory 1
  redis config resetstat
  until_true 10 renewed_twice
  touch go
  ended 5 $!
  is_free
}

@test "MISCONF: not ready" {
  local token
  mkdir gone
  own_server --dir "$PWD/gone" --save 3600 1
  token=$(rlock acquire "$key-held")
  rmdir gone
  redis bgsave
  until_true 10 answers MISCONF set x y
  spoiled 'takes no writes (MISCONF)'
}

@test "NOREPLICAS: not ready" {
  local token
  own_server
  token=$(rlock acquire "$key-held")
  redis config set min-replicas-to-write 1
  spoiled 'too few replicas to take writes (NOREPLICAS)'
}

@test "READONLY: not ready" {
  local token
  own_server
  token=$(rlock acquire "$key-held")
  redis replicaof 127.0.0.1 1
  # What a replica says of a lock may be long over.
  spoiled 'name the master (READONLY)' 69
  # Nor does it know that a lock is lost: it may lag behind.
  expect_error 69 READONLY rlock renew --connect-timeout 500ms "$key-never" 0123
}

@test "MASTERDOWN: not ready" {
  own_server --replicaof 127.0.0.1 1 --replica-serve-stale-data no
  acquire_ends 69 'without its master (MASTERDOWN)'
  changes 69 MASTERDOWN
  looks 69 MASTERDOWN
}

@test "too many clients: not ready" {
  own_server
  background redis-cli -s "$sock" subscribe x
  until_true 10 eval '[ "$(redis pubsub channels)" = x ]'
  redis config set maxclients 1
  until_true 10 answers 'max number of clients' ping
  acquire_ends 69 'max number of clients'
  changes 69 'max number of clients'
  looks 69 'max number of clients'
}

@test "NOAUTH: refused" {
  own_server --requirepass secret
  acquire_ends 77 'needs a password'
  changes 77 NOAUTH
  looks 77 NOAUTH
}

@test "WRONGPASS: refused" {
  own_server --requirepass secret
  export REDISCLI_AUTH=wrong
  acquire_ends 77 'user or password is wrong (WRONGPASS)'
  changes 77 WRONGPASS
  looks 77 WRONGPASS
}

@test "a password where none is wanted: refused" {
  export REDISCLI_AUTH=any
  acquire_ends 77 AUTH
  changes 77 AUTH
  looks 77 AUTH
}

@test "NOPERM: refused, whatever it is that is denied" {
  own_server
  local denied
  export RLOCK_SERVER=${url/unix:\/\//unix://u:p@}
  for denied in -@all '-evalsha -eval' 'resetkeys' 'resetkeys ~other:*' '-@write' '-set' '-time' '-getrange'; do
    # shellcheck disable=SC2086 # words
    redis acl setuser u reset on '>p' '+@all' '~*' '&*' $denied
    acquire_ends 77 "an ACL denies what rlock needs"
    # A renewal of what is not ours writes nothing, and asks for no time.
    [[ $denied == -set || $denied == -@write || $denied == -time ]] || changes 77 "an ACL denies what rlock needs"
    [[ $denied == -@write || $denied == -set ]] || expect_error 77 ACL rlock status "$key"
  done
  redis acl setuser u reset on '>p' '+@all' '~*' '&*' -scan
  expect_error 77 'an ACL denies what rlock needs: +scan (NOPERM)' rlock status
}

@test "NOPERM: the message names the right that is missing" {
  own_server
  export RLOCK_SERVER=${url/unix:\/\//unix://u:p@}
  redis acl setuser u reset on '>p' '+@all' '~*' '&*' -select
  RLOCK_SERVER+='?db=1' expect_error 77 'needs: +select (NOPERM)' rlock run "$key" true
  redis acl setuser u reset on '>p' '+@all' '~other:*' '&*'
  expect_error 77 'needs: access to its keys (NOPERM)' rlock run "$key" true
}

@test "NOSCRIPT: sent again in full, and nobody notices" {
  local token
  token=$(redis script flush >&2 && rlock acquire "$key")
  redis script flush
  expect 0 rlock renew "$key" "$token"
  redis script flush
  expect 0 rlock status --exit-code "$key"
  background rlock run "$key" -- touch ran
  until_true 10 waiting 1
  redis script flush
  background rlock run "$key" -- touch ran2
  until_true 10 waiting 2
  redis script flush
  expect 0 rlock release "$key" "$token"
  finish
  [ -e ran ] && [ -e ran2 ]
}

@test "NOSCRIPT during a run: it renews and releases the lock" {
  background rlock run --ttl 3s -k 100ms "$key" -- sh -c 'touch up; until [ -e go ]; do sleep 0.01; done; exit 5'
  until_true 10 test -e up
  redis config resetstat
  redis script flush
  until_true 10 renewed_twice
  redis script flush
  touch go
  ended 5 $!
  is_free
}

@test "a database that is not there: configuration" {
  export RLOCK_SERVER="$url?db=99"
  acquire_ends 78 'DB index is out of range'
  changes 78 'DB index'
  looks 78 'DB index'
}

# cluster_node SLOTS OTHER_SLOTS: a node that knows of another; both hold slots, the other one does not answer.
cluster_node() {
  local port
  port=$(free_port)
  cat >nodes.conf <<-END
	$(printf '%040d' 1) 127.0.0.1:$port@$((port % 50000 + 10000)) myself,master - 0 0 1 connected $1
	$(printf '%040d' 2) 127.0.0.1:1@10001 master - 0 0 2 connected $2
	vars currentEpoch 2 lastVoteEpoch 0
	END
  own_server --dir "$PWD" --port "$port" --cluster-port $((port % 50000 + 10000)) --bind 127.0.0.1 \
    --cluster-enabled yes --cluster-config-file nodes.conf --cluster-node-timeout 600000 \
    --cluster-require-full-coverage no
}

@test "MOVED: configuration" {
  cluster_node '' 0-16383
  until_true 10 answers MOVED get x
  acquire_ends 78 'write redis+cluster://'
  changes 78 MOVED
  expect_error 78 MOVED rlock status "$key"
}

@test "CLUSTERDOWN: not ready" {
  cluster_node 0 ''
  until_true 10 answers CLUSTERDOWN get "$key"
  acquire_ends 69 'its cluster is down (CLUSTERDOWN)'
  changes 69 CLUSTERDOWN
  expect_error 69 CLUSTERDOWN rlock status --connect-timeout 500ms "$key"
}

@test "a cluster node that owns the key serves it like any server" {
  cluster_node 0-16383 ''
  until_true 10 answers OK set x y
  local token
  token=$(rlock acquire "$key")
  background rlock run "$key" -- true
  until_true 10 waiting 1
  expect 0 rlock renew "$key" "$token"
  expect 0 rlock release "$key" "$token"
  finish
  expect 1 rlock status --exit-code "$key"
  expect 0 rlock run 'a{tag}b' -- true
}

@test "an error that rlock has never heard of is an internal one, and its code is said" {
  background python3 -B "$BATS_TEST_DIRNAME/faults/fake_server.py" --listen "unix:$PWD/fake" --seconds 600 \
    --reply $'text:-WEIRD things \e[31mhappen' >fake.log
  until_true 10 grep -q ready fake.log
  export RLOCK_SERVER=unix://$PWD/fake
  acquire_ends 70 'an error that rlock does not know'
  changes 70 WEIRD
  looks 70 WEIRD
}

@test "a reply of another shape than promised is no answer, above all not that the lock is lost" {
  local reply
  export RLOCK_SERVER=unix://$PWD/fake
  # {7}, {"0"}, {"1", 1}, {-1, 0, 0}, {}, {0, {}}
  for reply in '*1\r\n:7\r\n' '*1\r\n$1\r\n0\r\n' '*2\r\n$1\r\n1\r\n:1\r\n' '*3\r\n:-1\r\n:0\r\n:0\r\n' '*0\r\n' \
    '*2\r\n:0\r\n*0\r\n'; do
    background python3 -B "$BATS_TEST_DIRNAME/faults/fake_server.py" --listen "unix:$PWD/fake" --seconds 600 \
      --reply "hex:$(printf '%b' "$reply" | od -An -v -tx1 | tr -d ' \n')" >fake.log
    until_true 10 grep -q ready fake.log
    changes 70 'does not understand'
    kill $!
    rm fake fake.log
  done
}

@test "ASK, CROSSSLOT and TRYAGAIN" {
  local error wanted
  while read -r wanted error; do
    background python3 -B "$BATS_TEST_DIRNAME/faults/fake_server.py" --listen "unix:$PWD/$wanted" --seconds 600 \
      --reply "text:-$error" >fake.log
    until_true 10 grep -q ready fake.log
    export RLOCK_SERVER=unix://$PWD/$wanted
    acquire_ends "$wanted" "${error%% *}"
    changes "$wanted" "${error%% *}"
    rm "$wanted" fake.log
  done <<-END
	78 ASK 1234 127.0.0.1:6379
	78 CROSSSLOT Keys in request don't hash to the same slot
	69 TRYAGAIN Multiple keys request during rehashing of slot
	77 DENIED Redis is running in protected mode
	END
}

@test "a side key of another type is an error, and neither busy nor free" {
  redis set "rlock:q:{rlock:$key}" odd
  redis set "rlock:i:{rlock:$key}" odd
  expect_error 70 WRONGTYPE rlock run "$key" -- touch ran
  [ ! -e ran ]
}
