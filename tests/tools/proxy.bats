#!/usr/bin/env bats
# The proxy is believed only because each of its faults is seen here, against a real server.

load ../helper

setup_file() {
    export SERVER=$BATS_FILE_TMPDIR/redis
    redis-server --port 0 --unixsocket "$SERVER" --save '' --appendonly no \
        --dir "$BATS_FILE_TMPDIR" --logfile "$BATS_FILE_TMPDIR/redis.log" 3>&- &
    echo $! >"$BATS_FILE_TMPDIR/redis.pid"
    until_true 10 eval '[ "$(redis-cli -s "$SERVER" ping 2>&1)" = PONG ]'
}

teardown_file() {
    kill "$(cat "$BATS_FILE_TMPDIR/redis.pid")"
}

setup() {
    key=$BATS_TEST_NUMBER
    listen=$BATS_TEST_TMPDIR/p
    control=$BATS_TEST_TMPDIR/c
    proxy_pid=
}

teardown() {
    [ -z "$proxy_pid" ] || kill "$proxy_pid"
}

# proxy [LISTEN] [OPTION...]: start it and wait until it listens; sets $address
proxy() {
    case $1 in
        unix:* | 127.*) address=$1 && shift ;;
        *) address=unix:$listen ;;
    esac
    rm -f "$BATS_TEST_TMPDIR/ready"
    python3 -B "$BATS_TEST_DIRNAME/../faults/proxy.py" --listen "$address" --to "unix:$SERVER" \
        --control "unix:$control" --seconds 600 "$@" >"$BATS_TEST_TMPDIR/ready" 3>&- &
    proxy_pid=$!
    until_true 10 grep -qs ready "$BATS_TEST_TMPDIR/ready"
    address=$(sed 's/ready //' "$BATS_TEST_TMPDIR/ready")
}

# control LINE: give the proxy a command, print its answer
control() {
    socat -t 60 - "UNIX-CONNECT:$control" <<<"$1"
}

# stats FIELD
stats() {
    control stats | python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"
}

# resp WORD...: a command as bytes
resp() {
    printf '*%d\r\n' $#
    for word; do
        printf '$%d\r\n%s\r\n' "${#word}" "$word"
    done
}

# talk: send standard input through the proxy, print all that comes back until it closes
talk() {
    timeout 120 socat -t 60 - "UNIX-CONNECT:$listen"
}

# client TEXT: connect, send TEXT, say so in $sent, print what comes until the end
client() {
    rm -f "$sent"
    python3 - "$listen" "$1" "$sent" <<-'END'
		import socket, sys
		sock = socket.socket(socket.AF_UNIX)
		sock.settimeout(300)
		sock.connect(sys.argv[1])
		sock.sendall(sys.argv[2].encode())
		open(sys.argv[3], "w").close()
		while data := sock.recv(100):
		    print(data.decode().strip(), flush=True)
	END
}

direct() {
    redis-cli -s "$SERVER" "$@"
}

milliseconds() {
    echo $((${EPOCHREALTIME/./} / 1000))
}

