#!/usr/bin/env python3
"""Records docs/rlock.svg: a cron job of two hosts, which one runs; two hosts that want one lock, rlock status --watch, and a
lock that is lost.

    tests/tools/record.py [--rlock BINARY] [--still SECOND] [SVG]

Real terminals and a real server of its own; takes as long as the recording plays. The SVG plays by CSS, and shows one
telling moment where nothing moves; --still writes that of another second, to be looked at. Needs root (the hosts have names
of their own, and so has the server, in a network of their own), redis-server, and python3-pexpect and python3-pyte of Debian.
"""
import argparse
import copy
import html
import os
import re
import subprocess
import sys
import tempfile
import time

import pexpect
import pyte

CELL = 7.22  # pixels, of 12 px letters
LINE = 17
FOREGROUND = '#d0d6dc'
COLOURS = {'black': '#6b7680', 'red': '#ff7b72', 'green': '#7ee787', 'brown': '#e3b341', 'yellow': '#e3b341', 'blue': '#79c0ff',
           'magenta': '#d2a8ff', 'cyan': '#76e3ea', 'white': '#ffffff'}


class Pane:
    """A terminal with a shell on a host of that name, at a place in the picture."""

    def __init__(self, host, place, rows, columns, environment, folder):
        self.host, self.place, self.rows, self.columns = host, place, rows, columns
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.shell = pexpect.spawn(
            'unshare', ['--uts', 'sh', '-c', 'hostname "$1" && exec bash --noprofile --rcfile bashrc -i', 'sh', host],
            dimensions=(rows, columns), env=environment, cwd=folder, timeout=10)
        self.states = []  # (second, row by row a tuple of runs)

    def read(self):
        while True:
            try:
                said = self.shell.read_nonblocking(65536, timeout=0)
            except (pexpect.TIMEOUT, pexpect.EOF):
                return
            # The second screen of a terminal, which pyte does not know.
            for part in re.split(rb'(\x1b\[\?1049[hl])', said):
                if part == b'\x1b[?1049h':
                    self.first = copy.deepcopy((self.screen.buffer, self.screen.cursor))
                    self.screen.erase_in_display(2)
                elif part == b'\x1b[?1049l':
                    self.screen.buffer, self.screen.cursor = self.first
                else:
                    self.stream.feed(part)

    def text(self):
        return '\n'.join(self.screen.display)

    def row(self, number):
        """A row as runs of one look: (column, text, colour, bold, reverse)."""
        runs = []
        for column in range(self.columns):
            cell = self.screen.buffer[number][column]
            cursor = (not self.screen.cursor.hidden and self.screen.cursor.y == number and self.screen.cursor.x == column)
            look = (cell.fg, cell.bold, cell.reverse != cursor)
            if cell.data == '':
                continue  # the second half of a wide character
            if runs and runs[-1][2:] == look and runs[-1][0] + len(runs[-1][1]) == column:
                runs[-1] = (runs[-1][0], runs[-1][1] + cell.data) + look
            else:
                runs.append((column, cell.data) + look)
        return tuple((run[0], run[1].rstrip()) + run[2:] if not run[4] else run for run in runs if run[1].strip() or run[4])

    def snapshot(self, second):
        rows = tuple(self.row(number) for number in range(self.rows))
        if not self.states or self.states[-1][1] != rows:
            self.states.append((second, rows))


class Recording:
    def __init__(self, panes):
        self.panes, self.begun, self.poster = panes, time.monotonic(), 0.0

    def now(self):
        return time.monotonic() - self.begun

    def tick(self):
        time.sleep(0.05)
        for pane in self.panes:
            pane.read()
            pane.snapshot(self.now())

    def pause(self, seconds):
        end = self.now() + seconds
        while self.now() < end:
            self.tick()

    def until(self, pane, pattern, seconds=15):
        end = self.now() + seconds
        while not re.search(pattern, pane.text()):
            if self.now() > end:
                sys.exit(f'record: {pane.host} does not show {pattern}:\n{pane.text()}')
            self.tick()

    def type(self, pane, line):
        for part in re.findall('.{1,3}', line):
            pane.shell.send(part)
            self.tick()
        self.pause(0.3)
        pane.shell.send('\r')


