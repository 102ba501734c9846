"""The language of the proxy's faults (proxy.py tells it), and what is set just now."""

import asyncio
import json
import random

from proxy_wire import boottime_ns, listening_socket

KINDS = ("cut", "reset", "cut-now", "delay", "drip", "silent", "blackhole", "refuse",
         "repeat", "hold", "reorder")


class Selection:
    """Which commands a `hold` or `repeat` spoils, and how."""

    def __init__(self, options):
        self.match = options.get("match", "").encode()
        self.skip = int(options.get("skip", 0))
        self.count = int(options.get("count", 1))
        self.after_ms = float(options.get("after", 0))
        self.times = int(options.get("times", 1))
        self.until_next = "next" in options
        self.cap_ms = float(options.get("cap", 60000))
        self.kind = "reorder" if self.until_next else "hold"

    def takes(self, raw):
        if self.count == 0 or self.match not in raw:
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        self.count -= 1
        return True


class Faults:
    """Mixed into the Proxy, which has the sockets that some faults are about."""

    def set_quiet(self):
        self.delay_ms = {"up": 0.0, "down": 0.0}
        self.drip_ms = {"up": 0.0, "down": 0.0}
        self.silent = set()
        self.denied, self.brief = set(), False
        self.cuts = {"up": None, "down": None}        # [bytes left, reset], over all connections
        self.cuts_each = {"up": None, "down": None}   # (N, reset), in each connection
        self.holds, self.repeats = [], []
        self.gate.set()

    def note(self, text):
        if self.log:
            self.log.write(f"{boottime_ns()} {text}\n")

    def hit(self, kind):
        if kind in self.unmet:
            self.unmet.discard(kind)
            self.faults_hit[kind] = self.faults_hit.get(kind, 0) + 1
            self.note(f"hit {kind}")

    def command(self, line):
        """Obey one line of the language above; returns the answer."""
        words = line.split()
        try:
            if not words:
                raise ValueError("empty line")
            verb, arguments = words[0].replace("-", "_"), words[1:]
            method = getattr(self, "do_" + verb, None)
            if method is None:
                raise ValueError(f"no such command: {words[0]}")
            answer = method(*arguments)
        except (ValueError, TypeError, KeyError, OSError) as error:
            return f"error: {error}"
        if verb not in ("stats", "tokens"):
            self.note("set " + line.strip())
        return answer or "ok"

    def setting(self, kind):
        self.faults_set[kind] = self.faults_set.get(kind, 0) + 1
        self.unmet.add(kind)

    def do_stats(self):
        return json.dumps({
            "connections": self.connections, "open": len(self.open), "commands": self.commands,
            "flights": self.flights, "bytes_up": self.bytes["up"],
            "bytes_down": self.bytes["down"], "held": len(self.held),
            "copying": len(self.extra), "set": self.faults_set, "hit": self.faults_hit})

    def do_tokens(self):
        return json.dumps(self.tokens)

    def do_clear(self):
        self.set_quiet()
        self.do_refuse("off")
        self.start_accepting()
        for _, released, _ in self.held:
            released.set()

    def do_cut(self, direction, size, *flags):
        reset = "rst" in flags
        if int(size) < 0 or set(flags) - {"rst", "each"}:
            raise ValueError("cut up|down N [rst] [each]")
        if "each" in flags:
            self.cuts_each[self.one(direction)] = (int(size), reset)
        else:
            self.cuts[self.one(direction)] = [int(size), reset]
        self.setting("reset" if reset else "cut")

    def do_cut_now(self, *flags):
        self.setting("cut-now")
        if self.open:
            self.hit("cut-now")
        for connection in self.open:
            connection.cut_off("rst" in flags)

    @staticmethod
    def one(direction):
        if direction not in ("up", "down"):
            raise ValueError("up or down")
        return direction

    def both(self, direction):
        return ("up", "down") if direction == "both" else (self.one(direction),)

    def do_delay(self, direction, ms):
        for one in self.both(direction):
            self.delay_ms[one] = float(ms)
        if float(ms):
            self.setting("delay")

    def do_drip(self, direction, ms):
        for one in self.both(direction):
            self.drip_ms[one] = float(ms)
        if float(ms):
            self.setting("drip")

    def do_silent(self, direction="both"):
        self.silent = set() if direction == "off" else set(self.both(direction))
        if self.silent:
            self.setting("silent")

    def do_deny(self, verb):
        if verb == "off":
            self.denied = set()
        else:
            self.denied.add(verb.upper().encode())
            self.setting("deny")

    def do_brief(self, word="on"):
        self.brief = word != "off"
        if self.brief:
            self.setting("brief")

    def do_blackhole(self, word="on"):
        if word == "off":
            self.gate.set()
            self.start_accepting()
        else:
            self.gate.clear()
            self.stop_accepting()
            self.setting("blackhole")
            if self.open:
                self.hit("blackhole")

    def do_refuse(self, word="on"):
        if word == "off":
            if self.listener is None:
                try:
                    self.listener = listening_socket(self.bound)
                except OSError:  # somebody's outgoing connection has the port just now
                    asyncio.get_running_loop().call_later(0.05, self.command, "refuse off")
                    return
                self.start_accepting()
        elif self.listener is not None:
            self.stop_accepting()
            self.listener.close()
            self.listener = None
            self.setting("refuse")
            self.hit("refuse")

    def do_repeat(self, *options):
        self.repeats.append(Selection(dict(o.partition("=")[::2] for o in options)))
        self.setting("repeat")

    def do_hold(self, *options):
        options = dict(o.partition("=")[::2] for o in options)
        if ("next" in options) == ("after" in options):
            raise ValueError("hold ... after=MS|next")
        self.holds.append(Selection(options))
        self.setting(self.holds[-1].kind)

    def do_random(self, *options):
        if self.random_task:
            self.random_task.cancel()
            self.random_task = None
        if options != ("off",):
            options = dict(o.partition("=")[::2] for o in options)
            self.random_task = asyncio.create_task(self.random_faults(
                random.Random(int(options["seed"])), float(options.get("every", 500)),
                float(options.get("prob", 0.5)), float(options.get("ttl", 2000)),
                options.get("kinds", ",".join(KINDS)).split(",")))

    async def random_faults(self, rng, every_ms, prob, ttl_ms, kinds):
        """Set random faults, each for a random while; a cut, a hold or a repeat lasts until it
        met something. Cases are as long as two ttls, because that is where leases end."""
        while True:
            await asyncio.sleep(every_ms / 1000)
            if rng.random() >= prob:
                continue
            kind = rng.choice(kinds)
            direction = rng.choice(("up", "down", "both"))
            one = rng.choice(("up", "down"))
            reach = rng.choice((20, 100, ttl_ms / 2, 2 * ttl_ms))
            ms = rng.uniform(1, reach)
            while_ms = rng.uniform(20, 1.5 * ttl_ms)
            line, off = {
                "cut": (f"cut {one} {rng.randint(0, 700)}", None),
                "reset": (f"cut {one} {rng.randint(0, 700)} rst", None),
                "cut-now": (f"cut-now{rng.choice(('', ' rst'))}", None),
                "delay": (f"delay {direction} {ms:.1f}", f"delay {direction} 0"),
                "drip": (f"drip {direction} {rng.uniform(0.5, 30):.1f}", f"drip {direction} 0"),
                "silent": (f"silent {direction}", "silent off"),
                "blackhole": ("blackhole", "blackhole off"),
                "refuse": ("refuse", "refuse off"),
                "repeat": (f"repeat after={ms:.1f} times={rng.randint(1, 3)} "
                           f"skip={rng.randint(0, 5)} count={rng.randint(1, 3)}", None),
                "hold": (f"hold after={ms:.1f} skip={rng.randint(0, 5)}", None),
                "reorder": (f"hold next cap={3 * ttl_ms:.0f} skip={rng.randint(0, 5)}", None),
            }[kind]
            self.command(line)
            if off:
                asyncio.get_running_loop().call_later(while_ms / 1000, self.command, off)
