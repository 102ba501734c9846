"""What the scenes share: a lane of one server, holders that end when told, waiters that write down when they ran."""

import contextlib
import os
import random
import statistics
import subprocess
import time

from stage import Notes, boottime_ns
from proc import children
from servers import Server

NAP_S = 0.003
LIMIT_MS = 1500  # the promise is a second; the rest is a loaded machine's, to start a process
# CLOCK_BOOTTIME in hundredths of a second, as the kernel rounds it down.
NOTE = 'read -r up rest </proc/uptime; echo "{word} {name} $up" >>{file}; '


class Person:
    """An rlock, with what it runs."""

    def __init__(self, name, process):
        self.name, self.process = name, process

    def status(self, seconds):
        """Its exit status, None where it did not end in time."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def guard(self):
        for pid in children(self.process.pid):
            with open(f"/proc/{pid}/comm") as comm:
                if comm.read().strip() == "rlock-guard":
                    return pid
        return None


class Scene:
    """One small trial with a lock of its own. `wrongs` and `waits_ms` are what it found."""

    def __init__(self, lane, seed):
        self.lane, self.server = lane, lane.server
        self.rng = random.Random(seed)
        self.key = "scene-" + seed.replace(".", "-")
        self.file = f"{lane.directory}/{self.key}"
        open(self.file, "w").close()
        self.people, self.wrongs, self.waits_ms = [], [], []
        self.naps = [NAP_S]  # how long each took

    def redis(self, *words):
        with self.server.connect(timeout=30) as redis:
            return redis(*words)

    def begin(self, name, ttl_ms, wait_ms, command, more=(), **options):
        """more: options of rlock run."""
        return self.spawn(name, ["run", "-t", f"{ttl_ms:.0f}ms", "-w", f"{wait_ms:.0f}ms", *more, self.key, "--",
                                 "sh", "-c", command], **options)

    def spawn(self, name, words, **options):
        environment = {each: value for each, value in os.environ.items() if not each.startswith("RLOCK")}
        environment |= {"RLOCK_SERVER": self.server.url, "SOAK": self.file}
        with open(f"{self.lane.directory}/errors", "ab") as errors:
            process = subprocess.Popen([self.lane.rlock, *words], env=environment, stdout=errors, stderr=errors,
                                       process_group=0, **{"stdin": subprocess.DEVNULL, **options})
        self.people.append(Person(name, process))
        return self.people[-1]

    def holder(self, ttl_ms):
        """Holds the lock until its standard input is closed."""
        person = self.begin("holder", ttl_ms, 10_000, self.note("start", "holder") + "read line; " +
                            self.note("end", "holder") + ":", stdin=subprocess.PIPE)
        self.until(lambda: "holder" in self.started() and person.guard() or person.process.poll() is not None,
                   "the holder's start, and its guard's,")
        if person.process.poll() is not None:
            raise Unplayable(f"the holder ended with {person.process.poll()}")
        return person

    def waiter(self, name, wait_ms=60_000, ttl_ms=5000):
        """Stands in the queue when this returns, behind whoever stood there."""
        before = set(self.waiting())
        person = self.begin(name, ttl_ms, wait_ms,
                            self.note("start", name) + "sleep 0.02; " + self.note("end", name))
        self.until(lambda: set(self.waiting()) - before or person.process.poll() is not None, "a waiter's arrival")
        return person

    def waiting(self):
        return self.redis("ZRANGE", f"rlock:q:{{rlock:{self.key}}}", 0, -1)

    def note(self, word, name):
        return NOTE.format(word=word, name=name, file=self.file)

    def until(self, condition, what, seconds=15):
        deadline = time.monotonic() + seconds
        while not condition():
            begun = time.monotonic()
            if begun > deadline:
                raise Unplayable(f"{what} did not come in {seconds} s")
            time.sleep(NAP_S)
            self.naps.append(time.monotonic() - begun)

    def is_late(self, wait_ms, limit_ms):
        """On a busy machine a time counts as much less as a short sleep took longer than it should."""
        return wait_ms / max(1, statistics.mean(self.naps) / NAP_S / 1.2) > limit_ms

    # --- what the commands wrote --------------------------------------------------------------

    def lines(self, word):
        """(name, CLOCK_BOOTTIME ns) in their order."""
        with open(self.file) as file:
            words = [line.split() for line in file]
        return [(name, round(float(up) * 1e9)) for what, name, up in words if what == word]

    def started(self):
        return dict(self.lines("start"))

    def check_first(self, event, limit_ms, names):
        """One of these starts within the limit of the event (CLOCK_BOOTTIME ns). Waits for it."""
        with contextlib.suppress(Unplayable):
            self.until(lambda: any(name in self.started() for name in names), "", seconds=40)
        starts = [at for name, at in self.lines("start") if name in names]
        wait_ms = (starts[0] - event) / 1e6 if starts else 40_000
        self.waits_ms.append(max(wait_ms, 0))
        if self.is_late(wait_ms, limit_ms):
            self.wrongs.append(f"free for {wait_ms:.0f} ms beside {len(names)} waiting")

    def check_rest(self, people, ordered=True, well=0):
        """All of these end with 0, each within a second of the one before, or of `well`, when the server is well again
        (CLOCK_BOOTTIME ns); `ordered`, as they stand here."""
        for person in people:
            status = person.status(60)
            if status != 0:
                self.wrongs.append(f"{person.name} ended with {status}")
        names = {person.name for person in people}
        order = [name for name, _ in self.lines("start") if name in names]
        if ordered and order != [person.name for person in people if person.name in order]:
            self.wrongs.append(f"they ran in the order {' '.join(order)}")
        ends, starts = sorted(at for _, at in self.lines("end")), [at for name, at in self.lines("start") if name in names]
        for start in starts[1:]:
            free_since = max([end for end in ends if end <= start] or [start])
            gap_ms = max(start - max(free_since, well), 0) / 1e6
            self.waits_ms.append(gap_ms)
            if self.is_late(gap_ms, LIMIT_MS):
                self.wrongs.append(f"free for {gap_ms:.0f} ms between two of them")

    def close(self):
        """Ends whoever is left, each with its process group, which is its own until it has been waited for."""
        for person in self.people:
            if person.process.poll() is None:
                guard = person.guard()
                os.killpg(person.process.pid, 9)
                if guard:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(guard, 9)
            person.process.wait()
            if person.process.stdin:
                person.process.stdin.close()
        self.forget()
        os.unlink(self.file)

    def forget(self):
        self.redis("DEL", "rlock:" + self.key)


class Unplayable(Exception):
    """A scene that did not come to its event; that is wrong too."""


class SceneLane:
    """`scene`, a class of the lane's, has play(), and in `kind` what was drawn."""

    scene = Scene
    aof = False
    options = ()  # more of redis-server

    def __init__(self, directory, rlock, options):
        self.directory, self.rlock, self.options_of_soak = directory, rlock, options
        os.makedirs(directory)
        self.notes = Notes(directory + "/notes")
        self.open()

    def open(self):
        self.server = Server(self.directory + "/server", *self.options, aof=self.aof)
        if self.aof:
            self.server.fill()

    def play(self, seed):
        """(kind, what was wrong, how long the free lock lay there each time in ms) of the scene of a seed."""
        scene = self.scene(self, seed)
        self.notes(f"scene {seed}: {scene.kind}")
        try:
            scene.play()
        except Unplayable as unplayable:
            scene.wrongs.append(str(unplayable))
        finally:
            scene.close()
        for wrong in scene.wrongs:
            self.notes(f"wrong {seed}: {wrong}")
        return scene.kind, scene.wrongs, scene.waits_ms

    def close(self):
        self.server.close()


def sleep_ms(ms):
    if ms > 0:
        time.sleep(ms / 1000)


__all__ = ["LIMIT_MS", "Scene", "SceneLane", "Unplayable", "boottime_ns", "sleep_ms"]
