# rlock status --watch: a live screen, which leaves the terminal as it was however it ends.
load helper

setup_file() {
  start_server
  cat >"$BATS_FILE_TMPDIR/watching.py" <<-'END'
	import os, re, signal, subprocess, sys, termios, time
	import pexpect

	rlock = os.environ["RLOCK"]
	entered, left = "\x1b[?1049h", "\x1b[?7h\x1b[?25h\x1b[?1049l"
	os.environ.update(TERM="xterm", NO_COLOR="1")


	def modes(child):
	    return termios.tcgetattr(child.child_fd)[:4]


	def own_server():
	    """The pid of the test's own server."""
	    with open(os.path.join(os.environ["BATS_FILE_TMPDIR"], os.environ["own"] + ".pid")) as file:
	        return int(file.read())


	class Watch:
	    def __init__(self, *words, rows=24, columns=100):
	        self.child = pexpect.spawn("sh", ["-c", 'read go; exec "$@"', "sh", rlock, "status", "--watch", *words],
	                                   dimensions=(rows, columns), timeout=120, encoding="utf-8", echo=True)
	        self.child.delaybeforesend = None
	        self.before = modes(self.child)
	        self.child.send("\n")

	    def expect(self, pattern):
	        """Waits until it is drawn; returns the drawing up to there."""
	        self.child.expect(pattern)
	        return self.child.before.split("\x1b[H")[-1] + self.child.after

	    def ends(self, status):
	        rest = self.child.read()
	        self.child.close()
	        assert left in rest, rest
	        assert rest.endswith(left), rest
	        found = self.child.exitstatus
	        assert found == status, (found, self.child.signalstatus)
	END
}
teardown_file() { stop_servers; }

watching() { own=own-$BATS_TEST_NUMBER PYTHONPATH=$BATS_FILE_TMPDIR timeout 120 python3 -; }

@test "it shows who comes and goes, and q leaves the terminal as it was" {
  redis flushall
  watching <<-'END'
	from watching import *
	watch = Watch()
	watch.expect(re.escape(entered))
	watch.expect("0 locks, 0 held, 0 waiting")
	assert modes(watch.child) != watch.before  # no echo
	token = subprocess.check_output([rlock, "acquire", "-t", "1m", "come"], text=True).strip()
	watch.expect("1 lock, 1 held, 0 waiting")
	watch.expect("come  held +[^ ]+@[^ ]+ pid ")
	waiter = subprocess.Popen([rlock, "run", "come", "--", "true"])
	watch.expect("1 lock, 1 held, 1 waiting")
	subprocess.check_call([rlock, "release", "come", token])
	watch.expect("come  free .*exit 0, ")
	waiter.wait()
	watch.child.send("xq")
	watch.child.expect(re.escape(left))
	until = time.time() + 60
	while modes(watch.child) != watch.before and time.time() < until:
	    time.sleep(0.01)
	assert modes(watch.child) == watch.before
	watch.child.expect(pexpect.EOF)
	watch.child.close()
	assert watch.child.exitstatus == 0, watch.child
	END
}

@test "Ctrl-C ends it with 0, as watch(1), another signal with 128 and its number" {
  watching <<-'END'
	from watching import *
	for how, status in (("\x03", 0), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGQUIT, 131),
	                    (signal.SIGUSR1, 138), (signal.SIGALRM, 142)):
	    watch = Watch("one")
	    watch.expect("state  free")
	    watch.child.send(how) if isinstance(how, str) else watch.child.kill(how)
	    watch.ends(status)
	END
}

