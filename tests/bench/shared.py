"""What several figures share: sizes, quoting, queues drained, commands tapped."""

import contextlib
import itertools
import statistics
import sys
import time
from collections.abc import Iterator

from lab import Contender, Lab, Queue
from server import Failed, Tap, commands_of, spawn

Row = tuple[str, str, str, str]


class Sizes:
    """How much is measured; a full run takes five to ten minutes, a quick one one or two."""

    def __init__(self, quick: bool):
        # Many short blocks: a burst of foreign load then spoils a few ratios and not the median.
        self.rounds, self.runs = (20, 5) if quick else (100, 5)
        self.rate_rounds, self.lane_runs = (4, 50) if quick else (20, 100)
        self.cold_rounds = 10 if quick else 40
        # Waiters -> how often such a queue drains.
        self.queues = {2: 8, 10: 4, 100: 2} if quick else {2: 40, 10: 12, 100: 6, 1000: 4}
        self.crowd = max(self.queues)
        self.keys = [1, 100, 10_000] if quick else [1, 100, 10_000, 100_000]
        self.cycles, self.key_rounds = (50, 2) if quick else (200, 4)
        self.idle_seconds = 10 if quick else 30


def spread(ratios: list[float]) -> str:
    """Median and quartiles of ratios, each taken within one round."""
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else ratios * 3
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.2f} ms"


def quantile(values: list[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def say(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def tapped(lab: Lab) -> Iterator[Tap]:
    tap = Tap(f"{lab.directory}/tap", lab.redis.socket)
    try:
        yield tap
    finally:
        tap.close()


def names(flight: bytes) -> list[str]:
    return [words[0].decode().upper() for words in commands_of(flight)]


# Commands per second, one after another.
def serial_rate(lab: Lab, contender: Contender, count: int) -> float:
    start = time.monotonic()
    for _ in range(count):
        if spawn(contender.argv("serial", ["true"])).wait() != 0:
            raise Failed(f"{contender.name} failed")
    return count / (time.monotonic() - start)


class Drains:
    """Queues of each size, drained once per round by each contender in turn. Measured when first asked for."""

    def __init__(self, lab: Lab, sizes: Sizes):
        self.gaps: dict[tuple[str, int], list[list[float]]] = {}
        self.server_us: dict[int, list[float]] = {}
        self.script_us: dict[int, list[float]] = {}
        released = [lab.released] if lab.released else []
        contenders = [lab.unix, lab.tcp, *released, *(peer for peer in lab.peers if peer.waiting)]
        for count, rounds in sizes.queues.items():
            for turn in range(rounds):
                say(f"queues of {count}, round {turn + 1} of {rounds}")
                # Those with a limit are slow as well: one round of them will do.
                for contender in contenders if turn % 2 == 0 else contenders[::-1]:
                    if count <= contender.most and (turn == 0 or contender.most >= 1000):
                        self.drain(lab, contender, count)

    def drain(self, lab: Lab, contender: Contender, count: int) -> None:
        with Queue(lab, contender, count) as queue:
            lab.redis("CONFIG", "RESETSTAT")
            before = lab.redis.cpu_us()
            queue.release()
            used = lab.redis.cpu_us() - before
            stamps = queue.stamps()
        if len(stamps) != count + 1 or stamps != sorted(stamps):
            raise Failed(f"{contender.name}: {len(stamps)} stamps of {count + 1}, in order: {stamps == sorted(stamps)}")
        gaps = [(b - a) / 1e9 for a, b in itertools.pairwise(stamps)]
        self.gaps.setdefault((contender.name, count), []).append(gaps)
        if contender is lab.unix:
            cycles = count + 0.5  # the first holder's release is in it, its acquire is not
            self.server_us.setdefault(count, []).append(used / cycles)
            self.script_us.setdefault(count, []).append(lab.redis.usec({"evalsha", "eval"}) / cycles)


def drains(lab: Lab, sizes: Sizes) -> Drains:
    if not hasattr(lab, "drains"):
        lab.drains = Drains(lab, sizes)
    return lab.drains
