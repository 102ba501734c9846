#!/usr/bin/python3 -IS
"""The command that contenders run under a lock, and that tells on them.

    worker.py DIR HOLD_MS [NAME [ARRIVAL_NS]]

Holds for HOLD_MS: reads DIR/counter, waits, writes it back one higher, with nothing but the lock
to keep two of them apart. Writes to DIR/log, each time one append that cannot be torn, a line
when it starts and one when it ends, in the format of checker.py; its id there is NAME.PID. All
the while it stores the time in DIR/beats/ID once a millisecond, so that after a SIGKILL one
knows when it was last alive. CLOCK_BOOTTIME throughout.

From the environment: RLOCK_KEY, RLOCK_FENCE, RLOCK_TOKEN, as rlock sets them; where there are RLOCK_KEYS, it counts
nowhere, and each key has lines and a beat file of its own, NAME.PID, NAME.PID.1 and so on;
    WORKER_COUNTER=NAME    of the counter; `none`: it counts nowhere
    WORKER_MODE=x|s|N      how it holds the lock, as checker.py has it; where not alone it counts nowhere
    WORKER_EXIT=N          exit code
    WORKER_IGNORE_TERM=1   do not end at a TERM
    WORKER_DESCENDANT=1    have a daemon (double fork, setsid) beat in the same file as long

-IS and the few imports: a start of Python with them takes half the time.
"""

import os
import signal
import sys
import time


def now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


start = now()
if len(sys.argv) < 3:
    sys.exit(__doc__)
directory, hold_ns = sys.argv[1], int(float(sys.argv[2]) * 1e6)
name = sys.argv[3] if len(sys.argv) > 3 else "w"
run_id = f"{name}.{os.getpid()}"
environment = os.environ
if environment.get("WORKER_IGNORE_TERM") == "1":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)

os.makedirs(directory + "/beats", exist_ok=True)
beat_file = os.open(f"{directory}/beats/{run_id}", os.O_RDWR | os.O_CREAT, 0o600)
log_file = os.open(directory + "/log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
keys = environment.get("RLOCK_KEYS", environment.get("RLOCK_KEY", "-")).split("\n")
fences = environment.get("RLOCK_FENCES", environment.get("RLOCK_FENCE", "")).split("\n")
ids = [run_id] + [f"{run_id}.{number}" for number in range(1, len(keys))]
for other in ids[1:]:
    os.link(f"{directory}/beats/{run_id}", f"{directory}/beats/{other}")
is_alone = len(keys) == 1 and environment.get("WORKER_MODE", "x") == "x"
counter = environment.get("WORKER_COUNTER", "counter") if is_alone else "none"
counter_file = None if counter == "none" else os.open(f"{directory}/{counter}", os.O_RDWR | os.O_CREAT, 0o600)


def beat():
    time_ns = now()
    os.pwrite(beat_file, time_ns.to_bytes(8, "little"), 0)
    return time_ns


def log(**words):
    os.write(log_file, (" ".join(f"{k}={v}" for k, v in words.items() if v) + "\n").encode())


def beat_until(end_ns):
    while beat() < end_ns:
        time.sleep(0.001)


def descendant():
    """Start a daemon that beats as long as we do; returns a pipe that ends with it."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork() == 0:
            log(id=run_id, descendant=os.getpid())
            beat_until(start + hold_ns)
        os._exit(0)
    os.close(write_end)
    os.waitpid(child, 0)
    return read_end


beat()
for each, key, fence in zip(ids, keys, fences):
    log(id=each, key=key, start=start, fence=fence, arrival=sys.argv[4] if len(sys.argv) > 4 else None,
        pid=os.getpid(), token=environment.get("RLOCK_TOKEN"), mode=environment.get("WORKER_MODE"))
pipe = descendant() if environment.get("WORKER_DESCENDANT") == "1" else None
count = None if counter_file is None else int(os.pread(counter_file, 32, 0) or b"0") + 1
beat_until(start + hold_ns)
if pipe is not None:
    os.read(pipe, 1)
if counter_file is not None:
    os.pwrite(counter_file, b"%020d\n" % count, 0)
for each in ids:
    log(id=each, end=beat(), wrote=count)
os._exit(int(environment.get("WORKER_EXIT", "0")))
