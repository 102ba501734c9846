"""What befalls the servers of a round, by topology and weather; and who owns the key while they change places."""

import contextlib
import random
import threading
import time

import members
from ensembles import ENSEMBLES
from resp import ServerError
from stage import boottime_ns
from servers import free_port, until
from topologies import TOPOLOGIES, Single
from troubles import Troubles

WEATHERS = {
    "single": {"calm": (), "server": ("stop", "restart", "load", "busy", "full"), "network": ("proxy", "stop"),
               "amnesia": ("restart", "flush"), "clocks": ("step clocks",)},
    "sentinel": {"calm": (), "failover": ("hand over", "kill master", "stop master"), "network": ("proxy",)},
    "cluster": {"calm": (), "failover": ("hand over", "kill master", "stop master"), "reshard": ("move",),
                "network": ("proxy",)},
    "redlock": {"calm": (), "minority": ("kill some", "stop some", "cut off some"), "network": ("proxy",),
                "clocks": ("step clocks",)},
    **members.WEATHERS,
}


HARMLESS = ("step clocks",)  # of this host, and of ZooKeeper's: no status is explained by it


def build(topology, directory, weather, rng, plain, young_s, environment):
    """The servers of a round, each behind a proxy. Some single ones want a password. Independent ones have a vote: they
    are older than young_s. Members of an ensemble are in namespaces, where they can be. environment: more for those.
    """
    if topology in ENSEMBLES:
        return members.build(topology, directory, weather, environment)
    if topology != "single":
        field = TOPOLOGIES[topology](directory, proxied=True)
        if topology == "redlock":
            until(lambda: all(uptime_s(server) > young_s for server in field.servers), "the servers' votes", young_s + 20)
        return field
    secured, tcp = (rng.random() < 0.5 and not plain for _ in range(2))
    field = Single(directory, port=free_port() if tcp else 0, aof=weather in ("calm", "server"), proxied=True,
                   password="hunter2" if secured else None, database=3 if secured else 0)
    if field.servers[0].aof:
        field.servers[0].fill()
    return field


def uptime_s(server):
    return next(int(line.split(":")[1]) for line in server.redis("INFO", "server").splitlines()
                if line.startswith("uptime_in_seconds:"))


class Weather:
    """Does to the servers of a field what its kind of weather has. Its thread ends when `stop` is set and all is well."""

    def __init__(self, contest, kinds):
        self.contest, self.field, self.notes, self.kinds = contest, contest.field, contest.notes, kinds
        self.rng = random.Random(f"{contest.seed}/server")
        self.troubles = Troubles(self.field, self.rng)
        self.befell, self.harmless = [], []  # (kind, from, to)
        self.wiped = []   # (from, to): when memory was lost
        self.forgetful = []  # time.monotonic() of the starts of servers without memory

    def run(self, stop, every_ms):
        while self.kinds and not stop.wait(self.rng.uniform(0.3, 2) * every_ms / 1000):
            kind = self.rng.choice(self.kinds)
            seconds = self.rng.uniform(0.005, self.rng.choice((0.1, 1, 3)))
            start = self.notes(f"server {kind} {seconds:.3f}")
            self.befall(kind, seconds)
            end = self.notes("server well")
            (self.harmless if kind in HARMLESS else self.befell).append((kind, start, end))
            if kind == "flush" or kind == "restart" and not self.field.servers[0].aof:
                self.wiped.append((end, end))

    def befall(self, kind, seconds):
        if kind == "step clocks":
            self.step_clocks(seconds)
        elif self.contest.topology in ENSEMBLES:
            self.troubles.befall(kind, seconds)
            self.field.settle()
        else:
            getattr(self, kind.replace(" ", "_"))(seconds)

    def step_clocks(self, seconds):
        """Forth or back, by seconds or by years, and then to the true time."""
        self.contest.clock.step(self.rng.choice((-1, 1)) * round(10 ** self.rng.uniform(0, 8.5)))
        time.sleep(seconds)
        self.contest.clock.step(0)

    # --- one server ---------------------------------------------------------------------------

    def flush(self, _seconds):
        self.field.servers[0].redis("FLUSHALL")

    def stop(self, seconds):
        self.field.servers[0].stop_for(seconds)

    def restart(self, seconds):
        self.field.servers[0].restart(seconds)

    def load(self, seconds):
        self.field.servers[0].load(seconds)

    def busy(self, seconds):
        self.field.servers[0].busy(seconds)

    def full(self, seconds):
        self.field.servers[0].full(seconds)

    # --- a master and its replicas ------------------------------------------------------------

    def master(self):
        return self.field.servers_of(self.contest.wire_key)[0]

    def hand_over(self, _seconds):
        self.field.failover(self.contest.wire_key)
        self.field.settle()

    def kill_master(self, seconds):
        master = self.master()
        master.kill()
        until(lambda: self.field.servers_of(self.contest.wire_key) not in ([], [master]), "a new master", 60)
        time.sleep(seconds)
        master.start()
        self.field.settle()

    def stop_master(self, seconds):
        """Often for long enough to be replaced; then there are two until the first has heard of the other."""
        self.master().stop_for(seconds)
        self.field.settle()

    def move(self, seconds):
        """The slot of the key, to another master, key by key."""
        slot = self.field.slot_of(self.contest.wire_key)
        masters = [node for node in self.field.servers if node.role() == "master"]
        masters.remove(self.field.owner(slot))
        self.field.move_slot(slot, self.rng.choice(masters), seconds / 10)

    # --- some of several ----------------------------------------------------------------------

    def some(self):
        """A minority. Who was started without memory has no vote for a while, and counts as one of it."""
        return self.rng.sample(self.field.servers, self.rng.randint(1, (len(self.field.servers) - 1) // 2))

    def kill_some(self, seconds):
        now = time.monotonic()
        self.forgetful = [at for at in self.forgetful if now - at < self.contest.young_s + 2]
        victims = self.some()[:(len(self.field.servers) - 1) // 2 - len(self.forgetful)]
        for server in victims:
            server.kill()
        time.sleep(seconds)
        for server in victims:
            server.start()
            self.forgetful.append(time.monotonic())

    def stop_some(self, seconds):
        victims = self.some()
        for server in victims:
            server.stop()
        time.sleep(seconds)
        for server in victims:
            server.resume()

    def cut_off_some(self, seconds):
        victims = self.some()
        for server in victims:
            server.proxy.control("blackhole")
        time.sleep(seconds)
        for server in victims:
            server.proxy.control("blackhole off")


class Owners(threading.Thread):
    """Which server owns a key, where that changes. Adds to `wiped` the times (from, to) when nobody or more than one did, or
    another than before: what was granted before or in such a time may be forgotten."""

    def __init__(self, field, key, wiped):
        super().__init__(daemon=True)
        self.field, self.key, self.wiped = field, key, wiped
        self.over = threading.Event()
        self.servers = field.servers_of(key)
        self.settled = boottime_ns()

    def run(self):
        while not self.over.wait(0.1):
            looked = boottime_ns()
            claims = [server for server in self.field.servers if self.claims(server)]
            if len(claims) != 1:
                continue
            if claims != self.servers or looked - self.settled > 10**9:
                self.wiped.append((self.settled, boottime_ns()))
            self.servers, self.settled = claims, looked
        if boottime_ns() - self.settled > 10**9:
            self.wiped.append((self.settled, boottime_ns()))

    def claims(self, server):
        with contextlib.suppress(OSError, ServerError):
            if server.role() == "master":
                return server.redis("EXISTS", self.key, timeout=1) is not None
        return False
