"""Scenes of --timeout, --hold, --once and --while-pid, on each kind of store; in half of them it stands still, or a member of
it dies, for less than a lease.

Wrong is another exit status than the verb's, a process that is left, a lock that the next one gets too early, or later than a
second after it should (some more where the store has had to elect a leader, or ends leases in whole seconds). A seed may
begin with the name of a verb.
"""

import contextlib
import http.client
import signal
import subprocess
import threading
import time

import members
import trials
from ensembles import ENSEMBLES
from scenes import LIMIT_MS, Scene, SceneLane, Unplayable, boottime_ns, sleep_ms
from topologies import Single
from troubles import Troubles
from zookeeper import Failed

VERBS = ("timeout", "hold", "once", "while_pid")
SHORTEST_TTL_MS, LONGEST_TTL_MS = 5000, 12_000
TROUBLE_MS = 800
ELECTION_MS = 8000


class VerbScene(Scene):
    def __init__(self, lane, seed):
        super().__init__(lane, seed)
        self.store = self.rng.choice(list(lane.fields))
        self.server = self.field = lane.fields[self.store]
        named = seed.partition(".")[0]
        self.verb = named if named in VERBS else self.rng.choice(VERBS)
        self.kind = f"{self.store} --{self.verb}".replace("_", "-")
        self.ttl_ms = self.rng.uniform(SHORTEST_TTL_MS, LONGEST_TTL_MS)
        self.is_troubled = self.rng.random() < 0.5
        self.limit_ms = LIMIT_MS
        if self.is_troubled:
            self.limit_ms += ELECTION_MS if self.store in ENSEMBLES else TROUBLE_MS

    def play(self):
        trouble = threading.Thread(target=self.trouble)
        if self.is_troubled:
            trouble.start()
        try:
            getattr(self, self.verb)()
        finally:
            if self.is_troubled:
                trouble.join()
        with contextlib.suppress(Unplayable):
            self.until(lambda: not trials.left_over(self.file), "")
        self.wrongs += [f"process {pid} left over: {shown}" for pid, shown in trials.left_over(self.file)]

    def trouble(self):
        sleep_ms(self.rng.uniform(0, 1500))
        seconds = self.rng.uniform(0.1, TROUBLE_MS / 1000)
        if self.store in ENSEMBLES:
            Troubles(self.field, self.rng).befall(self.rng.choice(("kill", "stop")), seconds)
        else:
            self.field.servers[0].stop_for(seconds)

    def waiting(self):
        if self.store not in ENSEMBLES:
            return self.redis("ZRANGE", f"rlock:q:{{rlock:{self.key}}}", 0, -1)
        deadline = time.monotonic() + 30
        while True:  # the member that is asked may be the one in trouble
            try:
                return self.field.entries(self.key)
            except (OSError, ValueError, Failed, http.client.HTTPException):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def redis(self, *words):
        return self.field.servers[0].redis(*words, timeout=30)

    def forget(self):
        if self.store in ENSEMBLES:
            self.field.settle()
            self.field.delete(self.field.entries(self.key))
        else:
            super().forget()

    def expect(self, person, status, seconds):
        found = person.status(seconds)
        if found != status:
            self.wrongs.append(f"{person.name} ended with {found}, not {status}")

    def next_one(self):
        """Comes when all is said, and runs as soon as it may."""
        return self.begin("next", self.ttl_ms, 60_000, self.note("start", "next") + ":")

    # --- the verbs ----------------------------------------------------------------------------

    def timeout(self):
        stubborn = "trap '' TERM; " if self.rng.random() < 0.5 else ""
        job = self.begin("job", self.ttl_ms, 20_000, f"{stubborn}sleep 50 & setsid sleep 50 & " +
                         self.note("start", "job") + "sleep 50; sleep 50",
                         ["--timeout", f"{self.rng.uniform(100, 2000):.0f}ms", "-k", "300ms"])
        self.expect(job, 124, 40)
        ended = boottime_ns()
        self.wrongs += [f"process {pid} left over: {shown}" for pid, shown in trials.left_over(self.file)]
        self.next_one()
        self.check_first(ended, self.limit_ms, {"next"})

    def hold(self):
        hold_ms = self.rng.uniform(300, 4000)
        begun = boottime_ns()
        job = self.begin("job", self.ttl_ms, 20_000, self.note("start", "job") + ":", ["--hold", f"{hold_ms:.0f}ms"])
        self.expect(job, 0, 40)
        self.next_one()
        if self.store in ENSEMBLES:
            self.limit_ms += members.SLACK_S * 1000
        # It counts from the moment of the acquire.
        self.check_first(self.started().get("job", boottime_ns()) + round(hold_ms * 1e6), self.limit_ms, {"next"})
        held_ms = (self.started().get("next", boottime_ns()) - begun) / 1e6
        if held_ms < hold_ms - 10:  # the note has hundredths of a second
            self.wrongs.append(f"held for {held_ms:.0f} ms, not {hold_ms:.0f} ms")

    def once(self):
        command = self.note("start", "job") + "sleep 0.1; " + self.note("end", "job") + ":"
        jobs = [self.begin(f"job{number}", self.ttl_ms, 60_000, command, ["--once", "10m"])
                for number in range(self.rng.randint(2, 6))]
        killed = self.rng.sample(jobs[1:], self.rng.choice((0, 0, 1)))
        for job in killed:
            sleep_ms(self.rng.uniform(0, 500))
            job.process.kill()
        for job in jobs:
            if job not in killed:
                self.expect(job, 0, 90)
        starts, ends = len(self.lines("start")), len(self.lines("end"))
        if ends < 1 or starts > 1 + len(killed):
            self.wrongs.append(f"{starts} began and {ends} ended; {len(jobs)} jobs, {len(killed)} killed")

    def while_pid(self):
        process = subprocess.Popen(["sleep", "1000"])
        try:
            holder = self.spawn("acquire", ["acquire", "-t", f"{self.ttl_ms:.0f}ms", "-w", "20s", "--while-pid",
                                            str(process.pid), self.key])
            self.expect(holder, 0, 40)
            self.waiter("next")
            sleep_ms(self.rng.choice((100, self.rng.uniform(0, 1.5) * self.ttl_ms)))
            if self.started():
                self.wrongs.append("somebody had the lock beside a process that lived")
            process.send_signal(self.rng.choice((signal.SIGKILL, signal.SIGTERM)))
            process.wait()
            self.check_first(boottime_ns(), self.limit_ms, {"next"})
        finally:
            process.kill()
            process.wait()


class Lane(SceneLane):
    """One server of Redis, and three members of each store among --topology that a majority decides."""

    scene = VerbScene

    def open(self):
        self.server = Single(self.directory + "/single", port=0)
        self.fields = {"single": self.server}
        try:
            for store in set(self.options_of_soak.topology) & set(members.WEATHERS):
                self.fields[store] = members.build(store, f"{self.directory}/{store}", "calm")
        except BaseException:
            self.close()
            raise

    def close(self):
        for field in self.fields.values():
            field.close()
