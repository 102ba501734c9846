# --server local: a server of this user's own, started on demand, in one place. Each test has a /run of its own, where it
# cannot meet the server of whoever runs the tests; so these need root.
load helper

setup() {
  needs_mounts
  begin_test
  # shellcheck disable=SC2016 # for the inner shell
  unshare --mount sh -c 'mount -t tmpfs -o mode=755 none /run && mkdir -m 1777 /run/lock && touch "$1" && exec sleep 600' \
    sh "$PWD/mounted" 3>&- &
  holder=$!
  mounts=/proc/$holder/ns/mnt
  until_true 10 test -e mounted
  mkdir bin
  printf '#!/bin/sh\nexec %s --mount=%s --root=%s --wdns="$PWD" %s "$@"\n' \
    "$(command -v nsenter)" "$mounts" "/proc/$holder/root" "$RLOCK" >bin/rlock
  chmod 755 bin/rlock
  PATH=$PWD/bin:$PATH
  export RLOCK_SERVER=local
  directory=/run/rlock-0
  sock=$directory/server.sock
}

teardown() {
  local pid
  for pid in $([ -z "${holder-}" ] || servers); do
    kill -KILL "$pid" || true
    until_true 10 is_gone "$pid"
  done
  end_jobs
}

# Sees the /run of the test; under the root of the test, which may be that of a chroot.
inside() { nsenter --mount="$mounts" --root="/proc/$holder/root" --wdns=/ "$@"; }
redis() { inside redis-cli -s "$sock" "$@"; }

# Every server of this test.
servers() { pgrep -x '(redis|valkey)-server' --ns "$holder" --nslist mnt || true; }
one_server() { [ "$(servers | wc -l)" = 1 ]; }
no_server() { [ -z "$(servers)" ]; }

@test "fifty at once with no server running: one server, and all succeed" {
  local i
  echo 0 >counter
  for ((i = 0; i < 50; i++)); do
    background rlock run "$key" -- sh -c 'read -r n <counter; sleep 0.002; echo $((n + 1)) >counter'
  done
  finish
  [ "$(cat counter)" = 50 ]
  one_server
  [ "$(servers)" = "$(inside cat $directory/server.pid)" ]
}

@test "the next call finds it again" {
  local token pid
  token=$(rlock acquire "$key")
  pid=$(servers)
  # However late the answer on a busy machine.
  expect 75 rlock acquire -n --connect-timeout 30s "$key"
  expect 75 rlock run --server local -n --connect-timeout 30s "$key" -- true
  rlock release "$key" "$token"
  expect 1 rlock status --exit-code "$key"
  [ "$(servers)" = "$pid" ]
}

@test "each verb starts it" {
  local verb
  for verb in 'run k -- true' 'acquire k' 'renew k token' 'release k token' 'status'; do
    # shellcheck disable=SC2086 # words
    run rlock $verb
    [[ $status = @(0|79) ]]
    one_server
    kill -KILL "$(servers)"
    until_true 10 no_server
  done
}

@test "it has no port, writes nothing, evicts nothing, and its socket is its user's alone" {
  expect 0 rlock run "$key" -- true
  [ "$(redis config get port | tail -1)" = 0 ]
  [ -z "$(redis config get save | sed -n 2p)" ]
  [ "$(redis config get appendonly | tail -1)" = no ]
  [ "$(redis config get maxmemory-policy | tail -1)" = noeviction ]
  [ "$(inside stat -c %a $directory)" = 700 ]
  [ "$(inside stat -c %a "$sock")" = 700 ]
  local inode
  for inode in $(find "/proc/$(servers)/fd" -lname 'socket:*' -printf '%l\n' | tr -dc '0-9\n'); do
    run -1 grep -w "$inode" /proc/net/tcp /proc/net/tcp6
  done
  [ "$(inside ls $directory | paste -sd ' ')" = 'server.log server.pid server.sock' ]
}