@test "without a fault, commands and replies pass unchanged and are counted" {
    proxy
    value=$(printf 'line\r\n*1\r\n$4\r\nPING')
    resp SET "$key" "$value" | talk >"$BATS_TEST_TMPDIR/set"
    resp GET "$key" | talk >"$BATS_TEST_TMPDIR/get"
    [ "$(direct get "$key")" = "$value" ]
    printf '+OK\r\n' | cmp - "$BATS_TEST_TMPDIR/set"
    printf '$%d\r\n%s\r\n' ${#value} "$value" | cmp - "$BATS_TEST_TMPDIR/get"
    [ "$(stats commands)" = 2 ]
    [ "$(stats connections)" = 2 ]
    up=$({ resp SET "$key" "$value"; resp GET "$key"; } | wc -c)
    [ "$(stats bytes_up)" = "$up" ]
    [ "$(stats bytes_down)" = "$(cat "$BATS_TEST_TMPDIR"/[sg]et | wc -c)" ]
}

@test "commands in one write are one flight, question and answer are one each" {
    proxy
    { resp PING; resp PING; resp PING; } >"$BATS_TEST_TMPDIR/pings"
    talk <"$BATS_TEST_TMPDIR/pings"        # from a pipe it could read them one by one
    [ "$(stats commands) $(stats flights)" = "3 1" ]
    redis-cli -s "$listen" -r 2 ping
    [ "$(stats commands) $(stats flights)" = "5 3" ]
}

@test "a large value passes whole" {
    proxy
    head -c 3000000 /dev/zero | tr '\0' x >"$BATS_TEST_TMPDIR/value"
    redis-cli -s "$listen" -x set "$key" <"$BATS_TEST_TMPDIR/value"
    redis-cli -s "$listen" get "$key" | tr -d '\n' | cmp - "$BATS_TEST_TMPDIR/value"
    before=$(stats commands)
    { resp SET "$key" "$(head -c 100000 "$BATS_TEST_TMPDIR/value")"; resp PING; } | talk
    [ "$(stats commands)" = $((before + 2)) ]
}

@test "what is not a RESP array passes, as bytes" {
    proxy
    sent=$BATS_TEST_TMPDIR/sent
    client $'PING\r\n' >"$BATS_TEST_TMPDIR/reply" 3>&- &
    until_true 10 grep -q PONG "$BATS_TEST_TMPDIR/reply"
    [ "$(stats commands)" = 0 ]
    control cut-now
    wait $!
}

@test "commands are logged with time and connection" {
    proxy --commands "$BATS_TEST_TMPDIR/commands"
    resp SET "$key" 'a"b' | talk
    read -r time connection words <"$BATS_TEST_TMPDIR/commands"
    [ "$connection" = 1 ]
    [ "$words" = '["SET", "'"$key"'", "a\"b"]' ]
    boot=$(cut -d. -f1 /proc/uptime)
    [ $((boot - time / 1000000000)) -le 20 ] && [ $((boot - time / 1000000000)) -ge -1 ]
}

@test "cut down N lets exactly N bytes of the reply through" {
    proxy
    direct set "$key" hello
    for n in {0..10}; do
        [ "$(control "cut down $n")" = ok ]
        resp GET "$key" | talk >"$BATS_TEST_TMPDIR/reply"
        printf '$5\r\nhello\r\n' | head -c "$n" | cmp - "$BATS_TEST_TMPDIR/reply"
    done
    run -0 eval 'resp GET "$key" | talk'
    [[ "$output" == *hello* ]]
}

@test "cut up N lets exactly N bytes of the command through" {
    proxy
    size=$(resp SET "$key" v | wc -c)
    for ((n = 0; n < size; n++)); do
        before=$(stats bytes_up)
        control "cut up $n"
        run -0 eval 'resp SET "$key" v | talk'
        [ -z "$output" ]
        [ "$(stats bytes_up)" = $((before + n)) ]
    done
    [ "$(direct exists "$key")" = 0 ]
    # The whole of it, and not one byte back.
    control "cut up $size"
    run -0 eval 'resp SET "$key" v | talk'
    [ -z "$output" ]
    until_true 10 eval '[ "$(direct exists "$key")" = 1 ]'
}

@test "cut counts over connections and strikes once, with each it strikes every one" {
    proxy --fault 'cut down 12'
    resp PING | talk                       # 7 bytes of 12
    run -0 eval 'resp PING | talk'
    [ "$output" = "+PONG" ]                # 5 bytes
    run -0 eval 'resp PING | talk'
    [ "$output" = $'+PONG\r' ]
    control "cut down 3 each"
    for _ in 1 2; do
        run -0 eval 'resp PING | talk'
        [ "$output" = +PO ]
    done
    control clear
    run -0 eval 'resp PING | talk'
    [ "$output" = $'+PONG\r' ]
}

@test "cut ends a TCP connection in order, with rst by a reset" {
    proxy 127.0.0.1:0
    client() {
        python3 - "${address#*:}" <<-'END'
			import socket, sys
			sock = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=20)
			sock.sendall(b"*1\r\n$4\r\nPING\r\n")
			try:
			    while data := sock.recv(100):
			        print(data.decode().strip())
			    print("closed")
			except ConnectionResetError:
			    print("reset")
		END
    }
    control "cut down 5"
    run -0 client
    [ "${lines[*]}" = "+PONG closed" ]
    control "cut down 0 rst"
    run -0 client
    [ "${lines[*]}" = "reset" ]
    run -0 eval 'stats hit'
    [ "$output" = "{'cut': 1, 'reset': 1}" ]
}

@test "cut-now closes the connections that are open" {
    proxy
    sent=$BATS_TEST_TMPDIR/sent
    client "$(resp PING)"$'\r\n' >"$BATS_TEST_TMPDIR/reply" 3>&- &
    until_true 10 grep -q PONG "$BATS_TEST_TMPDIR/reply"
    [ "$(stats open)" = 1 ]
    control cut-now
    wait $!
    [ "$(stats open)" = 0 ]
}

@test "delay holds each direction back by its time" {
    proxy
    for way in up down both; do
        control "delay $way 300"
        start=$(milliseconds)
        run -0 eval 'resp PING | talk'
        [ "$output" = $'+PONG\r' ]
        least=300
        [ "$way" != both ] || least=600
        [ $(($(milliseconds) - start)) -ge "$least" ]
        control "delay both 0"
    done
}

