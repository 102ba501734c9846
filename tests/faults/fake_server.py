#!/usr/bin/env python3
"""A server that is not one: it answers what no real server would, or nothing.

    fake_server.py --listen unix:/path|127.0.0.1:port [--reply REPLY]... [--drip MS]
                   [--seconds N]

The first command of a connection gets the first REPLY, the second the second, and so on; the
last one is used again for all that follow. (What is not a RESP command, such as a TLS
handshake, counts as one command per read.) Prints `ready ADDRESS` when it listens. REPLY is

    silent      nothing, for ever (the default: also a TLS handshake that never goes on)
    close       close the connection; close-at-once does so at the accept
    text:LINE   LINE and CRLF, thus text:+OK, text:-LOADING wait, text::1
    hex:BYTES   these bytes            file:PATH   the bytes of that file
    nested      `*1` a million deep    nested-map  the same with RESP3 maps
    endless     a status line that never ends
    flood       a bulk string of 512 MB, really sent
    and the constants of CANNED below

--drip sends each byte MS after the one before. With `endless` that is a reply that never
stands still and never ends.
"""

import argparse
import os
import sys
import threading
import time

sys.dont_write_bytecode = True
from proxy_wire import CommandParser, address_of, listening_socket  # noqa: E402

CANNED = {
    "huge-bulk": b"$536870912\r\nx",                       # promised, never sent
    "huge-bulk-64": b"$9223372036854775807\r\nx",
    "huge-array": b"*2147483647\r\n",
    "huge-array-64": b"*9223372036854775807\r\n",
    "huge-map": b"%4611686018427387904\r\n",
    "overflow": b"*99999999999999999999999\r\n",
    "negative-bulk": b"$-5\r\n",
    "negative-array": b"*-7\r\n",
    "bad-integer": b":12x\r\n",
    "bad-length": b"$abc\r\n",
    "unknown-type": b"&what\r\n",
    "integer": b":1\r\n",
    "null": b"$-1\r\n",
    "null-array": b"*-1\r\n",
    "resp3-null": b"_\r\n",
    "status": b"+OK\r\n",
    "bulk": b"$3\r\nabc\r\n",
    "empty-bulk": b"$0\r\n\r\n",
    "empty-array": b"*0\r\n",
    "array-of-nulls": b"*4\r\n$-1\r\n*-1\r\n$-1\r\n*-1\r\n",
    "array-of-arrays": b"*2\r\n*2\r\n:1\r\n:2\r\n*1\r\n+x\r\n",
    "array-of-strings": b"*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n",
    "double": b",3.25\r\n",
    "bool": b"#t\r\n",
    "map": b"%1\r\n+a\r\n:1\r\n",
    "set": b"~2\r\n:1\r\n:2\r\n",
    "push": b">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\n1\r\n",
    "bad-end": b"$3\r\nabcXY",
    "half": b"*2\r\n$3\r\nab",
    "nul-bytes": b"+\x00\x00OK\r\n",
    "escapes": b"-ERR \x1b[2J\x1b]0;owned\x07\x9b31m\x7f\x08\x00 evil\r\n",
    "empty-error": b"-\r\n",
}


class Gone(Exception):
    pass


def chunks(reply):
    """The bytes of a reply, in pieces, so that none is ever held whole."""
    kind, _, rest = reply.partition(":")
    if kind == "text":
        yield rest.encode() + b"\r\n"
    elif kind == "hex":
        yield bytes.fromhex(rest)
    elif kind == "file":
        with open(rest, "rb") as file:
            while data := file.read(65536):
                yield data
    elif kind in ("nested", "nested-map"):
        level = b"*1\r\n" if kind == "nested" else b"%1\r\n+k\r\n"
        for _ in range(1000):
            yield level * 1000
        yield b":1\r\n"
    elif kind == "endless":
        yield b"+"
        while True:
            yield b"x" * 4096
    elif kind == "flood":
        yield b"$536870912\r\n"
        for _ in range(8192):
            yield b"x" * 65536
        yield b"\r\n"
    elif kind == "close":
        raise Gone
    elif kind != "silent":
        yield CANNED[kind]


def send(sock, reply, drip_ms):
    for data in chunks(reply):
        if drip_ms:
            for at in range(len(data)):
                sock.sendall(data[at:at + 1])
                time.sleep(drip_ms / 1000)
        else:
            sock.sendall(data)


def serve(sock, replies, drip_ms):
    parser, answered = CommandParser(), 0
    try:
        while replies[0] != "close-at-once" and (data := sock.recv(65536)):
            for _ in list(parser.feed(data)):
                send(sock, replies[min(answered, len(replies) - 1)], drip_ms)
                answered += 1
    except (OSError, Gone, ValueError):
        pass
    finally:
        sock.close()


def accept_all(listener, replies, drip_ms):
    while True:
        sock, _ = listener.accept()
        sock.setblocking(True)
        threading.Thread(target=serve, args=(sock, replies, drip_ms), daemon=True).start()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--listen", required=True)
    parser.add_argument("--reply", action="append")
    parser.add_argument("--drip", type=float, default=0)
    parser.add_argument("--seconds", type=float, default=3600, help="end after this long")
    options = parser.parse_args()
    replies = options.reply or ["silent"]
    for reply in replies:
        if reply.partition(":")[0] not in {"silent", "close", "close-at-once", "text", "hex", "file",
                                           "nested", "nested-map", "endless", "flood", *CANNED}:
            parser.error(f"no such reply: {reply}")
    listener = listening_socket(options.listen)
    listener.setblocking(True)
    print(f"ready {address_of(listener)}", flush=True)
    threading.Thread(target=accept_all, args=(listener, replies, options.drip),
                     daemon=True).start()
    time.sleep(options.seconds)
    os._exit(0)


if __name__ == "__main__":
    main()
