"""P6 to P10: memory, idling, the server's time, scale, many holders.

Each takes the lab and the sizes and yields rows of the table.
"""

import glob
import os
import re
import secrets
import statistics
import time
from collections import Counter
from collections.abc import Iterator

from shared import Row, Sizes, drains, names, say, serial_rate, spread, tapped
from lab import Contender, Lab, Queue
from server import Failed, commands_of, reply, send, spawn, until


def descendants(pid: int) -> list[int]:
    children = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        with open(path) as file:
            children += map(int, file.read().split())
    return [pid, *(below for child in children for below in descendants(child))]


# The contender's own processes: its tree without the command.
def own(lab: Lab, pid: int) -> list[int]:
    return [each for each in descendants(pid) if os.readlink(f"/proc/{each}/exe") != os.path.realpath(lab.stamp)]


def pss(pids: list[int]) -> float:
    """MiB."""
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            total += int(re.search(r"^Pss:\s+(\d+)", file.read(), re.M)[1])
    return total / 1024


def p6(lab: Lab, sizes: Sizes) -> Iterator[Row]:
    waiters: dict[str, float] = {}
    for contender in [lab.unix, *(peer for peer in lab.peers if peer.waiting)]:
        ours = contender is lab.unix
        goal = "<= 3 MiB" if ours else ""
        with Queue(lab, contender, 1) as queue:
            time.sleep(1)  # a guard comes only after some milliseconds
            holder = own(lab, queue.holder.pid)
            sizes_alone = pss(holder), pss(own(lab, queue.waiters[0].pid))
        count = min(sizes.crowd, contender.most)
        with Queue(lab, contender, count) as queue:
            time.sleep(1)
            crowd = [pss(own(lab, waiter.pid)) for waiter in queue.waiters]
        waiters[contender.name] = sizes_alone[1]
        ratio = "" if ours else f"{waiters['rlock'] / sizes_alone[1]:.2f}"
        yield (f"PSS of {contender.name}: holder ({len(holder)} processes); waiter alone; "
               f"mean and most of {count} waiters",
               goal, f"{sizes_alone[0]:.2f}; {sizes_alone[1]:.2f}; {statistics.mean(crowd):.2f}, {max(crowd):.2f} MiB",
               ratio)


def wakes(pids: list[int]) -> int:
    """How often all threads of these went to sleep by themselves so far."""
    total = 0
    for pid in pids:
        for path in glob.glob(f"/proc/{pid}/task/*/status"):
            with open(path) as file:
                total += int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", file.read(), re.M)[1])
    return total


def p7(lab: Lab, sizes: Sizes) -> Iterator[Row]:
    seconds = sizes.idle_seconds
    # The waiters over TCP, where each has an address of its own; the holder not.
    with Queue(lab, lab.tcp, sizes.crowd, first=lab.unix) as queue:
        time.sleep(2)
        pids = [waiter.pid for waiter in queue.waiters]
        before = [wakes([pid]) for pid in pids]
        with lab.redis.monitor() as seen:
            time.sleep(seconds)
        woken = [wakes([pid]) - was for pid, was in zip(pids, before)]
    per = seconds / 5
    waiters = [count for address, count in seen.items() if not address.startswith("unix:")]
    holder = seen.total() - sum(waiters)
    yield (f"commands of an idle waiter in 5 s, mean and most of {sizes.crowd}", "<= 1",
           f"{sum(waiters) / sizes.crowd / per:.2f}, {max(waiters, default=0) / per:.2f}", "")
    yield (f"wake-ups of an idle waiter in 5 s, mean and most of {sizes.crowd}", "2 a command",
           f"{statistics.mean(woken) / per:.2f}, {max(woken) / per:.2f}", "")

    yield ("commands of their holder in 30 s, its ttl", "3", f"{holder * 30 / seconds:.1f}", "")

    ttl, leases = 3, 4
    with Queue(lab, lab.rlock(f"unix://{lab.redis.socket}", "--ttl", f"{ttl}s"), 0) as queue:
        time.sleep(1)
        pids = own(lab, queue.holder.pid)
        before = wakes(pids)
        with lab.redis.monitor() as seen:
            time.sleep(ttl * leases)
        woken = wakes(pids) - before
    yield f"commands of a holder without waiters per ttl of {ttl} s", "3", f"{seen.total() / leases:.2f}", ""
    yield f"wake-ups of a holder's {len(pids)} processes per ttl", "", f"{woken / leases:.2f}", ""


