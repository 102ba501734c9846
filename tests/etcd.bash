# A private etcd of one member: `load helper`, `load etcd`, then in setup_file `start_store`, in teardown_file `stop_servers`.
# zookeeper.bash has the same functions, and those of helper.bash that ask Redis are here in their place.
# shellcheck shell=bash

ETCDCTL_API=3
export ETCDCTL_API

# start_store [NAME [OPTION...]]: answers when this returns. Sets and exports url, endpoint. A second start under the same name
# has the data and the port of the first. Skips where there is no etcd.
start_store() {
  local name=${1:-server} directory
  shift || true
  if ! command -v etcd >/dev/null || ! command -v etcdctl >/dev/null; then skip 'no etcd, or no etcdctl'; fi
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
try_store() {
  local name=$1 directory=$2 scheme=http
  shift 2
  endpoint=127.0.0.1:$(cat "$directory/port")
  [[ " $*" != *' --cert-file'* ]] || scheme=https
  export endpoint url=etcd${scheme#http}://$endpoint
  # Nobody else calls the members' port, so it need not be one; such a name is a socket in the working directory.
  (
    # A socket of one that was killed would be in the way.
    cd "$directory" && rm -f client:1 && exec etcd --data-dir data --listen-client-urls "$scheme://$endpoint,unix://client:1" \
      --advertise-client-urls "$scheme://$endpoint" --listen-peer-urls unix://peer:1 \
      --initial-advertise-peer-urls unix://peer:1 --initial-cluster default=unix://peer:1 --logger zap "$@"
  ) >>"$BATS_FILE_TMPDIR/$name.log" 2>&1 3>&- &
  disown $!
  echo $! >"$BATS_FILE_TMPDIR/$name.pid"
  until_true 10 answers_or_ended "$directory" $!
  ! is_gone $!
}
# Asked through the socket, where it is without TLS.
answers_or_ended() {
  is_gone "$2" || (cd "$1" && etcdctl --endpoints unix://client:1 --command-timeout 1s endpoint health)
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

# ask COMMAND...: asks the server directly.
ask() { etcdctl --endpoints "$endpoint" "$@"; }

# entries [KEY]: the names of those of its queue, in order, with their path.
entries() {
  local name
  ask get --prefix --keys-only --sort-by=CREATE --order=ASCEND /rlock/q/ | while read -r name; do
    # shellcheck disable=SC2059 # what is escaped there
    [[ $(printf "${name//%/\\x}") != "/rlock/q/rlock:${1:-$key}/"* ]] || echo "$name"
  done
}
# delete_lock [KEY]: with all who wait for it, as an operator may.
delete_lock() {
  local first
  first=$(entries "$@" | head -n 1)
  [ -n "$first" ] && [ "$(ask del --prefix "${first%/*}/")" != 0 ]
}
# writes [KEY]: another line after each write of an entry.
writes() { ask get --prefix -w json "$(entries "$@" | head -n 1)" | jq -c '[.kvs[].mod_revision]'; }
is_held() { [ -n "$(entries "$@")" ]; }
is_free() { [ -z "$(entries "$@")" ]; }
