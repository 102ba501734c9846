#!/usr/bin/env bats
# redis+cluster://: three masters and three replicas that move slots, fail over and die.

load helper

setup_file() {
  mkfifo "$BATS_FILE_TMPDIR/hold"
  # Opened for both, so that neither side waits for the other.
  python3 -B "$BATS_TEST_DIRNAME/faults/topologies.py" cluster "$BATS_FILE_TMPDIR/nodes" \
    <>"$BATS_FILE_TMPDIR/hold" >"$BATS_FILE_TMPDIR/ready" 2>"$BATS_FILE_TMPDIR/topology.log" 3>&- &
  disown $!
  echo $! >"$BATS_FILE_TMPDIR/topology"
  until_true 60 grep -q '^ready ' "$BATS_FILE_TMPDIR/ready"
  url=$(sed 's/^ready //' "$BATS_FILE_TMPDIR/ready")
  ports=$(grep -o '[0-9]*$' <<<"${url//,/$'\n'}" | tr '\n' ' ')
  export url ports
}
teardown_file() {
  stop_servers
  kill -TERM "$(cat "$BATS_FILE_TMPDIR/topology")"
  until_true 10 is_gone "$(cat "$BATS_FILE_TMPDIR/topology")"
}

# at PORT COMMAND...: asks one node.
at() { redis-cli -p "$1" "${@:2}"; }

# The port of the master of a key, as it says itself.
owner_of() {
  local port
  for port in $ports; do
    [[ $(at "$port" exists "$1") == [01] ]] && echo "$port" && return 0
  done
  return 1
}
slot_of() { at "${ports%% *}" cluster keyslot "$1"; }
# at_owner COMMAND KEY...: asks the master of the key.
at_owner() { at "$(owner_of "$2")" "$@"; }
# A master that is not that of the key.
other_master() {
  local owner port
  owner=$(owner_of "$1")
  for port in $ports; do
    [ "$port" != "$owner" ] && [ "$(at "$port" role | head -n 1)" = master ] && echo "$port" && return 0
  done
}

# Redis 6.2 does not.
knows_shards() { [[ $(at "${ports%% *}" pubsub shardnumsub) != *nknown* ]]; }
needs_shards() { knows_shards || skip 'needs sharded channels (7.0)'; }
# How many channels of $key are listened to at a port: one for each waiter, and the one of all.
channels() { { at "$1" pubsub shardchannels && at "$1" pubsub channels; } | grep -c "$key"; }

is_held() { [ "$(at_owner exists "rlock:${1:-$key}")" = 1 ]; }
is_free() { [ "$(at_owner exists "rlock:$key")" = 0 ]; }
waiting() { [ "$(at_owner zcard "rlock:q:{rlock:${2:-$key}}")" = "$1" ]; }

# begin_move KEY: from now on its slot is on its way from $source to $target; move_key takes one key there, end_move ends it.
begin_move() {
  slot=$(slot_of "$1") source=$(owner_of "$1") target=$(other_master "$1")
  at "$target" cluster setslot "$slot" importing "$(at "$source" cluster myid)"
  at "$source" cluster setslot "$slot" migrating "$(at "$target" cluster myid)"
}
move_key() { [[ $(at "$source" migrate 127.0.0.1 "$target" "$1" 0 5000) == @(OK|NOKEY) ]]; }
end_move() {
  local port id
  id=$(at "$target" cluster myid)
  for port in $(at "$source" cluster getkeysinslot "$slot" 1000); do move_key "$port" || return 1; done
  for port in $target $source $ports; do at "$port" cluster setslot "$slot" node "$id"; done
}
# The names of all keys of a lock but its own.
side_keys() { printf 'rlock:%s:{rlock:%s}\n' q "$1" i "$1" f "$1" l "$1"; }

@test "any node of it leads to the master of a key, and dead ones are passed by" {
  local port i fence=0 next
  for port in $ports; do
    for i in 1 2 3 4; do
      expect 0 rlock run --server "redis+cluster://127.0.0.1:$port" "$key-$i" -- sh -c 'echo $RLOCK_FENCE $RLOCK_SERVER'
      [ "${output#* }" = "redis+cluster://127.0.0.1:$port" ]
      next=${output% *}
      [ "$next" -gt "$fence" ]
      fence=$next
    done
  done
  for key in 'a}b' '{}' '}{' 'a{b'; do expect 0 rlock run "$key" true; done
  expect 0 rlock run --server "redis+cluster://127.0.0.1:1,127.0.0.1:2,127.0.0.1:${ports%% *}" "$key" true
  expect_error 69 'Connection refused' rlock run --connect-timeout 300ms --server redis+cluster://127.0.0.1:1,127.0.0.1:2 "$key" true
}

