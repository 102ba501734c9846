#!/usr/bin/env python3
"""Runs a command whose system calls the kernel refuses, as an older kernel or a container's profile does.

    denied.py ENOSYS|EPERM CALL[,CALL...] COMMAND...

A call may be refused for one value of its first argument alone: prctl=36 is PR_SET_CHILD_SUBREAPER. The filter
(seccomp(2)) holds for all that the command starts, and for nobody else. Needs no right.
"""

import ctypes
import errno
import os
import platform
import struct
import sys

# Numbers of calls: x86_64, aarch64. Those from 424 on are the same everywhere.
NUMBERS = {"prctl": (157, 167), "setsid": (112, 157), "sched_setscheduler": (144, 119), "sched_setattr": (314, 274),
           "timerfd_create": (283, 85), "timer_create": (222, 107), "memfd_create": (319, 279),
           "waitid": (247, 95), "clone": (56, 220), "vfork": (58, 0), "membarrier": (324, 283), "getrandom": (318, 278),
           "statx": (332, 291), "faccessat2": (439, 439), "clone3": (435, 435), "pidfd_open": (434, 434),
           "pidfd_send_signal": (424, 424), "pidfd_getfd": (438, 438), "close_range": (436, 436)}

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06  # of struct sock_filter, on 32 bits
NUMBER, ARGUMENT = 0, 16  # offsets in struct seccomp_data; the lower half of the first argument


def instruction(code: int, if_true: int, if_false: int, value: int) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


def program(calls: list[str], error: int) -> bytes:
    column = {"x86_64": 0, "aarch64": 1}[platform.machine()]
    result = b""
    for call in calls:
        name, _, argument = call.partition("=")
        refuse = instruction(RETURN, 0, 0, ERRNO | error)
        if argument:
            refuse = instruction(LOAD, 0, 0, ARGUMENT) + instruction(EQUAL, 0, 1, int(argument)) + refuse
        result += instruction(LOAD, 0, 0, NUMBER)
        result += instruction(EQUAL, 0, len(refuse) // 8, NUMBERS[name][column]) + refuse
    return result + instruction(RETURN, 0, 0, ALLOW)


def main() -> None:
    if len(sys.argv) < 4 or sys.argv[1] not in ("ENOSYS", "EPERM"):
        sys.exit(__doc__)
    code = program(sys.argv[2].split(","), getattr(errno, sys.argv[1]))
    buffer = ctypes.create_string_buffer(code, len(code))
    libc = ctypes.CDLL(None, use_errno=True)
    # struct sock_fprog
    filters = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(buffer)))
    for arguments in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
                      (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(filters), 0, 0)):
        if libc.prctl(arguments[0], *map(ctypes.c_ulong, arguments[1:])) != 0:
            sys.exit(f"denied.py: prctl: {os.strerror(ctypes.get_errno())}")
    os.execvp(sys.argv[3], sys.argv[3:])


main()