def p8(lab: Lab, sizes: Sizes) -> Iterator[Row]:
    with tapped(lab) as tap:
        sent = {}
        for contender in lab.over_socket(tap.path):
            for _ in range(2):
                tap.flights.clear()
                spawn(contender.argv("bench", ["true"])).wait()
            sent[contender.name] = {name.lower() for connection in tap.flights for flight in connection
                                    for name in names(flight)}
    warm = busy_server(lab, sizes)
    yield "Redis time of acquire + release, a busy server", "<= 40 us", f"{statistics.median(warm):.1f} us", ""
    contenders = lab.over_socket(lab.redis.socket)
    commands: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    server: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    for turn in range(6):
        for contender in contenders if turn % 2 == 0 else contenders[::-1]:
            lab.redis("CONFIG", "RESETSTAT")
            before = lab.redis.cpu_us()
            serial_rate(lab, contender, sizes.cycles if contender.most >= 1000 else 10)
            cycles = sizes.cycles if contender.most >= 1000 else 10
            server[contender.name].append((lab.redis.cpu_us() - before) / cycles)
            commands[contender.name].append(lab.redis.usec(sent[contender.name]) / cycles)
    for what, goal, figures in (("in commands, runs one after another", "<= 40 us", commands),
                                ("in all, with accept, read and close", "", server)):
        for contender in contenders:
            ours = contender.name == "rlock"
            yield (f"Redis time of a cycle {what}" if ours else f"beside {contender.name}", goal if ours else "",
                   f"{statistics.median(figures[contender.name]):.1f} us",
                   "" if ours else spread([a / b for a, b in zip(figures["rlock"], figures[contender.name])]))


PATTERN = b"pattern-of-a-key"


# The commands with which rlock takes a free lock for an hour and gives it back.
def cycle_of(lab: Lab) -> list[list[bytes]]:
    with tapped(lab) as tap:
        argv = lab.rlock(f"unix://{tap.path}", "--ttl", "1h").argv(PATTERN.decode(), ["true"])
        for _ in range(2):
            tap.flights.clear()
            spawn(argv).wait()
    found = [command for connection in tap.flights for flight in connection for command in commands_of(flight)
             if command[0].upper() == b"EVALSHA"]
    if len(found) != 2:
        raise Failed(f"rlock sent {len(found)} EVALSHA instead of 2")
    return found


def with_key(command: list[bytes], key: bytes, token: bytes) -> list[bytes]:
    return [re.sub(rb"\b[0-9a-f]{32}\b", token, word).replace(PATTERN, key) for word in command]


# What the scripts cost where the server never sleeps and has nothing else in its caches: rlock's own commands again.
def busy_server(lab: Lab, sizes: Sizes) -> list[float]:
    acquire, release = cycle_of(lab)
    figures = []
    for _ in range(6):
        lab.redis("CONFIG", "RESETSTAT")
        for _ in range(sizes.cycles):
            token = secrets.token_hex(16).encode()
            lab.redis(*with_key(acquire, b"busy", token))
            lab.redis(*with_key(release, b"busy", token))
        figures.append(lab.redis.usec({"evalsha"}) / sizes.cycles)
    return figures


# Takes locks as rlock does, until `count` of them are held.
def hold(lab: Lab, acquire: list[bytes], start: int, count: int) -> None:
    stream = lab.redis.connect()
    for first in range(start, count, 1000):
        last = min(first + 1000, count)
        for i in range(first, last):
            send(stream, with_key(acquire, b"held%d" % i, secrets.token_hex(16).encode()))
        stream.flush()
        for _ in range(first, last):
            reply(stream)
    stream.close()


