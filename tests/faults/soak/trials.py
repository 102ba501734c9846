"""One trial: an `rlock run` of some shape, what is done to it, and what became of it."""

import os
import re
import select
import signal
import subprocess
import threading
import time
from dataclasses import dataclass, field

from stage import FAULTS, boottime_ns

WORKER = FAULTS + "/worker.py"
# What runs under the lock. W is a worker, R a nested `rlock run` of the same lock. Only the last two do not begin with
# `rlock run`: there a shell holds the lock by `acquire --export`.
SHAPES = {
    "plain": None,
    "shell": "W & wait $!",                  # a shell that dies of TERM leaves its child
    "nested": "R W; exit $?",
    "nested-left": "R W & sleep 0.0{left}",  # the outer one's command ends first
    "nested-two": "R W & R W2 & wait",
    "export": "R W; code=$?",
    "export-two": "R W & R W2 & wait; code=0",
}
EXPORTED = """export RLOCK_KEY={key}
eval "$({acquire})"
[ -n "$RLOCK_TOKEN" ] || exit 75
{body}
"$RLOCK" release {key} || [ $? = 79 ]
exit $code"""
# action-target. "both": rlock and its guard; "group": rlock's process group; "nested": the rlock below.
STRIKES = ("kill-rlock", "stop-rlock", "stop-group", "term-rlock", "kill-guard", "stop-guard", "kill-both", "stop-both",
           "kill-command", "stop-command", "kill-nested", "stop-nested", "term-nested")
NO_GUARD_MS = 30  # a job is not promised to be guarded in its first 10 ms; it takes a little until its worker says so
SIGNALS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP, "term": signal.SIGTERM}


@dataclass
class Run:
    name: str
    key: str
    ttl_ms: float
    hold_ms: float
    shape: str = "plain"
    wait_ms: float = 20_000    # -w
    exit_code: int = 0
    stubborn: bool = False     # the command ends at nothing but SIGKILL
    descendant: bool = False   # it has a daemon
    left_ms: int = 20          # nested-left: when the outer one's shell ends
    strike: str | None = None
    phase: str = "held"        # when it is struck: strike_ms after the start, or after the command said that it runs
    strike_ms: float = 0
    stop_ms: float = 0
    pid: int = 0
    begun: int = 0             # CLOCK_BOOTTIME ns, as all instants here; 0 where it never came
    ended: int = 0
    struck: int = 0
    resumed: int = 0
    status: int | None = None  # as subprocess has it: negative for a signal; None for one that never ended
    errors: str = ""
    commands: list = field(default_factory=list)  # pids of the workers that said that they run
    runs: threading.Event = field(default_factory=threading.Event)

    def action(self):
        return self.strike.partition("-")[0]

    def target(self):
        return self.strike.partition("-")[2]

    def limit_ms(self):
        """How long it may take, whatever befalls it."""
        return self.wait_ms + self.hold_ms + 5 * self.ttl_ms + self.stop_ms + 30_000

    def fate(self):
        drawn = f"{self.shape}, ttl {self.ttl_ms:.0f} ms"
        if not self.struck:
            return f"{drawn}, not struck"
        return f"{drawn}, {self.strike} {(self.struck - self.begun) / 1e6:.1f} ms after its begin"


def line_of(run, rlock, directory):
    """The whole command line."""
    options = ["-t", f"{run.ttl_ms:.0f}ms", "-w", f"{run.wait_ms:.0f}ms", run.key]
    outer = [rlock, "run", *options, "--"]

    def worker(tag):
        return [WORKER, directory, f"{run.hold_ms:.1f}", f"{run.name}:{tag}"]

    body = SHAPES[run.shape]
    if body is None:
        return [*outer, *worker("a")]
    # Two that are nested exclude nobody, so they do not count.
    words = {"W2": worker("b"), "W": worker("a"), "R": outer}
    text = re.sub(r"\b(W2|W|R)\b", lambda found: " ".join(words[found[0]]), body)
    text = text.replace("{left}", f"{run.left_ms:02d}")
    if not run.shape.startswith("export"):
        return [*outer, "sh", "-c", text]
    acquire = f"{rlock} acquire --export {' '.join(options)}"
    return ["sh", "-c", EXPORTED.format(key=run.key, acquire=acquire, body=text)]


