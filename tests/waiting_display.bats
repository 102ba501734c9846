# What one who waits at a terminal sees: one line of standard error, redrawn each second and gone in the end.
load helper

setup_file() { start_server; }
teardown_file() { stop_servers; }

# on_terminal ARGUMENT...: a script in Python, from standard input, that has Terminal. Debian's packages are for its own
# Python.
on_terminal() {
  local python=/usr/bin/python3
  [ -x $python ] || python=python3
  $python -c 'import pexpect, pyte' || skip 'needs pexpect and pyte'
  { cat "$BATS_TEST_DIRNAME/terminal.py" && echo 'key, more = sys.argv[1], sys.argv[2:]' && cat; } >script.py
  LANG=C.UTF-8 $python -B script.py "$key" "$@"
}

@test "from the first second on: how long, the key, its place, who has it, since when, and the label; then it is gone" {
  background rlock run --label $'https://ci/7 日本\e[31m' "$key" -- sh -c 'until [ -e go ]; do sleep 0.01; done'
  until_true 10 is_held
  background rlock run "$key" -- true
  until_true 10 waiting 1
  on_terminal <<-'END'
	import re
	with Terminal("rlock", "run", key, "--", "echo", "the command", columns=130) as terminal:
	    began = time.monotonic()
	    line, = terminal.until(lambda lines: lines)
	    assert time.monotonic() - began > 0.9, "too soon"
	    pattern = r"rlock: waiting \d+s for %s, 1 ahead; held by \w+@\S+ since \d\d:\d\d:\d\d \(\d+s\): https://ci/7 日 *本 *\\x1b\[31m" % key
	    assert re.fullmatch(pattern, line), line
	    # In its place, and the cursor with it.
	    terminal.until_drawn(2)
	    # Each second: a heartbeat draws it too, but not three seconds in a row.
	    def drawn_each_second(_):
	        seconds = {int(each) for each in re.findall(rb"rlock: waiting (\d+)s", terminal.all)}
	        return any({each, each + 1, each + 2} <= seconds for each in seconds)
	    line, = terminal.until(drawn_each_second, 50)
	    assert (terminal.screen.cursor.x, terminal.screen.cursor.y) == (0, 0)
	    assert b"\n" not in terminal.all
	    open("go", "w").close()
	    terminal.until_shown("the command")
	    assert terminal.ended() == 0
	    assert terminal.lines() == ["the command"], terminal.lines()
	    assert b"\x1b[J" in terminal.all[:terminal.all.index(b"the command")].rsplit(b"waiting", 1)[1]
	END
  finish
}

@test "a wait that is over within a second shows nothing, nor does -q, nor a log for programs" {
  rlock acquire -t 10m "$key"
  on_terminal <<-'END'
	all_options = (["-w", "300ms"], ["-q", "-w", "1200ms"], ["--log-format", "json", "-w", "1200ms"])
	terminals = [Terminal("rlock", "run", *options, key, "--", "true", columns=500) for options in all_options]
	for options, terminal in zip(all_options, terminals):
	    with terminal:
	        assert terminal.ended() == 75
	        assert b"\x1b" not in terminal.all and b"\r" not in terminal.all.replace(b"\r\n", b""), terminal.all
	        assert (b"busy" in terminal.all) == ("-q" not in options), terminal.all
	END
}

@test "it is as wide as the terminal is now, in columns, not in bytes" {
  key=日本語日本語日本語日本語日本語
  rlock acquire --label 'ラベルラベルラベルラベルラベルラベル' "$key"
  on_terminal <<-'END'
	with Terminal("rlock", "run", key, "--", "true", columns=70) as terminal:
	    def shown():
	        # An emulator has an empty cell behind each wide character.
	        return [terminal.screen.buffer[0][x].data for x in range(terminal.screen.columns)]
	    terminal.until_drawn()
	    assert len(terminal.lines()) == 1 and shown()[68] != " " and shown()[69] == " ", terminal.lines()
	    terminal.resize(40)
	    terminal.until_drawn(terminal.all.count(b"rlock: waiting") + 2)
	    assert len(terminal.lines()) == 1 and "…" in shown() and shown()[39] == " ", terminal.lines()
	END
}

