#!/usr/bin/env python3
"""The deadline on a busy host (R27): many processes, every core busy.

    busy_host.py [--processes N] [--busy N] [--cores N] [--kinds freeze,cut,kill,start,hold,mass] [--tries N] [--ttl MS,...]
                 [--jobs N] [--seed N] [--limit MS] [--starts N] [--holders N] [--seconds N] [--patience S] [--bystander TTL]

Makes --processes idle processes and --busy endless loops, and keeps everything to --cores cores. Then, --tries times for
each ttl, at a random moment of a command that ignores TERM and has a daemon:

(a host can be so busy that a lock is lost before its fault comes: such a try counts for nothing)

    freeze  rlock is stopped with SIGSTOP           wrong: the command or its daemon was alive when its lease had ended, by
    cut     the network falls silent                       what the server itself says of the key (late), or goes on living
    kill    rlock is killed with SIGKILL, ttl 60 s  wrong: alive more than --limit (100) ms later, or the lock is held
                                                    ten times as long

    start   --starts times `rlock run KEY true` at once, over a Unix socket and over TCP; wrong: a status that is not 0
    hold    --holders of them at once with ttl 30 s for --seconds; wrong: a status that is not 0. Says how much processor
            time rlocks and guards took together, of one core
    mass    --holders rlocks with ttl 60 s, killed with SIGKILL together; wrong: a lock that is held 3 s later (--patience), a
            command that lives, a bystander with a ttl of 2 s (--bystander) that loses its lock, and a guard that took more
            processor time than 20 ms and 0.1 ms for each holder, however many processes there are. Says how long the
            locks took, and for how long at most an ordinary process stood still, before and during it

Prints a line for each kind, and exits 1 where anything was wrong.
"""

import argparse
import contextlib
import ctypes
import glob
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lane import HERE, Field  # noqa: E402 (it knows where resp.py is)
from proc import children  # noqa: E402
from proxy import boottime_ns  # noqa: E402
from resp import connected  # noqa: E402

PR_SET_CHILD_SUBREAPER = 36
# Idle ones end with the pipe, that is, with us; busy ones by themselves at the latest.
CROWD = "import os, sys\nfor _ in range(int(sys.argv[1])):\n  if not os.fork():\n    os.read(0, 1); os._exit(0)\n" \
        "os.write(1, b'.'); os.read(0, 1)"
BUSY = "import signal\nsignal.alarm(3600)\nwhile True: pass"


@contextlib.contextmanager
def busy_host(processes, busy):
    loops = [subprocess.Popen([sys.executable, "-IS", "-c", BUSY]) for _ in range(busy)]
    crowd = subprocess.Popen([sys.executable, "-IS", "-c", CROWD, str(processes)], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE)
    try:
        if crowd.stdout.read(1) != b".":
            sys.exit(f"cannot have {processes} processes")
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
        crowd.stdin.close()
        crowd.wait()


def rlock(server, *arguments, **options):
    return subprocess.Popen([os.environ["RLOCK"], "--server", server, "run", *arguments], stdin=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL, **options)


class Trial:
    """One command under a lock, with a fault at a random moment of it."""

    def __init__(self, lane, ttl, chance):
        self.lane, self.ttl, self.key = lane, ttl, f"{lane.key}.{chance.random()}"
        self.directory = f"{lane.directory}/{self.key}"
        self.direct = connected(lane.server)
        os.makedirs(self.directory)
        lane.control("clear")
        self.process = rlock(lane.url, "-t", f"{ttl}ms", self.key, "--", f"{HERE}/worker.py", self.directory, "60000",
                             env={**os.environ, "WORKER_IGNORE_TERM": "1", "WORKER_DESCENDANT": "1"})
        deadline = time.monotonic() + 20
        while not self.started() and time.monotonic() < deadline and self.process.poll() is None:
            time.sleep(0.005)
        time.sleep(chance.uniform(0.05, min(2 * ttl, 2000) / 1000))

    def started(self):
        return os.path.exists(f"{self.directory}/log") and "descendant=" in open(f"{self.directory}/log").read()

    def ends_at(self):
        """When the key will be gone at the latest, as things stand, by the server's word; None: it is gone."""
        left = self.direct("PTTL", "rlock:" + self.key)
        return boottime_ns() + (left + 1) * 1_000_000 if left >= 0 else None

    def wait_until_free(self, seconds):
        """The last word of the server about when the key ends; None: it was gone at once."""
        last, deadline = None, time.monotonic() + seconds
        while (ends := self.ends_at()) is not None and time.monotonic() < deadline:
            last = ends
            time.sleep(0.01)
        return last

    def last_beat(self):
        def read():
            beats = [open(path, "rb").read(8) for path in glob.glob(f"{self.directory}/beats/*")]
            return max((int.from_bytes(beat, "little") for beat in beats), default=0)

        last = read()
        time.sleep(0.03)
        return last, read() > last

    def close(self):
        """Kills what is left of it, by the pids that it wrote down."""
        self.process.kill()
        self.process.wait()
        self.direct.close()
        for line in open(f"{self.directory}/log").read().split() if self.started() else []:
            name, _, value = line.partition("=")
            if name in ("pid", "descendant") and self.directory in self.command_line(int(value)):
                os.kill(int(value), signal.SIGKILL)

    @staticmethod
    def command_line(pid):
        with contextlib.suppress(OSError):
            return open(f"/proc/{pid}/cmdline").read()
        return ""


