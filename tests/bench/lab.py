"""What is compared: the contenders, and queues of waiting processes."""

import contextlib
import dataclasses
import os
import re
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable

from server import Failed, Redis, bounded, free_port, spawn, stop, until


@dataclasses.dataclass
class Contender:
    name: str
    # Key and command to the whole command line.
    argv: Callable[[str, list[str]], list[str]]
    # How many stand in the queue of a key; None where that cannot be seen.
    waiting: Callable[[str], int] | None = None
    # Of how many at once the machine's memory and the user's patience allow.
    most: int = 1000
    # Whether its program is one file that can be measured as copies of it.
    is_one_file: bool = False


class Queue:
    """One holder, whose command ends at release(), and `count` waiters behind it.

    The commands are stamps (see stamp.c) in the order in which they ran, or `command` for the waiters. `first` holds
    where that shall be another contender than those that wait.
    """

    number = 0

    def __init__(self, lab: "Lab", contender: Contender, count: int, command: list[str] | None = None,
                 first: Contender | None = None):
        Queue.number += 1
        self.lab, self.contender, self.count = lab, contender, count
        self.key = f"queue{Queue.number}"
        self.file, self.fifo = f"{lab.directory}/{self.key}.stamps", f"{lab.directory}/{self.key}.fifo"
        self.command = command or [lab.stamp, self.file]
        self.first = first or contender
        self.waiters: list[subprocess.Popen] = []

    def __enter__(self) -> "Queue":
        open(self.file, "w").close()
        os.mkfifo(self.fifo)
        self.holder = spawn(self.first.argv(self.key, [self.lab.stamp, self.file, self.fifo]))
        self.gate = None
        try:
            until(self.held, f"{self.contender.name} holds", 10)
            for _ in range(self.count):
                self.waiters.append(spawn(self.contender.argv(self.key, self.command)))
            until(lambda: self.contender.waiting(self.key) >= self.count,
                  f"{self.count} of {self.contender.name} stand in the queue")
        except BaseException:
            self.__exit__()
            raise
        return self

    def held(self) -> bool:
        if self.holder.poll() is not None:
            raise Failed(f"{self.contender.name} ended with {self.holder.returncode} instead of holding")
        with contextlib.suppress(OSError):  # ENXIO: nobody reads it yet
            self.gate = os.open(self.fifo, os.O_WRONLY | os.O_NONBLOCK)
        return self.gate is not None

    def release(self) -> float:
        """Ends the holder's command, waits for all to end, returns seconds."""
        start = time.monotonic()
        os.close(self.gate)
        self.gate = None
        with bounded(120, f"drain of {self.count} of {self.contender.name}"):
            statuses = Counter(process.wait() for process in [self.holder, *self.waiters])
        seconds = time.monotonic() - start
        if set(statuses) != {0}:
            raise Failed(f"{self.contender.name}: exit statuses {dict(statuses)}")
        return seconds

    def stamps(self) -> list[int]:
        with open(self.file, "rb") as file:
            data = file.read()
        return [int.from_bytes(data[i:i + 8], "little") for i in range(0, len(data), 8)]

    def __exit__(self, *_):
        if self.gate is not None:
            os.close(self.gate)
        for process in [*self.waiters, self.holder]:
            if process.poll() is None:
                process.kill()
            process.wait()
        os.unlink(self.fifo)
        os.unlink(self.file)


def has_redis_py(python: str | None) -> bool:
    return python is not None and os.path.exists(python) and \
        subprocess.call([python, "-c", "import redis"], stderr=subprocess.DEVNULL) == 0


