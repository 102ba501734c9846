# Several keys under one run: rlock run --with KEY.
# shellcheck disable=SC2016 # expanded by the command
load helper

setup_file() { start_server; }
teardown_file() { stop_servers; }
setup() {
  begin_test
  a=a-$BATS_TEST_NUMBER b=b-$BATS_TEST_NUMBER c=c-$BATS_TEST_NUMBER
  key=$a
  export RLOCK_SERVER=$url a b c
}

are_free() {
  local one
  for one; do is_free "$one" && waiting 0 "$one" || return 1; done
}
are_held() {
  local one
  for one; do is_held "$one" || return 1; done
}
holder() { redis get "rlock:$1"; }

@test "all keys are held while the command runs, and released when it ends" {
  expect 3 rlock run --with "$b" --with="$c" "$a" -- sh -c 'for k in $a $b $c; do redis-cli -s "$sock" get "rlock:$k"; done; echo "$RLOCK_TOKEN"; exit 3'
  [ "$(sort -u <<<"$output" | wc -l)" = 1 ]
  [ "$(wc -l <<<"$output")" = 4 ]
  are_free "$a" "$b" "$c"
}

@test "RLOCK_KEY is KEY; RLOCK_KEYS, _TOKENS and _FENCES have a line for each, KEY first, then as --with names them" {
  expect 0 rlock run --with "$c" --with "$b" "$a b" -- sh -c 'echo "$RLOCK_KEY"; echo "$RLOCK_KEYS"'
  [ "$output" = "$a b"$'\n'"$a b"$'\n'"$c"$'\n'"$b" ]
  expect 0 rlock run --with "$c" --with "$b" "$a" -- sh -c 'echo "$RLOCK_FENCES" | sed -n 1p; echo "$RLOCK_FENCE"; echo "$RLOCK_TOKENS" | sed -n 3p; echo "$RLOCK_TOKEN"
    for k in $a $c $b; do rlock status --json "$k" | jq -r ".holders[0].fence"; done >held; echo "$RLOCK_FENCES" | diff - held'
  [ "${lines[0]}" = "${lines[1]}" ]
  [ "${lines[2]}" = "${lines[3]}" ]
  # One token for all: what is inside may renew any of them.
  expect 0 rlock run --with "$b" "$a" -- sh -c 'rlock renew && rlock renew "$b"'
  # Nothing of it is left for a run of one key.
  expect 0 rlock run --with "$b" "$a" -- rlock run "$c" -- sh -c 'echo "${RLOCK_KEYS-none} ${RLOCK_TOKENS-none} ${RLOCK_FENCES-none}"'
  [ "$output" = "none none none" ]
}

@test "all keys are released side by side" {
  rlock run --with "$b" --with "$c" "$a" -- true
  strace -qq -o calls -e trace=sendto,recvfrom -e signal=none rlock run --with "$b" --with "$c" "$a" -- true
  [ "$(tail -n 6 calls | cut -d'(' -f1 | paste -sd ' ')" = "sendto sendto sendto recvfrom recvfrom recvfrom" ]
}

@test "a key that is named twice, is empty or cannot be a lock is refused, and nothing is acquired" {
  expect_error 64 "--with: KEY $b is given twice" rlock run --with "$b" --with "$b" "$a" -- touch ran
  expect_error 64 "--with: KEY $a is given twice" rlock run --with "$a" "$a" -- touch ran
  expect_error 64 '--with: KEY is empty' rlock run --with '' "$a" -- touch ran
  expect_error 64 '--with: KEY has a control character' rlock run --with $'x\ny' "$a" -- touch ran
  expect_error 64 '--with: KEY rlock:q:{x} is a name that rlock needs' rlock run --prefix '' --with 'rlock:q:{x}' "$a" -- touch ran
  expect_error 64 "'--with' is not an option of rlock acquire; it is an option of run" rlock acquire --with "$b" "$a"
  [ ! -e ran ]
  are_free "$a" "$b"
}

@test "keys are acquired in one order, whatever the order in which they are named" {
  rlock acquire -t 10m "$b" >token
  background rlock run --with "$c" --with "$a" "$b" -- true
  until_true 10 waiting 1 "$b"
  is_held "$a"
  is_free "$c"
  background rlock run --with "$b" --with "$a" "$c" -- true
  until_true 10 waiting 1 "$a"
  is_free "$c"
  rlock release "$b" "$(cat token)"
  finish
  are_free "$a" "$b" "$c"
}