def deadline_trial(lane, ttl, kind, chance, _limit):
    trial = Trial(lane, ttl, chance)
    try:
        if not trial.started() or trial.process.poll() is not None:
            return None, []
        if kind == "freeze":
            trial.process.send_signal(signal.SIGSTOP)
        else:
            lane.control("silent")
        ends = trial.wait_until_free(ttl / 1000 + 5) or boottime_ns()
        last, survives = trial.last_beat()
        margin = (ends - last) / 1e6
        return margin, ["survivor"] if survives else [f"late by {-margin:.1f} ms"] if margin < 0 else []
    finally:
        trial.close()


def kill_trial(lane, _ttl, _kind, chance, limit):
    trial = Trial(lane, 60_000, chance)
    try:
        if not trial.started() or trial.process.poll() is not None:
            return None, []
        trial.process.kill()
        killed = boottime_ns()
        trial.wait_until_free(20)
        free = (boottime_ns() - killed) / 1e6
        last, survives = trial.last_beat()
        margin = limit - (last - killed) / 1e6
        wrong = ["survivor"] if survives else [f"alive {limit - margin:.1f} ms later"] if margin < 0 else []
        return margin, wrong + ([f"free after {free:.0f} ms"] if free > 10 * limit else [])
    finally:
        trial.close()