@test "acquire --while-pid holds while its slot is moved, and releases where that is then" {
  cat >script <<-END
	eval "\$(rlock acquire --export --while-pid \$\$ -t 9s -k 100ms '$key')"
	echo \$\$ >has_it
	while :; do sleep 0.02; done
	END
  bash script 3>&- &
  local script=$!
  until_true 10 test -s has_it
  begin_move "rlock:$key"
  sleep 5
  end_move
  [ "$(owner_of "rlock:$key")" = "$target" ]
  sleep 5
  expect 75 rlock run -n "$key" -- true
  kill -KILL "$script"
  expect 0 rlock run -w 5m "$key" -- true
}

@test "waiters get their turn in order, told by sharded channels alone" {
  local i port
  needs_shards
  rlock run "$key" -- sh -c 'until [ -e go ]; do sleep 0.01; done' 3>&- &
  background_pids+=($!)
  until_true 10 is_held
  for i in 1 2 3 4 5; do
    background rlock run -w 5m "$key" -- sh -c "echo $i \$RLOCK_FENCE >>order"
    until_true 10 waiting "$i"
  done
  [ "$(at "$(owner_of "rlock:$key")" pubsub shardchannels | grep -c "$key")" = 6 ]
  for port in $ports; do
    [ -z "$(at "$port" pubsub channels)" ]
  done
  touch go
  finish
  [ "$(cut -d' ' -f1 order | tr '\n' ' ')" = '1 2 3 4 5 ' ]
  sort -n -k2 -C order
}

@test "a node without sharded channels tells waiters by the others" {
  local i port
  needs_shards
  for port in $ports; do
    at "$port" acl setuser plain reset on nopass '~*' '&*' +@all -ssubscribe -spublish
  done
  export RLOCK_SERVER=redis+cluster://plain:any@${url#*//}
  rlock run "$key" -- sh -c 'until [ -e go ]; do sleep 0.01; done' 3>&- &
  background_pids+=($!)
  until_true 10 is_held
  for i in 1 2; do
    background rlock run -w 5m "$key" -- sh -c "echo $i >>order"
    until_true 10 waiting "$i"
  done
  [ "$(at "$(owner_of "rlock:$key")" pubsub channels | grep -c "$key")" = 3 ]
  touch go
  finish
  [ "$(tr '\n' ' ' <order)" = '1 2 ' ]
}

# start_holder [OPTION...]: a run of $key that ends when ./go is there; its pid in $holder.
start_holder() {
  rlock run "$@" "$key" -- sh -c 'echo "$RLOCK_FENCE" >fence; until [ -e go ]; do sleep 0.01; done' 3>&- &
  holder=$!
  background_pids+=("$holder")
  until_true 10 test -s fence
}
# start_waiters N: each in turn writes its number and its fence to ./order.
start_waiters() {
  local i
  for ((i = 1; i <= $1; i++)); do
    background rlock run -w 5m "$key" -- sh -c "echo $i \$RLOCK_FENCE >>order"
    until_true 10 waiting "$i"
  done
}
# kept_order N: all have had their turn, in order, each with a larger fence.
kept_order() {
  [ "$(cut -d' ' -f1 order | tr '\n' ' ')" = "$(seq -s' ' "$1") " ]
  { cat fence && cut -d' ' -f2 order; } | sort -nuC
}
# lives_for TENTHS: of a second, the holder.
lives_for() {
  local i
  for ((i = 0; i < $1; i++)); do
    ! is_gone "$holder" || return 1
    sleep 0.1
  done
}

@test "a run goes on while its slot is moved, however long that takes and whatever of it is where" {
  local name
  # Each time for longer than a lease.
  start_holder -t 3s -k 100ms
  begin_move "rlock:$key"
  lives_for 31
  # The lock first, then what belongs to it.
  move_key "rlock:$key"
  lives_for 31
  for name in $(side_keys "$key"); do move_key "$name"; done
  lives_for 31
  end_move
  # And back, in the other order.
  begin_move "rlock:$key"
  for name in $(side_keys "$key"); do move_key "$name"; done
  lives_for 31
  end_move
  lives_for 31
  touch go
  finish
  until_true 10 is_free
}

