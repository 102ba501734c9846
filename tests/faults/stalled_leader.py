#!/usr/bin/env python3
"""A command under a lock whose rlock speaks to the leader alone, whose disk stands still from some moment on.

    stalled_leader.py [--tries 1] [--ttl 3]

The others elect a new leader and end the lease; the old one knows nothing of that and, in etcd 3.4.23, goes on to answer
keepalives (etcd #15247; mended in later ones). So whoever takes those for a proof runs beside the next holder, who speaks to
the others. As root, with loop devices. Ends with "N tries, N overlaps"; status 1 where there was any, or nothing to see.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import namespaces  # noqa: E402
from ensembles import ENSEMBLES  # noqa: E402
from servers import until  # noqa: E402

RLOCK = os.environ.get("RLOCK", "rlock")
# It writes /proc/uptime again and again, which counts as CLOCK_BOOTTIME does.
BEATS = "while read -r now _ </proc/uptime; do echo $now >>%s; sleep 0.02; done"


def run(members, ttl, key, log):
    url = "etcd://" + ",".join(member.address for member in members)
    return subprocess.Popen([RLOCK, "run", "-q", "--server", url, "--ttl", f"{ttl}s", "--kill-after", "200ms", "--wait", "5m",
                             key, "--", "sh", "-c", BEATS % log], stdin=subprocess.DEVNULL)


def beats(log):
    try:
        with open(log, encoding="ascii") as file:
            return [float(line) for line in file if line.endswith("\n")]
    except FileNotFoundError:
        return []


def attempt(field, directory, number, ttl):
    """By how many seconds the first command ran beside the second one."""
    key, logs = f"stalled{number}", [f"{directory}/{number}.{who}" for who in ("first", "next")]
    leader = field.leader()
    processes = [run([leader], ttl, key, logs[0])]
    try:
        until(lambda: beats(logs[0]), "the first command")
        processes.append(run(field.followers(), ttl, key, logs[1]))
        until(lambda: len(field.entries(key)) == 2, "a waiter")
        # Renewed twice at least: the first renewal may be another one than the others.
        time.sleep(ttl)
        leader.stall()
        try:
            until(lambda: beats(logs[1]) or processes[0].poll() is not None, "the end of a lease", 10 * ttl)
            until(lambda: beats(logs[1]), "the next command", 10 * ttl)
            time.sleep(0.2)
            started = beats(logs[1])[0]
            return max(0.0, beats(logs[0])[-1] - started)
        finally:
            leader.flow()
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=1)
    parser.add_argument("--ttl", type=int, default=3)
    options = parser.parse_args()
    namespaces.isolate_mounts()
    directory, overlaps = tempfile.mkdtemp(prefix="stalled."), 0
    try:
        with ENSEMBLES["etcd"](directory + "/members", disks=True) as field:
            for number in range(options.tries):
                beside = attempt(field, directory, number, options.ttl)
                print(f"the first command ran beside the next for {beside:.2f} s", flush=True)
                overlaps += beside > 0
                until(field.leader, "an election")
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    print(f"{options.tries} tries, {overlaps} overlaps")
    return 1 if overlaps else 0


if __name__ == "__main__":
    sys.exit(main())
