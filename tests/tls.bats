# rediss://: whom rlock speaks TLS with, whom it refuses, and that nothing secret is said before.
load helper
load certificates

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return 1
  authority ca
  authority other
  certificate server ca 'DNS:localhost,IP:127.0.0.1'
  certificate nobody ca 'DNS:elsewhere.example'
  certificate client ca 'DNS:somebody'
  port=$(free_port) strict_port=$(free_port)
  export port strict_port dir=$BATS_FILE_TMPDIR
  tls_server open "$port" server --tls-auth-clients no --requirepass "$canary" --loglevel verbose
  tls_server strict "$strict_port" server --tls-auth-clients yes --requirepass "$canary"
}
teardown_file() { stop_servers; }
export canary=s3cret-canary

setup() {
  begin_test
  export REDISCLI_AUTH=$canary
}

# url HOST [PORT [QUERY]]
url() { echo "rediss://$1:${2:-$port}?cacert=$dir/ca.crt${3:-}"; }

# redis NAME COMMAND...: past TLS, through the socket.
redis() { redis-cli -s "$dir/$1.sock" "${@:2}"; }

# refused TEXT URL: 77 with the reason, for a run and for an acquire; no command was run, and no password was sent.
refused() {
  expect_error 77 "$1" timeout 120 rlock --server "$2" run "$key" -- touch ran
  expect_error 77 "$1" timeout 120 rlock --server "$2" acquire -n "$key"
  [ ! -e ran ]
}

# answering CERTIFICATE [S_SERVER OPTION...]: a TLS server that writes down whatever it is sent; its port in $peer.
answering() {
  local certificate=$1
  shift
  peer=$(free_port)
  # It would hang up at the end of its standard input.
  [ -p quiet ] || mkfifo quiet
  # shellcheck disable=SC2016
  background sh -c 'exec "$@" <>quiet' sh openssl s_server -accept "127.0.0.1:$peer" \
    -cert "$certificate.crt" -key "$certificate.key" -quiet "$@" >heard 2>heard.err
  until_true 10 listens "$peer"
}
listens() { [ -n "$(ss -Hltn "sport = :$1")" ]; }

@test "a server whose certificate names it, by name or by address, is spoken to" {
  expect 0 rlock --server "$(url localhost)" run "$key" -- echo by-name
  [ "$output" = by-name ]
  expect 0 rlock --server "$(url 127.0.0.1)" run "$key" -- sh -c 'sleep 0.3; echo by-address'
  [ "$output" = by-address ]
  grep -q . <<<"$(redis open info commandstats 2>/dev/null | grep cmdstat_auth)"
}

@test "waiting, hand-over and renewal go on over TLS" {
  RLOCK_SERVER=$(url localhost)
  export RLOCK_SERVER
  background rlock run --ttl 3s -k 100ms "$key" -- sh -c 'touch first; sleep 5; [ ! -e second ]'
  until_true 10 test -e first
  expect 0 rlock run "$key" -- touch second
  finish
}

@test "the authorities of the machine are trusted where the URL names none" {
  expect 0 env SSL_CERT_FILE="$dir/ca.crt" rlock --server "rediss://localhost:$port" run "$key" -- true
  refused 'certificate' "rediss://localhost:$port"
}

@test "the authorities of the machine are found where any distribution keeps them" {
  needs_mounts
  local bundle
  for bundle in ssl/certs/ca-certificates.crt pki/ca-trust/extracted/pem/tls-ca-bundle.pem pki/tls/certs/ca-bundle.crt \
    ssl/ca-bundle.pem ssl/cert.pem; do
    mkdir -p "etc/$(dirname "$bundle")"
    cp "$dir/ca.crt" "etc/$bundle"
    # All of /etc but what a name needs.
    # shellcheck disable=SC2016
    expect 0 env -u SSL_CERT_FILE -u SSL_CERT_DIR unshare --mount sh -c 'mount --bind etc /etc && exec "$@"' sh \
      rlock --server "rediss://127.0.0.1:$port" run "$key" -- true
    rm -r etc
  done
}

