"""Crowds of simulated rlocks: thousands of connections from one process, speaking rlock's protocol by its own scripts.

An actor yields (bytes to send, when to stop waiting), is sent the reply, or None when that time has come or a message
arrived, and ends when it returns. What it did is appended to the `log` of its crowd.
"""

import binascii
import collections
import heapq
import itertools
import os
import random
import resource
import secrets
import select
import socket
import sys
import time
from collections.abc import Callable, Iterator

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path += [TESTS, TESTS + "/faults"]
from constants import heartbeat_jitter, heartbeat_pause  # noqa: E402
from resp import request  # noqa: E402

SIDE = "qif", "lbh"  # the side keys before and behind that of the token
WHO = "4711 a-host-with-a-name deploy 1795000000 0 /usr/local/bin/nightly-report --all"
TTL = 30.0
NEVER = float("inf")
# A source address of loopback has that many ports, about.
PORTS = 20_000


class Broken(Exception):
    """What a server would not do any more."""


def scripts() -> dict[str, str]:
    directory = os.path.join(os.path.dirname(os.path.abspath(os.environ["RLOCK"])), "scripts")
    found = {}
    for name in ("acquire", "release", "renew"):
        with open(f"{directory}/{name}.lua", encoding="utf-8") as file:
            found[name] = file.read()
    return found


def slot_of(key: str) -> int:
    return binascii.crc_hqx(f"rlock:{key}".encode(), 0) % 16384


def pause(rank: int) -> float:
    """In seconds, between two heartbeats."""
    least = heartbeat_pause(rank)
    return (least + random.uniform(0, heartbeat_jitter(least))) / 1000


class Parser:
    """Replies of RESP2 and 3 as they come: ints, bytes, None, lists; a push as a tuple; an error as a Broken."""

    def __init__(self):
        self.data = b""

    def feed(self, data: bytes) -> Iterator:
        self.data += data
        at = 0
        while at < len(self.data):
            found = self.one(at)
            if found is None:
                break
            value, at = found
            yield value
        self.data = self.data[at:]

    def one(self, at: int):
        end = self.data.find(b"\r\n", at)
        if end < 0:
            return None
        kind, rest, at = self.data[at:at + 1], self.data[at + 1:end], end + 2
        if kind == b":":
            return int(rest), at
        if kind == b"$":
            size = int(rest)
            if size < 0:
                return None, at
            return (self.data[at:at + size], at + size + 2) if len(self.data) >= at + size + 2 else None
        if kind in b"*>~%":
            items = []
            for _ in range(int(rest) * (2 if kind == b"%" else 1)):
                found = self.one(at)
                if found is None:
                    return None
                items.append(found[0])
                at = found[1]
            return (tuple(items) if kind == b">" else items), at
        return (Broken(rest.decode()) if kind == b"-" else None if kind == b"_" else rest), at


