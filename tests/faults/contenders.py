"""Contenders for one lock: each runs one worker.py after the other under it. For the trials of this folder."""

import os
import random
import shutil
import signal
import subprocess
import threading
import time
from collections import Counter

import checker

HERE = os.path.dirname(os.path.abspath(__file__))
# An outage is over some time; who is told of one does not ask again at once.
UNAVAILABLE, PAUSE = 69, 0.1


class Contender(threading.Thread):
    """Goes on until it is told to stop, and keeps how each rlock ended.

    key      of the lock
    options  of rlock run
    hold     how long a command holds the lock: a function of a random.Random, in ms
    """

    def __init__(self, name, url, directory, key, options, hold, seed):
        super().__init__()
        self.name, self.directory, self.hold = name, directory, hold
        self.options, self.key = options, key
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
                [os.environ["RLOCK"], "run", *self.words(), "--", *command], env=self.environment, text=True,
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
    with open(directory + "/log", encoding="ascii") as log:
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
