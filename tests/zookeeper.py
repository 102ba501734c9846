#!/usr/bin/env python3
"""A ZooKeeper, asked directly: as much of its protocol as tests need.

    zookeeper.py HOST:PORT children PATH    names, sorted by their sequence, then by name
    zookeeper.py HOST:PORT version PATH     dataVersion and number of children changes
    zookeeper.py HOST:PORT data PATH
    zookeeper.py HOST:PORT create PATH [DATA]
    zookeeper.py HOST:PORT delete PATH...   each with all that is below it
    zookeeper.py HOST:PORT give PATH USER:PASSWORD [RIGHTS]    with all that is below it: that user alone has rights there
    zookeeper.py HOST:PORT WORD             a word of four letters, such as srvr

--user USER:PASSWORD in front: who asks, and whose that is what is made. What is not there has no children, and deletes well.
For Python: `with Client(host, port) as client`, and four_letters().
"""

import base64
import hashlib
import re
import socket
import struct
import sys

CREATE, DELETE, GET_DATA, SET_ACL, GET_CHILDREN, SYNC, AUTH, CLOSE = 1, 2, 4, 7, 8, 9, 100, -11
NO_NODE = -101
NUMBER_OF_AUTH = -4
NO_PASSWORD = bytes(16)


class Failed(Exception):
    """With the error's number."""


def text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack(">i", len(data)) + data


def rights(scheme, who, which="cdrwa"):
    return struct.pack(">ii", 1, sum(1 << "rwcda".index(each) for each in which)) + text(scheme) + text(who)


def sequence(name):
    found = re.search(r"-(\d{10})$", name)
    return (int(found[1]) if found else -1, name)


class Client:
    def __init__(self, host, port, timeout=5, user=None):
        self.socket = socket.create_connection((host, port), timeout)
        self.xid = 0
        self.rights = rights("auth", "") if user else rights("world", "anyone")
        self.send(struct.pack(">iqiq", 0, 0, 10000, 0) + text(NO_PASSWORD) + b"\0")
        self.session, = struct.unpack(">q", self.receive()[8:16])
        if user:
            self.send(struct.pack(">iii", NUMBER_OF_AUTH, AUTH, 0) + text("digest") + text(user))
            self.receive()

    def send(self, data):
        self.socket.sendall(text(data))

    def receive(self):
        size, = struct.unpack(">i", self.read(4))
        return self.read(size)

    def read(self, size):
        data = b""
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            if not part:
                raise OSError("ZooKeeper hung up")
            data += part
        return data

    def ask(self, kind, body=b""):
        self.xid += 1
        self.send(struct.pack(">ii", self.xid, kind) + body)
        answer = self.receive()
        error, = struct.unpack(">i", answer[12:16])
        if error:
            raise Failed(error)
        return answer[16:]

    def children(self, path):
        try:
            answer = self.ask(GET_CHILDREN, text(path) + b"\0")
        except Failed as error:
            if error.args[0] == NO_NODE:
                return []
            raise
        names, at = [], 4
        for _ in range(struct.unpack(">i", answer[:4])[0]):
            size, = struct.unpack(">i", answer[at:at + 4])
            names.append(answer[at + 4:at + 4 + size].decode())
            at += 4 + size
        return sorted(names, key=sequence)

    def sync(self, path):
        """What is read after it is no older than now."""
        self.ask(SYNC, text(path))

    def get(self, path):
        """The data, and the fields of its stat."""
        answer = self.ask(GET_DATA, text(path) + b"\0")
        size = max(0, struct.unpack(">i", answer[:4])[0])
        return answer[4:4 + size], struct.unpack(">qqqqiiiqiiq", answer[4 + size:])

    def create(self, path, data=b""):
        self.ask(CREATE, text(path) + text(data) + self.rights + struct.pack(">i", 0))

    def give(self, path, user, which="cdrwa"):
        name = user.partition(":")[0]
        secret = base64.b64encode(hashlib.sha1(user.encode()).digest()).decode()
        for child in self.children(path):
            self.give(path.rstrip("/") + "/" + child, user, which)
        self.ask(SET_ACL, text(path) + rights("digest", f"{name}:{secret}", which) + struct.pack(">i", -1))

    def delete(self, path):
        for child in self.children(path):
            self.delete(path.rstrip("/") + "/" + child)
        try:
            self.ask(DELETE, text(path) + struct.pack(">i", -1))
        except Failed as error:
            if error.args[0] != NO_NODE:
                raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ask(CLOSE)
        self.socket.close()


def four_letters(host, port, word, timeout=2):
    with socket.create_connection((host, port), timeout) as connection:
        connection.sendall(word.encode())
        return connection.makefile().read()


def main():
    words, user = sys.argv[1:], None
    if words[:1] == ["--user"]:
        _, user, *words = words
    if len(words) < 2:
        sys.exit(__doc__)
    address, what, *rest = words
    host, _, port = address.rpartition(":")
    if what not in ("children", "version", "data", "create", "delete", "give"):
        print(four_letters(host, int(port), what), end="")
        return
    with Client(host, int(port), user=user) as client:
        if what == "children":
            for name in client.children(rest[0]):
                print(name)
        elif what == "version":
            stat = client.get(rest[0])[1]
            print(*stat[4:6])
        elif what == "data":
            sys.stdout.buffer.write(client.get(rest[0])[0])
        elif what == "create":
            client.create(rest[0], *(part.encode() for part in rest[1:]))
        elif what == "give":
            client.give(*rest)
        else:
            for path in rest:
                client.delete(path)


if __name__ == "__main__":
    main()
