#!/usr/bin/env python3
"""How far one server goes, and a Cluster: up to 100,000 simulated waiters, holders and jobs (crowd.py).

    scale.py [--least 1000] [--most 100000] [--cluster] [--only waiters,spread,cron,holders,jobs,connects]
             [--seconds 30] [--processes 3] [--within 1] [--backlog 511]

RLOCK names the binary beside whose scripts it finds; the server is its own, on loopback, over TCP. Steps by tens from --least
to --most, in so many processes. Prints a Markdown table: how many, what they did a second, the share of a core that the
busiest server used, its memory for each (and what that was at most, while they came), and in how long it answered. A step that
the server or this machine cannot do ends its section with the reason. Where there may not be so many open files, several of the
crowd share a connection. With --cluster three masters share the keys; all waiters of one key are at one of them.
"""

import argparse
import math
import multiprocessing
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import crowd
import minute
from constants import longest_heartbeat_pause
from crowd import Broken, Crowd
from server import Failed, free_port, spawn, stop, until

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from resp import Redis, ServerError, read_reply  # noqa: E402

MASTERS = 3
Row = tuple[str, ...]


class Servers:
    """One server, or the masters of a Cluster."""

    def __init__(self, directory: str, count: int, limits: list[str]):
        self.ports = [free_port() for _ in range(count)]
        self.processes = []
        try:
            for port in self.ports:
                os.mkdir(f"{directory}/{port}")
                words = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
                         "--protected-mode", "no",
                         "--dir", f"{directory}/{port}", "--loglevel", "warning", *limits]
                self.processes.append(spawn(words + (["--cluster-enabled", "yes"] if count > 1 else [])))
            until(lambda: all(self.answers(port) for port in self.ports), "start of the servers", 10)
            self.redis = [Redis(("127.0.0.1", port)) for port in self.ports]
            if count > 1:
                self.share_slots()
        except BaseException:
            self.end()
            raise
        self.hashes = {name: {redis("SCRIPT", "LOAD", text) for redis in self.redis}.pop()
                       for name, text in crowd.scripts().items()}

    @staticmethod
    def answers(port: int) -> bool:
        try:
            with Redis(("127.0.0.1", port)):
                return True
        except OSError:
            return False

    def share_slots(self) -> None:
        nodes = [f"127.0.0.1:{port}" for port in self.ports]
        subprocess.run(["redis-cli", "--cluster", "create", *nodes, "--cluster-yes"], check=True, stdout=subprocess.DEVNULL)
        until(lambda: all("cluster_state:ok" in redis("CLUSTER", "INFO") for redis in self.redis), "the Cluster", 20)
        self.slots = {}
        for first, last, (_, port, *_), *_ in self.redis[0]("CLUSTER", "SLOTS"):
            self.slots.update(dict.fromkeys(range(first, last + 1), port))

    def address_of(self, key: str):
        return "127.0.0.1", self.ports[0] if len(self.ports) == 1 else self.slots[crowd.slot_of(key)]

    def end(self) -> None:
        for process in self.processes:
            stop(process)

    def cpu(self) -> list[float]:
        return [sum(float(x) for x in re.findall(r"used_cpu_(?:user|sys):([\d.]+)", redis("INFO", "cpu")))
                for redis in self.redis]

    def memory(self, field: str = "used_memory") -> int:
        return sum(int(re.search(rf"^{field}:(\d+)", redis("INFO", "memory"), re.M)[1]) for redis in self.redis)

    def peak(self) -> int:
        return self.memory("used_memory_peak")

    def calls(self) -> int:
        texts = [redis("INFO", "commandstats") for redis in self.redis]
        return sum(int(calls) for text in texts for calls in re.findall(r"cmdstat_evalsha:calls=(\d+)", text))


def work(pipe, hashes: dict[str, str], in_cluster: bool) -> None:
    """A process with a crowd of its own, which does what it is told."""
    own = Crowd(hashes, in_cluster)
    try:
        while True:
            what, *details = pipe.recv()
            if what == "join":
                shares, own.returns = details
                for share in shares:
                    own.join(*share)
                pipe.send(None)
            else:
                seconds, own.command = details
                own.log.clear()
                own.run(time.monotonic() + seconds)
                pipe.send(list(own.log))
    except EOFError:
        pass
    except (Broken, OSError, RuntimeError) as error:
        pipe.send(Broken(str(error)))


