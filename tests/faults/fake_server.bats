#!/usr/bin/env bats
# The fake server really misbehaves as it says.

load ../helper

setup() {
    listen=$BATS_TEST_TMPDIR/s
    server_pid=
}

teardown() {
    [ -z "$server_pid" ] || kill "$server_pid"
}

# serve OPTION...
serve() {
    rm -f "$BATS_TEST_TMPDIR/ready"
    python3 -B "$BATS_TEST_DIRNAME/fake_server.py" --listen "unix:$listen" --seconds 120 "$@" \
        >"$BATS_TEST_TMPDIR/ready" 3>&- &
    server_pid=$!
    until_true 10 grep -qs ready "$BATS_TEST_TMPDIR/ready"
}

# ask [N]: send N pings (1) and, for a second, print what comes
ask() {
    for ((n = 0; n < ${1:-1}; n++)); do
        printf '*1\r\n$4\r\nPING\r\n'
    done | timeout 120 socat -t 1 - "UNIX-CONNECT:$listen"
}

@test "by default it accepts and answers nothing, to a TLS hello neither" {
    serve
    # A second is long enough for a server that would close or answer.
    client() {
        python3 - "$listen" "$1" <<-'END'
			import socket, sys
			sock = socket.socket(socket.AF_UNIX)
			sock.connect(sys.argv[1])
			sock.sendall(bytes.fromhex(sys.argv[2]))
			sock.settimeout(1)
			try:
			    print("received", sock.recv(100))
			except TimeoutError:
			    print("silence")
		END
    }
    run -0 client 2a310d0a24340d0a50494e470d0a
    [ "$output" = silence ]
    run -0 client 16030102000100
    [ "$output" = silence ]
}

@test "replies follow the commands one by one, the last for all the rest" {
    serve --reply text:+OK --reply hex:2d45525220780d0a --reply null
    run -0 ask 4
    [ "$output" = $'+OK\r\n-ERR x\r\n$-1\r\n$-1\r' ]
}

@test "a reply can come from a file" {
    printf ':42\r\n' >"$BATS_TEST_TMPDIR/reply"
    serve --reply "file:$BATS_TEST_TMPDIR/reply"
    run -0 ask
    [ "$output" = $':42\r' ]
}

@test "close ends the connection at the command, close-at-once before it" {
    serve --reply text:+OK --reply close --reply text:+OK
    run -0 ask 3
    [ "$output" = $'+OK\r' ]
    kill "$server_pid"
    wait "$server_pid" || true
    serve --reply close-at-once
    run timeout 120 socat -u "UNIX-CONNECT:$listen" -
    [ "$status" = 0 ]
}

@test "nested is an array a million deep" {
    serve --reply nested
    ask >"$BATS_TEST_TMPDIR/reply"
    [ "$(wc -c <"$BATS_TEST_TMPDIR/reply")" = 4000004 ]
    [ "$(uniq -c "$BATS_TEST_TMPDIR/reply" | head -n 1 | tr -d '\r')" = "1000000 *1" ]
}

@test "drip sends a byte at a time, and with endless for ever" {
    serve --reply endless --drip 10
    : >"$BATS_TEST_TMPDIR/reply"
    start=${EPOCHREALTIME/./}
    ask >"$BATS_TEST_TMPDIR/reply" 3>&- &
    client=$!
    sizes=0 last=0
    for _ in {1..1000}; do
        size=$(wc -c <"$BATS_TEST_TMPDIR/reply")
        [ "$size" -le $(((${EPOCHREALTIME/./} - start) / 10000 + 1)) ]
        [ "$size" = "$last" ] || sizes=$((sizes + 1))
        last=$size
        [ "$sizes" -lt 10 ] || break
        sleep 0.01
    done
    kill "$server_pid"
    wait "$client" || true
    server_pid=
    [ "$sizes" = 10 ]
    [ "$(head -c 5 "$BATS_TEST_TMPDIR/reply")" = "+xxxx" ]
}

@test "every canned reply is sent as it stands" {
    run -0 python3 -B - "$BATS_TEST_DIRNAME" <<-'END'
		import sys
		sys.path.insert(0, sys.argv[1])
		import fake_server
		for name, data in fake_server.CANNED.items():
		    print(name, data.hex())
	END
    [ "${#lines[@]}" -ge 25 ]
    options=() expected=
    for line in "${lines[@]}"; do
        options+=(--reply "${line% *}")
        expected+=${line#* }
    done
    serve "${options[@]}"
    ask "${#options[@]}" | od -An -tx1 -v | tr -d ' \n' >"$BATS_TEST_TMPDIR/reply"
    # Half as many commands as there are words in options.
    [[ "$(cat "$BATS_TEST_TMPDIR/reply")" == "$expected"* ]]
}

@test "a reply of no known name stops the start" {
    run -2 timeout 120 python3 -B "$BATS_TEST_DIRNAME/fake_server.py" --listen "unix:$listen" --reply bogus
    [[ "$output" == *"no such reply: bogus"* ]]
}
