#!/usr/bin/env python3
"""rlocks and a library's clients on one key (--prefix ''), each again and again, with nothing between two turns.

    beside.py [--rlocks 5] [--libraries 2] [--seconds 60] [--hold MS] [--library PROGRAM] [--keep DIR]

A library's client is a PROGRAM with the arguments of beside_redis_py.py, the default. Prints the turns of each side, the
longest time in which no library had a turn although one waited, the longest wait of an rlock, and how long after a library
let go rlock's command started; checker.py judges the intervals. With --max-gap, --max-wait (seconds) and --max-start (ms,
the median) more than that is wrong. Ends with "N wrong"; status 1 where anything was.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import checker  # noqa: E402
from contenders import finish  # noqa: E402
from servers import Server  # noqa: E402

KEY = "beside"
# $1 log, $2 seconds to hold, $3 name, $4 arrival
JOB = """start=${EPOCHREALTIME/./}
[ "$2" = 0 ] || sleep "$2"
echo "id=$3.$$ start=${start}000 end=${EPOCHREALTIME/./}000 arrival=${4}000 fence=$RLOCK_FENCE" >>"$1"
"""
# $1 name, $2 end (us), $3 job, $4 log, $5 seconds to hold
LOOP = """while ((${EPOCHREALTIME/./} < $2)); do
  "$RLOCK" run "$KEY" -- bash "$3" "$4" "$5" "$1" "${EPOCHREALTIME/./}" || echo "id=$1.failed$?" >>"$4"
done
"""


def start(options, directory, server):
    log, job = directory + "/log", directory + "/job"
    with open(job, "w", encoding="ascii") as file:
        file.write(JOB)
    end = int((time.time() + options.seconds) * 1e6)
    environment = {**os.environ, "RLOCK_SERVER": server.url, "RLOCK_PREFIX": "", "KEY": KEY, "LC_ALL": "C"}
    clients = [
        subprocess.Popen(["bash", "-c", LOOP, "bash", f"rlock{i}", str(end), job, log, str(options.hold / 1000)],
                         env=environment, stdin=subprocess.DEVNULL)
        for i in range(options.rlocks)]
    words = [sys.executable, options.library] if options.library.endswith(".py") else [options.library]
    return clients + [
        subprocess.Popen([*words, server.path, KEY, log, f"library{i}", str(options.seconds), str(options.hold)])
        for i in range(options.libraries)]


def let_go(lines):
    """{id: when the library's client was told that it had released}."""
    words = (dict(word.split("=", 1) for word in line.split()) for line in lines)
    return {each["id"]: int(each["let_go"]) for each in words if "let_go" in each}


def judge(options, lines, began):
    found, summary = checker.check(lines)
    runs = sorted(checker.read_log(lines)[0].values(), key=lambda run: run.start)
    released = let_go(lines)
    ours = [run for run in runs if run.arrival]
    theirs = [run for run in runs if not run.arrival]
    waits = [(run.start - run.arrival) / 1e9 for run in ours]
    turns = [began, *(run.start for run in theirs), began + int(options.seconds * 1e9)]
    gaps = [(after - before) / 1e9 for before, after in zip(turns, turns[1:])] if options.libraries else [0]
    starts = [(after.start - before.end) / 1e6 for before, after in zip(runs, runs[1:])
              if before.id in released and after.arrival and after.arrival < before.end]
    gap, wait = max(gaps), max(waits, default=0)
    median = statistics.median(starts) if starts else 0
    print(f"{options.rlocks} rlocks {len(ours)} turns, {options.libraries} libraries {len(theirs)} turns in "
          f"{options.seconds:g} s; longest without a library's {gap:.2f} s; longest wait of an rlock {wait:.2f} s, "
          f"median {statistics.median(waits) * 1000 if waits else 0:.1f} ms; rlock starts {median:.1f} ms (median of "
          f"{len(starts)}) after a library let go; overlaps {summary['overlap']}")
    for name, value, limit in (("gap", gap, options.max_gap), ("wait", wait, options.max_wait),
                               ("start", median, options.max_start)):
        if limit is not None and value > limit:
            found.append(f"{name}: {value:.2f}, more than {limit}")
    if not ours and options.rlocks or not theirs and options.libraries:
        found.append("one side had no turn at all")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rlocks", type=int, default=5)
    parser.add_argument("--libraries", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--hold", type=float, default=0, metavar="MS")
    parser.add_argument("--library", default=HERE + "/beside_redis_py.py", metavar="PROGRAM")
    parser.add_argument("--max-gap", type=float)
    parser.add_argument("--max-wait", type=float)
    parser.add_argument("--max-start", type=float)
    parser.add_argument("--keep", metavar="DIR")
    options = parser.parse_args()
    os.environ.setdefault("RLOCK", os.path.realpath(HERE + "/../../build/release/rlock"))
    directory = options.keep or tempfile.mkdtemp(prefix="beside")
    os.makedirs(directory, exist_ok=True)
    server = Server(directory + "/server")
    clients = []
    try:
        began = time.time_ns()
        clients = start(options, directory, server)
        ends = [client.wait(timeout=options.seconds + 60) for client in clients]
    finally:
        for client in clients:
            if client.poll() is None:
                client.kill()
        server.kill()
    with open(directory + "/log", encoding="ascii") as log:
        lines = log.readlines()
    found = judge(options, lines, began) + [f"a client ended with {status}" for status in ends if status]
    return finish(found, directory, options.keep)


if __name__ == "__main__":
    sys.exit(main())
