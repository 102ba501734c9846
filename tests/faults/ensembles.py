"""Members of a store that a majority decides, etcd or ZooKeeper: three on loopback, or each in a network namespace and on a
disk of its own.

    with Etcd(directory, isolated=True, disks=True) as field:   # namespaces.isolate() and isolate_mounts() before
        field.leader(), field.followers()
        field.url, field.url_of(member, member)
        field.entries("k")                      # who holds k or waits for it, in order, as the store names them
    field.holder("k", member)               # its token or None, as that member is told by a majority; else it fails
    field.expiries()                        # (lease or session, seconds until it ends) of entries, and of nothing
        field.delete(entries)
        field.watches()                         # how many there are, of all locks
        member.kill(); member.start()
        member.restart()                        # asked to end
        member.stop(); member.resume()          # SIGSTOP
        member.cut(); member.mend()             # nobody reaches it
        field.split(member); field.join(member) # no other member does, clients do
        member.clock.step(seconds)              # its wall clock, from the true time (clocks=True, where can_step())
        member.stall(); member.flow()           # its disk takes no write, and no process that writes there can be killed
        field.compact(); member.defragment()    # of etcd
        member.replace()                        # of etcd: another one comes in its place, without any data
"""

import contextlib
import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from base64 import b64decode, b64encode
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from urllib.parse import quote, unquote

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import wall_clock  # noqa: E402
from zookeeper import Client, Failed, four_letters  # noqa: E402
from namespaces import Namespace, ip  # noqa: E402
from servers import Fallible, free_port, until  # noqa: E402
from topology import Topology  # noqa: E402

PROBE = b64encode(b"x").decode()  # a key that is not there
with open(os.path.dirname(os.path.abspath(__file__)) + "/../jvm.options", encoding="ascii") as options:
    JVM_OPTIONS = options.read().split()
DISK_BYTES = 1 << 30  # sparse; a log of etcd takes 64 MB before anything is in it

# The kernel takes the end of the thread that started a process for that of its parent.
STARTER = ThreadPoolExecutor(max_workers=1)


class Disk:
    """A file system of its own at `path`, which can be made to stand still."""

    def __init__(self, path):
        self.path, self.is_stalled = path, False
        os.makedirs(path)
        with open(path + ".image", "wb") as image:
            image.truncate(DISK_BYTES)
        subprocess.run(["mkfs.ext4", "-q", "-E", "lazy_itable_init=1,lazy_journal_init=1", path + ".image"], check=True)
        subprocess.run(["mount", "-o", "loop", path + ".image", path], check=True)

    def stall(self):
        subprocess.run(["fsfreeze", "--freeze", self.path], check=True)
        self.is_stalled = True

    def flow(self):
        if self.is_stalled:
            subprocess.run(["fsfreeze", "--unfreeze", self.path], check=True)
            self.is_stalled = False

    def close(self):
        self.flow()
        subprocess.run(["umount", "--lazy", self.path], check=False)


class Member(Fallible):
    """One process; a subclass says what is started, and asks it. `close()` ends it whatever has befallen it."""

    port = 0  # where clients are served, in a namespace
    environment = {}  # more than ours

    def __init__(self, directory, number, isolated, disks):
        self.directory, self.number, self.process = f"{directory}/{number}", number, None
        self.space = Namespace() if isolated else None
        os.makedirs(self.directory)
        self.disk = Disk(self.directory + "/disk") if disks else None
        self.data = self.directory + ("/disk/data" if disks else "/data")
        if not isolated:
            self.port = free_port()
        self.host = self.space.host if self.space else "127.0.0.1"
        self.address = f"{self.host}:{self.port}"
        self.clock = None

    def own_clock(self):
        """From its next start on it has a wall clock of its own: self.clock."""
        self.clock = wall_clock.WallClock(self.directory)
        self.environment = {**self.environment, **self.clock.environment}

    def start(self):
        with open(self.directory + "/log", "ab") as log:
            # Whatever ends us, it does not stay: least of all beside a disk that is stalled.
            before = ["setpriv", "--pdeathsig", "KILL", *(self.space.enter if self.space else ())]
            self.process = STARTER.submit(subprocess.Popen, [*before, *self.words()], stdin=subprocess.DEVNULL, stdout=log,
                                          stderr=log, start_new_session=True, env={**os.environ, **self.environment}).result()

    def is_there(self):
        return self.process is not None and self.process.poll() is None

    def restart(self):
        self.process.terminate()
        self.process.wait()
        self.start()

    def stall(self):
        self.disk.stall()

    def flow(self):
        self.disk.flow()

    def close(self):
        if self.disk:
            self.disk.flow()
        if self.process:
            self.kill()
        if self.disk:
            self.disk.close()
        if self.space:
            self.space.close()


