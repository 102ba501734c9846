#!/usr/bin/env python3
"""Contenders for one lock that several may hold: readers and writers, or the users of a number of slots.

    modes.py [--slots N] [--topology single] [--seconds 10] [--contenders 50] [--writers 0.2] [--ttl 1000] [--kills 0]
             [--seed N] [--keep]

Without --slots each run is that of a writer with the chance --writers, else that of a reader. --kills: how many rlocks a
second are killed, a third of them with TERM. Wrong is what checker.py finds (anybody beside a writer, more than N in N
slots, a fence that does not grow), a command that was stopped (79), a run that was not served within 60 s, a key that is
still held a ttl after the last of them ended, and a trial in which never as many held the lock as may.
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

KEY = "shelf"


class Contender(crowd.Contender):
    """Chooses its mode anew for each run."""

    def __init__(self, slots, writers, *rest):
        super().__init__(*rest)
        self.slots, self.writers = slots, writers

    def words(self):
        self.environment.pop("WORKER_MODE", None)
        mode = []
        if self.slots:
            self.environment["WORKER_MODE"] = str(self.slots)
            mode = [f"--slots={self.slots}"]
        elif self.chance.random() >= self.writers:
            self.environment["WORKER_MODE"] = "s"
            mode = ["--shared"]
        return [*self.options, *mode, self.key]


def most_at_once(runs):
    """How many of the same mode, not x, ran at some moment."""
    changes = [(when, step) for run in runs if run.mode != "x" for when, step in ((run.start, 1), (run.last(), -1))]
    most = now = 0
    for _, step in sorted(changes):
        now += step
        most = max(most, now)
    return most


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slots", type=int, default=0)
    parser.add_argument("--topology", choices=TOPOLOGIES, default="single")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--contenders", type=int, default=50)
    parser.add_argument("--writers", type=float, default=0.2)
    parser.add_argument("--ttl", type=int, default=1000, help="ms")
    parser.add_argument("--kills", type=float, default=0, help="a second")
    parser.add_argument("--seed", type=int, default=random.randrange(10000))
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    directory = tempfile.mkdtemp(prefix="modes.")
    runs = directory + "/run"
    os.makedirs(runs)
    with contextlib.ExitStack() as stack:
        field = stack.enter_context(TOPOLOGIES[options.topology](directory + "/servers"))
        words = ["-t", f"{options.ttl}ms", "-w", "60s"]
        if options.topology == "redlock":  # a server that is young does not vote
            words.append("--grace=1s")
            time.sleep(2 + options.ttl / 1000)
        contenders = [Contender(options.slots, options.writers, f"c{number}", field.url, runs, KEY, words,
                                lambda chance: chance.uniform(0, 20), options.seed)
                      for number in range(options.contenders)]
        crowd.start(contenders)
        over = threading.Event()
        timer = threading.Timer(options.seconds, over.set)
        timer.start()
        killed = crowd.kill_some(contenders, options.kills, over, options.seed)
        over.wait()
        crowd.stop(contenders)
        time.sleep(options.ttl / 1000 + 0.2)
        wrong = [f"{KEY} is still held" for server in field.servers_of("rlock:" + KEY)
                 if server.redis("EXISTS", "rlock:" + KEY)]
        by_id, violations, summary = crowd.judge(runs)
        ends = {0, -signal.SIGKILL, 128 + signal.SIGTERM} if options.kills else {0}
        wrong += violations + [f"status {status}: {said}" for status, said in crowd.ends(contenders) if status not in ends]
        most = most_at_once(by_id.values())
        if most < (options.slots or 2):
            wrong.append(f"never more than {most} held it at once")
        print(*(f"{name}={value}" for name, value in summary.items() if name != "fifo"), f"killed={killed}",
              f"at_once={most}", *(f"status_{code}={n}" for code, n in sorted(crowd.statuses(contenders).items())))
    return crowd.finish(wrong, directory, options.keep)


if __name__ == "__main__":
    sys.exit(main())
