# A private store that a majority decides, of one member: `load helper`, `load etcd` or `load zookeeper`, `load stores`; then in
# setup_file `start_store`, in teardown_file `stop_servers`. The functions of helper.bash that ask Redis are here in their place.
# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034,SC2154 # what until_true evaluates; etcd.bash or zookeeper.bash sets url

# start_store [NAME [OPTION...]]: answers when this returns; each OPTION is one more for try_store. Sets and exports url, endpoint.
# A second start under the same name has the data and the port of the first. Skips the file where the store is not installed.
start_store() {
  local name=${1:-server} directory
  shift || true
  ! lacks_store || return 0
  directory=$BATS_FILE_TMPDIR/$name
  for _ in 1 2 3; do
    # Another test may take the port meanwhile.
    [ -s "$directory/port" ] || { mkdir -p "$directory" && free_port >"$directory/port"; }
    try_store "$name" "$directory" "$@" && return
    rm "$directory/port"
  done
  cat "$BATS_FILE_TMPDIR/$name.log" >&2
  return 1
}

# own_store [OPTION...]: one of this test alone, which may spoil it.
own_store() {
  start_store "own-$BATS_TEST_NUMBER" "$@"
  export RLOCK_SERVER=$url
}
own_pid() { server_pid "own-$BATS_TEST_NUMBER"; }
kill_own_store() {
  kill -KILL "$(own_pid)"
  until_true 10 is_gone "$(own_pid)"
}

# is_connected PID: to the store.
is_connected() { ss -Htnp state established "dport = :${endpoint##*:}" | grep -q "pid=$1,"; }

# first_token [KEY]: of who is the first in its queue.
first_token() {
  local first
  first=$(entries "$@" | head -n 1)
  first=${first##*/}
  echo "${first%%-*}"
}
is_held() { [ -n "$(entries "$@")" ]; }
is_free() { [ -z "$(entries "$@")" ]; }
# status_of QUERY [KEY]: of its JSON.
status_of() { rlock status --json "${2:-$key}" | jq -cr "$1"; }
# waiting N [KEY]: exactly N stand in the queue.
waiting() { [ "$(status_of .waiting "${2:-$key}")" = "$1" ]; }
holders() { status_of '.holders | length'; }
# until_renewed: the lease of $key begins anew.
until_renewed() {
  local before
  before=$(writes)
  until_true 10 eval '[ "$(writes)" != "$before" ]'
}

# renew_at_once: many renew the lock of one run, for longer than it does; all succeed, and the run keeps its lock.
renew_at_once() {
  expect 0 rlock run -t 6s "$key" -- sh -c '
    for ttl in 20 25 30 22 27 35; do rlock renew -t "${ttl}s" 2>>failed || echo "$ttl: $?" >>failed & done; wait
    rlock renew -t 7s 2>>failed || echo "7: $?" >>failed
    rlock status --json "$RLOCK_KEY" >status'
  diff /dev/null failed
  [ "$(jq '.holders[0].ttl_ms' status)" -gt 10000 ]
}

# every_verb STATUS TEXT [OPTION...]: each fails so, in one line, and runs no command.
every_verb() {
  local status=$1 text=$2 verb
  shift 2
  for verb in "run" "run -n -E 9" "run -w 200ms"; do
    # shellcheck disable=SC2086 # words
    expect_error "$status" "$text" timeout 120 rlock $verb "$@" "$key" -- touch ran
  done
  for verb in acquire "acquire -n" "renew" "release" "release --force" status "status --exit-code"; do
    # shellcheck disable=SC2086 # words
    RLOCK_TOKEN=0123 expect_error "$status" "$text" timeout 120 rlock $verb "$@" "$key"
  done
  [ ! -e ran ]
}

# With -n a server has half a second to answer, which a busy machine does not keep to.
mkdir -p "$XDG_CONFIG_HOME"
echo 'connect-timeout = 5s' >"$XDG_CONFIG_HOME/rlock.conf"
