# status -v tells where the server is set up so that locks can be lost, with the line of redis.conf that mends it.
load helper

setup_file() { start_server server --appendonly yes --appendfsync always; }
teardown_file() { stop_servers; }

# warns TEXT: status -v says so on standard error, in a line of its own that names the server; nothing of it is in the table.
warns() {
  run --separate-stderr rlock status -v "$key"
  [ "$status" = 0 ]
  [[ $output != *redis.conf* ]]
  # shellcheck disable=SC2154 # bats sets it
  grep -q "^rlock: unix://[^ ]*: .*$1" <<<"$stderr" || {
    printf '%s\n' "$stderr" >&2
    return 1
  }
}
is_silent_about() { [[ $stderr != *"$1"* ]]; }

@test "a server that persists each write earns no warning, young as it is" {
  not_under_acl 'what is hidden is said'
  run --separate-stderr rlock status -v "$key"
  [ "$stderr" = '' ]
}

@test "without -v nothing is said, nor asked" {
  own_server
  run --separate-stderr rlock status "$key"
  [ "$stderr" = '' ]
  [ "$(redis info commandstats | grep -c cmdstat_info)" = 0 ]
}

@test "no append-only file, and a restart" {
  own_server
  warns 'forgets locks when it restarts; in redis.conf: appendonly yes, and appendfsync always'
  warns 'restarted [0-9]*s ago and may have forgotten who holds what; --grace'
  is_silent_about evict
  is_silent_about min-replicas
}

@test "an append-only file that is a second behind" {
  not_under_acl 'may not ask for it'
  own_server --appendonly yes --appendfsync everysec
  warns 'locks of the last second .*in redis.conf: appendfsync always (it is everysec)'
}

@test "locks that are dropped when the memory is full" {
  own_server --maxmemory 100mb --maxmemory-policy volatile-lru
  warns 'drops locks when its memory is full; in redis.conf: maxmemory-policy noeviction (it is volatile-lru)'
  redis config set maxmemory 0
  run --separate-stderr rlock status -v "$key"
  is_silent_about noeviction
}

@test "a master that goes on without its replicas, and a replica" {
  not_under_acl 'may not ask for it'
  local port
  port=$(free_port)
  own_server --port "$port" --bind 127.0.0.1 --repl-diskless-sync-delay 0
  master=$sock
  start_server replica --replicaof 127.0.0.1 "$port"
  follows() { redis-cli -s "$master" info replication | grep -q state=online; }
  until_true 30 follows
  warns 'cut off from its replicas.*; in redis.conf: min-replicas-to-write 1, and min-replicas-max-lag 2 seconds or more below'
  redis-cli -s "$master" config set min-replicas-to-write 1
  run --separate-stderr rlock status -v "$key"
  is_silent_about min-replicas
  RLOCK_SERVER=unix://$BATS_FILE_TMPDIR/replica.sock warns "is a replica.*name its master, 127.0.0.1:$port"
}

@test "what an ACL hides is said, and is no failure" {
  redis acl setuser noconfig on '>p' '~*' '&*' +@all -config
  redis acl setuser noinfo on '>p' '~*' '&*' +@all -info -config
  RLOCK_SERVER=unix://noconfig:p@$sock warns 'an ACL denies CONFIG GET: cannot see appendfsync'
  RLOCK_SERVER=unix://noinfo:p@$sock warns 'an ACL denies INFO'
}

@test "a user with the least rights is told that a master goes on without its replicas; what it lacks is said" {
  local port
  port=$(free_port)
  TEST_ACL='' own_server --port "$port" --bind 127.0.0.1 --repl-diskless-sync-delay 0
  TEST_ACL='' start_server "replica-$BATS_TEST_NUMBER" --replicaof 127.0.0.1 "$port"
  sock=$BATS_FILE_TMPDIR/own-$BATS_TEST_NUMBER.sock
  until_true 30 eval 'redis info replication | grep -q state=online'
  # shellcheck disable=SC2046 # words
  redis acl setuser least reset nopass $(cat "$BATS_TEST_DIRNAME/acl.conf")
  export RLOCK_SERVER=unix://least:@$sock
  warns 'cut off from its replicas.*min-replicas-to-write 1'
  redis config set min-replicas-to-write 1
  warns 'an ACL denies CONFIG GET: cannot see min-replicas-max-lag'
  is_silent_about 'cut off'
}

@test "local knows that its server forgets" {
  run --separate-stderr rlock status -v --server local "$key"
  is_silent_about redis.conf
}
