# A private etcd of one member, for stores.bash. zookeeper.bash has the same functions.
# shellcheck shell=bash

ETCDCTL_API=3
export ETCDCTL_API

# missing_store: prints why there is no etcd, where there is none.
missing_store() { { command -v etcd && command -v etcdctl; } >/dev/null || echo 'no etcd, or no etcdctl'; }
# try_store NAME DIRECTORY [OPTION...]: on the port that stands in DIRECTORY.
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
