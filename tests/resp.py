"""The Redis client of every Python tool here: one connection, one command at a time, no retries of its own."""

import socket
import time


class ServerError(RuntimeError):
    """The server answered with an error; the text is its own."""


def request(*words):
    """A command as bytes."""
    words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def read_reply(file):
    """The next reply of a binary file: bytes, an int, None, or a list of these. Raises ServerError, ConnectionError."""
    line = file.readline()
    if not line.endswith(b"\r\n"):
        raise ConnectionError("the server has gone")
    kind, rest = line[:1], line[1:-2]
    if kind == b"*":
        return [read_reply(file) for _ in range(int(rest))]
    if kind == b"$":
        return None if rest == b"-1" else file.read(int(rest) + 2)[:-2]
    if kind == b"-":
        raise ServerError(rest.decode())
    return int(rest) if kind == b":" else rest


class Redis:
    """A connection to a Unix socket (its path) or over TCP ((host, port)). `timeout` (seconds, None: for ever) bounds the
    connect and each read.

    Raises OSError where nobody listens, TimeoutError where nobody answers.
    """

    def __init__(self, address, password=None, database=0, timeout=None):
        self.socket = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
        self.socket.settimeout(timeout)
        self.socket.connect(address)
        self.file = self.socket.makefile("rb")
        if password:
            self("AUTH", password)
        if database:
            self("SELECT", database)

    def __call__(self, *words):
        """The reply, its bytes as text."""
        return as_text(self.raw(*words))

    def raw(self, *words):
        """The reply, its bytes as they are."""
        self.socket.sendall(request(*words))
        return read_reply(self.file)

    def close(self):
        self.file.close()
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def as_text(reply):
    if isinstance(reply, list):
        return [as_text(each) for each in reply]
    return reply.decode(errors="replace") if isinstance(reply, bytes) else reply


def connected(address, seconds=10, **options):
    """A Redis as soon as somebody listens there."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return Redis(address, **options)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
