"""What may befall one of the members of a field of ensembles.py, the leader two times of three.

    kill        SIGKILL; it comes back with its data
    stop        SIGSTOP
    split       no other member reaches it; clients do
    cut         nobody reaches it
    disk        the leader's disk takes no write
    clock       its wall clock is an hour or a year ahead or behind, and then right again
    roll        each member is restarted, one after the other, when all answer again
    crowd       all connections that one host may have at each member are taken (ZooKeeper)
    replace     it is killed and removed, and another one comes in its place, without any data (etcd)
    compact     the history is compacted, and each member defragmented (etcd)

ISOLATED are those for which members need namespaces and disks of their own.
"""

import contextlib
import socket
import time

ISOLATED = ("split", "cut", "disk")
STEPS = [sign * hours * 3600 for sign in (-1, 1) for hours in (1, 365 * 24)]  # seconds
CROWD = 80  # more than `trial_options` allow
# Methods of a member that begin and end each.
OF_A_MEMBER = {"kill": ("kill", "start"), "stop": ("stop", "resume"), "cut": ("cut", "mend"), "disk": ("stall", "flow")}


class Troubles:
    """befall() does one of them for so many seconds, and says to whom."""

    def __init__(self, field, chance):
        self.field, self.chance = field, chance

    def whom(self, kind):
        """A stalled disk of the leader alone holds up the others."""
        leader = self.field.leader()
        if leader and (kind == "disk" or self.chance.random() < 2 / 3):
            return leader, "leader"
        return self.chance.choice(self.field.followers()), "follower"

    def befall(self, kind, seconds):
        if kind in ("compact", "roll"):
            getattr(self, kind)()
            return "members"
        if kind == "crowd":
            self.crowd(seconds)
            return "members"
        member, name = self.whom(kind)
        if kind == "replace":
            member.replace()
            self.field.settle()
        elif kind == "clock":
            ahead = self.chance.choice(STEPS)
            self.during(lambda: member.clock.step(ahead), lambda: member.clock.step(0), seconds)
        elif kind == "split":
            self.during(lambda: self.field.split(member), lambda: self.field.join(member), seconds)
        else:
            self.during(*(getattr(member, verb) for verb in OF_A_MEMBER[kind]), seconds)
        return name

    def during(self, begin, end, seconds):
        begin()
        try:
            time.sleep(seconds)
        finally:
            end()

    def roll(self):
        for member in self.field.servers:
            member.restart()
            self.field.settle()

    def crowd(self, seconds):
        """More than there may be: those that others have count too, and some may end meanwhile."""
        with contextlib.ExitStack() as connections:
            for member in self.field.servers:
                for _ in range(CROWD):
                    with contextlib.suppress(OSError):
                        connections.enter_context(socket.create_connection((member.host, member.port)))
            time.sleep(seconds)

    def compact(self):
        self.field.compact()
        for member in self.field.servers:
            member.defragment()
