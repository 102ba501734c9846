"""Scenes of R30: the lock is given back just when the server is away; the next holder starts within a second of its return.

By the holder whose command ended or that got a TERM, or by the guard of one that was killed. Wrong is also a waiter that
does not outlast the outage, and a waiter that does not end within a second of a TERM while the server hangs."""

import signal
import threading

from scenes import LIMIT_MS, Scene, SceneLane, Unplayable, boottime_ns, sleep_ms

TROUBLES = ("restart", "load", "busy", "full", "stop_for")
ENDINGS = {"ends": None, "termed": signal.SIGTERM, "killed": signal.SIGKILL}


class ReleaseScene(Scene):
    def __init__(self, lane, seed):
        super().__init__(lane, seed)
        self.trouble = self.rng.choice(TROUBLES)
        self.hangs = self.rng.random() < 0.1
        self.long = self.rng.random() < 0.1
        self.ending = self.rng.choice(list(ENDINGS))
        self.kind = ("TERM to a waiter while the server hangs" if self.hangs else
                     f"holder {self.ending}, server: {self.trouble.removesuffix('_for')}" + (" for long" if self.long else ""))

    def play(self):
        if self.hangs:
            return self.play_hang()
        holder = self.holder(30_000)
        waiters = [self.waiter(f"waiter{number}") for number in range(self.rng.choice((1, 1, 3)))]
        seconds = self.rng.uniform(5, 9) if self.long else self.rng.uniform(0.05, 1.2)
        trouble = threading.Thread(target=getattr(self.server, self.trouble), args=(seconds,))
        before_ms = self.rng.choice((-3, 0, 3, 20, 40))
        if before_ms < 0:
            self.end(holder)
            sleep_ms(-before_ms)
        trouble.start()
        if before_ms >= 0:
            sleep_ms(before_ms)
            self.end(holder)
        trouble.join()
        well = boottime_ns()
        self.check_first(well, LIMIT_MS, {waiter.name for waiter in waiters})
        # Who is the first to find the server again may be the first to run. After a short stop nobody had to look for it.
        self.check_rest(waiters, ordered=self.trouble == "stop_for" and not self.long, well=well)

    def end(self, holder):
        if ENDINGS[self.ending]:
            holder.process.send_signal(ENDINGS[self.ending])
        else:
            holder.process.stdin.close()

    def play_hang(self):
        """The TERM comes while it waits, or while it leaves the queue because its time was up."""
        self.redis("SET", "rlock:" + self.key, "foreign", "PX", 60_000)
        wait_ms = self.rng.choice((700, 60_000))
        waiter = self.waiter("waiter", wait_ms)
        hang = threading.Thread(target=self.server.stop_for, args=(4,))
        hang.start()
        sleep_ms(self.rng.uniform(700, 1500))
        waiter.process.terminate()
        begun = boottime_ns()
        status = waiter.status(20)
        took_ms = (boottime_ns() - begun) / 1e6
        self.waits_ms.append(took_ms)
        hang.join()
        if status is None:
            raise Unplayable("a waiter did not end within 20 s of its TERM")
        if took_ms > LIMIT_MS:
            self.wrongs.append(f"TERM took {took_ms:.0f} ms while the server hung, -w {wait_ms} ms")


class Lane(SceneLane):
    scene = ReleaseScene
    aof = True
