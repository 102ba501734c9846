#!/usr/bin/env python3
"""What a client of etcd may believe of answers that come late, and what comes of requests that do. No root is needed.

    late_answers.py [--trials renewal,acquire,requests]

A run speaks to one of three members through gateway_tap.py, all others to the members themselves.
    renewal     the answer to a renewal is on its way for seconds, and then the member is silent: the command is dead before the
                lease that was asked for may be over, and so before the next one starts
    acquire     the same of the answer to the grant of an acquire
    requests    each flight of a run in turn is held up until the run has ended, and arrives then: it makes no entry
So whoever counts a lease from the answer is found by the first two, and by the third whoever asks for an entry together with
its lease, or does not end that lease. Ends with "N trials, N wrong"; status 1 where anything was, or nothing was to be seen.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
from ensembles import ENSEMBLES  # noqa: E402
from gateway_tap import HOLD, LOSE, PASS, Tap  # noqa: E402
from servers import until  # noqa: E402
from stalled_leader import BEATS, beats  # noqa: E402

RLOCK = os.environ.get("RLOCK", "rlock")
# A command dies a little more than a second before its lease may end: late by much more than that is for sure too late. A try
# to renew has a sixth of the ttl for it, behind one that had no answer in 2 s; a grant at the beginning 2 s.
RENEWAL_TTL, RENEWAL_DELAY = 24, 3.5
ACQUIRE_TTL, ACQUIRE_DELAY = 5, 1.7
TRIES = 3
MOST_FLIGHTS = 20  # of a short run


def start(url, ttl, key, log, words=""):
    return subprocess.Popen([RLOCK, "run", "-q", "--server", url, "--ttl", f"{ttl}s", "--kill-after", "100ms", "--wait", "5m",
                             "--connect-timeout", "5s", key, "--", "sh", "-c", words + BEATS % log],
                            stdin=subprocess.DEVNULL)


class OneLateAnswer:
    """A rule: the answer to the next grant comes late. `last` is the flight whose answer is the last that comes: that one, or
    what asks for an entry behind it. A flight whose client does not wait for so long counts for nothing."""

    def __init__(self, delay):
        self.delay, self.granted, self.last, self.is_over = delay, None, None, False

    def __call__(self, flight):
        if self.is_over:
            return LOSE
        if self.granted is None or self.granted.answered_at is None:
            if flight.is_grant():
                flight.delay, self.granted, self.last = self.delay, flight, flight
            return PASS
        if b"request_put" in flight.data and not flight.is_grant() and self.last is self.granted:
            self.last = flight
            return PASS
        self.is_over = True
        return LOSE


def attempt(field, key, logs, ttl, rule, is_renewal):
    """When the first command was alive for the last time, and the next one for the first time; None where the first one did not
    come to have its lock."""
    processes = []
    with Tap(field.servers[0].host, field.servers[0].port) as tap:
        tap.rule = (lambda _: PASS) if is_renewal else rule
        try:
            # It ends by SIGKILL alone, as late as may be.
            processes.append(start(f"etcd://{tap.address}", ttl, key, logs[0], "trap '' TERM; "))
            until(lambda: beats(logs[0]) or rule.is_over, "the first command")
            processes.append(start(field.url, ttl, key, logs[1]))
            if is_renewal:
                until(lambda: len(field.entries(key)) == 2, "a waiter")
                tap.rule = rule
            until(lambda: beats(logs[1]), "the next command", 10 * ttl)
            # It may last beside the next one.
            if beats(logs[0]):
                processes[0].wait()
            return (beats(logs[0])[-1], beats(logs[1])[0]) if beats(logs[0]) else None
        finally:
            tap.rule = lambda _: PASS
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait()


def late_answer(field, directory, kind, ttl, delay):
    """What was wrong. On a busy machine there may be too little left of a lease to start anything."""
    for number in range(TRIES):
        rule = OneLateAnswer(delay)
        key = f"{kind}{number}"
        seen = attempt(field, key, [f"{directory}/{key}.{who}" for who in ("first", "next")], ttl, rule, kind == "renewal")
        if seen is None or not rule.is_over:
            continue
        last, after = (at - rule.granted.passed_at - ttl for at in seen)
        print(f"{kind}, s from the end of the lease: the first lived until {last:+.2f}, the next from {after:+.2f} on",
              flush=True)
        return [f"{kind}: the first command outlived its lease"] * (last > 0) + [f"{kind}: two at once"] * (last > after)
    return [f"{kind}: nothing was to be seen in {TRIES} tries"]


def late_requests(field):
    """What was wrong. A flight may be a read, or end something: then there is nothing to be seen."""
    wrong = []
    for number in range(1, MOST_FLIGHTS):
        key = f"request{number}"
        with Tap(field.servers[0].host, field.servers[0].port) as tap:
            held = []

            def rule(flight, tap=tap, number=number, held=held):
                if len(tap.flights) != number:
                    return PASS
                held.append(flight)
                return HOLD

            tap.rule = rule
            done = subprocess.run([RLOCK, "run", "-q", "--server", f"etcd://{tap.address}", "--ttl", "10m", "--wait", "5m",
                                   "--connect-timeout", "1m", key, "true"], stdin=subprocess.DEVNULL, check=False)
            if not held:
                return wrong if number > 3 else [*wrong, f"a run has {number - 1} flights"]
            before = field.entries(key)
            tap.deliver(held[0])
            left = field.entries(key)
        paths = [line.split()[1].decode() for line in held[0].data.split(b"\r\n") if line.startswith(b"POST ")]
        print(f"flight {number}, {' '.join(paths)}: the run ended with {done.returncode}, left {before}, then {left}",
              flush=True)
        wrong += [f"flight {number} has made an entry for nobody"] * bool(left)
    return [*wrong, "a run had no end of flights"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", default="renewal,acquire,requests")
    trials = parser.parse_args().trials.split(",")
    directory, wrong = tempfile.mkdtemp(prefix="late."), []
    try:
        with ENSEMBLES["etcd"](directory + "/members") as field:
            if "renewal" in trials:
                wrong += late_answer(field, directory, "renewal", RENEWAL_TTL, RENEWAL_DELAY)
            if "acquire" in trials:
                wrong += late_answer(field, directory, "acquire", ACQUIRE_TTL, ACQUIRE_DELAY)
            if "requests" in trials:
                wrong += late_requests(field)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    for line in wrong:
        print(line)
    print(f"{len(trials)} trials, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
