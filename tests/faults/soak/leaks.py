"""What is left on servers of Redis when all rlocks of a round have ended."""

import contextlib

from resp import ServerError
from trials import unguarded


def of_servers(contest):
    """The lock is free at the latest when its lease ends, and nothing else stays for good."""
    # What nobody is left to give back, or could not be given back to a server that was away, ends with its lease.
    lease_s = max([*(server.redis("PTTL", contest.wire_key) for server in contest.servers()), 0]) / 1000
    away = contest.topology != "single" and bool(contest.befell or contest.proxies_hit())
    patience = lease_s if away or any(unguarded(run) for run in contest.runs) else min(lease_s, 2)
    for server, holder in contest.left_of(lambda: holders(contest), patience + 1):
        yield f"the lock is still held, PTTL {server.redis('PTTL', contest.wire_key)}, by {holder}"
    for server in contest.servers():
        for key in server.redis("KEYS", "*"):
            if server.redis("PTTL", key) == -1 and not key.startswith("filler:"):
                yield f"key {key} without expiry"
        for line in server.redis("INFO", "keyspace").splitlines():
            if line.startswith("db") and not line.startswith(f"db{server.database}:"):
                yield f"keys in another database: {line}"


def holders(contest):
    found = []
    for server in contest.servers():
        with contextlib.suppress(OSError, ServerError):  # it has just been moved
            holder = server.redis("GET", contest.wire_key)
            found += [(server, holder)] if holder else []
    return found
