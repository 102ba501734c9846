"""A way to a member of ZooKeeper that sees what is said: it hands on each frame, and then does what it was told to.

    with Tap(member.host, member.port) as tap:
        f"zookeeper://{tap.address}/rlock"
        done = tap.arm("set_data", "answered", action)   # an Event; the action runs once, right behind the frame
        tap.go_to(host, port)                            # from now on; connections that stand are cut
        tap.kinds                                        # how many answers of each kind there were

Kinds: "welcome" and those of OPS. "asked": the request has gone to the member, of whose answer nothing has been handed on.
"answered": the client has the answer.
"""

import collections
import socket
import struct
import threading

from tap import Listener, shut

OPS = {2: "delete", 3: "exists", 4: "get_data", 5: "set_data", 9: "sync", 11: "ping", 12: "children", 14: "multi", 15: "create",
       19: "create_container", 100: "auth",
       -11: "close"}


class Tap(Listener):
    def __init__(self, host, port):
        self.target, self.kinds, self.lock = (host, port), collections.Counter(), threading.Lock()
        self.armed, self.sockets = None, []
        super().__init__()

    def arm(self, kind, when, action):
        done = threading.Event()
        with self.lock:
            self.armed = (kind, when, action, done)
        return done

    def disarm(self):
        with self.lock:
            self.armed = None

    def go_to(self, host, port):
        with self.lock:
            self.target = (host, port)
            stale, self.sockets = self.sockets, []
        for each in stale:
            cut(each)

    def happened(self, kind, when):
        with self.lock:
            if when == "answered":
                self.kinds[kind] += 1
            if self.armed is None or self.armed[:2] != (kind, when):
                return
            *_, action, done = self.armed
            self.armed = None
        action()
        done.set()

    def serve(self, client):
        try:
            member = socket.create_connection(self.target, 5)
        except OSError:
            client.close()
            return
        member.settimeout(None)
        with self.lock:
            self.sockets += [client, member]
        asked = {}  # kinds, by the number of the request; those of pings and authentication have no other

        def note(frame):
            number, op = struct.unpack(">ii", frame[:8])
            asked[number] = OPS.get(op, str(op))
            return number

        def ask():
            pump(client, member, note, lambda number: self.happened(asked[number], "asked"))

        threading.Thread(target=ask, daemon=True).start()
        pump(member, client, lambda frame: asked.get(struct.unpack(">i", frame[:4])[0]),
             lambda kind: self.happened(kind, "answered"), "welcome")

    def close(self):
        super().close()
        self.go_to(*self.target)


def pump(source, target, read, told, first=None):
    """Hands on frames; read() says of each, before that, what told() hears behind it. `first` is heard behind the first one,
    which is of another form, where it is anything."""
    try:
        with source.makefile("rb") as frames:
            is_first = True
            while len(head := frames.read(4)) == 4:
                frame = frames.read(struct.unpack(">i", head)[0])
                what = first if is_first else read(frame)
                target.sendall(head + frame)
                if what is not None:
                    told(what)
                is_first = False
    except (OSError, ValueError):
        pass
    cut(source)
    cut(target)


def cut(connection):
    shut(connection)
    connection.close()