@test "Ctrl-C and TERM leave a clean line, and so does a message" {
  rlock acquire -t 10m "$key"
  on_terminal <<-'END'
	wanted = {"Ctrl-C": 130, "TERM": 143, "message": 75}
	terminals = {}
	for end in wanted:
	    options = ["-w", "6s"] if end == "message" else []
	    terminals[end] = Terminal("rlock", "run", *options, key, "--", "true", columns=500)
	for end, terminal in terminals.items():
	    with terminal:
	        terminal.until_drawn()
	        if end == "Ctrl-C":
	            terminal.type("\x03")
	        elif end == "TERM":
	            terminal.kill(signal.SIGTERM)
	        assert terminal.ended() == wanted[end]
	        left = [line.split(":")[:2] for line in terminal.lines()]
	        assert left == ([["rlock", " busy"]] if end == "message" else []), terminal.lines()
	        assert terminal.screen.cursor.x == 0
	END
  until_true 10 waiting 0
}

@test "readers, slots, a library, --hold and --with: who has the key that is waited for" {
  rlock acquire -t 10m -s "$key-readers"
  rlock acquire -t 10m -s "$key-readers"
  rlock acquire -t 10m --slots 1 "$key-slots"
  redis set "rlock:$key-library" theirs px 60000
  rlock run --hold 1m "$key-hold" -- true
  rlock acquire -t 10m "$key-with"
  on_terminal <<-'END'
	wanted = {"readers": "next; held by several, one of them ", "slots": "next; held by several, one of them ",
	          "library": "next; held by a program other than rlock", "hold": ", kept by --hold", "with": "next; held by "}
	terminals = {}
	for name in wanted:
	    options = ["--slots", "1"] if name == "slots" else ["--with", f"{key}-first"] if name == "with" else []
	    terminals[name] = Terminal("rlock", "run", *options, f"{key}-{name}", "--", "true", columns=140)
	for name, terminal in terminals.items():
	    with terminal:
	        terminal.until_shown(wanted[name])
	        terminal.until_shown(f"for {key}-{name}, ")
	END
}

@test "a server that is down: for how long, and why; then who has it again" {
  own_server --appendonly yes --appendfsync always
  rlock acquire --ttl 10m "$key"
  (until_true 20 test -e shown && own_server --appendonly yes --appendfsync always) 3>&- &
  on_terminal "$(server_pid "own-$BATS_TEST_NUMBER")" <<-'END'
	import re
	with Terminal("rlock", "run", key, "--", "true", columns=160) as terminal:
	    terminal.until_shown("held by ")
	    os.kill(int(more[0]), signal.SIGKILL)
	    terminal.until(lambda lines: re.search(r"; no server for \d+s: cannot connect to unix://", lines[-1]))
	    open("shown", "w").close()
	    terminal.until_shown("held by ")
	END
}

@test "a terminal that cannot redraw a line gets one, once, and no escape sequences" {
  rlock acquire -t 10m "$key"
  on_terminal <<-'END'
	import re
	terminals = [Terminal("rlock", "run", "-w", "6s", key, "--", "true", columns=200, TERM=term) for term in ("dumb", "")]
	for terminal in terminals:
	    with terminal:
	        assert terminal.ended() == 75
	        first, last = terminal.lines()
	        assert re.match(rf"rlock: waiting \d+s for {key}, ", first) and last.startswith("rlock: busy: "), terminal.lines()
	        assert b"\x1b" not in terminal.all
	END
}

@test "in the background it goes on waiting, and leaves the terminal to the shell" {
  rlock acquire -t 10m "$key"
  on_terminal <<-'END'
	with Terminal("bash", "--norc", "--noprofile", "-i", columns=120, rows=30, PS1="ready> ") as terminal:
	    terminal.type(f"stty tostop; rlock run {key} -- echo the command\n")
	    terminal.until_drawn()
	    terminal.type("\x1a")
	    terminal.until_shown("Stopped")
	    terminal.type("bg; echo its number: $!\n")
	    terminal.until_shown("its number: ")
	    drawn = terminal.all.count(b"rlock: waiting")
	    terminal.for_seconds(1.5)
	    assert terminal.all.count(b"rlock: waiting") == drawn
	    terminal.type("jobs\n")
	    terminal.until_shown("Running")
	    terminal.type("fg\n")
	    terminal.until(lambda lines: terminal.all.count(b"rlock: waiting") > drawn)
	    terminal.type("\x03")
	    terminal.until(lambda lines: lines[-1].endswith("ready>"))
	    assert not any("waiting" in line for line in terminal.lines()[-2:]), terminal.lines()
	END
}