def play(recording, one, two, third):
    recording.pause(0.5)
    # What cron starts on both hosts at once: one runs it, the other has nothing to do.
    cron = 'rlock run -n -E 0 --hold 1m nightly ./nightly.sh'
    recording.type(one, cron + '   # from cron, on both hosts')
    recording.until(one, 'runs here')
    recording.type(two, cron + '; echo $?')
    recording.until(two, r'\n0')
    recording.pause(1)
    recording.type(one, "rlock run --label v118 deploy ./deploy.sh")
    recording.until(one, 'build')
    recording.type(two, "rlock run --label v119 deploy ./deploy.sh")
    recording.type(third, 'rlock status --watch')
    recording.pause(4)
    recording.poster = recording.now()
    recording.until(two, 'build')
    recording.pause(3)
    third.shell.sendintr()
    recording.pause(0.3)
    recording.type(third, 'rlock release --force deploy   # somebody takes the lock away')
    recording.until(two, r'web2\$ *(\n|$)')
    recording.type(two, 'echo $?')
    recording.pause(4)


def run_of(run, x, y):
    column, text, colour, bold, reverse = run
    x += column * CELL
    width = len(text) * CELL
    fill = COLOURS.get(colour, FOREGROUND if colour == 'default' else f'#{colour}')
    out = ''
    if reverse:
        out = f'<rect x="{x:.1f}" y="{y - 12.5:.1f}" width="{width:.1f}" height="{LINE}" fill="{fill}"/>'
        fill = '#0d1117'
    looks = ('' if fill == FOREGROUND else f' fill="{fill}"') + (' font-weight="bold"' if bold else '')
    # Each at its place: not every viewer keeps more than one space.
    for part in re.finditer(r'\S+( \S+)*', text):
        out += (f'<text x="{x + part.start() * CELL:.1f}" y="{y:.1f}" textLength="{len(part[0]) * CELL:.1f}"{looks}>'
                f'{html.escape(part[0], quote=False)}</text>')
    return out


def rows_in_time(pane, end):
    """Each look of each row: (number, runs, from, to)."""
    for number in range(pane.rows):
        begun, runs = 0.0, ()
        for second, rows in pane.states + [(end, None)]:
            if rows is not None and rows[number] == runs:
                continue
            if runs and second > begun:
                yield number, runs, begun, second
            begun, runs = second, rows[number] if rows is not None else ()


def svg(recording, still=None):
    end = recording.now()
    shown = recording.poster if still is None else still
    width = max(pane.place[0] + pane.columns * CELL + 16 for pane in recording.panes) + 12
    height = max(pane.place[1] + pane.rows * LINE + 46 for pane in recording.panes)
    frames, marks = {}, []
    for pane in recording.panes:
        x, y = pane.place
        marks.append(f'<rect x="{x}" y="{y}" width="{pane.columns * CELL + 16:.0f}" height="{pane.rows * LINE + 34}" rx="6" '
                     f'fill="#0d1117" stroke="#30363d"/><text x="{x + 8}" y="{y + 16}" fill="#6b7680">{pane.host}</text>')
        for number, runs, begun, until in rows_in_time(pane, end):
            drawn = ''.join(run_of(run, x + 8, y + 38 + number * LINE) for run in runs)
            visible = begun <= shown < until
            if still is not None:
                if visible:
                    marks.append(drawn)
                continue
            name = frames.setdefault((round(begun * 100 / end, 2), round(until * 100 / end, 2)), f'f{len(frames)}')
            marks.append(f'<g class="{name}{" s" if visible else ""}">{drawn}</g>')
    style = []
    for (begun, until), name in frames.items():
        steps = ('0%{visibility:visible}' if begun == 0 else f'0%{{visibility:hidden}}{begun}%{{visibility:visible}}')
        steps += '' if until >= 100 else f'{until}%,100%{{visibility:hidden}}'
        if until >= 100:
            steps += '100%{visibility:visible}'
        style.append(f'@keyframes {name}{{{steps}}}.{name}{{animation-name:{name}}}')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" fill="{FOREGROUND}"><title>rlock on two hosts</title><style>'
            'text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}'
            f'g{{visibility:hidden;animation:{end:.1f}s step-end infinite}}g.s{{visibility:visible}}'
            '@media(prefers-reduced-motion){g{animation:none!important}}'
            + ''.join(style) + '</style>' + ''.join(marks) + '</svg>\n')