@test "a lock whose slot is on the way can be acquired, waited for, looked at and released" {
  local name
  start_holder
  start_waiters 2
  begin_move "rlock:$key"
  # Nothing has moved: the old node serves it.
  expect_error 75 'is held by' rlock run -n "$key" true
  [[ $(rlock status "$key") == *held*waiting\ \ 2* ]]
  for name in "rlock:$key" $(side_keys "$key"); do move_key "$name"; done
  # All has moved, and the slot has not: both serve it.
  expect_error 75 'is held by' rlock run -n "$key" true
  [[ $(rlock status "$key") == *held*waiting\ \ 2* ]]
  expect 0 rlock run "{rlock:$key}other" -- echo ran
  # What was written at the new one is what its replicas are waited for.
  expect 0 rlock run --replicas 1 "{rlock:$key}other" -- echo ran
  touch go
  finish
  kept_order 2
  end_move
  expect 0 rlock run -n "$key" true
}

@test "a lock that is released with half of it moved goes to the next when the other half has come" {
  start_holder
  start_waiters 3
  begin_move "rlock:$key"
  move_key "rlock:$key"
  move_key "rlock:i:{rlock:$key}"
  touch go
  ended 0 "$holder"
  background_pids=("${background_pids[@]:1}")
  # The waiters ask often, and in vain.
  for _ in 1 2 3 4 5 6 7 8; do
    sleep 0.1
    [ ! -e order ]
  done
  # What the move meets has not been made anew: that would stop it.
  [ "$(at "$source" migrate 127.0.0.1 "$target" "rlock:f:{rlock:$key}" 0 5000)" = OK ]
  [ "$(at "$source" migrate 127.0.0.1 "$target" "rlock:q:{rlock:$key}" 0 5000)" = OK ]
  finish
  kept_order 3
  end_move
}

@test "slots are moved by redis-cli, and waiters keep their places" {
  local i id
  # One of the first slots of its master, which redis-cli moves first.
  for ((i = 0; ; i++)); do
    key=low-$i
    (($(slot_of "rlock:$key") % 5461 > 100)) || break
  done
  start_holder
  start_waiters 4
  source=$(owner_of "rlock:$key")
  id=$(at "$(other_master "rlock:$key")" cluster myid)
  redis-cli --cluster reshard "127.0.0.1:$source" --cluster-from "$(at "$source" cluster myid)" --cluster-to "$id" \
    --cluster-slots 120 --cluster-yes >moved
  [ "$(owner_of "rlock:$key")" != "$source" ]
  # Their channels have moved with them; who has no sharded one learns it at its next heartbeat.
  until_true "$(knows_shards && echo 3 || echo 10)" eval '[ "$(channels "$(owner_of "rlock:$key")")" = 5 ]'
  touch go
  finish
  kept_order 4
}

@test "a master that hands over is left for the new one by holders and waiters" {
  local old new
  start_holder -t 9s -k 100ms
  start_waiters 3
  old=$(owner_of "rlock:$key")
  new=$(at "$old" info replication | sed -n 's/^slave0:.*port=\([0-9]*\),.*/\1/p')
  at "$new" cluster failover
  until_true 10 eval '[ "$(owner_of "rlock:$key")" = '"$new ]"
  until_true "$(knows_shards && echo 3 || echo 10)" eval '[ "$(channels "$new")" = 4 ]'
  lives_for 91
  touch go
  finish
  kept_order 3
}

@test "slots that nobody serves are waited for" {
  local slot owner
  slot=$(slot_of "rlock:$key") owner=$(owner_of "rlock:$key")
  at "$owner" cluster delslots "$slot"
  expect_error 69 'its cluster is down' rlock run --connect-timeout 2s "$key" true
  background rlock run -w 5m "$key" -- touch ran
  until_true 10 eval '[ "$(at "$owner" info stats | tr -d "\r" | sed -n "s/total_connections_received://p")" -gt 0 ]'
  [ ! -e ran ]
  at "$owner" cluster addslots "$slot"
  finish
  [ -e ran ]
}