class Lab:
    """All servers and contenders of one run. close() ends every process and removes nothing but what etcd wrote."""

    def __init__(self, directory: str, extra: str):
        self.directory = directory
        self.rlock_program, self.floor_program = f"{directory}/rlock", f"{directory}/floor"
        self.stamp = f"{directory}/stamp"
        self.left_out: list[str] = []
        self.etcd_process = None
        # A user's own settings are no part of the measurement.
        os.environ["XDG_CONFIG_HOME"] = directory
        for name in [name for name in os.environ if name.startswith("RLOCK_")]:
            del os.environ[name]

        self.redis = Redis(directory)
        try:
            self.add_contenders(extra)
        except BaseException:
            self.close()
            raise

    def rlock(self, server: str, *options: str, program: str | None = None) -> Contender:
        def waiting(key: str) -> int:
            return self.redis("ZCARD", f"rlock:q:{{rlock:{key}}}")

        return Contender("rlock", lambda key, command:
                         [program or self.rlock_program, "run", "--server", server, *options, key, *command], waiting,
                         is_one_file=True)

    def release_build(self, server: str) -> Contender | None:
        """The binary of packaging/release.sh, where run.sh was given or found one."""
        program = f"{self.directory}/rlock-release"
        if not os.path.exists(program):
            return None
        found = self.rlock(server, program=program)
        found.name = "release build"
        return found

    def over_socket(self, path: str) -> list[Contender]:
        """Those that lock in Redis, at this Unix socket."""
        found = [self.rlock(f"unix://{path}"),
                 Contender("floor", lambda key, command: [self.floor_program, path, key, *command],
                           is_one_file=True)]
        if self.python:
            script = os.path.join(os.path.dirname(__file__), "redis_py_lock.py")
            found.append(Contender("redis-py", lambda key, command: [self.python, script, path, key, *command],
                                   self.connected, most=10))
        return found

    def connected(self, _key: str) -> int:
        """Waiters of a lock without a queue: all connections but ours and the holder's."""
        return int(re.search(rb"connected_clients:(\d+)", self.redis("INFO", "clients"))[1]) - 2

    def add_contenders(self, extra: str) -> None:
        path, port, directory = self.redis.socket, self.redis.port, self.directory
        self.python = next(filter(has_redis_py, ("/usr/bin/python3", shutil.which("python3"))), None)
        if not self.python:
            self.left_out.append("redis-py (no Python with the module redis)")
        in_redis = self.over_socket(path)

        self.unix = in_redis[0]
        self.tcp = self.rlock(f"redis://127.0.0.1:{port}")
        self.tcp.name = "rlock over TCP"
        self.released = self.release_build(f"unix://{path}")
        self.floor_tcp = Contender("floor over TCP",
                                   lambda key, command: [self.floor_program, str(port), key, *command],
                                   is_one_file=True)
        self.peers: list[Contender] = []
        for program, name in (("flock", "flock"), ("setlock", "setlock")):
            if self.found(program):
                self.peers.append(Contender(name, lambda key, command, program=program:
                                            [program, f"{directory}/{key}.lock", *command], self.flock_waiters,
                                            is_one_file=True))
        self.peers += in_redis[1:]
        if self.found("etcd") and self.found("etcdctl"):
            try:
                self.peers.append(self.start_etcd())
            except Failed as why:
                self.left_out.append(f"etcdctl lock ({why})")

        self.others = [Contender("`true` alone, no lock", lambda _key, command: command)]
        if self.found("redis-cli"):
            self.others.append(Contender("redis-cli ping, no lock",
                                         lambda _key, _command: ["redis-cli", "-s", path, "ping"]))
        for line in filter(str.strip, re.split(r"[;\n]", extra)):
            line = line.strip().replace("{socket}", path).replace("{port}", str(port)).replace("{dir}", directory)
            if self.found(line.split()[0]):
                self.others.append(Contender(f"`{line}`", lambda _key, _command, line=line: line.split()))

    def copy_of(self, program: str, number: int, pages: str) -> str:
        """A copy of it, as an installed program is one. What it costs to start depends on where in memory its pages lie,
        so there are several. pages: "fresh", as they were written; "faulted", read back from the disk one by one, as
        after a reboot; "evicted", which are out of memory, and whoever measures evicts them again. OSError where the
        folder is in memory, so that nothing can be read back."""
        path = f"{self.directory}/{pages}.{number}/{os.path.basename(program)}"
        if os.path.exists(path):
            return path
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copy(shutil.which(program), path)
        if pages != "fresh":
            with open(path, "rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                with contextlib.suppress(BlockingIOError):  # not in memory any more
                    os.preadv(file.fileno(), [bytearray(1)], 0, os.RWF_NOWAIT)
                    raise OSError("the pages of a program could not be evicted")
        return path

    def found(self, program: str) -> bool:
        if shutil.which(program):
            return True
        self.left_out.append(f"{program} (not found)")
        return False

    def flock_waiters(self, key: str) -> int:
        inode = os.stat(f"{self.directory}/{key}.lock").st_ino
        with open("/proc/locks") as locks:
            return sum(1 for line in locks if "->" in line and f":{inode} " in line)

    def start_etcd(self) -> Contender:
        # In memory where that can be: the Redis beside it does not wait for a disk either.
        self.etcd_data = f"/dev/shm/rlock-bench-etcd.{os.getpid()}" if os.access("/dev/shm", os.W_OK) \
            else f"{self.directory}/etcd"
        client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        self.etcd_process = spawn(["etcd", "--data-dir", self.etcd_data, "--log-level", "error",
                                   "--listen-client-urls", client, "--advertise-client-urls", client,
                                   "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                                   "--initial-cluster", f"default={peer}"])
        etcdctl = ["etcdctl", "--endpoints", client]
        until(lambda: subprocess.call([*etcdctl, "endpoint", "health"], stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL) == 0, "start of etcd", 20)

        def waiting(key: str) -> int:
            keys = subprocess.check_output([*etcdctl, "get", "--prefix", "--keys-only", f"{key}/"], text=True)
            return len(keys.split()) - 1

        return Contender("etcdctl lock", lambda key, command: [*etcdctl, "lock", key, *command], waiting, most=10)

    def close(self) -> None:
        stop(self.redis.process)
        if self.etcd_process:
            stop(self.etcd_process)
            shutil.rmtree(self.etcd_data, ignore_errors=True)
