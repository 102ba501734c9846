"""The wall clock of the processes that are started with its environment: it steps for them alone, by wall_clock.c.

    clock = WallClock(directory)      # needs cc
    subprocess.Popen(..., env={**os.environ, **clock.environment})
    clock.step(seconds)               # by so many from the true time, at once
"""

import mmap
import os
import shutil
import struct
import subprocess

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "wall_clock.c")


def is_possible(program):
    """Whether it can be preloaded into a program; not so into one of a sanitizer."""
    return shutil.which("cc") is not None and "TEST_SANITIZER" not in os.environ and b"libc.so" in shared_with(program)


def shared_with(program):
    return subprocess.run(["ldd", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout


class WallClock:
    def __init__(self, directory):
        library, path = directory + "/wall_clock.so", directory + "/wall_clock"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, SOURCE], check=True)
        with open(path, "w+b") as file:
            file.write(bytes(8))
            file.flush()
            self.page = mmap.mmap(file.fileno(), 8)
        self.environment = {"LD_PRELOAD": library, "WALL_CLOCK": path}

    def step(self, seconds):
        self.page[:] = struct.pack("q", seconds)
