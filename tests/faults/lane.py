"""Single runs of rlock through a proxy, watched from both ends: the command's heartbeat, and the key on the server."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
from proxy_wire import boottime_ns  # noqa: E402
from resp import connected  # noqa: E402
from servers import free_port  # noqa: E402


class Lane:
    """A proxy, and the runs that go through it, one after the other. Wrong with a run is

    status     0 though the command did not end by itself; 69 though it started; 79 though nobody saw the lock held,
               or though it ended by itself; -9 though it started; anything else
    late       the command was alive when a direct look at the server, every few ms, had shown
               that the token was not in the key any more
    kept       the key is still there a ttl after the run
    survivor   the command is alive after rlock has ended
    """

    def __init__(self, root, number, server, options):
        self.directory = f"{root}/lane{number}"
        os.makedirs(self.directory)
        self.server = server
        self.options = options
        self.key = f"cuts{number}"
        self.control_path = f"{self.directory}/control"
        tls = getattr(options, "tls", None)
        tcp = tls or getattr(options, "resets", False)
        listen = "127.0.0.1:0" if tcp else f"unix:{self.directory}/proxy"
        to = f"127.0.0.1:{tls.port}" if tls else f"unix:{server}"
        self.proxy = subprocess.Popen(
            [sys.executable, "-B", f"{HERE}/proxy.py", "--listen", listen, "--to", to,
             "--control", f"unix:{self.control_path}"], stdout=subprocess.PIPE, text=True)
        address = self.proxy.stdout.readline().split()[1]
        self.url = (f"rediss://{address}?cacert={tls.certificate}" if tls else
                    f"redis://{address}" if tcp else f"unix://{self.directory}/proxy")

    def control(self, line):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(self.control_path)
            connection.sendall(line.encode() + b"\n")
            answer = connection.makefile().readline()
        if answer.startswith("error"):
            raise RuntimeError(f"{line}: {answer}")
        return answer

    def spoil(self, faults):
        for line in faults:
            self.control(line)

    def watch(self, stop, seen):
        """Asks the server itself who holds the key: when it first was, and first was not, held."""
        redis = connected(self.server)
        while not stop.is_set():
            held = redis("GET", "rlock:" + self.key) is not None
            if held:
                seen["held"] = True
            elif seen.get("held") and "gone" not in seen:
                seen["gone"] = boottime_ns()
            time.sleep(0.002)
        redis.close()

    def run(self, faults, hold_ms, at_ms=0, storm=False, stubborn=False, before=()):
        """One run of a command of hold_ms, with the lines of `faults` given to the proxy at_ms after it got its lock;
        with `storm` rlock gets a SIGCONT every ms from then on; a `stubborn` command ends at nothing but SIGKILL;
        the lines of `before` are given from the beginning. Its status, and what was wrong with it."""
        shutil.rmtree(f"{self.directory}/run", ignore_errors=True)
        os.makedirs(f"{self.directory}/run")
        self.control("clear")
        self.control("cut-now")
        self.spoil(before)
        if at_ms == 0:
            self.spoil(faults)
        stop, seen = threading.Event(), {}
        watcher = threading.Thread(target=self.watch, args=(stop, seen))
        watcher.start()
        ttl = self.options.ttl
        rlock = subprocess.Popen(
            [os.environ["RLOCK"], "--server", self.url, "--connect-timeout", "5s", "run", "-t", f"{ttl}ms",
             self.key, "--", f"{HERE}/worker.py", f"{self.directory}/run", str(hold_ms)],
            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "WORKER_IGNORE_TERM": "1" if stubborn else "0"})
        if at_ms:
            while "held" not in seen and rlock.poll() is None:
                time.sleep(0.001)
            time.sleep(at_ms / 1000)
            self.spoil(faults)
        while storm and rlock.poll() is None:
            rlock.send_signal(signal.SIGCONT)
            time.sleep(0.001)
        try:
            status = rlock.wait(120)
        except subprocess.TimeoutExpired:
            rlock.kill()
            status = f"{rlock.wait()} (it never ended)"
        # The lock may stay until its lease ends, not longer.
        direct = connected(self.server)
        deadline = time.monotonic() + ttl / 1000 + 20
        while direct("GET", "rlock:" + self.key) is not None:
            if time.monotonic() > deadline:
                break
            time.sleep(0.005)
        kept = time.monotonic() > deadline
        direct.close()
        stop.set()
        watcher.join()
        return status, self.wrongs(status, kept, seen)

    def wrongs(self, status, kept, seen):
        log = f"{self.directory}/run/log"
        lines = open(log, encoding="ascii").read() if os.path.exists(log) else ""
        started, ended = "start=" in lines, "end=" in lines
        wrong = []
        # On a busy machine a command can be stopped before it has said a word, and rlock before it has started it, by
        # its own timer (process/tripwire.hpp).
        held = started or "held" in seen
        if {0: not ended, 69: started, 79: not held or ended, -signal.SIGKILL: started}.get(status, True):
            wrong.append(f"status {status}, started {started}, ended {ended}")
        if kept:
            wrong.append("kept")
        for name in os.listdir(f"{self.directory}/run/beats") if started else []:
            with open(f"{self.directory}/run/beats/{name}", "rb") as beats:
                last = int.from_bytes(beats.read(8), "little")
            # A command that ended by itself is given its lock back at once; only one that did not can be late.
            if not ended and "gone" in seen and last > seen["gone"]:
                wrong.append(f"late by {(last - seen['gone']) / 1e6:.1f} ms")
            time.sleep(0.005)
            with open(f"{self.directory}/run/beats/{name}", "rb") as beats:
                if not ended and int.from_bytes(beats.read(8), "little") > last:
                    wrong.append("survivor")
        return wrong

    def close(self):
        self.proxy.terminate()
        self.proxy.wait()


class Tls:
    """A port for TLS, and the certificate of 127.0.0.1 that signs itself, for a server in a directory."""

    def __init__(self, directory):
        self.port, self.certificate = free_port(), f"{directory}/tls.crt"
        self.key = f"{directory}/tls.key"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-days", "2", "-subj", "/CN=server", "-addext", "subjectAltName=IP:127.0.0.1",
                        "-keyout", self.key, "-out", self.certificate], check=True, stderr=subprocess.DEVNULL)

    def options(self):
        return ["--tls-port", str(self.port), "--tls-cert-file", self.certificate, "--tls-key-file", self.key,
                "--tls-ca-cert-file", self.certificate, "--tls-auth-clients", "no"]


class Field:
    """A server of its own and some lanes to it; work for them is done by all at once. With `options.tls`, the lanes lead to
    its port for TLS.
    """

    def __init__(self, options):
        self.root = tempfile.mkdtemp(prefix="lanes.")
        server = f"{self.root}/redis"
        if getattr(options, "tls", None):
            options.tls = Tls(self.root)
        self.redis = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", server, "--save", "",
                                       "--appendonly", "no", "--dir", self.root,
                                       *(options.tls.options() if getattr(options, "tls", None) else [])],
                                      stdout=subprocess.DEVNULL)
        self.lanes = []
        connected(server).close()
        for number in range(options.jobs):
            self.lanes.append(Lane(self.root, number, server, options))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for lane in self.lanes:
            lane.close()
        self.redis.terminate()
        self.redis.wait()
        shutil.rmtree(self.root, ignore_errors=True)

    def work_off(self, work, do):
        """do(lane, item) -> (status, wrongs) for each item; prints what was wrong, and a summary."""
        statuses, wrongs, lock = Counter(), [], threading.Lock()
        work = list(work)

        def take_turns(lane):
            while True:
                with lock:
                    if not work:
                        return
                    item = work.pop(0)
                status, wrong = do(lane, item)
                with lock:
                    statuses[status] += 1
                    wrongs.extend(f"{item}: {text}" for text in wrong)

        threads = [threading.Thread(target=take_turns, args=(lane,)) for lane in self.lanes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for line in wrongs:
            print(line)
        print(f"runs {sum(statuses.values())}, wrong {len(wrongs)}; "
              + ", ".join(f"status {status}: {count}" for status, count in sorted(statuses.items())))
        return 1 if wrongs or not statuses else 0