@test "a delayed command is delivered though its client has gone" {
    proxy --fault 'delay up 500'
    resp SET "$key" late | socat -u - "UNIX-CONNECT:$listen"
    until_true 10 eval '[ "$(direct get "$key")" = late ]'
}

@test "drip passes one byte at a time" {
    proxy
    for way in up down; do
        control "drip $way 20"
        start=$(milliseconds)
        run -0 eval 'resp PING | talk'
        [ "$output" = $'+PONG\r' ]
        least=140                          # 7 bytes of +PONG
        [ "$way" != up ] || least=280      # 14 bytes of PING
        [ $(($(milliseconds) - start)) -ge "$least" ]
        control "drip $way 0"
    done
}

@test "silent reads, answers nothing and lets nothing reach the server, for ever" {
    proxy --fault silent
    sent=$BATS_TEST_TMPDIR/sent
    client "$(resp SET "$key" v)"$'\r\n' >"$BATS_TEST_TMPDIR/reply" 3>&- &
    until_true 10 eval '[ "$(stats commands)" = 1 ]'
    control "silent off"
    run -0 eval 'resp SET "$key" other NX | talk'
    [ "$output" = $'+OK\r' ]
    [ "$(stats open)" = 1 ]
    [ "$(stats bytes_down)" = 5 ]
    control cut-now
    wait $!
    [ ! -s "$BATS_TEST_TMPDIR/reply" ]
}

@test "silent down lets the command work and throws the answer away" {
    proxy --fault 'silent down'
    sent=$BATS_TEST_TMPDIR/sent
    client "$(resp SET "$key" v)"$'\r\n' >"$BATS_TEST_TMPDIR/reply" 3>&- &
    until_true 10 eval '[ "$(direct get "$key")" = v ]'
    until_true 10 eval 'stats hit | grep -q silent'
    [ "$(stats bytes_down) $(stats open)" = "0 1" ]
    control cut-now
    wait $!
    [ ! -s "$BATS_TEST_TMPDIR/reply" ]
}

@test "blackhole passes nothing and closes nothing, and all goes on when it ends" {
    proxy
    control blackhole
    sent=$BATS_TEST_TMPDIR/sent
    client "$(resp SET "$key" through)"$'\r\n' >"$BATS_TEST_TMPDIR/reply" 3>&- &
    until_true 10 test -e "$sent"
    # A proxy that passed it would do so within these tries.
    for _ in {1..30}; do
        [ "$(direct exists "$key")" = 0 ]
        sleep 0.01
    done
    [ "$(stats connections)" = 0 ]
    control "blackhole off"
    until_true 10 grep -q OK "$BATS_TEST_TMPDIR/reply"
    # Now with a connection that stands.
    control blackhole
    direct client kill type normal skipme yes
    for _ in {1..20}; do
        [ "$(stats open)" = 1 ]
    done
    control clear
    wait $!
}

@test "refuse closes the listener and leaves connections alone" {
    proxy
    sent=$BATS_TEST_TMPDIR/sent
    client "$(resp PING)"$'\r\n' >"$BATS_TEST_TMPDIR/reply" 3>&- &
    until_true 10 grep -q PONG "$BATS_TEST_TMPDIR/reply"
    control refuse
    run -1 eval 'resp PING | talk'
    [[ "$output" == *"Connection refused"* ]]
    [ "$(stats open)" = 1 ]
    control "refuse off"
    run -0 eval 'resp PING | talk'
    [ "$output" = $'+PONG\r' ]
    control cut-now
    wait $!
}

@test "repeat sends a command again after its client has gone, and hides the replies" {
    proxy --fault 'repeat match=INCR after=50 times=2'
    run -0 eval '{ resp PING; resp INCR "$key"; } | talk'
    [ "${#lines[@]}" = 2 ]
    [ "${lines[1]}" = $':1\r' ]
    until_true 10 eval '[ "$(direct get "$key")" = 3 ]'
    until_true 10 eval '[ "$(stats copying)" = 0 ]'
    resp INCR "$key" | talk                # once only, since count is 1
    until_true 10 eval '[ "$(stats copying)" = 0 ]'
    [ "$(direct get "$key")" = 4 ]
}

@test "a repeated command works in the database its connection had selected" {
    proxy --fault 'repeat match=INCR'
    { resp SELECT 5; resp INCR "$key"; } | talk
    until_true 10 eval '[ "$(direct -n 5 get "$key")" = 2 ]'
    [ "$(direct exists "$key")" = 0 ]
}

@test "skip and count choose which commands are repeated" {
    proxy --fault 'repeat match=INCR skip=1 count=2'
    for n in 1 2 3 4; do
        resp INCR "$key:$n" | talk
        until_true 10 eval '[ "$(stats copying)" = 0 ]'
    done
    [ "$(direct mget "$key":{1..4} | tr '\n' ' ')" = "1 2 2 1 " ]
}