@test "a node that announces no host, or one where nobody is, is named" {
  local port one
  one=redis+cluster://127.0.0.1:$(owner_of "rlock:$key")
  configure_all() {
    for port in $ports; do at "$port" config set "$@" >/dev/null; done
  }
  # Not on Redis 6.2.
  if [ -n "$(at "$(owner_of "rlock:$key")" config get cluster-preferred-endpoint-type)" ]; then
    configure_all cluster-preferred-endpoint-type hostname
    expect_error 69 'cluster-announce-hostname' env RLOCK_SERVER="$one" rlock run -n "$key" true
    expect_error 69 'cluster-announce-hostname' env RLOCK_SERVER="$one" rlock status
    configure_all cluster-preferred-endpoint-type ip
  fi
  configure_all cluster-announce-ip 127.1.2.3
  until_true 10 eval 'at "$(owner_of "rlock:$key")" cluster slots | grep -q 127.1.2.3'
  expect_error 69 'at its node 127.1.2.3:' env RLOCK_SERVER="$one" rlock run -n "$key" true
  configure_all cluster-announce-ip 127.0.0.1
  until_true 10 eval '! at "$(owner_of "rlock:$key")" cluster slots | grep -q 127.1.2.3'
}

@test "status -v: how a master that is cut off is stopped before there is another, as the nodes are set" {
  run --separate-stderr rlock status -v "$key"
  # shellcheck disable=SC2154 # bats sets it
  [[ $stderr == *'in redis.conf: min-replicas-to-write 1, and min-replicas-max-lag 2, and cluster-node-timeout 4000 or more (it is 1000); or, which is safer, --replicas 1'* ]]
  at "$(owner_of "rlock:$key")" config set min-replicas-to-write 1
  at "$(owner_of "rlock:$key")" config set cluster-node-timeout 15000
  run --separate-stderr rlock status -v "$key"
  [[ $stderr != *'cut off'* ]]
  at "$(owner_of "rlock:$key")" config set cluster-node-timeout 1000
  at "$(owner_of "rlock:$key")" config set min-replicas-to-write 0
}

@test "many nodes of the URL may be gone" {
  local gone
  gone=$(seq -s, -f '127.0.0.1:%.0f' 1 9)
  RLOCK_SERVER="redis+cluster://$gone,127.0.0.1:$(owner_of "rlock:$key")" expect 0 rlock run -n "$key" true
}

@test "status lists the locks of all masters, each once, and --force releases any" {
  local i port
  for port in $ports; do
    [ "$(at "$port" role | head -n 1)" != master ] || at "$port" flushall
  done
  for i in 1 2 3 4 5 6 7 8 9; do rlock acquire -t 1m "$key-$i" >/dev/null; done
  for port in $ports; do
    [ "$(at "$port" role | head -n 1)" != master ] || [ "$(at "$port" dbsize)" -gt 0 ]
  done
  [ "$(rlock status | tail -n +2 | cut -d' ' -f1 | tr '\n' ' ')" = "$(seq -f "$key-%.0f" -s' ' 9) " ]
  [ "$(rlock status --format keys "$key-[2-4]" | tr '\n' ' ')" = "$key-2 $key-3 $key-4 " ]
  # An exact key is one lock, though it could be a pattern.
  rlock acquire -t 1m "$key-[2-4]" >/dev/null
  [ "$(rlock status --json "$key-[2-4]" | jq -r .key)" = "$key-[2-4]" ]
  expect 0 rlock release --force "$key-[2-4]"
  begin_move "rlock:$key-5"
  move_key "rlock:$key-5"
  [ "$(rlock status | tail -n +2 | cut -d' ' -f1 | tr '\n' ' ')" = "$(seq -f "$key-%.0f" -s' ' 9) " ]
  end_move
  expect 0 rlock release --force "$key-5"
  [ "$(rlock status | grep -c "^$key-[1-9] *held")" = 8 ]
}

# answers_as NAME REPLY...: a fake node that answers each connection so; its port in $port.
answers_as() {
  local reply replies=()
  for reply in "${@:2}"; do replies+=(--reply "$reply"); done
  python3 -B "$BATS_TEST_DIRNAME/faults/fake_server.py" --listen 127.0.0.1:0 --seconds 60 "${replies[@]}" >"$1" 3>&- &
  until_true 10 grep -qs ready "$1"
  port=$(sed 's/.*://' "$1")
}

# master_at PORT: what the fake node `names` says of all slots.
master_at() { printf '*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:%s\r\n' "$1" >slots; }

