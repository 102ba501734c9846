# The man page and the completions: written from the table of options, and of use.
# shellcheck disable=SC2016 # the shells inside expand what stands in single quotes
load helper

setup_file() { start_server; }
teardown_file() { stop_servers; }

root=$BATS_TEST_DIRNAME/..

# needs PROGRAM
needs() { command -v "$1" >/dev/null || skip "there is no $1"; }

@test "man and completions are what rlock-docs writes" {
  mkdir man completions
  "$(dirname "$RLOCK")/rlock-docs" "$root" .
  diff -r man "$root/man"
  diff -r completions "$root/completions"
}

@test "the man page is good mdoc, and tells every option, variable and exit status" {
  needs mandoc
  mandoc -T lint -W warning "$root/man/rlock.1"
  mandoc -T utf8 -O width=400 "$root/man/rlock.1" | col -b >page
  local verb word
  local verbs
  verbs=$(rlock help | sed -n '/^Usage/,/^Examples/s/^  rlock \([a-z]*\) .*/\1/p' | grep -vx help)
  [ "$(wc -w <<<"$verbs")" -ge 5 ]
  for verb in $verbs; do
    grep -q "^ *rlock $verb \[OPTIONS\]" page
    for word in $(rlock $verb --help | grep -oE -- '^  (-.,|   ) --[a-z-]+|RLOCK_[A-Z_]+' | tr -d ','); do
      grep -q -- "$word" page
    done
  done
  for word in $(sed -n 's/.*ExitRow{"\([^"]*\)".*/\1/p' "$root/src/base/exit_status.hpp"); do
    grep -q "^ *$word" page
  done
}

@test "the man page tells every field of the JSON" {
  local field
  rlock acquire --json "$key" >acquired
  {
    background rlock run --show-command "$key" -- true
    until_true 10 waiting 1
    rlock status --json "$key"
    rlock release "$key" "$(jq -r .token acquired)"
    finish
    rlock run --show-command "$key" -- rlock status --json
    rlock run --slots 2 "$key" -- rlock status --json
    rlock run --hold 1h "$key" -- sh -c 'kill -9 $$' || [ $? = 137 ]
    rlock status --json "$key"
    redis set "rlock:$key" foreign >&2
    rlock status --json "$key"
  } >said
  jq -r '.. | objects | keys[]' acquired said | sort -u >fields
  [ "$(wc -l <fields)" = 27 ]
  sed -n '/^\.Sh JSON/,/^\.Sh FILES/p' "$root/man/rlock.1" | grep '^\.Li' >json
  while read -r field; do
    grep -qw "$field" json
  done <fields
}

@test "each example of the man page does what it says" {
  local script
  for script in backup report deploy nightly; do
    printf '#!/bin/sh\necho "$0" >>ran\n' >$script.sh
    chmod +x $script.sh
  done
  sed -n '/^\.Sh EXAMPLES/,/^\.Sh SEE/p' "$root/man/rlock.1" | sed -n '/^\.Bd/,/^\.Ed/{/^\./d; p}' |
    sed 's/\\-/-/g; s/\\(aq/'"'"'/g; s/\\e/\\/g' >examples
  [ "$(wc -l <examples)" -ge 9 ]
  local example
  while read -r example; do
    redis flushall
    rm -f ran
    unset RLOCK_TOKEN RLOCK_KEY
    if [[ $example =~ rlock\ (renew|release|status) && $example != *acquire* ]]; then
      RLOCK_TOKEN=$(rlock acquire deploy)
      export RLOCK_TOKEN RLOCK_KEY=deploy
    fi
    bash -c "$example" >said 2>&1 </dev/null || {
      echo "$example"
      cat said
      return 1
    }
    [[ $example != *.sh* ]] || [ "$(wc -l <ran)" = 1 ]
    [[ $example != *status* ]] || [ -s said ]
    [[ $example != *'rlock release'* ]] || is_free deploy
  done <examples
}

@test "installed where man and the shells look" {
  DESTDIR=$PWD/tree cmake --install "$(dirname "$RLOCK")" --prefix /usr >/dev/null
  local file
  for file in bin/rlock share/man/man1/rlock.1 share/bash-completion/completions/rlock share/zsh/site-functions/_rlock \
    share/fish/vendor_completions.d/rlock.fish; do
    [ -s "tree/usr/$file" ]
  done
}

# in_bash LINE: the line that bash on a terminal makes of it, with all that it offers for the last word.
in_bash() {
  cat >bashrc <<-'END'
	source "$ROOT/completions/rlock.bash"
	save() { printf '%s\n' "$READLINE_LINE" >line; }
	bind -x '"\C-]": save'
	bind '"\C-t": insert-completions'
	PS1='go> '
	END
  cat >drive.exp <<-'END'
	log_user 0
	set timeout 30
	spawn -noecho bash --noprofile --rcfile bashrc -i
	expect "go> "
	send -- "[lindex $argv 0]\x14\x1d\x15exit\r"
	expect eof
	END
  rm -f line
  ROOT=$root HOME=$PWD TERM=dumb command expect drive.exp "$1" >/dev/null
  sed 's/ *$//' line
}

