"""Servers of a trial, each a process of its own: redis-server, a Sentinel, and a proxy before one. topologies.py builds
fields of them.
"""

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.extend([HERE, os.path.dirname(HERE)])
from namespaces import Namespace  # noqa: E402
from resp import Redis, ServerError  # noqa: E402

MASTER = "mymaster"  # as the Sentinels call it
# About, in an append-only file.
BYTES_OF_A_COMMAND = 150


def until(condition, what, seconds=90):
    """what: a text, or what tells it when the time is over."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"{what() if callable(what) else what} did not happen within {seconds} s")
        time.sleep(0.005)


def free_port():
    """A TCP port that nobody listens on, nor on the one 10,000 higher, which a node of a Cluster takes too. Both are below
    those that the kernel gives to outgoing connections, so a server that is started again finds its port free.
    """
    while True:
        port = random.randrange(10000, 22768)
        with socket.socket() as one, socket.socket() as other, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", port))
            other.bind(("127.0.0.1", port + 10000))
            return port


class Fallible:
    """What can befall a `process`, which may have a network namespace of its own, `space`."""

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def cut(self):
        """Nobody reaches it."""
        self.space.cut()

    def mend(self):
        self.space.mend()


class Server(Fallible):
    """A redis-server of its own on a Unix socket, and on `port` of loopback if that is not 0. With `aof`, it keeps through a
    kill all that it has answered. `options` are more words for its command line, at each start.
    """

    # Something to load, so that a restart can take its time.
    FILLER = 200

    def __init__(self, directory, *options, port=0, aof=False, password=None, database=0, proxied=False, isolated=False):
        self.directory, self.aof, self.password, self.database = directory, aof, password, database
        self.space = Namespace() if isolated else None
        self.host = self.space.host if isolated else "127.0.0.1"
        os.makedirs(directory, exist_ok=True)
        self.path, self.port = directory + "/redis", port
        self.process = None
        self.proxy = Proxy(directory, self) if proxied else None
        self.options = [*options, *(self.announced() if self.proxy else [])]
        self.start()

    def announced(self):
        """Where others shall look for it. A server that is in no Cluster ignores what is said of one."""
        if not self.port:
            return []
        return ["--replica-announce-ip", "127.0.0.1", "--replica-announce-port", str(self.proxy.port),
                "--cluster-announce-ip", "127.0.0.1", "--cluster-announce-port", str(self.proxy.port)]

    @property
    def address(self):
        """HOST:PORT, as others are told."""
        return f"{self.host}:{self.proxy.port if self.proxy else self.port}"

    @property
    def url(self):
        """Through its proxy if it has one; without the password."""
        if self.port:
            return f"redis://{self.address}" + (f"/{self.database}" if self.database else "")
        return f"unix://{self.proxy.path if self.proxy else self.path}" + (f"?db={self.database}" if self.database else "")

    def words(self):
        words = [*(self.space.enter if self.space else []), "redis-server", "--port", str(self.port), "--bind", self.host,
                 "--protected-mode", "no", "--unixsocket", self.path, "--save", "",
                 "--dir", self.directory, "--appendonly", "yes" if self.aof else "no", "--appendfsync", "always",
                 "--lua-time-limit", "20", "--maxmemory-policy", "noeviction", "--repl-diskless-sync-delay", "0"]
        words += ["--requirepass", self.password, "--masterauth", self.password] if self.password else []
        return words + self.options

    def start(self, *more):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        with open(self.directory + "/redis.out", "ab") as log:
            # Where processor time is shared among sessions (autogroup), it has a share of its own, as a service has.
            self.process = subprocess.Popen([*self.words(), *more], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            start_new_session=True)
        until(self.listens, "the start of redis-server")

    def listens(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"redis-server has ended, see {self.directory}/redis.out")
        with socket.socket(socket.AF_UNIX) as sock:
            return sock.connect_ex(self.path) == 0

    def answers(self):
        try:
            with self.connect(timeout=1) as redis:
                return redis("PING") == "PONG"
        except (OSError, ServerError):
            return False

    def connect(self, timeout=None):
        return Redis(self.path, self.password, self.database, timeout)

    def redis(self, *words, timeout=10):
        """The answer to one command."""
        with self.connect(timeout) as redis:
            return redis(*words)

    def role(self):
        """master, slave, or None where it does not answer."""
        try:
            return self.redis("ROLE", timeout=1)[0]
        except (OSError, ServerError):
            return None

    def fill(self):
        with self.connect() as redis:
            for number in range(self.FILLER):
                redis("SET", f"filler:{number}", "x" * 1100)

    # --- what more can befall it; each returns when it is well again ------------------------------

    def stop_for(self, seconds):
        self.stop()
        time.sleep(seconds)
        self.resume()

    def restart(self, seconds, load=False):
        """Killed, away for so long, and started again; with `load`, it takes about a second until it is ready."""
        self.kill()
        time.sleep(seconds)
        self.start(*(["--key-load-delay", str(self.load_delay_us()), "--loading-process-events-interval-bytes", "1024"]
                     if load else []))
        until(self.answers, "the end of loading")

    def load_delay_us(self):
        """For a second in all: the delay is for each command in its files, which grow."""
        size = sum(os.path.getsize(os.path.join(folder, name))
                   for folder, _, names in os.walk(self.directory) for name in names if "appendonly" in name)
        return max(1, int(1e6 / max(size / BYTES_OF_A_COMMAND, 200)))

    def load(self, seconds):
        self.restart(seconds / 4, load=True)

    def busy(self, seconds):
        """A script that does not end: after 20 ms everybody else is answered BUSY."""
        with self.connect() as victim, self.connect() as redis:
            victim.socket.sendall(b"EVAL 'while true do end' 0\r\n")
            time.sleep(seconds)
            with contextlib.suppress(ServerError):
                redis("SCRIPT", "KILL")
        until(self.answers, "the end of the script")

    def full(self, seconds):
        """No client more is let in, and those who are in are thrown out."""
        with self.connect() as redis:
            redis("CONFIG", "SET", "maxclients", 1)
            redis("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            time.sleep(seconds)
            redis("CONFIG", "SET", "maxclients", 10000)

    def close(self):
        if self.process:
            self.kill()
        if self.proxy:
            self.proxy.close()
        if self.space:
            self.space.close()


class Watcher(Server):
    """A redis-sentinel: a server that is started otherwise."""

    def __init__(self, directory, configuration):
        port = free_port()
        os.makedirs(directory, exist_ok=True)
        self.file = directory + "/sentinel.conf"
        with open(self.file, "w") as file:
            file.write(f"port {port}\nbind 127.0.0.1\ndir {directory}\n{configuration}")
        super().__init__(directory, port=port)

    def words(self):
        return ["redis-server", self.file, "--sentinel", "--unixsocket", self.path]

    def master(self):
        """(flags, number of replicas, number of other Sentinels, port) as it sees them."""
        words = self.redis("SENTINEL", "MASTER", MASTER, timeout=1)
        seen = dict(zip(words[::2], words[1::2]))
        return seen["flags"], int(seen["num-slaves"]), int(seen["num-other-sentinels"]), int(seen["port"])


class Proxy:
    """proxy.py before a server: on a free port if it has a port, else on a Unix socket."""

    def __init__(self, directory, server):
        self.control_path, tcp = directory + "/control", server.port != 0
        self.log = directory + "/proxy.log"
        listen = "127.0.0.1:0" if tcp else f"unix:{directory}/proxy"
        with open(directory + "/proxy.err", "ab") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-B", HERE + "/proxy.py", "--to", "unix:" + server.path, "--listen", listen,
                 "--control", "unix:" + self.control_path, "--log", self.log],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True)
        address = self.process.stdout.readline().partition("ready ")[2].strip()
        self.port = int(address.rpartition(":")[2]) if tcp else None
        self.path = None if tcp else address.removeprefix("unix:")

    def control(self, line):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(self.control_path)
            sock.sendall(line.encode() + b"\n")
            return sock.makefile().readline().strip()

    def hits(self):
        """Fault -> how many of its kind met any traffic."""
        return json.loads(self.control("stats"))["hit"]

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