class Link:
    """A connection. It may be that of several actors: what a server and a machine have of connections is limited."""

    __slots__ = ("socket", "parser", "awaiting", "channels", "actors")

    def __init__(self, address, number: int):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setsockopt(socket.IPPROTO_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT
        self.socket.bind((f"127.0.1.{1 + number // PORTS}", 0))
        self.socket.settimeout(30)
        self.socket.connect(address)
        self.socket.setblocking(False)
        self.parser = Parser()
        self.awaiting: collections.deque[Actor] = collections.deque()  # replies, in this order
        self.channels: dict[bytes, Actor] = {}
        self.actors = 0


class Actor:
    """One of the crowd: a generator of this module, and what it was pushed."""

    __slots__ = ("link", "steps", "pushed", "until", "awaits", "origin", "tracks")

    def __init__(self, link: Link, origin: tuple):
        self.link, self.origin = link, origin
        self.pushed, self.until, self.awaits, self.tracks = [], NEVER, False, False

    def subscribe(self, command: str, channel: str) -> None:
        """Its answer is a push."""
        self.link.socket.sendall(request(command, channel))
        if "UN" in command:
            del self.link.channels[channel.encode()]
        else:
            self.link.channels[channel.encode()] = self


class Crowd:
    """Actors and their links, driven by one poll. hashes: of the scripts, as the server gave them."""

    def __init__(self, hashes: dict[str, str], in_cluster: bool):
        self.hashes, self.in_cluster = hashes, in_cluster
        self.links: dict[int, Link] = {}
        self.poll, self.timers, self.log = select.epoll(), [], []
        self.command = 0.0  # for how many seconds a waiter holds the lock
        self.returns = False  # whether who has ended comes again, over a new connection
        self.spare: dict[tuple, Link] = {}  # the last link to each address
        self.order = itertools.count()

    # number: of all actors at that address. kind: one of those below, about this key. shared: how many have one link.
    def join(self, address, number: int, kind: Callable, key: str, shared: int = 1) -> None:
        link = self.spare.get(address)
        if link is None or link.actors == 0 or link.actors >= shared:
            try:
                link = self.spare[address] = Link(address, number)
            except OSError as error:
                raise Broken(f"connection {number + 1}: {error}") from error
            self.links[link.socket.fileno()] = link
            self.poll.register(link.socket, select.EPOLLIN)
        link.actors += 1
        actor = Actor(link, (address, number, kind, key, shared))
        actor.steps = kind(key)(self, actor)
        self.go_on(actor, None)

    # Sends the actor a value and what it then yields to the server.
    def go_on(self, actor: Actor, value) -> None:
        link = actor.link
        try:
            data, until = actor.steps.send(value)
        except StopIteration:
            link.actors -= 1
            if link.actors == 0:
                del self.links[link.socket.fileno()]
                link.socket.close()
            if self.returns:
                self.join(*actor.origin)
            return
        actor.awaits = bool(data)
        if data:
            link.awaiting.append(actor)
            link.socket.sendall(data)
        actor.until = until
        if until != NEVER:
            heapq.heappush(self.timers, (until, next(self.order), actor))

    def hear(self, link: Link) -> None:
        data = link.socket.recv(65536)
        if not data:
            raise Broken("the server closed a connection")
        for value in link.parser.feed(data):
            if isinstance(value, Broken):
                raise value
            if not isinstance(value, tuple):
                self.go_on(link.awaiting.popleft(), value)
                continue
            told = [link.channels.get(value[1])] if value[0] != b"invalidate" else list(link.channels.values())
            for actor in told:
                if actor and (value[0] != b"invalidate" or actor.tracks):
                    actor.pushed.append(value)
                    if not actor.awaits:
                        self.go_on(actor, None)

    def run(self, until: float) -> None:
        """Until then (time.monotonic), or until nobody is left."""
        while self.links and (now := time.monotonic()) < until:
            at = min(until, self.timers[0][0]) if self.timers else until
            for number, _ in self.poll.poll(max(at - now, 0), 512):
                if number in self.links:
                    self.hear(self.links[number])
            now = time.monotonic()
            while self.timers and self.timers[0][0] <= now:
                due, _, actor = heapq.heappop(self.timers)
                if actor.until == due and not actor.awaits:
                    self.go_on(actor, None)

    # One call of a script, as stores/redis/scripts/script_call.cpp makes it.
    def call(self, name: str, key: str, token: str, *arguments) -> bytes:
        lock, tag = f"rlock:{key}", f"{{rlock:{key}}}"
        keys = [lock, *(f"rlock:{kind}:{tag}" for kind in SIDE[0]), f"rlock:t:{tag}:{token}",
                *(f"rlock:{kind}:{tag}" for kind in SIDE[1])]
        return request("EVALSHA", self.hashes[name], 8, *keys, token, *arguments)

    def acquire(self, key: str, token: str, ticket="") -> bytes:
        return self.call("acquire", key, token, int(TTL * 1000), ticket, "c" if self.in_cluster else "s", WHO, "", "x", "")

    def release(self, key: str, token: str) -> bytes:
        return self.call("release", key, token, 30000, "", "", "", "", f"0 1234 0 {WHO}")

    def renew(self, key: str, token: str) -> bytes:
        return self.call("renew", key, token, int(TTL * 1000))


def job(key: str, times: float = 1) -> Callable[[Crowd, Actor], Iterator]:
    """Acquires and releases a lock of its own, so many times; logs for how long it waited for both answers."""

    def act(crowd: Crowd, _actor: Actor):
        done = 0
        while done < times:
            token, start = secrets.token_hex(16), time.monotonic()
            reply = yield crowd.acquire(key, token), NEVER
            if reply[0] != 1:
                raise Broken(f"{key} is not free")
            yield crowd.release(key, token), NEVER
            crowd.log.append(time.monotonic() - start)
            done += 1

    return act


def jobs(key: str) -> Callable[[Crowd, Actor], Iterator]:
    return job(key, NEVER)


def holder(key: str) -> Callable[[Crowd, Actor], Iterator]:
    """Holds a lock and renews it three times a lease; logs each renewal's time to the answer."""

    def act(crowd: Crowd, _actor: Actor):
        token = secrets.token_hex(16)
        yield crowd.acquire(key, token), NEVER
        yield b"", time.monotonic() + random.uniform(0, TTL / 3)
        while True:
            start = time.monotonic()
            reply = yield crowd.renew(key, token), NEVER
            if reply[0] != 1:
                raise Broken(f"{key} was lost")
            crowd.log.append(time.monotonic() - start)
            yield b"", start + TTL / 3

    return act


def waiter(key: str) -> Callable[[Crowd, Actor], Iterator]:
    """Waits for a lock as rlock does, holds it for crowd.command seconds, releases it, and queues again behind all. Logs each
    turn: (key, fence, when the confirmation came, when it sent the release).
    """

    def act(crowd: Crowd, actor: Actor):
        channel, lock = "rlock:w:{rlock:%s}" % key, f"rlock:{key}".encode()
        subscribe, unsubscribe = (("SSUBSCRIBE", "SUNSUBSCRIBE") if crowd.in_cluster else ("SUBSCRIBE", "UNSUBSCRIBE"))
        yield request("HELLO", "3"), NEVER
        while True:
            token = secrets.token_hex(16)
            actor.subscribe(subscribe, f"{channel}:{token}")
            reply = yield crowd.acquire(key, token, "0"), NEVER
            while reply[0] != 1:
                ticket, rank, left = reply[1], reply[2], reply[3]
                look = time.monotonic() + pause(rank)
                if left >= 0:
                    look = min(look, time.monotonic() + left / 1000 + min(rank * 0.1, pause(rank)))
                if rank < 3 and not actor.tracks:
                    look = min(look, time.monotonic() + 0.5 + 0.1 * rank)
                is_first, granted = rank < 3, False
                while not granted and time.monotonic() < look:
                    yield b"", look
                    for push in actor.pushed:
                        message = push[-1] if push[0] in (b"message", b"smessage") else b""
                        granted = granted or message == b"g"
                        if message.startswith(b"h "):
                            is_first, look = True, min(look, time.monotonic() + int(message[2:]) / 1000)
                        touched = push[0] == b"invalidate" and (push[1] is None or lock in push[1])
                        if touched and is_first:
                            look = min(look, time.monotonic() + 0.2 + 0.15 * max(rank, 0))
                    actor.pushed.clear()
                if not granted and is_first and not actor.tracks:
                    yield request("CLIENT", "TRACKING", "ON", "NOLOOP"), NEVER
                    actor.tracks = True
                reply = yield crowd.acquire(key, token, ticket), NEVER
            confirmed = time.monotonic()
            while time.monotonic() < confirmed + crowd.command:
                yield b"", confirmed + crowd.command
            crowd.log.append((key, reply[1], confirmed, time.monotonic()))
            actor.tracks = False
            yield crowd.release(key, token), NEVER
            actor.subscribe(unsubscribe, f"{channel}:{token}")

    return act


def descriptors() -> int:
    """How many files this process, and what it starts, may have open; as many as the machine lets it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard
