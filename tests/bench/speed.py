"""P1 to P5, P11, P12: how long things take, and what they send.

Each takes the lab and the sizes and yields rows of the table.
"""

import itertools
import json
import shlex
import shutil
import statistics
import subprocess
import time
from collections.abc import Iterator

from shared import Row, Sizes, drains, milliseconds, names, quantile, say, serial_rate, spread, tapped
from lab import Contender, Lab, Queue
from server import Failed, spawn


# As cron starts a job: where LANG is set, flock reads the files of its locale, which nobody's lock needs.
CRON = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "SHELL": "/bin/sh", "LOGNAME": "nobody"}
COPIES = 4
LANES = 8


# Contenders' medians per round, in seconds. They take turns in blocks, in an order that alternates, so that a machine
# whose speed drifts slows all of them alike; each round has other copies of the programs.
# pages: as in Lab.copy_of; "evicted" ones are evicted before each run.
def in_turns(lab: Lab, contenders: list[Contender], rounds: int, runs: int,
             pages: str = "fresh") -> dict[str, list[float]]:
    seconds: dict[str, list[float]] = {contender.name: [] for contender in contenders}

    def lines(contender: Contender, turn: int) -> list[str]:
        argv = contender.argv("bench", ["true"])
        if contender.is_one_file:
            argv[0] = lab.copy_of(argv[0], turn // 2 % COPIES, pages)
        # dd evicts the file that it is given and copies nothing.
        evict = ["--prepare", shlex.join(["dd", f"if={argv[0]}", "iflag=nocache", "count=0", "status=none"])]
        return [*(evict if pages == "evicted" else []), shlex.join(argv)]

    warmup = "0" if pages == "evicted" else "2"
    for turn in range(rounds):
        if turn % 10 == 0:
            say(f"{pages} pages, round {turn + 1} of {rounds}")
        order = contenders if turn % 2 == 0 else contenders[::-1]
        result = f"{lab.directory}/hyperfine.json"
        done = subprocess.run([shutil.which("hyperfine"), "-N", "--style", "none", "--warmup", warmup, "--runs",
                               str(runs), "--export-json", result, *(word for one in order for word in lines(one, turn))],
                              capture_output=True, text=True, timeout=600, env=CRON)
        if done.returncode != 0:
            raise Failed(done.stderr.strip().splitlines()[-1])
        with open(result) as file:
            for contender, block in zip(order, json.load(file)["results"]):
                seconds[contender.name].append(block["median"])
    return seconds


def p1(lab: Lab, sizes: Sizes) -> Iterator[Row]:
    peers = [*lab.peers, *lab.others]
    released = lab.released
    ours = [(lab.unix, "`rlock run k true`, Unix socket"), *([(released, "the release build")] if released else [])]
    seconds = in_turns(lab, [lab.unix, lab.tcp, *(one for one, _ in ours[1:]), *peers, lab.floor_tcp], sizes.rounds, sizes.runs)

    def ratio(ours: Contender, peer: Contender) -> str:
        return spread([a / b for a, b in zip(seconds[ours.name], seconds[peer.name])])

    def row(what: str, of: Contender, goal: str = "", ratio: str = "") -> Row:
        return what, goal, milliseconds(statistics.median(seconds[of.name])), ratio

    yield row("`rlock run k true`, Unix socket", lab.unix)
    for peer in peers:
        yield row(f"beside {peer.name}", peer, "<= 1.0" if peer.name == "flock" else "", ratio(lab.unix, peer))
    yield row("`rlock run k true`, TCP on loopback", lab.tcp)
    for peer in [*lab.peers[:1], lab.floor_tcp]:
        yield row(f"beside {peer.name}", peer, "<= 1.0" if peer.name == "flock" else "", ratio(lab.tcp, peer))
    if released:
        yield row("the release build, Unix socket", released, "", f"{ratio(released, lab.unix)} of the other build")
        for peer in lab.peers[:1]:
            yield row(f"beside {peer.name}", peer, "<= 0.9", ratio(released, peer))

    if not lab.peers:
        return
    flock = lab.peers[0]
    try:
        seconds = in_turns(lab, [*(one for one, _ in ours), flock], sizes.rounds, sizes.runs, "faulted")
    except OSError as why:
        lab.left_out.append(f"P1 with faulted pages ({why})")
        return
    for one, what in ours:
        yield row(f"{what}, pages faulted in afresh", one)
        yield row(f"beside {flock.name}", flock, "<= 1.0" if one is lab.unix else "<= 0.9", ratio(one, flock))


def p2(lab: Lab, _sizes: Sizes) -> Iterator[Row]:
    with tapped(lab) as tap:
        ours = lab.rlock(f"unix://{tap.path}")
        for _ in range(2):  # the first may have to bring its scripts along
            tap.flights.clear()
            if spawn(ours.argv("bench", ["true"])).wait() != 0:
                raise Failed("rlock did not get through the relay")
    flights = [" + ".join(names(flight)) for connection in tap.flights for flight in connection]
    size = sum(len(flight) for connection in tap.flights for flight in connection)
    yield ("connections, round trips of a short job", "1, 2",
           f"{len(tap.flights)}, {len(flights)}: {'; '.join(flights)}; {size} bytes sent", "")


def p3(lab: Lab, sizes: Sizes) -> Iterator[Row]:
    found = drains(lab, sizes)

    def rows(what: str, gaps: dict[str, list[list[float]]]) -> Iterator[Row]:
        def quote(name: str) -> str:
            all_gaps = list(itertools.chain(*gaps[name]))
            return f"{milliseconds(statistics.median(all_gaps))}, p95 {milliseconds(quantile(all_gaps, 0.95))}"

        def ratio(ours: Contender, peer: Contender) -> str:
            return spread([a / b for a, b in zip(medians[ours.name], medians[peer.name])])

        medians = {name: list(map(statistics.median, rounds)) for name, rounds in gaps.items()}
        yield f"hand-over p50, {what}, Unix socket", "<= 1.5 ms", quote(lab.unix.name), ""
        yield f"hand-over p50, {what}, TCP", "<= 1.5 ms", quote(lab.tcp.name), ""
        for peer in lab.peers:
            if peer.name in gaps:
                yield f"beside {peer.name}", "", quote(peer.name), ratio(lab.unix, peer)
        if lab.released:
            yield f"hand-over p50, {what}, the release build", "<= 1.5 ms", quote(lab.released.name), ""
            for peer in lab.peers[:1]:
                yield f"beside {peer.name}", "<= 1.2", quote(peer.name), ratio(lab.released, peer)

    # The first holder of each queue has had the time to start its guard and its renewal; the others are short jobs.
    aged: dict[str, list[list[float]]] = {}
    for (name, _), rounds in found.gaps.items():
        aged.setdefault(name, []).extend(gaps[:1] for gaps in rounds)
    yield from rows("from a holder of some age", aged)
    medians = {}
    for count in sizes.queues:
        short = {name: [gaps[1:] for gaps in rounds] for (name, size), rounds in found.gaps.items() if size == count}
        yield from rows(f"{count} waiters", short)
        medians[count] = statistics.median(itertools.chain(*short[lab.unix.name]))
    few, many = min(medians), max(medians)
    yield f"hand-over p50 with {many} waiters to that with {few}", "1.0", "", f"{medians[many] / medians[few]:.2f}"


def p4(lab: Lab, sizes: Sizes) -> Iterator[Row]:
    for count in sizes.queues:
        with Queue(lab, lab.unix, count) as queue:
            with lab.redis.monitor() as seen:
                queue.release()
        # The last release hands over to nobody.
        yield f"commands per hand-over, {count} waiters", "<= 3", f"{(seen.total() - 1) / count:.2f}", ""


def p5(lab: Lab, sizes: Sizes) -> Iterator[Row]:
    rates: dict[str, list[tuple[float, float]]] = {}
    contenders = [lab.unix, *(peer for peer in lab.peers if peer.waiting and peer.most >= sizes.crowd)]
    for turn in range(3):
        say(f"P5 round {turn + 1} of 3")
        for contender in contenders if turn % 2 == 0 else contenders[::-1]:
            serial = serial_rate(lab, contender, 100)
            with Queue(lab, contender, sizes.crowd, ["true"]) as queue:
                drained = sizes.crowd / queue.release()
            serial = (serial + serial_rate(lab, contender, 100)) / 2
            rates.setdefault(contender.name, []).append((drained, serial))
    for name, pairs in rates.items():
        yield (f"drain of {sizes.crowd} waiters, {name}, beside its own rate one after another",
               ">= 0.5" if name == "rlock" else "",
               f"{statistics.median(d for d, _ in pairs):.0f}/s, {statistics.median(s for _, s in pairs):.0f}/s",
               spread([drained / serial for drained, serial in pairs]))


# Runs per second of LANES at a time, each with a key of its own and one run after another.
def rate_of_lanes(lab: Lab, contender: Contender, runs: int, turn: int) -> float:
    def lane(number: int) -> list[str]:
        argv = contender.argv(f"lane{number}", ["true"])
        argv[0] = lab.copy_of(argv[0], turn // 2 % COPIES, "fresh")
        return [shutil.which("xargs"), "-n", "1", *argv]

    feed = "1\n" * runs  # `true` is told that, and does not mind
    start = time.monotonic()
    lanes = [subprocess.Popen(lane(number), stdin=subprocess.PIPE, text=True, env=CRON) for number in range(LANES)]
    for one in lanes:
        one.stdin.write(feed)
        one.stdin.close()
    if any([one.wait() for one in lanes]):
        raise Failed(f"{contender.name} failed")
    return LANES * runs / (time.monotonic() - start)


def p11(lab: Lab, sizes: Sizes) -> Iterator[Row]:
    ours = [lab.unix, *([lab.released] if lab.released else [])]
    peers = [peer for peer in lab.peers if peer.is_one_file]
    contenders = [*ours, *peers]
    rates: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    for turn in range(sizes.rate_rounds):
        say(f"{LANES} at a time, round {turn + 1} of {sizes.rate_rounds}")
        for contender in contenders if turn % 2 == 0 else contenders[::-1]:
            rates[contender.name].append(rate_of_lanes(lab, contender, sizes.lane_runs, turn))
    for one in ours:
        yield (f"runs a second, {LANES} at a time, a key each, {one.name}", "",
               f"{statistics.median(rates[one.name]):.0f}/s", "")
        for peer in peers:
            yield (f"beside {peer.name}", ">= 1.0" if peer.name == "flock" else "",
                   f"{statistics.median(rates[peer.name]):.0f}/s",
                   spread([a / b for a, b in zip(rates[one.name], rates[peer.name])]))


def p12(lab: Lab, sizes: Sizes) -> Iterator[Row]:
    ours = [lab.unix, *([lab.released] if lab.released else [])]
    peers = [peer for peer in lab.peers if peer.is_one_file]
    seconds = in_turns(lab, [*ours, *peers], sizes.cold_rounds, 3, "evicted")
    for one in ours:
        yield f"{one.name}, its file evicted before each run", "", milliseconds(statistics.median(seconds[one.name])), ""
        for peer in peers:
            yield (f"beside {peer.name}", "<= 2.5" if peer.name == "flock" and one is lab.released else "",
                   milliseconds(statistics.median(seconds[peer.name])),
                   spread([a / b for a, b in zip(seconds[one.name], seconds[peer.name])]))