class Crowds:
    """The processes with their crowds."""

    def __init__(self, servers: Servers, processes: int, most: int):
        self.servers, self.pipes, self.processes, self.joined = servers, [], [], 0
        # A server keeps some descriptors for itself.
        self.shared = math.ceil(most / len(servers.ports) / (crowd.descriptors() - 1000))
        for _ in range(processes):
            ours, theirs = multiprocessing.Pipe()
            process = multiprocessing.Process(target=work, args=(theirs, servers.hashes, len(servers.ports) > 1), daemon=True)
            process.start()
            theirs.close()
            self.pipes.append(ours)
            self.processes.append(process)

    def order(self, *orders) -> list:
        """One each; their answers."""
        for pipe, order in zip(self.pipes, orders):
            pipe.send(order)
        answers = []
        for pipe in self.pipes:
            try:
                answers.append(pipe.recv())
            except EOFError:
                answers.append(Broken("a process of the simulation has ended"))
        for answer in answers:
            if isinstance(answer, Broken):
                raise answer
        return answers

    # Slices, so that those who have joined are served while others do.
    def join(self, count: int, kind, key_of, returns=False) -> None:
        step = 1000 * len(self.pipes)
        while self.joined < count:
            shares: list[list] = [[] for _ in self.pipes]
            for number in range(self.joined, min(self.joined + step, count)):
                key = key_of(number)
                shares[number % len(shares)].append((self.servers.address_of(key), number, kind, key, self.shared))
            self.joined = min(self.joined + step, count)
            self.order(*(("join", share, returns) for share in shares))
            self.run(0.05)

    def settle(self) -> None:
        """Until the server has taken back the large buffers of new connections."""
        last, now = math.inf, 0.0
        while (now := self.servers.memory()) < 0.98 * last:
            last = now
            self.run(3)

    def memory(self, before: int) -> str:
        """Of each: now, and at most."""
        sizes = self.servers.memory(), self.servers.peak()
        return ", ".join(f"{(size - before) / self.joined / 1000:,.1f} kB" for size in sizes)

    def run(self, seconds: float, command: float = 0) -> list:
        return [entry for log in self.order(*[("run", seconds, command)] * len(self.pipes)) for entry in log]

    def end(self) -> None:
        for pipe in self.pipes:
            pipe.close()
        for process in self.processes:
            process.terminate()
            process.join(5)


def times(seconds: list[float]) -> str:
    if len(seconds) < 2:
        return ""
    cuts = statistics.quantiles(seconds, n=20)
    return f"{cuts[9] * 1000:.2f}, {cuts[18] * 1000:.2f} ms"


class Measured:
    """What the servers did while it ran."""

    def __init__(self, servers: Servers, run):
        cpu, calls, start = servers.cpu(), servers.calls(), time.monotonic()
        self.log = run()
        seconds = time.monotonic() - start
        used = [after - before for before, after in zip(cpu, servers.cpu())]
        self.rate = len(self.log) / seconds
        self.calls = (servers.calls() - calls) / seconds
        self.cpu = max(used) / seconds
        self.cost = sum(used) / max(len(self.log), 1)


def steps(least: int, most: int) -> Iterator[int]:
    count = least
    while count < most:
        yield count
        count *= 10
    yield most


# One call by hand.
def reply_to(redis: Redis, data: bytes):
    redis.socket.sendall(data)
    return read_reply(redis.file)


def held(servers: Servers, speaker: Crowd, key: str, token: str) -> None:
    """Without an end."""
    with Redis(servers.address_of(key)) as redis:
        while reply_to(redis, speaker.acquire(key, token))[0] != 1:
            redis("DEL", f"rlock:{key}")
        redis("PERSIST", f"rlock:{key}")


def released(servers: Servers, speaker: Crowd, key: str, token: str) -> None:
    with Redis(servers.address_of(key)) as redis:
        reply_to(redis, speaker.release(key, token))


def idle(crowds: Crowds, servers: Servers, seconds: float, what: str, before: int) -> Row:
    crowds.settle()
    done = Measured(servers, lambda: crowds.run(seconds))
    return what, f"{done.calls:,.0f} scripts", f"{done.cpu:.1%}", crowds.memory(before), ""


def turns(crowds: Crowds, servers: Servers, seconds: float, command: float) -> Row:
    """Each has the lock in its turn, for so long."""
    done = Measured(servers, lambda: crowds.run(seconds, command))
    log = sorted(done.log)
    gaps = [after[2] - one[3] for one, after in zip(log, log[1:]) if one[0] == after[0]]
    return (f"they have it in turn, for {command * 1000:.0f} ms each", f"{done.rate:,.0f} hand-overs",
            f"{done.cpu:.1%}, {done.cost * 1e6:.0f} us each", "", times(gaps))


def waiters(servers: Servers, crowds: Crowds, options) -> Iterator[Row]:
    key, before = "queue", servers.memory()
    speaker = Crowd(servers.hashes, len(servers.ports) > 1)
    for count in steps(options.least, options.most):
        token = f"{count:032x}"
        held(servers, speaker, key, token)
        crowds.join(count, crowd.waiter, lambda _: key)
        # Until the rarest heartbeat has come round.
        rarest = longest_heartbeat_pause(count) / 1000
        seconds = min(max(rarest, options.seconds), 4 * options.seconds)
        yield idle(crowds, servers, seconds, f"{count:,} wait for one key", before)
        released(servers, speaker, key, token)
        for command in 0.02, 0.0:
            yield turns(crowds, servers, options.seconds, command)


