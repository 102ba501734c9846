# How a cluster of etcd is reached: its URL, TLS, users, and what its gateway cannot do.
load helper
load certificates
load etcd

setup_file() {
  ! lacks_store || return 0
  cd "$BATS_FILE_TMPDIR" || return
  authority ca
  certificate member ca $'IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth'
  certificate narrow ca $'IP:127.0.0.1\nextendedKeyUsage=serverAuth'
  certificate named ca $'DNS:me\nextendedKeyUsage=clientAuth'
  member plain http
  member users http
  member tls https --cert-file=member.crt --key-file=member.key
  member mutual https --cert-file=member.crt --key-file=member.key --client-cert-auth --trusted-ca-file=ca.crt
  member narrow https --cert-file=narrow.crt --key-file=narrow.key --client-cert-auth --trusted-ca-file=ca.crt
  member without_gateway http --enable-grpc-gateway=false
  for name in plain users tls mutual narrow without_gateway; do until_true 30 grep -q 'serving client traffic' $name.log; done
}

teardown_file() {
  for file in "$BATS_FILE_TMPDIR"/*.pid; do [ ! -e "$file" ] || kill -KILL "$(<"$file")" 2>/dev/null || true; done
}

setup() {
  begin_test
  cd "$BATS_FILE_TMPDIR" || return
}

# member NAME SCHEME [OPTION...]: a cluster of one, on ports that are free; NAME.at is its host:port, and NAME.sock its
# Unix socket where the scheme is http.
member() {
  local name=$1 scheme=$2 client peer urls
  shift 2
  client=127.0.0.1:$(free_port) peer=127.0.0.1:$(free_port) urls=$scheme://$client
  [ "$scheme" = https ] || urls+=,unix://$name.sock:1
  etcd --name it --data-dir "$name.data" --listen-client-urls "$urls" --advertise-client-urls "$scheme://$client" \
    --listen-peer-urls "http://$peer" --initial-advertise-peer-urls "http://$peer" --initial-cluster "it=http://$peer" \
    --logger=zap "$@" >"$name.log" 2>&1 3>&- &
  disown $!
  echo $! >"$name.pid"
  echo "$client" >"$name.at"
}

# tries URL [OPTION...]: runs a command under a lock there.
tries() {
  run -"${status_wanted:-0}" --separate-stderr \
    timeout 60 "$RLOCK" run -n --connect-timeout 20s --server "$@" "$BATS_TEST_NAME" echo held
}

# refused STATUS TEXT URL [OPTION...]: it says so, and the command does not run.
refused() {
  local wanted=$1 text=$2
  shift 2
  status_wanted=$wanted tries "$@"
  [ -z "$output" ]
  # shellcheck disable=SC2154 # set by run
  [[ $stderr == *"$text"* && ${#stderr_lines[@]} = 1 ]]
}

@test "a member is reached by its port and by its Unix socket, and members that are down are passed over" {
  tries "etcd://$(<plain.at)"
  [ "$output" = held ]
  tries "etcd+unix://$PWD/plain.sock:1"
  [ "$output" = held ]
  for _ in {1..4}; do tries "etcd://127.0.0.1:1,$(<plain.at),127.0.0.1:2"; done
  refused 69 'nor can its 1 other member be used' etcd://127.0.0.1:1,127.0.0.1:2
}

@test "a prefix keeps locks apart" {
  local at
  at=$(<plain.at)
  timeout 120 "$RLOCK" run --server "etcd://$at/one" "$BATS_TEST_NAME" -- sh -c 'touch held && sleep 100' 3>&- &
  local holder=$!
  until_true 20 test -e held
  tries "etcd://$at/two"
  refused 75 'is held by' "etcd://$at/one/"
  ETCDCTL_API=3 etcdctl --endpoints "$at" get --prefix /one/q/ --keys-only | grep -q prefix
  kill "$holder"
}

@test "lists that cannot keep a lock together, and wishes for Redis alone, are refused" {
  refused 64 'several clusters of etcd' etcd://127.0.0.1:1,etcd://127.0.0.1:2
  refused 64 'servers of several kinds' etcd://127.0.0.1:1,redis://127.0.0.1:2
  refused 64 'servers of several kinds' redis://127.0.0.1:1,etcd://127.0.0.1:2
  refused 64 '--replicas is for Redis' etcd://127.0.0.1:1 --replicas 1
  refused 64 '--grace is for Redis' etcd://127.0.0.1:1 --grace 1s
  refused 64 '--compat is for Redis' etcd://127.0.0.1:1 --compat redisson
}

@test "a user has a password from the URL or from a file, and needs rights below the prefix" {
  local at url
  at=$(<users.at)
  etcdctl() { ETCDCTL_API=3 command etcdctl --endpoints "$at" "$@" >/dev/null; }
  etcdctl user add root:rootpw
  etcdctl user grant-role root root
  etcdctl user add me:canary
  etcdctl role add locks
  etcdctl user grant-role me locks
  etcdctl role grant-permission locks --prefix=true readwrite /rlock/
  # Where users are off, they are not needed.
  tries "etcd://me:canary@$at"
  etcdctl auth enable
  tries "etcd://me:canary@$at"
  [ "$output" = held ]
  (umask 077 && echo canary >password && echo wrong >other)
  for url in "etcd://me@$at" "etcd://me:@$at" "etcd+unix://me@$PWD/users.sock:1"; do tries "$url" --password-file password; done
  refused 77 'does not accept the user and its password' "etcd://me@$at" --password-file other
  refused 77 'does not accept the user and its password' "etcd://me:canary2@$at"
  [[ $stderr != *canary* ]]
  refused 77 'asks for a user' "etcd://$at"
  refused 77 'lacks rights' "etcd://me:canary@$at/elsewhere"
  refused 64 'a user without a password' "etcd://me@$at"
  refused 64 'names no user' "etcd://$at" --password-file password
}

@test "TLS: the member is verified, and gets the certificate that it wants" {
  tries "etcds://$(<tls.at)?cacert=ca.crt"
  [ "$output" = held ]
  tries "etcds://$(<mutual.at)?cacert=ca.crt&cert=named.crt&key=named.key"
  [ "$output" = held ]
  refused 77 '?cacert= names the authorities to trust' "etcds://$(<tls.at)"
  refused 77 'does not name localhost' "etcds://localhost:$(sed 's/.*://' tls.at)?cacert=ca.crt"
  refused 77 '?cert=FILE&key=FILE' "etcds://$(<mutual.at)?cacert=ca.crt"
  refused 69 'write etcds:// for etcd://' "etcd://$(<tls.at)"
  refused 69 'write etcd:// for etcds://' "etcds://$(<plain.at)"
}

@test "what the gateway cannot do is a matter of configuration, and says the mend" {
  refused 78 'enable-grpc-gateway' "etcd://$(<without_gateway.at)"
  # A busy member may not answer in time.
  narrow() { refused 78 'serverAuth, clientAuth' "etcds://$(<narrow.at)?cacert=ca.crt&cert=named.crt&key=named.key"; }
  until_true 60 narrow
  etcdctl() {
    ETCDCTL_API=3 command etcdctl --endpoints "https://$(<mutual.at)" --cacert ca.crt --cert named.crt --key named.key "$@" \
      >/dev/null
  }
  etcdctl user add root:rootpw
  etcdctl user grant-role root root
  etcdctl auth enable
  refused 78 'without a common name' "etcds://root:rootpw@$(<mutual.at)?cacert=ca.crt&cert=named.crt&key=named.key"
  etcdctl --user root:rootpw auth disable
}
