# What the last message says: which key, as its user wrote it, who has it, since when, and what can be done.
load helper

setup_file() { start_server; }
teardown_file() { stop_servers; }

other=0123456789abcdef0123456789abcdef
# A holder as messages name it: "ann@host pid 12 (LABEL) since 14:05:12".
holder() { echo "[^ ]*@$(uname -n) pid [0-9]+ \\(the nightly one\\) since [0-2][0-9]:[0-5][0-9]:[0-5][0-9]"; }

# says PATTERN STATUS COMMAND...: one line, "rlock: " and all of this.
says() {
  local pattern=$1
  shift
  expect "$@"
  [[ $output =~ ^rlock:\ $pattern$ ]] || {
    echo "not so: $output" >&2
    return 1
  }
}

@test "busy: the key without its prefix, the holder, its label and since when, and --wait" {
  not_under_acl 'other prefixes are denied'
  export RLOCK_PREFIX=app:
  rlock acquire --label 'the nightly one' "$key"
  says "busy: $key is held by $(holder); --wait D waits for it" 75 rlock run -n "$key" -- true
  says "busy: $key is held by $(holder); waited for 250ms \\(--wait\\)" 75 rlock acquire -w 250ms "$key"
}

@test "lost: renew and release say who has it now, or that nobody has" {
  rlock acquire --label 'the nightly one' "$key"
  says "lost: $key is held by somebody else: $(holder)" 79 rlock renew "$key" $other
  says "lost: $key is held by somebody else: $(holder)" 79 rlock release "$key" $other
  says "released $key, held by $(holder)" 0 rlock release --force "$key"
  says "lost: $key is not held by anybody: .*" 79 rlock renew "$key" $other
  redis set "rlock:$key" theirs px 60000
  says "lost: $key is held by somebody else" 79 rlock release "$key" $other
}

@test "lost: a run says who has it now, in one question behind the end of its command" {
  rlock run -t 60s "$key" -- sleep 60 2>said 3>&- &
  local holder=$!
  until_true 10 guard_of $holder
  background rlock acquire --label $'the nightly\e[31m one' "$key"
  until_true 10 waiting 1
  # What the waiter is handed it has at once.
  rlock release --force "$key"
  ended 79 $holder
  finish
  [ "$(wc -l <said)" = 2 ]
  [[ $(sed -n 1p said) == "rlock: lost $key after "* ]]
  [[ $(sed -n 2p said) =~ ^"rlock: $key is now held by "[^\ ]*@$(uname -n)" pid "[0-9]+" (the nightly\\x1b[31m one) since "[0-9:]{8}$ ]]
}

@test "lost to another program, or to nobody" {
  rlock run --log-format json "$key" -- sh -c 'until [ -e go ]; do sleep 0.01; done' 2>said 3>&- &
  local holder=$!
  until_true 10 guard_of $holder
  redis set "rlock:$key" theirs px 60000
  ended 79 $holder
  [ "$(jq -r .event said | tail -n 2 | tr '\n' ' ')" = 'lost taken ' ]
  [ "$(jq -r .message said | tail -n 1)" = "$key is now held by a program other than rlock" ]
  redis del "rlock:$key"
  rlock run "$key" -- redis-cli -s "$sock" del "rlock:$key" 2>said || [ $? = 79 ]
  [ "$(grep -c rlock: said)" = 1 ]
  [[ $(cat said) != *'now held'* ]]
}

@test "no server: the key, which server, why, and for how long it was tried" {
  export RLOCK_SERVER=unix:///nonexistent
  local why="$key: cannot connect to unix:///nonexistent: [^;]*"
  says "$why; tried once \\(--nonblock\\)" 69 rlock run -n "$key" -- true
  says "$why; tried for [0-9.]+m?s \\(--wait\\)" 69 rlock acquire -w 1s "$key"
  says "$why; tried for [0-9.]+m?s \\(--wait\\)" 69 rlock acquire -w 300ms "$key"
  says "$why; tried for [0-9.]+m?s, --connect-timeout D tries for longer" 69 rlock run --connect-timeout 1s "$key" -- true
  says "$why; tried for [0-9.]+m?s, --connect-timeout D tries for longer" 69 rlock renew --connect-timeout 1s "$key" $other
  says "$why; tried for [0-9.]+m?s, --connect-timeout D tries for longer" 69 rlock release --connect-timeout 1s "$key" $other
}

