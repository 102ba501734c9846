#!/usr/bin/env python3
"""A master and half of its clients are cut off together from the other half, its replicas and its Sentinels.

    split_brain.py [--splits N] [--contenders N] [--ttl MS] [--max-lag S] [--down-after MS] [--allow-overlaps] [--seed N]
                   [-- OPTION...]

Each side is a network of its own, so both go on: the clients beside the old master, which know it by its address, and those
who ask a Sentinel and are given a new master. All contend for one lock by `rlock run OPTION...`, each time with a worker.py.
`--max-lag` is min-replicas-max-lag, with min-replicas-to-write 1; 0: neither is set. Only as root.

Exits 1 where commands overlapped, but for --allow-overlaps, or where a side got no lock before the split, or the Sentinels'
side none behind it.
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import contenders as crowd  # noqa: E402
import namespaces  # noqa: E402
from servers import until  # noqa: E402
from topologies import Sentinel  # noqa: E402

KEY = "contended"


def served(side):
    return sum(status == 0 for status, _ in crowd.ends(side))


def split(field, number, directory, options, chance):
    """One split; returns the contenders, and what was wrong."""
    before = field.master()
    words = ["-t", f"{options.ttl}ms", "-w", "2s", *options.rlock]

    def contenders(name, url, enter=()):
        return [crowd.Contender(f"{name}{number}.{each}", url, directory, KEY, words,
                                lambda chance: chance.choice([10, 30, 100, options.ttl / 2, 1.5 * options.ttl]),
                                options.seed, enter) for each in range(options.contenders // 2)]

    beside, beyond = contenders("beside", before.url, before.space.enter), contenders("beyond", field.url)
    crowd.start(beside + beyond)
    until(lambda: served(beside) and served(beyond), "a run on each side", 60)
    time.sleep(chance.uniform(0, options.ttl / 1000))
    before.cut()
    # A Sentinel that stood still trusts nobody for 30 s.
    until(lambda: field.master() not in (None, before) and field.master().role() == "master", "a new master", 300)
    had = served(beyond)
    time.sleep(2 * options.ttl / 1000 + options.max_lag)
    crowd.stop(beside + beyond)
    wrong = [] if served(beyond) > had else [f"split {number}: nobody got the lock from the new master"]
    before.mend()
    field.rejoin()
    return beside + beyond, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--contenders", type=int, default=8)
    parser.add_argument("--ttl", type=int, default=2000, help="ms")
    parser.add_argument("--max-lag", type=int, default=2, help="s")
    parser.add_argument("--down-after", type=int, default=5000, help="ms")
    parser.add_argument("--allow-overlaps", action="store_true")
    parser.add_argument("--seed", type=int, default=random.randrange(10000))
    parser.add_argument("rlock", nargs="*", help="options of rlock run")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    namespaces.isolate()
    directory = tempfile.mkdtemp(prefix="split_brain.")
    os.makedirs(directory + "/run")
    settings = ["--min-replicas-to-write", "1", "--min-replicas-max-lag", str(options.max_lag)] if options.max_lag else []
    chance, everybody, wrong = random.Random(options.seed), [], []
    with Sentinel(directory + "/field", *settings, isolated=True, down_after_ms=options.down_after,
                  failover_timeout_ms=4000) as field:
        for number in range(options.splits):
            more, found = split(field, number, directory + "/run", options, chance)
            everybody += more
            wrong += found
    _, violations, summary = crowd.judge(directory + "/run")
    print(f"splits={options.splits}", *(f"{name}={value}" for name, value in summary.items() if name != "fifo"),
          *(f"status_{code}={n}" for code, n in sorted(crowd.statuses(everybody).items())))
    shutil.rmtree(directory, ignore_errors=True)
    wrong += [] if options.allow_overlaps else violations
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