@test "one that was stopped with Ctrl-Z leaves the line to the next one in the foreground" {
  rlock acquire -t 10m "$key"
  on_terminal <<-'END'
	with Terminal("bash", "--norc", "--noprofile", "-i", columns=120, rows=30, PS1="ready> ") as terminal:
	    terminal.type(f"rlock run {key} -- true\n")
	    terminal.until_drawn()
	    terminal.type("\x1a")
	    terminal.until_shown("Stopped")
	    drawn = terminal.all.count(b"rlock: waiting")
	    terminal.type(f"rlock run {key} -- true\n")
	    terminal.until_drawn(drawn + 2)
	    terminal.type("\x03")
	    terminal.until(lambda lines: lines[-1].endswith("ready>"))
	    terminal.type("fg\n")
	    drawn = terminal.all.count(b"rlock: waiting")
	    terminal.until(lambda lines: terminal.all.count(b"rlock: waiting") > drawn)
	    terminal.type("\x03")
	END
}

@test "a job that was started in the background says it once, and a shell goes on with its prompt" {
  rlock acquire -t 10m "$key"
  on_terminal <<-'END'
	with Terminal("bash", "--norc", "--noprofile", "-i", columns=120, rows=30, PS1="ready> ") as terminal:
	    terminal.type(f"stty tostop; rlock run {key} -- true & rlock run {key} -- true &\n")
	    terminal.until_drawn(2)
	    terminal.for_seconds(1.5)
	    assert terminal.all.count(b"rlock: waiting") == 2 and b"\x1b[J" not in terminal.all, terminal.all
	    terminal.type("jobs\n")
	    terminal.until(lambda lines: sum("Running" in line for line in lines) == 2)
	    terminal.type("kill %1 %2; wait; echo both are $((1 - 1)) jobs\n")
	    terminal.until_shown("both are 0 jobs")
	# A script has no job control: its jobs stay in its process group.
	with Terminal("sh", "-c", f"rlock run -w 6s {key} -- true & rlock run -w 6s {key} -- true & wait", columns=120) as terminal:
	    assert terminal.ended() == 0
	    assert terminal.all.count(b"rlock: waiting") == 2 and b"\x1b" not in terminal.all, terminal.all
	    assert [line.split()[1] for line in terminal.lines()] == ["waiting"] * 2 + ["busy:"] * 2, terminal.lines()
	END
}

@test "of several in the foreground one draws, the others say it once; the next one draws when that has its lock" {
  rlock acquire -t 10m "$key-a" >token
  rlock acquire -t 10m "$key-b"
  on_terminal <<-'END'
	import subprocess
	with Terminal("sh", "-c", f"printf 'a\\nb\\n' | xargs -P 2 -I % rlock run {key}-% -- echo the command of %", columns=120) as terminal:
	    def waiting():
	        return [line.split("for ")[1][:len(key) + 2] for line in terminal.lines() if line.startswith("rlock: waiting")]
	    terminal.until(lambda lines: len(waiting()) == 2)
	    said, drawn = waiting()
	    assert said != drawn
	    terminal.until_drawn(3, f"for {drawn},".encode())
	    # Nothing of either stands where the other's was: one line each.
	    assert len(terminal.lines()) == 2 and terminal.all.count(b"for " + said.encode()) == 1, terminal.lines()
	    subprocess.run(["rlock", "release", "--force", drawn], stderr=subprocess.DEVNULL, check=True)
	    terminal.until_shown(f"the command of {drawn[-1]}")
	    terminal.until(lambda lines: lines[-1].startswith("rlock: waiting") and f"for {said}," in lines[-1])
	    subprocess.run(["rlock", "release", "--force", said], stderr=subprocess.DEVNULL, check=True)
	    terminal.until_shown(f"the command of {said[-1]}")
	    assert terminal.ended() == 0
	    # The second one may have drawn its line before the first command said this on it.
	    told = [line[:len("the command of a")] for line in terminal.lines()[1:]]
	    assert told == [f"the command of {name[-1]}" for name in (drawn, said)], terminal.lines()
	END
}

