# The short form of busy_host.py, which makes every core busy itself; tests/soak.sh runs it at length.
load ../helper

busy_host() { python3 "$BATS_TEST_DIRNAME/busy_host.py" "$@"; }

@test "many processes and every core busy: dead before the server gives the lock away, whoever is frozen or cut off (R27)" {
  busy_host --processes 1500 --busy 2 --ttl 1000 --tries 3 --jobs 3 --kinds freeze,cut --seed "$RANDOM"
}

@test "two hundred started at once, over a socket and over TCP: all get their locks (R27)" {
  busy_host --processes 0 --busy 0 --kinds start --starts 200
}

@test "forty killed together beside many processes: their locks are free, and no guard looks at all of those (R39)" {
  busy_host --processes 3000 --busy 0 --kinds mass --holders 40 --patience 30 --jobs 1
}
