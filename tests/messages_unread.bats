# A standard error that nobody reads: a pipe that is full, a terminal that takes nothing.
load helper

setup_file() { start_server; }
teardown_file() { stop_servers; }

# full_pipe: ./full takes nothing more; descriptor 9 keeps it open.
full_pipe() {
  mkfifo full
  exec 9<>full
  dd if=/dev/zero of=full bs=4096 count=1000 oflag=nonblock 2>/dev/null || true
}

@test "who acquires at once, or after a wait, starts the command though the pipe is full" {
  local option
  full_pipe
  for option in -v --log-format=json; do
    timeout -s KILL 120 rlock run "$option" -t 60s "$key" -- touch "at-once$option" 2>full 9>&-
    [ -e "at-once$option" ]
    rlock acquire -t 800ms "$key" >token
    timeout -s KILL 120 rlock run "$option" -t 60s "$key" -- touch "later$option" 2>full 9>&-
    [ -e "later$option" ]
  done
  timeout -s KILL 120 rlock acquire -v "$key" 2>full 9>&- | grep -q .
}

has_asked() { redis info commandstats | grep -q '^cmdstat_evalsha:'; }

@test "a message that nobody reads keeps no signal out" {
  full_pipe
  rlock acquire -t 10m "$key"
  local number
  for number in TERM INT HUP; do
    redis config resetstat
    # bash starts a job in the background with SIGINT ignored.
    env --default-signal=INT rlock run -n "$key" -- true 2>full 3>&- 9>&- &
    until_true 10 has_asked
    sleep 0.3 # it has its answer, and writes
    kill -0 $!
    kill -s $number $!
    until_true 5 is_gone $!
    ended 75 $!
  done
}

@test "a terminal that takes nothing does not keep the command from its turn, and the line is gone when it takes again" {
  rlock acquire -t 10m "$key"
  /usr/bin/python3 -c 'import pexpect, pyte' || skip 'needs pexpect and pyte'
  cp "$BATS_TEST_DIRNAME/terminal.py" script.py
  cat >>script.py <<-'END'
	import subprocess
	with Terminal("rlock", "run", "-v", sys.argv[1], "--", "touch", "turn", columns=200) as terminal:
	    terminal.until_drawn()
	    terminal.type("\x13")  # Ctrl-S
	    subprocess.run(["rlock", "release", "--force", sys.argv[1]], stderr=subprocess.DEVNULL, check=True)
	    end = time.monotonic() + 120
	    while not os.path.exists("turn"):
	        assert time.monotonic() < end, "never got its turn"
	        time.sleep(0.05)
	    terminal.type("\x11")
	    assert terminal.ended() == 0
	with Terminal("rlock", "run", "-w", "6s", sys.argv[2], "--", "true", columns=200) as terminal:
	    terminal.until_drawn()
	    terminal.type("\x13")
	    time.sleep(6)
	    terminal.type("\x11")
	    assert terminal.ended() == 75
	    line, = terminal.lines()
	    assert line.startswith("rlock: busy: "), line
	END
  rlock acquire -t 10m "$key-busy"
  LANG=C.UTF-8 /usr/bin/python3 -B script.py "$key" "$key-busy"
}

@test "a connection that hangs does not keep a waiter from its turn" {
  # A line has more bytes than there is room for in the end.
  key+=$(printf '日%.0s' {1..160})
  rlock acquire -t 5s --label "$(printf '日%.0s' {1..80})" "$key"
  python3 - "$key" <<-'END'
	import fcntl, os, pty, select, signal, struct, sys, termios, time
	terminal, slave = pty.openpty()
	fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 1000, 0, 0))
	os.set_blocking(slave, False)
	try:
	    while True:
	        os.write(slave, b"x" * 256)
	except BlockingIOError:
	    pass
	os.set_blocking(slave, True)
	pid = os.fork()
	if pid == 0:
	    os.setsid()
	    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
	    os.dup2(slave, 2)
	    os.environ["TERM"] = "xterm"
	    os.execvp("rlock", ["rlock", "run", sys.argv[1], "--", "touch", "turn"])
	time.sleep(2)
	room = select.poll()
	room.register(slave, select.POLLOUT)
	while not room.poll(10):
	    os.read(terminal, 1)
	end = time.monotonic() + 120
	while not os.path.exists("turn"):
	    assert time.monotonic() < end, "never got its turn"
	    time.sleep(0.05)
	assert os.waitpid(pid, 0)[1] == 0
	END
}

@test "a line of which a pipe takes a part spoils no other line" {
  key+=$(printf '日%.0s' {1..335})  # a line of more bytes than a pipe takes at once or not at all
  full_pipe
  dd bs=4096 count=1 <&9 of=/dev/null 2>/dev/null
  # shellcheck disable=SC2016 # for the inner shell
  rlock run --log-format json "$key" -- sh -c 'touch up; until [ -e go ]; do sleep 0.01; done' 2>full 3>&- 9>&- &
  until_true 10 test -e up
  timeout 1 cat <&9 >said || true
  touch go
  ended 0 $!
  timeout 1 cat <&9 >>said || true
  [ "$(tail -n 1 said | jq -r .event)" = released ]
  [ "$(tr -d '\0' <said | grep -c '"event":"acquired"')" = 1 ]
}
