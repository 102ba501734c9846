"""Processes, a private Redis and what can be seen on its wire."""

import contextlib
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from resp import ServerError, read_reply, request  # noqa: E402


class Failed(Exception):
    """A measurement that cannot be had; its text goes into the table."""


@contextlib.contextmanager
def bounded(seconds: float, what: str) -> Iterator[None]:
    """Ends whatever blocks inside with Failed. Popen.wait(timeout) would poll, and cost processor time."""

    def give_up(*_):
        raise Failed(f"{what}: not done after {seconds:.0f} s")

    signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def until(condition: Callable[[], bool], what: str, seconds: float = 60, pause: float = 0.02) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise Failed(f"{what}: not so after {seconds:.0f} s")
        time.sleep(pause)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def spawn(argv: list[str], **options) -> subprocess.Popen:
    # An absolute path and close_fds=False let Python use posix_spawn; its own descriptors are close-on-exec anyway.
    path = shutil.which(argv[0])
    if not path:
        raise Failed(f"{argv[0]} not found")
    silence = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen([path, *argv[1:]], close_fds=False, **{**silence, **options})


def stop(process: subprocess.Popen) -> None:
    """SIGTERM, and SIGKILL after 3 s, by pid."""
    process.terminate()
    try:
        process.wait(3)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Redis:
    """A private redis-server or valkey-server without persistence, and a control connection to it."""

    def __init__(self, directory: str):
        program = shutil.which("redis-server") or shutil.which("valkey-server")
        if not program:
            raise SystemExit("bench: neither redis-server nor valkey-server is here")
        self.socket, self.port = f"{directory}/redis", free_port()
        settings = {"bind": "127.0.0.1", "port": self.port, "unixsocket": self.socket, "save": "", "appendonly": "no",
                    "dir": directory, "loglevel": "warning"}
        words = [word for name, value in settings.items() for word in (f"--{name}", str(value))]
        self.process = spawn([program, *words])
        try:
            until(lambda: os.path.exists(self.socket), "start of the server", 10)
            self.connection = self.connect()
        except BaseException:
            stop(self.process)
            raise
        self.info = dict(line.split(":", 1) for line in self("INFO", "server").decode().split("\r\n") if ":" in line)

    def connect(self):
        link = socket.socket(socket.AF_UNIX)
        link.connect(self.socket)
        return link.makefile("rwb")

    def __call__(self, *words):
        send(self.connection, words)
        self.connection.flush()
        return reply(self.connection)

    def cpu_us(self) -> float:
        """Processor time of the whole server so far, in microseconds."""
        text = self("INFO", "cpu").decode()
        return sum(float(x) for x in re.findall(r"used_cpu_(?:user|sys):([\d.]+)", text)) * 1e6

    def usec(self, commands: set[str]) -> float:
        """Microseconds spent in these commands since CONFIG RESETSTAT; in scripts, with all that they call."""
        stats = re.findall(r"cmdstat_([^:|]+)[^:]*:calls=\d+,usec=(\d+)", self("INFO", "commandstats").decode())
        return sum(int(usec) for name, usec in stats if name in commands)

    @contextlib.contextmanager
    def monitor(self) -> Iterator[Counter]:
        """Counts the commands that clients send, by client address, not those that scripts call. Full at the end."""
        seen: Counter = Counter()
        stream = self.connect()
        send(stream, ["MONITOR"])
        stream.flush()
        reply(stream)

        def read():
            for line in stream:
                found = re.match(rb'\+[\d.]+ \[\d+ (.*?)\] "(\w+)"(.*)', line)
                if found and found[2].upper() == b"ECHO" and b"bench-end" in found[3]:
                    return
                if found and found[1] != b"lua":
                    seen[found[1].decode()] += 1

        reader = threading.Thread(target=read)
        reader.start()
        try:
            yield seen
        finally:
            self("ECHO", "bench-end")
            reader.join(30)
            stream.close()


def send(stream, words) -> None:
    stream.write(request(*words))


def reply(stream):
    try:
        return read_reply(stream)
    except ServerError as error:
        raise Failed(str(error)) from error


class Tap:
    """Relays a Unix socket to another. `flights` holds, per connection, what the client sent between two replies."""

    def __init__(self, path: str, target: str):
        self.path, self.target, self.flights = path, target, []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                self.flights.append([])
                threading.Thread(target=self.relay, args=(client, self.flights[-1]), daemon=True).start()

    def relay(self, client, flights):
        server = socket.socket(socket.AF_UNIX)
        server.connect(self.target)
        client_turn = False
        with client, server:
            while True:
                for ready in select.select([client, server], [], [])[0]:
                    data = ready.recv(65536)
                    if not data:
                        return
                    if ready is server:
                        client_turn = False
                        client.sendall(data)
                        continue
                    if not client_turn:
                        flights.append(b"")
                    client_turn = True
                    flights[-1] += data
                    server.sendall(data)

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        os.unlink(self.path)


def commands_of(flight: bytes) -> list[list[bytes]]:
    """The commands of one flight, each as its words."""
    commands, at = [], 0

    def number() -> int:
        nonlocal at
        end = flight.index(b"\r\n", at)
        value, at = int(flight[at + 1:end]), end + 2
        return value

    while at < len(flight):
        words = []
        for _ in range(number()):
            length = number()
            words.append(flight[at:at + length])
            at += length + 2
        commands.append(words)
    return commands
