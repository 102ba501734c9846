#!/usr/bin/env bats
# redis+sentinel://: three Sentinels, a master and two replicas, any of which may be dead, silent, new or of old.

load helper
load certificates
load topologies

setup_file() {
  start_field sentinel down_after_ms=1000,failover_timeout_ms=2000
}
teardown_file() {
  stop_servers
  stop_field
}
teardown() {
  # Shown where the test has failed.
  cat said 2>/dev/null || true
  end_jobs
  [ ! -e hurt ] || well
}

# hurt PYTHON...: as field, and all is well again after the test.
hurt() {
  touch "$BATS_TEST_TMPDIR/hurt"
  field "$@"
}
well() {
  field 'for each in field.servers: each.redis("ACL", "SETUSER", "default", "+@all") if each.process.poll() is None else None'
  field 'for each in field.servers + field.watchers: each.resume() if each.process.poll() is None else each.start()'
  field 'field.rejoin()'
}

# another_master: waits until the first Sentinel that answers names one, in the place of `before`.
another_master() { field 'until(lambda: field.master() not in (None, before), "a new master", 120)'; }
port_of_master() { field 'print(field.master().port)'; }
# redis COMMAND...: asks the master, as the Sentinels name it when `here` was called.
here() { at=$(port_of_master); }
redis() { timeout 120 redis-cli -p "$at" "$@"; }
# The ports of the Sentinels.
watchers() { grep -o '[0-9]*[,/]' <<<"${url#*//}" | tr -d ',/'; }
# to HOST:PORT...: the URL of other Sentinels.
to() {
  local IFS=,
  echo "redis+sentinel://$*/mymaster"
}
# dead_port: one where nobody listens.
dead_port() { free_port; }

# start_job [OPTION...]: a command that ends with 5 once there is a file go. What rlock says of it stands in said.
start_job() {
  background rlock run -v "$@" "$key" -- sh -c 'touch up; until [ -e go ]; do sleep 0.01; done; exit 5' 2>>said
  job=$!
  until_true 10 test -e up
}
# It ends as it should.
end_job() {
  touch go
  ended 5 "$job"
  unset 'background_pids[0]'
}
# start_waiters: two, who write their names as they get the lock.
start_waiters() {
  background rlock run -v -w 5m "$key" -- sh -c 'echo first >>order' 2>>said
  until_true 10 waiting 1
  background rlock run -v -w 5m "$key" -- sh -c 'echo second >>order' 2>>said
  until_true 10 waiting 2
}
in_order() {
  finish
  [ "$(cat order)" = $'first\nsecond' ]
}
token() { redis get "rlock:$key"; }
# are_back: both waiters listen to the master that redis asks.
are_back() { [ "$(redis pubsub channels "rlock:w:*$key}:*" | wc -l)" = 2 ] && waiting 2; }
# is_renewed: a lease of 20 to 40 s has begun anew since begin_anew.
begin_anew() { redis pexpire "rlock:$key" 16000; }
is_renewed() { [ "$(redis pttl "rlock:$key")" -gt 16000 ]; }
# stays_master PORT: the Sentinels cannot tell it otherwise, after 10 s as a rule. So who leaves it has been told by them.
stays_master() { redis-cli -p "$1" acl setuser default -replicaof -slaveof; }

@test "every verb finds the master" {
  local token
  here
  token=$(rlock acquire -t 10m "$key")
  is_held
  expect 75 rlock run -n "$key" -- true
  expect 0 rlock renew "$key" "$token"
  [[ $(rlock status "$key") == *held* ]]
  [[ $(rlock status) == *"$key"*held* ]]
  expect 0 rlock release "$key" "$token"
  is_free
  expect 5 rlock run "$key" -- sh -c 'exit 5'
}

@test "a run inside a run finds the lock, and a lock in another database is another" {
  here
  expect 0 rlock run "$key" -- rlock run -n "$key" -- true
  expect 0 env RLOCK_SERVER="$url/3" rlock run "$key" -- rlock --server "$url" run --connect-timeout 30s -n "$key" -- true
}

