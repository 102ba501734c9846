# How the name of a server is looked up (R34): hosts, DNS, and the machine's own getent for the rest. Each test has a
# network and files in /etc of its own; so these need root.
load helper

setup() {
  needs_mounts
  begin_test
  echo '127.0.0.1 localhost' >hosts
  echo 'nameserver 127.0.0.53' >resolv.conf
  echo 'hosts: files dns' >nsswitch.conf
  # shellcheck disable=SC2016 # for the inner shell
  unshare --mount --net sh -c 'ip link set lo up
    for file in hosts resolv.conf nsswitch.conf; do mount --bind "$file" "/etc/$file"; done
    touch mounted; exec sleep 6000' 3>&- &
  holder=$!
  until_true 10 test -e mounted
  mkdir bin
  printf '#!/bin/sh\nexec %s --net=/proc/%s/ns/net --mount=/proc/%s/ns/mnt --root=/proc/%s/root --wdns="$PWD" %s "$@"\n' \
    "$(command -v nsenter)" "$holder" "$holder" "$holder" "$RLOCK" >bin/rlock
  chmod 755 bin/rlock
  PATH=$PWD/bin:$PATH
}
teardown() {
  thaw
  end_jobs
}

# Before a command that goes on in the background: a function there would be a process between it and its end.
enter() { enter=(nsenter --net="/proc/$holder/ns/net" --mount="/proc/$holder/ns/mnt" --root="/proc/$holder/root" --wdns="$PWD"); }
inside() { enter && "${enter[@]}" "$@"; }
redis() { inside redis-cli -h "$address" "$@"; }

# serve ADDRESS...: a lock server there, for redis.
serve() {
  address=$1
  enter
  "${enter[@]}" redis-server --bind "$@" --save '' --appendonly no >server.log 2>&1 3>&- &
  server=$!
  until_true 10 redis ping
}
# names NAME=ADDRESS[,ADDRESS...]...: a DNS server that knows these.
names() {
  enter
  "${enter[@]}" python3 -B "$BATS_TEST_DIRNAME/faults/dns.py" 127.0.0.53 "$@" >dns.log 2>&1 3>&- &
  until_true 10 grep -q ready dns.log
}
# other_names: nsswitch.conf as on a desktop; getent does what standard input says.
other_names() {
  echo 'hosts: files myhostname mdns4_minimal [NOTFOUND=return] dns' >nsswitch.conf
  { echo '#!/bin/sh'; cat; } >getent
  chmod 755 getent
  inside mount --bind getent "$(realpath "$(command -v getent)")"
}

@test "a name in the hosts file" {
  serve 127.0.0.1
  echo '127.0.0.1 locks.test' >>hosts
  RLOCK_SERVER=redis://locks.test expect 0 rlock run "$key" -- true
}

@test "a name that DNS knows, by either kind of address" {
  serve 127.0.0.1 ::1
  names v4.test=127.0.0.1 v6.test=::1
  RLOCK_SERVER=redis://v4.test expect 0 rlock run "$key" -- true
  RLOCK_SERVER=redis://v6.test expect 0 rlock run "$key" -- true
  [ "$(redis info commandstats | grep -c cmdstat_eval)" -ge 1 ]
}

@test "several addresses, some of them dead" {
  serve 127.0.0.4
  names locks.test=127.0.0.2,::1,127.0.0.3,127.0.0.4
  RLOCK_SERVER=redis://locks.test expect 0 rlock run "$key" -- true
}

@test "a name that nobody knows, where nsswitch.conf has modules" {
  names other.test=127.0.0.1
  expect_error 69 'cannot resolve no-such-host.test: ' rlock --server redis://no-such-host.test status --connect-timeout 1s
  # With the machine's own getent, whichever of these modules it has.
  echo 'hosts: files myhostname mdns4_minimal [NOTFOUND=return] resolve sss dns' >nsswitch.conf
  expect_error 69 'no-such-host.test' rlock --server redis://no-such-host.test status --connect-timeout 1s
  expect_error 69 'no-such-host.test' rlock --server redis://no-such-host.test acquire --connect-timeout 1s -n "$key"
}