@test "contenders for some of five keys, in random orders, some of them killed: none overlaps, none waits for ever" {
  python3 -B "$BATS_TEST_DIRNAME/faults/several_keys.py" --seconds 4 --kills 6 --shared 0.3
}

@test "keys that are held already are renewed while a later one is waited for, and fresh when the command starts" {
  rlock acquire -t 10m "$c" >token
  background rlock run -t 2s -k 100ms --with "$b" --with "$c" "$a" -- sh -c 'for k in $a $b; do redis-cli -s "$sock" get "rlock:$k"; done >inside'
  until_true 10 waiting 1 "$c"
  local first i
  first=$(holder "$a")
  for ((i = 0; i < 30; i++)); do
    sleep 0.1
    [ "$(holder "$a")" = "$first" ]
    [ "$(holder "$b")" = "$first" ]
  done
  rlock release "$c" "$(cat token)"
  finish
  [ "$(sort -u inside)" = "$first" ]
}

@test "one that is lost while another is waited for: all are released, and it begins again" {
  rlock acquire -t 10m "$b" >token
  rlock run -t 600ms --with "$b" "$a" -- touch ran 2>said 3>&- &
  local pid=$!
  until_true 10 waiting 1 "$b"
  redis del "rlock:$a"
  rlock acquire -t 10m "$a" >other
  until_true 10 grep -q "lost $a while waiting for $b; beginning again" said
  until_true 10 waiting 1 "$a"
  waiting 0 "$b"
  rlock release "$b" "$(cat token)"
  [ ! -e ran ]
  rlock release "$a" "$(cat other)"
  ended 0 "$pid"
  [ -e ran ]
  are_free "$a" "$b"
}

@test "frozen while it waits, until its leases have ended: it begins again" {
  rlock acquire -t 60s "$b" >token
  rlock run -t 400ms --with "$b" "$a" -- touch ran 2>said 3>&- &
  local pid=$!
  until_true 10 waiting 1 "$b"
  kill -STOP "$pid"
  until_true 10 is_free "$a"
  rlock acquire -t 60s "$a" >other
  kill -CONT "$pid"
  until_true 10 grep -q "lost $a while waiting for $b; beginning again" said
  rlock release "$b" "$(cat token)"
  until_true 10 waiting 1 "$a"
  [ ! -e ran ]
  rlock release "$a" "$(cat other)"
  ended 0 "$pid"
  [ -e ran ]
}

@test "a server that restarts and forgets all gives each key back" {
  own_server
  background rlock run -t 60s --with "$c" "$a" -- sh -c 'touch started; until [ -e end ]; do sleep 0.01; done; redis-cli -s "$sock" exists "rlock:$a" "rlock:$c" >held'
  until_true 10 test -e started
  until_true 10 guard_of $!
  until_true 10 eval '[ "$(redis client list | grep -c "flags=[^ ]*t")" -ge 2 ]'
  kill_own_server
  own_server
  until_true 10 are_held "$a" "$c"
  touch end
  finish
  [ "$(cat held)" = 2 ]
}

@test "one that was taken away unseen is found before the command starts" {
  rlock acquire -t 10m "$b" >token
  rlock run -t 60s -v --with "$b" "$a" -- sh -c 'redis-cli -s "$sock" get "rlock:$a" >inside; echo "$RLOCK_TOKEN" >>inside' 2>said 3>&- &
  local pid=$!
  until_true 10 waiting 1 "$b"
  redis del "rlock:$a"
  rlock acquire -t 10m "$a" >other
  rlock release "$b" "$(cat token)"
  until_true 10 waiting 1 "$a"
  [ ! -e inside ]
  rlock release "$a" "$(cat other)"
  ended 0 "$pid"
  [ "$(sort -u inside | wc -l)" = 1 ]
}

@test "the loss of one is the loss of all: the command is stopped, 79, and the others are released" {
  local gone
  for gone in $a $b $c; do
    rlock run --with "$b" --with "$c" "$a" -- sh -c 'touch started; exec sleep 60' 2>said 3>&- &
    local pid=$!
    until_true 10 test -e started
    # The renewal thread watches from the first renewal on.
    until_true 10 guard_of "$pid"
    until_true 10 eval '[ "$(redis client list | grep -c "flags=[^ ]*t")" -ge 3 ]'
    redis del "rlock:$gone"
    ended 79 "$pid"
    grep -q "lost $gone after .*: the server says" said
    are_free "$a" "$b" "$c"
    rm started
  done
}

