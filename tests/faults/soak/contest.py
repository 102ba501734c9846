"""Contenders for one lock, under faults of the processes, and as the weather is, of the server or the network."""

import json
import math
import os
import random
import threading
import time
from collections import Counter

import leaks
import members
import trials
from ensembles import ENSEMBLES
from stage import Notes, boottime_ns
from wall_clock import WallClock
from watch import Watch
from weather import WEATHERS, Owners, Weather, build

KEY = "soak"


class Contest:
    """One round. `field` (the servers) and `watch` are there from its construction; close() ends what is left."""

    def __init__(self, directory, rlock, seed, topology, weather, options):
        self.directory, self.rlock, self.seed, self.weather, self.options = directory, rlock, seed, weather, options
        os.makedirs(directory + "/beats")
        open(directory + "/log", "a").close()
        self.notes = Notes(directory + "/notes")
        self.topology, self.key, self.wire_key = topology, KEY, "rlock:" + KEY
        self.young_s = math.ceil(options.ttl[1] / 1000)  # no lease is longer
        self.clock = WallClock(directory) if weather == "clocks" else None
        self.field = build(topology, directory + "/servers", weather, random.Random(f"{seed}/stage"), options.plain,
                           self.young_s, self.clock and self.clock.environment)
        # Passwords by a configuration, because none in a URL reaches a nested run.
        with open(directory + "/config", "w") as file:
            file.write(f'server = "{self.field.url}"\n' + "".join(line + "\n" for line in options.set))
            if topology == "redlock":
                file.write(f"grace = {self.young_s}s\n")
            if getattr(self.field.servers[0], "password", None):
                file.write(f'password-file = "{directory}/password"\n')
                with open(directory + "/password", "w") as password:
                    password.write(self.field.servers[0].password + "\n")
        self.notes(f"round seed={seed} topology={topology} weather={weather} url={self.field.url}")
        self.weather_maker = Weather(self, [kind for kind in WEATHERS[self.topology][weather]
                                            if kind != "proxy" and kind in options.events])
        # What the servers suffered (kind, from, to), and when memory was lost (from, to).
        self.befell, self.wiped = self.weather_maker.befell, self.weather_maker.wiped
        self.harmless = self.weather_maker.harmless
        self.owners = None
        if self.field.has_replicas:
            self.owners = Owners(self.field, self.wire_key, [] if weather == "reshard" else self.wiped)
        self.watch = self.make_watch(options.poll)
        self.stop, self.over = threading.Event(), threading.Event()
        self.lock = threading.Lock()
        self.runs, self.by_name = [], {}
        self.forgiven = []  # what a server that forgot explains
        self.findings = []  # (kind, run or None, time, text)

    def make_watch(self, poll_ms):
        if self.topology in ENSEMBLES:
            return members.MembersWatch(self.field, self.key, poll_ms)
        return Watch(lambda: (self.owners or self.field).servers, self.wire_key, poll_ms,
                     len(self.field.servers) if self.topology == "redlock" else 1)

    def find(self, kind, run, when, text):
        self.findings.append((kind, run, when, text))

    # --- what is drawn ------------------------------------------------------------------------

    def draw(self, rng, name):
        """Mostly short commands, so that there are many acquires and releases; some outlive the ttl, so that there
        are renewals."""
        options = self.options
        shortest, longest = options.ttl
        if self.topology in ENSEMBLES:
            shortest, longest = (max(ms, members.SHORTEST_TTL_MS) for ms in options.ttl)
        ttl = shortest * (longest / shortest) ** rng.random()
        kind = rng.random()
        hold = (rng.uniform(1, 20) if kind < 0.5 else rng.uniform(20, 80) if kind < 0.75 else
                rng.uniform(0.15, 0.6) * min(ttl, 1000) if kind < 0.95 else rng.uniform(1, 3) * ttl)
        run = trials.Run(name, KEY, ttl, min(hold, options.longest))
        run.shape = rng.choice(options.shapes)
        run.wait_ms = rng.uniform(50, 1000) if rng.random() < 0.1 else options.wait
        run.exit_code = rng.choice((0, 0, 0, 0, 7, 42))
        run.stubborn = rng.random() < 0.3
        run.left_ms = rng.randint(10, 60)
        if run.shape == "nested-left" and rng.random() < 0.5:
            run.hold_ms = max(run.hold_ms, rng.uniform(100, 1000))
        daemon = run.shape == "plain" and rng.random() < 0.35
        if run.shape.startswith("export"):
            # Nobody renews until the nested run does, and the lock stays when the shell is killed.
            run.ttl_ms = max(run.ttl_ms, 1500)
            run.stubborn = False
        elif rng.random() < options.strike_prob:
            self.draw_strike(rng, run)
        # A daemon that survives a command which was killed alone is nobody's business; one that survives a loss is.
        run.descendant = daemon and run.strike not in ("kill-command", "kill-both", "stop-both")
        return run

    def draw_strike(self, rng, run):
        fitting = [strike for strike in self.options.strikes
                   if run.shape.startswith("nested") or not strike.endswith("-nested")]
        # With nobody left who could kill it, only the command itself is sure to die with its rlock.
        fitting = [strike for strike in fitting if run.shape == "plain" or not strike.endswith("-both")]
        if not fitting:
            return
        run.strike = rng.choice(fitting)
        inside = run.target() in ("command", "guard", "both", "nested")
        run.phase = "held" if inside else rng.choice(("early", "any", "held", "held"))
        if run.strike.endswith("-both"):
            run.ttl_ms = min(run.ttl_ms, 2000)
        if inside or run.phase == "held":
            # A short command is over before anything else could happen.
            longest = min(rng.choice((100, 300, 1000, 1.5 * run.ttl_ms)), self.options.longest)
            run.hold_ms = max(run.hold_ms, rng.uniform(20, longest))
        run.strike_ms = {"early": lambda: rng.uniform(0, 20),
                         "any": lambda: rng.uniform(0, min(1.5 * run.ttl_ms, 3000)),
                         "held": lambda: rng.uniform(0, rng.choice((3, run.hold_ms)))}[run.phase]()
        if run.strike == "kill-both":
            run.strike_ms = max(run.strike_ms, trials.NO_GUARD_MS)
        run.stop_ms = min(rng.uniform(1, rng.choice((30, 300, run.ttl_ms, 3 * run.ttl_ms))), self.options.longest)

    def environment(self):
        return {"RLOCK_CONFIG": self.directory + "/config", **(self.clock.environment if self.clock else {})}

    # --- what happens -------------------------------------------------------------------------

    def contend(self, index):
        rng = random.Random(f"{self.seed}/{index}")
        number = 0
        while not self.stop.is_set():
            number += 1
            run = self.draw(rng, f"c{index}.{number}")
            with self.lock:
                self.runs.append(run)
                self.by_name[run.name] = run
            try:
                found = trials.play(run, self.rlock, self.directory, self.environment(), self.notes)
            except OSError as error:
                found = f"could not be run: {error}"
            if found:
                self.find("wrong", run, boottime_ns(), found)
            # A refused connection ends a run at once: do not turn in a tight circle then.
            self.stop.wait(rng.uniform(0, 0.3 if run.status == 69 else 0.03))

    def follow_log(self):
        """Tell each run when its command says that it runs."""
        with open(self.directory + "/log") as log:
            rest = ""
            while not self.over.wait(0.003):
                rest += log.read()
                *lines, rest = rest.split("\n")
                for line in lines:
                    words = dict(word.partition("=")[::2] for word in line.split())
                    run = self.by_name.get(words.get("id", "").partition(":")[0])
                    if run and "pid" in words:
                        run.commands.append(int(words["pid"]))
                        run.runs.set()

    def hurt_servers(self):
        try:
            self.weather_maker.run(self.stop, self.options.server_every)
        except (OSError, RuntimeError) as error:
            self.find("wrong", None, boottime_ns(), f"the servers did not get well: {error}")

    def proxies(self):
        return [server.proxy for server in self.field.servers] if self.topology not in ENSEMBLES else []

    def play(self, seconds):
        """Lets them contend for so long, then waits until all have ended."""
        begun = time.monotonic()
        self.watch.start()
        if self.owners:
            self.owners.start()
        contenders = [threading.Thread(target=self.contend, args=(index,), daemon=True)
                      for index in range(self.options.contenders)]
        others = [threading.Thread(target=self.hurt_servers, daemon=True)]
        follower = threading.Thread(target=self.follow_log, daemon=True)
        follower.start()
        if "proxy" in WEATHERS[self.topology][self.weather]:
            kinds = f" kinds={self.options.kinds}" if self.options.kinds else ""
            # A minority of independent servers; one of those that take over from each other, or nothing would ever settle.
            count = (len(self.field.servers) - 1) // 2 if self.topology == "redlock" else 1
            for number, proxy in enumerate(self.proxies()[:count]):
                proxy.control(f"random seed={self.seed.replace('.', '')}{number or ''} every={self.options.every} prob=0.5 "
                              f"ttl=2000{kinds}")
        for thread in contenders + others:
            thread.start()
        while time.monotonic() - begun < seconds and any(thread.is_alive() for thread in contenders):
            time.sleep(0.1)
        self.stop.set()
        for proxy in self.proxies():
            proxy.control("random off")
            proxy.control("clear")
        for thread in contenders + others:
            thread.join(self.options.wait / 1000 + 120)
            if thread.is_alive():
                self.find("wrong", None, boottime_ns(), "a contender never came back")
        self.leaks()
        self.hits = sum((Counter(proxy.hits()) for proxy in self.proxies()), Counter())
        self.scripts = sum((Counter(json.loads(proxy.control("tokens"))) for proxy in self.proxies()), Counter())
        self.watch.end()
        if self.owners:
            self.owners.over.set()
            self.owners.join(20)
        self.over.set()
        follower.join(10)

    def leaks(self):
        # A nested rlock that its shell left before it could ask waits and holds like any other.
        latest = max((run.begun + run.limit_ms() * 1e6 for run in self.runs if run.shape == "nested-left"), default=0)
        while boottime_ns() < latest and trials.left_over(self.directory):
            time.sleep(0.05)
        for text in members.leaks(self) if self.topology in ENSEMBLES else leaks.of_servers(self):
            self.find("leaked", None, boottime_ns(), text)
        for pid, shown in trials.left_over(self.directory):
            self.find("leaked", None, boottime_ns(), f"process {pid} left over: {shown}")

    def left_of(self, look, seconds):
        """What look() still sees when all have ended, or after so many seconds."""
        deadline = time.monotonic() + seconds
        while (left := look()) or trials.left_over(self.directory):
            if time.monotonic() > deadline:
                break
            time.sleep(0.05)
        return left

    def servers(self):
        """Those that have the lock's key."""
        return self.field.servers_of(self.wire_key)

    def proxies_hit(self):
        return any(proxy.hits() for proxy in self.proxies())

    def close(self):
        self.stop.set()
        self.over.set()
        self.watch.over.set()
        for pid, _ in trials.left_over(self.directory):
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass
        if self.owners:
            self.owners.over.set()
        self.field.close()
