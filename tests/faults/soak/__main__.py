"""Contenders, waiters and releases under faults, for as long as asked; then the reckoning.

    python3 -B tests/faults/soak [--seconds N] [--faults N] [--seed N] [--ttl MIN,MAX] ...

Plays $RLOCK, in rounds and lanes side by side, until --seconds are over or --faults met something:

    contest   rounds of contenders for one lock, under kills and stops of rlock, its guard, its command and what is
              nested below it, in the weather of the round: calm, a server that is hurt, a server that forgets, a
              network that cuts, delays, doubles (contest.py, proxy.py)
    queue     scenes of a free lock and of waiters that give up, die or freeze as it becomes free (waiters.py)
    release   scenes of a server that is away just when the lock is given back (releases.py)
    verb      scenes of --timeout, --hold, --once and --while-pid, on each store, while it is in trouble (verbs.py)
    odd       scenes of a server that is used or set up in an unusual way (odd.py)
    other     the other trials of this folder, with arguments drawn (others.py)

What is wrong is told in judge.py and in these. Prints each finding with its seed, then a table of what was
met, by kind, with how many wrong, and the margins. Exits 1 where anything was wrong; the directory with all logs is kept
then, the log of every fault with its time and its seed among them (notes). --replay plays one scene again; a round of
contenders begins again with the same draws by --contests SEED:WEATHER, though no two meet the same microseconds.
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
import threading
import time
import traceback
from itertools import count

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE), os.path.dirname(os.path.dirname(HERE))]
import members  # noqa: E402
import odd  # noqa: E402
import others  # noqa: E402
import releases  # noqa: E402
import verbs  # noqa: E402
import waiters  # noqa: E402
import wall_clock  # noqa: E402
from contest import Contest  # noqa: E402
from judge import Judgement  # noqa: E402
from report import Report  # noqa: E402
from stage import neighbours  # noqa: E402
from trials import SHAPES, STRIKES  # noqa: E402
from weather import WEATHERS  # noqa: E402

LANES = {"queue": waiters.Lane, "release": releases.Lane, "verb": verbs.Lane, "odd": odd.Lane,
         "other": others.Lane}
MOST_ERRORS = 5  # of a lane: servers that do not start, say
EVENTS = sorted({event for weathers in WEATHERS.values() for events in weathers.values() for event in events})


def one_of(all_of_them):
    def parse(text):
        found = list(all_of_them) if text == "all" else [word for word in text.split(",") if word]
        if set(found) - set(all_of_them):
            raise argparse.ArgumentTypeError(f"there are {','.join(all_of_them)}")
        return found
    return parse


def parse_options():
    parser = argparse.ArgumentParser(prog="soak", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--seconds", type=float, default=60)
    add("--faults", type=int, default=0, help="end when so many met something")
    add("--seed", type=int, default=1)
    add("--only", type=one_of(["contest", *LANES]), default=["contest", *LANES], help="these alone, comma list")
    add("--topology", type=one_of(WEATHERS), default=["single"], help="of the contenders' servers, of the rounds in turn; "
        "comma list, or all")
    add("--set", action="append", default=[], metavar="LINE", help="a line more in the configuration of the contenders; with "
        "one of grace or replicas no overlap is forgiven")
    add("--weathers", type=one_of({weather for weathers in WEATHERS.values() for weather in weathers}),
        help="of the rounds, in turn; all that their topology has")
    add("--round", type=float, default=20, help="seconds of a round")
    add("--contests", metavar="SEED:WEATHER", help="play this one round, on the one --topology")
    add("--replay", metavar="LANE:SEED", help="play this one scene")
    add("--lanes", type=int, default=1, help="so many of each side by side")
    add("--contenders", type=int, default=6)
    add("--ttl", default="200,30000", type=lambda text: [float(ms) for ms in (text + "," + text).split(",")[:2]],
        help="ms, shortest and longest")
    add("--longest", type=float, default=4000, help="no command and no stop is longer, ms")
    add("--wait", type=int, default=20000, help="-w of most runs, ms")
    add("--plain", action="store_true", help="a Unix socket, no password and database 0 in every round")
    add("--shapes", type=one_of(SHAPES), default=list(SHAPES))
    add("--strike-prob", type=float, default=0.4, help="of a kill or a stop, per run")
    add("--strikes", type=one_of(STRIKES), default=list(STRIKES))
    add("--every", type=float, default=400, help="ms between draws of a proxy fault")
    add("--kinds", default="", help="proxy faults to draw from, comma list")
    add("--server-every", type=float, default=4000, help="ms between what befalls the server")
    add("--events", type=one_of(EVENTS), default=EVENTS, help="what may befall the server")
    add("--poll", type=float, default=5, help="ms between looks at the key")
    add("--crowd", type=int, default=0, help="so many idle processes beside")
    add("--busy", type=int, default=0, help="so many busy loops beside")
    add("--keep", help="work in this directory and leave it")
    add("--show", type=int, default=3, help="findings of each kind to print")
    options = parser.parse_args()
    can_step = wall_clock.is_possible(os.environ.get("RLOCK", "rlock"))
    options.rounds = [(topology, weather) for topology in options.topology for weather in WEATHERS[topology]
                      if (weather in options.weathers if options.weathers else weather != "clocks" or can_step)]
    if "single" not in options.topology:
        options.only = [each for each in options.only if each == "contest"]  # the scenes are of one server
    return options


class Soak:
    def __init__(self, options, directory):
        self.options, self.directory = options, directory
        self.rlock = os.environ.get("RLOCK") or shutil.which("rlock") or sys.exit("soak: set RLOCK")
        self.report, self.lock, self.stop = Report(options.show), threading.Lock(), threading.Event()
        self.deadline = time.monotonic() + options.seconds

    def met(self):
        return sum(self.report.met.values()) + sum(self.report.scenes.values())

    def over(self):
        return (self.stop.is_set() or time.monotonic() >= self.deadline or
                0 < self.options.faults <= self.met())

    def contest(self, seed, topology, weather, seconds):
        contest = Contest(f"{self.directory}/round.{seed}", self.rlock, seed, topology, weather, self.options)
        try:
            contest.play(seconds)
            judgement = Judgement(contest)
            with self.lock:
                self.report.contest(contest, judgement)
        finally:
            contest.close()
        if not contest.findings:
            shutil.rmtree(contest.directory)

    def contests(self, first):
        number, rounds = first, self.options.rounds[:]
        random.Random(f"{self.options.seed}/{first}").shuffle(rounds)
        while not self.over():
            self.contest(f"{self.options.seed}.{number}", *rounds[(number - first) % len(rounds)],
                         min(self.options.round, max(self.deadline - time.monotonic(), 2)))
            number += 1
            if number % 4 == 0:
                print(f"soak: {number - first} rounds, {self.met()} faults met, {self.report.findings} wrong",
                      file=sys.stderr, flush=True)

    def scenes(self, name, seeds, number=0):
        lane = LANES[name](f"{self.directory}/{name}{number}", self.rlock, self.options)
        try:
            for seed in seeds:
                if self.over():
                    break
                kind, wrongs, waits_ms = lane.play(seed)
                with self.lock:
                    self.report.scene(kind, f"{name}:{seed}", wrongs, waits_ms)
        finally:
            lane.close()

    def lane(self, name, number):
        """Work for a thread: an error there counts as wrong, and the lane is made anew, unless it happens again and again."""
        firsts = count(number * 1000, 100)
        seeds = (f"{self.options.seed}.{number}.{each}" for each in count())

        def work():
            for again in range(MOST_ERRORS):
                try:
                    if name == "contest":
                        return self.contests(next(firsts))
                    return self.scenes(name, seeds, f"{number}.{again}")
                except Exception:
                    with self.lock:
                        self.report.findings += 1
                        print(f"{name} {number}: {traceback.format_exc()}", flush=True)
            self.stop.set()
        return threading.Thread(target=work)

    def play(self):
        options = self.options
        if options.replay:
            name, _, seed = options.replay.partition(":")
            return self.scenes(name, [seed])
        if options.contests:
            seed, _, weather = options.contests.partition(":")
            return self.contest(seed, options.topology[0], weather, min(options.round, options.seconds))
        threads = [self.lane(name, lane) for name in options.only for lane in range(options.lanes)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def main():
    options = parse_options()
    directory = options.keep or tempfile.mkdtemp(prefix="rlock-soak.")
    os.makedirs(directory, exist_ok=True)
    if set(options.topology) & set(members.WEATHERS):
        members.prepare()
    begun, result = time.monotonic(), 2
    try:
        with neighbours(options.crowd, options.busy):
            soak = Soak(options, directory)
            soak.play()
        result = soak.report.end(time.monotonic() - begun, options.seed)
    finally:
        if result and not options.keep:
            print(f"logs     {directory}")
        elif not options.keep:
            shutil.rmtree(directory)
    return result


if __name__ == "__main__":
    sys.exit(main())
