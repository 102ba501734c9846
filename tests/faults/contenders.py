"""Contenders for one lock: each runs one worker.py after the other under it. For the trials of this folder."""

import argparse
import os
import random
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections import Counter

import checker
from topologies import TOPOLOGIES

HERE = os.path.dirname(os.path.abspath(__file__))
# An outage is over some time; who is told of one does not ask again at once.
UNAVAILABLE, PAUSE = 69, 0.1


class Contender(threading.Thread):
    """Goes on until it is told to stop, and keeps how each rlock ended.

    key      of the lock
    options  of rlock run
    hold     how long a command holds the lock: a function of a random.Random, in ms
    enter    words before rlock: Namespace.enter
    """

    def __init__(self, name, url, directory, key, options, hold, seed, enter=()):
        super().__init__()
        self.name, self.directory, self.hold = name, directory, hold
        self.options, self.key, self.enter = options, key, enter
        self.environment = {**os.environ, "RLOCK_SERVER": url}
        self.chance = random.Random(f"{seed} {name}")
        self.stopping = threading.Event()
        self.rlock = None  # the last one
        self.ends = []  # (status, what it said)

    def words(self):
        """The options of one run, and its key."""
        return [*self.options, self.key]

    def run(self):
        while not self.stopping.is_set():
            command = [f"{HERE}/worker.py", self.directory, str(self.hold(self.chance)), self.name,
                       str(time.clock_gettime_ns(time.CLOCK_BOOTTIME))]
            self.rlock = subprocess.Popen(
                [*self.enter, os.environ["RLOCK"], "run", *self.words(), "--", *command], env=self.environment, text=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            said = self.rlock.communicate(timeout=600)[1]
            self.ends.append((self.rlock.returncode, said.strip()))
            if self.rlock.returncode == UNAVAILABLE:
                time.sleep(PAUSE)


def start(contenders):
    for contender in contenders:
        contender.start()


def stop(contenders, meanwhile=lambda: None):
    """Waits for the last rlock of each. meanwhile: what has to be done so that they can end."""
    for contender in contenders:
        contender.stopping.set()
    meanwhile()
    for contender in contenders:
        contender.join()


def kill_some(contenders, rate, over, seed):
    """Kills so many rlocks a second, a third of them with TERM, until the event; returns how many."""
    chance = random.Random(f"{seed}/kills")
    killed = 0
    while rate > 0 and not over.wait(chance.expovariate(rate)):
        rlock = chance.choice(contenders).rlock
        if rlock is not None and rlock.poll() is None:
            rlock.send_signal(signal.SIGTERM if chance.random() < 1 / 3 else signal.SIGKILL)
            killed += 1
    return killed


def judge(directory):
    """What checker.py says of the commands: the runs, the violations, the summary."""
    # The first command makes it.
    with open(directory + "/log", "a+", encoding="ascii") as log:
        log.seek(0)
        lines = log.readlines()
    return checker.read_log(lines, directory + "/beats")[0], *checker.check(lines, directory + "/beats")


def finish(wrong, directory, keep):
    """Prints what was wrong and how much; the exit status. keep: whether to leave the directory."""
    for line in wrong:
        print(line)
    print(f"{len(wrong)} wrong")
    if not keep:
        shutil.rmtree(directory, ignore_errors=True)
    return 1 if wrong else 0


def ends(contenders):
    return [end for contender in contenders for end in contender.ends]


def statuses(contenders):
    return Counter(status for status, _ in ends(contenders))


# What an rlock may end with beside members in trouble: it ran, was told that it lost its lock, could reach nobody, or stood
# still for too long.
EXPECTED = (0, 69, 79, -signal.SIGKILL)


def judge_beside_trouble(field, key, directory, ttl, contenders):
    """As judge(), and wrong are also an entry that is there when the last lease is over, and a status that is not EXPECTED.
    Returns the names of those entries too."""
    runs, wrong, summary = judge(directory)
    time.sleep(ttl + 1)
    left = field.entries(key)
    wrong += [f"left behind: {name}" for name in left]
    wrong += [f"status {status}: {said}" for status, said in ends(contenders) if status not in EXPECTED]
    return runs, wrong, summary, left


def trial_options(description, contenders):
    """A parser of the options that contend() knows."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topology", choices=TOPOLOGIES, default="single")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--contenders", type=int, default=contenders)
    # On a busy machine too, nobody is so late that a lease ends.
    parser.add_argument("--ttl", type=int, default=5000, help="ms")
    parser.add_argument("--kills", type=float, default=0, help="a second")
    parser.add_argument("--seed", type=int, default=random.randrange(10000))
    parser.add_argument("--keep", action="store_true")
    return parser


def contend(options, keys, make, look):
    """A whole trial: contenders for so many seconds on one topology, some of whom are killed. Wrong is what checker.py finds,
    a command that was stopped, a run that was not served within 5 minutes, and a key that is still held a ttl after the end.

    make  a contender: a function of the arguments of Contender but `key`
    look  what else is wrong, and what else there is to tell: a function of (runs, killed), which returns two lists of text
    Returns the exit status.
    """
    print(f"seed {options.seed}", flush=True)
    directory = tempfile.mkdtemp(prefix="contend.")
    runs = directory + "/run"
    os.makedirs(runs)
    with TOPOLOGIES[options.topology](directory + "/servers") as field:
        words = ["-t", f"{options.ttl}ms", "-k", "100ms", "-w", "5m"]
        if options.topology == "redlock":  # a server that is young does not vote
            words.append("--grace=1s")
            time.sleep(2 + options.ttl / 1000)
        contenders = [make(f"c{number}", field.url, runs, words, lambda chance: chance.uniform(0, 20), options.seed)
                      for number in range(options.contenders)]
        start(contenders)
        over = threading.Event()
        threading.Timer(options.seconds, over.set).start()
        killed = kill_some(contenders, options.kills, over, options.seed)
        over.wait()
        stop(contenders)
        time.sleep(options.ttl / 1000 + 0.2)
        wrong = [f"{key} is still held" for key in keys if field.is_held(key)]
        by_id, violations, summary = judge(runs)
        expected = {0, -signal.SIGKILL, -signal.SIGTERM, 128 + signal.SIGTERM} if options.kills else {0}
        wrong += violations + [f"status {status}: {said}" for status, said in ends(contenders) if status not in expected]
        more, told = look(by_id.values(), killed)
        print(*(f"{name}={value}" for name, value in summary.items() if name != "fifo"), f"rlocks_killed={killed}", *told,
              *(f"status_{code}={n}" for code, n in sorted(statuses(contenders).items())))
    return finish(wrong + more, directory, options.keep)
