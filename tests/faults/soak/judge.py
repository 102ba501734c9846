"""What was wrong with a round of contenders.

    overlap    two commands of two locks at once, a fence that fell, an update of the unguarded counter lost
    outlived   a nested command alive when the rlock around it had ended
    late       a command alive when the server had given its lock away: a direct look at the key, every few ms, had
               shown that the token was not (or no more) there
    slow       a command that lived on for more than 100 ms after a SIGKILL of its rlock
    stalled    nobody ran for more than a second though somebody waited, and nothing had happened in the meantime
    storm      more commands of one token than its leases can explain
    wrong      an exit status that allowed() below does not allow, a run that never ended, a command started twice or
               started though rlock said that it did not get the lock
    revived    a token in the key again after it had gone and its command had started (before that, a waiter that
               missed its turn may get another)
    shortened  the key's expiry moved back while the same token held it
    leaked     keys left for good, or the lock still held, when all had ended; processes left over; another database

Every instant used against rlock is a sure bound: a death is put at the last heartbeat, a loss at the arrival of the
reply that showed it. A server that lost its memory, or was replaced by another, promises nothing about the locks it held:
whom it forgot is judged by the end of the lease last seen alone, and the overlaps that come of it are counted apart, as
forgiven, unless the contenders ask for --grace or --replicas. A stall is looked for where the servers are well.
"""

import bisect

import checker
import stalls
from trials import unguarded
from stage import boottime_ns

FINDINGS = ("overlap", "outlived", "late", "slow", "stalled", "storm", "wrong", "revived", "shortened", "leaked")
GRACE_MS = 100
STOPS = ("stop-rlock", "stop-group", "stop-both", "stop-nested")


