#!/usr/bin/env python3
"""Locks on three members of a store on this machine: rlock beside etcdctl lock and Go's concurrency.Mutex, or beside kazoo's
Lock and Curator's InterProcessMutex.

    consensus.py [--store etcd] [--rounds 100] [--queue 50] [--waiters 1000] [--seconds 75] [--only idle]

Prints a Markdown table: how long `rlock run k true` and the others take, in turns, and what of etcdctl is left without the
start of its program (`etcdctl version`); hand-overs in a queue of --queue, in turns; what --waiters that
wait cost all members together while nothing happens. The members' files are in memory where that can be. Wants a C
compiler; RLOCK is the binary. Beside etcd: Go, which gets the client that has concurrency.Mutex. Beside ZooKeeper: PYTHONPATH
has kazoo; Maven gets Curator, whose waiters are 10 at most.
"""

import argparse
import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import types

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, HERE + "/../faults"]
from ensembles import ENSEMBLES, JVM_OPTIONS  # noqa: E402
from lab import Contender, Queue  # noqa: E402
from server import spawn, until  # noqa: E402
from shared import milliseconds, quantile, say, spread  # noqa: E402

GO_CLIENT = "go.etcd.io/etcd/client/v3@v3.5.35"
TICKS = os.sysconf("SC_CLK_TCK")


def ours(field):
    # A thousand that come at once are more than the members take in within the usual time.
    rlock = [os.environ["RLOCK"], "run", "--server", field.url, "--connect-timeout", "1m"]
    return Contender("rlock", lambda key, command: [*rlock, key, *command], lambda key: field.size(key) - 1)


def contenders(field, directory):
    """rlock, and what the store has itself."""
    found = [ours(field)]
    if shutil.which("etcdctl") and field.scheme == "etcd":
        os.environ["ETCDCTL_API"] = "3"
        etcdctl = ["etcdctl", "--endpoints", ",".join(member.address for member in field.servers)]
        found.append(Contender("etcdctl lock", lambda key, command: [*etcdctl, "lock", key, *command],
                               lambda key: len(field.names(key + "/")) - 1))
    if field.scheme == "etcd":
        found += go_mutex(field, directory)
    if field.scheme == "zookeeper":
        found += recipes(field, directory)
    return found


