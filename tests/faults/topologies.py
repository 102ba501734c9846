#!/usr/bin/env python3
"""Servers on loopback, as rlock may find them: one, with Sentinels, a Cluster, several independent ones.

    topologies.py single|sentinel|cluster|redlock DIRECTORY [NAME=VALUE,...]

starts one (the values are arguments of its class), prints `ready URL`, and ends it when its standard input is closed or at
a TERM. Each line that comes there is Python, of which `field` is the topology; it is carried out, and `done` printed, or
`failed` and why. For Python:

    with Sentinel(directory) as field:      # or Single, Cluster, Redlock; TOPOLOGIES has them by name
        field.url                           # what rlock is given
        field.servers                       # all of Redis; kill(), stop(), resume(), start() and redis(...) each
        field.servers_of("rlock:k")         # those that own a key now: one, or with Redlock all
        field.failover("rlock:k")           # hands the key over to a replica, as an operator does, and waits until it has

`proxied=True` puts a proxy.py before each server. The address of the proxy is the one that Sentinel, the Cluster and the
replicas know, so all but the Cluster's bus goes through it; `server.proxy.control(line)` spoils it, and `server.redis`
passes it by. `isolated=True` puts each server into a network namespace, and a server has cut() and mend(): the process has
to have called namespaces.isolate() before. Each server has a Unix socket in its directory too, by which it is asked here.
"""

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.extend([HERE, os.path.dirname(HERE)])
from namespaces import Namespace  # noqa: E402
from resp import Redis, ServerError  # noqa: E402

MASTER = "mymaster"  # as the Sentinels call it
# About, in an append-only file.
BYTES_OF_A_COMMAND = 150
SLOTS = 16384


def until(condition, what, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"{what} did not happen within {seconds} s")
        time.sleep(0.005)


def free_port():
    """A TCP port that nobody listens on, nor on the one 10,000 higher, which a node of a Cluster takes too. Both are below
    those that the kernel gives to outgoing connections, so a server that is started again finds its port free.
    """
    while True:
        port = random.randrange(10000, 22768)
        with socket.socket() as one, socket.socket() as other, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", port))
            other.bind(("127.0.0.1", port + 10000))
            return port


