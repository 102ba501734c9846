#!/usr/bin/env python3
"""Judge a log of commands that ran under locks.

    checker.py [--beats DIR] [--bound MS] [--fifo] [--fifo-slack MS] LOG

The log has lines of `name=value` words. A line speaks of the run `id`; several lines of one id
are put together, so that a command can write its start when it starts and its end, if it lives
to see it, when it ends. All times are CLOCK_BOOTTIME in ns.

    id=N        which run: one start of one command
    key=K       the lock; runs of different keys have nothing to do with each other ("-")
    mode=x|s|N  exclusive (the default), shared, or one of N slots
    start=T     the command was running at T
    end=T       the command was running at T, and ended by itself right after
    alive=T     the command was running at T; written about a command that was killed
    token=T     of which holder it is; runs of one token are under one lock, a nested one beside the one around it,
                and exclude each other no more than they do themselves
    fence=F     its fencing token
    arrival=T   when it asked for the lock
    wrote=V     the value it wrote to a file that all commands count up without any guard

Other words are ignored. --beats names a directory in which the file `id` holds the last time
the command was alive, as 8 bytes little-endian; the larger of it and `alive` counts.

A run lasts from `start` to the latest time at which it is known to have been alive. For a
command that was killed this is a lower bound of its death, so that every overlap found is one.
A run with nothing but a start lasts --bound MS (0) and is counted in the summary as unknown.

Found, one line each:
    overlap   a run started while an earlier one that excludes it was alive
    crowd     a run of one of N slots started while N others were alive
    fence     an exclusive run has a fence not above those of all runs started before it; a
              shared run or one of slots, not above those of the exclusive ones; a nested run, not that of the one around it
    lost      two runs of two tokens wrote the same value: one update was lost
    fifo      with --fifo: a run started after another that had arrived more than
              --fifo-slack MS (0) later
    broken    a line that cannot be read, or a run without a start

Then a summary; exits 1 where anything was found, 2 where there is no log.
"""

import argparse
import os
import sys
from dataclasses import dataclass

NUMBERS = ("start", "end", "alive", "fence", "arrival", "wrote")


@dataclass
class Run:
    id: str
    key: str = "-"
    mode: str = "x"
    token: str | None = None
    start: int | None = None
    end: int | None = None
    alive: int | None = None
    fence: int | None = None
    arrival: int | None = None
    wrote: int | None = None

    def last(self, bound_ns=0):
        """The latest time at which it is known, or with the bound assumed, to have lived."""
        known = [t for t in (self.end, self.alive) if t is not None]
        return max(known + [self.start]) if known else self.start + bound_ns


def read_log(lines, beats=None):
    """(runs by id, violations found in reading)."""
    runs, violations = {}, []
    for number, line in enumerate(lines, 1):
        try:
            words = dict(word.split("=", 1) for word in line.split())
            if not words:
                continue
            run = runs.setdefault(words["id"], Run(words["id"]))
            run.key = words.get("key", run.key)
            run.mode = words.get("mode", run.mode)
            run.token = words.get("token", run.token)
            for name in NUMBERS:
                if name in words:
                    setattr(run, name, int(words[name]))
        except (ValueError, KeyError):
            violations.append(f"broken: line {number}: {line.strip()!r}")
    for run in runs.values():
        beat = read_beat(beats, run.id) if beats else None
        if beat is not None:
            run.alive = max(beat, run.alive or 0)
        if run.start is None:
            violations.append(f"broken: {run.id} never started")
    return {i: r for i, r in runs.items() if r.start is not None}, violations


def read_beat(directory, run_id):
    try:
        with open(os.path.join(directory, run_id), "rb") as file:
            data = file.read(8)
    except OSError:
        return None
    return int.from_bytes(data, "little") if len(data) == 8 else None


def by_key(runs):
    keys = {}
    for run in sorted(runs, key=lambda r: r.start):
        keys.setdefault(run.key, []).append(run)
    return keys.values()


def together(a, b):
    """Whether both are under one lock."""
    return a.token is not None and a.token == b.token


def excludes(a, b):
    return (a.mode == "x" or a.mode != b.mode) and not together(a, b)


def overlaps(runs, bound_ns=0):
    """(earlier run, later run, ns) for each run that started while one before it, which
    excludes it, was alive; of several such the one that lived longest."""
    found = []
    for ordered in by_key(runs):
        longest = []  # of the runs started so far the one that lived longest, of each mode and token
        for run in ordered:
            rivals = [rival for rival in longest if excludes(rival, run) and run.start < rival.last(bound_ns)]
            if rivals:
                rival = max(rivals, key=lambda each: each.last(bound_ns))
                found.append((rival, run, rival.last(bound_ns) - run.start))
            # Who has ended before this start has ended before each later one.
            longest = [each for each in longest if each.last(bound_ns) > run.start] + [run]
    return found


