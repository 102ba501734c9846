#!/usr/bin/env python3
"""A proxy that stands between rlock and a server and spoils what passes.

    proxy.py --listen unix:/path|127.0.0.1:port --to unix:/path|host:port
             [--control unix:/path] [--fault 'LINE']... [--log FILE] [--commands FILE]
             [--seconds N]

"up" is from the client to the server, "down" is back. Port 0 takes a free port; the address in
use is printed as `ready ADDRESS` once connections are accepted. Faults are lines of one small
language, given as --fault at the start or written to the control socket, which answers each
line with `ok`, JSON, or `error: ...`:

    cut up|down N [rst] [each]   close after exactly N bytes of that direction have passed,
                                 counted from now on over all connections, once; with `each`,
                                 counted in every connection, until cleared. `rst` closes a TCP
                                 client with a reset (a Unix socket has no such thing)
    cut-now [rst]                close every connection
    delay up|down|both MS        what arrives is passed on MS later, in order; 0 ends it
    drip up|down|both MS         one byte every MS; 0 ends it
    silent [up|down|both|off]    read and throw away; a connection that lost a byte stays silent
    blackhole [off]              accept and read nothing more; all goes on when it ends
    refuse [off]                 close the listener
    repeat [SELECT] [after=MS] [times=K]
                                 send the command again K times (1), MS apart (0), on a fresh
                                 connection to the server, though the client may have gone
    hold [SELECT] after=MS|next [cap=MS]
                                 keep the command, and what follows it on its connection, for MS
                                 or until a later command of another connection was answered
                                 (but no longer than cap, 60000); delivered even when the client
                                 has gone by then, and then its reply is dropped
    random seed=N [every=MS] [prob=P] [ttl=MS] [kinds=a,b,...]    or: random off
    clear                        end every fault and deliver what is held
    stats                        JSON: connections, commands, flights, bytes passed, faults
    tokens                       JSON: for each argument that looks like a token, how many commands had it

SELECT is match=TEXT (raw bytes contain it; no spaces), skip=N (let N matching ones pass),
count=N (how many to spoil; 1).

A held or delayed command keeps its place in its own connection, as TCP would: it is overtaken
only by other connections, which is what really happens when a client gives up on one and tries
again on the next. For the same reason a copy travels on a connection of its own.

A "flight" begins whenever a client sends after it has received, so that pipelined commands are
one flight; a script needs as many round trips as it has flights. Bytes that are not RESP
commands (TLS, inline commands) are passed, but neither counted as commands, held nor repeated.
"""

import argparse
import asyncio
import json
import os
import random
import re
import signal
import socket
import struct
import time

HANDSHAKE = {b"AUTH", b"HELLO", b"SELECT", b"CLIENT"}
TOKEN = re.compile(rb"[0-9a-f]{32}")
KINDS = ("cut", "reset", "cut-now", "delay", "drip", "silent", "blackhole", "refuse",
         "repeat", "hold", "reorder")


def boottime_ns():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def parse_address(text):
    """`unix:/path` or `host:port` as (family, address)."""
    if text.startswith("unix:"):
        return socket.AF_UNIX, text[len("unix:"):]
    host, _, port = text.rpartition(":")
    return socket.AF_INET, (host, int(port))


def listening_socket(address):
    """Bind and listen; a socket file left by an earlier listener is replaced."""
    family, where = parse_address(address)
    if family == socket.AF_UNIX and os.path.exists(where):
        os.unlink(where)
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(where)
    sock.listen(1024)
    sock.setblocking(False)
    return sock


def address_of(sock):
    name = sock.getsockname()
    return f"unix:{name}" if isinstance(name, str) else f"{name[0]}:{name[1]}"


