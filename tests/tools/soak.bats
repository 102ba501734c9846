#!/usr/bin/env bats
# The soak is believed only because it condemns stand-ins for rlock that break its promises.

bats_require_minimum_version 1.5.0

setup() {
    export RLOCK=$BATS_TEST_TMPDIR/rlock
}

# stand_in: an rlock from standard input, with $key, $socket and the command as its arguments
stand_in() {
    {
        echo '#!/bin/sh'
        echo 'while [ "$1" != -- ]; do key=$1; shift; done; shift'
        echo 'socket=${RLOCK_SERVER#unix://}; [ -n "$socket" ] ||' # a scene names it so
        echo 'socket=$(sed -n "s#server = .unix://\(.*\).#\1#p" "$RLOCK_CONFIG")'
        echo '[ -z "$RLOCK_TOKEN" ] || exec "$@"' # nested
        echo 'export RLOCK_KEY=$key RLOCK_TOKEN=$(printf %032x $$)'
        cat
    } >"$RLOCK"
    chmod +x "$RLOCK"
}

# soak SECONDS OPTION...: in a directory of the test's own
soak() {
    python3 -B "$BATS_TEST_DIRNAME/../faults/soak" --keep "$BATS_TEST_TMPDIR/soak" --show 2 --only contest \
        --plain --weathers calm --shapes plain --ttl 600 --wait 2000 --seconds "$1" "${@:2}" 2>&1
}

# found KIND: the total under it in the table
found() {
    awk -v kind="$1" '$1 == "met" && $2 == "runs" { for (i = 1; i <= NF; i++) if ($i == kind) column = i + 1 }
        $1 == "total" { print $column }' <<<"$output"
}

# A lock that is taken for long, and given back, but not renewed nor watched by anybody.
take='until [ "$(redis-cli -s "$socket" set "rlock:$key" "$RLOCK_TOKEN" NX PX 9000)" = OK ]; do
    sleep 0.02
done
export RLOCK_FENCE=$(date +%s%N)'
give='redis-cli -s "$socket" del "rlock:$key" >/dev/null'

@test "a lock that holds, without faults, passes" {
    stand_in <<<"$take; \"\$@\"; status=\$?; $give; exit \$status"
    run -0 soak 4 --contenders 3 --strike-prob 0
    for kind in overlap outlived late slow stalled storm wrong revived shortened leaked; do
        [ "$(found $kind)" = 0 ]
    done
    [ "$(awk '$1 == "total" { print $3 }' <<<"$output")" -gt 5 ]
}

@test "no lock at all: overlaps, and commands that run late" {
    stand_in <<<'exec "$@"'
    run -1 soak 4 --contenders 3 --strike-prob 0
    [[ "$output" == *"was last alive ("* ]]
    [ "$(found overlap)" -gt 0 ]
    [ "$(found late)" -gt 0 ]
    [ "$(found leaked)" = 0 ]
}

@test "a lease that ends while the command goes on: late" {
    stand_in <<<"${take/9000/200}; \"\$@\"; status=\$?; $give; exit \$status"
    run -1 soak 6 --contenders 1 --strike-prob 0
    [ "$(found late)" -gt 0 ]
    [ "$(found overlap)" = 0 ]
}

@test "an exit status that says busy though the command ran: wrong" {
    stand_in <<<"$take; \"\$@\"; $give; exit 75"
    run -1 soak 3 --contenders 2 --strike-prob 0
    [ "$(found wrong)" -gt 0 ]
    [ "$(found wrong)" = "$(awk '$1 == "total" { print $3 }' <<<"$output")" ]
    [[ "$output" == *"status 75; command ended with"* ]]
}

@test "a lock and a key left behind: leaked" {
    stand_in <<<"[ -e '$BATS_TEST_TMPDIR/been' ] && exit 75; >'$BATS_TEST_TMPDIR/been'
        $take; \"\$@\"; redis-cli -s \"\$socket\" set rlock:litter 1 >/dev/null; exit 0"
    run -1 soak 1 --contenders 1 --strike-prob 0
    [ "$(found leaked)" = 2 ]
    [[ "$output" == *"the lock is still held"* ]]
    [[ "$output" == *"key rlock:litter without expiry"* ]]
}

