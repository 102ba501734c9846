#!/usr/bin/env bats
# The checker is believed only because it finds what is planted here.

bats_require_minimum_version 1.5.0

setup() {
    log=$BATS_TEST_TMPDIR/log
    beats=$BATS_TEST_TMPDIR/beats
    mkdir "$beats"
}

checker() {
    python3 -B "$BATS_TEST_DIRNAME/../faults/checker.py" "$@"
}

# planted RUN TIME_NS: the heartbeat of a run
planted() {
    python3 -c 'import sys; open(sys.argv[1], "wb").write(int(sys.argv[2]).to_bytes(8, "little"))' \
        "$beats/$1" "$2"
}

@test "a clean log passes, split lines and one-line runs alike" {
    cat >"$log" <<-'END'
		id=a start=100 fence=5 arrival=1
		id=b start=200 end=300 fence=6 arrival=2 wrote=2
		id=a end=200 wrote=1
		id=c key=other start=100 end=900 fence=1 arrival=0 wrote=1
	END
    run -0 checker --fifo "$log"
    [ "$output" = "runs=3 ended=3 killed=0 unknown=0 overlap=0 crowd=0 fence=0 lost=0 fifo=0 broken=0" ]
}

@test "a planted overlap is found, whatever the order of the lines" {
    cat >"$log" <<-'END'
		id=b start=2000000 end=3000000
		id=a start=1000000 end=2500000
	END
    run -1 checker "$log"
    [ "${lines[0]}" = "overlap: b started 0.500 ms before a was last alive (key -)" ]
    [[ "${lines[1]}" == *" overlap=1 "* ]]
}

@test "an overlap with a run long before the last one is found" {
    cat >"$log" <<-'END'
		id=a start=100 end=1000
		id=b start=200 end=300
		id=c start=900 end=950
	END
    run -1 checker "$log"
    [[ "${lines[0]}" == "overlap: b "*" a "* ]]
    [[ "${lines[1]}" == "overlap: c "*" a "* ]]
}

@test "an end and a start at the same nanosecond do not overlap" {
    printf 'id=a start=1 end=5\nid=b start=5 end=6\n' >"$log"
    run -0 checker "$log"
}

@test "a killed command overlaps as long as its heart beat, and no longer" {
    printf 'id=a start=100\nid=b start=200 end=300\n' >"$log"
    run -0 checker --beats "$beats" "$log"
    [[ "$output" == *" unknown=1 "* ]]
    planted a 200
    run -0 checker --beats "$beats" "$log"
    [[ "$output" == *" killed=1 unknown=0 "* ]]
    planted a 201
    run -1 checker --beats "$beats" "$log"
    [[ "$output" == overlap:* ]]
}

@test "a heart that beats on after the end of its command counts" {
    printf 'id=a start=100 end=150\nid=b start=200 end=300\n' >"$log"
    planted a 250
    run -1 checker --beats "$beats" "$log"
    [[ "$output" == overlap:* ]]
}

@test "alive= in the log does what the heartbeat does" {
    printf 'id=a start=100\nid=a alive=250\nid=b start=200 end=300\n' >"$log"
    run -1 checker "$log"
    [[ "$output" == overlap:* ]]
}

@test "a run without any end lasts as long as --bound says" {
    printf 'id=a start=1000000\nid=b start=3000000 end=4000000\n' >"$log"
    run -0 checker "$log"
    run -0 checker --bound 2 "$log"
    run -1 checker --bound 3 "$log"
    [[ "$output" == overlap:* ]]
}

@test "shared runs overlap each other freely, but no exclusive one" {
    printf 'id=a mode=s start=1 end=9\nid=b mode=s start=2 end=8\n' >"$log"
    run -0 checker "$log"
    echo 'id=c start=5 end=6' >>"$log"
    run -1 checker "$log"
    [[ "${lines[0]}" == "overlap: c "*" a "* ]]
    printf 'id=a start=1 end=9\nid=b mode=s start=2 end=8\n' >"$log"
    run -1 checker "$log"
    [[ "${lines[0]}" == "overlap: b "*" a "* ]]
}