@test "it holds nothing of the caller's: no descriptor, directory, environment or session" {
  # The server itself writes over what /proc would show of its environment.
  printf '#!/bin/sh\nenv >environment\nexec %s "$@"\n' "$(command -v redis-server || command -v valkey-server)" >bin/redis-server
  chmod 755 bin/redis-server
  PATH=$PWD/bin:$PATH
  exec 8>kept 9<"$BATS_TEST_FILENAME"
  # Held open by anybody, the pipe of this substitution would not end.
  [ "$(CANARY=canary rlock run "$key" -- echo said)" = said ]
  exec 8>&- 9<&-
  local pid fd
  pid=$(servers)
  [ "$(readlink "/proc/$pid/cwd")" = "$(readlink "/proc/$pid/fd/3")" ]
  run -1 inside grep canary $directory/environment
  for fd in 0 1 2; do
    [ "$(stat -Lc %t:%T "/proc/$pid/fd/$fd")" = "$(stat -Lc %t:%T /dev/null)" ]
  done
  for fd in "/proc/$pid/fd"/*; do
    # Where /dev is a mount of another namespace, its path is cut off.
    [[ $fd = */3 || $(readlink "$fd") = @(*/null|socket:*|pipe:*|anon_inode:*|*/urandom) ]]
  done
  [ "$(ps -o sess= -p "$pid" | tr -d ' ')" != "$(ps -o sess= -p $$ | tr -d ' ')" ]
  [ "$(ps -o tty= -p "$pid" | tr -d ' ')" = '?' ]
  [[ $(grep ^Umask "/proc/$pid/status") = *0077 ]]
}

@test "it holds no pipe of its caller" {
  rlock run "$key" -- true
  local pid mine theirs
  pid=$(servers)
  theirs=$(find "/proc/$pid/fd" -lname 'pipe:*' -printf '%l\n')
  mine=$(find "/proc/$$/fd" "/proc/$PPID/fd" -lname 'pipe:*' -printf '%l\n')
  [ -z "$(grep -xF "$theirs" <<<"$mine")" ] || [ -z "$theirs" ]
}

@test "it outlives the terminal and the process group of its caller" {
  cat >terminal.py <<-'END'
	import os, pty, signal, sys
	pid, fd = pty.fork()
	if pid == 0:
	    os.execvp("sh", ["sh", "-c", 'rlock run "$1" -- touch ran', "sh", sys.argv[1]])
	while True:
	    try:
	        if not os.read(fd, 1000):
	            break
	    except OSError:
	        break
	os.waitpid(pid, 0)
	END
  python3 terminal.py "$key"
  [ -e ran ]
  local pid
  pid=$(servers)
  [ -n "$pid" ]
  [ "$(ps -o tty= -p "$pid" | tr -d ' ')" = '?' ]
  # A group that is ended as a whole, the caller with it.
  setsid sh -c 'rlock acquire "$1" >token; kill -KILL 0' sh "$key" || true
  setsid sh -c 'rlock acquire "$1-2" >token2; kill -HUP 0' sh "$key" || true
  [ "$(servers)" = "$pid" ]
  rlock release "$key" - <token
}

@test "one that is started by a caller that ignores and blocks signals can be ended as any" {
  (trap '' TERM INT HUP && exec rlock run "$key" -- true)
  local pid
  pid=$(servers)
  # SigBlk: none.
  [[ $(grep ^SigBlk "/proc/$pid/status") = *0000000000000000 ]]
  kill -TERM "$pid"
  until_true 10 is_gone "$pid"
}

@test "a socket that a killed server left is no obstacle" {
  rlock run "$key" -- true
  kill -KILL "$(servers)"
  until_true 10 no_server
  inside test -S "$sock"
  local i
  for i in 1 2 3 4 5; do
    background rlock run "$key" -- true
  done
  finish
  one_server
}

@test "a server that is frozen is no reason to start another" {
  rlock run "$key" -- true
  local pid
  pid=$(servers)
  kill -STOP "$pid"
  expect 69 rlock run --connect-timeout 200ms "$key" -- true
  expect 69 rlock status --connect-timeout 200ms
  kill -CONT "$pid"
  expect 0 rlock run "$key" -- true
  [ "$(servers)" = "$pid" ]
}