@test "the permit is the earliest of all deadlines: where one cannot be renewed, the command ends in time" {
  not_under_acl 'the test takes rights away from the default user'
  own_server
  redis acl setuser boss on nopass '~*' '&*' +@all >/dev/null
  boss() { redis --user boss --pass x --no-auth-warning "$@"; }
  rlock run -t 2s --with "$b" "$a" -- sh -c 'touch started; exec sleep 600' 2>said 3>&- &
  local pid=$!
  until_true 10 test -e started
  # From now on what concerns b is refused.
  boss acl setuser default resetkeys "~*$a*" >/dev/null
  ended 79 "$pid"
  grep -q "lost $b after .*: it could not be renewed in time" said
  grep -q "could not release $b" said
  [ "$(boss exists "rlock:$a")" = 0 ]
}

@test "TERM while one of them is waited for leaves nothing behind on any" {
  rlock acquire -t 10m "$b" >token
  rlock run --with "$b" --with "$c" "$a" -- touch ran 3>&- &
  local pid=$!
  until_true 10 waiting 1 "$b"
  is_held "$a"
  kill -TERM "$pid"
  ended 143 "$pid"
  is_free "$a"
  waiting 0 "$b"
  rlock release "$b" "$(cat token)"
  [ ! -e ran ]
  are_free "$a" "$b" "$c"
}

@test "rlock killed: the guard ends the command and frees all keys" {
  rlock run -t 60s --with "$b" --with "$c" "$a" -- sh -c 'echo $$ >job; exec sleep 60' 3>&- &
  local pid=$!
  until_true 10 test -s job
  until_true 10 guard_of "$pid"
  are_held "$a" "$b" "$c"
  kill -KILL "$pid"
  until_true 10 are_free "$a" "$b" "$c"
  is_gone "$(cat job)"
}

@test "with -n all or none, and busy names the key and its holder; -w counts for all together" {
  rlock acquire -t 10m "$b" >token
  expect_error 75 "busy: $b is held by $(id -un)@" rlock run -n --with "$b" --with "$c" "$a" -- touch ran
  are_free "$a" "$c"
  rlock acquire -t 10m "$a" >other
  rlock run -w 9s --with "$b" --with "$c" "$a" -- touch ran 2>said 3>&- &
  local pid=$! before
  until_true 10 waiting 1 "$a"
  sleep 7
  before=$EPOCHREALTIME
  rlock release "$a" "$(cat other)"
  ended 75 "$pid"
  # It waits for the second one for the 2 s that are left.
  holds "$EPOCHREALTIME - $before < 8"
  grep -q "busy: $b is held" said
  waiting 0 "$b"
  are_free "$a" "$c"
  [ ! -e ran ]
}

@test "-v says what is waited for, and what is held" {
  rlock acquire -t 10m "$b" >token
  rlock run -v --with "$b" "$a" -- true 2>said 3>&- &
  local pid=$!
  until_true 10 grep -q "waiting for $b, held by" said
  rlock release "$b" "$(cat token)"
  ended 0 "$pid"
  grep -q "holding $a, fence" said
  grep -q "holding $b, fence" said
}

@test "status shows each key" {
  expect 0 rlock run --with "$b" "$a" -- sh -c 'rlock status --json "$a" && rlock status --json "$b"'
  [ "$(grep -c '"held":true' <<<"$output")" = 2 ]
}

@test "--hold keeps all keys, --once asks for KEY alone, and status tells the last run of each" {
  expect 0 rlock run --hold 1m --with "$b" "$a" -- true
  are_held "$a" "$b"
  redis del "rlock:$a" "rlock:$b"
  # Of a and b a run has succeeded, of c none.
  expect 0 rlock run --once 1m --with "$a" "$c" -- touch first
  expect 0 rlock run --once 1m --with "$a" "$c" -- touch second
  [ -e first ]
  [ ! -e second ]
  are_free "$a" "$c"
  rlock status --json "$b" | jq -e '.last_run.exit_status == 0'
}

