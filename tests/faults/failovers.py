#!/usr/bin/env python3
"""Contenders for one lock while its master fails over, again and again.

    failovers.py [--failovers N] [--contenders N] [--ttl MS] [--kinds kill,command,freeze] [--pause S]
                 [--seed N] [--allow-overlaps] [--keep DIR] [-- OPTION...]

Starts a master, two replicas and three Sentinels, and contenders that get the lock by `rlock run OPTION...` as often as they
can, each time with a worker.py that holds it for a random time. A failover is

    kill      SIGKILL of the master, which comes back empty when another has its place
    command   SENTINEL FAILOVER: the old master still takes writes until the Sentinels tell it, 10 s later
    freeze    SIGSTOP of the master, until another has its place, and for up to a second more
    partition the same, but the master runs on, cut off in a network namespace of its own; only as root

Afterwards, all contend for up to two seconds beside the old master, before it is made a replica. checker.py then says which
commands overlapped. What rlock ended with is counted too:

    lost      79: the lock was lost, and its command stopped
    wrong     any status but 0, 69, 75 and 79

Exits 1 where anything was found; with --allow-overlaps not for overlaps and what follows from them (fences, updates):
without --grace or --replicas a failover may forget a holder.
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import contenders as crowd  # noqa: E402
import namespaces  # noqa: E402
from checker import check  # noqa: E402
from servers import Server, until  # noqa: E402
from topologies import Sentinel  # noqa: E402

KEY = "contended"


def new_master(field, before):
    def is_there():
        master = field.master()
        return master not in (None, before) and master.role() == "master"
    until(is_there, "a new master", 120)


def kill(field, _):
    before = field.master()
    before.kill()
    new_master(field, before)
    before.start()


def command(field, _):
    field.failover()


def away(field, chance, begin, end):
    before = field.master()
    begin(before)
    new_master(field, before)
    time.sleep(chance.uniform(0, 1))
    end(before)


def freeze(field, chance):
    away(field, chance, Server.stop, Server.resume)


def partition(field, chance):
    away(field, chance, Server.cut, Server.mend)


KINDS = {"kill": kill, "command": command, "freeze": freeze, "partition": partition}


def contend(field, directory, options):
    words = ["-t", f"{options.ttl}ms", "-w", "5m", *options.rlock]
    contenders = [crowd.Contender(f"c{number}", field.url, directory, KEY, words,
                                  lambda chance: chance.choice([10, 30, 100, 300, 1.5 * options.ttl]), options.seed)
                  for number in range(options.contenders)]
    chance, met = random.Random(options.seed), Counter()
    crowd.start(contenders)
    try:
        for number in range(options.failovers):
            kind = chance.choice(options.kinds.split(","))
            time.sleep(chance.uniform(0.2, options.pause))
            try:
                KINDS[kind](field, chance)
            except RuntimeError:
                kind = "none in time"
                for server in field.servers:
                    server.start() if server.process.poll() is not None else server.resume()
                    if server.space:
                        server.mend()
            time.sleep(chance.uniform(0, 2))
            field.rejoin()
            met[kind] += 1
    finally:
        crowd.stop(contenders)
    return contenders, met


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--failovers", type=int, default=5)
    parser.add_argument("--contenders", type=int, default=8)
    parser.add_argument("--ttl", type=int, default=3000, help="ms")
    parser.add_argument("--pause", type=float, default=1.5, help="at most so many seconds between two failovers")
    parser.add_argument("--kinds", default=",".join(kind for kind in KINDS
                                                    if kind != "partition" or namespaces.is_possible()))
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--allow-overlaps", action="store_true")
    parser.add_argument("--keep", help="where to leave what was found")
    parser.add_argument("rlock", nargs="*", help="options of rlock run")
    options = parser.parse_args()
    root = options.keep or tempfile.mkdtemp(prefix="failovers.")
    directory = root + "/work"
    os.makedirs(directory, exist_ok=True)
    began = time.monotonic()
    isolated = "partition" in options.kinds
    if isolated:
        namespaces.isolate()
    with Sentinel(root + "/field", isolated=isolated, down_after_ms=500, failover_timeout_ms=2000) as field:
        contenders, met = contend(field, directory, options)
    with open(directory + "/log") as log:
        violations, summary = check(log, directory + "/beats")
    statuses = crowd.statuses(contenders)
    failed = [(status, said) for status, said in crowd.ends(contenders) if status not in (0, 75)]
    wrong = [f"{status}: {said}" for status, said in failed if status not in (69, 79)]
    with open(root + "/said", "w") as file:
        file.writelines(f"{status}: {said}\n" for status, said in failed)
    for line in violations + wrong:
        print(line)
    print(f"seed {options.seed}, {time.monotonic() - began:.0f} s, failovers " +
          ", ".join(f"{kind} {count}" for kind, count in sorted(met.items())))
    print("runs " + ", ".join(f"{name}={value}" for name, value in summary.items()) + "; statuses " +
          ", ".join(f"{status}: {count}" for status, count in sorted(statuses.items())))
    if not options.keep:
        shutil.rmtree(root, ignore_errors=True)
    by_a_failover = summary["overlap"] + summary["fence"] + summary["lost"] if options.allow_overlaps else 0
    return 1 if len(violations) > by_a_failover or wrong or not statuses[0] else 0


if __name__ == "__main__":
    sys.exit(main())
