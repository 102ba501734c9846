# A private ZooKeeper of one member, for stores.bash. etcd.bash has the same functions.
# shellcheck shell=bash

# The class path of Debian's libzookeeper-java; ZOOKEEPER_JARS names another one.
ZOOKEEPER_JARS=${ZOOKEEPER_JARS:-/usr/share/java/zookeeper.jar}
# A JVM that ends soon takes half of the time with these.
read -ra jvm_options <"${BASH_SOURCE[0]%/*}/jvm.options"

# missing_store: prints why there is no ZooKeeper, where there is none.
missing_store() {
  if ! command -v java >/dev/null; then
    echo 'no java'
  elif [ ! -e "${ZOOKEEPER_JARS%%:*}" ]; then
    echo 'no ZooKeeper (libzookeeper-java)'
  fi
}
# try_store NAME DIRECTORY [LINE...]: on the port that stands in DIRECTORY; each LINE is one more of its configuration, or,
# with -D, a property of its machine.
try_store() {
  local name=$1 directory=$2 port line lines=() properties=()
  shift 2
  for line; do
    if [[ $line == -D* ]]; then properties+=("$line"); else lines+=("$line"); fi
  done
  port=$(cat "$directory/port")
  mkdir -p "$directory/data"
  export endpoint=127.0.0.1:$port url=zookeeper://127.0.0.1:$port/rlock
  # Sessions of 2 s to an hour.
  printf '%s\n' tickTime=1000 maxSessionTimeout=3600000 "dataDir=$directory/data" "clientPort=$port" \
    clientPortAddress=127.0.0.1 admin.enableServer=false '4lw.commands.whitelist=*' maxClientCnxns=0 "${lines[@]}" >"$directory/zoo.cfg"
  java -Xmx128m "${jvm_options[@]}" "${properties[@]}" -cp "$ZOOKEEPER_JARS" \
    org.apache.zookeeper.server.quorum.QuorumPeerMain "$directory/zoo.cfg" >>"$BATS_FILE_TMPDIR/$name.log" 2>&1 3>&- &
  disown $!
  echo $! >"$BATS_FILE_TMPDIR/$name.pid"
  until_true 20 answers_or_ended $!
  ! is_gone $! || return
  ask data /rlock >/dev/null 2>&1 || ask create /rlock
}
answers_or_ended() { is_gone "$1" || [[ $(ask srvr) == *Mode:* ]]; }

# ask COMMAND...: asks the server directly.
ask() { python3 -B "${BASH_SOURCE[0]%/*}/zookeeper.py" "$endpoint" "$@"; }
# ask_as USER:PASSWORD COMMAND...: what is made belongs to the user.
ask_as() {
  local user=$1
  shift
  python3 -B "${BASH_SOURCE[0]%/*}/zookeeper.py" --user "$user" "$endpoint" "$@"
}

# queue_of [KEY]: the node of its queue; nothing where there is none.
queue_of() {
  local name
  ask children /rlock/q | while read -r name; do
    # shellcheck disable=SC2059 # what is escaped there
    [ "$(printf "${name//%/\\x}")" != "rlock:${1:-$key}" ] || echo "/rlock/q/$name"
  done
}
# last_run_of KEY: the node of its last run; nothing where there is none.
last_run_of() {
  local shard name
  for shard in $(ask children /rlock/l); do
    for name in $(ask children "/rlock/l/$shard"); do [ "$name" != "rlock:$1" ] || echo "/rlock/l/$shard/$name"; done
  done
}
# entries [KEY]: the names of those of its queue, in order, with their path.
entries() {
  local queue
  queue=$(queue_of "$@")
  [ -z "$queue" ] || ask children "$queue" | sed "s|^|$queue/|"
}
# delete_lock [KEY]: with all who wait for it, as an operator may.
delete_lock() {
  local names
  names=$(entries "$@")
  # shellcheck disable=SC2086 # words
  [ -n "$names" ] && ask delete $names
}
# writes [KEY]: another line after each write of an entry.
writes() { ask version "$(entries "$@" | head -n 1)"; }
