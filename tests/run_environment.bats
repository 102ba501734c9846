# shellcheck disable=SC2016,SC2154 # the command expands what stands in single quotes; helper.bash sets key, url, sock
load helper

setup_file() { start_server; }
teardown_file() { stop_servers; }

# alike WRAPPER... -- COMMAND...: started by WRAPPER, COMMAND prints the same with and without rlock around it.
alike() {
  local wrapper=()
  while [ "$1" != -- ]; do wrapper+=("$1") && shift; done
  shift
  "${wrapper[@]}" "$@" >plain
  "${wrapper[@]}" rlock run "$key" -- "$@" >under-rlock
  [ -s plain ]
  diff plain under-rlock
}

signals=(grep -E '^(SigPnd|ShdPnd|SigBlk|SigIgn|SigCgt)' /proc/self/status)

@test "signal mask and dispositions are the caller's" {
  alike -- "${signals[@]}"
  alike env --ignore-signal=PIPE -- "${signals[@]}"
  alike env --ignore-signal=CHLD -- "${signals[@]}"
  alike env --ignore-signal=XFSZ -- "${signals[@]}"
  alike env --ignore-signal=PIPE,CHLD,TERM,INT,HUP,QUIT,USR1,USR2,ALRM -- "${signals[@]}"
  alike env --block-signal=PIPE,CHLD,TERM,INT,HUP,QUIT,USR1,USR2,ALRM,CONT,TTOU -- "${signals[@]}"
}

@test "dispositions of signals that rlock has no use for are the caller's too" {
  not_sanitized 'has handlers of its own'
  alike env --ignore-signal=CONT -- "${signals[@]}"
  alike env --ignore-signal -- "${signals[@]}"
  alike env --block-signal -- "${signals[@]}"
}

@test "a limit on the size of files is a full disk for rlock, and as ever for the command" {
  local wrapped=(bash -c 'ulimit -f 0; exec "$@" >>out 2>>err' bash)
  "${wrapped[@]}" rlock run -v "$key" -- true
  is_free
  # 128 + SIGXFSZ, under rlock and without it. The core is not written either.
  run -153 "${wrapped[@]}" sh -c 'echo written'
  run -153 "${wrapped[@]}" rlock run -v "$key" -- sh -c 'echo written'
  is_free
  run "${wrapped[@]}" rlock acquire "$key"
  [ "$status" != 0 ]
  [ "$status" -lt 128 ]
  is_free
  run "${wrapped[@]}" rlock status
  [ "$status" != 0 ]
  [ "$status" -lt 128 ]
  rlock acquire "$key"
  run -75 "${wrapped[@]}" rlock run -v -w 50ms "$key" -- true
  [ ! -s out ] && [ ! -s err ]
}

@test "the exit status is exact though the caller ignores SIGCHLD" {
  expect 9 env --ignore-signal=CHLD rlock run "$key" -- sh -c 'exit 9'
  expect 9 env --ignore-signal=CHLD rlock run "$key" -- sh -c 'sleep 0.1; exit 9'
  is_free
}

@test "under nohup the command ignores SIGHUP, as without rlock" {
  alike nohup -- "${signals[@]}"
  grep -q 'SigIgn:.*[13579bdf]$' under-rlock
}

@test "umask, working directory, limits, priority, process group and session are the caller's" {
  mkdir elsewhere && cd elsewhere
  umask 027
  ulimit -n 321
  ulimit -c 0
  alike -- sh -c 'umask; pwd; ulimit -a; nice; ps -o pgid=,sid=,tpgid= -p $$'
  alike nice -n 3 -- sh -c 'umask; nice'
}

@test "the command has no descriptor of rlock's, and each of the caller's" {
  alike -- ls /proc/self/fd
  alike -- sh -c 'readlink /proc/$$/fd/0 /proc/$$/fd/2'
  exec 7</dev/null 9>other
  alike -- ls /proc/self/fd
  alike -- sh -c 'readlink /proc/$$/fd/7 /proc/$$/fd/9'
}