@test "a server that wants a certificate of us gets it" {
  expect 0 rlock --server "$(url localhost "$strict_port" "&cert=$dir/client.crt&key=$dir/client.key")" run "$key" -- true
  refused 'the server asks for a certificate; name one with ?cert=' "$(url localhost "$strict_port")"
  certificate unknown "$dir/other" 'DNS:localhost'
  refused 'does not know the authority' "$(url localhost "$strict_port" "&cert=$PWD/unknown.crt&key=$PWD/unknown.key")"
}

@test "TLS at a port without it, and none at a port of TLS: the mend is named" {
  local plain
  plain=$(free_port)
  redis strict config set port "$plain"
  expect_error 69 'write redis:// for rediss:// in the URL' \
    rlock run --server "rediss://127.0.0.1:$plain" --connect-timeout 300ms -n "$key" true
  redis strict config set port 0
  expect_error 69 'write rediss:// for redis:// in the URL' rlock run --server "redis://127.0.0.1:$strict_port" -n "$key" true
}

@test "a server of TLS 1.2 that has neither ECDHE nor AEAD is refused; one that has both is spoken to" {
  local cipher
  for cipher in AES128-GCM-SHA256 ECDHE-RSA-AES128-SHA256:ECDHE-ECDSA-AES128-SHA256 DHE-RSA-AES256-GCM-SHA384; do
    answering "$dir/server" -tls1_2 -cipher "$cipher"
    refused 'TLS 1.2 with ECDHE and AES-GCM or ChaCha20' "$(url localhost "$peer")"
  done
  [ ! -s heard ]
  redis open config set tls-protocols TLSv1.2
  for cipher in AES256-GCM-SHA384 CHACHA20-POLY1305; do
    redis open config set tls-ciphers "ECDHE-RSA-$cipher:ECDHE-ECDSA-$cipher"
    expect 0 rlock --server "$(url localhost)" run "$key" -- true
  done
  redis open config set tls-protocols '' tls-ciphers ''
}

@test "a file of the URL that cannot be read is named, and why" {
  expect_error 78 '?cacert=: cannot use /nosuch/file: No such file or directory' \
    rlock run --server "rediss://localhost:$strict_port?cacert=/nosuch/file" "$key" true
  expect_error 78 '--server: ?key=: the file cannot be read: No such file or directory' \
    rlock run --server "$(url localhost "$strict_port" "&cert=$dir/client.crt&key=/nosuch/file")" "$key" true
}

@test "an rlock inside the command finds the files of the URL, wherever it runs" {
  cp "$dir/ca.crt" "$dir/client.crt" "$dir/client.key" .
  # shellcheck disable=SC2016
  expect 0 rlock --server "rediss://localhost:$strict_port?cacert=ca.crt&cert=client.crt&key=client.key" run "$key" -- \
    sh -c 'cd / && rlock renew && rlock status "$RLOCK_KEY" --exit-code'
}

@test "a wrong name, a wrong address, an unknown authority, an expired and a self-signed certificate are refused unheard" {
  certificate wrong-name "$dir/ca" 'DNS:elsewhere.example'
  certificate wrong-address "$dir/ca" 'IP:127.0.0.2,DNS:localhost'
  certificate stranger "$dir/other" 'DNS:localhost,IP:127.0.0.1'
  certificate expired "$dir/ca" 'DNS:localhost' localhost 20200102000000Z
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
    -addext 'subjectAltName=DNS:localhost' -keyout alone.key -out alone.crt 2>/dev/null
  local row name host text
  for row in 'wrong-name localhost it does not name localhost' 'wrong-address 127.0.0.1 it does not name 127.0.0.1' \
    'stranger localhost issuer certificate; ?cacert= names' 'expired localhost certificate has expired' \
    'alone localhost self-signed certificate; ?cacert= names'; do
    read -r name host text <<<"$row"
    answering "$name"
    refused "$text" "$(url "$host" "$peer")"
    [ ! -s heard ]
    end_jobs
    background_pids=()
  done
}

@test "a name that stands in the subject alone is not enough, whether the certificate lists others or none" {
  certificate subject "$dir/ca" 'DNS:elsewhere.example' localhost
  certificate bare "$dir/ca" '' localhost
  local name
  for name in subject bare; do
    answering "$name"
    refused 'it does not name localhost' "$(url localhost "$peer")"
    [ ! -s heard ]
    end_jobs
    background_pids=()
  done
}