@test "what a command said without a newline stands, where another's line is gone" {
  rlock acquire -t 10m "$key"
  rlock acquire -t 10m "$key-b"
  printf '#!/bin/sh\nuntil [ -e drawn ]; do sleep 0.01; done\nexec rlock run %s -- ./job\n' "$key-b" >second
  printf '#!/bin/sh\nuntil [ -e gone ]; do sleep 0.01; done\nprintf partial\nrlock release -q --force %s\nsleep 600\n' "$key-b" >job
  chmod +x second job
  on_terminal <<-'END'
	import subprocess
	commands = f"printf 'rlock run -w 10s {key} -- true; touch gone\\n./second\\n'"
	with Terminal("sh", "-c", f"{commands} | xargs -P 2 -I % sh -c %", columns=120) as terminal:
	    terminal.until_drawn()
	    open("drawn", "w").close()
	    terminal.until_drawn(1, f"for {key}-b,".encode())
	    subprocess.run(["rlock", "release", "--force", f"{key}-b"], stderr=subprocess.DEVNULL, check=True)
	    terminal.until_shown("lost ")
	    assert terminal.lines()[-1].startswith("partialrlock: lost "), terminal.lines()
	END
}

@test "in a pipe its line is on the terminal, and the pipe has what the command says" {
  background rlock run "$key" -- sh -c 'until [ -e go ]; do sleep 0.01; done'
  until_true 10 is_held
  on_terminal <<-'END'
	with Terminal("bash", "-c", f"rlock run {key} -- echo through the pipe | cat >said; token=$(rlock acquire {key}); echo $token >token") as terminal:
	    terminal.until_drawn()
	    open("go", "w").close()
	    assert terminal.ended() == 0 and terminal.lines() == [], terminal.lines()
	assert open("said").read() == "through the pipe\n" and len(open("token").read()) == 33
	END
  finish
}

@test "without a terminal nothing is said; and the server is asked no more than by heartbeats, with one or without" {
  own_server
  rlock acquire -t 10m "$key"
  rlock run -w 20s "$key" -- true 2>said 3>&- &
  until_true 10 waiting 1
  on_terminal "$sock" <<-'END'
	import subprocess
	def scripts():
	    stats = subprocess.run(["redis-cli", "-s", more[0], "info", "commandstats"], capture_output=True, text=True).stdout
	    return sum(int(line.split("calls=")[1].split(",")[0]) for line in stats.splitlines() if line.startswith("cmdstat_evalsha"))
	with Terminal("rlock", "run", key, "--", "true") as terminal:
	    terminal.until_drawn()
	    began, before = time.monotonic(), scripts()
	    terminal.until_drawn(3)
	    assert scripts() - before <= 1 + (time.monotonic() - began) / 5, scripts() - before
	END
  ended 75 $!
  [ "$(cut -d' ' -f1-2 said)" = 'rlock: busy:' ]
}

# ci_waiter NAME OPTION...: waits for $key as in a CI job, where standard error is a file, ./NAME.
ci_waiter() {
  local name=$1
  shift
  CI=true background rlock run "$@" "$key" -- true 2>"$name"
}

@test "in CI, without a terminal: one line after a second, then one each minute; cron, -q and CI='' get none" {
  background rlock run --label https://ci/7 "$key" -- sh -c 'until [ -e go ]; do sleep 0.01; done'
  until_true 10 is_held
  ci_waiter said
  until_true 10 waiting 1
  ci_waiter quiet -q
  ci_waiter objects --log-format json
  CI='' background rlock run "$key" -- true 2>empty
  background env -u CI rlock run "$key" -- true 2>cron
  until_true 10 test -s said
  sleep 3 # in which a line a second would show
  [ "$(grep -c '' said)" = 1 ]
  grep -qE "^rlock: waiting [0-9]+s for $key, next; held by $(id -un)@[^ ]+ since [0-9:]{8} \\([0-9]+s\\): https://ci/7$" said
  until_true 90 eval '[ "$(grep -c "" said)" = 2 ]'
  grep -qE '^rlock: waiting (1m|[6-9][0-9]s).* for ' said
  touch go
  finish
  [ ! -s quiet ]
  [ ! -s empty ]
  [ ! -s cron ]
  run ! grep -q '^rlock' objects
}