def crowds(runs, bound_ns=0):
    """(run that started while all slots were held, how many others held one)."""
    found = []
    for ordered in by_key(runs):
        alive = []
        for run in ordered:
            alive = [each for each in alive if each.last(bound_ns) > run.start]
            others = {each.token or each.id for each in alive if not together(each, run)}
            if run.mode.isdigit() and len(others) >= int(run.mode):
                found.append((run, len(others)))
            alive.append(run)
    return found


def fence_regressions(runs):
    """(run with the higher fence, run started after it with one not higher; one under the same lock, with another)."""
    found = []
    for ordered in by_key(runs):
        highest, of_token = {"x": None, "s": None}, {}
        for run in ordered:
            if run.fence is None:
                continue
            outer = of_token.setdefault(run.token, run) if run.token else run
            if outer is not run:
                if outer.fence != run.fence:
                    found.append((outer, run))
                continue
            kind = "x" if run.mode == "x" else "s"
            rivals = [highest["x"]] + ([highest["s"]] if kind == "x" else [])
            rival = max((r for r in rivals if r), key=lambda r: r.fence, default=None)
            if rival and run.fence <= rival.fence:
                found.append((rival, run))
            if not highest[kind] or run.fence > highest[kind].fence:
                highest[kind] = run
    return found


def fifo_breaches(runs, slack_ns=0):
    """(run that came later, run that it overtook)."""
    found = []
    for ordered in by_key(runs):
        latest = None
        for run in ordered:
            if run.arrival is None:
                continue
            if latest and latest.arrival > run.arrival + slack_ns:
                found.append((latest, run))
            if not latest or run.arrival > latest.arrival:
                latest = run
    return found


def lost_updates(runs):
    """(first run that wrote a value, second run that wrote the same)."""
    found = []
    for ordered in by_key(runs):
        writers = {}
        for run in ordered:
            if run.wrote is not None:
                first = writers.setdefault(run.wrote, run)
                if first is not run and not together(first, run):
                    found.append((first, run))
    return found


def check(lines, beats=None, bound_ns=0, fifo=False, fifo_slack_ns=0):
    """(violations as lines, summary as a dict)."""
    runs, violations = read_log(lines, beats)
    all_runs = list(runs.values())
    found = {"overlap": overlaps(all_runs, bound_ns),
             "crowd": crowds(all_runs, bound_ns),
             "fence": fence_regressions(all_runs),
             "lost": lost_updates(all_runs),
             "fifo": fifo_breaches(all_runs, fifo_slack_ns) if fifo else []}
    for a, b, ns in found["overlap"]:
        violations.append(f"overlap: {b.id} started {ns / 1e6:.3f} ms before {a.id} "
                          f"was last alive (key {b.key})")
    for run, others in found["crowd"]:
        violations.append(f"crowd: {run.id} started beside {others} others in {run.mode} slots (key {run.key})")
    for a, b in found["fence"]:
        violations.append(f"fence: {b.id} has {b.fence}, but {a.id}, "
                          f"started before it, has {a.fence}")
    for a, b in found["lost"]:
        violations.append(f"lost: {b.id} wrote {b.wrote}, as {a.id} had")
    for a, b in found["fifo"]:
        violations.append(f"fifo: {b.id} arrived {(a.arrival - b.arrival) / 1e6:.3f} ms "
                          f"before {a.id} and started after it")
    summary = {"runs": len(all_runs),
               "ended": sum(r.end is not None for r in all_runs),
               "killed": sum(r.end is None and r.alive is not None for r in all_runs),
               "unknown": sum(r.end is None and r.alive is None for r in all_runs)}
    summary |= {name: len(list_) for name, list_ in found.items()}
    summary["broken"] = len(violations) - sum(map(len, found.values()))
    return violations, summary


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log")
    parser.add_argument("--beats")
    parser.add_argument("--bound", type=float, default=0, help="ms")
    parser.add_argument("--fifo", action="store_true")
    parser.add_argument("--fifo-slack", type=float, default=0, help="ms")
    options = parser.parse_args()
    try:
        with open(options.log) as file:
            violations, summary = check(file, options.beats, int(options.bound * 1e6),
                                        options.fifo, int(options.fifo_slack * 1e6))
    except OSError as error:
        print(f"checker.py: {error}", file=sys.stderr)
        return 2
    for violation in violations:
        print(violation)
    print(" ".join(f"{name}={value}" for name, value in summary.items()))
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
