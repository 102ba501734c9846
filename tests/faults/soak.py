#!/usr/bin/env python3
"""Contenders for one lock, under faults, for as long as asked; then the reckoning.

    soak.py [--seconds N] [--faults N] [--contenders N] [--seed N] [--ttl MS] [--keep DIR] ...

Starts a redis-server of its own and a proxy before it, on Unix sockets in a new directory (or
the proxy on loopback), and some contenders, each of which runs `$RLOCK run -t TTL -w WAIT KEY -- worker.py` again and again
through the proxy. Meanwhile

    the proxy cuts, resets, delays, drips, repeats, reorders, goes silent ... (proxy.py, random),
    the server is stopped for up to 2.5 ttls,
    rlock, its process group, its guard (the child named rlock-guard) and the command are killed
    or stopped at random microseconds: in the first milliseconds of a run, at any time, or while
    the command runs. At most one of these to a run, so that each promise is tried alone.

Ends after --seconds, or when --faults met something, whichever comes first. Found and counted:

    overlap    two commands at once, a fence that fell, an update of the unguarded counter lost
               (checker.py, with the commands' last heartbeats)
    late       a command was alive when the server had given its lock away: a direct connection,
               asking every few ms, had seen that the token was not (or no more) in the key
    slow       a command lived on for more than --grace after a SIGKILL of its rlock
    wrong      an exit status that allowed() below does not allow, a run that never ended, a
               command started twice or started though rlock said that it did not get the lock
    revived    a token was in the key again after it had gone and its command had started (before
               that, a waiter that missed its turn may get another)
    shortened  the key's expiry moved back while the same token held it
    leaked     keys left for good, or the lock still held, when all had ended and a ttl had
               passed; processes left over

Every instant used against rlock is a sure bound: a death is put at the last heartbeat, a loss at
the arrival of the reply that showed it. Exits 1 if anything was found; the directory with all
logs is kept then.
"""

import argparse
import bisect
import json
import os
import random
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from array import array
from collections import Counter
from dataclasses import dataclass, field

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import checker  # noqa: E402
from proxy import boottime_ns  # noqa: E402

KEY = "soak"
STRIKES = ("kill-rlock", "stop-rlock", "stop-group", "term-rlock", "kill-guard", "stop-guard",
           "kill-command", "stop-command")
FINDINGS = ("overlap", "late", "slow", "wrong", "revived", "shortened", "leaked")
LOOK = """return {redis.call('GET', KEYS[1]), redis.call('PEXPIRETIME', KEYS[1])}"""


class Redis:
    """Just enough of a client for direct questions. No deadline of its own: a stopped server
    answers when it goes on, and the driver ends the process that does not."""

    def __init__(self, path):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(path)
        self.file = self.sock.makefile("rb")

    def __call__(self, *words):
        words = [str(word).encode() for word in words]
        self.sock.sendall(b"*%d\r\n" % len(words) +
                          b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        return self.reply()

    def reply(self):
        line = self.file.readline()
        if not line:
            raise ConnectionError("the server has gone")
        kind, rest = line[:1], line[1:-2]
        if kind == b"*":
            return [self.reply() for _ in range(int(rest))]
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2].decode()
        if kind == b"-":
            raise RuntimeError(rest.decode())
        return int(rest) if kind == b":" else rest.decode()


@dataclass
class Run:
    """One `rlock run`: what was drawn for it, what befell it, what became of it."""
    name: str
    hold_ms: float
    exit_code: int = 0
    stubborn: bool = False
    descendant: bool = False
    strike: str | None = None
    phase: str = ""
    wait_ms: float = 0
    stop_ms: float = 0
    pid: int = 0
    begun: int = 0
    ended: int = 0
    struck: int = 0            # when the strike came, 0 where the run had ended before
    resumed: int = 0
    status: int | None = None  # as subprocess has it: negative for a signal; None for a hang
    errors: str = ""
    command: int = 0           # pid of the command, once it said that it runs
    runs: threading.Event = field(default_factory=threading.Event)