class Ensemble(Topology):
    """`member_type` makes one of its members, of which each is a `program`. The options are of each."""

    member_type, program = Member, ""
    trouble = ("kill", "stop", "split", "cut", "disk", "roll")  # what consensus.py may do to it
    trial_options = ()  # and has its members begin with

    def __init__(self, directory, *options, members=3, isolated=False, disks=False, clocks=False, environment=None):
        self.options, self.count, self.isolated, self.disks, self.clocks = options, members, isolated, disks, clocks
        self.environment = environment or {}
        super().__init__(directory)

    def build(self):
        for number in range(1, self.count + 1):
            self.servers.append(self.make(number))
        for member in self.servers:
            member.peers = self.servers
            member.options = self.options
            member.environment = self.environment
            if self.clocks:
                member.own_clock()
            member.start()
        self.settle()
        self.url = self.url_of(*self.servers)

    def url_of(self, *members):
        return f"{self.scheme}://" + ",".join(member.address for member in members)

    def make(self, number):
        return self.member_type(self.directory, number, self.isolated, self.disks)

    def leader(self):
        """None where nobody is, or nobody can be asked."""
        return next((member for member in self.servers if member.is_leader()), None)

    def settle(self, seconds=120):
        super().settle(seconds)
        until(self.leader, "an election", seconds)

    def followers(self):
        leader = self.leader()
        return [member for member in self.servers if member is not leader]

    def split(self, member, verb="add"):
        """The other members do not reach it, nor it them; clients reach all."""
        for other in self.servers:
            if other is not member:
                ip("route", verb, "blackhole", other.host + "/32", enter=member.space.enter)
                ip("route", verb, "blackhole", member.host + "/32", enter=other.space.enter)

    def join(self, member):
        self.split(member, "delete")

    def any_member(self, seconds=60):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for member in self.servers:
                if member.answers():
                    return member
        raise RuntimeError(f"no member answered for {seconds} s")

    def is_held(self, key):
        return bool(self.entries(key))

    def size(self, key):
        """How many hold it or wait for it; it may cost the members less than to name them."""
        return len(self.entries(key))


def etcd_programs():
    return os.environ.get("ETCD", "etcd").split(":")


class EtcdMember(Member):
    """$ETCD names its program, or several with a colon between: then the members take turns, and are of mixed versions."""

    port, peer_port, state = 2379, 2380, "new"

    def __init__(self, directory, number, isolated, disks):
        super().__init__(directory, number, isolated, disks)
        self.peer_url = f"http://{self.host}:{self.peer_port if isolated else free_port()}"

    def words(self):
        url = f"http://{self.address}"
        programs = etcd_programs()
        return [programs[(self.number - 1) % len(programs)], "--name", f"m{self.number}", "--data-dir", self.data,
                "--logger", "zap", "--initial-cluster-state", self.state,
                "--listen-client-urls", url, "--advertise-client-urls", url, "--listen-peer-urls", self.peer_url,
                "--initial-advertise-peer-urls", self.peer_url,
                "--initial-cluster", ",".join(f"m{peer.number}={peer.peer_url}" for peer in self.peers), *self.options]

    def ask(self, path, body=None, timeout=2):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout)
        try:
            connection.request("POST", "/v3/" + path, json.dumps(body or {}))
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def metric(self, name):
        with urllib.request.urlopen(f"http://{self.address}/metrics", timeout=5) as text:
            return next(float(line.split()[1]) for line in text.read().decode().splitlines() if line.startswith(name + " "))

    def answers(self):
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            return "header" in self.ask("kv/range", {"key": PROBE}, timeout=1)
        return False

    def is_leader(self):
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            status = self.ask("maintenance/status", timeout=1)
            return status.get("leader", "0") == status["header"]["member_id"]
        return False

    def defragment(self):
        self.ask("maintenance/defragment", timeout=30)

    def replace(self):
        """It is gone for good, and another one comes in its place, without any data."""
        other = next(peer for peer in self.peers if peer is not self and peer.answers())
        known = other.ask("cluster/member/list")["members"]
        number = next(member["ID"] for member in known if self.peer_url in member["peerURLs"])
        self.kill()
        self.change(other, "cluster/member/remove", {"ID": number}, lambda urls: self.peer_url not in urls)
        shutil.rmtree(self.data)
        self.change(other, "cluster/member/add", {"peerURLs": [self.peer_url]}, lambda urls: self.peer_url in urls)
        self.state = "existing"
        self.start()

    @staticmethod
    def change(member, path, body, is_done):
        """Members refuse this for some seconds behind an election, or where not all have been there for as long."""
        def is_changed():
            with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
                member.ask(path, body, timeout=10)
                return is_done([url for each in member.ask("cluster/member/list")["members"] for url in each["peerURLs"]])
            return False
        until(is_changed, path, 60)


