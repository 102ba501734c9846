"""Network namespaces, for servers that a real partition cuts off: packets vanish, and nobody is told.

    isolate()           first of all, as root: from here on this process has a network of its own, so that what follows
                        changes nothing of the machine's
    isolate_mounts()    the same for what it mounts
    space = Namespace()
    space.enter         words before a command that shall run in it
    space.host          its address, for all other namespaces of this process
    space.cut()         nothing gets in or out any more
    space.mend()
    space.close()
"""

import ctypes
import itertools
import os
import subprocess

CLONE_NEWNS, CLONE_NEWNET = 0x00020000, 0x40000000
numbers = itertools.count(1)


def is_possible():
    """Whether this user may make one."""
    return subprocess.run(["unshare", "--net", "true"], stderr=subprocess.DEVNULL).returncode == 0


def unshare(what):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(what) != 0:
        raise OSError(ctypes.get_errno(), "a namespace: " + os.strerror(ctypes.get_errno()))


def isolate_mounts():
    """What this process mounts from here on is its own, and ends with it."""
    unshare(CLONE_NEWNS)
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)


def isolate():
    unshare(CLONE_NEWNET)
    ip("link", "set", "lo", "up")
    with open("/proc/sys/net/ipv4/ip_forward", "w") as forward:
        forward.write("1")


def ip(*words, enter=()):
    subprocess.run([*enter, "ip", *words], check=True)


class Namespace:
    def __init__(self):
        number = next(numbers)
        # It ends with this process: the pipe is closed then.
        self.keeper = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; read _"],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.keeper.stdout.readline()
        self.enter = ["nsenter", "--target", str(self.keeper.pid), "--net"]
        network = f"10.{200 + number // 250}.{number % 250}"
        self.router, self.host = network + ".1", network + ".2"
        link = f"space{number}"
        ip("link", "add", link, "type", "veth", "peer", "name", "out", "netns", str(self.keeper.pid))
        ip("address", "add", self.router + "/24", "dev", link)
        ip("link", "set", link, "up")
        ip("address", "add", self.host + "/24", "dev", "out", enter=self.enter)
        ip("link", "set", "lo", "up", enter=self.enter)
        self.mend()

    def cut(self):
        # Its own end: at the other one a connect would fail at once.
        ip("link", "set", "out", "down", enter=self.enter)

    def mend(self):
        ip("link", "set", "out", "up", enter=self.enter)
        ip("route", "replace", "default", "via", self.router, enter=self.enter)

    def close(self):
        self.keeper.kill()
        self.keeper.wait()
        self.keeper.stdin.close()
        self.keeper.stdout.close()