def spread(servers: Servers, crowds: Crowds, options) -> Iterator[Row]:
    count, before, token = min(options.most, 10_000), servers.memory(), f"{1:032x}"
    speaker = Crowd(servers.hashes, len(servers.ports) > 1)
    keys = [f"queue{number}" for number in range(count // 10)]
    for key in keys:
        held(servers, speaker, key, token)
    crowds.join(count, crowd.waiter, lambda number: keys[number % len(keys)])
    yield idle(crowds, servers, options.seconds, f"{count:,} wait, 10 for each key", before)
    for key in keys:
        released(servers, speaker, key, token)
    for command in 1.0, 0.0:
        yield turns(crowds, servers, options.seconds, command)


def cron(servers: Servers, _crowds: Crowds, options) -> Iterator[Row]:
    """The full minute of a fleet: jobs with a key each, and a tenth as many more that want one key, one of which has it."""
    count, in_cluster = min(options.most, 10_000), len(servers.ports) > 1
    for command in (0.0, 3.0, 10.0) if options.within >= 1 else (0.0,):
        keys = [*(f"job{command}.{each}" for each in range(count)), *[f"job{command}"] * (count // 10)]
        random.shuffle(keys)
        places = [(servers.address_of(key), key) for key in keys]
        start = time.monotonic() + 2
        shares = [(servers.hashes, in_cluster, places[one::options.processes], start, options.within, command)
                  for one in range(options.processes)]
        with multiprocessing.Pool(options.processes) as pool:
            done = Measured(servers, lambda: sum(pool.starmap(minute.run, shares), []))
        refused, failed = sum(refusals > 0 for _, refusals, _ in done.log), sum(not served for *_, served in done.log)
        yield (f"{count:,} jobs of {command:.0f} s, a key each, {count // 10:,} times -n of one, within {options.within:g} s",
               f"{refused:,} refused at first, {failed:,} for 5 s (69)", f"{done.cost * 1e6:.0f} us each", "",
               f"{times([waited for waited, *_ in done.log])}; {max(done.log)[0]:.1f} s")


def holders(servers: Servers, crowds: Crowds, options) -> Iterator[Row]:
    before = servers.memory()
    for count in steps(options.least, options.most):
        crowds.join(count, crowd.holder, lambda number: f"held{number}")
        crowds.settle()
        done = Measured(servers, lambda: crowds.run(options.seconds))
        yield (f"{count:,} hold a lock each, ttl 30 s", f"{done.rate:,.0f} renewals", f"{done.cpu:.1%}",
               crowds.memory(before), times(done.log))


def jobs(servers: Servers, crowds: Crowds, options) -> Iterator[Row]:
    for count in steps(10, min(options.most, 10_000)):
        crowds.join(count, crowd.jobs, lambda number: f"job{number}")
        done = Measured(servers, lambda: crowds.run(options.seconds))
        yield (f"{count:,} connections acquire and release, a key each", f"{done.rate:,.0f} locks",
               f"{done.cpu:.1%}, {done.cost * 1e6:.0f} us each", "", times(done.log))


def connects(servers: Servers, crowds: Crowds, options) -> Iterator[Row]:
    for count in steps(10, min(options.most, 1000)):
        crowds.join(count, crowd.job, lambda number: f"job{number}", returns=True)
        done = Measured(servers, lambda: crowds.run(options.seconds))
        yield (f"{count:,} at a time connect, acquire and release", f"{done.rate:,.0f} locks",
               f"{done.cpu:.1%}, {done.cost * 1e6:.0f} us each", "", times(done.log))


SECTIONS = {"waiters": waiters, "spread": spread, "cron": cron, "holders": holders, "jobs": jobs, "connects": connects}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--least", type=int, default=1_000)
    parser.add_argument("--most", type=int, default=100_000)
    parser.add_argument("--cluster", action="store_true")
    parser.add_argument("--only", default=",".join(SECTIONS))
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--within", type=float, default=1, help="seconds in which all jobs of cron start")
    parser.add_argument("--backlog", type=int, default=511, help="tcp-backlog of the server that they meet")
    options = parser.parse_args()
    crowd.descriptors()
    print("| what | a second | of a core | memory each | p50, p95 |\n| --- | --- | --- | --- | --- |", flush=True)
    for name in options.only.split(","):
        with tempfile.TemporaryDirectory() as directory:
            # A fleet meets a server as it is installed.
            limits = ["--maxclients", "10000" if name == "cron" else str(options.most + 1000),
                      "--tcp-backlog", str(options.backlog if name == "cron" else 4096)]
            servers = Servers(directory, MASTERS if options.cluster else 1, limits)
            crowds = Crowds(servers, options.processes, options.most)
            try:
                for row in SECTIONS[name](servers, crowds, options):
                    print(f"| {' | '.join(row)} |", flush=True)
            except (Broken, Failed, ServerError, OSError) as error:
                print(f"| {name} | ends here: {error} | | | |", flush=True)
            finally:
                crowds.end()
                servers.end()


if __name__ == "__main__":
    main()
