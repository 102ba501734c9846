#!/usr/bin/env python3
"""Contenders for one lock of a Cluster, whose slot is moved all the time, key by key, and whose masters hand over and die.

    reshards.py [--seconds 20] [--contenders 8] [--ttl 2000] [--befalls move,failover,kill] [--seed N]

Every move stops in between for a random time, sometimes for longer than the ttl. Wrong is what checker.py finds, a command
that was stopped (79) or never got its turn, and a key that was made where the move wanted to put it. A master that is
killed may take with it what it had not told its replica: overlaps, fences and losses are counted then, and are not wrong.
"""

import argparse
import contextlib
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
import checker  # noqa: E402
import contenders as crowd  # noqa: E402
from resp import ServerError  # noqa: E402
from servers import until  # noqa: E402
from topologies import Cluster  # noqa: E402

KEY = "resharded"
WIRE_KEY = "rlock:" + KEY


class Trial:
    def __init__(self, field, directory, options):
        self.field, self.directory, self.options = field, directory, options
        self.slot = field.slot_of(WIRE_KEY)
        self.over = time.monotonic() + options.seconds
        self.statuses, self.befell, self.wrongs = Counter(), Counter(), []
        os.makedirs(directory + "/run")

    def hold(self, chance):
        return chance.uniform(1, 30) if chance.random() < 0.9 else chance.uniform(0.5, 2) * self.options.ttl

    # --- what befalls the Cluster -------------------------------------------------------------

    def pause(self, rng):
        time.sleep(rng.uniform(0, 0.05) if rng.random() < 0.9 else rng.uniform(0.5, 1.5) * self.options.ttl / 1000)

    def move(self, rng):
        field, slot = self.field, self.slot
        owner = field.owner(slot)
        target = rng.choice([node for node in field.servers if node is not owner and node.role() == "master"])
        source = field.begin_move(slot, target)
        self.pause(rng)
        while keys := source.redis("CLUSTER", "GETKEYSINSLOT", slot, 100):
            words = ["MIGRATE", "127.0.0.1", target.port, "", 0, 5000]
            some = rng.sample(keys, rng.randint(1, len(keys)))
            try:
                source.redis(*words, "KEYS", *some)
            except ServerError as error:
                if "BUSYKEY" not in str(error):
                    raise
                self.wrongs.append(f"{error}: one of {some}")
                source.redis(*words, "REPLACE", "KEYS", *some)
            self.pause(rng)
        field.end_move(slot, source, target)

    def failover(self, rng):
        # Within two node timeouts of the last election the masters do not vote again, and the clients of a master that
        # tries all the same are blocked for 5 s.
        time.sleep(2.5)
        self.field.failover(WIRE_KEY)

    def kill(self, rng):
        victim = self.field.owner(self.slot)
        victim.kill()
        until(lambda: self.field.owner(self.slot) not in (None, victim), "a new master")
        time.sleep(rng.uniform(0, 1))
        victim.start()
        self.field.settle()

    def befall(self):
        rng = random.Random(f"{self.options.seed}/befall")
        kinds = self.options.befalls.split(",")
        while time.monotonic() < self.over:
            kind = rng.choice(kinds)
            try:
                getattr(self, kind)(rng)
                self.befell[kind] += 1
                if kind != "move":
                    self.field.settle()
            except Exception as error:  # noqa: BLE001 - whatever it was, the contenders go on
                self.wrongs.append(f"{kind}: {error!r}")
                return
            time.sleep(rng.uniform(0, 0.3))

    def run(self):
        words = ["-t", f"{self.options.ttl}ms", "-k", "100ms", "-w", "5m"]
        contenders = [crowd.Contender(f"c{number}", self.field.url, self.directory + "/run", KEY, words, self.hold,
                                      self.options.seed) for number in range(self.options.contenders)]
        crowd.start(contenders)
        self.befall()
        crowd.stop(contenders)
        self.statuses = crowd.statuses(contenders)
        self.wrongs += [f"status {status}: {said}" for status, said in crowd.ends(contenders) if status != 0]

    def judge(self):
        with open(self.directory + "/run/log") as log:
            lines = list(log)
        violations, summary = checker.check(lines, self.directory + "/run/beats")
        if self.befell["kill"]:
            self.wrongs = [wrong for wrong in self.wrongs if not wrong.startswith("status 79")]
        else:
            self.wrongs += violations
        runs = sorted(checker.read_log(lines, self.directory + "/run/beats")[0].values(), key=lambda each: each.start)
        gaps = [(after.start - before.last()) / 1e6 for before, after in zip(runs, runs[1:])]
        overtaken = len(checker.fifo_breaches(runs, int(50e6)))
        for wrong in self.wrongs:
            print(wrong)
        print(" ".join(f"{name}={value}" for name, value in summary.items() if name != "fifo"), f"overtaken={overtaken}",
              f"longest_gap_ms={max(gaps, default=0):.0f}", *(f"{kind}s={n}" for kind, n in sorted(self.befell.items())),
              *(f"status_{code}={n}" for code, n in sorted(self.statuses.items())))
        return 1 if self.wrongs or not runs or not self.befell else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--contenders", type=int, default=8)
    parser.add_argument("--ttl", type=int, default=2000, help="ms")
    parser.add_argument("--befalls", default="move,failover")
    parser.add_argument("--seed", type=int, default=random.randrange(10000))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    directory = tempfile.mkdtemp(prefix="reshards.")
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        field = stack.enter_context(Cluster(directory + "/nodes"))
        trial = Trial(field, directory, options)
        trial.run()
        return trial.judge()


if __name__ == "__main__":
    sys.exit(main())
