"""Scenes of a server that is used or set up in an unusual way: a foreign lock for 292 years, a channel that somebody floods,
pushes that never stop, a table of tracked keys that is too small.

Wrong is a free lock that is not taken within a second, a waiter that outstays its -w or a signal by more than two, more than
32 MiB, and more commands to the server than looks and renewals explain. A seed may begin with the name of a kind: pushes.7.
"""

import contextlib
import os
import re
import signal
import socket
import threading
import time

from resp import request
from scenes import LIMIT_MS, Scene, SceneLane, boottime_ns, sleep_ms

KINDS = ("huge_pttl", "flood", "pushes", "small_table")
PTTLS_MS = (9223372036854, 4611686018427387904, 2**62)
TEXTS = ("x" * 100_000, "g", "h 0", "r")
PUSH = b">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1000\r\n" + b"x" * 1000 + b"\r\n"
MOST_KB = 32 * 1024
LATE_MS = 2000
TABLE = 20
HOLDERS = 12


class OddScene(Scene):
    def __init__(self, lane, seed):
        super().__init__(lane, seed)
        named = seed.partition(".")[0]
        self.kind = named if named in KINDS else self.rng.choice(KINDS)

    def play(self):
        getattr(self, self.kind)()

    def scripts(self):
        """How many the server has run."""
        found = re.search(r"cmdstat_evalsha:calls=(\d+)", self.redis("INFO", "commandstats"))
        return int(found[1]) if found else 0

    def check_scripts(self, before, most):
        count = self.scripts() - before
        if count > most:
            self.wrongs.append(f"{count} scripts, where {most} are enough")

    def huge_pttl(self):
        self.redis("SET", "rlock:" + self.key, "theirs", "PX", self.rng.choice(PTTLS_MS))
        waiters = [self.waiter(f"waiter{number}") for number in range(self.rng.randint(1, 3))]
        before = self.scripts()
        sleep_ms(self.rng.uniform(0, 2000))
        self.check_scripts(before, 20 * len(waiters))
        self.redis("DEL", "rlock:" + self.key)
        self.check_first(boottime_ns(), LIMIT_MS, {waiter.name for waiter in waiters})
        self.check_rest(waiters)

    def flood(self):
        self.redis("SET", "rlock:" + self.key, "foreign", "PX", 60_000)
        wait_ms = self.rng.uniform(1000, 4000)
        begun = boottime_ns()
        waiter = self.waiter("waiter", wait_ms)
        channel = next(name for name in self.redis("PUBSUB", "CHANNELS", f"rlock:w:*{self.key}*") if "}:" in name)
        over, before = threading.Event(), self.scripts()
        command = request("PUBLISH", channel, self.rng.choice(TEXTS)) * 20

        def publish():
            with self.server.connect() as redis:
                while not over.is_set():
                    redis.socket.sendall(command)
                    redis.socket.recv(65536)
        flooder = threading.Thread(target=publish)
        flooder.start()
        try:
            # On a busy machine the server is too slow for it, among so many messages.
            self.watch_end(waiter, (69, 75), begun + wait_ms * 1e6)
        finally:
            over.set()
            flooder.join()
        self.check_scripts(before, 150)

    def pushes(self):
        path = self.file + ".socket"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen()
            server = threading.Thread(target=self.push, args=(listener,))
            server.start()
            try:
                gives_up, patience_ms = self.rng.random() < 0.5, self.rng.uniform(100, 2000)
                how = ["-n", "--connect-timeout", f"{patience_ms:.0f}ms"] if gives_up else ["--connect-timeout", "10m"]
                waiter = self.spawn("waiter", ["run", "--server", "unix://" + path, *how, self.key, "true"])
                sleep_ms(patience_ms)
                if not gives_up:
                    waiter.process.send_signal(signal.SIGTERM)
                self.watch_end(waiter, (69,) if gives_up else None, boottime_ns())
            finally:
                listener.shutdown(socket.SHUT_RDWR)
                server.join()
                os.unlink(path)

    def push(self, listener):
        """To all, as long as they take it."""
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self.push_to, args=(listener.accept()[0],), daemon=True).start()

    def push_to(self, client):
        with client, contextlib.suppress(OSError):
            client.recv(65536)
            while True:
                client.sendall(PUSH * 4000)

    def watch_end(self, person, statuses, when):
        """It ends with one of these, if there are any, and soon after this time (CLOCK_BOOTTIME ns), and stays small."""
        peak_kb, deadline = 0, time.monotonic() + 60
        while person.process.poll() is None and time.monotonic() < deadline:
            with contextlib.suppress(OSError), open(f"/proc/{person.process.pid}/status") as file:
                peak_kb = max([peak_kb, *(int(line.split()[1]) for line in file if line.startswith("VmHWM"))])
            time.sleep(0.02)
        late_ms = (boottime_ns() - when) / 1e6
        if late_ms > LATE_MS:
            self.wrongs.append(f"ended {late_ms:.0f} ms late")
        if statuses and person.process.poll() not in statuses:
            self.wrongs.append(f"ended with {person.process.poll()}, not {statuses}")
        if peak_kb > MOST_KB and "TEST_SANITIZER" not in os.environ:
            self.wrongs.append(f"took {peak_kb} kB")

    def small_table(self):
        mode = self.rng.choice((["--exclusive"], ["--shared"], ["--slots", "2"]))
        keys = [f"{self.key}-{number}" for number in range(HOLDERS)]
        people = [self.spawn(key, ["run", "-t", "9s", *mode, key, "sleep", "60"]) for key in keys]
        self.until(lambda: self.redis("EXISTS", *("rlock:" + key for key in keys)) == HOLDERS, "each holder's start")
        people.append(self.spawn("waiter", ["run", "-t", "9s", *mode, keys[0], "true"]))
        sleep_ms(9000)  # some renewals, in which each finds out
        before = self.scripts()
        sleep_ms(6000)
        # Each renews twice, those of a mode with as many looks again, and one waits.
        self.check_scripts(before, 200)
        for person in people:
            person.process.terminate()
        for person in people:
            if person.status(20) not in (143, -15, 0):
                self.wrongs.append(f"{person.name} ended with {person.process.poll()}")


class Lane(SceneLane):
    scene = OddScene
    options = ("--tracking-table-max-keys", str(TABLE))