# bash_makes LINE OF: bash makes this line of that.
bash_makes() {
  local got
  got=$(in_bash "$2")
  [ "$got" = "$1" ] || {
    echo "bash makes of $2: $got, not $1"
    return 1
  }
}

# offers SHELL EXPECTED WORD...: these, in any order.
offers() {
  local shell=$1 wanted=$2
  shift 2
  local got
  got=$("in_$shell" "$@" | sort | paste -sd' ')
  [ "$got" = "$wanted" ] || {
    echo "$shell offers for $*: $got, not $wanted"
    return 1
  }
}

@test "bash completes verbs, options, choices, files and the command" {
  bash --norc -n "$root/completions/rlock.bash"
  shellcheck -s bash "$root/completions/rlock.bash"
  touch some.conf
  bash_makes 'rlock acquire help release renew run status' 'rlock '
  bash_makes 'rlock release renew' 'rlock re'
  bash_makes 'rlock --server' 'rlock --ser'
  bash_makes 'rlock run --ttl' 'rlock run --tt'
  bash_makes 'rlock renew --wai' 'rlock renew --wai'
  bash_makes 'rlock run --on-lost kill warn' 'rlock run --on-lost '
  bash_makes 'rlock run --config some.conf' 'rlock run --config some'
  bash_makes 'rlock run --ttl' 'rlock run --ttl '
  bash_makes 'rlock help run' 'rlock help ru'
  bash_makes 'rlock run -t 5s k cat some.conf' 'rlock run -t 5s k cat some'
  bash_makes 'rlock run k -- cat some.conf' 'rlock run k -- cat some'
  [[ $(in_bash 'rlock run k pri') == *' printf'* ]]
  bash_makes 'rlock run k cat --tt' 'rlock run k cat --tt'
}

@test "bash completes behind words with : and =, which it splits" {
  touch some.conf a:some.conf
  bash_makes 'rlock --server redis://:p@h:6379/1 run' 'rlock --server redis://:p@h:6379/1 ru'
  bash_makes 'rlock run --server redis://h:6379 --nonblock' 'rlock run --server redis://h:6379 --non'
  bash_makes 'rlock run --server=redis://h:6379 --nonblock' 'rlock run --server=redis://h:6379 --non'
  bash_makes 'rlock run --wait=5s --nonblock' 'rlock run --wait=5s --non'
  bash_makes 'rlock run app:deploy printf' 'rlock run app:deploy printf'
  bash_makes 'rlock run app:deploy cat some.conf' 'rlock run app:deploy cat some'
  bash_makes 'rlock run --on-lost=kill warn' 'rlock run --on-lost='
  bash_makes 'rlock run --on-lost=warn' 'rlock run --on-lost=w'
  bash_makes 'rlock run --config=some.conf' 'rlock run --config=so'
  bash_makes 'rlock run --config=a:some.conf' 'rlock run --config=a:so'
  bash_makes 'rlock run --config a:some.conf' 'rlock run --config a:so'
  bash_makes 'true; RLOCK_TTL=5s rlock --prefix a: acquire' 'true; RLOCK_TTL=5s rlock --prefix a: acq'
}

in_fish() {
  HOME=$PWD fish --no-config -c 'source $argv[1]; complete -C "$argv[2]"' "$root/completions/rlock.fish" "rlock $*" |
    cut -f1
}

@test "fish completes verbs, options, choices and files" {
  needs fish
  fish --no-execute "$root/completions/rlock.fish"
  touch some.conf
  offers fish 'release renew' re
  offers fish '--ttl' run --ttl
  offers fish '--wait' acquire --wait
  offers fish '' renew --wai
  offers fish '--export' acquire --exp
  offers fish 'kill warn' run --on-lost ''
  offers fish 'some.conf' run --config some
  offers fish 'acquire help release renew run status' help ''
}

# in_zsh WORD...: the line that zsh makes of these and a tab, on a terminal.
in_zsh() {
  cat >drive.exp <<-'END'
	log_user 0
	set timeout 30
	lassign $argv root line
	spawn -noecho zsh -f -i
	send "fpath=($root/completions \$fpath); autoload -Uz compinit; compinit -u -D\r"
	send "save() { print -r -- \$BUFFER >line; BUFFER=exit; zle accept-line }; zle -N save; bindkey '^X' save\r"
	send "PS1='g''o> '\r"
	expect "go> "
	send -- "$line\t\x18"
	expect eof
	END
  rm -f line
  HOME=$PWD TERM=dumb command expect drive.exp "$root" "rlock $*" >/dev/null
  sed 's/ *$//' line
}

@test "zsh completes verbs, options and files" {
  needs zsh
  zsh -n "$root/completions/_rlock"
  touch some.conf
  [ "$(in_zsh acq)" = 'rlock acquire' ]
  [ "$(in_zsh run --tt)" = 'rlock run --ttl=' ] || [ "$(in_zsh run --tt)" = 'rlock run --ttl' ]
  [ "$(in_zsh acquire --exp)" = 'rlock acquire --export' ]
  [ "$(in_zsh run --on-lost wa)" = 'rlock run --on-lost warn' ]
  [ "$(in_zsh run --config some)" = 'rlock run --config some.conf' ]
}
