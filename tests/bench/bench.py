"""Prints the table. Started by run.sh, which says how."""

import argparse
import datetime
import os
import platform
import re
import shutil
import signal
import sys

import cost
import speed
from shared import Sizes, say
from lab import Lab
from server import Failed

FIGURES = {"P1": speed.p1, "P2": speed.p2, "P3": speed.p3, "P4": speed.p4, "P5": speed.p5,
           "P6": cost.p6, "P7": cost.p7, "P8": cost.p8, "P9": cost.p9, "P10": cost.p10, "P11": speed.p11, "P12": speed.p12}

FOOT = """\
Ratios are rlock's figure to the peer's, each taken within one round, in which all take turns: median (quartiles).
P1 and P3 name medians. A hand-over (P3) goes from the first statement of one command to the first of the next, so it
contains the end of a process, the release, the wake-up and the start of a process. PSS of a crowd shares its program
file among all; alone it does not. Wake-ups are voluntary context switches. setlock becomes its command: a process less
than the others, and nobody to see how it ends."""


def machine(lab: Lab) -> str:
    def line(path: str, pattern: str) -> str:
        try:
            with open(path) as file:
                found = re.search(pattern, file.read(), re.M)
        except OSError:
            found = None
        return found[1].strip() if found else "unknown"

    cores = len(os.sched_getaffinity(0))
    server = lab.redis.info.get("server_name", "redis"), lab.redis.info.get("redis_version", "unknown")
    return (f"{cores} cores of {line('/proc/cpuinfo', r'^model name.*?:(.*)')}, Linux {platform.release()} "
            f"{platform.machine()}, {line('/etc/os-release', r'^PRETTY_NAME=.(.*?).$')}, {' '.join(server)}, "
            f"{datetime.date.today()}.")


def table(rows: list[tuple[str, ...]]) -> str:
    head = [("", "what", "goal", "measured", "ratio"), ("---",) * 5]
    return "".join(f"| {' | '.join(row)} |\n" for row in [*head, *rows])


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run.sh")
    parser.add_argument("scratch", help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="small counts: one or two minutes instead of five to ten")
    parser.add_argument("--only", default=",".join(FIGURES), help="these figures, such as P1,P3")
    parser.add_argument("--save", metavar="FILE", help="write the table there too")
    found = parser.parse_args()
    found.only = found.only.upper().split(",")
    if unknown := set(found.only) - set(FIGURES):
        parser.error(f"no such figure: {', '.join(sorted(unknown))}")
    return found


# The rows, and whether some figure could not be had.
def measure(lab: Lab, chosen: list[str], sizes: Sizes) -> tuple[list[tuple[str, ...]], bool]:
    rows, failed = [], False
    for name in chosen:
        say(name)
        label = f"**{name}**"
        try:
            for row in FIGURES[name](lab, sizes):
                rows.append((label, *row))
                label = ""
        except (Failed, OSError) as error:
            rows.append((label, f"failed: {error}", "", "", ""))
            failed = True
    return rows, failed


def main() -> int:
    chosen = options()
    lab = Lab(chosen.scratch, os.environ.get("RLOCK_BENCH_EXTRA", ""))
    try:
        rows, failed = measure(lab, chosen.only, Sizes(chosen.quick))
        left_out = f"Left out: {', '.join(lab.left_out)}.\n" if lab.left_out else ""
        text = f"{table(rows)}\n{FOOT}\n{left_out}\n{machine(lab)}\n"
    finally:
        lab.close()
    print(text, end="")
    if chosen.save:
        with open(chosen.save, "w") as file:
            file.write(text)
    return 1 if failed else 0


# So that a signal, too, stops the servers and removes the scratch folder.
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, lambda number, _: sys.exit(128 + number))
try:
    sys.exit(main())
finally:
    shutil.rmtree(sys.argv[1])