class Watch(threading.Thread):
    """Asks the server, every few ms, who holds the lock and until when. An observation is made
    somewhere between `sent` and `got`."""

    def __init__(self, soak):
        super().__init__(daemon=True)
        self.soak, self.redis = soak, Redis(soak.server_socket)
        self.sent, self.got, self.owner = array("q"), array("q"), array("l")
        self.expires_ms = array("q")  # as the server says: Unix time
        self.ahead = None
        self.tokens, self.numbers = [None], {None: 0}
        self.ends = {}  # number of a token -> the latest expiry it was seen with
        self.key = "rlock:" + KEY

    def run(self):
        try:
            while not self.soak.watched.wait(self.soak.options.poll / 1000):
                self.look()
        except (OSError, ConnectionError):
            pass

    def look(self):
        sent = boottime_ns()
        token, expires_ms = self.redis("EVAL", LOOK, 1, self.key)
        got = boottime_ns()
        if token not in self.numbers:
            self.numbers[token] = len(self.tokens)
            self.tokens.append(token)
        self.sent.append(sent)
        self.got.append(got)
        self.owner.append(self.numbers[token])
        self.expires_ms.append(expires_ms)
        end = expires_ms * 1_000_000 - self.ahead_ns()
        self.ends[self.owner[-1]] = max(end, self.ends.get(self.owner[-1], 0))

    def ahead_ns(self):
        """CLOCK_REALTIME, in which the server expires keys, less CLOCK_BOOTTIME. The last good
        measurement: one during which this thread had to wait for the processor is none."""
        before, real, after = boottime_ns(), time.clock_gettime_ns(time.CLOCK_REALTIME), boottime_ns()
        if after - before < 100_000 or self.ahead is None:
            self.ahead = real - before
        return self.ahead

    def loss(self, token, start, last):
        """When it was seen, while the command lived, that the key did not hold its token."""
        number = self.numbers.get(token, -1)
        for at in range(bisect.bisect_left(self.sent, start), len(self.got)):
            if self.got[at] >= last:
                return None
            if self.owner[at] != number:
                return self.got[at]
        return None

    def margin_ns(self, token, last):
        """How long before its lease ended, as far as seen, a command was last alive."""
        end = self.ends.get(self.numbers.get(token))
        return end - last if end else None

    def histories(self, starts):
        """(revived, shortened): lists of (time, text). `starts`: token -> start of its command."""
        revived, shortened, gone = [], [], set()
        for at in range(1, len(self.owner)):
            now = self.owner[at]
            if now != self.owner[at - 1]:
                gone.add(self.owner[at - 1])
                if now in gone and starts.get(self.tokens[now], self.got[at]) < self.sent[at]:
                    revived.append((self.got[at], f"token {self.tokens[now]} came back"))
            elif now and self.expires_ms[at] < self.expires_ms[at - 1]:
                back = self.expires_ms[at - 1] - self.expires_ms[at]
                shortened.append((self.got[at], f"the lease of {self.tokens[now]} lost {back} ms"))
        return revived, shortened

    def around(self, start, end):
        """Lines that say who held the lock between two times."""
        lines, last = [], -1
        first = max(0, bisect.bisect_left(self.got, start) - 1)
        for at in range(first, len(self.got)):
            if self.got[at] > end:
                break
            if self.owner[at] != last:
                last = self.owner[at]
                left = self.expires_ms[at] - (self.got[at] + self.ahead) / 1e6 if last else 0
                lines.append((self.got[at], f"key holds {self.tokens[last]}, {left:.0f} ms left"))
        return lines


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def read_proc(pid, name):
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""