@test "it fits the screen as that is now, and says how many more there are" {
  redis flushall
  local i
  for i in $(seq 40); do redis set "rlock:job$i" x px 600000 >/dev/null; done
  watching <<-'END'
	from watching import *
	watch = Watch(rows=12)
	seen = watch.expect(r"\.\.\. 0 above, 32 below; arrows, PageUp and PageDown scroll, q ends")
	assert len(seen.split("\r\n")) == 12, seen
	assert re.search("job8  held", seen) and "job9 " not in seen, seen
	watch.child.setwinsize(6, 30)
	seen = watch.expect(r"\.\.\. 0 above, 38 below[^\n]*")
	lines = re.sub(r"\x1b\[[0-9?]*[A-Za-z]", "", seen).replace("\r", "").split("\n")
	assert len(lines) == 6 and max(map(len, lines)) <= 30, lines
	watch.child.setwinsize(60, 120)
	seen = watch.expect("job40  held")
	assert "above" not in seen
	watch.child.send("q")
	watch.ends(0)
	END
  redis flushall
  rlock acquire -t 10m "$key" >/dev/null
  redis eval 'for i = 1, 30 do redis.call("ZADD", KEYS[1], i, "w" .. i) end' 1 "rlock:q:{rlock:$key}"
  key=$key watching <<-'END'
	from watching import *
	watch = Watch(os.environ["key"], rows=16)
	seen = watch.expect(r"\.\.\. 0 above, ([0-9]+) below")
	assert "waiting  30" in seen and len(seen.split("\r\n")) == 16, seen
	hidden = watch.child.match[1]
	watch.child.send("G")
	seen = watch.expect(r"\.\.\. %s above, 0 below" % hidden)
	assert "waiting  30" not in seen and len(seen.split("\r\n")) == 16, seen
	watch.child.send("q")
	watch.ends(0)
	END
}

@test "arrows, j and k, PageUp and PageDown scroll what does not fit, at once, and the heading stays" {
  redis flushall
  local i
  for i in $(seq 40); do redis set "rlock:job$i" x px 600000 >/dev/null; done
  watching <<-'END'
	from watching import *
	watch = Watch(rows=13)  # ten rows of the list, one of them for what is hidden
	seen = watch.expect(r"\.\.\. 0 above, 31 below")
	first = 0
	for keys, step in (("\x1b[B", 1), ("j", 1), ("\x1bOB", 1), ("k", -1), ("\x1b[A", -1), ("\x1b[6~", 8), (" ", 8),
	                   ("\x1b[5~", -8), ("G", 31), ("g", -31), ("\x1b[F", 31), ("\x1b[H", -31), ("jjj", 3)):
	    first = min(max(first + step, 0), 31)
	    watch.child.send(keys)
	    seen = watch.expect(r"\.\.\. %d above, %d below" % (first, 31 - first))
	    assert re.search("KEY +STATE", seen), seen
	    assert "job%d " % (first + 1) in seen and "job%d " % (first + 9) in seen, seen
	    assert "job%d " % first not in seen and "job%d " % (first + 10) not in seen, seen
	watch.child.send("q")
	watch.ends(0)
	END
}

@test "Ctrl-Z gives the terminal back, and fg draws again" {
  watching <<-'END'
	from watching import *
	shell = pexpect.spawn("bash", ["--norc", "--noprofile"], dimensions=(20, 80), timeout=120, encoding="utf-8",
	                      env={**os.environ, "PS1": "$ "})
	shell.sendline("bind 'set enable-bracketed-paste off'; stty -a >before; %s status --watch one" % rlock)
	shell.expect("state  free")
	shell.send("\x1a")
	shell.expect(re.escape(left))
	shell.expect("Stopped")
	shell.sendline("stty -a >during; echo here-$?")
	shell.expect("here-0")
	assert open("before").read() == open("during").read()
	shell.sendline("fg")
	shell.expect(re.escape(entered))
	shell.expect("state  free")
	shell.send("q")
	shell.expect(re.escape(left))
	shell.sendline("stty -a >after; echo there-$?")
	shell.expect("there-0")
	assert open("before").read() == open("after").read()
	# In the background it keeps quiet, and the server has peace.
	shell.sendline("%s status --watch one & sleep 1.2; echo over-$?" % rlock)
	shell.expect("over-0")
	assert entered not in shell.before, shell.before
	shell.sendline("fg")
	shell.expect("state  free")
	shell.send("\x03")
	shell.expect(re.escape(left))
	shell.sendline("exit")
	shell.expect(pexpect.EOF)
	END
}

