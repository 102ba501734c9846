#!/usr/bin/env python3
"""Contenders for one lock on three members of ZooKeeper; those at a follower lose it at the worst of moments.

    answers.py [--rounds 2] [--contenders 3] [--ttl 4] [--kinds KIND,...] [--seed N] [--keep DIR] [--release leader|follower]

Some contenders ask the follower alone, through jute_tap.py, and others the other members. Each round takes each kind of
answer: right behind one of them, the follower is cut off from the other members, for one and a half ttl, and goes on answering
its clients. What it says then is not true any more, and nobody may live on that. checker.py judges the intervals: no two
overlap, and each has a larger fence than those before it.

--release: in place of that, the member of these contenders is killed when a release has been asked for and not answered; they
know the other members too. Told: how long it then takes until the next one holds the lock. As root, with namespaces. Ends
with "N wrong"; status 1 where anything was, or nothing ran.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import contenders as crowd  # noqa: E402
import namespaces  # noqa: E402
from ensembles import Zookeeper  # noqa: E402
from jute_tap import Tap  # noqa: E402
from proxy_wire import boottime_ns  # noqa: E402

KEY = "answers"
# Those that a holder and a waiter get again and again; a ping is a waiter's.
KINDS = ("welcome", "create", "children", "exists", "get_data", "set_data", "ping", "multi")
PATIENCE = 60  # seconds, until the chosen answer comes


class Trial:
    def __init__(self, field, tap, options):
        self.field, self.tap, self.options, self.befell = field, tap, options, []

    def aim(self):
        """At a member that is well; it stays the same one as long as it has the same part."""
        self.field.settle()
        able = [self.field.leader()] if self.options.release == "leader" else self.field.followers()
        self.member = next((each for each in able if (each.host, each.port) == self.tap.target), able[0])
        if (self.member.host, self.member.port) != self.tap.target:
            self.tap.go_to(self.member.host, self.member.port)

    def round(self, kind):
        self.aim()
        cut = self.tap.arm(kind, "answered", lambda: self.field.split(self.member))
        if not cut.wait(PATIENCE):
            self.tap.disarm()
            return
        begin = boottime_ns()
        time.sleep(1.5 * self.options.ttl)
        self.field.join(self.member)
        self.befell.append((kind, begin))

    def release(self):
        self.aim()
        killed = self.tap.arm("multi", "asked", self.member.kill)
        if not killed.wait(PATIENCE):
            self.tap.disarm()
            return
        begin = boottime_ns()
        time.sleep(self.options.ttl)
        self.member.start()
        self.befell.append(("release", begin))


def gaps(runs, begins):
    """For each of these instants the time from there, or from the end of the run that then was, to the next start; s."""
    found = []
    for begin in begins:
        starts = [run.start for run in runs if run.start > begin]
        last = max([run.last() for run in runs if run.start <= begin], default=begin)
        if starts:
            found.append(max(0, min(starts) - max(begin, last)) / 1e9)
    return found


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--contenders", type=int, default=3, help="at the follower, and as many elsewhere")
    parser.add_argument("--ttl", type=int, default=4)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--keep", help="work there, and leave it")
    parser.add_argument("--release", choices=("leader", "follower"))
    return parser.parse_args()


def start(field, tap, directory, options):
    """The first half at the tap."""
    others = [member for member in field.servers if (member.host, member.port) != tap.target]
    at_tap = f"zookeeper://{tap.address}{field.root}"
    if options.release:
        at_tap = at_tap.replace(field.root, "," + ",".join(other.address for other in others) + field.root)
    words = ["--ttl", f"{options.ttl}s", "--kill-after", "200ms", "--wait", "5m"]
    holds = (20,) * 6 + (1500 * options.ttl,) * (0 if options.release else 3)
    found = [crowd.Contender(f"c{i}", at_tap if i < options.contenders else field.url_of(*others), directory, KEY, words,
                             lambda chance: chance.choice(holds), options.seed) for i in range(2 * options.contenders)]
    crowd.start(found)
    return found


def main():
    options = parse_options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    print(f"seed {options.seed}", flush=True)
    namespaces.isolate()
    directory = options.keep or tempfile.mkdtemp(prefix="answers.")
    os.makedirs(directory, exist_ok=True)
    chance = random.Random(options.seed)
    kinds = options.kinds.split(",")
    with Zookeeper(directory + "/members", f"maxSessionTimeout={1500 * options.ttl}", isolated=True) as field:
        first = field.followers()[0]
        with Tap(first.host, first.port) as tap:
            trial = Trial(field, tap, options)
            contenders = start(field, tap, directory, options)
            try:
                for _ in range(options.rounds):
                    for kind in [None] if options.release else chance.sample(kinds, len(kinds)):
                        trial.release() if options.release else trial.round(kind)
            finally:
                crowd.stop(contenders, field.settle)
        wrong = judge(field, directory, options, trial, contenders)
    return crowd.finish(wrong, directory, options.keep)


def judge(field, directory, options, trial, contenders):
    runs, wrong, summary, left = crowd.judge_beside_trouble(field, KEY, directory, options.ttl, contenders)
    kinds = ["release"] if options.release else options.kinds.split(",")
    for kind in kinds:
        begins = [begin for what, begin in trial.befell if what == kind]
        found = gaps(runs.values(), begins)
        wrong += [] if begins else [f"never happened: {kind}"]
        print(f"{kind} {len(begins)}, then free for, s: " + " ".join(f"{gap:.2f}" for gap in found))
    for said in sorted({said for _, said in crowd.ends(contenders) if said}):
        print("said:", said)
    stopped = sum(run.end is None for run in runs.values())
    print(f"holds {len(runs)}, overlaps {summary['overlap']}, fences backwards {summary['fence']}, stopped {stopped}, "
          f"left {len(left)}, statuses {dict(crowd.statuses(contenders))}")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
