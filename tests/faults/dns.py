#!/usr/bin/env python3
"""A DNS server of a few names, over UDP: dns.py ADDRESS NAME=ADDRESS[,ADDRESS...]...

A name that is not given does not exist (NXDOMAIN). Prints `ready` when it listens on port 53; ends with its parent.
"""

import ctypes
import ipaddress
import signal
import socket
import struct
import sys

A, AAAA, NXDOMAIN = 1, 28, 3


def question(packet):
    """The name, the type, and the bytes of a query's question."""
    labels, at = [], 12
    while size := packet[at]:
        labels.append(packet[at + 1:at + 1 + size].decode())
        at += 1 + size
    kind = struct.unpack(">H", packet[at + 1:at + 3])[0]
    return ".".join(labels).lower(), kind, packet[12:at + 5]


def answer(packet, names):
    name, kind, asked = question(packet)
    found = [a for a in names.get(name, []) if {4: A, 6: AAAA}[a.version] == kind]
    code = 0 if name in names else NXDOMAIN
    header = packet[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, len(found), 0, 0)
    records = (b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 60, len(a.packed)) + a.packed for a in found)
    return header + asked + b"".join(records)


def main():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    names = {}
    for word in sys.argv[2:]:
        name, _, addresses = word.partition("=")
        names[name] = [ipaddress.ip_address(a) for a in addresses.split(",")]
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind((sys.argv[1], 53))
    print("ready", flush=True)
    while True:
        packet, peer = sock.recvfrom(512)
        sock.sendto(answer(packet, names), peer)


if __name__ == "__main__":
    main()