@test "an outage is shown with what was seen last, and it goes on when the server is back" {
  not_under_acl 'a server without users takes its place'
  own_server
  rlock acquire -t 10m "$key" >/dev/null
  key=$key watching <<-'END'
	from watching import *
	socket = os.path.join(os.environ["BATS_FILE_TMPDIR"], os.environ["own"] + ".sock")
	watch = Watch()
	watch.expect(os.environ["key"] + "  held")
	os.kill(own_server(), signal.SIGKILL)
	seen = watch.expect("no answer for [0-9]+s, trying again: [^\r]*" + re.escape(socket))
	watch.expect(os.environ["key"] + "  held")
	server = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", socket, "--save", ""],
	                          stdout=subprocess.DEVNULL)
	try:
	    seen = watch.expect("0 locks, 0 held, 0 waiting")
	    watch.child.send("q")
	    watch.ends(0)
	finally:
	    server.kill()
	# Where the first look fails, there is no screen at all.
	watch = Watch("--connect-timeout", "200ms")
	rest = watch.child.read()
	watch.child.close()
	assert watch.child.exitstatus == 69 and entered not in rest, rest
	END
}

@test "TERM ends it while the server does not answer, and while the terminal takes nothing" {
  own_server
  watching <<-'END'
	from watching import *
	server = own_server()
	watch = Watch("one")
	watch.expect("state  free")
	os.kill(server, signal.SIGSTOP)
	try:
	    time.sleep(1.2)  # it has asked
	    watch.child.kill(signal.SIGTERM)
	    watch.ends(143)
	finally:
	    os.kill(server, signal.SIGCONT)
	watch = Watch("one")
	watch.expect("state  free")
	watch.child.send("\x13")  # Ctrl-S
	time.sleep(1.2)
	watch.child.kill(signal.SIGTERM)
	watch.child.expect(pexpect.EOF)
	watch.child.close()
	assert watch.child.exitstatus == 143, watch.child
	END
}

@test "it asks no more than once a second" {
  own_server
  watching <<-'END'
	from watching import *
	began = time.time()
	watch = Watch("one")
	for _ in range(3):
	    watch.expect("state  free")
	watch.child.send("q")
	watch.ends(0)
	open("took", "w").write(str(int(time.time() - began)))
	END
  local calls
  calls=$(redis info commandstats | sed -n 's/^cmdstat_eval[sha]*:calls=\([0-9]*\),.*/\1/p' | awk '{ n += $1 } END { print n + 0 }')
  # The first is asked twice, since the server does not know the script.
  ((calls >= 3 && calls <= $(cat took) + 3))
}

@test "without a terminal, or with what does not go together, it is refused" {
  expect_error 64 '--watch needs a terminal' rlock status --watch
  expect_error 64 '--watch' rlock status --watch --json
  expect_error 64 '--watch' rlock status --watch --format keys
  expect_error 64 '--watch' rlock status --watch -q
  expect_error 64 '--watch' rlock status --watch --exit-code
  watching <<-'END'
	from watching import *
	os.environ["TERM"] = "dumb"
	watch = Watch()
	rest = watch.child.read()
	watch.child.close()
	assert watch.child.exitstatus == 64 and entered not in rest, rest
	END
}

@test "a server that stood still for a while is asked as often as before" {
  own_server
  watching <<-'END'
	from watching import *
	server = own_server()
	watch = Watch()
	watch.expect("0 locks")
	os.kill(server, signal.SIGSTOP)
	time.sleep(4)
	os.kill(server, signal.SIGCONT)
	subprocess.check_call([rlock, "acquire", "-t", "10m", "new"], stdout=subprocess.DEVNULL)
	watch.expect("1 lock,")
	def calls():
	    stats = subprocess.check_output(["redis-cli", "-s", os.environ["sock"], "info", "commandstats"], text=True)
	    return sum(int(count) for count in re.findall(r"cmdstat_eval(?:sha)?:calls=(\d+)", stats))
	before = calls()
	time.sleep(8)
	assert calls() - before >= 3, "is it still resting?"
	END
}
