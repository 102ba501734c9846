#!/usr/bin/env python3
"""Contenders for several keys at once: each run names some of five keys, in a random order.

    several_keys.py [--topology single] [--seconds 10] [--contenders 12] [--ttl 5000] [--kills 0] [--shared 0] [--seed N]
                    [--keep]

--kills: how many rlocks a second are killed, a third of them with TERM. --shared: which part of the runs is shared. Wrong is
what contenders.py says of every trial (two commands that share a key beside each other, a run that was never served: a
deadlock would last, ...), and a key that nobody held.
"""

import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import contenders as crowd  # noqa: E402

KEYS = ["north", "east", "south", "west", "centre"]


class Contender(crowd.Contender):
    def __init__(self, shared, *rest):
        super().__init__(*rest)
        self.shared = shared

    def words(self):
        is_shared = self.chance.random() < self.shared
        self.environment["WORKER_COUNTER"] = "none"  # one would not be enough
        self.environment["WORKER_MODE"] = "s" if is_shared else "x"
        first, *others = self.chance.sample(KEYS, self.chance.choice([1, 2, 2, 3, 3, 4, 5]))
        return [*self.options, *(["-s"] if is_shared else []), *(f"--with={key}" for key in others), first]


def main():
    parser = crowd.trial_options(__doc__, contenders=12)
    parser.add_argument("--shared", type=float, default=0)
    options = parser.parse_args()

    def contender(name, url, directory, *rest):
        return Contender(options.shared, name, url, directory, None, *rest)

    def look(runs, killed):
        return ["not every key was held"] if killed == 0 and len({run.key for run in runs}) < len(KEYS) else [], []

    return crowd.contend(options, KEYS, contender, look)


if __name__ == "__main__":
    sys.exit(main())