@test "a planted fence regression and a fence given twice are found" {
    cat >"$log" <<-'END'
		id=a start=1 end=2 fence=10
		id=b start=3 end=4 fence=12
		id=c start=5 end=6 fence=11
		id=d start=7 end=8 fence=12
	END
    run -1 checker "$log"
    [ "${lines[0]}" = "fence: c has 11, but b, started before it, has 12" ]
    [ "${lines[1]}" = "fence: d has 12, but b, started before it, has 12" ]
    [[ "${lines[2]}" == *" fence=2 "* ]]
}

@test "a planted FIFO breach is found with --fifo, and not within the slack" {
    cat >"$log" <<-'END'
		id=a start=10000000 end=10000001 arrival=3000000
		id=b start=20000000 end=20000001 arrival=1000000
	END
    run -0 checker "$log"
    run -1 checker --fifo "$log"
    [ "${lines[0]}" = "fifo: b arrived 2.000 ms before a and started after it" ]
    run -1 checker --fifo --fifo-slack 1.9 "$log"
    run -0 checker --fifo --fifo-slack 2 "$log"
}

@test "a lost update of the unguarded counter is found" {
    printf 'id=a start=1 end=2 wrote=7\nid=b start=3 end=4 wrote=7\n' >"$log"
    run -1 checker "$log"
    [ "${lines[0]}" = "lost: b wrote 7, as a had" ]
}

@test "a torn line and a run without a start are found" {
    printf 'id=a start=1 end=2\nid=b end=4\nid=c sta\nid=d start=x\n' >"$log"
    run -1 checker "$log"
    [[ "$output" == *"broken: line 3:"* ]]
    [[ "$output" == *"broken: line 4:"* ]]
    [[ "$output" == *"broken: b never started"* ]]
}

@test "without a log it says so and exits 2" {
    run -2 checker "$BATS_TEST_TMPDIR/none"
}

@test "two workers side by side are caught, one after the other are not" {
    worker=$BATS_TEST_DIRNAME/../faults/worker.py
    "$worker" "$BATS_TEST_TMPDIR" 5 a
    "$worker" "$BATS_TEST_TMPDIR" 5 b
    run -0 checker --beats "$beats" "$log"
    [[ "$output" == "runs=2 ended=2 "* ]]
    "$worker" "$BATS_TEST_TMPDIR" 3000 c 3>&- &
    for _ in {1..500}; do
        grep -q id=c "$log" && break
        sleep 0.01
    done
    "$worker" "$BATS_TEST_TMPDIR" 5 d
    wait $!
    run -1 checker --beats "$beats" "$log"
    [[ "$output" == *"overlap: "* ]]
    [[ "$output" == *"lost: "* ]]
}

@test "a worker that was killed is known to have lived until then" {
    "$BATS_TEST_DIRNAME/../faults/worker.py" "$BATS_TEST_TMPDIR" 30000 a 3>&- &
    pid=$!
    for _ in {1..500}; do
        [ -s "$log" ] && break
        sleep 0.01
    done
    kill -KILL "$pid"
    wait "$pid" || [ $? -eq 137 ]
    start=$(sed -n 's/.* start=\([0-9]*\).*/\1/p' "$log")
    echo "id=b start=$((start + 1)) end=$((start + 2))" >>"$log"
    run -1 checker --beats "$beats" "$log"
    [[ "${lines[0]}" == "overlap: b "*" a.$pid "* ]]
}

@test "a worker's daemon keeps its heart beating when the worker is killed" {
    WORKER_DESCENDANT=1 "$BATS_TEST_DIRNAME/../faults/worker.py" "$BATS_TEST_TMPDIR" 1500 a 3>&- &
    pid=$!
    for _ in {1..500}; do
        grep -qs descendant= "$log" && break
        sleep 0.01
    done
    kill -KILL "$pid"
    wait "$pid" || [ $? -eq 137 ]
    before=$(od -An -tu8 "$beats/a.$pid")
    for _ in {1..500}; do
        [ "$(od -An -tu8 "$beats/a.$pid")" -gt "$before" ] && return
        sleep 0.01
    done
    false
}
