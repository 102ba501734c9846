#!/usr/bin/env python3
"""Counts stalls: how long a lock is free while somebody lives who waits for it.

    stalls.py [--store redis] [--tries 10] [--waiters 1,4] [--bound 1.0] [--events NAME,...]

For each event, with each number of living waiters behind, it is tried again and again: waiters queue up, the event
comes, and from the moment at which the lock is free (or was handed to one who is frozen) the time is taken until a
command of theirs runs. Printed: the worst of each. A stall is more than --bound, or one claim lease more where the one
woken was frozen, in seconds of an idle machine: on a busy one a time counts as much less as a short sleep took longer than
it should meanwhile. Where the order is promised, nobody may have been overtaken. Ends with "N tries, N stalls, N
overtaken"; status 1 where there was any.
"""

import argparse
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from constants import constant  # noqa: E402
from ensembles import ENSEMBLES  # noqa: E402
from proc import children  # noqa: E402
from servers import Server, until  # noqa: E402

CLAIM = constant("claim") / 1000  # seconds
WATCHERS = constant("watchers")
# Of claims, for each of several who are frozen: who lives behind them looks a moment after each has ended.
ABOUT_ONE = 1.1
# Where the queue is lost, the server knows nobody but who has asked since. So the order is kept where nobody asks by chance
# before the first does: heartbeats come 5 s after the last look, and all have looked this lately. (Of many, somebody always
# asks.) Whom the first calls has a tenth of a second to come back before anybody is let in.
QUIET = 3
FEW = 8
NAP = 0.005  # seconds
RLOCK = os.environ.get("RLOCK", "rlock")


class Field:
    """One try: a key of its own, whoever holds it, and its waiters."""

    def __init__(self, server, directory, number):
        self.server = server
        self.key = f"stall{number}"
        self.lock = f"rlock:{self.key}"
        self.queue = f"rlock:q:{{{self.lock}}}"
        self.log = f"{directory}/{self.key}"
        open(self.log, "w", encoding="utf-8").close()
        self.processes = []
        self.names = []
        self.turn = 0.0  # seconds that a command lasts

    def rlock(self, *words, **how):
        return subprocess.Popen(
            [RLOCK, *words], env={**os.environ, "RLOCK_SERVER": self.server.url}, **how
        )

    def hold(self):
        """A holder that is no run: whose lock stays until somebody gives it back, or for as long as a hundred may take to queue
        up on a busy machine."""
        process = self.rlock("acquire", "--ttl", "10m", self.key, stdout=subprocess.PIPE)
        self.token = process.communicate()[0].decode().strip()

    def hold_in_run(self, ttl):
        """A holder that renews its lease, however long the others take to queue up."""
        process = self.rlock("run", "--ttl", ttl, self.key, "--", "sh", "-c", f"touch {self.log}.held; exec sleep 1000")
        self.processes.append(process)
        until(lambda: os.path.exists(self.log + ".held"), "the start of the holder")
        return process

    def release(self):
        self.rlock("release", self.key, self.token).wait()

    def hold_foreign(self):
        self.server.redis("SET", self.lock, "theirs", "PX", 600_000)

    def delete_lock(self):
        self.server.redis("DEL", self.lock)

    def waiting(self):
        return self.server.redis("ZCARD", self.queue)

    def await_end_of_lease(self):
        until(lambda: self.server.redis("PTTL", self.lock) <= 2, "the end of the lease")

    @staticmethod
    def claims_of_dead(_count):
        """How many may pass where so many at the head are dead: the server knows that they are gone."""
        return 0

    def queue_up(self, *names):
        """One after the other, each queued before the next starts."""
        for name in names:
            before = self.waiting()
            command = f"date +%s.%N\\ {name} >>{self.log}; sleep {self.turn}"
            self.processes.append(
                self.rlock("run", "-w", "5m", self.key, "--", "sh", "-c", command, stderr=subprocess.DEVNULL)
            )
            self.names.append(name)
            until(lambda: self.waiting() > before, "a waiter's arrival")

    def settle(self):
        """Until the first of the queue watch the lock's key, and nobody's heartbeat is near."""
        until(self.is_settled, lambda: f"a quiet moment of {len(self.names)} waiters ({self.unrest()}, {self.waiting()} in "
                                       f"the queue, {len(self.started())} have had their turn)")

    def clients(self):
        """Those that wait, and those of them that watch."""
        lines = self.server.redis("CLIENT", "LIST").splitlines()
        clients = [dict(word.split("=", 1) for word in line.split()) for line in lines]
        waiters = [client for client in clients if client["sub"] != "0"]
        # One that watches has looked once more.
        return waiters, [one for one in waiters if "t" in one["flags"] and one["cmd"] == "evalsha"]

    def is_settled(self):
        waiters, watchers = self.clients()
        last_look = max(int(one["idle"]) for one in waiters)
        return len(watchers) == min(len(self.names), WATCHERS) and (len(waiters) > FEW or last_look <= QUIET)

    def unrest(self):
        waiters, watchers = self.clients()
        return f"{len(watchers)} watch, s since each has asked: {[int(one['idle']) for one in waiters]}"

    def started(self):
        with open(self.log, encoding="utf-8") as log:
            return [(float(at), name) for at, name in (line.split() for line in log)]

    def end(self):
        for process in self.processes:
            for number in (signal.SIGCONT, signal.SIGKILL):
                process.send_signal(number)
            process.wait()
        self.forget()

    def forget(self):
        self.server.redis("FLUSHALL")


