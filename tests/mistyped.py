#!/usr/bin/env python3
"""Types rlock's command lines, variables and files wrongly, with a canary in place of each password (R44 of tests/PROOFS.md).

    mistyped.py RLOCK SOCKET

SOCKET is that of a server without a password, for what turns out to be right after all. Prints each line that shows the
canary, or that a signal ended, and how many were tried; exits 1 where there was one.
"""
import concurrent.futures
import os
import subprocess
import sys
import tempfile

CANARY = "hunter2canary"

# What a password stands in.
URLS = [
    f"redis://:{CANARY}@127.0.0.1:1",
    f"redis://ann:{CANARY}@127.0.0.1:1/0",
    f"redis://{CANARY}@127.0.0.1:1",
    f"redis://ann:{CANARY}",
    f"redis://:{CANARY}",
    f"redis://{CANARY}:x",
    f"redis:/{CANARY}@127.0.0.1",
    f"redis:{CANARY}@127.0.0.1",
    f"ann:{CANARY}@127.0.0.1",
    f"{CANARY}@127.0.0.1:1",
    f"rediss://ann:{CANARY}/x@127.0.0.1:1",
    f"unix://:{CANARY}@/nowhere",
    f"redis+sentinel://ann:{CANARY}@127.0.0.1:1/",
    f"redis://ann:{CANARY}@127.0.0.1:1,redis://:{CANARY}@127.0.0.2:1",
    f"redis://127.0.0.1:1?password={CANARY}",
    f"https://ann:{CANARY}@127.0.0.1/",
]
LONE_HOSTS = [f"redis://{CANARY}", f"rediss://{CANARY}/1", f"redis+cluster://{CANARY}", f"redis+sentinel://{CANARY}/m"]
VERBS = {"run": ["k", "--", "true"], "acquire": ["k"], "renew": ["k", "token"], "release": ["k", "token"], "status": ["k"]}
# Options with a value, those with one letter beside their name.
OPTIONS = {
    "ttl": "t", "wait": "w", "conflict-exit-code": "E", "kill-after": "k", "timeout": "", "signal": "", "on-lost": "",
    "label": "", "slots": "", "with": "", "hold": "", "once": "", "replicas": "", "while-pid": "", "grace": "",
    "server": "", "prefix": "", "compat": "", "password-file": "", "connect-timeout": "", "config": "", "format": "",
    "log-format": "",
}
FLAGS = {"nonblock": "n", "quiet": "q", "verbose": "v", "shared": "s", "json": "", "no-renew": "", "force": ""}
# What other programs call it.
FOREIGN = ["-a", "-u", "--pass", "--password", "--passwd", "--auth", "--url", "--uri", "--user", "--redis", "--sever",
           "--password_file", "--passwordfile", "-p", "-P", "-server", "-password", "-password-file", "-S"]


def words():
    """Each word that a password may stand in, with what may stand before it."""
    for url in URLS:
        for option, letter in OPTIONS.items():
            yield [f"--{option}", url]
            if letter:
                yield [f"-{letter}{url}"]
                yield [f"-{letter}={url}"]
    for option in FLAGS:
        yield [f"--{option}={URLS[1]}"]
    for name in FOREIGN:
        for value in (CANARY, URLS[1], URLS[2]):
            yield [name, value]
            yield [f"{name}={value}"]
            if not name.startswith("--"):
                yield [name + value]
    for value in (CANARY, f"/nowhere/{CANARY}", f"./{CANARY}", f"~/{CANARY}", f"-{CANARY}", f"file:{CANARY}", f"{CANARY}/",
                  f"$({CANARY})", f"'{CANARY}'", "x" * 300 + CANARY):
        yield ["--password-file", value]
        yield [f"--password-file={value}"]
    for name in ("ttl", "wait", "connect-timeout", "conflict-exit-code", "slots", "signal", "compat", "log-format"):
        yield [f"--{name}", "--password-file", CANARY]
        yield [f"--{name}={URLS[1]}", "--server", "redis://127.0.0.1:1"]