@test "a nested run of some or all of them is a re-entry, also two levels down" {
  expect 0 rlock run --with "$b" --with "$c" "$a" -- rlock run -n --with "$a" "$c" -- \
    sh -c 'echo "$RLOCK_KEY"; rlock run -n "$b" -- sh -c "rlock run -n --with \$c --with \$a \$b -- true && echo in; echo \$RLOCK_KEY"'
  [ "$output" = "$c"$'\nin\n'"$b" ]
  are_free "$a" "$b" "$c"
  # Also where the outer one names one key.
  expect 0 rlock run "$a" -- rlock run -n --with "$a" "$b" -- sh -c 'rlock run -n --with "$b" "$a" -- echo in'
  [ "$output" = in ]
  are_free "$a" "$b"
}

@test "a nested run of more keys acquires the others, and releases those alone" {
  expect 0 rlock run --with "$b" "$a" -- sh -c 'rlock run -n --with "$a" "$c" -- sh -c "redis-cli -s \$sock get rlock:\$c; echo \$RLOCK_TOKEN; redis-cli -s \$sock get rlock:\$a; echo \"\$RLOCK_TOKENS\" | sed -n 2p
    rlock run -n --with \$b --with \$c \$a -- echo again"; redis-cli -s "$sock" exists "rlock:$c"; redis-cli -s "$sock" get "rlock:$a"; echo "$RLOCK_TOKEN"'
  [ "${lines[0]}" = "${lines[1]}" ]
  [ "${lines[2]}" = "${lines[3]}" ]
  [ "${lines[0]}" != "${lines[2]}" ]
  [ "${lines[4]}" = again ]
  [ "${lines[5]}" = 0 ]
  [ "${lines[6]}" = "${lines[7]}" ]
  are_free "$a" "$b" "$c"
}

@test "the outer run waits for a nested one of more keys before it releases" {
  expect 0 rlock run --with "$b" "$a" -- sh -c 'setsid rlock run --with "$a" "$c" -- sh -c "touch inside; until [ -e end ]; do sleep 0.01; done; redis-cli -s $sock exists rlock:$a rlock:$b rlock:$c >held" &
    until [ -e inside ]; do sleep 0.01; done; { sleep 0.3; touch end; } >/dev/null 2>&1 &'
  [ "$(cat held)" = 3 ]
  until_true 10 are_free "$a" "$b" "$c"
}

@test "the outer run killed: the command of a nested one of more keys ends too" {
  rlock run --with "$b" "$a" -- rlock run -t 3s --with "$a" "$c" -- sh -c 'echo $$ >job; exec sleep 60' 3>&- &
  local pid=$!
  until_true 10 test -s job
  until_true 10 guard_of "$pid"
  kill -KILL "$pid"
  until_true 10 is_gone "$(cat job)"
  # The inner guard is killed too, as one that the command has started.
  until_true 10 are_free "$a" "$b" "$c"
}

@test "below a shell that holds one of them, that one is renewed and stays" {
  local token
  token=$(rlock acquire -t 3s "$a")
  RLOCK_KEY=$a RLOCK_TOKEN=$token expect 0 rlock run -t 3s -k 100ms --with "$a" "$b" -- sh -c 'sleep 4; redis-cli -s "$sock" get "rlock:$a"'
  [ "$output" = "$token" ]
  [ "$(holder "$a")" = "$token" ]
  is_free "$b"
}

@test "a waiter of one key above waits for all, told of the run that it may block" {
  rlock run "$b" -- sh -c 'rlock run -w 5m --with "$b" --with "$c" "$a" -- echo in; RLOCK_TOKEN=x RLOCK_KEY=x rlock run -w 1s --with "$a" "$b" -- touch ran' >out 2>said || true
  [ "$(cat out)" = in ]
  grep -q "waiting for $b, which is held by a run around this one" said
  [ ! -e ran ]
}

@test "--shared goes for all keys: readers are in all of them together, a writer of one of them waits" {
  rlock run -s --with "$b" "$a" -- sh -c 'touch first; until [ -e end ]; do sleep 0.01; done' 3>&- &
  until_true 10 test -e first
  expect 0 rlock run -n -s --with "$a" "$b" -- echo in
  expect_error 75 "busy: $b is held" rlock run -n --with "$b" "$c" -- touch ran
  is_free "$c"
  touch end
  ended 0 $!
  are_free "$a" "$b" "$c"
}

@test "the same on a Cluster, where keys stand on several nodes" {
  python3 -B "$BATS_TEST_DIRNAME/faults/several_keys.py" --topology cluster --seconds 3 --contenders 8
}

@test "the same on five servers of which a majority holds" {
  python3 -B "$BATS_TEST_DIRNAME/faults/several_keys.py" --topology redlock --seconds 3 --contenders 6
}
