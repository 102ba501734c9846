#!/usr/bin/env python3
"""How long a lock stays free where a host is lost with its holder and all waiters but the last (simulated, crowd.py).

    lost_host.py [--ahead 10,100,1000,5000,10000] [--tries 2] [--seconds 240]

RLOCK names the binary beside whose scripts it finds. The worst case: all have looked just now, the lease of 30 s was
renewed just now, and one waiter lives, behind all the others. Either their processes are killed, and their connections closed,
or the host is cut off, and the server has them connected for minutes. All tries go on at once. Prints a Markdown table: how
long after the end of the lease the one who lives had the lock.
"""

import argparse
import tempfile
import time

import crowd
from crowd import Crowd
from scale import Servers, held

LEASE_MS = 30_000
SHARED = 100  # waiters have one connection

cut_off: list[Crowd] = []  # nobody lets them do anything any more


def lose(servers: Servers, living: Crowd, key: str, ahead: int, is_killed: bool) -> float:
    """When the lease ends, in terms of time.monotonic."""
    lost = Crowd(servers.hashes, False)
    held(servers, living, key, f"{1:032x}")
    for number in range(ahead):
        lost.join(servers.address_of(key), number, crowd.waiter, key, SHARED)
        if number % SHARED == 0:
            lost.run(time.monotonic() + 0.01)
    lost.run(time.monotonic() + 0.3)
    living.join(servers.address_of(key), ahead, crowd.waiter, key)
    living.run(time.monotonic() + 0.05)
    servers.redis[0]("PEXPIRE", f"rlock:{key}", LEASE_MS)
    for link in lost.links.values() if is_killed else []:
        link.socket.close()
    if not is_killed:
        cut_off.append(lost)
    return time.monotonic() + LEASE_MS / 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ahead", default="10,100,1000,5000,10000")
    parser.add_argument("--tries", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=240)
    options = parser.parse_args()
    crowd.descriptors()
    ends = {}
    with tempfile.TemporaryDirectory() as directory:
        servers = Servers(directory, 1, [])
        try:
            living = Crowd(servers.hashes, False)
            for is_killed in True, False:
                for ahead in map(int, options.ahead.split(",")):
                    for number in range(options.tries):
                        key = f"{'killed' if is_killed else 'cut off'} {ahead} {number}"
                        ends[key] = lose(servers, living, key, ahead, is_killed)
            living.run(time.monotonic() + options.seconds)
        finally:
            servers.end()
    turns: dict[str, float] = {}
    for key, _, confirmed, _ in living.log:
        turns.setdefault(key, confirmed)
    print("| how | ahead | free for |\n| --- | --- | --- |")
    for key, end in ends.items():
        how, ahead, _ = key.rsplit(" ", 2)
        print(f"| {how} | {int(ahead):,} | {f'{turns[key] - end:.1f} s' if key in turns else 'longer than that'} |")


if __name__ == "__main__":
    main()