@test "the name that is asked for is sent, so that a host of several shows the right certificate" {
  answering "$dir/nobody" -servername localhost -cert2 "$dir/server.crt" -key2 "$dir/server.key"
  refused 'it does not name 127.0.0.1' "$(url 127.0.0.1 "$peer")"
  [ ! -s heard ]
  # A peer that is no Redis hears the password, but never answers.
  expect 69 timeout 120 rlock --connect-timeout 500ms --server "$(url localhost "$peer")" acquire -n "$key"
  grep -q "$canary" heard
}

@test "a session is closed as TLS wants it: the server never sees it torn" {
  expect 0 rlock --server "$(url localhost)" run "$key" -- true
  expect 0 rlock --server "$(url localhost)" run "$key" -- sleep 0.3
  expect 0 rlock --server "$(url localhost)" status
  expect 1 grep 'unexpected eof' "$dir/open.log"
}

@test "TLS 1.1 and a server without TLS are refused, with what is wrong" {
  answering "$dir/server" -tls1_1 -cipher DEFAULT@SECLEVEL=0
  refused 'does not speak TLS 1.2 or later' "$(url localhost "$peer")"
  [ ! -s heard ]
  # Redis itself says nothing to a greeting of TLS; what does not speak RESP either may answer with text.
  plain=$(free_port)
  background socat "TCP-LISTEN:$plain,bind=127.0.0.1,fork,reuseaddr" SYSTEM:'echo 220 mail.example; sleep 5'
  until_true 10 listens "$plain"
  refused 'does not speak TLS' "$(url localhost "$plain")"
}

@test "files that cannot be used are a matter of configuration, and nothing is sent" {
  expect_error 78 cacert rlock --server "rediss://localhost:$strict_port?cacert=/nosuch/file" run "$key" -- touch ran
  expect_error 78 cert= rlock --server "$(url localhost "$port" "&cert=/nonexistent&key=$dir/client.key")" run "$key" -- touch ran
  expect_error 64 key rlock --server "$(url localhost "$port" "&cert=$dir/client.crt")" run "$key" -- touch ran
  expect_error 64 'cacert' rlock --server "rediss://localhost:$port?cacrt=x" run "$key" -- touch ran
  [ ! -e ran ]
}

@test "a handshake that is never answered, or comes a byte at a time, ends by the connect timeout or a signal" {
  silent=$(free_port)
  background python3 -B "$BATS_TEST_DIRNAME/faults/fake_server.py" --listen "127.0.0.1:$silent" --seconds 50 >ready
  dripping --fault 'drip down 40'
  until_true 10 grep -q ready ready
  local peer
  for peer in "$silent" "$drip"; do
    RLOCK_SERVER=$(url localhost "$peer")
    export RLOCK_SERVER
    for verb in 'run -n' 'acquire -n' renew release 'status'; do
      local token=
      [[ $verb != re* ]] || token=0123456789abcdef0123456789abcdef
      # shellcheck disable=SC2046,SC2086 # words
      expect_error 69 'no answer' timeout 120 rlock --connect-timeout 300ms $verb "$key" $token \
        $([ "$verb" != 'run -n' ] || echo touch ran)
    done
    rlock --connect-timeout 1m run "$key" -- touch ran 2>/dev/null 3>&- &
    until_true 10 connects "$!"
    kill -TERM $!
    ended 143 $!
  done
  [ ! -e ran ]
}

@test "a handshake that drips when the lock is to be released does not hold up the caller" {
  dripping
  # shellcheck disable=SC2016
  expect 3 timeout 120 rlock --connect-timeout 500ms --server "$(url localhost "$drip")" run --ttl 3s "$key" -- \
    sh -c 'printf "drip down 40\ncut-now\n" | socat -t 1 - UNIX-CONNECT:control >/dev/null; exit 3'
  until_true 10 is_released
}
is_released() { [ "$(redis open --no-auth-warning -a "$canary" exists "rlock:$key")" = 0 ]; }
connects() { ss -Htnp state established | grep -q "pid=$1,"; }

# dripping OPTION...: a proxy before the open server, its port in $drip; it obeys ./control.
dripping() {
  background python3 -B "$BATS_TEST_DIRNAME/faults/proxy.py" --seconds 600 --listen 127.0.0.1:0 --to "127.0.0.1:$port" \
    --control unix:control "$@" >dripping
  until_true 10 grep -q ready dripping
  drip=$(sed 's/.*://' dripping)
}