class Server:
    """A redis-server of its own on a Unix socket, and on `port` of loopback if that is not 0. With `aof`, it keeps through a
    kill all that it has answered. `options` are more words for its command line, at each start.
    """

    # Something to load, so that a restart can take its time.
    FILLER = 200

    def __init__(self, directory, *options, port=0, aof=False, password=None, database=0, proxied=False, isolated=False):
        self.directory, self.aof, self.password, self.database = directory, aof, password, database
        self.space = Namespace() if isolated else None
        self.host = self.space.host if isolated else "127.0.0.1"
        os.makedirs(directory, exist_ok=True)
        self.path, self.port = directory + "/redis", port
        self.process = None
        self.proxy = Proxy(directory, self) if proxied else None
        self.options = [*options, *(self.announced() if self.proxy else [])]
        self.start()

    def announced(self):
        """Where others shall look for it. A server that is in no Cluster ignores what is said of one."""
        if not self.port:
            return []
        return ["--replica-announce-ip", "127.0.0.1", "--replica-announce-port", str(self.proxy.port),
                "--cluster-announce-ip", "127.0.0.1", "--cluster-announce-port", str(self.proxy.port)]

    @property
    def address(self):
        """HOST:PORT, as others are told."""
        return f"{self.host}:{self.proxy.port if self.proxy else self.port}"

    @property
    def url(self):
        """Through its proxy if it has one; without the password."""
        if self.port:
            return f"redis://{self.address}" + (f"/{self.database}" if self.database else "")
        return f"unix://{self.proxy.path if self.proxy else self.path}" + (f"?db={self.database}" if self.database else "")

    def words(self):
        words = [*(self.space.enter if self.space else []), "redis-server", "--port", str(self.port), "--bind", self.host,
                 "--protected-mode", "no", "--unixsocket", self.path, "--save", "",
                 "--dir", self.directory, "--appendonly", "yes" if self.aof else "no", "--appendfsync", "always",
                 "--lua-time-limit", "20", "--maxmemory-policy", "noeviction", "--repl-diskless-sync-delay", "0"]
        words += ["--requirepass", self.password, "--masterauth", self.password] if self.password else []
        return words + self.options

    def start(self, *more):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        with open(self.directory + "/redis.out", "ab") as log:
            self.process = subprocess.Popen([*self.words(), *more], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        until(self.listens, "the start of redis-server")

    def listens(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"redis-server has ended, see {self.directory}/redis.out")
        with socket.socket(socket.AF_UNIX) as sock:
            return sock.connect_ex(self.path) == 0

    def answers(self):
        try:
            with self.connect(timeout=1) as redis:
                return redis("PING") == "PONG"
        except (OSError, ServerError):
            return False

    def connect(self, timeout=None):
        return Redis(self.path, self.password, self.database, timeout)

    def redis(self, *words, timeout=10):
        """The answer to one command."""
        with self.connect(timeout) as redis:
            return redis(*words)

    def role(self):
        """master, slave, or None where it does not answer."""
        try:
            return self.redis("ROLE", timeout=1)[0]
        except (OSError, ServerError):
            return None

    def fill(self):
        with self.connect() as redis:
            for number in range(self.FILLER):
                redis("SET", f"filler:{number}", "x" * 1100)

    # --- what can befall it -------------------------------------------------------------------

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def cut(self):
        self.space.cut()

    def mend(self):
        self.space.mend()

    # The others return when it is well again.

    def stop_for(self, seconds):
        self.stop()
        time.sleep(seconds)
        self.resume()

    def restart(self, seconds, load=False):
        """Killed, away for so long, and started again; with `load`, it takes about a second until it is ready."""
        self.kill()
        time.sleep(seconds)
        self.start(*(["--key-load-delay", str(self.load_delay_us()), "--loading-process-events-interval-bytes", "1024"]
                     if load else []))
        until(self.answers, "the end of loading")

    def load_delay_us(self):
        """For a second in all: the delay is for each command in its files, which grow."""
        size = sum(os.path.getsize(os.path.join(folder, name))
                   for folder, _, names in os.walk(self.directory) for name in names if "appendonly" in name)
        return max(1, int(1e6 / max(size / BYTES_OF_A_COMMAND, 200)))

    def load(self, seconds):
        self.restart(seconds / 4, load=True)

    def busy(self, seconds):
        """A script that does not end: after 20 ms everybody else is answered BUSY."""
        with self.connect() as victim, self.connect() as redis:
            victim.socket.sendall(b"EVAL 'while true do end' 0\r\n")
            time.sleep(seconds)
            with contextlib.suppress(ServerError):
                redis("SCRIPT", "KILL")
        until(self.answers, "the end of the script")

    def full(self, seconds):
        """No client more is let in, and those who are in are thrown out."""
        with self.connect() as redis:
            redis("CONFIG", "SET", "maxclients", 1)
            redis("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            time.sleep(seconds)
            redis("CONFIG", "SET", "maxclients", 10000)

    def close(self):
        if self.process:
            self.kill()
        if self.proxy:
            self.proxy.close()
        if self.space:
            self.space.close()


class Watcher(Server):
    """A redis-sentinel: a server that is started otherwise."""

    def __init__(self, directory, configuration):
        port = free_port()
        os.makedirs(directory, exist_ok=True)
        self.file = directory + "/sentinel.conf"
        with open(self.file, "w") as file:
            file.write(f"port {port}\nbind 127.0.0.1\ndir {directory}\n{configuration}")
        super().__init__(directory, port=port)

    def words(self):
        return ["redis-server", self.file, "--sentinel", "--unixsocket", self.path]

    def master(self):
        """(flags, number of replicas, number of other Sentinels, port) as it sees them."""
        words = self.redis("SENTINEL", "MASTER", MASTER, timeout=1)
        seen = dict(zip(words[::2], words[1::2]))
        return seen["flags"], int(seen["num-slaves"]), int(seen["num-other-sentinels"]), int(seen["port"])


class Proxy:
    """proxy.py before a server: on a free port if it has a port, else on a Unix socket."""

    def __init__(self, directory, server):
        self.control_path, tcp = directory + "/control", server.port != 0
        self.log = directory + "/proxy.log"
        listen = "127.0.0.1:0" if tcp else f"unix:{directory}/proxy"
        with open(directory + "/proxy.err", "ab") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-B", HERE + "/proxy.py", "--to", "unix:" + server.path, "--listen", listen,
                 "--control", "unix:" + self.control_path, "--log", self.log],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True)
        address = self.process.stdout.readline().partition("ready ")[2].strip()
        self.port = int(address.rpartition(":")[2]) if tcp else None
        self.path = None if tcp else address.removeprefix("unix:")

    def control(self, line):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(self.control_path)
            sock.sendall(line.encode() + b"\n")
            return sock.makefile().readline().strip()

    def hits(self):
        """Fault -> how many of its kind met any traffic."""
        return json.loads(self.control("stats"))["hit"]

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Topology:
    """`servers`, `watchers` (Sentinels) and `url` are there when it is constructed, and all of it is well. close() ends it."""

    has_replicas = False  # whether another server can take over from one that owns a key

    def __init__(self, directory):
        self.directory, self.servers, self.watchers, self.url = directory, [], [], ""
        try:
            self.build()
        except BaseException:
            self.close()
            raise

    def add(self, *options, **how):
        self.servers.append(Server(f"{self.directory}/{len(self.servers)}", *options, **how))
        return self.servers[-1]

    def servers_of(self, key):
        """Those that own a key of Redis now, as far as anybody there knows."""
        return self.servers

    def failover(self, key):
        """Only where there are replicas."""
        raise NotImplementedError

    def settle(self, seconds=30):
        """Waits until all servers answer, and the replicas follow their masters."""
        until(lambda: all(server.answers() for server in self.servers), "every server's answer", seconds)

    def close(self):
        for server in self.servers + self.watchers:
            server.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Single(Topology):
    """One server."""

    def __init__(self, directory, port=None, **how):
        """`port`: 0 for a Unix socket alone."""
        self.port, self.how = free_port() if port is None else port, how
        super().__init__(directory)

    def build(self):
        self.url = self.add(port=self.port, **self.how).url


