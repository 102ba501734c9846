"""A way to a member of etcd on which each flight of a client may be held up, lost, or answered late.

    with Tap(member.host, member.port) as tap:
        f"etcd://{tap.address}"
        tap.rule = rule      # is asked of each flight from now on, before anything of it goes on

A flight is what a client sends behind an answer, on one connection. `rule(flight)` says what befalls it:
    PASS    it goes on; no answer comes before `flight.delay` is over, seconds, which the rule may set
    HOLD    it stays here, with all that follows on its connection, until tap.deliver(flight)
    LOSE    it comes to nobody, nor does what follows on its connection
`flight.data` is its beginning; `flight.passed_at` is when it went on, `flight.answered_at` when its client last got anything of
the answer: CLOCK_BOOTTIME, seconds; None: never. `tap.flights` has all, in order.
"""

import socket
import threading
import time

from tap import Listener, shut

PASS, HOLD, LOSE = "pass", "hold", "lose"
BUFFER = 1 << 16


def now():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Flight:
    def __init__(self, member, data):
        self.member, self.data, self.delay = member, data, 0.0
        self.passed_at = self.answered_at = None
        self.held, self.received, self.changed = [], b"", threading.Condition()

    def is_grant(self):
        return b"/v3/lease/grant" in self.data


class Tap(Listener):
    def __init__(self, host, port):
        self.target, self.rule, self.flights = (host, port), lambda _: PASS, []
        self.turn = threading.Lock()
        super().__init__()

    def serve(self, client):
        Connection(self, client).run()

    def begin(self, flight):
        """Of several connections one after the other, so that a rule may count."""
        with self.turn:
            self.flights.append(flight)
            fate = self.rule(flight)
            if fate == PASS:
                flight.passed_at = now()
            return fate

    @staticmethod
    def deliver(flight, seconds=60):
        """What was held arrives now; returns when the member has answered all of it, whoever hears that."""
        data = b"".join(flight.held)
        wanted = data.count(b"POST /v3/")
        flight.member.sendall(data)
        with flight.changed:
            if not flight.changed.wait_for(lambda: flight.received.count(b"HTTP/1.1 ") >= wanted, seconds):
                raise RuntimeError("no answer to what was held")


class Connection:
    def __init__(self, tap, client):
        self.tap, self.client, self.flight, self.fate = tap, client, None, PASS
        self.was_answered, self.is_open = True, True
        self.member = socket.create_connection(tap.target)

    def run(self):
        threading.Thread(target=self.down, daemon=True).start()
        self.up()

    def up(self):
        while data := receive(self.client):
            if self.was_answered and self.fate == PASS:
                self.flight, self.was_answered = Flight(self.member, data), False
                self.fate = self.tap.begin(self.flight)
            if self.fate == PASS:
                send(self.member, data)
            elif self.fate == HOLD:
                self.flight.held.append(data)
        self.is_open = False
        # The member does not hear that nobody waits for what is held.
        if self.fate != HOLD:
            shut(self.member)

    def down(self):
        while data := receive(self.member):
            flight = self.flight
            with flight.changed:
                flight.received += data
                flight.changed.notify_all()
            time.sleep(max(0, flight.passed_at + flight.delay - now()) if flight.passed_at else 0)
            # A client that has gone hears nothing. It may send on as soon as it has heard this.
            if self.is_open:
                flight.answered_at, self.was_answered = now(), True
                send(self.client, data)
        shut(self.client)


def receive(source):
    try:
        return source.recv(BUFFER)
    except OSError:
        return b""


def send(target, data):
    try:
        target.sendall(data)
    except OSError:
        pass
