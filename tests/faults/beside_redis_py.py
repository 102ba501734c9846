#!/usr/bin/env python3
"""A client of beside.py: locks with redis-py, again and again, with nothing between two turns.

    beside_redis_py.py SOCKET KEY LOG NAME SECONDS HOLD_MS
"""

import sys
import time

import redis

socket, key, log, name, seconds, hold_ms = sys.argv[1:]
lock = redis.Redis(unix_socket_path=socket).lock(key, timeout=30)  # asks every 100 ms
end = time.time() + float(seconds)
turns = 0
with open(log, "a", buffering=1, encoding="ascii") as file:
    while time.time() < end:
        if not lock.acquire(blocking_timeout=1):
            continue
        start = time.time_ns()
        if float(hold_ms):
            time.sleep(float(hold_ms) / 1000)
        last = time.time_ns()
        lock.release()
        turns += 1
        file.write(f"id={name}.{turns} start={start} end={last} let_go={time.time_ns()}\n")