def tries(field, kind, ttl, options, chance):
    """--tries trials by all lanes at once. How many things were wrong."""
    do = kill_trial if kind == "kill" else deadline_trial
    margins, wrongs, left, lock = [], [], [options.tries], threading.Lock()

    def take_turns(lane, seed):
        own = random.Random(seed)
        while True:
            with lock:
                if left[0] == 0:
                    return
                left[0] -= 1
            margin, wrong = do(lane, ttl, kind, own, options.limit)
            with lock:
                if margin is not None:
                    margins.append(margin)
                wrongs.extend(wrong)

    threads = [threading.Thread(target=take_turns, args=(lane, chance.random())) for lane in field.lanes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for wrong in wrongs:
        print(f"  {wrong}")
    margins.sort()
    of = "R7" if kind == "kill" else f"ttl {ttl} ms"
    tell = f"least margin {margins[0]:.1f} ms, median {margins[len(margins) // 2]:.1f} ms" if margins else "none"
    print(f"{kind}, {of}: {len(margins)} of {options.tries} tries, wrong {len(wrongs)}; {tell}", flush=True)
    return len(wrongs) + (not margins)


def start_many(url, count):
    gate, opener = os.pipe()
    processes = [subprocess.Popen(["sh", "-c", 'read -r _; exec "$@" <&-', "sh", os.environ["RLOCK"], "--server", url, "run",
                                   f"start-{number}", "--", "true"], stdin=gate) for number in range(count)]
    os.close(gate)
    began = time.monotonic()
    os.close(opener)
    statuses = Counter(process.wait() for process in processes)
    print(f"start, {url.split(':')[0]}: {count} in {time.monotonic() - began:.1f} s, statuses {dict(statuses)}", flush=True)
    return count - statuses[0]


def processor_time_ns(pids):
    total = 0
    for pid in pids:
        for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
            with contextlib.suppress(OSError):
                total += int(open(path).read().split()[0])
    return total


def hold_many(url, count, seconds):
    command = ["sleep", str(seconds + count / 50)]
    holders = [rlock(url, "-t", "30s", f"hold-{number}", "--", *command) for number in range(count)]
    deadline = time.monotonic() + 60
    below = {}
    while len(below) < count and time.monotonic() < deadline:
        time.sleep(0.2)
        for holder in holders:
            if holder.pid in below:
                continue
            with contextlib.suppress(OSError):
                found = children(holder.pid)
                if len(found) == 2:
                    below[holder.pid] = found
    ours = [pid for holder, pids in below.items()
            for pid in [holder, *(pid for pid in pids if "rlock-guard" in Trial.command_line(pid))]]
    time.sleep(2)
    before, began = processor_time_ns(ours), time.monotonic()
    time.sleep(seconds * 3 / 4)
    share = (processor_time_ns(ours) - before) / 1e7 / (time.monotonic() - began)
    statuses = Counter(holder.wait() for holder in holders)
    print(f"hold: {count} for {seconds} s, statuses {dict(statuses)}; {len(ours)} rlocks and guards take {share:.1f} % of a "
          f"core", flush=True)
    return count - statuses[0]


METRONOME = """import signal, sys, time
gap, last = 0, time.monotonic()
def tell(*_):
    global gap
    print(gap * 1000, flush=True)
    gap = 0
signal.signal(signal.SIGUSR1, tell)
print(flush=True)
while True:
    time.sleep(0.001)
    now = time.monotonic()
    gap, last = max(gap, now - last), now
"""


def mass_kill(server, count, patience, bystander_ttl):
    """The guards become children of this process, which hears from the kernel what each took."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    direct = connected(server.removeprefix("unix://"))
    holders = [rlock(server, "-t", "60s", f"mass-{number}", "--", "sleep", "3600") for number in range(count)]
    guards, deadline = {}, time.monotonic() + 120
    while len(guards) < count and time.monotonic() < deadline:
        time.sleep(0.2)
        for holder in holders:
            with contextlib.suppress(OSError):
                guards.update({pid: holder for pid in children(holder.pid) if "rlock-guard" in Trial.command_line(pid)})
    commands = [pid for holder in holders for pid in children(holder.pid) if pid not in guards]
    bystander = rlock(server, "-t", bystander_ttl, "bystander", "--", "sleep", "3600")
    time.sleep(1)
    metronome = subprocess.Popen([sys.executable, "-IS", "-c", METRONOME], stdout=subprocess.PIPE, text=True)
    metronome.stdout.readline()
    time.sleep(2)

    def gap():
        metronome.send_signal(signal.SIGUSR1)
        return float(metronome.stdout.readline())

    before, began = gap(), time.monotonic()
    for holder in holders:
        holder.kill()
    keys = [f"rlock:mass-{number}" for number in range(count)]
    while (held := direct("EXISTS", *keys)) and time.monotonic() < began + 10 * patience:
        time.sleep(0.01)
    free, during = time.monotonic() - began, gap()
    metronome.kill()
    metronome.wait()
    for holder in holders:
        holder.wait()
    took = []
    while guards and time.monotonic() < began + 20 * patience:
        pid, _, usage = os.wait4(-1, os.WNOHANG)
        took += [(usage.ru_utime + usage.ru_stime) * 1000] if guards.pop(pid, None) else []
        time.sleep(0 if pid else 0.01)
    alive = [pid for pid in commands if "sleep" in Trial.command_line(pid)]
    is_kept = bystander.poll() is None and direct("EXISTS", "rlock:bystander")
    bystander.terminate()
    bystander.wait()
    took.sort()
    print(f"mass: {count} killed, the last lock free after {free:.2f} s; {held} held, {len(alive)} commands alive, bystander "
          f"{'kept' if is_kept else 'LOST'} its lock; a guard took {took[len(took) // 2]:.1f} ms, at most {took[-1]:.1f}; an "
          f"ordinary process stood still for {before:.0f} ms before, {during:.0f} during", flush=True)
    return (free > patience) + len(alive) + (not is_kept) + (took[len(took) // 2] > 20 + count / 10)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=2000)
    parser.add_argument("--busy", type=int, default=2)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--kinds", default="freeze,cut,kill")
    parser.add_argument("--tries", type=int, default=10)
    parser.add_argument("--ttl", default="500,1000")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=100)
    parser.add_argument("--starts", type=int, default=1000)
    parser.add_argument("--holders", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=40)
    parser.add_argument("--patience", type=float, default=3)
    parser.add_argument("--bystander", default="2s")
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:options.cores])
    chance = random.Random(options.seed)
    kinds, wrong = options.kinds.split(","), 0
    with Field(options) as field, busy_host(options.processes, options.busy):
        server = f"unix://{field.lanes[0].server}"
        for kind in kinds:
            if kind == "start":
                with socket.create_server(("127.0.0.1", 0)) as free:
                    port = free.getsockname()[1]
                connected(field.lanes[0].server)("CONFIG", "SET", "port", str(port))
                wrong += start_many(server, options.starts) + start_many(f"redis://127.0.0.1:{port}", options.starts)
            elif kind == "hold":
                wrong += hold_many(server, options.holders, options.seconds)
            elif kind == "mass":
                wrong += mass_kill(server, options.holders, options.patience, options.bystander)
            elif kind == "kill":
                wrong += tries(field, kind, 0, options, chance)
            else:
                wrong += sum(tries(field, kind, int(ttl), options, chance) for ttl in options.ttl.split(","))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
