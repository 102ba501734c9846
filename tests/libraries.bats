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

@test "redlock-py: lock(NAME) is the key as it stands" { excludes redlock-py ''; }
@test "Django: cache.add(NAME) is :1:NAME" { excludes django :1:; }
@test "django-redis: cache.lock(NAME) is :1:NAME" { excludes django-redis :1:; }
@test "celery-once: the task NAME without arguments is qo_NAME" { excludes celery-once qo_; }
@test "celery-singleton: the lock HASH is SINGLETONLOCK_HASH" { excludes celery-singleton SINGLETONLOCK_; }

# row LIBRARY: the prefix that docs/libraries.md has for it.
row() { sed -nE "s/^\\| $1[^|]*\\| \`--prefix ([^\`]*)\`.*/\\1/p" "$BATS_TEST_DIRNAME/../docs/libraries.md"; }

# does_as LIBRARY EXPIRY...: those whose commands are sent by hand: SET with NX and an expiry, and a delete if the value is theirs.
does_as() {
  local library=$1 prefix
  shift
  prefix=$(row "$library")
  [ -n "$prefix" ]
  [ "$prefix" != "''" ] || prefix=
  export RLOCK_PREFIX=${prefix/ENV/production}
  local name=$RLOCK_PREFIX$key token
  token=$(rlock acquire "$key")
  [ -z "$(redis set "$name" theirs nx "$@")" ]
  rlock release "$key" "$token"
  [ "$(redis set "$name" theirs nx "$@")" = OK ]
  expect_error 75 'held by a program other than rlock' rlock run -n "$key" -- true
  background rlock run "$key" -- touch ran
  until_true 10 is_waiting "$name"
  redis eval 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0' 1 "$name" theirs
  until_true 5 test -e ran
  finish
}

@test "by their commands: Laravel" { does_as Laravel ex 30; }
@test "by their commands: redlock-rb" { does_as redlock-rb px 30000; }
@test "by their commands: Rails" { does_as Rails px 30000; }
@test "by their commands: StackExchange.Redis" { does_as StackExchange.Redis ex 30; }
@test "by their commands: DistributedLock" { does_as DistributedLock px 30000; }
@test "by their commands: RedLock.net" { does_as RedLock.net px 30000; }
@test "by their commands: go-zero" { does_as go-zero px 30000; }

@test "by its commands: Symfony keeps a sorted set, finds an rlock's string busy, and is found busy; --force leaves it alone" {
  export RLOCK_PREFIX=''
  local token
  # It asks for the type first, and takes a string for the lock of somebody else.
  token=$(rlock acquire "$key")
  [ "$(redis type "$key")" = string ]
  rlock release "$key" "$token"
  redis zadd "$key" "$(($(date +%s) + 30))" theirs
  expect_error 75 "busy: $key on the server is other data, not a lock" rlock run -n "$key" -- true
  expect_error 79 'not released' rlock release --force "$key"
  background rlock run "$key" -- touch ran
  until_true 10 is_waiting "$key"
  redis zrem "$key" theirs
  until_true 5 test -e ran
  finish
}

@test "a library that deletes without a look at the value stops COMMAND, and rlock ends with 79" {
  export RLOCK_PREFIX=:1:
  rlock run -k 100ms "$key" -- sh -c 'touch up; sleep 600' 3>&- &
  local rlock=$!
  until_true 10 test -e up
  redis del ":1:$key"
  ended 79 "$rlock"
}

@test "what cannot share a key: a hash or a sorted set of a library fails beside rlock, and rlock finds it busy" {
  export RLOCK_PREFIX=''
  local token
  token=$(rlock acquire "$key")
  [[ $(redis hset "$key" LOCKED 1 2>&1) == *WRONGTYPE* ]]
  [[ $(redis zadd "$key" 1 theirs 2>&1) == *WRONGTYPE* ]]
  rlock release "$key" "$token"
  redis hset "$key" LOCKED 1
  expect 75 rlock run -n "$key" -- true
}

@test "each library that docs/libraries.md calls tested is run, and each other row is sent by its commands" {
  local line name
  while read -r line; do
    name=$(sed -E 's/^\| ([A-Za-z][A-Za-z./-]*).*/\1/' <<<"$line")
    case $line in
      *--compat\ redisson*) grep -q 'Redisson itself' "$BATS_TEST_DIRNAME/redisson.bats" ;;
      *'| tested'*) grep -qi "^@test \"$name.*excludes " "$BATS_TEST_FILENAME" ;;
      *'| by its commands'*) grep -q "^@test \"by \(their\|its\) commands: $name" "$BATS_TEST_FILENAME" ;;
      *) false ;;
    esac || { echo "no test of: $line" >&2 && return 1; }
  done < <(sed -n '/^## Shared/,/^## Not shared/{/^| [^l-]/p;/^| l[^i]/p}' "$BATS_TEST_DIRNAME/../docs/libraries.md")
}

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