class Sentinel(Topology):
    """A master, its replicas, and the Sentinels that watch them. `options` are of each server."""

    has_replicas = True

    def __init__(self, directory, *options, replicas=2, sentinels=3, down_after_ms=1000, failover_timeout_ms=3000, **how):
        self.options, self.replicas, self.sentinels, self.how = options, replicas, sentinels, how
        self.down_after_ms, self.failover_timeout_ms = down_after_ms, failover_timeout_ms
        super().__init__(directory)

    def build(self):
        master = self.add(*self.options, port=free_port(), **self.how)
        host, port = master.address.split(":")
        # By a command: a server that starts again is a master until the Sentinels have told it whom to follow.
        for _ in range(self.replicas):
            self.add(*self.options, port=free_port(), **self.how).redis("REPLICAOF", host, port)
        until(lambda: self.in_step(master), "the replication")
        # The master may see them at another address, that of a router.
        configuration = ("sentinel announce-ip 127.0.0.1\n"
                         f"sentinel monitor {MASTER} {host} {port} {self.sentinels // 2 + 1}\n"
                         f"sentinel down-after-milliseconds {MASTER} {self.down_after_ms}\n"
                         f"sentinel failover-timeout {MASTER} {self.failover_timeout_ms}\n"
                         f"sentinel parallel-syncs {MASTER} {self.replicas}\n")
        if master.password:
            configuration += f"sentinel auth-pass {MASTER} {master.password}\n"
        for number in range(self.sentinels):
            self.watchers.append(Watcher(f"{self.directory}/sentinel{number}", configuration))
        self.settle()
        self.url = "redis+sentinel://" + ",".join(watcher.address for watcher in self.watchers) + "/" + MASTER

    def in_step(self, master):
        """Whether all replicas have what a master has."""
        try:
            role, offset, followers = master.redis("ROLE", timeout=1)
        except (OSError, ServerError, ValueError):
            return False
        return role == "master" and len(followers) == self.replicas and all(
            offset - int(each[2]) <= 200 for each in followers)

    def master(self):
        """The server that a Sentinel names, the first who answers; None where nobody does."""
        for watcher in self.watchers:
            with contextlib.suppress(OSError, ServerError):
                return next((server for server in self.servers if server.address.endswith(f":{watcher.master()[3]}")), None)
        return None

    def servers_of(self, key):
        master = self.master()
        return [master] if master else []

    def failover(self, key=None):
        before = self.master()

        def asked():
            with contextlib.suppress(ServerError):  # NOGOODSLAVE, INPROG: not yet
                return self.watchers[0].redis("SENTINEL", "FAILOVER", MASTER) == "OK"
        until(asked, "a failover", 2 * self.failover_timeout_ms / 1000 + 20)
        until(lambda: self.master() not in (None, before), "a new master")
        return self.master()

    def settle(self, seconds=60):
        super().settle(seconds)
        until(lambda: all(self.agrees(watcher) for watcher in self.watchers) and self.in_step(self.master()),
              "agreement of the Sentinels", seconds)

    def rejoin(self, seconds=60):
        """settle() without what the Sentinels wait for: they tell a demoted master only after 10 s whom to follow."""
        until(self.master, "a master", seconds)
        host, port = self.master().address.split(":")
        for server in self.servers:
            if server is not self.master() and server.role() == "master":
                server.redis("REPLICAOF", host, port)
        self.settle(seconds)

    def agrees(self, watcher):
        with contextlib.suppress(OSError, ServerError):
            flags, replicas, others, port = watcher.master()
            return (flags == "master" and replicas == self.replicas and others == len(self.watchers) - 1 and
                    self.master() and self.master().address.endswith(f":{port}"))
        return False