class Etcd(Ensemble):
    scheme, member_type, program = "etcd", EtcdMember, "etcd"
    trouble = (*Ensemble.trouble, "compact")

    @staticmethod
    def can_step():
        """make_etcd.sh makes such programs."""
        def knows(program):
            with open(shutil.which(program) or os.devnull, "rb") as file:
                return b"WALL_CLOCK" in file.read()
        return all(map(knows, etcd_programs()))

    def compact(self):
        member = self.any_member()
        member.ask("kv/compaction", {"revision": member.ask("kv/range", {"key": PROBE})["header"]["revision"]})

    def names(self, prefix, member=None, timeout=2):
        """Of all keys that begin so, in the order in which they were made."""
        begin = prefix.encode()
        end = begin[:-1] + bytes([begin[-1] + 1])
        found = (member or self.any_member()).ask(
            "kv/range", {"key": b64encode(begin).decode(), "range_end": b64encode(end).decode(), "keys_only": True,
                         "sort_target": "CREATE", "sort_order": "ASCEND"}, timeout)
        if "header" not in found:
            raise OSError(found.get("message", "no answer"))
        return [b64decode(each["key"]).decode() for each in found.get("kvs", [])]

    def leases(self):
        return len(self.any_member().ask("lease/leases").get("leases", []))

    def entries(self, key, *where):
        return [name for name in self.names("/rlock/q/", *where) if unquote(name.split("/")[3]) == f"rlock:{key}"]

    def size(self, key):
        begin = "/rlock/q/rlock:" + re.sub(r"[%/\x00-\x1f\x7f-]", lambda found: f"%{ord(found[0]):02x}", key)
        body = {"key": b64encode((begin + "/").encode()).decode(), "range_end": b64encode((begin + "0").encode()).decode()}
        return int(self.any_member().ask("kv/range", {**body, "count_only": True}, 30).get("count", 0))

    def holder(self, key, member):
        return next((name.split("/")[4].rpartition("-")[0] for name in self.entries(key, member, 0.5)), None)

    def expiries(self):
        found = []
        for lease in self.any_member().ask("lease/leases").get("leases", []):
            known = self.any_member().ask("lease/timetolive", {"ID": lease["ID"], "keys": True})
            keys = [b64decode(key).decode() for key in known.get("keys", [])]
            if int(known.get("TTL", -1)) >= 0 and not [key for key in keys if not key.startswith("/rlock/q/")]:
                found.append((f"lease {lease['ID']} of {keys}", int(known["TTL"])))
        return found

    def delete(self, names):
        for name in names:
            self.any_member().ask("kv/deleterange", {"key": b64encode(name.encode()).decode()})

    def watches(self):
        """How many there are, of all locks, at all members."""
        return sum(member.metric("etcd_debugging_mvcc_watcher_total") for member in self.servers)


# Sessions of 2 s to an hour.
CONFIGURATION = ["tickTime=1000", "initLimit=10", "syncLimit=5", "maxSessionTimeout=3600000", "admin.enableServer=false",
                 "4lw.commands.whitelist=*", "maxClientCnxns=0"]


