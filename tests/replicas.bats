# --replicas N: a lock counts only when N replicas have it, so that a failover to one of these keeps it.
load helper

setup_file() {
  port=$(free_port)
  start_server server --port "$port" --bind 127.0.0.1 --repl-diskless-sync-delay 0
  local master=$sock server=$url i
  for i in 1 2; do
    start_server "replica$i" --replicaof 127.0.0.1 "$port"
  done
  export sock=$master url=$server
}
teardown_file() { stop_servers; }

replica() { redis-cli -s "$BATS_FILE_TMPDIR/replica$1.sock" "${@:2}"; }
both_follow() { [ "$(redis wait 2 1000)" = 2 ] && [ "$(redis info replication | grep -c state=online)" = 2 ]; }
setup_replicas() {
  kill -CONT "$(server_pid replica1)" "$(server_pid replica2)"
  until_true 30 both_follow
}
freeze() { kill -STOP "$(server_pid "replica$1")"; }
thaw() { kill -CONT "$(server_pid "replica$1")"; }

@test "when the command starts, the replicas have the lock" {
  setup_replicas
  export -f replica
  expect 0 rlock run --replicas 2 "$key" -- bash -c '
    for i in 1 2; do [ "$(replica $i get "rlock:$RLOCK_KEY")" = "$RLOCK_TOKEN" ] || exit 9; done'
  is_free
  rlock release "$key" "$(rlock acquire --replicas 2 "$key")"
}

@test "too few have it: not held, and it is not busy" {
  setup_replicas
  freeze 1
  expect_error 69 'only 1 of 2 replicas have it' rlock run -n --replicas 2 --connect-timeout 1s "$key" -- touch ran
  expect_error 69 'only 1 of 2 replicas have it' rlock acquire -w 300ms --replicas 2 --connect-timeout 1s -E 0 "$key"
  expect_error 69 'only 1 of 2 replicas have it' rlock run --replicas 2 --connect-timeout 1s "$key" -- touch ran
  [ ! -e ran ]
  is_free
  expect 0 rlock run -n --replicas 1 "$key" -- touch ran
  thaw 1
}

@test "more than the server has" {
  setup_replicas
  expect_error 69 'only 2 of 3 replicas have it' rlock run -n --replicas 3 --connect-timeout 1s "$key" -- true
  start_server alone
  RLOCK_SERVER=$url expect_error 69 'only 0 of 1 replicas have it' rlock run -n --replicas 1 --connect-timeout 1s "$key" -- true
}

@test "it is tried again until the replica is back" {
  setup_replicas
  freeze 1
  background rlock run -v -w 5m --replicas 2 --connect-timeout 500ms "$key" -- touch ran 2>said
  until_true 10 grep -q 'only 1 of 2.*trying again' said
  [ ! -e ran ]
  thaw 1
  finish
  [ -e ran ]
}

@test "a lock that is handed over counts only when the replicas know of it, however short the lease" {
  local ttl
  for ttl in 500ms 30s; do
    setup_replicas
    rm -f ran said
    rlock acquire "$key" >token
    background rlock run -v --ttl "$ttl" --replicas 2 --connect-timeout 1m "$key" -- touch ran 2>said
    until_true 10 waiting 1
    freeze 1
    rlock release "$key" "$(cat token)"
    until_true 10 grep -q 'only 1 of 2.*trying again' said
    [ ! -e ran ]
    thaw 1
    finish
    [ -e ran ]
  done
}

@test "a renewal that they do not have does not count: the command ends with the lease that they know" {
  setup_replicas
  local frozen
  write_job
  background rlock run --ttl 3s --replicas 2 "$key" -- ./job
  until_true 10 job_runs
  freeze 1
  frozen=$(uptime_now)
  ended 79 "$!"
  unset 'background_pids[0]'
  holds "$(last_beat) < $frozen + 3"
  thaw 1
}

@test "a replica that is away for less than the lease costs nothing" {
  setup_replicas
  background rlock run -v --ttl 15s -k 200ms --replicas 2 "$key" -- sh -c 'touch up; until [ -e go ]; do sleep 0.02; done' 2>said
  until_true 10 test -e up
  freeze 2
  until_true 10 grep -q 'not renewed: .*only 1 of 2' said
  thaw 2
  until_true 10 eval '[ "$(replica 2 pttl "rlock:$key")" -gt 13000 ]'
  touch go
  finish
}

@test "a promoted replica keeps the lock" {
  setup_replicas
  rlock acquire --ttl 5m --replicas 2 "$key" >token
  freeze 2
  kill -STOP "$(server_pid)"
  replica 1 replicaof no one
  RLOCK_SERVER=unix://$BATS_FILE_TMPDIR/replica1.sock expect 75 rlock run -n "$key" -- true
  RLOCK_SERVER=unix://$BATS_FILE_TMPDIR/replica1.sock expect 0 rlock release "$key" "$(cat token)"
  kill -CONT "$(server_pid)"
  thaw 2
  replica 1 replicaof 127.0.0.1 "$(redis config get port | tail -1)"
}

@test "who may not WAIT is told so, and holds nothing" {
  setup_replicas
  redis acl setuser nowait on '>p' '~*' '&*' +@all -wait
  RLOCK_SERVER=unix://nowait:p@$sock expect_error 77 'denies WAIT, which --replicas needs' \
    rlock run --replicas 1 "$key" -- touch ran
  is_free
  [ ! -e ran ]
}

@test "a bad number of replicas is refused" {
  expect_error 64 --replicas rlock run --replicas -1 "$key" -- true
  expect_error 64 --replicas rlock run --replicas many "$key" -- true
  expect 0 rlock run --replicas 0 "$key" -- true
}