@test "what the caller has closed is closed for the command" {
  # No output where it is closed, hence a file; the colon keeps the shell itself alive to be looked at.
  local look='ls /proc/$$/fd >"$0"; :' which closing
  redis config resetstat
  for which in '<&-' '>&-' '2>&-' '<&- >&-' '<&- 2>&-' '>&- 2>&-' '<&- >&- 2>&-'; do
    closing="exec \"\$@\" $which"
    sh -c "$closing" sh sh -c "$look" plain
    sh -c "$closing" sh rlock run -v "$key" -- sh -c "$look" under-rlock
    [ -s plain ]
    diff plain under-rlock
    is_free
  done
  # What rlock has to say did not go to the server in place of a closed standard error.
  redis info errorstats | tee errors
  run -1 grep errorstat_ERR errors
}

@test "with everything closed rlock acquires, waits, reports and releases as ever" {
  local all='exec "$@" <&- >&- 2>&-'
  expect 0 sh -c "$all" sh rlock run -v "$key" -- sh -c 'sleep 0.1; echo ran >ran'
  [ -e ran ]
  is_free
  redis set "rlock:$key" another px 60000
  expect 75 sh -c "$all" sh rlock run -v -w 300ms "$key" -- true
  [ "$(redis get "rlock:$key")" = another ]
}

@test "standard input is the command's alone, to the last byte" {
  head -c 300000 /dev/urandom >bytes
  rlock run "$key" -- cat <bytes >copy
  cmp bytes copy
  { rlock run "$key" -- true; cat; } <bytes >copy
  cmp bytes copy
  # shellcheck disable=SC2002 # a pipe is wanted
  cat bytes | { rlock run "$key" -- dd bs=1 count=1000 status=none; cat; } >copy
  cmp bytes copy
}

@test "standard output and error are not mixed and not held back" {
  run --separate-stderr rlock run "$key" -- sh -c 'echo out; echo error >&2'
  [ "$output" = out ]
  # shellcheck disable=SC2154 # bats sets it
  [ "$stderr" = error ]
  rlock run "$key" -- sh -c 'echo early; until [ -e seen ]; do sleep 0.01; done' >said 3>&- &
  until_true 10 grep -q early said
  touch seen
  wait $!
}

@test "RLOCK_KEY, _TOKEN, _FENCE, _TTL, _PREFIX and _SERVER are set, and nothing else" {
  not_under_acl 'a URL with a password is passed on without'
  local show='env; echo "held by $(redis-cli -s "$sock" get "rlock:$RLOCK_KEY")"'
  env -i PATH="$PATH" A=1 B='two
lines' sock="$sock" RLOCK_SERVER="$url" sh -c "$show" | grep -v '^_=' >plain
  env -i PATH="$PATH" A=1 B='two
lines' sock="$sock" RLOCK_SERVER="$url" rlock run -t 90s "$key" -- sh -c "$show" | grep -v '^_=' >under-rlock
  run diff <(sort plain) <(sort under-rlock)
  [[ $output == *"> RLOCK_KEY=$key"* ]]
  [[ $output =~ '> RLOCK_TOKEN='([0-9a-f]{32})$'\n' ]]
  [[ $output == *"> held by ${BASH_REMATCH[1]}"* ]]
  [[ $output =~ '> RLOCK_FENCE='[0-9]+$'\n' ]]
  [[ $output == *"> RLOCK_TTL=1m30s"* ]]
  [[ $output == *"> RLOCK_PREFIX=rlock:"* ]]
  [ "$(grep -c '^[<>]' <<<"$output")" = 7 ] # these five, the server as it was, and "held by" twice
}

# What a script inside does with the lock that it runs under.
inside='cd / && rlock renew && rlock status --exit-code -q "$RLOCK_KEY" && rlock run -n "$RLOCK_KEY" -- true && echo met && rlock release'

# meets ARGUMENT...: the rlocks inside meet the lock of the run with these arguments, which is lost to the last of them.
meets() {
  expect 79 rlock run "$@" "$key" -- sh -c "$inside"
  [[ ${lines[0]} == met ]]
}