@test "a name that the machine's own libc alone knows: getent is asked, and gets nothing of ours" {
  serve 127.0.0.1
  names other.test=127.0.0.1
  other_names <<-'END'
	[ "$*" = 'ahosts printer.local' ] || exit 2
	env >environment; ls -l /proc/self/fd >descriptors
	echo '127.0.0.9       DGRAM  printer.local'
	echo '127.0.0.1       STREAM printer.local'
	END
  exec 8<"$BATS_TEST_FILENAME"
  REDISCLI_AUTH='' CANARY=canary RLOCK_SERVER=redis://printer.local expect 0 rlock run "$key" -- true
  exec 8<&-
  run -1 grep -E 'canary|RLOCK' environment
  run -1 grep -E "bats$|socket:" descriptors
  RLOCK_SERVER=redis://other.local expect 69 rlock status --connect-timeout 1s
  rm environment
  # Where files and dns are all, nobody need be asked.
  echo 'hosts: files dns' >nsswitch.conf
  RLOCK_SERVER=redis://printer.local expect 69 rlock status --connect-timeout 1s
  [ ! -e environment ]
}

@test "a getent that hangs is killed, at the deadline and by a signal, and nothing is left" {
  names other.test=127.0.0.1
  other_names <<<'echo $$ >pid; exec sleep 600'
  expect_error 69 'cannot resolve printer.local: no answer from the resolver' \
    rlock --server redis://printer.local status --connect-timeout 3s
  is_gone "$(cat pid)"
  rm pid
  rlock --server redis://printer.local acquire --connect-timeout 1m "$key" 3>&- &
  until_true 10 test -s pid
  kill -TERM $!
  ended 143 $!
  is_gone "$(cat pid)"
}

@test "a getent that is stuck in the kernel, where nothing ends it, holds up nothing" {
  needs_freezer
  names other.test=127.0.0.1
  other_names <<<"echo x >>asked; echo \$\$ >$freezer/cgroup.procs; echo FROZEN >$freezer/freezer.state; exit 2"
  rlock --server redis://printer.local acquire --connect-timeout 300ms -w 3s "$key" 3>&- 2>said &
  until_true 10 test -s asked
  until_true 10 is_gone $!
  ended 69 $!
  # It is asked again only when that one is gone.
  [ "$(wc -l <asked)" = 1 ]
  grep -q 'stuck in the kernel' said
}

@test "look-ups during a run: the supervisor, which reaps all, and they do not get in each other's way" {
  serve 127.0.0.1
  names other.test=127.0.0.1
  other_names <<<"echo x >>asked; echo '127.0.0.1 STREAM printer.local'"
  background rlock run --server redis://printer.local --ttl 60s "$key" -- \
    sh -c 'touch up; until [ -e go ]; do sleep 0.01; done; exit 5'
  local rlock=$! token
  until_true 10 test -e up
  until_true 10 guard_of $rlock
  token=$(redis get "rlock:$key")
  kill -KILL "$(inside pgrep -x redis-server --ns "$holder" --nslist net)"
  asked() { [ "$(wc -l <asked)" -ge 4 ]; }
  until_true 15 asked
  serve 127.0.0.1
  redis set "rlock:$key" "$token" PX 60000
  renewed() { redis info commandstats | grep -q cmdstat_pexpire; }
  until_true 15 renewed
  touch go
  ended 5 $rlock
}

@test "no thread is made for a name" {
  not_sanitized 'has threads of its own'
  inside python3 -c 'import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("127.0.0.53", 53)); open("bound", "w"); s.recv(9)
open("asked", "w"); s.recv(9); import time; time.sleep(600)' 3>&- &
  until_true 10 test -e bound
  rlock --server redis://silent.test acquire --connect-timeout 1m "$key" 3>&- &
  local rlock=$!
  until_true 10 test -e asked
  grep -qx 'Threads:.1' "/proc/$rlock/status"
  kill -TERM $rlock
  ended 143 $rlock
}

@test "a numeric host, localhost and a socket cost no look-up" {
  serve 127.0.0.1
  local server
  for server in redis://127.0.0.1 redis://localhost; do
    strace -f -o trace "$PWD/bin/rlock" --server $server run "$key" -- true
    sed -n '/execve.*rlock"/,$p' trace >own
    grep -q 'connect(' own
    run -1 grep -E 'resolv|nsswitch|/etc/hosts|getent' own
  done
}
