"""complete.py SHELL COMPLETION [LINE OF A STARTUP FILE...]: what completion makes of lines, typed on a terminal.

Standard input has a test a line, TYPED => WANTED. The shell (bash or zsh) is started with the file COMPLETION; each TYPED
is typed and completed, and the line that stands there then has to be WANTED, blanks at the ends aside. TYPED that ends in
<all> gets all that is offered (bash), else the TAB key is pressed; <left> is the key for one character to the left. Prints
what differs, and what the shell prints while it should print nothing but the line; the exit status is 1 then. Keys are
offered where the server answers at once, which on a busy machine it may not: so a line gets five tries.
"""
import os
import sys
import time

import pexpect

BASH = """
set +H
source "$COMPLETION"
save() { printf '%s' "$READLINE_LINE" >line.new; mv line.new line; READLINE_LINE=; }
bind -x '"\\C-]": save'
bind '"\\C-t": insert-completions'
bind 'set bell-style none'
bind 'set show-all-if-ambiguous off'
PS1='go> '
"""
ZSH = """
fpath=("${COMPLETION:h}" $fpath)
autoload -Uz compinit
compinit -u -D
save() { print -rn -- $BUFFER >line.new; mv line.new line; BUFFER=; zle reset-prompt }
zle -N save
bindkey '^]' save
setopt no_beep no_auto_menu no_list_ambiguous
PS1='go> '
"""


def start(shell, completion, lines):
    os.environ.update(COMPLETION=completion, TERM='dumb', HOME=os.getcwd(), ZDOTDIR=os.getcwd())
    own = '\n'.join(lines) + '\n'
    name = 'bashrc' if shell == 'bash' else '.zshrc'
    with open(name, 'w', encoding='utf8') as file:
        file.write(own + (BASH if shell == 'bash' else ZSH))
    arguments = ['--noprofile', '--rcfile', name, '-i'] if shell == 'bash' else ['-d', '-i']
    terminal = pexpect.spawn(shell, arguments, encoding='utf8', timeout=30, dimensions=(50, 300))
    terminal.expect_exact('go> ')
    return terminal


def completed(terminal, typed):
    key = '\t'
    if typed.endswith('<all>'):
        typed, key = typed[:-5], '\x14'
    if os.path.exists('line'):
        os.remove('line')
    begin = time.monotonic()
    terminal.send(typed.replace('<left>', '\x1b[D') + key + '\x1d')
    while not os.path.exists('line'):
        if time.monotonic() - begin > 30:
            sys.exit(f'{typed}: no line in 30 s')
        time.sleep(0.005)
    with open('line', encoding='utf8') as file:
        return file.read().strip()


def main():
    terminal = start(sys.argv[1], sys.argv[2], sys.argv[3:])
    status = 0
    for test in sys.stdin.read().splitlines():
        typed, wanted = test.split('=>')
        for _ in range(5):
            got = completed(terminal, typed.strip(' '))
            if got == wanted.strip():
                break
        else:
            print(f'{sys.argv[1]} makes of: {typed}\n  {got}\nand not\n {wanted}')
            status = 1
    terminal.send('\x15exit\r')
    terminal.expect(pexpect.EOF)
    said = terminal.before
    for word in ('bash:', 'zsh:', 'rlock:', '_rlock', '(eval)'):
        if f'{word} ' in said and word != 'bash: exit':
            print('it said:\n' + said)
            return 1
    return status


sys.exit(main())
