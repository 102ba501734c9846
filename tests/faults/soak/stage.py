"""What a soak plays on: a server that can be hurt, a proxy before it, idle and busy processes beside it."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time

from resp import Redis, ServerError

FAULTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# About, in an append-only file.
BYTES_OF_A_COMMAND = 150
IDLERS = """import os, sys
end, ours = os.pipe()
for _ in range(int(sys.argv[1])):
    if os.fork() == 0:
        os.close(ours)
        os.read(end, 1)
        os._exit(0)
print("ready", flush=True)
sys.stdin.read()
"""


def boottime_ns():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def until(condition, what, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"soak: {what} did not happen within {seconds} s")
        time.sleep(0.005)


class Notes:
    """The log of everything done to anybody: one line each, CLOCK_BOOTTIME ns first."""

    def __init__(self, path):
        self.file = open(path, "a", buffering=1)

    def __call__(self, text):
        now = boottime_ns()
        self.file.write(f"{now} {text}\n")
        return now


class Server:
    """A redis-server of its own on a Unix socket. With `aof`, it keeps through a kill all that it has answered."""

    # Something to load, so that a restart can take its time.
    FILLER = 200

    def __init__(self, directory, aof=False, password=None, database=0):
        self.directory, self.aof, self.password, self.database = directory, aof, password, database
        os.makedirs(directory, exist_ok=True)
        self.path = directory + "/redis"
        self.process = None
        self.start()
        if aof:
            redis = self.connect()
            for number in range(self.FILLER):
                redis("SET", f"filler:{number}", "x" * 1100)

    def start(self, *more):
        words = ["redis-server", "--port", "0", "--unixsocket", self.path, "--save", "", "--dir", self.directory,
                 "--appendonly", "yes" if self.aof else "no", "--appendfsync", "always", "--lua-time-limit", "20",
                 "--maxmemory-policy", "noeviction"]
        words += ["--requirepass", self.password] if self.password else []
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        with open(self.directory + "/redis.out", "ab") as log:
            self.process = subprocess.Popen([*words, *more], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        until(self.listens, "the start of redis-server")

    def listens(self):
        with socket.socket(socket.AF_UNIX) as sock:
            return sock.connect_ex(self.path) == 0

    def answers(self):
        try:
            with self.connect(timeout=1) as redis:
                return bool(redis("GET", "x") is None)
        except (OSError, ServerError):
            return False

    def connect(self, timeout=None):
        return Redis(self.path, self.password, self.database, timeout)

    def url(self, path=None):
        return f"unix://{path or self.path}" + (f"?db={self.database}" if self.database else "")

    # --- what can befall it; each returns when it is well again -------------------------------

    def stop_for(self, seconds):
        self.process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.process.send_signal(signal.SIGCONT)

    def restart(self, seconds, load=False):
        """Killed, away for so long, and started again; with `load`, it takes about a second until it is ready."""
        self.process.kill()
        self.process.wait()
        time.sleep(seconds)
        self.start(*(["--key-load-delay", str(self.load_delay_us()), "--loading-process-events-interval-bytes", "1024"]
                     if load else []))
        until(self.answers, "the end of loading")

    def load_delay_us(self):
        """For a second in all: the delay is for each command in its files, which grow."""
        size = sum(os.path.getsize(os.path.join(folder, name))
                   for folder, _, names in os.walk(os.path.dirname(self.path)) for name in names if "appendonly" in name)
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
        self.process.kill()
        self.process.wait()


class Proxy:
    """proxy.py before a server."""

    def __init__(self, directory, server, tcp=False):
        self.directory, self.control_path = directory, directory + "/control"
        self.log = directory + "/proxy.log"
        listen = "127.0.0.1:0" if tcp else f"unix:{directory}/proxy"
        with open(directory + "/proxy.err", "ab") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-B", FAULTS + "/proxy.py", "--to", "unix:" + server.path, "--listen", listen,
                 "--control", "unix:" + self.control_path, "--log", self.log],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True)
        address = self.process.stdout.readline().partition("ready ")[2].strip()
        if tcp:
            self.url = f"redis://{address}" + (f"/{server.database}" if server.database else "")
        else:
            self.url = server.url(address.removeprefix("unix:"))

    def control(self, line):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(self.control_path)
            sock.sendall(line.encode() + b"\n")
            return sock.makefile().readline().strip()

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@contextlib.contextmanager
def neighbours(idle, busy):
    """So many processes that sleep, and so many that do not. The idle ones end when their parent does."""
    processes = []
    if idle:
        processes.append(subprocess.Popen([sys.executable, "-IS", "-c", IDLERS, str(idle)], stdin=subprocess.PIPE,
                                          stdout=subprocess.PIPE))
        processes[0].stdout.readline()
    for _ in range(busy):
        processes.append(subprocess.Popen(["sh", "-c", "while :; do :; done"]))
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()
