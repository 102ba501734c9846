# What `rlock run KEY COMMAND...` is in Python with kazoo's Lock.
#
#   kazoo_lock.py HOST:PORT,... KEY COMMAND [ARG...]
import subprocess
import sys

from kazoo.client import KazooClient

hosts, key, *command = sys.argv[1:]
client = KazooClient(hosts=hosts)
client.start()
with client.Lock("/kazoo/" + key):
    status = subprocess.call(command)
client.stop()
sys.exit(status)