class OrderedField(Field):
    """The same on a store that a majority decides. All who hold or wait are entries of one queue, and nobody is foreign."""

    def hold_foreign(self):
        self.hold()

    def delete_lock(self):
        """The holder's entry alone."""
        self.server.delete(self.server.entries(self.key)[:1])

    def waiting(self):
        return len(self.server.entries(self.key))

    def await_end_of_lease(self):
        before = self.waiting()
        until(lambda: self.waiting() < before, "the end of the lease")

    @staticmethod
    def claims_of_dead(count):
        return count * ABOUT_ONE

    def is_settled(self):
        return self.server.watches() == len(self.names)

    def unrest(self):
        return f"{self.server.watches()} watch"

    def forget(self):
        self.server.delete(self.server.entries(self.key))


# An event: field, number of living waiters -> the moment from which the lock was free for them, and how many claim
# leases may pass. Who shall not run comes first, then the living.


def gave_up(field, living):
    """The head gives up, then the foreign holder goes."""
    field.hold_foreign()
    field.queue_up("head", *living)
    field.settle()
    field.processes[0].terminate()
    field.processes[0].wait()
    time.sleep(0.1)
    field.delete_lock()
    return 0


def head_killed(field, living):
    """The head is killed, then the foreign holder goes."""
    field.hold_foreign()
    field.queue_up("head", *living)
    field.settle()
    field.processes[0].kill()
    field.processes[0].wait()
    field.delete_lock()
    return field.claims_of_dead(1)


def foreign_goes(field, living):
    field.hold_foreign()
    field.queue_up(*living)
    field.settle()
    field.delete_lock()
    return 0


def released(field, living):
    field.hold()
    field.queue_up(*living)
    token = field.token
    field.rlock("release", field.key, token).wait()
    return 0


def frozen(count):
    """So many at the head are frozen, all at once as those of a host that is suspended; then the holder releases."""
    def event(field, living):
        field.hold()
        field.queue_up(*(f"frozen{i}" for i in range(count)), *living)
        for process in field.processes[:count]:
            process.send_signal(signal.SIGSTOP)
        field.release()
        return count * ABOUT_ONE
    return event


def three_killed_with_the_holder(field, living):
    """Holder and guard dead, and the first three waiters killed: the lease runs out."""
    holder = field.hold_in_run("2s")
    field.queue_up("one", "two", "three", *living)
    for process in field.processes[1:4]:
        process.kill()
        process.wait()
    # Neither sees the other end.
    holder.send_signal(signal.SIGSTOP)
    for child in children(holder.pid):
        os.kill(child, signal.SIGKILL)
    holder.kill()
    holder.wait()
    field.await_end_of_lease()
    return field.claims_of_dead(3)


def connections_killed(field, living):
    """Those of all waiters, again and again, so that they pause for longer each time. Then all ahead of the living die, who
    believe themselves far back, and the holder releases."""
    far_back = 16
    field.hold()
    field.queue_up(*(f"gone{i}" for i in range(far_back)), *living)
    for _ in range(7):
        time.sleep(0.3)
        field.server.redis("CLIENT", "KILL", "TYPE", "pubsub")
    for process in field.processes[:far_back]:
        process.kill()
        process.wait()
    field.release()
    return 0


