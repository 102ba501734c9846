#!/usr/bin/env python3
"""Contenders for several keys at once: each run names some of five keys, in a random order.

    several_keys.py [--topology single] [--seconds 10] [--contenders 12] [--ttl 1000] [--kills 0] [--shared 0] [--seed N]
                    [--keep]

--kills: how many rlocks a second are killed, a third of them with TERM. --shared: which part of the runs is shared. Wrong is what checker.py finds (two commands that
share a key beside each other, a fence that does not grow), a command that was stopped (79), a run that was never served
(-w is 60 s: a deadlock would last), and a key that is still held a ttl after the last of them ended.
"""

import argparse
import contextlib
import os
import random
import signal
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import contenders as crowd  # noqa: E402
from topologies import TOPOLOGIES  # noqa: E402

KEYS = ["north", "east", "south", "west", "centre"]


class Contender(crowd.Contender):
    shared = 0

    def words(self):
        is_shared = self.chance.random() < self.shared
        self.environment["WORKER_COUNTER"] = "none"  # one would not be enough
        self.environment["WORKER_MODE"] = "s" if is_shared else "x"
        first, *others = self.chance.sample(KEYS, self.chance.choice([1, 2, 2, 3, 3, 4, 5]))
        return [*self.options, *(["-s"] if is_shared else []), *(f"--with={key}" for key in others), first]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topology", choices=TOPOLOGIES, default="single")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--contenders", type=int, default=12)
    parser.add_argument("--ttl", type=int, default=1000, help="ms")
    parser.add_argument("--kills", type=float, default=0, help="a second")
    parser.add_argument("--shared", type=float, default=0)
    parser.add_argument("--seed", type=int, default=random.randrange(10000))
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    directory = tempfile.mkdtemp(prefix="several_keys.")
    runs = directory + "/run"
    os.makedirs(runs)
    with contextlib.ExitStack() as stack:
        field = stack.enter_context(TOPOLOGIES[options.topology](directory + "/servers"))
        words = ["-t", f"{options.ttl}ms", "-w", "60s"]
        if options.topology == "redlock":  # a server that is young does not vote
            words.append("--grace=1s")
            time.sleep(2 + options.ttl / 1000)
        contenders = [Contender(f"c{number}", field.url, runs, None, words, lambda chance: chance.uniform(0, 20),
                                options.seed) for number in range(options.contenders)]
        Contender.shared = options.shared
        crowd.start(contenders)
        over = threading.Event()
        timer = threading.Timer(options.seconds, over.set)
        timer.start()
        killed = crowd.kill_some(contenders, options.kills, over, options.seed)
        over.wait()
        crowd.stop(contenders)
        time.sleep(options.ttl / 1000 + 0.2)
        wrong = [f"{key} is still held" for key in KEYS for server in field.servers_of("rlock:" + key)
                 if server.redis("EXISTS", "rlock:" + key)]
        by_id, violations, summary = crowd.judge(runs)
        ends = {0, -signal.SIGKILL, -signal.SIGTERM, 128 + signal.SIGTERM} if options.kills else {0}
        wrong += violations + [f"status {status}: {said}" for status, said in crowd.ends(contenders) if status not in ends]
        if killed == 0 and len({run.key for run in by_id.values()}) < len(KEYS):
            wrong.append("not every key was held")
        print(*(f"{name}={value}" for name, value in summary.items() if name != "fifo"), f"killed={killed}",
              *(f"status_{code}={n}" for code, n in sorted(crowd.statuses(contenders).items())))
    return crowd.finish(wrong, directory, options.keep)


if __name__ == "__main__":
    sys.exit(main())