def p9(lab: Lab, sizes: Sizes) -> Iterator[Row]:
    acquire, _ = cycle_of(lab)
    scripts: dict[int, list[float]] = {count: [] for count in sizes.keys}
    server: dict[int, list[float]] = {count: [] for count in sizes.keys}
    wall: dict[int, list[float]] = {count: [] for count in sizes.keys}
    for turn in range(sizes.key_rounds):
        lab.redis("FLUSHALL")
        held = 0
        for count in sizes.keys:
            say(f"P9 round {turn + 1} of {sizes.key_rounds}, {count} keys")
            hold(lab, acquire, held, count - 1)
            held = max(held, count - 1)
            lab.redis("CONFIG", "RESETSTAT")
            before = lab.redis.cpu_us()
            rate = serial_rate(lab, lab.unix, sizes.cycles)
            scripts[count].append(lab.redis.usec({"evalsha", "eval"}) / sizes.cycles)
            server[count].append((lab.redis.cpu_us() - before) / sizes.cycles)
            wall[count].append(1 / rate)
    if (locks := lab.redis("EXISTS", *(f"rlock:held{i}" for i in range(10)))) != 10:
        raise Failed(f"only {locks} of 10 locks were held: the copied command does not fit")
    lab.redis("FLUSHALL")

    def steps(figures: dict[int, list[float]], unit: str, scale: float) -> str:
        digits = 1 if scale == 1 else 2
        return ", ".join(f"{statistics.median(values) * scale:.{digits}f}" for values in figures.values()) + unit

    def grown(figures: dict[int, list[float]]) -> str:
        counts = list(figures)
        return spread([a / b for a, b in zip(figures[counts[-1]], figures[counts[0]])])

    label = ", ".join(f"{count:,}" for count in sizes.keys)
    yield f"time in scripts of a cycle with {label} keys held", "flat", steps(scripts, " us", 1), grown(scripts)
    yield "Redis time of a cycle, its own chores included", "flat", steps(server, " us", 1), grown(server)
    yield "duration of a cycle", "flat", steps(wall, " ms", 1000), grown(wall)
    found = drains(lab, sizes)
    label = ", ".join(f"{count:,}" for count in sizes.queues)
    for what, figures in (("Redis time", found.server_us), ("time in scripts", found.script_us)):
        yield f"{what} of a hand-over with {label} waiters", "flat", steps(figures, " us", 1), grown(figures)


def processor_us(pids: list[int]) -> float:
    """Processor time of all threads of these so far."""
    total = 0
    for pid in pids:
        for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
            with open(path) as file:
                total += int(file.read().split()[0]) / 1000
    return total


class Holders:
    """`count` holders at once, each of a key of its own, until the end of the block; statuses after it."""

    def __init__(self, lab: Lab, contender: Contender, count: int):
        self.lab, self.contender, self.count = lab, contender, count
        self.stamps, self.fifo = f"{lab.directory}/holders.stamps", f"{lab.directory}/holders.fifo"

    def __enter__(self) -> "Holders":
        open(self.stamps, "w").close()
        os.mkfifo(self.fifo)
        self.gate = os.open(self.fifo, os.O_RDWR)  # opened so, nobody waits for its other end
        start = time.monotonic()
        command = ["sh", "-c", 'echo >>"$0"; read -r _ <"$1"; true', self.stamps, self.fifo]
        self.processes = [spawn(self.contender.argv(f"holder{i}", command)) for i in range(self.count)]
        until(lambda: os.path.getsize(self.stamps) >= self.count, f"{self.count} of {self.contender.name} hold")
        self.seconds = time.monotonic() - start
        return self

    def __exit__(self, *_):
        os.close(self.gate)
        self.statuses = Counter(process.wait() for process in self.processes)
        os.unlink(self.fifo)
        os.unlink(self.stamps)


def p10(lab: Lab, sizes: Sizes) -> Iterator[Row]:
    count = sizes.crowd
    flock = next((peer for peer in lab.peers if peer.name == "flock"), None)
    peer_seconds = None
    if flock:
        with Holders(lab, flock, count) as held:
            peer_seconds = held.seconds
    with Holders(lab, lab.rlock(f"unix://{lab.redis.socket}", "--ttl", "30s"), count) as held:
        seconds = held.seconds
        time.sleep(1)  # the guards come after some milliseconds
        ours = os.path.realpath(lab.rlock_program)
        pids = [pid for process in held.processes for pid in descendants(process.pid)
                if os.readlink(f"/proc/{pid}/exe") == ours]
        before, began = processor_us(pids), time.monotonic()
        time.sleep(sizes.idle_seconds)
        share = (processor_us(pids) - before) / 1e4 / (time.monotonic() - began)
    yield f"{count} holders at once: those that did not end with 0", "0", str(count - held.statuses[0]), ""
    yield f"processor time of their {len(pids)} processes, of one core, ttl 30 s", "<= 5 %", f"{share:.1f} %", ""
    yield (f"time until all {count} run, beside flock", "<= 2", f"{seconds:.2f} s",
           f"{seconds / peer_seconds:.2f}" if peer_seconds else "")
