#!/usr/bin/env python3
"""Faults that come in the midst of a run and stay: the command must be dead before the server gives its lock away.

    deadlines.py [--rounds N] [--seed N] [--ttl MS] [--jobs N] [--tls]

Each round tries, at a random moment of a run, replies that are delayed by up to two ttls, that drip
a byte at a time, or that never come; a server that takes connections and is silent, that reads
nothing, that refuses; each also under a storm of signals, and every other one with a command that
ends at nothing but SIGKILL. One kind answers slowly, but in time, until it falls silent: there a deadline
counted from the reply would be too late. The command would run for six ttls. lane.py
says what is wrong with a run; so is one that ends otherwise than with 79, unless its reply was delayed
by less than its lease can bear. With --tls, all of it happens to TLS, and the handshake of a connection that is made in the
midst of a run drips too. Exits 1 where anything was wrong.
"""

import argparse
import random
import signal
import sys

from lane import Field


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ttl", type=int, default=600)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--tls", action="store_true")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    ttl = options.ttl

    def work():
        for _ in range(options.rounds):
            for storm in (False, True):
                for faults in ([f"delay down {chance.randint(ttl // 2, 2 * ttl)}"],
                               [f"delay both {chance.randint(ttl // 2, 2 * ttl)}"],
                               [f"drip down {chance.randint(20, 60)}"], ["silent down"], ["silent up"], ["silent"],
                               ["blackhole"], ["refuse", "cut-now"], ["silent", "cut-now"],
                               *([[f"drip down {chance.randint(20, 60)}", "cut-now"]] if options.tls else [])):
                    yield faults, chance.randint(100, 2 * ttl), storm, chance.random() < 0.5, []
            # Several, because silence that falls between a renewal and its answer shows nothing.
            for _ in range(6):
                yield ["silent"], chance.randint(ttl // 2, 2 * ttl), False, True, [f"delay down {ttl // 6 - 8}"]

    def do(lane, item):
        faults, at_ms, storm, stubborn, before = item
        # The fault, or the end of the lease on a busy machine, may come before rlock has started the command.
        for _ in range(5):
            status, wrong = lane.run(faults, 6 * ttl, at_ms, storm, stubborn, before)
            if status not in (69, -signal.SIGKILL) or wrong:
                break
        if status != 79:
            wrong.append(f"ended with {status}")
        return status, wrong

    with Field(options) as field:
        return field.work_off(work(), do)


if __name__ == "__main__":
    sys.exit(main())
