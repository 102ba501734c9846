# Locks of other libraries, by the names that they have on the server: they and rlock exclude each other, and each comes when
# the other has released. The real libraries, where their language has or gets them.
load helper

acl_more='~* &* +llen +lpush'

setup_file() {
  port=$(free_port)
  export port clients=$BATS_FILE_TMPDIR/clients
  start_server server --port "$port" --bind 127.0.0.1
  bash "$BATS_TEST_DIRNAME/libraries/build.sh" "$clients"
}
teardown_file() { stop_servers; }

needs_library() { [ ! -e "$clients/$1.missing" ] || skip "$1: $(cat "$clients/$1.missing")"; }
is_waiting() { [ "$(redis zcard "rlock:q:{$1}")" = 1 ]; }

# Of those that sleep: whether they are subscribed.
hears_registry() { [ "$(redis pubsub numsub registry-channel | tail -1)" -ge 1 ]; }
hears_pattern() { [ "$(redis pubsub numpat)" -ge 1 ]; }

# excludes LIBRARY PREFIX [SLEEPS]: its lock NAME is what rlock --prefix PREFIX calls NAME. SLEEPS comes true when it sleeps for
# the lock.
excludes() {
  local library=$1 theirs
  needs_library "$library"
  export RLOCK_PREFIX=$2
  mkfifo end
  # Ours first: they are refused, wait, and come.
  rlock acquire "$key" >token
  expect 75 "$clients/$library" try "$key" </dev/null
  "$clients/$library" hold "$key" <end >said 2>errors 3>&- &
  theirs=$!
  # Not for those that begin later: it would keep theirs from its end.
  exec 9>end
  if [ -n "${3-}" ]; then until_true 20 "$3"; else sleep 1.5; fi
  [ ! -s said ]
  rlock release "$key" "$(cat token)"
  until_true 5 grep -qx held said
  # Theirs: we are refused, wait, and come.
  expect_error 75 'held by a program other than rlock' rlock run -n "$key" -- true
  background rlock run "$key" -- touch ran 9>&-
  until_true 10 is_waiting "$2$key"
  [ ! -e ran ]
  exec 9>&-
  finish
  [ -e ran ]
  ended 0 "$theirs"
  [ ! -s errors ]
}

@test "redis-py: lock(NAME) is the key as it stands" { excludes redis-py ''; }
@test "pottery: Redlock(key=NAME) is redlock:NAME" { excludes pottery redlock:; }
@test "python-redis-lock: Lock(NAME) is lock:NAME; who sleeps for it is woken when rlock releases" { excludes python-redis-lock lock:; }
@test "redsync: NewMutex(NAME) is the key as it stands" { excludes redsync ''; }
@test "bsm/redislock: Obtain(NAME) is the key as it stands" { excludes redislock ''; }
@test "node-redlock: lock(NAME) is the key as it stands" { excludes redlock ''; }
@test "redis-semaphore: Mutex(NAME) is mutex:NAME" { excludes redis-semaphore mutex:; }
@test "rslock: lock(NAME) is the key as it stands" { excludes rslock ''; }
@test "ShedLock: NAME in the environment ENV is job-lock:ENV:NAME" { excludes shedlock job-lock:test:; }
@test "Spring: RedisLockRegistry(REGISTRY).obtain(NAME) is REGISTRY:NAME" { excludes spring-spin registry:; }
@test "Spring: who sleeps for a lock of a registry is woken when rlock releases" { excludes spring registry: hears_registry; }
@test "Spring Integration 7: who sleeps for a lock of a registry is woken when rlock releases" { excludes spring-7 registry: hears_pattern; }

# rlocks KEY: again and again, until there is a file stop; each turn is a line in the file ours.
rlocks() {
  until [ -e stop ]; do rlock run "$1" -- sh -c 'echo >>ours'; done
}

@test "each that asks again and again has its turn beside six rlocks that hand the lock over among themselves" {
  local library had=() i
  export RLOCK_PREFIX=
  for i in 1 2 3 4 5 6; do background rlocks "$key"; done
  until_true 20 test -s ours
  for library in redis-py redsync redislock redlock rslock; do
    [ ! -e "$clients/$library.missing" ] || continue
    had+=("$library")
    background "$clients/$library" hold "$key" </dev/null
  done
  ((${#had[@]} > 0)) || { touch stop; skip 'none of them is there'; }
  for i in "${!had[@]}"; do ended 0 "${background_pids[6 + i]}"; done
  touch stop
  background_pids=("${background_pids[@]:0:6}")
  finish
}
