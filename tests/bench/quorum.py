#!/usr/bin/env python3
"""Contenders for one lock on five servers: rlock beside the usual way of Redlock (redsync: SET NX on all, a random pause).

    quorum.py [--contenders 20] [--rounds 10] [--hold 2] [--classic PROGRAM]

PROGRAM is tests/bench/classic, built with go build. Each of rlock's contenders is a process anew; redsync's are threads of
one, over connections that stand. So look at the shape of the waits, the commands and the overtaking, not at the rate.
Prints for each: acquisitions a second, the median and the longest wait in turns (one turn: the whole time by the number of
acquisitions), commands for each, and how many that came later were served before, on average.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE + "/../faults")
from topologies import Redlock  # noqa: E402

# What clients send; scripts call other commands.
OF_RLOCK = ("evalsha", "eval", "hello", "subscribe", "client|tracking")
OF_REDSYNC = ("set", "evalsha", "eval")


def commands(servers, names):
    total = 0
    for server in servers:
        for line in server.redis("INFO", "commandstats").splitlines():
            name, _, rest = line.partition(":")
            if name.removeprefix("cmdstat_") in names:
                total += int(rest.split(",")[0].removeprefix("calls="))
    return total


def rlock(field, options):
    times, lock = [], threading.Lock()

    def contend():
        for _ in range(options.rounds):
            asked = time.time_ns() // 1000
            subprocess.run([os.environ["RLOCK"], "run", "--ttl", "2s", "--grace", "1s", "--wait", "2m", "bench", "--",
                            "sleep", str(options.hold / 1000)], env={**os.environ, "RLOCK_SERVER": field.url}, check=True)
            had = time.time_ns() // 1000 - options.hold * 1000
            with lock:
                times.append((asked, had))

    threads = [threading.Thread(target=contend) for _ in range(options.contenders)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times


def classic(field, options):
    run = subprocess.run([options.classic, ",".join(server.path for server in field.servers), "classic",
                          str(options.contenders), str(options.rounds), str(options.hold)],
                         stdout=subprocess.PIPE, text=True, check=True)
    return [tuple(map(int, line.split())) for line in run.stdout.splitlines()]


def report(name, times, sent):
    whole = max(had for _, had in times) - min(asked for asked, _ in times)
    turn = whole / len(times)
    waits = sorted(had - asked for asked, had in times)
    overtaken = statistics.mean(sum(a > asked and h < had for a, h in times) for asked, had in times)
    print(f"{name:8} {len(times) / whole * 1e6:6.0f}/s  waits in turns: median {statistics.median(waits) / turn:6.1f}, "
          f"longest {waits[-1] / turn:6.1f}   commands {sent / len(times):6.1f}   overtaken {overtaken:5.1f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--contenders", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--hold", type=int, default=2, help="ms")
    parser.add_argument("--classic")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="quorum.") as directory, Redlock(directory) as field:
        time.sleep(4)  # until all are old enough to vote
        for name, play, names in (("rlock", rlock, OF_RLOCK), ("redsync", classic, OF_REDSYNC)):
            if name == "redsync" and not options.classic:
                continue
            for server in field.servers:
                server.redis("CONFIG", "RESETSTAT")
            times = play(field, options)
            report(name, times, commands(field.servers, names))


if __name__ == "__main__":
    main()