def command_lines():
    """Arguments of rlock, each with the environment and the file that go with them."""
    for i, word in enumerate(words()):
        verb = list(VERBS)[i % len(VERBS)]
        rest = [f"k{i}", *VERBS[verb][1:]]  # what is locked after all, another line does not wait for
        yield [verb, *word, *rest], {}, None
    for url in URLS:
        for verb, rest in VERBS.items():
            yield [url, verb, *rest], {}, None
            yield [verb, *rest[:1], f"--server={url}", *rest[1:]], {}, None
        for verb in ("status", "acquire", "renew", "release", "help"):
            yield [verb, "k", "token", url], {}, None
        yield ["acquire", "k", f"-server={url}"], {}, None
        yield [f"--server={url}", "runn", "k", "true"], {}, None
    for verb, rest in VERBS.items():
        yield [f"--password-file={CANARY}", verb, *rest], {}, None
        yield [verb, rest[0], f"--password-file={CANARY}", *rest[1:]], {}, None
        yield [verb, rest[0], "--password", CANARY, *rest[1:]], {}, None
        yield [verb, rest[0], f"--password={CANARY}", *rest[1:]], {}, None
    for name in ("SERVER", "TTL", "WAIT", "CONFIG", "PASSWORD_FILE", "PREFIX", "COMPAT", "LOG_FORMAT", "SHOW_COMMAND",
                 "PASSWORD", "URL", "SEVER", "GRACE", "REPLICAS"):
        for url in URLS:
            yield ["run", "-n", "k", "--", "true"], {f"RLOCK_{name}": url}, None
    for name in ("SERVER", "PASSWORD_FILE", "PASSWORD", "URL", "SEVER"):
        yield ["run", "-n", "k", "--", "true"], {f"RLOCK_{name}": CANARY}, None
    for line in ("password = {}", "password-file = {}", "password-file {}", "password-file: {}", "server = {}", "server {}",
                 "server: {}", "{}", "requirepass {}"):
        yield ["acquire", "-n", "k"], {}, line.format(CANARY)
    for url in URLS:
        for line in ("{}", "server {}", "server: {}", "server = {} x", "server = '{}", 'sever = "{}"', "ttl = '{}'", "'{}' = 1",
                     "[{}]", "[{}", "password = {}", "password-file = '{}'", "password-file {}", "[run]\nprefix2 = '{}'",
                     "{}: x", '{{"server": "{}"}}', "export RLOCK_SERVER={}", "quiet = '{}'", "server = ['{}', x]",
                     "json = true\nformat = '{}'", "compat = '{}'", "config = '{}'", "{} = x", "--server {}",
                     "server = '{0}'\nserver = '{0}' #"):
            yield ["acquire", "-n", "k"], {}, line.format(url)


def lone_hosts():
    for host in LONE_HOSTS:
        yield ["acquire", "-n", "k"], {"RLOCK_SERVER": host}, None
        yield ["status", "-v", "--server", host], {}, None
        yield ["run", "-v", "--log-format=json", "-n", "k", "true"], {}, f"server = {host}"
        yield ["status", "--server", f"{host},redis://127.0.0.1:1,redis://127.0.0.2:1"], {}, None


def complaints(case):
    """What is wrong with how rlock answers this one, if anything is."""
    arguments, environment, text = case
    with tempfile.TemporaryDirectory() as directory:
        if text is not None:
            with open(f"{directory}/conf", "w", encoding="utf-8") as file:
                file.write(text + "\n")
            environment = {**environment, "RLOCK_CONFIG": "conf"}
        if "RLOCK_SERVER" not in environment and not any("--server" in word for word in arguments) and not text:
            environment = {**environment, "RLOCK_SERVER": f"unix://{sys.argv[2]}"}
        usual = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": directory, "XDG_CONFIG_HOME": directory}
        extra = [] if any("connect-timeout" in word for word in arguments) else ["--connect-timeout=100ms"]
        done = subprocess.run([sys.argv[1], arguments[0], *extra, *arguments[1:]] if arguments[0] in VERBS else
                              [sys.argv[1], *arguments], env={**usual, **environment}, cwd=directory, timeout=20,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    said = done.stdout.decode(errors="replace")
    # Cut short, or only the first of it, it would still help whoever reads it.
    if CANARY[:9].lower() in said.lower() or done.returncode < 0:
        return f"{environment} {text!r} rlock {' '.join(arguments)}\n  {done.returncode}: {said.strip()}"
    return None


def main():
    cases = list(command_lines()) + list(lone_hosts())
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        found = [line for line in pool.map(complaints, cases) if line]
    print("\n".join(found))
    print(f"{len(cases)} lines, {len(found)} of them wrong")
    sys.exit(bool(found))


main()
