"""What a soak prints: each finding with the load of the machine and what happened around it, then how many of each kind there
were, and how many wrong."""

import os
from collections import Counter

from judge import FINDINGS, faults_met


def where(contest):
    return f"{contest.topology} {contest.weather}"


class Report:
    def __init__(self, show):
        self.show = show
        self.shown, self.statuses = Counter(), Counter()
        self.met, self.runs, self.found = Counter(), Counter(), Counter()
        self.scenes, self.scene_wrongs = Counter(), Counter()
        self.margins, self.deaths, self.idle, self.waits = [], [], [], {}
        self.unsure, self.commands, self.findings, self.forgiven = 0, 0, 0, 0

    def contest(self, contest, judgement):
        """A round, judged."""
        self.met.update(contest.hits)
        self.met.update(kind for kind, _, _ in contest.befell + contest.harmless)
        self.met.update(run.strike for run in contest.runs if run.struck)
        of_run = {}
        for run in contest.runs:
            of_run[run.name] = {*faults_met(contest, run), "shape " + run.shape, where(contest)}
            self.runs.update(of_run[run.name])
            self.statuses[str(run.status)] += 1
        for kind, run, when, text in contest.findings:
            self.findings += 1
            rows = of_run[run.name] if run else {where(contest)}
            self.found.update((row, kind) for row in rows)
            self.found["total", kind] += 1
            name = run.name + ": " if run else ""
            self.print(kind, f"round {contest.seed} {contest.topology} {contest.weather}: {name}{text}")
            if self.shown[kind] <= self.show:
                for ms, line in judgement.trace(run, when):
                    print(f"    {ms:10.1f}  {line}")
                if run and run.errors:
                    print("    " + "\n    ".join(run.errors.strip().split("\n")[-8:]))
        self.runs["total"] += len(contest.runs)
        self.margins += judgement.margins_ms
        self.deaths += judgement.deaths_ms
        self.idle += judgement.idle_ms
        self.unsure += len(judgement.unsure)
        self.commands += len(judgement.commands)
        self.forgiven += len(contest.forgiven)

    def scene(self, kind, seed, wrongs, waits_ms):
        """A small trial of its own: what was wrong with it, and how long each free lock lay there."""
        self.scenes[kind] += 1
        self.scene_wrongs[kind] += bool(wrongs)
        self.waits.setdefault(kind, []).extend(waits_ms)
        for text in wrongs:
            self.findings += 1
            self.print(kind, f"--replay {seed}: {text}")

    def print(self, kind, text):
        self.shown[kind] += 1
        if self.shown[kind] <= self.show:
            print(f"{kind}, load {os.getloadavg()[0]:.0f}: {text}", flush=True)

    def end(self, seconds, seed):
        """Prints the tables. 1 where anything was found, or nothing was done; else 0."""
        if self.runs["total"]:
            print("\nA run counts in each row of what met it; a finding, as its run.\n")
            print(f"{'':<18}{'met':>6}{'runs':>7}" + "".join(f"{kind:>10}" for kind in FINDINGS))
            self.met["total"] = sum(self.met.values())
            for row in [*sorted((set(self.met) | set(self.runs)) - {"total"}), "total"]:
                print(f"{row.replace(' ', ':'):<18}{self.met[row]:>6}{self.runs[row]:>7}" +
                      "".join(f"{self.found[row, kind]:>10}" for kind in FINDINGS))
            print("\nstatus   " + ", ".join(f"{status}: {count}" for status, count in sorted(self.statuses.items())))
        if self.scenes:
            print(f"\n{'scene':<44}{'met':>6}{'wrong':>7}   free beside a waiter, ms: median, most")
            for kind, count in sorted(self.scenes.items()):
                waits = sorted(self.waits[kind])
                spread = f"{waits[len(waits) // 2]:8.0f}{waits[-1]:8.0f}" if waits else ""
                print(f"{kind:<44}{count:>6}{self.scene_wrongs[kind]:>7}   {spread}")
        if self.margins:
            margins = sorted(self.margins)
            print(f"\nmargin   {len(margins)} commands stopped; last alive before the expiry last seen: least "
                  f"{margins[0]:.1f} ms, median {margins[len(margins) // 2]:.1f} ms; {self.unsure} after it, where a "
                  "renewal may have gone unseen")
        if self.deaths:
            print(f"deaths   {len(self.deaths)} commands whose rlock was killed: last alive at most "
                  f"{max(self.deaths):.1f} ms after it")
        if self.idle:
            print(f"idle     {len(self.idle)} times free beside a waiter, at most {max(self.idle):.0f} ms")
        if self.forgiven:
            print(f"forgiven {self.forgiven} overlaps of a holder whom a server had forgotten")
        met = self.met["total"] + sum(self.scenes.values())
        print(f"in all   {self.findings} wrong; {met} faults, {self.runs['total']} runs, {self.commands} commands, "
              f"{sum(self.scenes.values())} scenes in {seconds:.0f} s; seed {seed}")
        return 1 if self.findings or not met + self.runs["total"] else 0