@test "nodes that send on and on, since a slot goes round, are asked again: no other kind of URL helps" {
  local port verb
  answers_as asks 'text:+OK' 'text:-ASK 1 127.0.0.1:1'
  answers_as moves "text:-ASK 1 127.0.0.1:$port"
  master_at "$port"
  answers_as names file:slots
  export RLOCK_SERVER=redis+cluster://127.0.0.1:$port
  expect_error 69 'its nodes do not agree on who serves the key' rlock run -n "$key" -- touch ran
  # It may be the last try that has run out of time.
  later() { expect_error 69 "redis+cluster://" rlock "$1" --connect-timeout 300ms "${@:2}"; }
  later run "$key" -- touch ran
  for verb in renew release; do RLOCK_TOKEN=0123456789abcdef0123456789abcdef later "$verb" "$key"; done
  later status "$key"
  # Neither does it where the place that has the key is not said.
  answers_as hides "text:-MOVED 1 ?:$port"
  master_at "$port"
  expect_error 69 'its nodes do not agree' rlock run -n "$key" -- touch ran
  [ ! -e ran ]
}

# Skipped where the unit tests were not built.
@test "a hold and the last run move with their slot" {
  local name
  rlock run --hold 1h "$key" -- true
  begin_move "rlock:$key"
  for name in "rlock:$key" $(side_keys "$key"); do move_key "$name"; done
  expect 75 rlock run -n "$key" -- touch ran
  end_move
  expect 75 rlock run -n "$key" -- touch ran
  expect 0 rlock run -v --once 1h "$key" -- touch ran
  [[ $output == *'nothing to do'* ]]
  [ ! -e ran ]
  expect 0 rlock release --force "$key"
}

@test "those who share a lock hold on while their slot is moved, and the next come when it has" {
  local name i
  for i in 1 2; do
    background rlock run -s -t 6s -k 100ms "$key" -- sh -c 'touch "up.$1"; until [ -e go ]; do sleep 0.01; done' sh $i
    until_true 10 test -e up.$i
  done
  background rlock run "$key" -- sh -c 'touch written'
  until_true 10 waiting 1
  begin_move "rlock:$key"
  move_key "rlock:$key"
  # Half of it is here, half there. Nobody can say who holds it, but no renewal is lost for that.
  sleep 0.3
  for name in $(side_keys "$key") "rlock:h:{rlock:$key}"; do move_key "$name"; done
  expect_error 75 'is held, shared, by' rlock run -n "$key" true
  sleep 6  # so no lease lasts without a renewal
  [ "$(rlock status --json "$key" | jq '.holders | length')" = 2 ]
  [ ! -e written ]
  touch go
  finish
  [ -e written ]
  end_move
}

@test "all names of a lock are in its slot, for 10,000 keys with braces and without" {
  [ -x "${RLOCK%/*}/unit_tests" ] || skip 'needs the unit tests to be built'
  TEST_CLUSTER_URL=redis://127.0.0.1:${ports%% *} "${RLOCK%/*}/unit_tests" \
    --gtest_filter=Names.StandInTheSlotThatAServerSays >out
  grep -q 'PASSED.*1 test' out
}

@test "an rlock that is killed, and one inside another" {
  start_holder
  until_true 10 guard_of "$holder"
  kill -KILL "$holder"
  until_true 10 is_free
  background_pids=()
  expect 0 rlock run "$key" -- rlock run "$key" -- sh -c 'echo "$RLOCK_SERVER"'
  [ "$output" = "$url" ]
  is_free
}

@test "a user with the least rights, under a password, on every node" {
  local port name
  needs_shards
  for port in $ports; do
    # shellcheck disable=SC2046 # words
    at "$port" acl setuser least reset '>p' $(cat "$BATS_TEST_DIRNAME/acl.conf") \
      +cluster\|slots +asking +ssubscribe +spublish +pubsub\|shardnumsub
    at "$port" acl log reset
  done
  export RLOCK_SERVER=redis+cluster://least:@${url#*//}
  expect_error 77 WRONGPASS env REDISCLI_AUTH=wrong rlock run "$key" true
  for port in $ports; do at "$port" acl log reset; done
  export REDISCLI_AUTH=p
  start_holder
  start_waiters 2
  [ "$(at "$(owner_of "rlock:$key")" pubsub shardchannels | grep -c "$key")" = 3 ]
  [[ $(rlock status) == *"$key"*held* ]]
  begin_move "rlock:$key"
  for name in "rlock:$key" $(side_keys "$key"); do move_key "$name"; done
  touch go
  finish
  end_move
  kept_order 2
  for port in $ports; do
    [ -z "$(at "$port" acl log)" ]
  done
}

