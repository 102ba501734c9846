# The short forms of cuts.py and deadlines.py; tests/soak.sh runs them at length.
load ../helper

here=$BATS_TEST_DIRNAME

@test "a connection cut anywhere in an exchange: no command without its lock, no wrong status (R1, R2, R11)" {
  python3 "$here/cuts.py" --step 67 --from "$((RANDOM % 67))"
}

@test "a TCP connection reset anywhere in an exchange (R1, R2, R11)" {
  python3 "$here/cuts.py" --resets --step 131 --from "$((RANDOM % 131))"
}

@test "late, dripping, missing replies and a storm of signals: dead before the server gives the lock away (R2, R3, R4)" {
  python3 "$here/deadlines.py" --seed "$RANDOM"
}

@test "the same over TLS, and handshakes during a run that drip (R2, R3, R4)" {
  python3 "$here/deadlines.py" --tls --seed "$RANDOM"
}

@test "a TLS connection cut anywhere in its handshake or the exchange (R1, R2, R11)" {
  python3 "$here/cuts.py" --tls --step 131 --from "$((RANDOM % 131))"
}

# no_resolver COMMAND...: runs it where every name is asked of a server that never answers.
no_resolver() {
  echo 'nameserver 127.0.0.77' >resolv.conf
  echo 'hosts: files dns' >nsswitch.conf
  echo "127.0.0.1 localhost" >hosts
  python3 -c 'import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("127.0.0.77", 53)); open("bound", "w"); time.sleep(600)' >/dev/null 2>&1 3>&- &
  echo $! >resolver.pid
  until_true 10 test -e bound
  rm bound
  # shellcheck disable=SC2016
  timeout 120 unshare --mount sh -c 'for f in resolv.conf nsswitch.conf hosts; do
      [ ! -e "/etc/$f" ] || mount --bind "$f" "/etc/$f"; done; exec "$@"' sh "$@"
}

teardown() { [ ! -e resolver.pid ] || kill "$(cat resolver.pid)" 2>/dev/null || true; }

@test "a dead resolver holds up neither the connect timeout nor a signal (R4)" {
  needs_mounts
  local begin=$SECONDS
  run -69 no_resolver rlock --server redis://nowhere.invalid --connect-timeout 1s acquire "$key"
  [[ $output == *"cannot resolve nowhere.invalid: no answer from the resolver"* ]]
  # Without the timeout, a resolver takes 10 s and more.
  ((SECONDS - begin < 10))
  kill "$(cat resolver.pid)"
  [ "${TEST_SANITIZER:-}" != tsan ] || skip 'tsan lets signals wait'
  # shellcheck disable=SC2016
  run -143 no_resolver sh -c 'rlock --server redis://nowhere.invalid --connect-timeout 60s acquire k & pid=$!
    until find /proc/$pid/fd -lname "socket:*" | grep -q .; do :; done
    kill -TERM $pid; wait $pid'
}

@test "a resolver that dies during a run takes no lock away (R4)" {
  needs_mounts
  # shellcheck disable=SC2016
  run -0 no_resolver sh -c 'echo "127.0.0.1 locks.test" >>hosts
    redis-server --bind 127.0.0.1 --port 0 --port "$1" --save "" >/dev/null & server=$!
    until redis-cli -p "$1" ping; do :; done
    rlock --server redis://locks.test:"$1" run -t 3s -k 100ms k -- sh -c "
      : >started; sleep 7" & pid=$!
    until [ -e started ]; do :; done
    echo >hosts
    redis-cli -p "$1" client kill type normal skipme yes
    redis-cli -p "$1" client kill type pubsub skipme yes
    wait $pid; status=$?; kill $server; exit $status' sh $((20000 + RANDOM % 10000))
  echo "$output"
}
