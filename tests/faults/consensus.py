#!/usr/bin/env python3
"""Contenders for one lock on three members of a store that a majority decides, one of which is in trouble every other while.

    consensus.py [--store etcd] [--seconds 60] [--contenders 8] [--ttl 4] [--kinds KIND,...] [--every 8]
                 [--seed N] [--keep DIR] [--observer]

Each member is in a network namespace and on a disk of its own (as root; elsewhere they are only killed and stopped). What
befalls is told in troubles.py, and
    renew       somebody renews the lock of whoever holds it, each time through another member: a session moves there
    clients     a third of the rlocks are stopped, for up to twice the ttl
Each lasts for half of --every, with the leader struck two times of three, and then half of it is quiet. Contenders run
commands of 5 ms to one and a half ttl under the lock, one after the other. checker.py judges the intervals: no two
overlap, and each has a larger fence than those before it. Nothing of an entry may be left a ttl after the end. Told: how
many of each befell, commands that were stopped since their lease could not be renewed, and the longest time in which nobody
held the lock, by what befell then. --observer: a fourth member that has no vote (ZooKeeper). Ends with "N wrong"; status 1
where anything was, or nothing ran.
"""

import argparse
import collections
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import contenders as crowd  # noqa: E402
import namespaces  # noqa: E402
from ensembles import ENSEMBLES  # noqa: E402
from proxy_wire import boottime_ns  # noqa: E402
from servers import until  # noqa: E402
from troubles import ISOLATED, Troubles  # noqa: E402

KEY = "consensus"
QUIET = "nothing"


class Trouble(Troubles):
    """What befalls the members and their clients, one thing after the other; `log` has (kind, whom, from, to), ns."""

    def __init__(self, field, contenders, options):
        super().__init__(field, random.Random(options.seed))
        self.contenders, self.options, self.log = contenders, options, []

    def befall(self, kind, seconds):
        begin = boottime_ns()
        own = {"clients": self.clients, "renew": lambda: self.renew(seconds)}.get(kind)
        name = own() if own else super().befall(kind, seconds)
        self.log.append((kind, name, begin, boottime_ns()))

    def renew(self, seconds):
        """A lock that has gone meanwhile is not renewed, and that is all."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for entry in self.field.entries(KEY)[:1]:
                token = entry.rpartition("/")[2].partition("-")[0]
                subprocess.run([os.environ["RLOCK"], "renew", "--ttl", f"{self.options.ttl}s", "--server",
                                self.field.url_of(self.chance.choice(self.field.servers)), KEY, token],
                               stderr=subprocess.DEVNULL, check=False)
        return "holder"

    def clients(self):
        rlocks = [contender.rlock for contender in self.contenders if contender.rlock]
        chosen = self.chance.sample(rlocks, max(1, len(rlocks) // 3))
        self.during(lambda: [rlock.send_signal(signal.SIGSTOP) for rlock in chosen],
                    lambda: [rlock.send_signal(signal.SIGCONT) for rlock in chosen],
                    self.chance.uniform(0.1, 2) * self.options.ttl)
        return "a third"

    def go_on(self, end):
        while True:
            for kind in self.chance.sample(self.options.kinds, len(self.options.kinds)):
                time.sleep(max(0, min(self.options.every / 2, end - time.monotonic())))
                if time.monotonic() >= end:
                    return
                self.befall(kind, self.options.every / 2)


def gaps(runs, trouble):
    """The longest time without a holder, seconds, by what befell meanwhile."""
    worst, free_since = collections.Counter(), None
    for run in sorted(runs, key=lambda run: run.start):
        if free_since is not None:
            kinds = {f"{kind} {whom}" for kind, whom, begin, end in trouble.log if begin < run.start and end > free_since}
            for kind in kinds or {QUIET}:
                worst[kind] = max(worst[kind], (run.start - free_since) / 1e9)
        free_since = max(free_since or 0, run.last())
    return worst


def judge(field, directory, options, trouble, contenders):
    runs, wrong, summary, left = crowd.judge_beside_trouble(field, KEY, directory, options.ttl, contenders)
    wrong += ["nothing ran"] if len(runs) < options.contenders else []
    met = collections.Counter(kind for kind, *_ in trouble.log)
    stopped = sum(run.end is None for run in runs.values())
    print(", ".join(f"{count} {kind}" for kind, count in sorted(met.items())) + f"; holds {len(runs)}, overlaps "
          f"{summary['overlap']}, fences backwards {summary['fence']}, stopped {stopped}, left {len(left)}")
    print("statuses " + ", ".join(f"{status}: {n}" for status, n in sorted(crowd.statuses(contenders).items())))
    print("longest without a holder, s: " + ", ".join(f"{kind} {seconds:.2f}" for kind, seconds in
                                                      sorted(gaps(runs.values(), trouble).items())))
    return wrong


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", choices=list(ENSEMBLES), default="etcd")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--contenders", type=int, default=8)
    parser.add_argument("--ttl", type=int, default=4)
    parser.add_argument("--kinds", help="all that can be here")
    parser.add_argument("--every", type=float, default=8, help="seconds")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--keep", help="work there, and leave it")
    parser.add_argument("--observer", action="store_true")
    options = parser.parse_args()
    can_step = ENSEMBLES[options.store].can_step()
    possible = [*ENSEMBLES[options.store].trouble, *(["replace"] if options.store == "etcd" else []),
                *(["clock"] if can_step else []), "clients", "renew"]
    if not namespaces.is_possible():
        possible = [kind for kind in possible if kind not in ISOLATED]
    options.kinds = options.kinds.split(",") if options.kinds else possible
    if "clock" in options.kinds and not can_step:
        parser.error("the wall clock of these members cannot step: see make_etcd.sh")
    return options


def main():
    options = parse_options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    print(f"seed {options.seed}", flush=True)
    isolated, disks = any(kind in ("split", "cut") for kind in options.kinds), "disk" in options.kinds
    if isolated:
        namespaces.isolate()
    if disks:
        namespaces.isolate_mounts()
    directory = options.keep or tempfile.mkdtemp(prefix="consensus.")
    os.makedirs(directory, exist_ok=True)
    holds = (5,) * 14 + (20,) * 4 + (100, 500, 1500 * options.ttl)
    ensemble = ENSEMBLES[options.store]
    how = {"observers": 1} if options.observer else {}
    with ensemble(directory + "/members", *ensemble.trial_options, isolated=isolated, disks=disks,
                  clocks="clock" in options.kinds, **how) as field:
        contenders = [crowd.Contender(f"c{i}", field.url, directory, KEY,
                                      ["--ttl", f"{options.ttl}s", "--kill-after", "200ms", "--wait", "5m"],
                                      lambda chance: chance.choice(holds), options.seed)
                      for i in range(options.contenders)]
        trouble = Trouble(field, contenders, options)
        try:
            crowd.start(contenders)
            trouble.go_on(time.monotonic() + options.seconds)
            until(lambda: all(member.answers() for member in field.servers), "every member's answer")
        finally:
            crowd.stop(contenders)
        wrong = judge(field, directory, options, trouble, contenders)
    return crowd.finish(wrong, directory, options.keep)


if __name__ == "__main__":
    sys.exit(main())
