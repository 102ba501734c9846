# client.py LIBRARY try|hold NAME: a lock of another library, at the server whose socket is $sock.
#
# try: exits 75 if the lock is not free. hold: waits for it as the library does. Both print "held" when they have it, and
# release it at the end of standard input.
import os
import sys
import time

import redis

library, verb, name = sys.argv[1:]
url = "unix://" + os.environ["sock"]
client = redis.StrictRedis(unix_socket_path=os.environ["sock"])


class Tries:
    """A lock of those that do not wait: they are asked again."""

    def __init__(self, take, give_back):
        self.take, self.give_back = take, give_back

    def acquire(self, blocking):
        while True:
            self.taken = self.take()
            if self.taken or not blocking:
                return bool(self.taken)
            time.sleep(0.05)

    def release(self):
        self.give_back(self.taken)


def redlock_py():
    from redlock import Redlock
    manager = Redlock([client], retry_count=1)
    return Tries(lambda: manager.lock(name, 30000), manager.unlock)


def cache():
    from django.conf import settings
    backend = "django_redis.cache.RedisCache" if library == "django-redis" else "django.core.cache.backends.redis.RedisCache"
    settings.configure(CACHES={"default": {"BACKEND": backend, "LOCATION": url}})
    from django.core.cache import cache
    return cache


def django():
    store = cache()
    return Tries(lambda: store.add(name, "me", timeout=30), lambda _: store.delete(name))


def celery_once():
    from celery_once import AlreadyQueued
    from celery_once.backends import Redis
    from celery_once.helpers import queue_once_key
    backend, key = Redis({"url": "redis+socket://" + os.environ["sock"]}), queue_once_key(name, {})

    def take():
        try:
            backend.raise_or_lock(key, timeout=30)
            return True
        except AlreadyQueued:
            return False
    return Tries(take, lambda _: backend.clear_lock(key))


def celery_singleton():
    from celery_singleton.backends.redis import RedisBackend
    from celery_singleton.config import Config
    from celery import Celery
    backend, key = RedisBackend(url), Config(Celery()).key_prefix + name
    return Tries(lambda: backend.lock(key, "task", expiry=30), lambda _: backend.unlock(key))


def python_redis_lock():
    import redis_lock
    return redis_lock.Lock(client, name)


def pottery():
    from pottery import Redlock
    return Redlock(key=name, masters={client}, auto_release_time=30)


lock = {
    "redis-py": lambda: client.lock(name, timeout=30),
    "python-redis-lock": python_redis_lock,
    "pottery": pottery,
    "redlock-py": redlock_py,
    "django": django,
    "django-redis": lambda: cache().lock(name, timeout=30),
    "celery-once": celery_once,
    "celery-singleton": celery_singleton,
}[library]()
if not lock.acquire(blocking=verb == "hold"):
    sys.exit(75)
print("held", flush=True)
sys.stdin.read()
lock.release()