@test "a Sentinel that is dead or silent is passed over" {
  local deaf
  deaf=$(free_port)
  background python3 -B "$BATS_TEST_DIRNAME/faults/fake_server.py" --seconds 600 --listen "127.0.0.1:$deaf" >deaf
  until_true 10 grep -q ready deaf
  RLOCK_SERVER=$(to "127.0.0.1:$(dead_port)" "127.0.0.1:$deaf" "127.0.0.1:$(watchers | head -n 1)") \
    expect 0 rlock run --connect-timeout 8s "$key" -- true
  # Each is slow, but there.
  RLOCK_SERVER=$(to "127.0.0.1:$deaf") expect_error 69 'no Sentinel answers' rlock run -n --connect-timeout 1s "$key" -- true
}

@test "no Sentinel answers: 69, and the message names them" {
  local one other
  one=$(dead_port)
  other=$(dead_port)
  RLOCK_SERVER=$(to "127.0.0.1:$one" "127.0.0.1:$other") \
    expect_error 69 "redis+sentinel://127.0.0.1:$one,127.0.0.1:$other/mymaster: no Sentinel answers" rlock run -n "$key" -- true
}

@test "a master that no Sentinel knows, and a server that is none: 78, and what to write" {
  here
  RLOCK_SERVER=${url%/*}/nobody expect_error 78 'knows no master of that name; it knows mymaster' rlock run "$key" -- true
  RLOCK_SERVER=$(to "127.0.0.1:$at") expect_error 78 'it is not a Sentinel' rlock run "$key" -- true
  # One that is another's does no harm beside one that is right.
  RLOCK_SERVER=$(to "127.0.0.1:$at" "127.0.0.1:$(watchers | head -n 1)") expect 0 rlock run "$key" -- true
}

# lone NAME [SENTINEL LINE...]: a server with the password `master`, and a Sentinel alone that calls it mymaster.
lone() {
  local name=$1
  shift
  lone_server=$(free_port) lone_sentinel=$(free_port)
  start_server "$name" --port "$lone_server" --requirepass master --user me on '>mine' '~*' '&*' +@all
  printf '%s\n' "port $lone_sentinel" "dir $PWD" "$@" "sentinel monitor mymaster ${lone_host:-127.0.0.1} $lone_server 1" \
    "sentinel auth-pass mymaster master" >"$name.conf"
  redis-server "$name.conf" --sentinel >"$name.sentinel" 2>&1 3>&- &
  disown $!
  echo $! >"$BATS_FILE_TMPDIR/$name.sentinel.pid"
  until_true 10 redis-cli -p "$lone_sentinel" ping
}

@test "Sentinels with a password: their own, or that of the servers" {
  lone own "requirepass own"
  echo own >password
  echo wrong >wrong
  chmod 600 password wrong
  export REDISCLI_AUTH=master RLOCK_SERVER
  RLOCK_SERVER="$(to "127.0.0.1:$lone_sentinel")?sentinel_password_file=$PWD/password"
  expect 0 rlock run "$key" -- true
  RLOCK_SERVER="$(to "127.0.0.1:$lone_sentinel")?sentinel_password_file=$PWD/wrong"
  expect_error 77 'user or password is wrong' rlock run "$key" -- true
  RLOCK_SERVER=$(to "127.0.0.1:$lone_sentinel")
  expect_error 77 'user or password is wrong (WRONGPASS); the password comes from REDISCLI_AUTH; a password of the Sentinels alone is ?sentinel_password_file=' \
    rlock run "$key" -- true
  lone same "requirepass master"
  RLOCK_SERVER=$(to "127.0.0.1:$lone_sentinel")
  expect 0 rlock run "$key" -- true
  unset REDISCLI_AUTH
  expect_error 77 'the Sentinel needs a password: add ?sentinel_password_file=FILE' rlock run "$key" -- true
}

@test "a user of the servers need not be one of the Sentinels" {
  lone users
  RLOCK_SERVER=redis+sentinel://me:mine@127.0.0.1:$lone_sentinel/mymaster expect 0 rlock run "$key" -- true
  RLOCK_SERVER=redis+sentinel://me:not@127.0.0.1:$lone_sentinel/mymaster \
    expect_error 77 'user or password is wrong' rlock run "$key" -- true
}

@test "a Sentinel that names hosts by name" {
  lone_host=localhost lone names 'sentinel resolve-hostnames yes' 'sentinel announce-hostnames yes'
  [ "$(redis-cli -p "$lone_sentinel" sentinel get-master-addr-by-name mymaster | head -n 1)" = localhost ]
  REDISCLI_AUTH=master RLOCK_SERVER=$(to "localhost:$lone_sentinel") expect 0 rlock run "$key" -- true
}

@test "IPv6, of the Sentinel and of the master" {
  [ -e /proc/net/if_inet6 ] && grep -q ' lo$' /proc/net/if_inet6 || skip 'needs IPv6 on the loopback'
  lone_host=::1 lone six
  REDISCLI_AUTH=master RLOCK_SERVER=$(to "[::1]:$lone_sentinel") expect 0 rlock run "$key" -- true
}

@test "rediss+sentinel://: TLS to the Sentinels and to the servers, each is who it should be" {
  local server sentinel
  cd "$BATS_FILE_TMPDIR" || return 1
  server=$(free_port) sentinel=$(free_port)
  authority ca
  authority other
  certificate server ca 'DNS:localhost,IP:127.0.0.1'
  tls_server tls "$server" server --tls-auth-clients no
  printf '%s\n' 'port 0' "tls-port $sentinel" "dir $PWD" 'tls-cert-file server.crt' 'tls-key-file server.key' \
    'tls-ca-cert-file ca.crt' 'tls-auth-clients no' 'tls-replication yes' \
    "sentinel monitor mymaster 127.0.0.1 $server 1" >sentinel.conf
  redis-server sentinel.conf --sentinel >sentinel.log 2>&1 3>&- &
  disown $!
  echo $! >"$BATS_FILE_TMPDIR/tls.sentinel.pid"
  until_true 10 redis-cli --tls --cacert ca.crt -h localhost -p "$sentinel" ping
  export RLOCK_SERVER
  RLOCK_SERVER="rediss+sentinel://localhost:$sentinel/mymaster?cacert=$PWD/ca.crt"
  expect 0 rlock run "$key" -- true
  RLOCK_SERVER="rediss+sentinel://localhost:$sentinel/mymaster?cacert=$PWD/other.crt"
  expect_error 77 'certificate' rlock run -n "$key" -- true
  RLOCK_SERVER="redis+sentinel://localhost:$sentinel/mymaster"
  expect_error 69 'no Sentinel answers' rlock run -n --connect-timeout 1s "$key" -- true
}

# old_sentinel PORT: a Sentinel that goes on naming this one as the master; its own port in $old.
old_sentinel() {
  old=$(free_port)
  background python3 -B "$BATS_TEST_DIRNAME/faults/fake_server.py" --seconds 600 --listen "127.0.0.1:$old" \
    --reply "hex:$(printf '*2\r\n$9\r\n127.0.0.1\r\n$5\r\n%s\r\n' "$1" | od -An -v -tx1 | tr -d ' \n')" \
    --reply 'text:-ERR unknown' >old
  until_true 10 grep -q ready old
}

@test "a replica that a Sentinel still names: the others are asked, and alone it is 69" {
  local replica
  here
  replica=$(field 'print(next(s.port for s in field.servers if s.role() == "slave"))')
  old_sentinel "$replica"
  RLOCK_SERVER=$(to "127.0.0.1:$old") expect_error 69 'it is a replica' rlock run -n "$key" -- true
  RLOCK_SERVER=$(to "127.0.0.1:$old") expect_error 69 'it is a replica' rlock status --connect-timeout 1s "$key"
  RLOCK_SERVER=$(to "127.0.0.1:$old" "127.0.0.1:$(watchers | head -n 1)") expect 0 rlock run "$key" -- true
}

@test "the master is killed: the holder renews on the new one, and waiters come back in order" {
  local before
  here
  before=$at
  start_job -t 40s
  start_waiters
  hurt 'before = field.master(); before.kill()'
  another_master
  here
  [ "$at" != "$before" ]
  until_true 20 are_back
  begin_anew
  until_true 10 is_renewed
  end_job
  in_order
}

@test "SENTINEL FAILOVER: holder and waiters leave the old master, though it still answers as one" {
  local before
  here
  before=$at
  start_job -t 60s
  start_waiters
  begin_anew
  stays_master "$before"
  hurt 'field.failover()'
  here
  [ "$at" != "$before" ]
  until_true 10 are_back
  until_true 10 is_renewed
  [ "$(redis-cli -p "$before" role | head -n 1)" = master ]
  end_job
  in_order
}

@test "the master freezes: the holder goes on with the new one, and with it when the old one wakes" {
  local before
  here
  before=$at
  start_job -t 40s
  start_waiters
  hurt 'before = field.master(); before.stop()'
  another_master
  here
  until_true 20 are_back
  field '[s.resume() for s in field.servers]'
  begin_anew
  until_true 10 is_renewed
  end_job
  in_order
}

@test "a master that freezes keeps nobody for longer than it takes to replace it" {
  here
  hurt 'before = field.master(); before.stop()'
  # It is named still, and takes the connection.
  background rlock run -v --connect-timeout 5m "$key" -- touch ran 2>said
  another_master
  until_true 10 test -e ran
  finish
}

@test "a master that wakes after it was replaced grants nothing" {
  local token waiter
  here
  expect 0 rlock run "$key" -- true # from here on the master knows the scripts
  hurt 'before = field.master(); before.stop()'
  background rlock run -v -w 5m --connect-timeout 5m "$key" -- touch ran 2>said
  waiter=$!
  until_true 10 eval 'ss -Htnp state established "dport = :$at" | grep -q "pid=$waiter,"'
  # So that the grant and the news reach it together.
  kill -STOP "$waiter"
  local old=$at
  another_master
  here
  token=$(rlock acquire -t 10m "$key")
  field 'before.resume()'
  until_true 10 eval '[ "$(redis-cli -p "$old" exists "rlock:$key")" = 1 ]'
  kill -CONT "$waiter"
  until_true 20 waiting 1
  [ ! -e ran ]
  rlock release "$key" "$token"
  finish
  [ -e ran ]
}

@test "no master at all: the command is dead before its lease ends, and the status is 79" {
  here
  write_job
  background rlock run -t 2s -k 100ms "$key" -- ./job 2>said
  job=$!
  until_true 10 job_runs
  local ends
  hurt '[s.stop() for s in field.servers]'
  ends=$(awk "BEGIN { print $(uptime_now) + 2 }")
  ended 79 "$job"
  unset 'background_pids[0]'
  job_is_dead
  holds "$(last_beat) < $ends"
}

@test "all Sentinels are gone: the holder goes on with its master" {
  here
  start_job -t 20s -k 100ms
  hurt '[w.kill() for w in field.watchers]'
  begin_anew
  until_true 10 is_renewed
  end_job
  is_free
}

@test "the Sentinel that tells of failovers dies: another one tells" {
  local first
  here
  start_job -t 20s -k 100ms
  first=$at
  hurt 'field.watchers[0].kill()'
  # It is replaced with the first renewal since.
  begin_anew
  until_true 10 is_renewed
  begin_anew
  stays_master "$first"
  field 'before = field.master(); field.watchers[1].redis("SENTINEL", "FAILOVER", "mymaster")'
  another_master
  here
  [ "$at" != "$first" ]
  until_true 10 is_renewed
  [ "$(redis-cli -p "$first" role | head -n 1)" = master ]
  end_job
}

@test "the Sentinel that tells of failovers freezes: another one tells, before the old master is renewed on again" {
  local first all
  here
  first=$at
  # Not the one that leads the failovers of later tests: it acts on nothing for 30 s after it was frozen.
  mapfile -t all < <(watchers | sed 's/^/127.0.0.1:/')
  RLOCK_SERVER=$(to "${all[2]}" "${all[0]}" "${all[1]}")
  start_job -t 20s -k 100ms
  hurt 'field.watchers[2].stop()'
  begin_anew
  stays_master "$first"
  field 'before = field.master(); field.watchers[1].redis("SENTINEL", "FAILOVER", "mymaster")'
  another_master
  redis-cli -p "$first" config resetstat
  here
  [ "$at" != "$first" ]
  until_true 10 is_renewed
  [ "$(redis-cli -p "$first" role | head -n 1)" = master ]
  [[ $(redis-cli -p "$first" info commandstats) != *evalsha* ]]
  end_job
}

@test "rlock is killed after a failover: its guard releases the lock on the new master" {
  here
  start_job -t 60s
  until_true 10 guard_of "$job"
  hurt 'field.failover()'
  here
  is_held
  kill -KILL "$job"
  until_true 10 is_free
}

@test "a lock that the new master was never told of is reclaimed by its holder" {
  local fence earlier
  here
  expect 0 rlock run "$key" -- true
  earlier=$(redis get "rlock:f:{rlock:$key}")
  start_job -t 20s -k 100ms
  fence=$(redis hget "rlock:i:{rlock:$key}" "$(token)")
  # What its replicas have is deleted there, so that the one that is promoted knows nothing.
  begin_anew
  until_true 10 is_renewed
  hurt 'for each in field.servers: each is field.master() or each.redis("CONFIG", "SET", "replica-read-only", "no")'
  field 'for each in field.servers: each is field.master() or each.redis("DEL", "rlock:'"$key"'")'
  # But of the holder before it.
  field 'for each in field.servers: each is field.master() or each.redis("SET", "rlock:f:{rlock:'"$key"'}", '"$earlier"')'
  field 'for each in field.servers: each.redis("CONFIG", "SET", "replica-read-only", "yes")'
  field 'before = field.failover()'
  here
  until_true 10 is_held
  [ "$(redis hget "rlock:i:{rlock:$key}" "$(token)" | cut -d' ' -f5)" = "$(cut -d' ' -f5 <<<"$fence")" ]
  end_job
}

@test "a Sentinel that says for how long there has been this master, and that cannot be" {
  local fields
  here
  resp() { printf '*%d\r\n' $#; for word; do printf '$%d\r\n%s\r\n' "${#word}" "$word"; done; }
  hex() { "$@" | od -An -v -tx1 | tr -d ' \n'; }
  fields=(ip 127.0.0.1 port "$at" flags master role-reported master role-reported-time 9223372036854775807)
  old=$(free_port)
  background python3 -B "$BATS_TEST_DIRNAME/faults/fake_server.py" --seconds 600 --listen "127.0.0.1:$old" \
    --reply "hex:$(hex resp 127.0.0.1 "$at")" --reply "hex:$(hex resp "${fields[@]}")" --reply 'text:-ERR unknown' >old
  until_true 10 grep -q ready old
  field 'until(lambda: int(field.master().redis("INFO", "server").split("uptime_in_seconds:")[1].split()[0]) > 3, "a long uptime")'
  RLOCK_SERVER=$(to "127.0.0.1:$old") expect 0 rlock run -n --grace 1s "$key" -- true
}

@test "status -v: how a master that is cut off is stopped before there is another, as the Sentinels are set" {
  local port
  here
  advises() {
    run --separate-stderr rlock status -v "$key"
    # shellcheck disable=SC2154 # bats sets it
    [[ $stderr == *"cut off from its replicas, it goes on granting locks $1"* ]]
  }
  wait_for() { for port in $(watchers); do redis-cli -p "$port" sentinel set mymaster down-after-milliseconds "$1"; done >said; }
  advises 'that the new master grants too; in redis.conf: min-replicas-to-write 1, and min-replicas-max-lag 2, and in sentinel.conf: down-after-milliseconds 4000 or more (it is 1000); and --grace; or in place of both --replicas 2'
  wait_for 6000
  advises 'that the new master grants too; in redis.conf: min-replicas-to-write 1, and min-replicas-max-lag 4; and --grace'
  redis config set min-replicas-to-write 1
  advises 'for 12s, but a replica may be promoted after 6s; in redis.conf: min-replicas-max-lag 4 (it is 10); and --grace'
  redis config set min-replicas-max-lag 4
  run --separate-stderr rlock status -v "$key"
  [[ $stderr != *'cut off'* ]]
  redis config set min-replicas-max-lag 10
  wait_for 12000
  run --separate-stderr rlock status -v "$key"
  [[ $stderr != *'cut off'* ]]
  wait_for 1000
  redis config set min-replicas-to-write 0
}

@test "--grace counts from the promotion: nobody new gets a free lock for so long" {
  here
  # By their uptime, all servers are too old.
  field 'until(lambda: all(int(each.redis("INFO", "server").split("uptime_in_seconds:")[1].split()[0]) > 31 for each in field.servers), "a long uptime")'
  hurt 'field.failover()'
  expect_error 69 'its holders may come back' rlock run -n --grace 30s "$key" -- true
  expect 0 rlock run -n "$key" -- true
  expect 0 rlock run -w 5m --grace 1s "$key" -- true
}
