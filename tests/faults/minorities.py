#!/usr/bin/env python3
"""Contenders for one lock on five servers, of which up to two are in trouble at any time.

    minorities.py [--seconds 30] [--contenders 8] [--ttl 3] [--seed N] [--keep DIR]
                  [--kinds kill,stop,cut,partition]

No server persists anything. Killed ones come back empty, and do not vote for a ttl and a second; stopped ones, and those
that a partition of the network cuts off (only as root), go on after up to twice the ttl; connections are cut in any number.
Contenders run commands of 5 ms to one and a half ttl under the lock, one after the other. checker.py judges the intervals: no
two commands overlap, each has a larger fence than those before it, none is stopped, and no rlock fails. With --majority up to
all five are in trouble: commands may be stopped then, and rlock may fail, but nothing may overlap. (Fences may then fall back
behind those of servers whose clocks are all that is left, and do not, since all clocks are one.) Ends with one line of
counts, and "N wrong"; status 1 where anything was.
"""

import argparse
import collections
import os
import random
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import contenders as crowd  # noqa: E402
import namespaces  # noqa: E402
from topologies import Redlock  # noqa: E402

KEY = "minorities"


class Trouble:
    """What befalls the servers: never more than `most` at once, counting those that are too young to vote."""

    def __init__(self, servers, options, chance, log):
        self.servers, self.options, self.chance = servers, options, chance
        self.most = len(servers) if options.majority else (len(servers) - 1) // 2
        self.until = dict.fromkeys(servers, 0)
        self.pending = []  # (when, what)
        self.starts = dict.fromkeys(servers, 0)  # of commands, when it came back; 0: it was never away
        self.log = log
        self.met = collections.Counter()

    def step(self):
        now = time.monotonic()
        due = [entry for entry in self.pending if entry[0] <= now]
        self.pending = [entry for entry in self.pending if entry[0] > now]
        for _, end in due:
            end()
        if self.chance.random() < 0.3:
            return
        kind = self.chance.choice(self.options.kinds.split(","))
        well = [server for server in self.servers if self.is_well(server, now)]
        if kind == "cut":
            server = self.chance.choice(self.servers)
            if self.is_well(server, now):
                server.redis("CLIENT", "KILL", "TYPE", self.chance.choice(("normal", "pubsub")), "SKIPME", "yes")
                self.met[kind] += 1
            return
        if len(self.servers) - len(well) >= self.most:
            return
        server = self.chance.choice(well)
        self.met[kind] += 1
        self.starts.pop(server, None)
        if kind == "kill":
            away = self.chance.uniform(0, 1)
            server.kill()
            self.pending.append((now + away, server.start))
            self.until[server] = now + away + self.options.ttl + 2.5
        else:
            asleep = self.chance.uniform(0.05, 2 * self.options.ttl)
            begin, end = (server.stop, server.resume) if kind == "stop" else (server.cut, server.mend)
            begin()
            self.pending.append((now + asleep, end))
            self.until[server] = now + asleep + 0.5

    def is_well(self, server, now):
        """Whether it has been back for long enough for a new holder to have its vote: the previous holder may not get it
        again, where it was away for longer than a lease and a waiter was faster."""
        if self.until[server] > now:
            return False
        if self.options.majority:
            return True
        self.starts.setdefault(server, self.count())
        if self.starts[server] and self.count() < self.starts[server] + 2:
            return False
        self.starts[server] = 0
        return True

    def count(self):
        try:
            with open(self.log, encoding="ascii") as log:
                return log.read().count("start=")
        except FileNotFoundError:
            return 0

    def end(self):
        for _, end in self.pending:
            end()


def judge(directory, options, trouble, ends):
    runs, wrong, summary = crowd.judge(directory)
    stopped = [run for run in runs.values() if run.end is None]
    failed = [(status, said) for status, said in ends if status != 0]
    if not options.majority:
        wrong += [f"stopped: {run.id}" for run in stopped]
        wrong += [f"status {status}: {said}" for status, said in failed]
    reclaimed = sum("reclaimed it" in said for _, said in ends)
    met = ", ".join(f"{count} {kind}" for kind, count in sorted(trouble.met.items()))
    print(f"{met}; runs {len(runs)}, reclaimed in {reclaimed}, overlaps {summary['overlap']}, stopped {len(stopped)}, "
          f"failed {len(failed)}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--contenders", type=int, default=8)
    parser.add_argument("--ttl", type=int, default=3)
    parser.add_argument("--kinds", default="kill,stop,cut" + (",partition" if namespaces.is_possible() else ""))
    parser.add_argument("--majority", action="store_true")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--keep", help="work there, and leave it")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    isolated = "partition" in options.kinds
    if not isolated:
        print("no partition of the network")
    if isolated:
        namespaces.isolate()
    chance = random.Random(options.seed)
    directory = options.keep or tempfile.mkdtemp(prefix="minorities.")
    os.makedirs(directory, exist_ok=True)
    contenders = []
    with Redlock(directory + "/servers", isolated=isolated) as field:
        trouble = Trouble(field.servers, options, chance, directory + "/log")
        try:
            time.sleep(options.ttl + 2)  # until all are old enough to vote
            words = ["--ttl", f"{options.ttl}s", "--grace", f"{options.ttl}s", "--kill-after", "200ms", "--wait", "5m"]
            holds = (5,) * 12 + (20,) * 4 + (100, 500, 1500 * options.ttl)
            contenders += [crowd.Contender(f"c{i}", field.url, directory, KEY, words,
                                           lambda chance: chance.choice(holds), options.seed)
                           for i in range(options.contenders)]
            crowd.start(contenders)
            end = time.monotonic() + options.seconds
            while time.monotonic() < end:
                trouble.step()
                time.sleep(chance.uniform(0, 0.3))
        finally:
            crowd.stop(contenders, meanwhile=trouble.end)
    wrong = judge(directory, options, trouble, crowd.ends(contenders))
    return crowd.finish(wrong, directory, options.keep)


if __name__ == "__main__":
    sys.exit(main())