@test "a command that outlives its killed rlock: slow" {
    stand_in <<<"${take/9000/800}; \"\$@\"; status=\$?; $give; exit \$status"
    run -1 soak 6 --contenders 1 --strike-prob 1 --strikes kill-rlock
    [ "$(found slow)" -gt 0 ]
}

@test "a token that comes back, and a lease made shorter: revived, shortened" {
    stand_in <<-'END'
		export RLOCK_TOKEN=always
		redis-cli -s "$socket" set "rlock:$key" always PX 9000 >/dev/null
		sleep 0.1
		redis-cli -s "$socket" pexpire "rlock:$key" 5000 >/dev/null
		"$@"
		status=$?
		sleep 0.1
		redis-cli -s "$socket" del "rlock:$key" >/dev/null
		sleep 0.1
		exit $status
	END
    run -1 soak 5 --contenders 1 --strike-prob 0
    [ "$(found revived)" -gt 0 ]
    [ "$(found shortened)" -gt 0 ]
}

@test "a nested command that goes on when its outer run has released the lock: outlived, and late" {
    stand_in <<<"$take; \"\$@\"; status=\$?; $give; exit \$status"
    run -1 soak 5 --contenders 2 --strike-prob 0 --shapes nested-left
    [ "$(found outlived)" -gt 0 ]
    [ "$(found late)" -gt 0 ]
}

@test "a lock that lies idle beside a waiter: stalled" {
    stand_in <<<"$take; \"\$@\"; status=\$?; sleep 12; $give; exit \$status"
    # For so long that no load of the machine explains it.
    run -1 soak 18 --contenders 3 --strike-prob 0 --wait 40000
    [ "$(found stalled)" -gt 0 ]
    [ "$(found overlap)" = 0 ]
}

@test "a command of the same token again and again: storm" {
    stand_in <<<"$take; redis-cli -s \$socket -r 300 get \$RLOCK_TOKEN >/dev/null; \"\$@\"; status=\$?; $give; exit \$status"
    run -1 soak 3 --contenders 1 --strike-prob 0
    [ "$(found storm)" -gt 0 ]
}

@test "a scene is played again by its seed, and a stand-in that gives up is found in it" {
    stand_in <<<'exit 69'
    run -1 timeout 400 python3 -B "$BATS_TEST_DIRNAME/../faults/soak" --replay release:1
    [[ "$output" == *"--replay release:1: the holder ended with 69"* ]]
}

@test "no lock at all on servers of each topology: overlaps, which no failover explains" {
    stand_in <<<'exec "$@"'
    local topology program
    for topology in sentinel cluster redlock etcd zookeeper; do
        case $topology in etcd) program=etcd ;; zookeeper) program=java ;; *) program=redis-server ;; esac
        command -v "$program" >/dev/null || continue
        rm -rf "$BATS_TEST_TMPDIR/soak"
        run -1 soak 3 --contenders 3 --strike-prob 0 --topology "$topology"
        [ "$(found overlap)" -gt 0 ]
        [[ "$output" != *forgiven* ]]
    done
}

@test "a lock that lies on one of five servers is none: overlaps, and late" {
    stand_in <<-'END'
		socket=$(dirname "$RLOCK_CONFIG")/servers/$((RANDOM % 5))/redis
		until [ "$(redis-cli -s "$socket" set "rlock:$key" "$RLOCK_TOKEN" NX PX 9000)" = OK ]; do sleep 0.02; done
		"$@"
		status=$?
		redis-cli -s "$socket" del "rlock:$key" >/dev/null
		exit $status
	END
    sed -i '1s/sh/bash/' "$RLOCK"
    run -1 soak 5 --contenders 4 --strike-prob 0 --topology redlock
    [ "$(found overlap)" -gt 0 ]
    [ "$(found late)" -gt 0 ]
}

@test "no lock at all: a hold that holds nothing, a job that is done again and again, a lock beside a process that lives" {
    stand_in <<<'exec "$@"'
    sed -i '1a [ "$1" != acquire ] || exit 0' "$RLOCK"
    play() { run timeout 400 python3 -B "$BATS_TEST_DIRNAME/../faults/soak" --replay "$1"; echo "$output"; }
    play verb:hold
    [[ "$output" == *"--replay verb:hold: held for "* ]]
    play verb:once
    [[ "$output" == *"--replay verb:once: "*" began and "* ]]
    play verb:while_pid
    [[ "$output" == *"--replay verb:while_pid: somebody had the lock beside a process that lived"* ]]
}