@test "a run whose server dies is lost at once, and starts no other in its place" {
  # The next server would give the lock to the next who comes: there is no grace.
  background rlock run --ttl 10m -k 20s "$key" -- sh -c 'trap "" TERM; touch up; while :; do sleep 1; done'
  local rlock=$!
  until_true 10 test -e up
  until_true 10 guard_of $rlock
  kill -KILL "$(servers)"
  until_true 10 is_gone $rlock
  ended 79 $rlock
  no_server
}

@test "a run whose server was replaced by another is lost" {
  background rlock run --ttl 3s -k 200ms "$key" -- sh -c 'touch up; exec sleep 600'
  local rlock=$! old
  until_true 10 test -e up
  until_true 10 guard_of $rlock
  old=$(servers)
  inside rm -rf $directory
  rlock run "$key-2" -- true
  is_gone "$old" && return 1
  until_true 15 is_gone $rlock
  ended 79 $rlock
}

@test "a short job whose server was replaced is lost too" {
  # shellcheck disable=SC2016 # for the inner shell
  expect 79 rlock run "$key" -- sh -c 'rm -rf "$0"; rlock run other true' $directory
}

@test "twenty at once when the server was just stopped and its directory removed: one server, and all succeed" {
  local round i old
  for round in 1 2 3 4 5; do
    rlock run "$key" -- true
    old=$(servers)
    kill -TERM "$old"
    inside rm -rf $directory
    for ((i = 0; i < 20; i++)); do
      background rlock run "$key" -- true
    done
    finish
    until_true 10 is_gone "$old"
    one_server
    [ "$(redis ping)" = PONG ]
    echo "$round"
  done
}

@test "nothing of the environment moves it: cron and a login meet" {
  local token
  mkdir -m 700 x
  token=$(XDG_RUNTIME_DIR=$PWD/x HOME=$PWD/x TMPDIR=$PWD/x rlock acquire "$key")
  expect 75 env -i "$PWD/bin/rlock" acquire --server local -n "$key"
  XDG_RUNTIME_DIR=/nonexistent expect 0 rlock release "$key" "$token"
  [ -z "$(ls x)" ]
  one_server
}

@test "it holds the lock of its directory as long as it lives, which keeps cleaners and a second one out" {
  rlock run "$key" -- true
  run -1 inside flock -n $directory true
  if command -v systemd-tmpfiles >/dev/null; then
    echo 'e /run - - - 1us' >clean.conf
    inside sh -c 'mkdir /run/old; touch /run/old/file'
    inside systemd-tmpfiles --clean "$PWD/clean.conf"
    run -1 inside test -e /run/old/file
    inside test -e $directory/server.log
  fi
  kill -KILL "$(servers)"
  until_true 10 no_server
  until_true 10 inside flock -n $directory true
}

@test "one whose socket was taken away is neither doubled nor ended, and is named" {
  rlock run "$key" -- true
  inside rm "$sock"
  expect_error 69 "kill \$(cat $directory/server.pid)" rlock run --connect-timeout 1s "$key" -- touch ran
  one_server
  [ "$(inside cat $directory/server.pid)" = "$(servers)" ]
  [ ! -e ran ]
}

@test "a password for other servers is not tried on it" {
  REDISCLI_AUTH=secret expect 0 rlock run "$key" -- true
}

@test "a directory that others may write is refused, and nothing is started" {
  inside mkdir -m 770 $directory
  expect_error 78 "$directory" rlock run "$key" -- touch ran
  inside chmod 702 $directory
  expect_error 78 "$directory" rlock status
  [ -z "$(inside ls $directory)" ]
  inside chmod 755 $directory
  expect 0 rlock run "$key" -- true
  [ ! -e ran ]
}