@test "refused: the key, which server, why, and where the rights are written down" {
  redis acl setuser nobody on nopass -@all
  RLOCK_SERVER=unix://nobody:@$sock says "$key: unix://nobody:@[^ ]*: .*; see SECURITY in rlock\\(1\\)" 77 rlock run "$key" -- true
}

# suggests STATUS COMMAND...: it ends so and suggests a command on standard error, which pasted SHELL runs.
suggests() {
  local wanted=$1
  shift
  run --separate-stderr "-$wanted" "$@"
  suggested=${stderr##*or someone runs: }
  [ "$suggested" != "$stderr" ]
}
pasted() { "$1" -c "$suggested"; }

@test "the release that is suggested for a lock that never expires can be pasted, whatever the key is called" {
  not_under_acl 'other prefixes are denied'
  local name shell prefix
  for name in plain 'with a space' "it's" '-n' '--' '$(touch ran) `touch ran` !!' 'a*?[b]~' '\back' 'ключ' $'\xff1\xc2\x85' '=ls'; do
    for shell in bash zsh ksh; do
      command -v $shell >/dev/null || continue
      redis set "rlock:$name" theirs
      suggests 0 rlock status -- "$name"
      pasted $shell
      is_free "$name"
      # The same after a try to acquire it, with a prefix of its own.
      for prefix in 'my ' '' -p; do
        redis set "$prefix$name" theirs
        RLOCK_PREFIX=$prefix suggests 75 rlock run -n -- "$name" true
        pasted $shell
        [ "$(redis exists "$prefix$name")" = 0 ]
      done
    done
  done
  [ ! -e ran ]
}

@test "what the command line said against the environment is part of it: another lock must not be released" {
  not_under_acl 'other prefixes are denied'
  redis set "rlock:$key" theirs
  RLOCK_PREFIX=app: suggests 0 rlock status --prefix rlock: "$key"
  [ "$suggested" = "rlock release --force --prefix rlock: $key" ]
  RLOCK_COMPAT=redisson suggests 75 rlock acquire -n --compat none "$key"
  [ "$suggested" = "rlock release --force --compat none $key" ]
  # A command that holds a lock has both in its environment.
  suggests 0 rlock run --prefix app: outer -- rlock status --prefix rlock: "$key"
  pasted bash
  is_free
}

@test "what the command line said of the server is part of it, without the password" {
  not_under_acl 'the URL has a user of its own'
  redis set "rlock:$key" theirs
  (
    unset RLOCK_SERVER
    suggests 0 rlock status --server "$url" "$key"
    [ "$suggested" = "rlock release --force --server $url $key" ]
    pasted bash
    is_free
    redis set "rlock:$key" theirs
    printf 'server = %s\n' "$url" >'the conf'
    suggests 75 rlock acquire -n --config 'the conf' "$key"
    [ "$suggested" = "rlock release --force --config 'the conf' $key" ]
    pasted bash
    is_free
  )
  redis set "rlock:$key" theirs
  redis acl setuser ann on '>hunter2' '~*' '&*' +@all
  suggests 0 rlock status --server "unix://ann:hunter2@$sock" "$key"
  [ "$suggested" = "rlock release --force --server 'unix://***@$sock' $key" ]
}

@test "for a name that no KEY can have no command is suggested" {
  own_server
  redis set $'rlock:a\nb' theirs
  run --separate-stderr -0 rlock status
  [[ $stderr == *'it stays held until its holder releases it; no KEY can have its name, so rlock cannot' ]]
}

@test "a string is no lock of Redisson: release --force says that --compat redisson is in the way" {
  redis set "rlock:$key" theirs
  expect_error 79 "not released: $key is held; it is not a lock of Redisson: leave out --compat redisson" \
    rlock release --force --compat redisson "$key"
  expect 0 rlock release --force "$key"
  is_free
}