@test "a held command is delivered, after its time, though its client has gone" {
    proxy --fault 'hold after=60000' --fault 'hold after=100'
    resp SET "$key:1" late | socat -u - "UNIX-CONNECT:$listen"
    until_true 10 eval '[ "$(stats held)" = 1 ]'
    resp SET "$key:2" late | socat -u - "UNIX-CONNECT:$listen"
    until_true 10 eval '[ "$(direct get "$key:2")" = late ]'
    [ "$(stats held)" = 1 ]
    [ "$(direct exists "$key:1")" = 0 ]
    control clear
    until_true 10 eval '[ "$(direct get "$key:1")" = late ]'
}

@test "hold next delivers a command after one that was sent later" {
    proxy --fault 'hold match=APPEND next'
    resp APPEND "$key" first | socat -u - "UNIX-CONNECT:$listen"
    until_true 10 eval '[ "$(stats held)" = 1 ]'
    resp APPEND "$key" second, | talk
    until_true 10 eval '[ "$(direct get "$key")" = second,first ]'
}

@test "what follows a held command on its connection stays behind it" {
    proxy --fault 'hold match=first after=300'
    run -0 eval '{ resp APPEND "$key" first; resp APPEND "$key" ,second; } | talk'
    [ "$output" = $':5\r\n:12\r' ]
    [ "$(direct get "$key")" = first,second ]
}

@test "a denied command is not passed on, and ends its connection" {
    proxy --fault 'deny SUBSCRIBE' --fault 'deny hello'
    { resp PING; resp SUBSCRIBE "$key"; resp SET "$key" x; } | talk | run -0 cat
    [ "$(direct exists "$key")" = 0 ]
    resp HELLO 3 | talk | run ! grep .
    control stats | grep -q '"hit": {"deny": 1}'
    control 'deny off'
    resp SET "$key" x | talk
    [ "$(direct get "$key")" = x ]
}

@test "a brief connection ends behind its first answer" {
    proxy --fault brief
    sent=$BATS_TEST_TMPDIR/sent
    client $'PING\r\n' >"$BATS_TEST_TMPDIR/answer" # until the end, which is the proxy's
    [ "$(cat "$BATS_TEST_TMPDIR/answer")" = +PONG ]
}

@test "random draws the same faults from the same seed, logs and counts them" {
    for round in 1 2; do
        proxy --log "$BATS_TEST_TMPDIR/$round"
        control "random seed=7 every=1 prob=1 ttl=50"
        until_true 10 eval '[ "$(grep -c " set " "$BATS_TEST_TMPDIR/'$round'")" -gt 100 ]'
        control "random off"
        stats set >"$BATS_TEST_TMPDIR/set"
        kill "$proxy_pid"
        wait "$proxy_pid" || true
        proxy_pid=
        grep -Ev ' hit | off$| 0$' "$BATS_TEST_TMPDIR/$round" | cut -d' ' -f2- |
            head -n 30 >"$BATS_TEST_TMPDIR/$round.drawn"
    done
    cmp "$BATS_TEST_TMPDIR"/[12].drawn
    [ "$(wc -l <"$BATS_TEST_TMPDIR/1.drawn")" = 30 ]
    for kind in cut reset delay drip silent blackhole refuse repeat hold reorder; do
        grep -q "'$kind'" "$BATS_TEST_TMPDIR/set"
    done
}

@test "only a fault that met traffic counts as hit" {
    proxy --fault 'delay up 1' --log "$BATS_TEST_TMPDIR/log"
    [ "$(stats hit)" = "{}" ]
    resp PING | talk
    resp PING | talk
    [ "$(stats hit)" = "{'delay': 1}" ]
    [ "$(grep -c 'hit delay' "$BATS_TEST_TMPDIR/log")" = 1 ]
}

@test "a line that is not understood is answered with an error and changes nothing" {
    proxy
    for line in bogus 'cut sideways 3' 'cut up x' 'cut up -1' 'delay up' 'hold' 'silent loudly' \
        'cut up 3 twice' 'random seed=x'; do
        run -0 control "$line"
        [[ "$output" == "error: "* ]]
    done
    run -0 eval 'resp PING | talk'
    [ "$output" = $'+PONG\r' ]
}

@test "a fault on the command line that is not understood stops the start" {
    run -1 timeout 120 python3 -B "$BATS_TEST_DIRNAME/../faults/proxy.py" --listen "unix:$listen" \
        --to "unix:$SERVER" --fault bogus
    [[ "$output" == *"no such command: bogus"* ]]
}