class CommandParser:
    """Cuts a stream of RESP requests into whole commands."""

    def __init__(self):
        self.buffer = b""
        self.raw = False  # seen something else than an array: pass bytes as they come

    def feed(self, data):
        """Yield (bytes, arguments) per complete command, or (bytes, None) for other bytes."""
        self.buffer += data
        while self.buffer:
            if self.raw or self.buffer[:1] != b"*":
                self.raw = True
                data, self.buffer = self.buffer, b""
                yield data, None
                return
            command = self._first()
            if command is None:
                return
            end, arguments = command
            data, self.buffer = self.buffer[:end], self.buffer[end:]
            yield data, arguments

    def _first(self):
        """(length, arguments) of the command at the front, None where it is not complete."""
        at = self.buffer.find(b"\r\n")
        if at < 0:
            return None
        count, at, arguments = int(self.buffer[1:at]), at + 2, []
        for _ in range(count):
            end = self.buffer.find(b"\r\n", at)
            if end < 0:
                return None
            size = int(self.buffer[at + 1:end])
            at = end + 2 + size + 2
            if len(self.buffer) < at:
                return None
            arguments.append(self.buffer[end + 2:end + 2 + size])
        return at, arguments


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


class Connection:
    """One client, its own connection to the server, and what flows between them.

    Each direction has a reader, which stamps what it reads with the time when it may go on,
    and a writer, which waits for that time and applies the faults. The connection ends when
    the server has closed, or when it is cut; a client that closes ends only the up direction,
    behind everything that it sent.
    """

    def __init__(self, proxy, number, client):
        self.proxy, self.number, self.client = proxy, number, client
        self.server = None
        self.queues = {"up": asyncio.Queue(), "down": asyncio.Queue()}
        self.passed = {"up": 0, "down": 0}
        self.silenced = set()
        self.handshake = []       # raw commands to replay before a copy on a fresh connection
        self.flying = False       # the client has sent since it last received
        self.overtaken = []       # held commands that the next reply here sets free
        self.cut = asyncio.Event()
        self.reset = False

    async def run(self):
        tasks = []
        try:
            self.server = await self.proxy.connect()
            tasks = [asyncio.create_task(work) for work in (
                self.read_up(), self.write_up(), self.read_down(),
                self.write_down(), self.cut.wait())]
            await asyncio.wait(tasks[3:], return_when=asyncio.FIRST_COMPLETED)
        except OSError:
            pass
        finally:
            for task in tasks:
                task.cancel()
            for result in await asyncio.gather(*tasks, return_exceptions=True):
                if isinstance(result, Exception) and not isinstance(result, OSError):
                    self.proxy.note(f"internal error {result!r}")
            if self.reset and self.client.family == socket.AF_INET:
                self.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                       struct.pack("ii", 1, 0))
            self.client.close()
            if self.server:
                self.server.close()
            self.proxy.open.discard(self)

    def cut_off(self, reset):
        self.reset = reset
        self.cut.set()

    async def read_up(self):
        parser = CommandParser()
        async for data, due in self.read("up", self.client):
            if not self.flying:
                self.flying = True
                self.proxy.flights += 1
            for raw, arguments in parser.feed(data):
                if arguments is not None:
                    self.proxy.saw_command(self, arguments)
                self.queues["up"].put_nowait((due, raw, arguments))
        if parser.buffer:  # half a command, and then the client closed
            self.queues["up"].put_nowait((due, parser.buffer, None))
        self.queues["up"].put_nowait(None)

    async def read_down(self):
        async for data, due in self.read("down", self.server):
            self.queues["down"].put_nowait((due, data, None))
        self.queues["down"].put_nowait(None)

    async def read(self, direction, source):
        loop = asyncio.get_running_loop()
        while True:
            await self.proxy.gate.wait()
            try:
                data = await loop.sock_recv(source, 65536)
            except OSError:
                return
            if not data:
                return
            delay_ms = self.proxy.delay_ms[direction]
            if delay_ms:
                self.proxy.hit("delay")
            yield data, loop.time() + delay_ms / 1000

    async def write_up(self):
        while (item := await self.queues["up"].get()) is not None:
            due, raw, arguments = item
            await self.sleep_until(due)
            if arguments is not None:
                if arguments and arguments[0].upper() in HANDSHAKE:
                    self.handshake.append(raw)
                await self.proxy.maybe_hold(self, raw)
            await self.send("up", self.server, raw)
            if arguments is not None:
                self.overtaken += self.proxy.waiting_for_next(self)
                self.proxy.maybe_repeat(self, raw)
        await self.proxy.gate.wait()  # a black hole swallows the end too
        try:
            self.server.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    async def write_down(self):
        while (item := await self.queues["down"].get()) is not None:
            await self.sleep_until(item[0])
            self.flying = False
            await self.send("down", self.client, item[1])
            for released in self.overtaken:
                released.set()
            self.overtaken = []
        await self.proxy.gate.wait()

    @staticmethod
    async def sleep_until(due):
        wait = due - asyncio.get_running_loop().time()
        if wait > 0:
            await asyncio.sleep(wait)

    async def send(self, direction, target, data):
        """Pass on what the faults let through. Returns early when the connection is cut: the
        flag is looked at after each wait, so that no later byte slips through either way."""
        proxy, loop = self.proxy, asyncio.get_running_loop()
        while data:
            await proxy.gate.wait()
            if self.cut.is_set():
                return
            if direction in proxy.silent:
                self.silenced.add(direction)
                proxy.hit("silent")
            if direction in self.silenced:
                return
            drip_ms = proxy.drip_ms[direction]
            room, reset = proxy.room(self, direction)
            size = min(len(data), 1 if drip_ms else len(data), room)
            if size:
                try:
                    await loop.sock_sendall(target, data[:size])
                except OSError:
                    pass  # the peer has gone: what is left for it is dropped
                data = data[size:]
                proxy.passed(self, direction, size)
            if size == room:
                proxy.cut_done(self, direction, reset)
                return
            if drip_ms:
                proxy.hit("drip")
                await asyncio.sleep(drip_ms / 1000)


