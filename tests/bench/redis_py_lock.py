# What `rlock run KEY COMMAND...` is in Python with redis-py's Lock.
#
#   redis_py_lock.py SOCKET KEY COMMAND [ARG...]
import subprocess
import sys

import redis

socket, key, *command = sys.argv[1:]
with redis.Redis(unix_socket_path=socket).lock(key, timeout=30):
    status = subprocess.call(command)
sys.exit(status)