def go_mutex(field, directory):
    """concurrency.Mutex of etcd's client, as a program."""
    if not shutil.which("go"):
        say("no Go: without concurrency.Mutex")
        return
    source = directory + "/concurrency"
    shutil.copytree(HERE + "/concurrency", source)
    environment = {**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod", "GOWORK": "off", "CGO_ENABLED": "0"}
    for words in (["mod", "init", "lock"], ["get", GO_CLIENT], ["build", "-o", "lock", "."]):
        if subprocess.run(["go", *words], cwd=source, env=environment, stderr=subprocess.DEVNULL).returncode != 0:
            say(f"without concurrency.Mutex: go {' '.join(words)} failed")
            return
    hosts = ",".join(member.address for member in field.servers)
    yield Contender("concurrency.Mutex", lambda key, command: [source + "/lock", hosts, key, *command],
                    lambda key: len(field.names(f"/go/{key}/")) - 1)


def recipes(field, directory):
    """Those of libraries that can be had here."""
    hosts = ",".join(member.address for member in field.servers)

    def others(node):
        def waiting(key):
            with field.client() as client:
                return len(client.children(f"/{node}/{key}")) - 1
        return waiting

    if subprocess.run([sys.executable, "-c", "import kazoo"], stderr=subprocess.DEVNULL).returncode == 0:
        words = [sys.executable, HERE + "/kazoo_lock.py", hosts]
        yield Contender("kazoo", lambda key, command: [*words, key, *command], others("kazoo"), most=20)
    curator = directory + "/curator"
    os.makedirs(curator)
    path = curator + "/classpath"
    if subprocess.run(["mvn", "-B", "-q", "-f", HERE + "/curator/pom.xml", "dependency:build-classpath",
                       "-Dmdep.outputFile=" + path], stdout=subprocess.DEVNULL).returncode == 0:
        with open(path, encoding="utf-8") as file:
            jars = file.read().strip()
        subprocess.run(["javac", "-cp", jars, "-d", curator, HERE + "/curator/Lock.java"], check=True)
        java = ["java", "-Xmx64m", *JVM_OPTIONS, "-cp", f"{curator}:{jars}", "Lock", hosts]
        yield Contender("Curator", lambda key, command: [*java, key, *command], others("curator"), most=10)


def seconds_of(words):
    begin = time.monotonic()
    if spawn(words).wait() != 0:
        raise SystemExit(f"failed: {' '.join(words)}")
    return time.monotonic() - begin


def singles(all_of_them, rounds):
    """A free lock, taken and given back."""
    commands = {each.name: each.argv("single", ["true"]) for each in all_of_them}
    commands["`true` alone"] = ["true"]
    beside_etcdctl = any(each.name == "etcdctl lock" for each in all_of_them)
    if beside_etcdctl:
        commands["etcdctl version"] = ["etcdctl", "version"]
    times = {name: [] for name in commands}
    for _ in range(rounds):
        for name, words in commands.items():
            times[name].append(seconds_of(words))
    medians = {name: statistics.median(found) for name, found in times.items()}
    for name, found in times.items():
        ratio = spread([a / b for a, b in zip(times["rlock"], found)]) if name != "rlock" else ""
        yield f"`{name} k true`" if name in {each.name for each in all_of_them} else name, milliseconds(medians[name]), ratio
    if beside_etcdctl:
        server = medians["etcdctl lock"] - medians["etcdctl version"] - medians["`true` alone"]
        yield "etcdctl lock without the start of two programs", milliseconds(server), f"{medians['rlock'] / server:.2f}"


def hand_overs(lab, all_of_them, count, rounds):
    """From the first statement of one command to that of the next."""
    gaps = {each.name: [] for each in all_of_them}
    for _ in range(rounds):
        for each in all_of_them:
            with Queue(lab, each, min(count, each.most)) as queue:
                queue.release()
                stamps = queue.stamps()
            gaps[each.name].append([(b - a) / 1e9 for a, b in zip(stamps, stamps[1:])][1:])
    for each in all_of_them:
        found = [gap for round_ in gaps[each.name] for gap in round_]
        ratios = [statistics.median(a) / statistics.median(b) for a, b in zip(gaps["rlock"], gaps[each.name])]
        yield (f"hand-over, {min(count, each.most)} waiters, {each.name}",
               f"p50 {milliseconds(statistics.median(found))}, p95 {milliseconds(quantile(found, 0.95))}",
               spread(ratios) if each.name != "rlock" else "")


def cpu(field):
    """Processor seconds of all members so far."""
    total = 0
    for member in field.servers:
        with open(f"/proc/{member.process.pid}/stat", encoding="ascii") as stat:
            total += sum(map(int, stat.read().rsplit(")", 1)[1].split()[11:13]))
    return total / TICKS


def share(field, seconds):
    """Of a core, for all members together."""
    begin, since = cpu(field), time.monotonic()
    time.sleep(seconds)
    return (cpu(field) - begin) / (time.monotonic() - since)


def idle(lab, field, contender, count, seconds):
    alone = share(field, seconds)
    begin = cpu(field)
    with Queue(lab, contender, count, command=["true"]) as queue:
        entered = (cpu(field) - begin) / count
        time.sleep(5)  # what comes with their arrival is over
        waited = share(field, seconds)
        begin = cpu(field)
        drained = queue.release() / count
        left = (cpu(field) - begin) / count
    measured = f"{waited * 100:.1f} % of a core, {alone * 100:.1f} % before any came"
    yield f"{count} idle waiters, all members together", measured, ""
    yield f"{count} waiters arrive, and run: of the members' processor each", ", ".join(map(milliseconds, (entered, left))), ""
    yield f"{count} waiters, one turn", milliseconds(drained), ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", choices=list(ENSEMBLES), default="etcd")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--queue", type=int, default=50)
    parser.add_argument("--queues", type=int, default=5)
    parser.add_argument("--waiters", type=int, default=1000)
    # Each waiter keeps its lease alive once in 72 s at least.
    parser.add_argument("--seconds", type=float, default=75)
    parser.add_argument("--only", choices=["idle"], help="this part alone")
    options = parser.parse_args()
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="consensus.", dir=memory))
        stamp = directory + "/stamp"
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-static", "-o", stamp, HERE + "/stamp.c"], check=True)
        os.environ["XDG_CONFIG_HOME"] = directory
        lab = types.SimpleNamespace(directory=directory, stamp=stamp)
        field = stack.enter_context(ENSEMBLES[options.store](directory + "/members"))
        until(field.leader, "a leader")
        rows = []
        if not options.only:
            found = contenders(field, directory)
            say("alone")
            rows += singles(found, options.rounds)
            say("hand-overs")
            rows += hand_overs(lab, found, options.queue, options.queues)
        say("idle waiters")
        rows += idle(lab, field, ours(field), options.waiters, options.seconds)
    print("| what | measured | rlock to it |\n|---|---|---|")
    for row in rows:
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
