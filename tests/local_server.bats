# --server local: a server of this user's own, started on demand.
load helper

setup() {
  key="key-$BATS_TEST_NUMBER"
  cd "$BATS_TEST_TMPDIR" || return 1
  jobs_before=$(jobs -p)
  mkdir -m 700 r
  export XDG_RUNTIME_DIR=$PWD/r RLOCK_SERVER=local
  sock=$PWD/r/rlock/server.sock
}

teardown() {
  end_jobs
  local pid
  for pid in $(servers); do
    kill -KILL "$pid" || true
    until_true 10 is_gone "$pid"
  done
}

# Every server of this test, by the socket in its argv.
servers() {
  local directory
  for directory in $(grep -laF "$BATS_TEST_TMPDIR" /proc/[0-9]*/cmdline 2>/dev/null); do
    directory=${directory%/cmdline}
    [[ $(cat "$directory/comm" 2>/dev/null) = @(redis|valkey)-server ]] && echo "${directory#/proc/}"
  done
  return 0
}
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
  [ "$(servers)" = "$(redis info server | sed -n 's/^process_id:\([0-9]*\).*/\1/p')" ]
}

@test "the next call finds it again" {
  local token pid
  token=$(rlock acquire "$key")
  pid=$(servers)
  expect 75 rlock acquire -n "$key"
  expect 75 rlock run --server local -n "$key" -- true
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
  [ "$(stat -c %a r/rlock)" = 700 ]
  [ "$(stat -c %a "$sock")" = 700 ]
  local inode
  for inode in $(find "/proc/$(servers)/fd" -lname 'socket:*' -printf '%l\n' | tr -dc '0-9\n'); do
    run -1 grep -w "$inode" /proc/net/tcp /proc/net/tcp6
  done
  [ "$(cd r/rlock && echo *)" = 'server.log server.sock server.sock.start' ]
}

