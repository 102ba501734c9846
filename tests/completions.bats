# What a Tab makes of a line, in the shells themselves.
# shellcheck disable=SC2016 # the shells inside expand what stands in single quotes
load helper

setup_file() { start_server; }
teardown_file() { stop_servers; }

root=$BATS_TEST_DIRNAME/..

# needs PROGRAM
needs() { command -v "$1" >/dev/null || skip "there is no $1"; }

# in_bash [LINE OF ITS STARTUP FILE...], in_zsh: tests/tools/complete.py, its tests on standard input.
in_bash() { python3 "$root/tests/tools/complete.py" bash "$root/completions/rlock.bash" "$@"; }
in_zsh() { python3 "$root/tests/tools/complete.py" zsh "$root/completions/_rlock"; }

# in_fish: the same for fish, which tells without a terminal what it offers: TYPED => ALL OFFERED, sorted, with ", " between.
in_fish() {
  cat >ask.fish <<-'END'
	source $argv[1]
	while read -l line
	  set -l test (string split ' => ' -- $line' ')
	  set -l got
	  for try in (seq 5)
	    set got (complete -C $test[1] | string replace -r '\t.*' '' | sort | string join ', ')
	    test "$got" = (string trim -- $test[2]); and break
	  end
	  if test "$got" != (string trim -- $test[2])
	    echo "fish offers for $test[1]: $got, not $test[2]"
	    set -g failed 1
	  end
	end
	test -z "$failed"
	END
  HOME=$PWD fish --no-config ask.fish "$root/completions/rlock.fish" >said 2>&1 && [ ! -s said ] || {
    cat said >&2
    return 1
  }
}

# hold KEY...: all of them, and nothing else.
hold() {
  redis flushall
  local each
  for each in "$@"; do rlock acquire "$each"; done
}

keys=(app:deploy app:dev 'my key' "it's" 'q"x' '$(touch harm)' 'a*b' 'path/to' 'ключ')

@test "the completions are good shell" {
  bash --norc -n "$root/completions/rlock.bash"
  shellcheck -s bash "$root/completions/rlock.bash"
  needs zsh
  zsh -n "$root/completions/_rlock"
  needs fish
  fish --no-execute "$root/completions/rlock.fish"
}

@test "bash completes verbs, options, values, files and the command" {
  touch some.conf 'with blank.conf'
  mkdir folder
  in_bash <<'END'
rlock <all> => rlock acquire help release renew run status
rlock re<all> => rlock release renew
rlock --ser => rlock --server
rlock run --tt => rlock run --ttl
rlock renew --wai => rlock renew --wai
rlock run --on-lost <all> => rlock run --on-lost kill warn
rlock status --format k => rlock status --format keys
rlock run --signal U<all> => rlock run --signal USR1 USR2
rlock run -t 30<all> => rlock run -t 30m 30s
rlock run -nw 50 => rlock run -nw 500ms
rlock --server redis+s => rlock --server redis+sentinel://
rlock run --slots  => rlock run --slots
rlock run --config some => rlock run --config some.conf
rlock run --config fol => rlock run --config folder/
rlock help ru => rlock help run
rlock run -t 5s k cat some => rlock run -t 5s k cat some.conf
rlock run -nE 0 --tree k -- cat some => rlock run -nE 0 --tree k -- cat some.conf
rlock run k cat wi => rlock run k cat with\ blank.conf
rlock run k -- shellchec => rlock run k -- shellcheck
rlock run k cat --tt => rlock run k cat --tt
rlock run k cat so foo<left><left><left><left> => rlock run k cat some.conf foo
END
}

