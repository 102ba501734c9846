# Certificates, and servers that have one: `load certificates`. The files are in the working directory.
# shellcheck shell=bash

# authority NAME: who signs certificates.
authority() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$1" \
    -keyout "$1.key" -out "$1.crt" 2>/dev/null
}

# certificate NAME AUTHORITY [SAN [COMMON_NAME [END]]]
certificate() {
  local name=$1 authority=$2 san=${3:-} common=${4:-$1} end=${5:-21000101000000Z}
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$common" \
    -keyout "$name.key" -out "$name.csr" 2>/dev/null
  printf '%s\n' "${san:+subjectAltName=$san}" >"$name.ext"
  : >"$name.index"
  printf '[ca]\ndefault_ca = it\n[it]\ndatabase = %s.index\nnew_certs_dir = .\ndefault_md = sha256\npolicy = any\nrand_serial = yes\n[any]\ncommonName = supplied\n' \
    "$name" >"$name.conf"
  openssl ca -batch -config "$name.conf" -cert "$authority.crt" -keyfile "$authority.key" -in "$name.csr" \
    -extfile "$name.ext" -startdate 20200101000000Z -enddate "$end" -notext -out "$name.crt" 2>/dev/null
}

# tls_server NAME PORT CERTIFICATE [REDIS OPTION...]: one that speaks TLS alone, answering when this returns.
tls_server() {
  local name=$1 tls_port=$2 certificate=$3
  shift 3
  redis-server --port 0 --tls-port "$tls_port" --bind 127.0.0.1 --tls-cert-file "$certificate.crt" \
    --tls-key-file "$certificate.key" --tls-ca-cert-file ca.crt --save '' --dir "$BATS_FILE_TMPDIR" \
    --unixsocket "$BATS_FILE_TMPDIR/$name.sock" "$@" >"$BATS_FILE_TMPDIR/$name.log" 2>&1 3>&- &
  disown $!
  echo $! >"$BATS_FILE_TMPDIR/$name.pid"
  until_true 10 test -S "$BATS_FILE_TMPDIR/$name.sock"
}