def begin(run, rlock, directory, more_environment, errors):
    """Starts it in a process group of its own."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RLOCK")}
    environment |= more_environment
    environment |= {"RLOCK": rlock, "SOAK": directory, "WORKER_EXIT": str(run.exit_code),
                    "WORKER_IGNORE_TERM": str(int(run.stubborn)), "WORKER_DESCENDANT": str(int(run.descendant)),
                    "WORKER_COUNTER": "none" if run.shape.endswith("-two") else f"counter-{run.key}"}
    run.begun = boottime_ns()
    process = subprocess.Popen(line_of(run, rlock, directory), env=environment, stdin=subprocess.DEVNULL,
                               stdout=errors, stderr=errors, process_group=0)
    run.pid = process.pid
    return process


def play(run, rlock, directory, environment, notes):
    """Starts it, with `environment` saying which server, strikes it, and waits for its end. Returns a finding, or None."""
    error_path = f"{directory}/err.{run.name}"
    with open(error_path, "wb") as errors:
        process = begin(run, rlock, directory, environment, errors)
    pidfd = os.pidfd_open(process.pid)
    ended = select.poll()
    ended.register(pidfd, select.POLLIN)
    found = None
    try:
        if run.strike:
            strike(run, ended, notes)
        if ended.poll(run.limit_ms()):
            run.status = process.wait()
        else:
            found = f"did not end in {run.limit_ms():.0f} ms: {read(run.pid, 'status').splitlines()[2:3]}"
            process.kill()
            process.wait()
    finally:
        run.ended = boottime_ns()
        os.close(pidfd)
    with open(error_path, errors="replace") as errors:
        run.errors = errors.read()[-2000:]
    os.unlink(error_path)
    return found


def strike(run, ended, notes):
    """Does to it what was drawn, unless it ends before."""
    if run.phase == "held":
        while not run.runs.wait(0.003):
            if ended.poll(0):
                return
    if ended.poll(run.strike_ms if run.strike_ms > 2 else 0):
        return
    if run.strike_ms <= 2:
        time.sleep(run.strike_ms / 1000)  # poll() counts in whole ms
    handles = handles_of(run, ended)
    if not handles:
        return
    try:
        send(handles, SIGNALS[run.action()])
        run.struck = notes(f"{run.strike} {run.name} {run.fate()}")
        if run.action() == "stop":
            ended.poll(run.stop_ms)
            run.resumed = boottime_ns()
            send(handles, signal.SIGCONT)
            notes(f"cont {run.name}")
    except ProcessLookupError:
        pass
    finally:
        for handle in handles:
            if isinstance(handle, int):
                os.close(handle)


def send(handles, number):
    """To each pidfd, and to each process group, which is a tuple. Fails where the first has gone."""
    for at, handle in enumerate(handles):
        try:
            if isinstance(handle, tuple):
                os.killpg(handle[0], number)
            else:
                signal.pidfd_send_signal(handle, number)
        except ProcessLookupError:
            if at == 0:
                raise


def handles_of(run, ended):
    """Whom the strike is for, made sure of; nothing where one of them has gone."""
    target = run.target()
    if target == "rlock":
        return [os.pidfd_open(run.pid)]
    if target == "group":
        return [(run.pid,)]  # cannot be another's: rlock, its leader, has not been waited for
    if target == "both":
        guard = look(run, "guard", ended)
        # The guard first: it would take the death of rlock for its call.
        return guard and [*guard, os.pidfd_open(run.pid)]
    return look(run, target, ended)


def look(run, target, ended):
    while not ended.poll(1):
        candidates = {"command": lambda: run.commands[:1], "guard": lambda: children(run.pid),
                      "nested": lambda: descendants(run.pid)}[target]()
        for pid in candidates:
            try:
                handle = os.pidfd_open(pid)
            except OSError:
                continue
            if is_target(run, target, pid):
                return [handle]
            os.close(handle)
        if target == "command":
            return []
    return []


def is_target(run, target, pid):
    if target == "command":
        return f"{run.name}:a" in read(pid, "cmdline").split("\0")
    name = read(pid, "comm").strip()
    return name == "rlock-guard" if target == "guard" else name == "rlock"


def children(pid):
    return [int(word) for word in read(pid, f"task/{pid}/children").split()]


def descendants(pid):
    for child in children(pid):
        yield child
        yield from descendants(child)


def read(pid, name):
    try:
        with open(f"/proc/{pid}/{name}", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def left_over(directory):
    """(pid, command line) of the processes that come from the trials of a directory and still exist."""
    mark = "SOAK=" + directory
    return [(int(name), read(name, "cmdline").replace("\0", " ")) for name in os.listdir("/proc")
            if name.isdigit() and mark in read(name, "environ").split("\0")]


def unguarded(run):
    """Whether its lock may stay until the lease ends: nobody was left, or nobody yet there, to give it back."""
    return bool(run.struck) and (run.target() == "both" or run.strike in ("kill-guard", "stop-guard", "stop-group") or
                                 run.strike == "kill-rlock" and (run.phase != "held" or run.strike_ms < NO_GUARD_MS))