@test "bash completes behind words with : and =, which it splits" {
  touch some.conf a:some.conf
  cat >tests <<'END'
rlock --server redis://:p@h:6379/1 ru => rlock --server redis://:p@h:6379/1 run
rlock run --server redis://h:6379 --non => rlock run --server redis://h:6379 --nonblock
rlock run --server=redis://h:6379 --non => rlock run --server=redis://h:6379 --nonblock
rlock run --wait=5s --non => rlock run --wait=5s --nonblock
rlock run app:deploy printf => rlock run app:deploy printf
rlock run app:deploy cat some => rlock run app:deploy cat some.conf
rlock run --on-lost=<all> => rlock run --on-lost=kill warn
rlock run --on-lost=w => rlock run --on-lost=warn
rlock run --config=so => rlock run --config=some.conf
rlock run --config=a:so => rlock run --config=a:some.conf
rlock run --config a:so => rlock run --config a:some.conf
true; RLOCK_TTL=5s rlock --prefix a: acq => true; RLOCK_TTL=5s rlock --prefix a: acquire
END
  in_bash <tests
  grep -v -e '<all>' tests >whole
  in_bash 'COMP_WORDBREAKS=${COMP_WORDBREAKS//[:=]}' <whole
}

@test "bash completes the keys of locks, quoted as the word is" {
  hold "${keys[@]}"
  redis set $'rlock:ctl\e[31m' foreign >/dev/null
  cat >tests <<'END'
rlock run ctl => rlock run ctl
rlock run app:de => rlock run app:de
rlock run app:dep => rlock run app:deploy
rlock renew app:dev => rlock renew app:dev
rlock acquire path/ => rlock acquire path/to
rlock release my => rlock release my\ key
rlock release my\ k => rlock release my\ key
rlock release "my => rlock release "my key"
rlock release 'my => rlock release 'my key'
rlock status it => rlock status it\'s
rlock status "it => rlock status "it's"
rlock status 'it => rlock status 'it'\''s'
rlock status q => rlock status q\"x
rlock status "q => rlock status "q\"x"
rlock status \$ => rlock status \$\(touch\ harm\)
rlock status '$ => rlock status '$(touch harm)'
rlock status "\$ => rlock status "\$(touch harm)"
rlock status a* => rlock status a\*b
rlock status кл => rlock status ключ
rlock run --with app:dep => rlock run --with app:deploy
rlock run --with=app:dep => rlock run --with=app:deploy
rlock run -nE 0 app:dep => rlock run -nE 0 app:deploy
rlock renew app:deploy app:dep => rlock renew app:deploy app:dep
rlock run app:dep -- cat<left><left><left><left><left><left><left> => rlock run app:deploy -- cat
END
  in_bash <tests
  in_bash 'set -u' 'COMP_WORDBREAKS=${COMP_WORDBREAKS//:}' <tests
  [ ! -e harm ]
}

@test "bash asks the server that the line names" {
  hold app:deploy
  unset RLOCK_SERVER
  echo "server = $url" >own.conf
  in_bash <<END
rlock --server $url run app:d => rlock --server $url run app:deploy
rlock run --server=$url app:d => rlock run --server=$url app:deploy
rlock run --server '$url' app:d => rlock run --server '$url' app:deploy
rlock run --config ~/own.conf app:d => rlock run --config ~/own.conf app:deploy
rlock --config own.conf --prefix rlock:app: run d => rlock --config own.conf --prefix rlock:app: run deploy
rlock --config own.conf --prefix '' run rlock:a => rlock --config own.conf --prefix '' run rlock:app:deploy
rlock --config own.conf --prefix other: run a => rlock --config own.conf --prefix other: run a
rlock --config own.conf --prefix "\$(touch harm)" run a => rlock --config own.conf --prefix "\$(touch harm)" run a
./nothing --config own.conf run a => ./nothing --config own.conf run a
END
  [ ! -e harm ]
}

@test "bash with bash-completion completes what that knows of the command" {
  local package=/usr/share/bash-completion/bash_completion
  [ -e $package ] || skip 'there is no bash-completion'
  hold app:deploy
  in_bash "source $package" <<'END'
rlock run k -- tar --cre => rlock run k -- tar --create
rlock run -t 5s app:x find . -nam => rlock run -t 5s app:x find . -name
rlock --server redis://ann@h run app:x find . -nam => rlock --server redis://ann@h run app:x find . -name
rlock run k shellchec => rlock run k shellcheck
rlock run k -- rlock run app:d => rlock run k -- rlock run app:deploy
rlock run app:d => rlock run app:deploy
END
}