class Proxy:
    def __init__(self, options):
        self.options = options
        self.listener = listening_socket(options.listen)
        self.bound = address_of(self.listener)
        self.accepting = None
        self.log = open(options.log, "a", buffering=1) if options.log else None
        self.command_log = open(options.commands, "a", buffering=1) if options.commands else None
        self.open, self.extra = set(), set()
        self.connections = self.commands = self.flights = 0
        self.bytes = {"up": 0, "down": 0}
        self.tokens = {}           # token -> commands
        self.faults_set = {}       # kind -> how often it was set
        self.faults_hit = {}       # kind -> how many of these met any traffic
        self.unmet = set()
        self.gate = asyncio.Event()
        self.random_task = None
        self.held = []             # (connection, event, waits for the next command?)
        self.set_quiet()

    def set_quiet(self):
        self.delay_ms = {"up": 0.0, "down": 0.0}
        self.drip_ms = {"up": 0.0, "down": 0.0}
        self.silent = set()
        self.cuts = {"up": None, "down": None}        # [bytes left, reset], over all connections
        self.cuts_each = {"up": None, "down": None}   # (N, reset), in each connection
        self.holds, self.repeats = [], []
        self.gate.set()

    # --- what the connections ask ---------------------------------------------------------

    async def connect(self):
        family, where = parse_address(self.options.to)
        sock = socket.socket(family, socket.SOCK_STREAM)
        sock.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(sock, where)
        except BaseException:
            sock.close()
            raise
        return sock

    def room(self, connection, direction):
        """(bytes that may still pass, whether the cut behind them is a reset)."""
        room, reset = 1 << 62, False
        if self.cuts[direction]:
            room, reset = self.cuts[direction]
        if self.cuts_each[direction]:
            size, each_reset = self.cuts_each[direction]
            if size - connection.passed[direction] < room:
                room, reset = max(0, size - connection.passed[direction]), each_reset
        return room, reset

    def passed(self, connection, direction, size):
        connection.passed[direction] += size
        self.bytes[direction] += size
        if self.cuts[direction]:
            self.cuts[direction][0] -= size

    def cut_done(self, connection, direction, reset):
        if self.cuts[direction] and self.cuts[direction][0] == 0:
            self.cuts[direction] = None
        self.hit("reset" if reset else "cut")
        connection.cut_off(reset)

    def saw_command(self, connection, arguments):
        self.commands += 1
        for argument in set(arguments):
            if len(argument) == 32 and TOKEN.fullmatch(argument):
                self.tokens[argument.decode()] = self.tokens.get(argument.decode(), 0) + 1
        if self.command_log:
            shown = [a[:80].decode("latin-1") for a in arguments]
            self.command_log.write(f"{boottime_ns()} {connection.number} {json.dumps(shown)}\n")

    async def maybe_hold(self, connection, raw):
        for selection in self.holds:
            if selection.takes(raw):
                released = asyncio.Event()
                entry = (connection, released, selection.until_next)
                self.held.append(entry)
                self.hit(selection.kind)
                limit = selection.cap_ms if selection.until_next else selection.after_ms
                try:
                    await asyncio.wait_for(released.wait(), limit / 1000)
                except asyncio.TimeoutError:
                    pass
                finally:
                    self.held.remove(entry)
                return

    def waiting_for_next(self, connection):
        """Events of the held commands that a command of this connection has now overtaken."""
        return [released for holder, released, until_next in self.held
                if until_next and holder is not connection]

    def maybe_repeat(self, connection, raw):
        for selection in self.repeats:
            if selection.takes(raw):
                self.hit("repeat")
                task = asyncio.create_task(
                    self.send_copies(list(connection.handshake), raw, selection))
                self.extra.add(task)
                task.add_done_callback(self.extra.discard)
                return

    async def send_copies(self, handshake, raw, selection):
        loop = asyncio.get_running_loop()
        for _ in range(selection.times):
            await asyncio.sleep(selection.after_ms / 1000)
            try:
                sock = await self.connect()
                with sock:
                    await loop.sock_sendall(sock, b"".join(handshake) + raw)
                    sock.shutdown(socket.SHUT_WR)  # the server answers, then sees the end
                    while await loop.sock_recv(sock, 65536):
                        pass
            except OSError:
                pass

    # --- faults ---------------------------------------------------------------------------

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

    # --- sockets --------------------------------------------------------------------------

    def start_accepting(self):
        if self.listener is not None and self.accepting is None:
            self.accepting = asyncio.create_task(self.accept())

    def stop_accepting(self):
        if self.accepting is not None:
            self.accepting.cancel()
            self.accepting = None

    async def accept(self):
        loop = asyncio.get_running_loop()
        while True:
            client, _ = await loop.sock_accept(self.listener)
            client.setblocking(False)
            self.connections += 1
            connection = Connection(self, self.connections, client)
            self.open.add(connection)
            task = asyncio.create_task(connection.run())
            self.extra_reference(task)

    def extra_reference(self, task):
        """asyncio keeps only weak references to tasks."""
        self.running = getattr(self, "running", set())
        self.running.add(task)
        task.add_done_callback(self.running.discard)

    async def control(self, reader, writer):
        try:
            while line := await reader.readline():
                writer.write((self.command(line.decode()) + "\n").encode())
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()

    async def serve(self):
        for line in self.options.fault:
            answer = self.command(line)
            if answer != "ok":
                raise SystemExit(f"proxy.py: --fault {line!r}: {answer}")
        if self.gate.is_set():
            self.start_accepting()
        server = None
        if self.options.control:
            path = self.options.control.removeprefix("unix:")
            server = await asyncio.start_unix_server(self.control, path)
        print(f"ready {self.bound}", flush=True)
        done = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, done.set)
        try:
            await asyncio.wait_for(done.wait(), self.options.seconds)
        except asyncio.TimeoutError:
            pass
        if server:
            server.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--listen", required=True)
    parser.add_argument("--to", required=True)
    parser.add_argument("--control")
    parser.add_argument("--fault", action="append", default=[])
    parser.add_argument("--log", help="faults, each with its CLOCK_BOOTTIME ns")
    parser.add_argument("--commands", help="every command: ns, connection, JSON array")
    parser.add_argument("--seconds", type=float, default=7200, help="end after this long")

    async def start():
        await Proxy(parser.parse_args()).serve()

    asyncio.run(start())


if __name__ == "__main__":
    main()