@test "every node is spoken to over TLS, and has to show its own address" {
  local port name nodes=() tls ports=
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=node \
    -addext subjectAltName=IP:127.0.0.1 -keyout "$BATS_FILE_TMPDIR/tls.key" -out "$BATS_FILE_TMPDIR/tls.crt" 2>/dev/null
  tls="--tls-cert-file $BATS_FILE_TMPDIR/tls.crt --tls-key-file $BATS_FILE_TMPDIR/tls.key --tls-ca-cert-file $BATS_FILE_TMPDIR/tls.crt"
  for name in tls-1 tls-2 tls-3; do
    port=$(node_port)
    nodes+=("127.0.0.1:$port") ports=${ports:+$ports }$port
    # shellcheck disable=SC2086 # words
    start_server "$name" --tls-port "$port" --bind 127.0.0.1 $tls --tls-auth-clients no --tls-cluster yes \
      --cluster-enabled yes --cluster-config-file "$name.conf" --cluster-node-timeout 1000
  done
  redis-cli --tls --cacert "$BATS_FILE_TMPDIR/tls.crt" --cluster create "${nodes[@]}" --cluster-yes >created
  at() { redis-cli --tls --cacert "$BATS_FILE_TMPDIR/tls.crt" -p "$1" "${@:2}"; }
  export RLOCK_SERVER="rediss+cluster://${nodes[0]}?cacert=$BATS_FILE_TMPDIR/tls.crt"
  start_holder
  start_waiters 2
  begin_move "rlock:$key"
  for name in "rlock:$key" $(side_keys "$key"); do move_key "$name"; done
  rlock status | grep "^$key *held"
  touch go
  finish
  kept_order 2
  # Told of by a name that their certificates do not have.
  for port in $ports; do
    at "$port" config set cluster-announce-hostname localhost
    at "$port" config set cluster-preferred-endpoint-type hostname
  done
  for port in $ports; do until_true 10 eval '! at "$port" cluster slots | grep -x "?"'; done
  expect_error 77 localhost rlock run "$key" true
  stop_servers
}
# A free port with another one 10,000 above it.
node_port() { python3 -B -c 'import sys; sys.path.append(sys.argv[1]); import servers; print(servers.free_port())' "$BATS_TEST_DIRNAME/faults"; }

@test "a URL of the wrong kind is named" {
  start_server lone
  local lone
  lone=$(free_port)
  redis config set port "$lone"
  expect_error 78 "redis://127.0.0.1:$lone: it is not a node of a Cluster; a server without a Cluster is redis://" \
    rlock run --server "redis+cluster://127.0.0.1:$lone" "$key" true
  [ -z "$(redis keys '*')" ]
  stop_servers
  expect_error 78 'write redis+cluster://' rlock run --server "redis://127.0.0.1:$(other_master "rlock:$key")" "$key" true
}

@test "eight contenders while their slot is moved back and forth: no overlap, and everybody has a turn" {
  python3 -B "$BATS_TEST_DIRNAME/faults/reshards.py" --seconds 10 --ttl 3000 --befalls move
}

@test "a node that is silent costs its share of the time, not all of it" {
  local silent silent_pid other
  other=$(other_master "rlock:$key")
  silent=$(at "$(owner_of "rlock:$key")" info replication | sed -n 's/^slave0:.*port=\([0-9]*\),.*/\1/p')
  silent_pid=$(at "$silent" info server | tr -d '\r' | sed -n 's/^process_id://p')
  kill -STOP "$silent_pid"
  run rlock run --connect-timeout 6s --server "redis+cluster://127.0.0.1:$silent,127.0.0.1:$other" "$key" true
  kill -CONT "$silent_pid"
  [ "$status" = 0 ]
}

@test "a master is killed: waiters keep their places at its replica, and the run goes on" {
  local old
  start_holder -t 30s -k 100ms
  start_waiters 3
  old=$(owner_of "rlock:$key")
  [ "$(at "$old" wait 1 60000)" = 1 ]
  kill -KILL "$(at "$old" info server | tr -d '\r' | sed -n 's/^process_id://p')"
  until_true 30 waiting 3
  # Beyond its next renewal.
  lives_for 120
  touch go
  finish
  kept_order 3
}