@test "an rlock inside meets the same lock, however server and prefix were named" {
  not_under_acl 'other prefixes are denied'
  local RLOCK_SERVER
  meets --server "$url"
  meets --server "$url" --prefix team:
  meets --server "$url" --prefix ''
  RLOCK_PREFIX='' meets --server "$url?db=3"
  mkdir dir
  printf 'server = "%s"\nprefix = team:\n' "$url" >dir/conf
  meets --config dir/conf
  expect 0 rlock run --config dir/conf "$key" -- printenv RLOCK_SERVER RLOCK_PREFIX
  [ "$output" = "$url"$'\n'team: ]
  RLOCK_CONFIG=dir/conf meets
  mkdir xdg
  mv dir/conf xdg/rlock.conf
  XDG_CONFIG_HOME=$PWD/xdg meets
  ln -s "$sock" 'odd %41?.sock'
  meets --server "unix://$PWD/odd %2541%3f.sock"
}

@test "an rlock inside has the password from a file or REDISCLI_AUTH, and from a URL only where that is in a file" {
  not_under_acl 'has users of its own'
  redis acl setuser ann on '>s3cret' '~*' '&*' +@all
  local RLOCK_SERVER ann=unix://ann:@$sock with=unix://ann:s3cret@$sock
  echo s3cret >password
  chmod 600 password
  meets --server "$ann" --password-file password
  RLOCK_PASSWORD_FILE=password meets --server "$ann"
  REDISCLI_AUTH=s3cret meets --server "$ann"
  REDISCLI_AUTH=s3cret expect 0 rlock run --server "$ann" "$key" -- printenv REDISCLI_AUTH
  [ "$output" = s3cret ]
  echo "server = \"$with\"" >conf
  chmod 600 conf
  meets --config conf
  expect 0 rlock run --config conf "$key" -- env
  [[ $output != *s3cret* ]]
  expect 0 rlock run --server "$with" "$key" -- env
  [[ $output == *"RLOCK_SERVER=$ann"* && $output != *s3cret* ]]
}

@test "the fence grows from run to run" {
  local before=0 fence
  for _ in 1 2 3 4 5; do
    fence=$(rlock run "$key" -- sh -c 'echo "$RLOCK_FENCE"')
    ((fence > before))
    before=$fence
  done
}

# What a nested run and the run around it have; the server says who holds.
nest='echo "$RLOCK_TOKEN $RLOCK_FENCE"
  rlock run -n "$RLOCK_KEY" -- sh -c "echo \"\$RLOCK_TOKEN \$RLOCK_FENCE\""
  echo "$? $(redis-cli -s "$sock" get "rlock:$RLOCK_KEY")"'

@test "a nested run of the same key runs at once, under the same lock, and releases nothing" {
  expect 0 rlock run "$key" -- sh -c "$nest"
  local token=${lines[0]% *}
  [ "${lines[1]}" = "${lines[0]}" ]
  [ "${lines[2]}" = "0 $token" ]
  is_free
}

@test "a nested run is one at any depth, and gives the status of its command" {
  expect 7 rlock run "$key" -- rlock run -n "$key" -- rlock run -n "$key" -- sh -c 'exit 7'
  is_free
}

@test "a nested run of another key is a run of its own" {
  expect 0 rlock run "$key" -- rlock run -n other -- sh -c "echo \$RLOCK_KEY; redis-cli -s $sock exists rlock:$key rlock:other"
  [ "$output" = $'other\n2' ]
  is_free
  is_free other
  expect 75 rlock run "$key" -- rlock run -n other -- rlock run -n "$key" -- touch ran
  [ ! -e ran ]
}

@test "a token in the environment is not trusted: the lock may be free or another's by now" {
  export RLOCK_KEY=$key RLOCK_TOKEN=0123456789abcdef0123456789abcdef
  expect 0 rlock run -n "$key" -- sh -c 'echo "$RLOCK_TOKEN"; redis-cli -s "$sock" get "rlock:$RLOCK_KEY"'
  [ "${lines[0]}" = "${lines[1]}" ]
  [ "${lines[0]}" != "$RLOCK_TOKEN" ]
  is_free
  redis set "rlock:$key" another px 60000
  expect 75 rlock run -n "$key" -- touch ran
  [ ! -e ran ]
  [ "$(redis get "rlock:$key")" = another ]
}
