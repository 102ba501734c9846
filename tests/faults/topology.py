"""What all fields of servers have in common (topologies.py)."""

from servers import Server, until


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

    def is_held(self, key):
        """Whether anything is left of a lock, on any server that owns it."""
        return any(server.redis("EXISTS", "rlock:" + key) for server in self.servers_of("rlock:" + key))

    def failover(self, key):
        """Only where there are replicas."""
        raise NotImplementedError

    def settle(self, seconds=120):
        """Waits until all servers answer, and the replicas follow their masters."""
        until(lambda: all(server.answers() for server in self.servers), "every server's answer", seconds)

    def close(self):
        for server in self.servers + self.watchers:
            server.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
