#!/usr/bin/env python3
"""Contenders for one lock on a server that forgets everything, again and again.

    restarts.py [--restarts 10] [--grace] [--contenders 8] [--ttl SECONDS] [--seed N] [--keep DIR]

The server persists nothing. It is killed at a random moment, is away for up to --away seconds, and is started again.
Contenders run commands of 50 ms to 2 s under the lock, one after the other. checker.py judges the intervals.

With --grace each has the ttl as its --grace: no two commands may overlap, no command may be stopped, none may fail, and
fences grow. Without it whoever comes first after a restart has the lock: overlaps are counted and no fault; a command may be
stopped only where another began between the restart and its end. Ends with one line of counts, and "N wrong"; status 1
where anything was.
"""

import argparse
import os
import random
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import contenders as crowd  # noqa: E402
from proxy_wire import boottime_ns  # noqa: E402
from servers import Server, until  # noqa: E402

KEY = "restarts"


def hold(chance):
    return chance.choice((50, 200, 500, 1000, 2000))


def is_held(server):
    return server.redis("EXISTS", f"rlock:{KEY}") == 1


def judge(directory, options, restarts, ends):
    runs, found, summary = crowd.judge(directory)
    stopped = [run for run in runs.values() if run.end is None]
    if options.grace:
        wrong = found + [f"stopped: {run.id}" for run in stopped]
        wrong += [f"status {status}: {said}" for status, said in ends if status != 0]
    else:
        wrong = [line for line in found if line.startswith("broken")]
        wrong += [f"stopped, though nobody else had come: {run.id}" for run in stopped if not beaten(run, runs, restarts)]
        wrong += [f"status {status}: {said}" for status, said in ends if status not in (0, 79)]
    reclaimed = sum("reclaimed it" in said for _, said in ends)
    lost = sum(status == 79 for status, _ in ends)
    print(f"restarts {len(restarts)}, runs {len(runs)}, reclaimed in {reclaimed}, overlaps {summary['overlap']}, "
          f"stopped {len(stopped)}, told that they lost the lock {lost}")
    return wrong


def beaten(run, runs, restarts):
    """Whether another began after a restart, while this one ran."""
    return any(run.start < restart < other.start <= run.last() + 10**9
               for restart in restarts for other in runs.values() if other is not run)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--restarts", type=int, default=10)
    parser.add_argument("--grace", action="store_true")
    parser.add_argument("--contenders", type=int, default=8)
    parser.add_argument("--ttl", type=int, default=5)
    parser.add_argument("--away", type=float, default=1.0)
    parser.add_argument("--gap", type=float, default=4.0, help="seconds between two restarts, at most")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--keep", help="work there, and leave it")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    chance = random.Random(options.seed)
    directory = options.keep or tempfile.mkdtemp(prefix="restarts.")
    os.makedirs(directory, exist_ok=True)
    server = Server(directory + "/server")
    words = ["--ttl", f"{options.ttl}s", "--kill-after", "200ms", "--wait", "5m"]
    words += ["--grace", f"{options.ttl}s"] if options.grace else []
    contenders = [crowd.Contender(f"c{i}", server.url, directory, KEY, words, hold, options.seed)
                  for i in range(options.contenders)]
    restarts = []
    try:
        crowd.start(contenders)
        for _ in range(options.restarts):
            # While somebody holds it: else the grace would make each wait, and nothing be at stake.
            until(lambda: is_held(server), "the first run after a restart", 120)
            time.sleep(chance.uniform(0, options.gap))
            server.restart(chance.uniform(0, options.away))
            restarts.append(boottime_ns())
    finally:
        crowd.stop(contenders)
        server.close()
    wrong = judge(directory, options, restarts, crowd.ends(contenders))
    return crowd.finish(wrong, directory, options.keep)


if __name__ == "__main__":
    sys.exit(main())