@test "a symbolic link, a file or the directory of somebody else in its place is refused" {
  mkdir -m 700 elsewhere
  inside ln -s "$PWD/elsewhere" $directory
  expect_error 78 "$directory" rlock run "$key" -- true
  [ -z "$(ls elsewhere)" ]
  inside rm $directory
  inside touch $directory
  expect_error 78 "local: $directory is not a directory; rm $directory" rlock run "$key" -- true
  inside rm $directory
  inside mkdir -m 777 $directory
  expect_error 78 "local: others can write $directory; chmod 700 $directory" rlock run "$key" -- true
  inside chown 65534 $directory
  expect_error 78 "local: $directory belongs to the user 65534, and only root can remove it: ask root for rm -r $directory" \
    rlock run "$key" -- true
  no_server
}

@test "a symbolic link in place of a file in it is not followed by another user's hand" {
  # Only its owner can put one there; what its server is started with names no path outside.
  rlock run "$key" -- true
  run -1 grep -a / <(tail -z -n +2 "/proc/$(servers)/cmdline")
}

# as_nobody COMMAND: another user than root, inside; the binary is where that one can read it.
as_nobody() { inside setpriv --reuid 65534 --regid 65534 --clear-groups env RLOCK_SERVER=local "$@"; }
for_nobody() {
  inside sh -c 'mount -t tmpfs none /mnt && cp "$0" /mnt/rlock && chmod 755 /mnt /mnt/rlock' "$RLOCK"
  inside mount -t tmpfs -o mode=1777 none /tmp
}

@test "each user has one of their own: in /run/lock, or in /tmp where /run/lock is root's" {
  for_nobody
  inside /mnt/rlock acquire "$key"
  as_nobody /mnt/rlock acquire -n "$key"
  as_nobody redis-cli -s /run/lock/rlock-65534/server.sock ping
  [ "$(servers | wc -l)" = 2 ]
  as_nobody redis-cli -s /run/lock/rlock-65534/server.sock shutdown nosave
  inside chmod 755 /run/lock
  as_nobody /mnt/rlock acquire -n "$key"
  [ "$(inside stat -c %a /tmp/rlock-65534)" = 700 ]
  as_nobody redis-cli -s /tmp/rlock-65534/server.sock ping
}

@test "a /tmp where others could put theirs in its place is refused" {
  not_sanitized 'may write there itself'
  for_nobody
  inside chmod 755 /run/lock
  inside chmod 777 /tmp
  expect_error 78 'others can write /tmp' as_nobody /mnt/rlock run "$key" -- true
  inside ls /tmp | run -1 grep .
  # Nor is a /run/lock like that used.
  inside chmod 777 /run/lock
  expect_error 78 'others can write /tmp' as_nobody /mnt/rlock run "$key" -- true
}

@test "where no server is installed, the package is named at once" {
  # shellcheck disable=SC2016 # for the inner shell
  expect 78 inside unshare --mount bash -ec '
    touch "$3/nothing"
    IFS=:
    for directory in $PATH /usr/local/bin /usr/bin /bin /usr/local/sbin /usr/sbin /sbin; do
      for program in "$directory"/redis-server "$directory"/valkey-server; do
        [ ! -e "$program" ] || mount --bind "$3/nothing" "$(realpath "$program")"
      done
    done
    cd "$3" && "$2" run -v --connect-timeout 1h "$1" -- touch ran' bash "$key" "$RLOCK" "$PWD"
  [ "${#lines[@]}" = 1 ]
  [[ $output = 'rlock: '*'apt-get install redis-server'* ]]
  [ ! -e ran ]
}

@test "a server program that cannot be executed is said" {
  printf '\0garbage' >bin/redis-server
  chmod 755 bin/redis-server
  PATH=$PWD/bin:$PATH expect_error 69 "$PWD/bin/redis-server" rlock run "$key" -- true
}

@test "a short PATH, as cron has it, is enough" {
  local rlock
  rlock=$(command -v rlock)
  PATH=/nowhere expect 0 "$rlock" run "$key" /bin/true
}
