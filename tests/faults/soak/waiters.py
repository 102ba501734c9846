"""Scenes of R28: a lock becomes free while waiters ahead give up, die or freeze; the next living one takes it.

Wrong is a free lock that nobody took within a second of the last event, a gap of more than a second between two who waited, a
waiter that was overtaken by a later one, one that did not get the lock. Longer may be free: by a claim lease for each who
is frozen ahead, for each may be woken; by a heartbeat where three are ahead and the queue is gone.
"""

import os
import signal
import time

from constants import constant, longest_heartbeat_pause
from scenes import LIMIT_MS, Scene, SceneLane, Unplayable, boottime_ns, sleep_ms

FATES = {"give up": None, "killed": signal.SIGKILL, "frozen": signal.SIGSTOP, "termed": signal.SIGTERM}
EVENTS = ("foreign goes", "holder ends", "holder dies", "flushed", "queue deleted", "side keys deleted")


class QueueScene(Scene):
    def __init__(self, lane, seed):
        super().__init__(lane, seed)
        self.event = self.rng.choice(EVENTS)
        self.ahead = self.rng.choice((0, 0, 1, 1, 2, 2, 3, 12))
        self.fate = self.rng.choice(list(FATES))
        self.behind = self.rng.choice((1, 1, 2, 4, 8))
        self.foreign = self.event == "foreign goes" or self.event != "holder dies" and self.event != "holder ends" and (
            self.event == "flushed" or self.rng.random() < 0.5)
        self.kind = self.event + (f", {self.ahead} {self.fate}" if self.ahead else "")

    def play(self):
        holder = None
        if self.foreign:
            self.redis("SET", "rlock:" + self.key, "foreign", "NX", "PX", 60_000)
        else:
            holder = self.holder(1500 if self.event == "holder dies" else 8000)
        gives_up = self.fate == "give up"
        victims = [self.waiter(f"ahead{number}", 1000 if gives_up else 60_000) for number in range(self.ahead)]
        survivors = [self.waiter(f"behind{number}") for number in range(self.behind)]
        for victim in victims if gives_up else []:
            victim.status(20)
        if not gives_up:
            for victim in victims:
                if victim.process.poll() is not None:
                    raise Unplayable(f"{victim.name} ended with {victim.process.poll()}")
                os.kill(victim.process.pid, FATES[self.fate])
        sleep_ms(self.rng.choice((0, self.rng.uniform(0, 300))))
        event = self.free(holder)
        forgotten = self.event == "flushed" or self.event.endswith("deleted")
        limit = LIMIT_MS + (1.1 * constant("claim") * self.ahead if self.fate == "frozen" else 0)
        # One that is just dying may be handed the lock, of which those hear nothing who are not among the first three.
        if self.ahead >= 3 and self.fate == "killed":
            limit += longest_heartbeat_pause(self.ahead) - constant("claim")
        # Who is behind three others is told by them, or by the queue. With all of these gone at once, a heartbeat is due;
        # and so where they are frozen or dead and the holder tells nobody.
        if self.ahead >= 3 and (forgotten or (self.foreign and self.fate in ("frozen", "killed"))):
            limit += longest_heartbeat_pause(0)
        self.check_first(event, limit, {person.name for person in survivors})
        # Where the queue is gone, the first to come back is the first.
        self.check_rest(survivors, ordered=not forgotten)

    def free(self, holder):
        """Lets the event come to pass; when the lock was free."""
        side = [key for key in self.redis("KEYS", f"rlock:*:*{self.key}*")]
        if self.event == "queue deleted":
            side = [f"rlock:q:{{rlock:{self.key}}}"]
        if self.event.endswith("deleted"):
            if side:
                self.redis("DEL", *side)
            sleep_ms(self.rng.choice((0, self.rng.uniform(0, 300))))
        if self.event == "flushed":
            self.redis("FLUSHALL")
        elif self.event == "holder dies":
            guard = holder.guard()
            if guard is None:
                raise Unplayable(f"the holder ended with {holder.process.poll()}")
            holder.process.send_signal(signal.SIGSTOP)
            os.kill(guard, signal.SIGKILL)
            holder.process.kill()
            holder.process.wait()
            time.sleep(max(self.redis("PTTL", "rlock:" + self.key), 0) / 1000)
        elif holder:
            holder.process.stdin.close()
            holder.status(10)
        else:
            self.redis("DEL", "rlock:" + self.key)
        return boottime_ns()


class Lane(SceneLane):
    scene = QueueScene
