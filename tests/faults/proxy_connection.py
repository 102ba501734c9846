"""What flows between one client of the proxy and the server, and how the faults meet it."""

import asyncio
import socket
import struct

from proxy_wire import CommandParser

HANDSHAKE = {b"AUTH", b"HELLO", b"SELECT", b"CLIENT"}


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
            if arguments and arguments[0].upper() in self.proxy.denied:
                self.proxy.hit("deny")
                self.cut_off(False)
                return
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
            if self.proxy.brief:
                self.proxy.hit("brief")
                self.cut_off(False)
                return
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