def enter_a_network_with(host):
    """Goes on in a network of its own, in which the loopback interface is called `host`."""
    inside = f'RECORDED_{host}'
    if inside in os.environ:
        return
    setup = 'ip link set lo up && echo "127.0.0.1 $0" >"$1" && mount --bind "$1" /etc/hosts && shift && exec "$@"'
    with tempfile.NamedTemporaryFile(prefix='rlock-') as hosts:
        command = ['unshare', '--net', '--mount', 'sh', '-c', setup, host, hosts.name, sys.executable, *sys.argv]
        sys.exit(subprocess.run(command, env=os.environ | {inside: ''}).returncode)


def main():
    enter_a_network_with('locks')
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser = argparse.ArgumentParser()
    parser.add_argument('--rlock', default=f'{root}/build/release/rlock')
    parser.add_argument('--still', type=float)
    parser.add_argument('svg', nargs='?', default=f'{root}/docs/rlock.svg')
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix='rlock-') as folder:
        server = subprocess.Popen(['redis-server', '--bind', '127.0.0.1', '--save', '', '--dir', folder],
                                  stdout=subprocess.DEVNULL)
        panes = []
        try:
            while subprocess.run(['redis-cli', 'ping'], capture_output=True).returncode != 0:
                time.sleep(0.05)
            with open(f'{folder}/bashrc', 'w') as file:
                file.write("PS1='\\[\\e[32m\\]\\h\\[\\e[0m\\]$ '; bind 'set enable-bracketed-paste off'\n")
            with open(f'{folder}/deploy.sh', 'w') as file:
                file.write('#!/bin/sh\nfor step in build test upload check; do echo "$step"; sleep 2.6; done\n')
            with open(f'{folder}/nightly.sh', 'w') as file:
                file.write('#!/bin/sh\necho nightly runs here\n')
            for script in ('deploy.sh', 'nightly.sh'):
                os.chmod(f'{folder}/{script}', 0o755)
            environment = {'PATH': f'{os.path.dirname(os.path.abspath(arguments.rlock))}:/usr/bin:/bin', 'LC_ALL': 'C.UTF-8',
                           'TERM': 'xterm-256color', 'HOME': folder, 'RLOCK_SERVER': 'redis://locks', 'USER': 'ann'}
            panes = [Pane('web1', (12, 12), 6, 90, environment, folder), Pane('web2', (12, 160), 9, 90, environment, folder),
                     Pane('web3', (12, 359), 7, 90, environment, folder)]
            # Something else to be seen.
            for command in ('run nightly-backup sleep 1', "acquire --slots 4 --label encoder-4 -t 10m encode"):
                subprocess.run([arguments.rlock] + command.split(), env=environment, check=True, stdout=subprocess.DEVNULL)
            recording = Recording(panes)
            play(recording, *panes)
        finally:
            for pane in panes:
                pane.shell.close(force=True)
            server.kill()
            server.wait()
    with open(arguments.svg, 'w') as file:
        file.write(svg(recording, arguments.still))


if __name__ == '__main__':
    main()