class Soak:
    def __init__(self, options):
        self.options = options
        self.ttl_ms = options.ttl
        self.rlock = os.environ.get("RLOCK", "rlock")
        self.dir = options.keep or tempfile.mkdtemp(prefix="rlock-soak.")
        os.makedirs(self.dir + "/err", exist_ok=True)
        os.makedirs(self.dir + "/beats", exist_ok=True)
        open(self.dir + "/log", "a").close()
        self.server_socket = self.dir + "/redis"
        self.stop, self.watched = threading.Event(), threading.Event()
        self.lock = threading.Lock()
        self.all_runs, self.by_name = [], {}
        self.server_stops = []     # (from, to)
        self.processes = []
        self.findings = []         # (kind, run or None, time, text)
        self.strike_count = Counter()

    # --- the scene ------------------------------------------------------------------------

    def start(self, words, name):
        log = open(f"{self.dir}/{name}.out", "ab")
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    @staticmethod
    def until(condition, what, seconds=15):
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise SystemExit(f"soak.py: {what} did not happen within {seconds} s")
            time.sleep(0.01)

    def answers(self, path):
        try:
            with socket.socket(socket.AF_UNIX) as sock:
                sock.connect(path)
            return True
        except OSError:
            return False

    def set_the_scene(self):
        options = self.options
        self.server = self.start(
            ["redis-server", "--port", "0", "--unixsocket", self.server_socket, "--save", "",
             "--appendonly", "no", "--dir", self.dir], "redis")
        self.until(lambda: self.answers(self.server_socket), "the start of redis-server")
        proxy = [sys.executable, "-B", HERE + "/proxy.py", "--to", "unix:" + self.server_socket,
                 "--listen", "127.0.0.1:0" if options.tcp else "unix:" + self.dir + "/p",
                 "--control", "unix:" + self.dir + "/c",
                 "--log", self.dir + "/proxy.log", "--seconds", str(options.seconds + 600)]
        if options.commands:
            proxy += ["--commands", self.dir + "/commands.log"]
        self.start(proxy, "proxy")
        self.until(lambda: "ready" in open(self.dir + "/proxy.out").read(),
                   "the start of the proxy")
        with open(self.dir + "/proxy.out") as out:
            address = out.read().partition("ready ")[2].strip()
        self.url = ("redis://" + address if options.tcp else
                    address.replace("unix:", "unix://"))
        if options.every > 0:
            kinds = f" kinds={options.kinds}" if options.kinds else ""
            self.control(f"random seed={options.seed} every={options.every} "
                         f"prob={options.prob} ttl={self.ttl_ms}{kinds}")

    def control(self, line):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(self.dir + "/c")
            sock.sendall(line.encode() + b"\n")
            return sock.makefile().readline().strip()

    # --- the contenders -------------------------------------------------------------------

    def draw(self, rng, name):
        """A run, with its command and its fate. Mostly short commands, so that there are many
        acquires and releases; some outlive the ttl, so that there are renewals."""
        ttl = self.ttl_ms
        kind = rng.random()
        run = Run(name, rng.uniform(5, 60) if kind < 0.70 else
                  rng.uniform(0.15, 0.6) * ttl if kind < 0.87 else rng.uniform(1, 3) * ttl)
        run.exit_code = rng.choice((0, 0, 0, 0, 7, 42))
        run.stubborn = rng.random() < 0.2
        daemon = rng.random() < 0.35
        if rng.random() < self.options.strike_prob:
            run.strike = rng.choice(self.options.strikes)
            of_command = run.strike.endswith("-command") or run.strike.endswith("-guard")
            run.phase = "held" if of_command else rng.choice(("early", "any", "held", "held"))
            run.wait_ms = {"early": lambda: rng.uniform(0, 20),
                           "any": lambda: rng.uniform(0, 1.5 * ttl),
                           "held": lambda: rng.uniform(0, rng.choice((3, run.hold_ms)))}[run.phase]()
            if of_command or run.phase == "held":
                # A short command is over before anything else could happen.
                run.hold_ms = max(run.hold_ms, rng.uniform(20, 1.5 * ttl))
            run.stop_ms = rng.uniform(1, rng.choice((30, ttl, 3 * ttl)))
        # A daemon that survives a command which was killed alone, or ended at a TERM, under its
        # lock, is nobody's business; one that survives a loss is.
        run.descendant = daemon and run.strike not in ("kill-command", "term-rlock")
        return run

    def contend(self, index):
        rng = random.Random(f"{self.options.seed}/{index}")
        number = 0
        while not self.stop.is_set():
            number += 1
            run = self.draw(rng, f"c{index}.{number}")
            with self.lock:
                self.all_runs.append(run)
                self.by_name[run.name] = run
            try:
                self.one(run)
            except OSError as error:
                self.find("wrong", run, boottime_ns(), f"could not be run: {error}")
                return
            # A refused connection ends a run at once: do not turn in a tight circle then.
            self.stop.wait(rng.uniform(0, 0.3 if run.status == 69 else 0.03))

    def one(self, run):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("RLOCK")}
        environment |= {"WORKER_EXIT": str(run.exit_code), "SOAK": self.dir,
                        "WORKER_IGNORE_TERM": str(int(run.stubborn)),
                        "WORKER_DESCENDANT": str(int(run.descendant))}
        error_path = f"{self.dir}/err/{run.name}"
        run.begun = boottime_ns()
        with open(error_path, "wb") as errors:
            process = subprocess.Popen(
                [self.rlock, "run", "--server", self.url, "-t", f"{self.ttl_ms}ms",
                 "-w", f"{self.options.wait}ms", *self.options.rlock_options.split(), KEY, "--",
                 HERE + "/worker.py", self.dir, str(run.hold_ms), run.name],
                env=environment, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors,
                process_group=0)
        run.pid = process.pid
        pidfd = os.pidfd_open(process.pid)
        ended = select.poll()
        ended.register(pidfd, select.POLLIN)
        try:
            if run.strike:
                self.strike(run, process, pidfd, ended)
            limit_ms = self.options.wait + run.hold_ms + 5 * self.ttl_ms + 30_000
            if ended.poll(limit_ms):
                run.status = process.wait()
            else:
                stacks = read_proc(process.pid, "status").decode().split("\n")[2]
                self.find("wrong", run, boottime_ns(), f"did not end in {limit_ms:.0f} ms: {stacks}")
                process.kill()
                process.wait()
        finally:
            run.ended = boottime_ns()
            os.close(pidfd)
        with open(error_path, errors="replace") as errors:
            run.errors = errors.read()[-2000:]
        os.unlink(error_path)

    def strike(self, run, process, pidfd, ended):
        """Do to the run what was drawn for it, unless it ends before."""
        if run.phase == "held":
            while not run.runs.wait(0.003):
                if ended.poll(0):
                    return
        if ended.poll(run.wait_ms if run.wait_ms > 2 else 0):
            return
        if run.wait_ms <= 2:
            time.sleep(run.wait_ms / 1000)  # poll() counts in whole ms
        action, _, target = run.strike.partition("-")
        number = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP, "term": signal.SIGTERM}[action]
        if target == "group":
            # The group cannot be another's: its leader, rlock, has not been waited for.
            def send(what):
                os.killpg(process.pid, what)
        else:
            handle = pidfd if target == "rlock" else self.handle(run, target, ended)
            if handle is None:
                return

            def send(what):
                signal.pidfd_send_signal(handle, what)
        try:
            run.struck = boottime_ns()
            send(number)
            with self.lock:
                self.strike_count[run.strike] += 1
            if action == "stop":
                if target in ("rlock", "group"):
                    ended.poll(run.stop_ms)
                else:
                    time.sleep(run.stop_ms / 1000)
                run.resumed = boottime_ns()
                send(signal.SIGCONT)
        except ProcessLookupError:
            if not run.resumed:
                run.struck = 0
        finally:
            if target in ("guard", "command"):
                os.close(handle)

    def handle(self, run, target, ended):
        """A pidfd of the guard or of the command, made sure of; None where it has gone."""
        while not ended.poll(1):
            candidates = [run.command] if target == "command" else children(run.pid)
            for pid in candidates:
                try:
                    handle = os.pidfd_open(pid)
                except OSError:
                    continue
                if target == "command":
                    right = run.name.encode() in read_proc(pid, "cmdline").split(b"\0")
                else:
                    right = read_proc(pid, "comm").strip() == b"rlock-guard"
                if right:
                    return handle
                os.close(handle)
            if target == "command":
                return None
        return None

    # --- what goes on besides -------------------------------------------------------------

    def follow_log(self):
        """Tell each run when its command says that it runs."""
        with open(self.dir + "/log") as log:
            rest = ""
            while not self.watched.wait(0.003):
                rest += log.read()
                *lines, rest = rest.split("\n")
                for line in lines:
                    words = dict(word.partition("=")[::2] for word in line.split())
                    run = self.by_name.get(words.get("id", "").rpartition(".")[0])
                    if run and "pid" in words:
                        run.command = int(words["pid"])
                        run.runs.set()

    def stop_server(self):
        rng = random.Random(f"{self.options.seed}/server")
        while not self.stop.wait(rng.uniform(0.3, 2) * self.options.server_every / 1000):
            length = rng.uniform(5, rng.choice((100, self.ttl_ms, 2.5 * self.ttl_ms)))
            start = boottime_ns()
            self.server.send_signal(signal.SIGSTOP)
            time.sleep(length / 1000)
            self.server.send_signal(signal.SIGCONT)
            self.server_stops.append((start, boottime_ns()))

    def proxy_hits(self):
        return json.loads(self.control("stats"))["hit"]

    def faults(self):
        return (sum(self.proxy_hits().values()) + sum(self.strike_count.values()) +
                len(self.server_stops))

    def play(self):
        options = self.options
        self.set_the_scene()
        self.watch = Watch(self)
        self.watch.start()
        follower = threading.Thread(target=self.follow_log, daemon=True)
        follower.start()
        threads = [threading.Thread(target=self.contend, args=(i,), daemon=True)
                   for i in range(options.contenders)]
        if options.server_every > 0:
            threads.append(threading.Thread(target=self.stop_server, daemon=True))
        for thread in threads:
            thread.start()
        begun = time.monotonic()
        told = begun
        while time.monotonic() - begun < options.seconds:
            time.sleep(0.5)
            faults = self.faults()
            if time.monotonic() - told > 10:
                told = time.monotonic()
                print(f"soak.py: {told - begun:.0f} s, {len(self.all_runs)} runs, "
                      f"{faults} faults", file=sys.stderr, flush=True)
            if options.faults and faults >= options.faults:
                break
            if not any(thread.is_alive() for thread in threads[:options.contenders]):
                break
        self.quiet = not self.proxy_hits() and not self.server_stops
        self.elapsed = time.monotonic() - begun
        self.stop.set()
        self.control("random off")
        self.control("clear")
        for thread in threads:
            thread.join(options.wait / 1000 + 10 * self.ttl_ms / 1000 + 60)
            if thread.is_alive():
                self.find("wrong", None, boottime_ns(), "a contender never came back")
        self.check_leaks()
        self.hits = self.proxy_hits()
        self.watched.set()
        self.watch.join(10)
        follower.join(10)

    def check_leaks(self):
        """When all have ended, the lock is free within a ttl, and nothing else stays for good."""
        redis = Redis(self.server_socket)
        deadline = time.monotonic() + self.ttl_ms / 1000 + 0.5
        while time.monotonic() < deadline and (redis("EXISTS", self.watch.key) or self.left_over()):
            time.sleep(0.05)
        if redis("EXISTS", self.watch.key):
            self.find("leaked", None, boottime_ns(), f"the lock is still held, PTTL "
                      f"{redis('PTTL', self.watch.key)}, by {redis('GET', self.watch.key)}")
        for key in redis("KEYS", "*"):
            if redis("PTTL", key) == -1:
                self.find("leaked", None, boottime_ns(), f"key {key} without expiry")
        for pid, shown in self.left_over():
            self.find("leaked", None, boottime_ns(), f"process {pid} left over: {shown}")

    def left_over(self):
        """(pid, command line) of the processes that come from our runs and still exist."""
        mark = b"SOAK=" + self.dir.encode()
        found = []
        for name in os.listdir("/proc"):
            if name.isdigit() and mark in read_proc(name, "environ").split(b"\0"):
                found.append((int(name), read_proc(name, "cmdline").replace(b"\0", b" ").decode()))
        return found

    def clean_up(self):
        self.stop.set()
        self.watched.set()
        for pid, _ in self.left_over():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for process in reversed(self.processes):
            process.kill()
            process.wait()

    # --- the reckoning --------------------------------------------------------------------

    def find(self, kind, run, when, text):
        self.findings.append((kind, run, when, text))

    def judge(self):
        with open(self.dir + "/log") as log:
            lines = log.readlines()
        self.commands, broken = checker.read_log(lines, self.dir + "/beats")
        words = [dict(word.partition("=")[::2] for word in line.split()) for line in lines]
        self.tokens = {w["id"]: w["token"] for w in words if "token" in w}
        of_run = {}
        for command in self.commands.values():
            run = self.by_name.get(command.id.rpartition(".")[0])
            of_run.setdefault(run.name, []).append(command)
        commands = list(self.commands.values())
        for line in broken:
            self.find("wrong", None, boottime_ns(), line)
        for a, b, ns in checker.overlaps(commands):
            self.find("overlap", self.run_of(b), b.start,
                      f"{b.id} started {ns / 1e6:.1f} ms before {a.id} was last alive "
                      f"({self.fate(self.run_of(a))})")
        for a, b in checker.fence_regressions(commands):
            self.find("overlap", self.run_of(b), b.start, f"fence {b.fence} of {b.id} after "
                                                          f"{a.fence} of {a.id}")
        for a, b in checker.lost_updates(commands):
            self.find("overlap", self.run_of(b), b.start, f"{a.id} and {b.id} both wrote {b.wrote}")
        self.margins, self.unsure, self.deaths_ms = [], [], []
        for command in commands:
            self.judge_death(command, self.run_of(command))
        for run in self.all_runs:
            why = allowed(run, of_run.get(run.name, []), self.quiet)
            if why:
                self.find("wrong", run, run.ended, why)
        starts = {}
        for command in sorted(commands, key=lambda c: c.start):
            starts.setdefault(self.tokens.get(command.id), command.start)
        for kind, found in zip(("revived", "shortened"), self.watch.histories(starts)):
            for when, text in found:
                self.find(kind, None, when, text)

    def run_of(self, command):
        return self.by_name[command.id.rpartition(".")[0]]

    def judge_death(self, command, run):
        token, last = self.tokens.get(command.id), command.last()
        lost = self.watch.loss(token, command.start, last)
        if lost:
            self.find("late", run, last, f"{command.id} alive {(last - lost) / 1e6:.1f} ms after "
                                         f"the key was seen without its token")
        if run.struck and run.strike == "kill-rlock":
            ms = (last - run.struck) / 1e6
            self.deaths_ms.append(ms)
            if ms > self.options.grace:
                self.find("slow", run, last, f"{command.id} lived {ms:.1f} ms after its rlock")
        elif command.end is None and not (
                run.struck and run.strike in ("kill-command", "term-rlock")):
            margin = self.watch.margin_ns(token, last)
            if margin is not None:
                self.margins.append(margin / 1e6)
                if margin < 0 and not lost:
                    self.unsure.append((run, f"{command.id} alive {-margin / 1e6:.1f} ms after "
                                             f"the expiry last seen"))

    def fate(self, run):
        if not run.struck:
            return "not struck"
        return f"{run.strike} {(run.struck - run.begun) / 1e6:.1f} ms after its begin"

    def report(self):
        network = []   # (time, kind) of every fault that is not aimed at a run
        with open(self.dir + "/proxy.log") as log:
            for line in log:
                when, what, *rest = line.split()
                if what == "hit":
                    network.append((int(when), rest[0]))
        network += [(start, "stop-server") for start, _ in self.server_stops]
        network.sort()
        times = [when for when, _ in network]

        def kinds_of(run):
            first, last = bisect.bisect_left(times, run.begun), bisect.bisect(times, run.ended)
            kinds = {kind for _, kind in network[first:last]}
            return kinds | ({run.strike} if run.struck else set()) or {"none"}

        counts = Counter(self.hits) + self.strike_count
        counts["stop-server"] = len(self.server_stops)
        runs, found = Counter(), Counter()
        for run in self.all_runs:
            runs.update(kinds_of(run))
        for kind, run, when, text in self.findings:
            found["total", kind] += 1
            for fault in kinds_of(run) if run else ():
                found[fault, kind] += 1

        shown = Counter()
        for kind, run, when, text in self.findings:
            shown[kind] += 1
            if shown[kind] <= self.options.show:
                print(f"{kind}: {run.name + ': ' if run else ''}{text}")
                self.trace(run, when)
        print("\nstatus   runs  (started, ended by themselves)")
        commands = {c.id.rpartition(".")[0]: c for c in self.commands.values()}
        by_status = {}
        for run in self.all_runs:
            command = commands.get(run.name)
            row = by_status.setdefault(str(run.status), [0, 0, 0])
            row[0] += 1
            row[1] += command is not None
            row[2] += command is not None and command.end is not None
        for status, row in sorted(by_status.items()):
            print(f"{status:>6} {row[0]:6d}  ({row[1]}, {row[2]})")
        print("\nA run counts in every row whose fault met it; a finding, as its run.\n")
        print(f"{'fault':<14}{'met':>7}{'runs':>7}" + "".join(f"{f:>10}" for f in FINDINGS))
        for fault in sorted(set(counts) | {"none"}):
            print(f"{fault:<14}{counts[fault]:>7}{runs[fault]:>7}" +
                  "".join(f"{found[fault, f]:>10}" for f in FINDINGS))
        print(f"{'total':<14}{sum(counts.values()):>7}{len(self.all_runs):>7}" +
              "".join(f"{found['total', f]:>10}" for f in FINDINGS))
        if self.margins:
            ordered = sorted(self.margins)
            print(f"\nmargin   {len(ordered)} commands stopped by rlock; last alive before the "
                  f"expiry last seen: least {ordered[0]:.1f} ms, "
                  f"median {ordered[len(ordered) // 2]:.1f} ms")
        for run, text in self.unsure[:self.options.show]:
            print(f"unsure   {text} (a renewal may have gone unseen as the server was stopped)")
        if self.deaths_ms:
            print(f"deaths   {len(self.deaths_ms)} commands whose rlock was killed: last alive at "
                  f"most {max(self.deaths_ms):.1f} ms after it")
        print(f"seed     {self.options.seed}, ttl {self.ttl_ms} ms, {self.elapsed:.0f} s, "
              f"{len(self.commands)} commands started, "
              f"{sum(c.end is not None for c in self.commands.values())} ended by themselves")
        return 1 if self.findings else 0

    def trace(self, run, when):
        """What happened around a finding, in ms relative to it."""
        around = 2 * self.ttl_ms * 1_000_000
        lines = [line for line in self.watch.around(when - around, when + around // 4)]
        with open(self.dir + "/proxy.log") as log:
            for line in log:
                at, _, text = line.strip().partition(" ")
                if when - around <= int(at) <= when + around // 4:
                    lines.append((int(at), "proxy " + text))
        for start, end in self.server_stops:
            if end >= when - around and start <= when + around // 4:
                lines += [(start, "server stopped"), (end, "server goes on")]
        for other in self.all_runs:
            if other.struck and (other is run or abs(other.struck - when) < around):
                lines.append((other.struck, f"{other.strike} {other.name}"))
                if other.resumed:
                    lines.append((other.resumed, f"goes on: {other.name}"))
            if other is run or other.ended and abs(other.ended - when) < around // 4:
                lines += [(other.begun, f"rlock {other.name} begins"),
                          (other.ended, f"rlock {other.name} ends with {other.status}")]
        for command in self.commands.values():
            if command.start <= when + around // 4 and command.last() >= when - around:
                token = self.tokens.get(command.id, "no token")
                lines += [(command.start, f"{command.id} starts, {token}, fence {command.fence}"),
                          (command.last(), f"{command.id} " +
                           ("ends" if command.end else "last alive"))]
        for at, text in sorted(lines):
            print(f"    {(at - when) / 1e6:10.1f}  {text}")
        if run and run.errors:
            print("    " + "\n    ".join(run.errors.strip().split("\n")[-8:]))


def allowed(run, commands, quiet):
    """Why the exit status of a run is not one that rlock may give; None where it is.

        the command's own   it ran to its end
        69, 75              the server was not reached, the lock not obtained: nothing ran
        79                  the lock was lost; where network and server had no faults at all
                            (quiet), only a stop of rlock explains that, and nothing explains 69
        143                 TERM was sent to rlock, or its own where the command was done before;
                            -15, which is 143 to a shell, where rlock was just starting
        137                 the command was killed by us; -9, rlock was
        125                 rlock failed between lock and command; only where its guard was killed
    """
    struck = run.strike if run.struck else None
    if len(commands) > 1:
        return f"started its command {len(commands)} times"
    started = bool(commands)
    ended = started and commands[0].end is not None
    status = run.status
    if status is None:
        return None  # it hung; that has been found
    if status == run.exit_code and ended:
        return None
    if status == 69 and quiet:
        return "status 69, but the server was there"
    if status in (69, 75):
        return f"status {status}, but the command started" if started else None
    if status == 79 and (not quiet or struck in ("stop-rlock", "stop-group")):
        return None
    if status == 143 and struck == "term-rlock" or (
            status == -15 and struck == "term-rlock" and not started):
        return None
    if status == 137 and struck == "kill-command":
        return None
    if status == -9 and struck == "kill-rlock":
        return None
    if status == 125 and struck in ("kill-guard", "stop-guard") and not ended:
        return None
    return (f"status {status}; command " +
            ("ended with " + str(run.exit_code) if ended else
             "started" if started else "never started") + f", {struck or 'not struck'}: "
            + (run.errors.strip().split("\n") or [""])[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--seconds", type=float, default=60)
    add("--faults", type=int, default=0, help="end when so many met something")
    add("--contenders", type=int, default=8)
    add("--seed", type=int, default=1)
    add("--ttl", type=int, default=2000, help="ms")
    add("--wait", type=int, default=20000, help="-w of every run, ms")
    add("--tcp", action="store_true", help="TCP to the proxy, so that a reset is one")
    add("--keep", help="work in this directory and leave it")
    add("--every", type=float, default=400, help="ms between draws of a proxy fault; 0: none")
    add("--prob", type=float, default=0.5, help="of a fault at each draw")
    add("--kinds", default="", help="proxy faults to draw from, comma list")
    add("--server-every", type=float, default=6000, help="ms between stops of the server; 0: none")
    add("--strike-prob", type=float, default=0.5, help="of a kill or a stop, per run")
    add("--strikes", default=",".join(STRIKES), type=lambda text: text.split(","))
    add("--grace", type=float, default=100, help="ms a command may outlive a killed rlock")
    add("--poll", type=float, default=5, help="ms between looks at the key")
    add("--rlock-options", default="", help="further options for rlock run")
    add("--commands", action="store_true", help="log every command that passes the proxy")
    add("--show", type=int, default=3, help="findings of each kind to print with their traces")
    options = parser.parse_args()
    if set(options.strikes) - set(STRIKES):
        parser.error("strikes are " + " ".join(STRIKES))
    soak = Soak(options)
    result = 2
    try:
        soak.play()
        soak.judge()
        result = soak.report()
    finally:
        soak.clean_up()
        if result and not options.keep:
            print(f"logs     {soak.dir}")
        elif not options.keep:
            shutil.rmtree(soak.dir)
    return result


if __name__ == "__main__":
    sys.exit(main())
