#!/usr/bin/env python3
"""Servers on loopback, as rlock may find them: one, with Sentinels, a Cluster, several independent ones, members of a store
that a majority decides (ensembles.py).

    topologies.py single|sentinel|cluster|redlock|etcd|zookeeper DIRECTORY [NAME=VALUE,...]

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
import os
import signal
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.extend([HERE, os.path.dirname(HERE)])
from resp import ServerError  # noqa: E402
from ensembles import ENSEMBLES  # noqa: E402
from servers import MASTER, Watcher, free_port, until  # noqa: E402
from topology import Topology  # noqa: E402

SLOTS = 16384


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

        def done():
            if self.master() not in (None, before):
                return True
            asked()  # Anew if the Sentinel has given up; while it is at it, this does nothing.
            return False
        until(done, "a new master")
        return self.master()

    def settle(self, seconds=120):
        super().settle(seconds)
        until(lambda: all(self.agrees(watcher) for watcher in self.watchers) and self.in_step(self.master()),
              "agreement of the Sentinels", seconds)

    def rejoin(self, seconds=120):
        """settle() without what the Sentinels wait for: they tell a demoted master only after 10 s whom to follow."""
        # A Sentinel that was away names the previous master until it has heard of the new one.
        until(self.names_one_master, "one master", seconds)
        host, port = self.master().address.split(":")
        for server in self.servers:
            if server is not self.master() and server.role() == "master":
                server.redis("REPLICAOF", host, port)
        self.settle(seconds)

    def names_one_master(self):
        with contextlib.suppress(OSError, ServerError):
            return len({watcher.master()[3] for watcher in self.watchers}) == 1
        return False

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

    def settle(self, seconds=120):
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


TOPOLOGIES = {"single": Single, "sentinel": Sentinel, "cluster": Cluster, "redlock": Redlock, **ENSEMBLES}


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
