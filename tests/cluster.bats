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

is_held() { [ "$(at_owner exists "rlock:${1:-$key}")" = 1 ]; }
is_free() { [ "$(at_owner exists "rlock:${1:-$key}")" = 0 ]; }
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
side_keys() { printf 'rlock:%s:{rlock:%s}\n' q "$1" i "$1" f "$1"; }

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
  expect 0 rlock run --server "redis+cluster://127.0.0.1:1,127.0.0.1:2,127.0.0.1:${ports%% *}" "$key" true
  expect_error 69 'Connection refused' rlock run --connect-timeout 300ms --server redis+cluster://127.0.0.1:1,127.0.0.1:2 "$key" true
}

@test "waiters get their turn in order, told by sharded channels alone" {
  local i port
  rlock run "$key" -- sh -c 'until [ -e go ]; do sleep 0.01; done' 3>&- &
  background_pids+=($!)
  until_true 10 is_held
  for i in 1 2 3 4 5; do
    background rlock run -w 1m "$key" -- sh -c "echo $i \$RLOCK_FENCE >>order"
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
  for port in $ports; do
    at "$port" acl setuser plain reset on nopass '~*' '&*' +@all -ssubscribe -spublish
  done
  export RLOCK_SERVER=redis+cluster://plain:any@${url#*//}
  rlock run "$key" -- sh -c 'until [ -e go ]; do sleep 0.01; done' 3>&- &
  background_pids+=($!)
  until_true 10 is_held
  for i in 1 2; do
    background rlock run -w 1m "$key" -- sh -c "echo $i >>order"
    until_true 10 waiting "$i"
  done
  [ "$(at "$(owner_of "rlock:$key")" pubsub channels | grep -c "$key")" = 3 ]
  touch go
  finish
  [ "$(tr '\n' ' ' <order)" = '1 2 ' ]
}

@test "a run goes on while its slot is moved, however long that takes and whatever of it is where" {
  local side
  rlock run -t 1s "$key" -- sh -c 'until [ -e go ]; do sleep 0.01; done' 3>&- &
  background_pids+=($!)
  until_true 10 is_held
  begin_move "rlock:$key"
  outlives_its_ttl
  # The lock first, then what belongs to it.
  move_key "rlock:$key"
  outlives_its_ttl
  for side in $(side_keys "$key"); do move_key "$side"; done
  outlives_its_ttl
  end_move
  outlives_its_ttl
  # And back, in the other order.
  begin_move "rlock:$key"
  for side in $(side_keys "$key"); do move_key "$side"; done
  outlives_its_ttl
  end_move
  touch go
  finish
  until_true 3 is_free
}
outlives_its_ttl() {
  local end=$((SECONDS + 2))
  while ((SECONDS <= end)); do
    ! is_gone "${background_pids[0]}" || return 1
    sleep 0.05
  done
}