class Judgement:
    """Adds to the findings of the contest. Keeps what the report shows: commands, margins_ms, deaths_ms, unsure, idle_ms."""

    def __init__(self, contest):
        self.contest, self.find = contest, contest.find
        self.margins_ms, self.deaths_ms, self.unsure = [], [], []
        self.forgives = not any(line.startswith(("grace", "replicas")) for line in contest.options.set)
        with open(contest.directory + "/log") as log:
            lines = log.readlines()
        self.commands, broken = checker.read_log(lines, contest.directory + "/beats")
        for line in broken:
            self.find("wrong", None, boottime_ns(), line)
        self.of_run = {}
        for command in sorted(self.commands.values(), key=lambda each: each.start):
            self.of_run.setdefault(self.run_of(command).name, []).append(command)
        self.together(list(self.commands.values()))
        for command in self.commands.values():
            self.death(command, self.run_of(command))
        for run in contest.runs:
            self.outlived(run)
            why = allowed(run, self.of_run.get(run.name, []), contest)
            if why:
                self.find("wrong", run, run.ended, why)
        self.histories()
        self.storms()
        self.idle_ms = []
        if contest.weather in ("calm", "clocks") or contest.topology == "single" and contest.weather != "network":
            self.idle_ms = stalls.judge(contest, self.of_run)

    def run_of(self, command):
        return self.contest.by_name[command.id.partition(":")[0]]

    def forgotten(self, start, end):
        """The times between these at which memory was lost."""
        return [(since, until) for since, until in self.contest.wiped if since <= end and until >= start]

    def together(self, commands):
        for a, b, ns in checker.overlaps(commands):
            forgotten = self.forgotten(a.start, b.start)
            if forgotten and self.forgives and a.last() <= self.lease_end(a, forgotten):
                self.contest.forgiven.append(f"{b.id} beside {a.id}")
                continue
            self.find("overlap", self.run_of(a), b.start,
                      f"{b.id} started {ns / 1e6:.1f} ms before {a.id} was last alive ({self.run_of(a).fate()})")
        for a, b in checker.fence_regressions(commands):
            self.find("overlap", self.run_of(b), b.start, f"fence {b.fence} of {b.id} after {a.fence} of {a.id}")
        for a, b in checker.lost_updates(commands):
            if not (self.forgives and self.forgotten(a.start, b.start)):
                self.find("overlap", self.run_of(b), b.start, f"{a.id} and {b.id} both wrote {b.wrote}")

    def lease_end(self, command, forgotten):
        """When its lease may have ended at the latest, of which a server that was replaced may alone have known."""
        seen = self.contest.watch.lease_end(command.token) or 0
        if not self.contest.owners:
            return seen
        return max([seen, *(until + self.run_of(command).ttl_ms * 1_000_000 for _, until in forgotten)])

    def death(self, command, run):
        last = command.last()
        lost = self.contest.watch.loss(command.token, command.start, last)
        # A server may forget between the grant and the command's first line, and is seen without the key before it is
        # noted to be well again.
        if lost and not self.forgotten(run.begun, lost + 10**9):
            self.find("late", run, last, f"{command.id} alive {(last - lost) / 1e6:.1f} ms after the key was seen "
                                         f"without its token ({run.fate()})")
        if run.struck and run.strike == "kill-rlock":
            ms = (last - run.struck) / 1e6
            # Below a command whose rlock had no guard yet, nobody reaches.
            if run.shape != "plain" and unguarded(run):
                return
            self.deaths_ms.append(ms)
            if ms > GRACE_MS:
                self.find("slow", run, last, f"{command.id} lived {ms:.1f} ms after its rlock ({run.fate()})")
        elif command.end is None and not (run.struck and run.strike in (
                "kill-command", "term-rlock", "kill-nested", "term-nested", "kill-both")):
            end = self.contest.watch.lease_end(command.token)
            if end is not None:
                self.margins_ms.append((end - last) / 1e6)
                if end < last and not lost:
                    self.unsure.append(f"{command.id} alive {(last - end) / 1e6:.1f} ms after the expiry last seen")

    def outlived(self, run):
        """With a kill of rlock the guard has its 100 ms; a kill of both is not promised to reach further down. A nested run
        that comes when the outer one has released has a lock of its own."""
        if not run.shape.startswith("nested") or run.strike == "kill-both" and run.struck:
            return
        grace = GRACE_MS if run.struck and run.strike == "kill-rlock" else 5
        for command in self.of_run.get(run.name, []):
            ms = (command.last() - run.ended) / 1e6
            own = (self.contest.watch.first_seen(command.token) or command.start) > run.ended
            if ms > grace and not own:
                self.find("outlived", run, command.last(), f"{command.id} alive {ms:.1f} ms after the rlock around it "
                                                           f"({run.fate()})")

    def histories(self):
        starts = {}
        for command in sorted(self.commands.values(), key=lambda each: each.start):
            starts.setdefault(command.token, command.start)
        for kind, found in zip(("revived", "shortened"), self.contest.watch.histories(starts)):
            for when, text in found:
                # A holder takes its lock back from a server that forgot it; of several servers one may do so at any time.
                if not self.forgotten(when - 60 * 10**9, when) and self.contest.topology != "redlock":
                    self.find(kind, None, when, text)

    def storms(self):
        """Three renewals a lease, a heartbeat a second, and twice as many for retries; a storm has hundreds a second."""
        for run in self.contest.runs:
            seconds = (run.ended - run.begun) / 1e9
            bound = 100 + 8 * seconds + 12 * 1000 * seconds / run.ttl_ms
            for token in {command.token for command in self.of_run.get(run.name, [])}:
                count = self.contest.scripts.get(token, 0) / (len(self.contest.field.servers)
                                                              if self.contest.topology == "redlock" else 1)
                if count > bound:
                    self.find("storm", run, run.ended, f"{count} commands in {seconds:.1f} s ({run.fate()})")

    # --- what happened around a finding -------------------------------------------------------

    def trace(self, run, when):
        """(ms relative to it, text) of what was near."""
        contest, around = self.contest, 4_000_000_000
        lines = contest.watch.around(when - around, when + around // 4)
        logs = [(proxy.log, f"proxy {number} ") for number, proxy in enumerate(contest.proxies())]
        for path, who in (*logs, (contest.directory + "/notes", "")):
            with open(path) as log:
                for line in log:
                    at, _, text = line.strip().partition(" ")
                    if when - around <= int(at) <= when + around // 4:
                        lines.append((int(at), who + text))
        for other in contest.runs:
            if other is run or other.ended and abs(other.ended - when) < around // 4:
                lines += [(other.begun, f"rlock {other.name} begins"),
                          (other.ended, f"rlock {other.name} ends with {other.status}")]
        for command in self.commands.values():
            if command.start <= when + around // 4 and command.last() >= when - around:
                lines += [(command.start, f"{command.id} starts, {command.token}, fence {command.fence}"),
                          (command.last(), f"{command.id} " + ("ends" if command.end else "last alive"))]
        return [((at - when) / 1e6, text) for at, text in sorted(lines)]


def faults_met(contest, run):
    """The kinds of faults that a run can have met."""
    met = {kind for kind, start, end in contest.befell if start < run.ended and end > run.begun}
    if contest.hits:
        hits = []
        for proxy in contest.proxies():
            with open(proxy.log) as log:
                hits += [(int(at), rest[0]) for at, what, *rest in map(str.split, log) if what == "hit"]
        hits.sort()
        first = bisect.bisect_left(hits, (run.begun, ""))
        met |= {kind for _, kind in hits[first:bisect.bisect(hits, (run.ended, "~"))]}
    return met | ({run.strike} if run.struck else set())


def allowed(run, commands, contest):
    """Why the exit status of a run is not one that rlock may give; None where it is.

        the command's own   it ran to its end
        69, 75              the server was not reached, the lock not obtained: nothing ran
        79                  the lock was lost
                            Where network and server had no faults at all, only a stop of rlock explains 69 and 79 (it
                            may outlast -w), or a machine so busy that it let our own watch wait for a fifth of the ttl,
                            or of -w
        143                 TERM was sent to rlock, or its own where the command was done before;
                            -15, which is 143 to a shell, where rlock was just starting
        137                 the command was killed by us; -9, rlock was, or it stood still until its lease ended (R43)
        125                 rlock failed between lock and command; only where its guard was killed
    """
    stood_still = contest.watch.longest_gap_ms(run.begun, run.ended) > min(run.ttl_ms, run.wait_ms) / 5
    quiet = not contest.hits and not contest.befell and not stood_still
    struck = run.strike if run.struck else None
    status = run.status
    started, ended = bool(commands), bool(commands) and all(command.end is not None for command in commands)
    text = (f"status {status}; command " + (f"ended with {run.exit_code}" if ended else "started" if started else
                                            "never started") +
            f", {run.fate()}: {(run.errors.strip().splitlines() or [''])[-1]}")
    if len(commands) > (2 if run.shape.endswith("-two") else 1):
        return f"started its command {len(commands)} times"
    if status is None:
        return None  # it hung; that has been found
    own = {"nested-left": 0, "nested-two": 0, "export-two": 0}.get(run.shape, run.exit_code)
    if status == own and (ended or run.shape.startswith(("nested", "export")) and (struck or not quiet)):
        return None
    if status == 69 and quiet and struck not in STOPS:
        return text
    if status in (69, 75) and not started:
        return None
    if status == 79 and (not quiet or struck in STOPS):
        return None
    if status == 143 and struck in ("term-rlock", "term-nested") or (
            status == -15 and struck == "term-rlock" and not started):
        return None
    if status == 137 and struck in ("kill-command", "kill-nested"):
        return None
    if status == -9 and (struck in ("kill-rlock", "kill-both", *STOPS) or stood_still):
        return None
    if status == 125 and struck in ("kill-guard", "stop-guard") and not ended:
        return None
    # What a nested run met, its shell passes on.
    if run.shape.startswith(("nested", "export")) and not quiet and status in (69, 75, 79, 125):
        return None
    return text