@test "it holds nothing of the caller's: no descriptor, directory, environment or session" {
  # The server itself writes over what /proc would show of its environment.
  mkdir bin
  printf '#!/bin/sh\nenv >environment\nexec %s "$@"\n' "$(command -v redis-server || command -v valkey-server)" >bin/redis-server
  chmod 755 bin/redis-server
  PATH=$PWD/bin:$PATH
  exec 8>kept 9<"$BATS_TEST_FILENAME"
  # Held open by anybody, the pipe of this substitution would not end.
  [ "$(CANARY=canary rlock run "$key" -- echo said)" = said ]
  exec 8>&- 9<&-
  local pid fd
  pid=$(servers)
  [ "$(readlink "/proc/$pid/cwd")" = "$PWD/r/rlock" ]
  run -1 grep canary r/rlock/environment
  for fd in 0 1 2; do
    [ "$(readlink "/proc/$pid/fd/$fd")" = /dev/null ]
  done
  for fd in "/proc/$pid/fd"/*; do
    [[ $(readlink "$fd") = @(/dev/null|socket:*|pipe:*|anon_inode:*|/dev/urandom) ]]
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
  [ -S "$sock" ]
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

@test "a run whose server dies is lost, and starts no other in its place" {
  background rlock run --ttl 1500ms -k 200ms "$key" -- sh -c 'touch up; exec sleep 30'
  until_true 10 test -e up
  until_true 10 guard_of $!
  kill -KILL "$(servers)"
  ended 79 $!
  no_server
}

@test "a password for other servers is not tried on it" {
  REDISCLI_AUTH=secret expect 0 rlock run "$key" -- true
}

@test "a directory that others may write is refused, and nothing is started" {
  mkdir -m 770 r/rlock
  expect_error 78 "$PWD/r/rlock" rlock run "$key" -- touch ran
  chmod 702 r/rlock
  expect_error 78 "$PWD/r/rlock" rlock status
  [ -z "$(ls r/rlock)" ]
  chmod 755 r/rlock
  expect 0 rlock run "$key" -- true
  [ ! -e ran ]
}

@test "a directory in one that others may write is refused" {
  chmod 777 r
  expect_error 78 XDG_RUNTIME_DIR rlock run "$key" -- true
  [ ! -e r/rlock ]
  chmod 1777 r
  expect 0 rlock run "$key" -- true
}

@test "a symbolic link or a file in place of the directory is refused" {
  mkdir -m 700 elsewhere
  ln -s ../elsewhere r/rlock
  expect_error 78 "$PWD/r/rlock" rlock run "$key" -- true
  [ -z "$(ls elsewhere)" ]
  rm r/rlock
  touch r/rlock
  expect_error 78 "$PWD/r/rlock" rlock run "$key" -- true
}

@test "a directory of somebody else is refused" {
  [ "$(id -u)" = 0 ] || skip 'needs root'
  mkdir -m 700 r/rlock
  chown 65534 r/rlock
  expect_error 78 "$PWD/r/rlock" rlock run "$key" -- true
  rmdir r/rlock
  chown 65534 r
  expect_error 78 "$PWD/r" rlock run "$key" -- true
}

@test "a symbolic link in place of a file in it is not followed" {
  mkdir -m 700 r/rlock
  ln -s "$PWD/victim" r/rlock/server.sock.start
  expect 78 rlock run "$key" -- true
  [ ! -e victim ]
}

@test "a runtime directory that is missing, or too long a name, is said" {
  XDG_RUNTIME_DIR=$PWD/missing expect_error 78 "$PWD/missing" rlock run "$key" -- true
  [ ! -e missing ]
  local long
  long=$PWD/$(printf '%100s' | tr ' ' l)
  mkdir -m 700 "$long"
  XDG_RUNTIME_DIR=$long expect_error 78 'XDG_RUNTIME_DIR' rlock run "$key" -- true
}

# in_own_mounts COMMAND: where what it mounts is seen by nobody else.
in_own_mounts() {
  unshare --mount bash -ec "$1" bash "$key" "$RLOCK"
}

@test "without XDG_RUNTIME_DIR, the directory of the login, else one in /tmp" {
  needs_mounts
  # What is in /tmp and /run is this machine's; the binary may be too.
  cat >inside <<-'END'
	cp "$2" /mnt/rlock
	mount -t tmpfs none /run
	mount -t tmpfs -o mode=1777 none /tmp
	cd /
	unset XDG_RUNTIME_DIR
	/mnt/rlock run "$1" -- true
	redis-cli -s /tmp/rlock-0/server.sock ping
	stat -c %a /tmp/rlock-0
	redis-cli -s /tmp/rlock-0/server.sock shutdown nosave
	mkdir -p -m 755 /run/user && mkdir -m 700 /run/user/0
	/mnt/rlock run "$1" -- true
	redis-cli -s /run/user/0/rlock/server.sock shutdown nosave
	END
  in_own_mounts "mount -t tmpfs none /mnt; $(cat inside)" >out
  [ "$(sed -n 1,2p out | paste -sd ' ')" = 'PONG 700' ]
}

@test "where no server is installed, the package is named" {
  needs_mounts
  # shellcheck disable=SC2016 # for the inner shell
  expect 69 in_own_mounts '
    touch nothing
    IFS=:
    for directory in $PATH /usr/local/bin /usr/bin /bin /usr/local/sbin /usr/sbin /sbin; do
      for program in "$directory"/redis-server "$directory"/valkey-server; do
        [ ! -e "$program" ] || mount --bind nothing "$(realpath "$program")"
      done
    done
    rlock run "$1" -- touch ran'
  [ "${#lines[@]}" = 1 ]
  [[ $output = 'rlock: '*'apt-get install redis-server'* ]]
  [ ! -e ran ]
}

@test "a server program that cannot be executed is said" {
  mkdir bin
  printf '\0garbage' >bin/redis-server
  chmod 755 bin/redis-server
  PATH=$PWD/bin:$PATH expect_error 69 "$PWD/bin/redis-server" rlock run "$key" -- true
}

@test "a short PATH, as cron has it, is enough" {
  local rlock
  rlock=$(command -v rlock)
  PATH=/nowhere expect 0 "$rlock" run "$key" /bin/true
}

@test "two users' directories are two servers" {
  mkdir -m 700 r2
  rlock acquire "$key"
  XDG_RUNTIME_DIR=$PWD/r2 expect 0 rlock acquire -n "$key"
  [ "$(servers | wc -l)" = 2 ]
}
