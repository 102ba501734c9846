"""Whether a free lock was left lying beside somebody who waits for it (R28, R30), among contenders.

Idle is the lock while no command runs under it. Idle for more than a second, with a living waiter that nobody has struck
and nothing else happening to anybody, it was stalled. What explains more than that: the server away, a lease that
nobody is left to give back, a claim of somebody who was killed or frozen in the queue. On a busy machine a time counts as
much less as a short sleep took longer than it should.
"""

import trials

LIMIT_NS = 1_500_000_000  # the promise, and half a second for a loaded machine to start a worker
STARTING_NS = 500_000_000


def judge(round_, of_run):
    """Adds to the findings; returns the lengths in ms of all idle times beside a waiter."""
    commands = [command for each in of_run.values() for command in each]
    if not commands:
        return []
    busy = [(command.start, command.last()) for command in commands]
    exported = {command.token for name, each in of_run.items() for command in each
                if round_.by_name[name].shape.startswith("export")}
    busy += [(start, end) for token, start, end in round_.watch.holdings() if token in exported]
    busy += [(start, end) for _, start, end in round_.befell]
    busy += explained(round_, of_run)
    waiting = merged([waited(run, of_run) for run in round_.runs])
    idle = intersection(complement(merged(busy), waiting), waiting)
    moments = sorted({when for run in round_.runs for when in (run.struck, run.resumed, run.ended) if when} |
                     {when for times in round_.wiped for when in times})
    lengths = []
    for start, end in idle:
        cuts = [start, *(moment for moment in moments if start < moment < end), end]
        longest = max(b - a for a, b in zip(cuts, cuts[1:]))
        lengths.append(longest / 1e6)
        at = max(b for a, b in zip(cuts, cuts[1:]) if b - a == longest)
        if longest / round_.watch.slowness(at - longest, at) > LIMIT_NS:
            holders = {token for token, a, b in round_.watch.holdings() if a < at and b > at - longest}
            round_.find("stalled", None, at, f"idle for {longest / 1e6:.0f} ms beside a waiter; the key held "
                        + ", ".join(describe(token, of_run, round_) for token in holders))
    return lengths


def describe(token, of_run, round_):
    if token is None:
        return "nothing"
    for name, commands in of_run.items():
        if any(command.token == token for command in commands):
            return f"the token of {name} ({round_.by_name[name].fate()})"
    return "the token of somebody who never started"


def waited(run, of_run):
    """From when it stands in the queue for sure until it runs, is struck, or gives up."""
    until = min([command.start for command in of_run.get(run.name, [])] + [run.ended] +
                ([run.struck] if run.struck else []))
    return run.begun + STARTING_NS, until


def explained(round_, of_run):
    """When the lock was held by somebody who could not give it back."""
    found, owners = [], {}
    for name, commands in of_run.items():
        for command in commands:
            owners[command.token] = round_.by_name[name]
    struck = [(run.struck, run.ended) for run in round_.runs
              if run.struck and run.action() in ("kill", "stop") and run.name not in of_run]
    for token, start, end in round_.watch.holdings():
        owner = owners.get(token)
        if token and owner and (trials.unguarded(owner) or owner.struck and owner.action() == "stop"):
            found.append((start, end))
        if token and not owner and any(a < end for a, b in struck):
            found.append((start, end))
    return found


def merged(intervals):
    found = []
    for start, end in sorted(each for each in intervals if each[0] < each[1]):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def complement(intervals, around):
    """What none of them covers, within the reach of `around`."""
    if not around:
        return []
    edges = [around[0][0], *(edge for interval in intervals for edge in interval), around[-1][1]]
    return [(a, b) for a, b in zip(edges[::2], edges[1::2]) if a < b]


def intersection(these, those):
    return [(max(a, c), min(b, d)) for a, b in these for c, d in those if max(a, c) < min(b, d)]
