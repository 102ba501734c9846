"""Members of a store that a majority decides (ensembles.py), as the servers of a round."""

import contextlib
import http.client
import os
import shutil

import namespaces
from ensembles import ENSEMBLES
from troubles import ISOLATED
from trials import unguarded
from watch import Watch
from zookeeper import Failed

# Leases and sessions have whole seconds; a member's clock of them has half a second, and the end is decided by all.
SLACK_S = 4
SHORTEST_TTL_MS = 2000  # that both grant
WAITERS_S = 120  # how long a waiter that is cut off may keep its place, and what it asked for last for it
OPTIONS = {"etcd": (), "zookeeper": ("maxClientCnxns=60",)}  # a crowd takes all connections
LOOK_MS = 25  # each costs them more than a server of Redis


def are_isolated():
    return namespaces.is_possible()


def have_disks():
    return are_isolated() and os.path.exists("/dev/loop-control") and shutil.which("mkfs.ext4") is not None


def prepare():
    """Before the first thread is started."""
    if are_isolated():
        namespaces.isolate()
    if have_disks():
        namespaces.isolate_mounts()


def build(store, directory, weather, environment=None):
    # A log of etcd on a new disk is slow at first, which would not be calm.
    disks = have_disks() and weather == "members"
    return ENSEMBLES[store](directory, *OPTIONS[store], isolated=are_isolated(), disks=disks, environment=environment)


def weathers(store):
    there = {"disk": have_disks()}
    kinds = tuple(kind for kind in ENSEMBLES[store].trouble if kind not in ISOLATED or there.get(kind, are_isolated()))
    return {"calm": (), "clocks": ("step clocks",), "members": kinds}


WEATHERS = {store: weathers(store) for store in ENSEMBLES}


class MembersWatch(Watch):
    """Asks the member that answered last, which asks a majority. When a lease ends is not known."""

    def __init__(self, field, key, poll_ms):
        super().__init__(None, key, max(poll_ms, LOOK_MS))
        self.field, self.member = field, field.servers[0]

    def observe(self):
        with contextlib.suppress(OSError, ValueError, KeyError, http.client.HTTPException, Failed):
            return self.field.holder(self.key, self.member), 0
        at = self.field.servers.index(self.member)
        self.member = self.field.servers[(at + 1) % len(self.field.servers)]
        return None


def leaks(contest):
    """What is left when all rlocks have ended, and would not end by itself at the latest when its lease does."""
    field = contest.field
    field.settle()
    ttl_s = max([run.ttl_ms for run in contest.runs], default=0) / 1000
    patient = contest.befell or any(unguarded(run) for run in contest.runs)
    for name in contest.left_of(lambda: field.entries(contest.key), SLACK_S + (ttl_s if patient else 0)):
        yield f"entry {name}"
    for name, seconds in field.expiries():
        if seconds > max(ttl_s, WAITERS_S) + SLACK_S:
            yield f"{name} stays for {seconds:.0f} s more"
