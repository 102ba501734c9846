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
    deny VERB|off                close a connection that sends this command, and do not pass it on;
                                 once for each verb that is denied
    brief [off]                  close each connection behind the first answer it got
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
import re
import signal
import socket
import sys

sys.dont_write_bytecode = True
from proxy_connection import Connection  # noqa: E402
from proxy_faults import Faults  # noqa: E402
from proxy_wire import address_of, boottime_ns, listening_socket, parse_address  # noqa: E402

TOKEN = re.compile(rb"[0-9a-f]{32}")


class Proxy(Faults):
    """The listener, its connections, and what they ask about the faults."""

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
