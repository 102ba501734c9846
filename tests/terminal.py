"""A terminal that a test looks at: a command runs on it, and what a person would see stands on its screen."""
import os
import signal
import sys
import time

import pexpect
import pyte


class Terminal:
    """The command is killed in the end, and so is what it left in its session."""

    def __init__(self, *command, columns=100, rows=12, **environment):
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.all = b""  # that was ever written
        # pyte erases to the end of the screen as terminals do, but for wide characters cut in two; none is here.
        self.process = pexpect.spawn(
            command[0], list(command[1:]), dimensions=(rows, columns), timeout=120,
            env={**os.environ, "TERM": "xterm", **environment})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.close(force=True)

    def lines(self):
        """What is shown, without the empty lines below."""
        shown = [line.rstrip() for line in self.screen.display]
        while shown and not shown[-1]:
            shown.pop()
        return shown

    def read(self, seconds=0.05):
        """False when nothing more will come."""
        try:
            text = self.process.read_nonblocking(65536, seconds)
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        self.all += text
        self.stream.feed(text)
        return True

    def until(self, condition, seconds=120):
        """Waits until the lines that are shown are such, and returns them."""
        end = time.monotonic() + seconds
        while True:
            if condition(self.lines()):
                return self.lines()
            if time.monotonic() > end or not self.read():
                if condition(self.lines()):
                    return self.lines()
                sys.exit(f"never came: {self.lines()}, of {self.all!r}")

    def until_shown(self, text):
        return self.until(lambda lines: any(text in line for line in lines))

    def until_drawn(self, times=1, what=b"rlock: waiting"):
        """Until the line of who waits has been drawn so often: once a second, on a busy machine a little less often."""
        return self.until(lambda _: self.all.count(what) >= times)

    def for_seconds(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.read():
            pass
        return self.lines()

    def resize(self, columns, rows=12):
        self.process.setwinsize(rows, columns)
        self.screen.resize(rows, columns)

    def type(self, text):
        self.process.send(text)

    def kill(self, number=signal.SIGTERM):
        self.process.kill(number)

    def ended(self):
        """Waits for the end of the command, and returns its exit status, -n for signal n."""
        while self.read():
            pass
        self.process.wait()
        return self.process.exitstatus if self.process.signalstatus is None else -self.process.signalstatus
