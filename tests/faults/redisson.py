#!/usr/bin/env python3
"""Contenders for one lock, rlocks under --compat redisson and services with Redisson's RLock.

    redisson.py CLIENT [--cycles 2000] [--kills 10] [--contenders 3] [--seed N] [--keep DIR]

CLIENT is what tests/redisson/build.sh has made. So many contenders on each side work for a few milliseconds under the lock,
one run after the other, until there were --cycles runs: no two may overlap, no update may be lost, no rlock may fail, no
service may see an exception, nobody may wait longer than --max-wait ms.

Then --kills times somebody who is alive is killed with SIGKILL, an rlock or a service in turn, and the service is started
again: no two may overlap, and after each kill somebody on each side gets the lock. Ends with a line of counts for each part,
and "N wrong"; status 1 where anything was.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import contenders as crowd  # noqa: E402
from servers import Server, free_port, until  # noqa: E402

KEY = "orders"
HOLD_MS = 3
TTL_MS = 1000  # of both sides while they are killed: so long a killed service keeps the lock
ATTEMPT_S = 20  # in which somebody gets the lock after a kill


class Service:
    """A JVM that contends until its input ends."""

    def __init__(self, client, name, port, directory, watchdog_ms):
        self.name, self.exceptions = name, []
        self.jvm = subprocess.Popen([client, f"redis://127.0.0.1:{port}", KEY, str(watchdog_ms)], text=True,
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.order = f"contend {directory} {name} {HOLD_MS} {offset_ns()}\n"

    def start(self):
        if self.jvm.stdout.readline() != "ready\n":
            raise RuntimeError("a service does not start")
        self.jvm.stdin.write(self.order)
        self.jvm.stdin.flush()

    def stop(self):
        said, _ = self.jvm.communicate("rest\n", timeout=60)
        self.exceptions = [line for line in said.splitlines() if not line.startswith(("contended ", "rested"))]
        if self.jvm.returncode != 0:
            self.exceptions.append(f"status {self.jvm.returncode}")

    def kill(self):
        self.jvm.kill()
        self.jvm.communicate()


def offset_ns():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def run_count(directory, side=""):
    """How many runs have begun, of those whose name begins so."""
    try:
        with open(directory + "/log", encoding="ascii") as log:
            return sum(" start=" in line and line.startswith("id=" + side) for line in log)
    except FileNotFoundError:
        return 0


class Trial:
    def __init__(self, options, directory, ttl_ms):
        self.options, self.directory = options, directory
        os.makedirs(directory, exist_ok=True)
        port = free_port()
        self.server = Server(directory + "/server", port=port)
        words = ["--compat", "redisson", "--prefix", "", "--ttl", f"{ttl_ms}ms", "--wait", "1m"]
        self.rlocks = [crowd.Contender(f"rlock{i}", self.server.url, directory, KEY, words, lambda _: HOLD_MS, options.seed)
                       for i in range(options.contenders)]
        self.new_service = lambda name: Service(options.client, name, port, directory, ttl_ms)
        self.services = [self.new_service(f"service{i}") for i in range(options.contenders)]

    def run(self, meanwhile):
        crowd.start(self.services)
        try:
            crowd.start(self.rlocks)
            meanwhile(self)
        finally:
            crowd.stop(self.rlocks)
            for service in self.services:
                service.stop()
            self.server.close()
        self.runs, found, summary = crowd.judge(self.directory)
        self.waits = {side: sorted((run.start - run.arrival) / 1e6 for run in self.runs.values() if run.id.startswith(side))
                      for side in ("rlock", "service")}
        print(f"runs {len(self.runs)}, overlaps {summary['overlap']}, " + ", ".join(
            f"{side} {len(waits)} with p50 {waits[len(waits) // 2]:.1f}, longest {waits[-1]:.0f} ms"
            for side, waits in self.waits.items()) + f", statuses {dict(crowd.statuses(self.rlocks))}", flush=True)
        return found + [f"{s.name}: {line}" for s in self.services for line in s.exceptions]


def contend(options, directory):
    trial = Trial(options, directory, 30_000)
    wrong = trial.run(lambda t: until(lambda: run_count(directory) >= options.cycles, "all the cycles", options.cycles))
    wrong += [f"status {status}: {said}" for status, said in crowd.ends(trial.rlocks) if status != 0]
    for side, waits in trial.waits.items():
        if waits[-1] > options.max_wait:
            wrong.append(f"{side}: waited {waits[-1]:.0f} ms")
    return wrong


def kill(options, directory):
    chance = random.Random(options.seed)
    killed = []

    def is_back(before):
        return all(run_count(directory, side) > count for side, count in before.items())

    def kill_some(trial):
        for i in range(options.kills):
            before = {side: run_count(directory, side) for side in ("rlock", "service")}
            until(lambda: is_back(before), f"a run of each side before kill {i}", ATTEMPT_S)  # noqa: B023
            time.sleep(chance.uniform(0, 0.1))
            at = chance.randrange(options.contenders)
            if i % 2 == 0:
                trial.rlocks[at].rlock.kill()
                killed.append(trial.rlocks[at].name)
                continue
            trial.services[at].kill()
            killed.append(trial.services[at].name)
            trial.services[at] = trial.new_service(f"service{at}.{i}")
            trial.services[at].start()
        before = {side: run_count(directory, side) for side in ("rlock", "service")}
        until(lambda: is_back(before), "a run of each side after the last kill", ATTEMPT_S)

    trial = Trial(options, directory, TTL_MS)
    wrong = trial.run(kill_some)
    wrong += [f"status {status}: {said}" for status, said in crowd.ends(trial.rlocks) if status not in (0, -9)]
    print(f"killed {len(killed)}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("client")
    parser.add_argument("--cycles", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--contenders", type=int, default=3)
    parser.add_argument("--max-wait", type=float, default=1000, help="ms")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--keep", help="work there, and leave it")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    directory = options.keep or tempfile.mkdtemp(prefix="redisson.")
    wrong = []
    if options.cycles:
        wrong += contend(options, directory + "/cycles")
    if options.kills:
        wrong += kill(options, directory + "/kills")
    return crowd.finish(wrong, directory, options.keep)


if __name__ == "__main__":
    sys.exit(main())
