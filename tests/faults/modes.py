#!/usr/bin/env python3
"""Contenders for one lock that several may hold: readers and writers, or the users of a number of slots.

    modes.py [--slots N] [--topology single] [--seconds 10] [--contenders 50] [--writers 0.2] [--ttl 5000] [--kills 0]
             [--seed N] [--keep]

Without --slots each run is that of a writer with the chance --writers, else that of a reader. --kills: how many rlocks a
second are killed, a third of them with TERM. Wrong is what contenders.py says of every trial (anybody beside a writer, more
than N in N slots, a fence that does not grow, ...), and one in which never as many held the lock as may.
"""

import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import contenders as crowd  # noqa: E402

KEY = "shelf"
# ms that a command holds its slot at least: longer than a busy machine takes to start one, so that the slots fill.
MIN_HOLD = 700


class Contender(crowd.Contender):
    """Chooses its mode anew for each run."""

    def __init__(self, slots, writers, *rest):
        super().__init__(*rest)
        self.slots, self.writers = slots, writers
        if slots:
            shorter = self.hold
            self.hold = lambda chance: MIN_HOLD + shorter(chance)

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
    parser = crowd.trial_options(__doc__, contenders=50)
    parser.add_argument("--slots", type=int, default=0)
    parser.add_argument("--writers", type=float, default=0.2)
    options = parser.parse_args()

    def contender(name, url, directory, *rest):
        return Contender(options.slots, options.writers, name, url, directory, KEY, *rest)

    def look(runs, _):
        most = most_at_once(runs)
        return [f"never more than {most} held it at once"] if most < (options.slots or 2) else [], [f"at_once={most}"]

    return crowd.contend(options, [KEY], contender, look)


if __name__ == "__main__":
    sys.exit(main())