def flushed(field, living):
    field.hold()
    field.queue_up(*living)
    field.settle()
    field.server.redis("FLUSHALL")
    return 0


def lock_deleted(field, living):
    field.hold()
    field.queue_up(*living)
    field.settle()
    field.delete_lock()
    return 0


def deleted(letters):
    """The side keys of these letters are deleted, then the holder releases."""
    def event(field, living):
        field.hold()
        field.queue_up(*living)
        field.settle()
        field.server.redis("DEL", *(f"rlock:{letter}:{{{field.lock}}}" for letter in letters))
        field.release()
        return 0
    return event


EVENTS = {
    "released": released,
    "gave_up": gave_up,
    "head_killed": head_killed,
    "foreign_goes": foreign_goes,
    **{f"{count}_frozen": frozen(count) for count in range(1, 13)},
    "three_killed_with_the_holder": three_killed_with_the_holder,
    "connections_killed": connections_killed,
    "flushed": flushed,
    "lock_deleted": lock_deleted,
    "queue_deleted": deleted("q"),
    "side_keys_deleted": deleted("qift"),
}


# What a store has that has no keys beside the entries.
ORDERED_EVENTS = [name for name in EVENTS if name.endswith("_frozen") or name in (
    "released", "gave_up", "head_killed", "three_killed_with_the_holder", "lock_deleted")]


def wait_for_turns(field, living):
    """Until each has had its turn; returns how many times longer a short sleep took than on an idle machine."""
    sleeps = [NAP]
    end = time.monotonic() + 300
    while not {name for _, name in field.started()} >= set(living):
        if time.monotonic() > end:
            raise RuntimeError("not each waiter had its turn")
        began = time.monotonic()
        time.sleep(NAP)
        sleeps.append(time.monotonic() - began)
    return max(1, statistics.mean(sleeps) / NAP / 1.2)


def attempt(field, event, living):
    """The longest time for which the lock was free beside the living, what is allowed, and how many were overtaken."""
    claims = event(field, living)
    since = time.time()
    slowness = wait_for_turns(field, living)
    order = [(at, name) for at, name in field.started() if name in living]
    times = [since] + [at for at, _ in order]
    gap = max(after - one for one, after in zip([since, *(at + field.turn for at, _ in order)], times[1:]))
    overtaken = sum(1 for a, b in zip(order, order[1:]) if living.index(a[1]) > living.index(b[1]))
    return gap / slowness, claims, overtaken


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", choices=["redis", *ENSEMBLES], default="redis")
    parser.add_argument("--tries", type=int, default=10)
    parser.add_argument("--waiters", default="1,4")
    parser.add_argument("--bound", type=float, default=1.0, help="seconds")
    parser.add_argument("--events", help="all that the store has")
    options = parser.parse_args()
    directory = tempfile.mkdtemp(prefix="stalls.")
    if options.store == "redis":
        server, field_type, events = Server(directory, "--maxclients", "2000"), Field, list(EVENTS)
    else:
        server, field_type, events = ENSEMBLES[options.store](directory + "/members", members=1), OrderedField, ORDERED_EVENTS
    tries = stalls = all_overtaken = 0
    try:
        for name in options.events.split(",") if options.events else events:
            for crowd in map(int, options.waiters.split(",")):
                worst = late = passed = 0
                for _ in range(options.tries):
                    tries += 1
                    field = field_type(server, directory, tries)
                    try:
                        gap, claims, overtaken = attempt(field, EVENTS[name], [f"w{i}" for i in range(crowd)])
                    finally:
                        field.end()
                    worst = max(worst, gap)
                    late += gap > options.bound + claims * CLAIM
                    passed += overtaken
                stalls += late
                all_overtaken += passed
                print(f"{name:30} {crowd:4} waiters: at most {worst:6.3f} s, {late} stalls, {passed} overtaken", flush=True)
    finally:
        server.close()
        shutil.rmtree(directory)
    print(f"{tries} tries, {stalls} stalls, {all_overtaken} overtaken")
    return 1 if stalls or all_overtaken else 0


if __name__ == "__main__":
    sys.exit(main())
