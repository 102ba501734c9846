# What a connection to a store that a majority decides may suffer, through a proxy: it is cut, slow, silent. The name of this file
# says which store: zookeeper_wire.bats is a link to etcd_wire.bats.
# shellcheck disable=SC2016,SC2154 # the command expands what stands in single quotes; helper.bash sets key, url
load helper
store=${BATS_TEST_FILENAME##*/}
store=${store%_wire.bats}
load "$store"
load stores

setup_file() { start_store; }
teardown_file() { stop_servers; }

setup() {
  begin_test
  python3 -B "$BATS_TEST_DIRNAME/faults/proxy.py" --listen 127.0.0.1:0 --to "$endpoint" --control "unix:$PWD/control" \
    >ready 2>&1 3>&- &
  until_true 10 grep -qs ready ready
  export RLOCK_SERVER=${url/$endpoint/$(sed -n 's/^ready //p' ready)}
}

# spoil LINE: a fault of the proxy, or a question; prints what it says.
spoil() {
  python3 - "$1" <<-'END'
	import socket, sys
	with socket.socket(socket.AF_UNIX) as control:
	    control.connect("control")
	    control.sendall(sys.argv[1].encode() + b"\n")
	    print(control.makefile().readline().strip())
	END
}
bytes() { spoil stats | jq ".bytes_$1"; }

@test "a connection that is cut at any byte of a run: it goes on, or fails, and nothing of it stays" {
  local up down direction at n=0 status=0
  rlock run "$key" -- true
  up=$(bytes up) down=$(bytes down)
  rlock run "$key" -- true
  up=$(($(bytes up) - up)) down=$(($(bytes down) - down))
  [ "$up" -gt 100 ]
  for direction in up down; do
    for ((at = 1; at < ${!direction}; at += ${!direction} / 16 + 1)); do
      rm -f ran
      spoil "cut $direction $at" >/dev/null
      status=0
      rlock run -n --connect-timeout 3s "$key" -- touch ran 2>said || status=$?
      spoil clear >/dev/null
      case $status in
        0) [ -e ran ] ;;
        69) [ ! -e ran ] ;;
        # The lock was had, and then the release, or a last look, was not answered.
        79) ;;
        *) echo "cut $direction at $at: $status $(cat said)" && return 1 ;;
      esac
      # Its lease would last for 30 s.
      until_true 5 is_free || { echo "cut $direction at $at: $status $(cat said)" && false; }
      n=$((n + 1))
    done
  done
  [ "$n" -ge 24 ]
}

@test "answers that are slow, but in time for a try, keep the lease; then silence: dead before the store ends the entry (R3)" {
  write_job
  # A try of a renewal may take a sixth of the ttl.
  spoil 'delay down 1500'
  rlock run -t 12s -k 100ms --connect-timeout 5s "$key" -- ./job 2>said 3>&- &
  rlock=$!
  until_true 20 job_runs
  until_renewed
  until_renewed
  spoil silent
  local gone
  until is_free; do sleep 0.01; done
  gone=$(uptime_now)
  ended 79 "$rlock"
  job_is_dead
  holds "$(last_beat) < $gone"
}

@test "a store whose answers get lost: 69, and what was asked for is gone when it is heard again" {
  spoil 'silent down'
  expect_error 69 '' timeout 120 rlock run -n --connect-timeout 1s "$key" -- touch ran
  expect_error 69 '' timeout 120 rlock run -w 1s --connect-timeout 1s "$key" -- touch ran
  spoil clear
  [ ! -e ran ]
  until_true 5 is_free
}

@test "a waiter whose connections are cut again and again keeps its place" {
  local token i
  token=$(rlock acquire -t 1m "$key")
  for i in 1 2 3; do
    background rlock run "$key" -- sh -c "echo $i >>order"
    until_true 10 waiting "$i"
  done
  for i in 1 2 3; do
    spoil cut-now
    waiting 3
  done
  rlock release "$key" "$token"
  finish
  [ "$(paste -sd ' ' order)" = '1 2 3' ]
}

@test "a holder whose connections are cut again and again, and closed, holds on" {
  rlock run -t 6s -k 100ms "$key" -- sh -c 'touch up; until [ -e go ]; do sleep 0.01; done' 3>&- &
  rlock=$!
  until_true 10 test -e up
  for _ in 1 2 3; do
    spoil cut-now
    until_renewed
  done
  touch go
  ended 0 "$rlock"
  is_free
}
