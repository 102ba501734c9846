#!/usr/bin/env python3
"""What status says at a leader of ZooKeeper that was deposed and does not know it yet.

    deposed_leader.py [--tries 3] [--keep DIR]

The leader is split from the others and stands still; they elect another one, and the lock is released there. When it goes
on, it takes itself for the leader for some seconds: it answers reads and `sync` with what it knew, and sessions are local
here, so that it needs nobody to make one. Whoever trusted that would say that the lock is held. As root. Ends with "N
tries, N wrong"; status 1 where anything was, or nothing was to be seen.
"""

import argparse
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import contenders as crowd  # noqa: E402
import namespaces  # noqa: E402
from ensembles import ENSEMBLES  # noqa: E402
from servers import until  # noqa: E402
from zookeeper import Client, Failed  # noqa: E402

RLOCK = os.environ.get("RLOCK", "rlock")
# Ticks of a second for which a leader waits for the others.
PATIENCE = 20


def rlock(field, members, *words):
    """Its status, what it prints, and what it says of what is wrong."""
    done = subprocess.run([RLOCK, *words], env={**os.environ, "RLOCK_SERVER": field.url_of(*members)}, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def still_says(field, leader, key, is_to_sync=True):
    """Whether the member takes itself for the leader, and the lock for held, by a read behind a sync. Behind a write that it
    could not have decided it does not answer a sync any more."""
    try:
        with Client(leader.host, leader.port, timeout=2) as client:
            if is_to_sync:
                client.sync(field.root)
            return leader.is_leader() and any(client.children(queue) for queue in field.queues(client, key))
    except (OSError, Failed):
        return False


def attempt(field, key):
    """What was wrong; None where the leader had found out too soon."""
    leader, others = field.leader(), field.followers()
    status, token, said = rlock(field, others, "acquire", "--ttl", "5m", key)
    assert status == 0, said
    until(lambda: still_says(field, leader, key), "what the leader knows of the lock")
    field.split(leader)
    leader.stop()
    try:
        for member in others:
            member.restart()
        until(lambda: any(member.is_leader() for member in others), "another leader")
        status, _, said = rlock(field, others, "release", "--connect-timeout", "30s", key, token)
        assert status == 0, said
        leader.resume()
        if not still_says(field, leader, key):
            return None
        seen = [(words, *rlock(field, [leader], "status", "--connect-timeout", "1s", *words))
                for words in ([key], ["--json", key], [], ["--json"])]
        if not still_says(field, leader, key, is_to_sync=False):
            return None
        return [f"status {' '.join(words)}: {status}, {shown or said}" for words, status, shown, said in seen
                if status != 69 or shown]
    finally:
        leader.resume()
        field.join(leader)
        until(lambda: all(member.answers() for member in field.servers), "every member's answer")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=3, help="of which one that shows something is enough")
    parser.add_argument("--keep", help="work there, and leave it")
    options = parser.parse_args()
    namespaces.isolate()
    directory = options.keep or tempfile.mkdtemp(prefix="deposed.")
    os.makedirs(directory, exist_ok=True)
    wrong = None
    with ENSEMBLES["zookeeper"](directory + "/members", f"syncLimit={PATIENCE}", "localSessionsEnabled=true",
                                "localSessionsUpgradingEnabled=true", isolated=True) as field:
        for number in range(1, options.tries + 1):
            wrong = attempt(field, f"deposed{number}")
            if wrong is not None:
                break
            print("the leader had found out", flush=True)
    wrong = ["the leader always found out before it was asked"] if wrong is None else wrong
    return crowd.finish(wrong, directory, options.keep)


if __name__ == "__main__":
    sys.exit(main())
