"""The full minute of cron: many short rlocks that start at nearly the same time, each over a connection of its own."""

import errno
import heapq
import itertools
import random
import secrets
import select
import socket
import time

from crowd import Crowd, Parser

PATIENCE = 5.0  # seconds, the default of --connect-timeout
BACKOFF = 0.1, 0.5  # seconds, lock/acquire.hpp


class Job:
    """One `rlock run -n`. waited: seconds for the server, in all; refusals: connections that were; is_served: else it ends
    with 69.
    """

    __slots__ = ("address", "key", "token", "start", "asked", "socket", "parser", "holds", "waited", "refusals", "is_served")

    def __init__(self, address, key: str, start: float):
        self.address, self.key, self.start = address, key, start
        self.token, self.socket, self.holds = secrets.token_hex(16), None, False
        self.asked, self.waited, self.refusals, self.is_served = 0.0, 0.0, 0, False


class Minute:
    """Jobs and their connections, driven by one poll."""

    def __init__(self, speaker: Crowd, command: float):
        self.speaker, self.command = speaker, command
        self.poll, self.links, self.timers, self.order = select.epoll(), {}, [], itertools.count()

    def at(self, due: float, what, job: Job) -> None:
        heapq.heappush(self.timers, (due, next(self.order), what, job))

    def begin(self, job: Job) -> None:
        job.asked = time.monotonic()
        self.at(job.asked + PATIENCE, self.give_up, job)
        self.connect(job)

    def connect(self, job: Job) -> None:
        if job.waited:
            return
        job.parser, job.socket = Parser(), socket.socket()
        job.socket.setblocking(False)
        job.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        job.socket.setsockopt(socket.IPPROTO_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT
        job.socket.bind((f"127.0.1.{random.randrange(1, 200)}", 0))
        if job.socket.connect_ex(job.address) not in (0, errno.EINPROGRESS):
            raise OSError("no connection")
        self.links[job.socket.fileno()] = job
        self.poll.register(job.socket, select.EPOLLOUT)

    def disconnect(self, job: Job) -> None:
        if job.socket:
            del self.links[job.socket.fileno()]
            job.socket.close()
            job.socket = None

    def give_up(self, job: Job) -> None:
        if not job.waited:
            job.waited = time.monotonic() - job.asked
            self.disconnect(job)

    def release(self, job: Job) -> None:
        job.asked = time.monotonic()
        job.socket.sendall(self.speaker.release(job.key, job.token))

    def hear(self, job: Job, events: int) -> None:
        try:
            if events == select.EPOLLOUT:
                job.socket.sendall(self.speaker.acquire(job.key, job.token))
                self.poll.modify(job.socket, select.EPOLLIN)
                return
            data = job.socket.recv(4096)
        except OSError:
            data = b""
        if not data or data.startswith(b"-"):
            pause = min(BACKOFF[0] * 2 ** job.refusals, BACKOFF[1]) * random.uniform(0.5, 1)
            job.refusals += 1
            self.disconnect(job)
            self.at(time.monotonic() + pause, self.connect, job)
            return
        for reply in job.parser.feed(data):
            job.waited += time.monotonic() - job.asked
            if not job.holds and reply[0] == 1:
                job.holds = True
                self.at(time.monotonic() + self.command, self.release, job)
            else:
                job.is_served = True
                self.disconnect(job)

    def run(self, jobs: list[Job]) -> None:
        """Until each was served or has given up."""
        for job in jobs:
            self.at(job.start, self.begin, job)
        while self.timers or self.links:
            due = self.timers[0][0] - time.monotonic() if self.timers else PATIENCE
            for number, events in self.poll.poll(max(due, 0), 512):
                if number in self.links:
                    self.hear(self.links[number], events)
            while self.timers and self.timers[0][0] <= time.monotonic():
                _, _, what, job = heapq.heappop(self.timers)
                what(job)


def run(hashes: dict[str, str], in_cluster: bool, keys: list, start: float, within: float, command: float) -> list[tuple]:
    """A job for each (address, key), which starts within some seconds of start (time.monotonic) and lasts for `command`
    seconds. Of each: waited, refusals, is_served.
    """
    jobs = [Job(address, key, start + random.uniform(0, within)) for address, key in keys]
    Minute(Crowd(hashes, in_cluster), command).run(jobs)
    return [(job.waited, job.refusals, job.is_served) for job in jobs]
