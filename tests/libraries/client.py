# client.py LIBRARY try|hold NAME: a lock of another library, at the server whose socket is $sock.
#
# try: exits 75 if the lock is not free. hold: waits for it as the library does. Both print "held" when they have it, and
# release it at the end of standard input.
import os
import sys

import redis

library, verb, name = sys.argv[1:]
client = redis.StrictRedis(unix_socket_path=os.environ["sock"])
blocking = verb == "hold"
if library == "redis-py":
    lock = client.lock(name, timeout=30)
elif library == "python-redis-lock":
    import redis_lock
    lock = redis_lock.Lock(client, name)
else:
    from pottery import Redlock
    lock = Redlock(key=name, masters={client}, auto_release_time=30)
if not lock.acquire(blocking=blocking):
    sys.exit(75)
print("held", flush=True)
sys.stdin.read()
lock.release()