@test "zsh completes verbs, options, values, files, keys and the command" {
  needs zsh
  touch some.conf
  hold "${keys[@]}"
  in_zsh <<END
rlock acq => rlock acquire
rlock help ac => rlock help acquire
rlock run --tt => rlock run --ttl=
rlock acquire --exp => rlock acquire --export
rlock run --on-lost wa => rlock run --on-lost warn
rlock status --format=ke => rlock status --format=keys
rlock run --signal T => rlock run --signal TERM
rlock run -nw 12 => rlock run -nw 12h
rlock run --server rediss: => rlock run --server rediss://
rlock run --config some => rlock run --config some.conf
rlock run app:dep => rlock run app:deploy
rlock renew -t 5s app:dep => rlock renew -t 5s app:deploy
rlock release my => rlock release my\\ key
rlock release "my => rlock release "my key"
rlock release 'my => rlock release 'my key'
rlock status it => rlock status it\\'s
rlock status \\$ => rlock status \\$\\(touch\\ harm\\)
rlock status кл => rlock status ключ
rlock run --with=app:dep => rlock run --with=app:deploy
rlock run -nE 0 app:dep => rlock run -nE 0 app:deploy
rlock --prefix '' run rlock:app:dep => rlock --prefix '' run rlock:app:deploy
rlock --server=$url run --prefix rlock:app: dep => rlock --server=$url run --prefix rlock:app: deploy
rlock --prefix \$X run app:dep => rlock --prefix \$X run app:dep
rlock run k cat some => rlock run k cat some.conf
rlock -q run -t 5s --config some.conf k -- cat some => rlock -q run -t 5s --config some.conf k -- cat some.conf
rlock run k -- shellchec => rlock run k -- shellcheck
rlock run k --tt => rlock run k --tt
rlock run 'my key' -- cat some => rlock run 'my key' -- cat some.conf
END
  [ ! -e harm ]
}

@test "fish completes verbs, options, values, files, keys and the command" {
  needs fish
  touch some.conf
  hold "${keys[@]}"
  in_fish <<END
rlock re => release, renew
rlock help  => acquire, help, release, renew, run, status
rlock run --ttl => --ttl
rlock acquire --exp => --export
rlock renew --wai => 
rlock run --on-lost  => kill, warn
rlock status --format=k => --format=keys
rlock run --signal US => USR1, USR2
rlock run -t 30 => 30m, 30s
rlock --server redis+ => redis+cluster://, redis+sentinel://
rlock run --config some => some.conf
rlock run app: => app:deploy, app:dev
rlock release my => my key
rlock release "my => my key
rlock status it => it's
rlock status \\$ => \$(touch harm)
rlock status кл => ключ
rlock run --with app:dep => app:deploy
rlock run -nE 0 app:dep => app:deploy
rlock renew app:deploy app => 
rlock --prefix '' run rlock:app:dep => rlock:app:deploy
rlock --server=$url run --prefix rlock:app: dep => deploy
rlock --prefix \$X run app:dep => 
rlock run k cat some => some.conf
rlock -q run -t 5s --config some.conf k -- cat some => some.conf
rlock run 'my key' -- shellchec => shellcheck
rlock run k cat --tt => 
END
  [ ! -e harm ]
}

@test "a server that does not answer, or refuses, keeps nobody waiting and says nothing" {
  own_server --requirepass secret
  in_bash <<<'rlock run app => rlock run app'
  kill -STOP "$(server_pid "own-$BATS_TEST_NUMBER")"
  in_bash <<<'rlock run app => rlock run app'
  if command -v zsh >/dev/null; then in_zsh <<<'rlock run app => rlock run app'; fi
  if command -v fish >/dev/null; then in_fish <<<'rlock run app => '; fi
  # The command that they run ends by itself.
  local begin=$EPOCHREALTIME
  expect 69 rlock status --format keys --connect-timeout 200ms
  holds "$EPOCHREALTIME - $begin < 5"
}
