"""Asks the servers themselves, every few ms, who holds a lock and until when."""

import bisect
import threading
import time
from array import array

from resp import ServerError
from stage import boottime_ns

LOOK = "return {redis.call('GET', KEYS[1]) or '', redis.call('PEXPIRETIME', KEYS[1])}"


class Watch(threading.Thread):
    """An observation is made somewhere between `sent` and `got`; there is none while too few servers answer to be sure.

    `servers()` are those to ask. Of `votes` independent ones, who holds more than half has the lock, for as long as the
    last of that many leases.
    """

    def __init__(self, servers, key, poll_ms, votes=1):
        super().__init__(daemon=True)
        self.servers, self.key, self.poll_s = servers, key, poll_ms / 1000
        self.votes, self.quorum = votes, votes // 2 + 1
        self.connections = {}
        self.over = threading.Event()
        self.sent, self.got, self.owner = array("q"), array("q"), array("l")
        self.naps, self.napped = array("d"), array("q")  # how long each sleep between two looks took, and when it ended
        self.expires_ms = array("q")  # as the server says: Unix time
        self.ahead = None
        self.tokens, self.numbers = [None], {None: 0}
        self.ends = {}  # number of a token -> the latest expiry it was seen with, CLOCK_BOOTTIME ns

    def run(self):
        before = time.monotonic()
        while not self.over.wait(self.poll_s):
            self.naps.append(time.monotonic() - before)
            self.napped.append(boottime_ns())
            self.look()
            before = time.monotonic()

    def ask(self, server):
        """(token or "", expiry), None where it does not answer or does not know."""
        try:
            if server not in self.connections:
                # One of several is not worth waiting for.
                self.connections[server] = server.connect(timeout=60 if self.votes == 1 else 0.05)
            return self.connections[server]("EVAL", LOOK, 1, self.key)
        except (OSError, ServerError):
            if server in self.connections:
                self.connections.pop(server).close()
            return None

    def look(self):
        sent = boottime_ns()
        seen = self.observe()
        got = boottime_ns()
        if seen is None:
            return
        token, expires_ms = seen
        if token not in self.numbers:
            self.numbers[token] = len(self.tokens)
            self.tokens.append(token)
        self.sent.append(sent)
        self.got.append(got)
        self.owner.append(self.numbers[token])
        self.expires_ms.append(expires_ms)
        if token and expires_ms:
            end = expires_ms * 1_000_000 - self.ahead_ns()
            self.ends[self.owner[-1]] = max(end, self.ends.get(self.owner[-1], 0))

    def observe(self):
        """(token or None, its expiry or 0 where that cannot be known); None where too few answer to be sure."""
        answers = [answer for answer in map(self.ask, self.servers()) if answer]
        leases = {}
        for token, expires_ms in answers:
            leases.setdefault(token or None, []).append(expires_ms)
        token = next((token for token, ends in leases.items() if token and len(ends) >= self.quorum), None)
        most = max((len(ends) for token, ends in leases.items() if token), default=0)
        if token is None and most + self.votes - len(answers) >= self.quorum:
            return None  # those who did not answer may make it a majority
        return token, sorted(leases[token])[-self.quorum] if token else -2

    def ahead_ns(self):
        """CLOCK_REALTIME, in which the server expires keys, less CLOCK_BOOTTIME. The last good
        measurement: one during which this thread had to wait for the processor is none."""
        before, real, after = boottime_ns(), time.clock_gettime_ns(time.CLOCK_REALTIME), boottime_ns()
        if after - before < 100_000 or self.ahead is None:
            self.ahead = real - before
        return self.ahead

    def end(self):
        self.over.set()
        self.join(70)

    # --- what it has seen ---------------------------------------------------------------------

    def loss(self, token, start, last):
        """When it was seen, while the command lived, that the key did not hold its token."""
        number = self.numbers.get(token, -1)
        for at in range(bisect.bisect_left(self.sent, start), len(self.got)):
            if self.got[at] >= last:
                return None
            if self.owner[at] != number:
                return self.got[at]
        return None

    def first_seen(self, token):
        """When it was first known to hold the key, None where it was not seen."""
        number = self.numbers.get(token)
        return None if number is None else self.sent[self.owner.index(number)]

    def lease_end(self, token):
        """The latest expiry that a token was seen with, None where it was not seen."""
        return self.ends.get(self.numbers.get(token))

    def slowness(self, start, end):
        """How many times longer a short sleep took between two times than on an idle machine."""
        first, last = bisect.bisect_left(self.napped, start), bisect.bisect_right(self.napped, end)
        naps = self.naps[first:last + 1]
        return max(1, sum(naps) / len(naps) / self.poll_s / 1.2) if naps else 1

    def longest_gap_ms(self, start, end):
        """Between two observations: how long an ordinary thread of this machine had to wait meanwhile, and the servers."""
        times = [start, *(at for at in self.got if start < at < end), end]
        return max(b - a for a, b in zip(times, times[1:])) / 1e6

    def holdings(self):
        """(token or None, from, to): who held it when, in order; only what was seen."""
        found = []
        for at, number in enumerate(self.owner):
            if found and found[-1][0] == self.tokens[number]:
                found[-1][2] = self.got[at]
            else:
                found.append([self.tokens[number], self.sent[at], self.got[at]])
        return [tuple(each) for each in found]

    def histories(self, starts):
        """(revived, shortened): lists of (time, text). `starts`: token -> start of its command."""
        revived, shortened, gone = [], [], set()
        for at in range(1, len(self.owner)):
            now = self.owner[at]
            if now != self.owner[at - 1]:
                gone.add(self.owner[at - 1])
                if now in gone and starts.get(self.tokens[now], self.got[at]) < self.sent[at]:
                    revived.append((self.got[at], f"token {self.tokens[now]} came back"))
            elif now and self.expires_ms[at] < self.expires_ms[at - 1]:
                back = self.expires_ms[at - 1] - self.expires_ms[at]
                shortened.append((self.got[at], f"the lease of {self.tokens[now]} lost {back} ms"))
        return revived, shortened

    def around(self, start, end):
        """(time, text) of each change of holder between two times."""
        found, last = [], -1
        for at in range(max(0, bisect.bisect_left(self.got, start) - 1), len(self.got)):
            if self.got[at] > end:
                break
            if self.owner[at] != last:
                last = self.owner[at]
                left = ""
                if last and self.expires_ms[at]:
                    left = f", {self.expires_ms[at] - (self.got[at] + self.ahead) / 1e6:.0f} ms left"
                found.append((self.got[at], f"key holds {self.tokens[last]}{left}"))
        return found
