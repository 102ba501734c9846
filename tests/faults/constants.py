"""The figures of a queue on Redis, as the headers of rlock have them."""

import functools
import os
import re

ROOM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src/stores/redis/")


@functools.cache
def constant(name: str, header="scripts/constants.hpp") -> int:
    """In the unit that it has there."""
    with open(ROOM + header, encoding="utf-8") as file:
        return int(re.search(rf"^inline constexpr \S+ {name}(?: = |{{)([0-9']+)", file.read(), re.M)[1].replace("'", ""))


def heartbeat(name: str) -> int:
    return constant(name, "heartbeat.hpp")


def heartbeat_pause(rank: int) -> float:
    """In ms: the rule of that name in heartbeat.hpp."""
    if rank < constant("watchers"):
        return heartbeat("usual_pause")
    near = heartbeat("near_pause") + heartbeat("near_step") * (rank - constant("watchers"))
    return min(max(constant("far") / 1000 * rank, min(near, heartbeat("usual_pause"))), constant("max_far") / 1000)


def heartbeat_jitter(pause: float) -> float:
    """In ms, at most: likewise."""
    return min(max(pause / 5, min(pause * 2 / 5, heartbeat("usual_jitter"))), heartbeat("max_jitter"))


def longest_heartbeat_pause(rank: int) -> float:
    """In ms: between two heartbeats of a waiter behind so many."""
    pause = heartbeat_pause(rank)
    return pause + heartbeat_jitter(pause)
