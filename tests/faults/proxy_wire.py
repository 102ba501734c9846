"""Addresses, sockets and the commands in a stream of bytes, as the proxy sees them."""

import os
import socket
import time


def boottime_ns():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def parse_address(text):
    """`unix:/path` or `host:port` as (family, address)."""
    if text.startswith("unix:"):
        return socket.AF_UNIX, text[len("unix:"):]
    host, _, port = text.rpartition(":")
    return socket.AF_INET, (host, int(port))


def listening_socket(address):
    """Bind and listen; a socket file left by an earlier listener is replaced."""
    family, where = parse_address(address)
    if family == socket.AF_UNIX and os.path.exists(where):
        os.unlink(where)
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(where)
    sock.listen(1024)
    sock.setblocking(False)
    return sock


def address_of(sock):
    name = sock.getsockname()
    return f"unix:{name}" if isinstance(name, str) else f"{name[0]}:{name[1]}"


class CommandParser:
    """Cuts a stream of RESP requests into whole commands."""

    def __init__(self):
        self.buffer = b""
        self.raw = False  # seen something else than an array: pass bytes as they come

    def feed(self, data):
        """Yield (bytes, arguments) per complete command, or (bytes, None) for other bytes."""
        self.buffer += data
        while self.buffer:
            if self.raw or self.buffer[:1] != b"*":
                self.raw = True
                data, self.buffer = self.buffer, b""
                yield data, None
                return
            command = self._first()
            if command is None:
                return
            end, arguments = command
            data, self.buffer = self.buffer[:end], self.buffer[end:]
            yield data, arguments

    def _first(self):
        """(length, arguments) of the command at the front, None where it is not complete."""
        at = self.buffer.find(b"\r\n")
        if at < 0:
            return None
        count, at, arguments = int(self.buffer[1:at]), at + 2, []
        for _ in range(count):
            end = self.buffer.find(b"\r\n", at)
            if end < 0:
                return None
            size = int(self.buffer[at + 1:end])
            at = end + 2 + size + 2
            if len(self.buffer) < at:
                return None
            arguments.append(self.buffer[end + 2:end + 2 + size])
        return at, arguments
