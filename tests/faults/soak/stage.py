"""What a soak shares: the clock, the log of what was done, idle and busy processes beside it."""

import contextlib
import os
import subprocess
import sys
import time

FAULTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
IDLERS = """import os, sys
end, ours = os.pipe()
for _ in range(int(sys.argv[1])):
    if os.fork() == 0:
        os.close(ours)
        os.read(end, 1)
        os._exit(0)
print("ready", flush=True)
sys.stdin.read()
"""


def boottime_ns():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class Notes:
    """The log of everything done to anybody: one line each, CLOCK_BOOTTIME ns first."""

    def __init__(self, path):
        self.file = open(path, "a", buffering=1)

    def __call__(self, text):
        now = boottime_ns()
        self.file.write(f"{now} {text}\n")
        return now


@contextlib.contextmanager
def neighbours(idle, busy):
    """So many processes that sleep, and so many that do not. The idle ones end when their parent does."""
    processes = []
    if idle:
        processes.append(subprocess.Popen([sys.executable, "-IS", "-c", IDLERS, str(idle)], stdin=subprocess.PIPE,
                                          stdout=subprocess.PIPE))
        processes[0].stdout.readline()
    for _ in range(busy):
        processes.append(subprocess.Popen(["sh", "-c", "while :; do :; done"]))
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()