class Cluster(Topology):
    """Masters with `replicas` each; the slots are spread evenly. `options` are of each node."""

    has_replicas = True

    def __init__(self, directory, *options, masters=3, replicas=1, node_timeout_ms=1000, **how):
        self.options = [*options, "--cluster-enabled", "yes", "--cluster-node-timeout", str(node_timeout_ms),
                        "--cluster-replica-validity-factor", "0"]
        self.masters, self.replicas, self.how = masters, replicas, how
        super().__init__(directory)

    def build(self):
        for _ in range(self.masters * (1 + self.replicas)):
            self.add(*self.options, port=free_port(), **self.how)
        self.ids = [node.redis("CLUSTER", "MYID") for node in self.servers]
        for number, node in enumerate(self.servers):
            node.redis("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            if number < self.masters:
                node.redis("CLUSTER", "ADDSLOTS", *range(SLOTS * number // self.masters,
                                                         SLOTS * (number + 1) // self.masters))
            if number:
                # By the bus, which no proxy stands before.
                node.redis("CLUSTER", "MEET", "127.0.0.1", self.servers[0].port, self.servers[0].port + 10000)
        until(lambda: all(node.redis("CLUSTER", "NODES").count("connected") == len(self.servers) for node in self.servers),
              "the meeting of the nodes")
        for number, node in enumerate(self.servers[self.masters:]):
            node.redis("CLUSTER", "REPLICATE", self.ids[number % self.masters])
        self.settle()
        self.url = "redis+cluster://" + ",".join(node.address for node in self.servers)

    def settle(self, seconds=60):
        super().settle(seconds)
        until(lambda: all(self.is_well(node) for node in self.servers), "agreement of the Cluster", seconds)

    def is_well(self, node):
        with contextlib.suppress(OSError, ServerError):
            if "cluster_state:ok" not in node.redis("CLUSTER", "INFO", timeout=1):
                return False
            if "fail" in node.redis("CLUSTER", "NODES", timeout=1):
                return False
            role = node.redis("ROLE", timeout=1)
            return len(role[2]) == self.replicas if role[0] == "master" else role[3] == "connected"
        return False

    def node(self, node_id):
        return self.servers[self.ids.index(node_id)]

    def slot_of(self, key):
        return self.servers[0].redis("CLUSTER", "KEYSLOT", key) if self.servers[0].answers() else next(
            node for node in self.servers if node.answers()).redis("CLUSTER", "KEYSLOT", key)

    def owner(self, slot):
        """The master of a slot, as the nodes that answer and think the Cluster well see it; None where none does."""
        for node in self.servers:
            with contextlib.suppress(OSError, ServerError):
                if "cluster_state:ok" not in node.redis("CLUSTER", "INFO", timeout=1):
                    continue
                for first, last, master, *_ in node.redis("CLUSTER", "SLOTS", timeout=1):
                    if first <= slot <= last:
                        return self.node(master[2])
        return None

    def servers_of(self, key):
        owner = self.owner(self.slot_of(key))
        return [owner] if owner else []

    def replicas_of(self, node):
        wanted = self.ids[self.servers.index(node)]
        return [self.node(line.split()[0]) for line in node.redis("CLUSTER", "NODES").splitlines()
                if line.split()[3] == wanted and "fail" not in line.split()[2]]

    def failover(self, key, how=()):
        """`how`: FORCE or TAKEOVER."""
        before = self.servers_of(key)[0]

        def asked():
            with contextlib.suppress(ServerError, IndexError):
                return self.replicas_of(before)[0].redis("CLUSTER", "FAILOVER", *how) == "OK"
        until(asked, "a failover")
        until(lambda: self.servers_of(key) not in ([], [before]), "a new master")
        return self.servers_of(key)[0]

    # --- resharding, in the steps that redis-cli takes ----------------------------------------

    def begin_move(self, slot, target):
        """From now on the owner answers ASK for what is not there, TRYAGAIN for what is in parts."""
        source = self.owner(slot)
        target.redis("CLUSTER", "SETSLOT", slot, "IMPORTING", self.ids[self.servers.index(source)])
        source.redis("CLUSTER", "SETSLOT", slot, "MIGRATING", self.ids[self.servers.index(target)])
        return source

    def move_keys(self, slot, source, target, count=1000):
        """Up to so many keys of the slot. Returns how many."""
        keys = source.redis("CLUSTER", "GETKEYSINSLOT", slot, count)
        password = ["AUTH", source.password] if source.password else []
        if keys:
            source.redis("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "REPLACE", *password, "KEYS", *keys)
        return len(keys)

    def end_move(self, slot, source, target):
        for node in [target, source, *self.servers]:
            with contextlib.suppress(OSError, ServerError):  # a replica takes no such command
                node.redis("CLUSTER", "SETSLOT", slot, "NODE", self.ids[self.servers.index(target)])

    def move_slot(self, slot, target, pause=0):
        """The whole of it, key by key, so many seconds after each step."""
        source = self.begin_move(slot, target)
        time.sleep(pause)
        while self.move_keys(slot, source, target, 1):
            time.sleep(pause)
        self.end_move(slot, source, target)


class Redlock(Topology):
    """Independent servers. `options` are of each."""

    def __init__(self, directory, *options, servers=5, **how):
        self.options, self.count, self.how = options, servers, how
        super().__init__(directory)

    def build(self):
        for _ in range(self.count):
            self.add(*self.options, port=free_port(), **self.how)
        self.url = ",".join(server.url for server in self.servers)


TOPOLOGIES = {"single": Single, "sentinel": Sentinel, "cluster": Cluster, "redlock": Redlock}


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in TOPOLOGIES:
        sys.exit(__doc__)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    options = eval(f"dict({sys.argv[3]})") if len(sys.argv) == 4 else {}
    with TOPOLOGIES[sys.argv[1]](sys.argv[2], **options) as topology:
        print(f"ready {topology.url}", flush=True)
        names = {**globals(), "field": topology}
        for line in sys.stdin:
            try:
                exec(line, names)
                print("done", flush=True)
            except Exception as error:
                print(f"failed: {error!r}", flush=True)


if __name__ == "__main__":
    main()
