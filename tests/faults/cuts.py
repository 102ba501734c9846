#!/usr/bin/env python3
"""Cut the connection at every byte of an acquire, renew, release exchange, in either direction.

    cuts.py [--step N] [--from N] [--ttl MS] [--jobs N] [--resets] [--tls]

Runs `$RLOCK run -t TTL KEY -- worker.py` through proxy.py again and again, each time with the
connection cut after one byte more (--step bytes more) than the time before, counted from the
first byte of the run; then in the other direction. With --resets over loopback TCP, by a reset; with
--tls over TLS, its handshake included.
A run that loses its connection makes a new one, which is not cut. lane.py says what is wrong with
a run. Prints a line per wrong run and a summary; exits 1 where anything was wrong.
"""

import argparse
import json
import sys

from lane import Field

HOLD_MS = 320


def bytes_of_a_run(lane):
    """Bytes in either direction of a run without a cut, once the scripts are cached."""
    for _ in range(2):
        before = json.loads(lane.control("stats"))
        status, wrong = lane.run([], HOLD_MS)
        if status != 0 or wrong:
            raise SystemExit(f"a run without a fault: status {status}, {wrong}")
        after = json.loads(lane.control("stats"))
    return {direction: after["bytes_" + direction] - before["bytes_" + direction] for direction in ("up", "down")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--ttl", type=int, default=600)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--resets", action="store_true")
    parser.add_argument("--tls", action="store_true")
    options = parser.parse_args()
    with Field(options) as field:
        size = bytes_of_a_run(field.lanes[0])
        print(f"a run sends {size['up']} bytes and receives {size['down']}", flush=True)
        cuts = [f"cut {direction} {offset}" + (" rst" if options.resets else "") for direction in ("up", "down")
                for offset in range(options.first, size[direction], options.step)]
        return field.work_off(cuts, lambda lane, cut: lane.run([cut], HOLD_MS))


if __name__ == "__main__":
    sys.exit(main())