class ZookeeperMember(Member):
    port, peer_ports = 2181, (2888, 3888)

    is_observer = False  # hears of everything, and has no vote

    def __init__(self, directory, number, isolated, disks):
        super().__init__(directory, number, isolated, disks)
        if not isolated:
            self.peer_ports = (free_port(), free_port())

    def peer_line(self):
        first, second = self.peer_ports
        return f"server.{self.number}={self.host}:{first}:{second}" + (":observer" if self.is_observer else "")

    def words(self):
        os.makedirs(self.data, exist_ok=True)
        with open(self.data + "/myid", "w", encoding="ascii") as file:
            file.write(str(self.number))
        peers = [peer.peer_line() for peer in self.peers]
        with open(self.directory + "/zoo.cfg", "w", encoding="ascii") as file:
            file.write("\n".join([*CONFIGURATION, "dataDir=" + self.data, f"clientPort={self.port}",
                                  f"clientPortAddress={self.host}", *self.options,
                                  *(["peerType=observer"] if self.is_observer else ()), *(peers if len(peers) > 1 else ())]))
        jars = os.environ.get("ZOOKEEPER_JARS", "/usr/share/java/zookeeper.jar")
        return ["java", "-Xmx256m", *JVM_OPTIONS, "-Duser.timezone=UTC", "-Dreadonlymode.enabled=true", "-cp", jars,
                "org.apache.zookeeper.server.quorum.QuorumPeerMain", self.directory + "/zoo.cfg"]

    def says(self, word):
        with contextlib.suppress(OSError):
            return four_letters(self.host, self.port, word, timeout=1)
        return ""

    def answers(self):
        return "Mode: " in self.says("srvr")

    def is_leader(self):
        return re.search("Mode: (leader|standalone)", self.says("srvr")) is not None


class Zookeeper(Ensemble):
    scheme, member_type, program, root = "zookeeper", ZookeeperMember, "java", "/rlock"
    trouble = (*Ensemble.trouble, "crowd")
    # A waiter that stands still loses its session; a crowd takes all connections.
    trial_options = ("maxSessionTimeout=8000", "maxClientCnxns=60")

    def __init__(self, directory, *options, members=3, observers=0, **how):
        self.observers = observers
        super().__init__(directory, *options, members=members + observers, **how)

    def make(self, number):
        member = super().make(number)
        member.is_observer = number > self.count - self.observers
        return member

    def build(self):
        self.lookers = {}
        super().build()
        with self.client() as client:
            client.create(self.root)

    @staticmethod
    def can_step():
        return wall_clock.is_possible(shutil.which("java"))

    def url_of(self, *members):
        return super().url_of(*members) + self.root

    def client(self):
        member = self.any_member()
        return Client(member.host, member.port)

    def queues(self, client, key):
        return [f"{self.root}/q/{name}" for name in client.children(self.root + "/q") if unquote(name) == "rlock:" + key]

    def entries(self, key):
        with self.client() as client:
            return [f"{queue}/{name}" for queue in self.queues(client, key) for name in client.children(queue)]

    def looker(self, member):
        """A client of one member, for looks again and again."""
        if member not in self.lookers:
            self.lookers[member] = Client(member.host, member.port, timeout=0.5)
        return self.lookers[member]

    def holder(self, key, member):
        try:
            client = self.looker(member)
            client.sync(self.root)
            names = client.children(f"{self.root}/q/{quote('rlock:' + key, safe=':')}")
            return names[0].rsplit("-", 2)[0] if names else None
        except (OSError, Failed):
            if member in self.lookers:
                self.lookers.pop(member).socket.close()
            raise

    def expiries(self):
        found, left, ours = [], 0, {client.session for client in self.lookers.values()}
        for line in self.leader().says("dump").partition("ephemeral nodes")[0].splitlines():
            if " expire at " in line:
                end = datetime.strptime(line.split(" at ")[1].rstrip(":"), "%a %b %d %H:%M:%S %Z %Y")
                left = (end.replace(tzinfo=timezone.utc) - datetime.now(timezone.utc)).total_seconds()
            elif line.startswith("\t0x") and int(line, 16) not in ours:
                found.append((f"session {line.strip()}", left))
        return found

    def delete(self, names):
        with self.client() as client:
            for name in names:
                client.delete(name)

    def watches(self):
        """`wchs` counts no watches of children."""
        return sum(int(found[1]) for member in self.servers
                   if (found := re.search(r"^zk_watch_count\t(\d+)", member.says("mntr"), re.MULTILINE)))


ENSEMBLES = {"etcd": Etcd, "zookeeper": Zookeeper}
