"""Other trials of tests/faults, each with arguments drawn: modes, slots, several keys, libraries, failovers, slots that move,
restarts that forget, minorities, many frozen or killed together, a busy host. Each judges itself; wrong is one that does not
end with status 0, and its last lines are told.
"""

import os
import random
import shutil
import subprocess
import sys
import tempfile

from ensembles import ENSEMBLES
from stage import FAULTS, Notes

ALL = ("single", "sentinel", "cluster", "redlock", *ENSEMBLES)
SLOTTED = ("single", "cluster", *ENSEMBLES)  # slots are of one server, or of a majority that decides
LIMIT_S = 600
# The bound of a free lock, on a machine that plays everything else beside.
BOUND_S = 4
TTL_MS = 10_000  # of trials that count a lost lease as wrong


def modes(rng):
    slots = rng.choice((0, 0, 2, 5))
    topology = rng.choice(SLOTTED if slots else ALL)
    return ["modes.py", "--topology", topology, "--slots", slots, "--contenders", rng.randint(10, 30),
            "--ttl", TTL_MS, "--kills", rng.choice((0, 4)), "--seconds", 12]


def several_keys(rng):
    return ["several_keys.py", "--topology", rng.choice(ALL), "--contenders", rng.randint(6, 20), "--kills", rng.choice((0, 2)),
            "--ttl", TTL_MS, "--shared", rng.choice((0, 0.2)), "--seconds", 12]


def restarts(rng):
    return ["restarts.py", "--restarts", 3, "--ttl", TTL_MS // 1000, *rng.choice(([], ["--grace"]))]


def failovers(rng):
    how = rng.choice((["--allow-overlaps"], ["--pause", "6", "--", "--grace", "3s"], ["--", "--replicas", "2"]))
    return ["failovers.py", "--failovers", 2, *how]


def reshards(rng):
    return ["reshards.py", "--seconds", 12, "--befalls", rng.choice(("move,failover", "move,kill"))]


def minorities(rng):
    return ["minorities.py", "--seconds", 15, *rng.choice(([], ["--majority"]))]


def stalls(rng):
    store = rng.choice(("redis", *ENSEMBLES))
    waiters = rng.choice((1, 4, 40))
    events = ["released", "gave_up", "head_killed", "lock_deleted",
              f"{rng.randint(1, 12)}_frozen", f"{rng.randint(8, 12)}_frozen"]
    if store == "redis":
        events += ["foreign_goes", "connections_killed", "flushed", "queue_deleted", "side_keys_deleted"]
    events += ["three_killed_with_the_holder"] if waiters < 40 else []  # its lease ends before so many have come
    return ["stalls.py", "--store", store, "--tries", 1, "--waiters", waiters, "--bound", BOUND_S,
            "--events", ",".join(rng.sample(events, 2))]


def consensus(rng):
    return ["consensus.py", "--store", rng.choice(list(ENSEMBLES)), "--seconds", 20, "--contenders", rng.choice((4, 8, 20)),
            "--ttl", rng.choice((2, 4, 8)), "--every", rng.choice((4, 8))]


def beside(rng):
    return ["beside.py", "--seconds", 10, "--rlocks", rng.randint(1, 5), "--libraries", rng.randint(1, 5),
            "--hold", rng.choice((0, 30))]


def mass(rng):
    return ["busy_host.py", "--processes", 4000, "--busy", 0, "--kinds", "mass", "--holders", rng.choice((50, 200)),
            "--jobs", 1, "--patience", 10, "--bystander", "10s"]


def busy_host(rng):
    return ["busy_host.py", "--processes", 4000, "--kinds", "freeze,cut,kill", "--tries", 3, "--limit", 300]


TRIALS = [modes, several_keys, restarts, failovers, reshards, minorities, stalls, consensus, beside]
# A sanitizer takes many times the processor and the memory of what these measure.
if "TEST_SANITIZER" not in os.environ:
    TRIALS += [mass, busy_host]


class Lane:
    def __init__(self, directory, rlock, _options):
        self.directory = directory
        os.makedirs(directory)
        self.notes = Notes(directory + "/notes")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("RLOCK_")}
        self.environment |= {"RLOCK": rlock, "TMPDIR": directory}

    def play(self, seed):
        rng = random.Random(seed)
        trial = rng.choice(TRIALS)
        script, *words = map(str, trial(rng))
        if script != "stalls.py" and script != "beside.py":
            words[:0] = ["--seed", str(rng.randrange(10**6))]
        where = tempfile.mkdtemp(dir=self.directory)
        self.notes(" ".join((seed, script, *words)))
        # redis-py is the distribution's.
        python = "/usr/bin/python3" if script == "beside.py" else sys.executable
        process = subprocess.run([python, "-B", f"{FAULTS}/{script}", *words], env=self.environment | {"TMPDIR": where},
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                 timeout=LIMIT_S, check=False)
        if process.returncode == 0:
            shutil.rmtree(where, ignore_errors=True)
            return script, [], []
        said = "\n    ".join(process.stdout.strip().splitlines()[-15:])
        return script, [f"{script} {' '.join(words)}: status {process.returncode}\n    {said}"], []

    def close(self):
        pass
