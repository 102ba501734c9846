# A mistake on the command line: one line that names it, 64, and the server hears nothing.
load helper

setup_file() { start_server; }
teardown_file() { stop_servers; }

setup() {
  begin_test
  export RLOCK_SERVER=$url
  met=$(connections)
}

verbs=(run acquire renew release status)

@test "no verb, or a wrong one" {
  wrong 'no verb'
  wrong 'no verb' --server "$url"
  wrong "'lock'" lock "$key"
  wrong "'RUN'" RUN "$key" -- true
  wrong "''" '' "$key"
  wrong "'ru'" ru "$key" -- true
  wrong "'-'" - "$key"
}

@test "an option that the verb does not have" {
  local verb
  for verb in "${verbs[@]}"; do
    wrong --nonsense $verb --nonsense "$key"
    wrong -Z $verb -Z "$key"
  done
  wrong --force run --force "$key" -- true
  wrong --json run --json "$key" -- true
  wrong --exit-code acquire --exit-code "$key"
  wrong --wait renew --wait 1s "$key" token
  wrong --ttl release --ttl 1s "$key" token
  wrong --ttl status --ttl 1s "$key"
  wrong "'-s' is not an option of rlock status; it is an option of run and acquire" status -s "$key"
  # One of a later time, in part or in full, is none either.
  wrong --serv run --serv "$url" "$key" -- true
}

@test "an option without its value" {
  wrong --ttl acquire "$key" --ttl
  wrong -w acquire "$key" -w
  wrong --server status --server
  wrong -t run -t
}

@test "unexpected arguments" {
  wrong more acquire "$key" more
  wrong more release "$key" token more
  wrong more status "$key" more
}

@test "durations that are none" {
  local text option
  for text in '' x 1x 1.s .5s -1s -1 +1s '1 s' ' 1s' '1s ' 1s1m 1s1s 1h30 1M 1S 1µs 1us 0x10 1e3 nan inf 1,5s 1.0001s 0.5ms '1m;' $'1s\n' ١s; do
    for option in --ttl --wait --connect-timeout; do
      wrong "' is not a duration; write 500ms, 30s, 5m or 1h30m" acquire "$option" "$text" "$key"
    done
    wrong --kill-after run --kill-after="$text" "$key" -- true
  done
}

@test "a duration of more than ten years is too long" {
  local text
  for text in 3651d 36500d 99999999999999999999s 99999999999999999999 1h99999999999999999999s; do
    wrong "--ttl: '$text' is too long; at most 3650d" acquire --ttl "$text" "$key"
  done
}

@test "durations as they should be" {
  local text
  for text in 100ms 1 30 30s 5m 1h30m 1d 0.5 1.5s 1m30s 2h0m; do
    run rlock run --ttl "$text" -w "$text" "$key" -- true
    # A busy machine needs longer than the shortest.
    [[ $status == 0 || $text == 100ms && $status == @(75|79) ]]
  done
}

@test "a key that rlock needs for its own data" {
  local key wrong='choose another'
  for key in 'q:{x}' 'i:{x}' 'f:{x}' 't:{x}:0123' 'h:{x}' 'l:{x}' 'q::a{b}c'; do
    expect_error 64 "$wrong" rlock run "$key" -- true
    expect_error 64 "$wrong" rlock acquire -n "$key"
    expect_error 64 "$wrong" rlock renew "$key" 0123
    expect_error 64 "$wrong" rlock release "$key" 0123
    expect_error 64 "$wrong" rlock release --force "$key"
    expect_error 64 "$wrong" rlock status "$key"
    expect_error 64 "$wrong" rlock run --prefix '' "rlock:$key" -- true
    expect_error 64 "$wrong" rlock run --prefix 'rlo' "ck:$key" -- true
  done
  expect 0 rlock acquire --prefix '' 'q:{x}'
  expect 0 rlock acquire q:x
}

@test "a key that is empty, too long, or has control characters" {
  local verb
  for verb in "${verbs[@]}"; do
    local rest=()
    [ $verb != run ] || rest=(-- touch ran)
    [[ $verb != re* ]] || rest=(token)
    [ $verb = status ] || wrong KEY $verb '' "${rest[@]}"
    wrong KEY $verb "$(printf '%1025s' | tr ' ' k)" "${rest[@]}"
    wrong KEY $verb $'a\nb' "${rest[@]}"
    wrong KEY $verb $'\e[31mred' "${rest[@]}"
    wrong KEY $verb $'tab\t' "${rest[@]}"
    wrong KEY $verb $'del\x7f' "${rest[@]}"
    [ $verb = status ] || wrong KEY $verb
  done
  [ ! -e ran ]
}

@test "status of an empty key is a mistake, and not the list of all" {
  rlock acquire "$key"
  met=$(connections)
  wrong KEY status ''
  wrong KEY status --exit-code ''
  wrong KEY status -- ''
}

@test "a key of any other bytes is a key" {
  local odd
  for odd in 'a b' 'a*?[x]' '{tag}' 'ключ' $'\xff\xfe' "it's" '"' '$(x)' '--' -k "$(printf '%1024s' | tr ' ' k)"; do
    expect 0 rlock run -- "$odd" sh -c '[ "$RLOCK_KEY" = "$1" ]' sh "$odd"
  done
}

@test "a conflict exit code that no process can have" {
  local code
  for code in 600 256 -1 x '' 1.5 0x1 010 '7 5' 99999999999999999999; do
    wrong --conflict-exit-code acquire -E "$code" "$key"
    wrong --conflict-exit-code run --conflict-exit-code="$code" "$key" -- true
  done
}

@test "run without a command" {
  wrong COMMAND run "$key"
  wrong COMMAND run "$key" --
  wrong COMMAND run --ttl 5s "$key"
  wrong KEY run
  wrong KEY run --
  # The only word is meant for the command.
  wrong 'KEY is missing; write rlock run KEY -- COMMAND' run -- ./backup.sh
  wrong 'COMMAND is missing; write rlock run KEY -- COMMAND' run "$key"
}

@test "a ttl under 100ms" {
  local text verb
  for text in 0 0s 99ms 1ms 0.099; do
    wrong --ttl run --ttl $text "$key" -- true
    wrong --ttl acquire --ttl $text "$key"
    wrong --ttl renew --ttl $text "$key" token
    RLOCK_TTL=$text wrong --ttl acquire "$key"
  done
  expect 0 rlock run --ttl 100ms "$key" -- true
}

@test "a ttl too small for --kill-after names the smallest that works" {
  local grace
  for grace in 1s 5s 700ms 1m 3h; do
    wrong --kill-after run --ttl 100ms -k $grace "$key" -- true
    [[ $stderr =~ use\ --ttl\ ([0-9dhms]+)\ or\ more ]]
    local least=${BASH_REMATCH[1]}
    expect 0 rlock run --ttl "$least" -k $grace "$key" -- true
    met=$(connections)
    # And it is the smallest: one millisecond less is not enough.
    local ms
    ms=$(rlock acquire --json --ttl "$least" "$key-$grace" | jq .ttl_ms)
    met=$(connections)
    wrong --kill-after run --ttl $((ms - 1))ms -k $grace "$key" -- true
  done
  expect 0 rlock run --no-renew --ttl 1s -k 500ms "$key" -- true
}

@test "a signal that is none" {
  local text
  for text in '' NOPE SIG SIGSIG term 0 -9 65 1000 TERM,INT; do
    wrong --signal run --signal "$text" "$key" -- true
  done
  for text in TERM SIGTERM INT 15 9 USR1; do
    expect 0 rlock run --signal $text "$key" -- true
  done
}

@test "an --on-lost that is neither kill nor warn" {
  local text
  for text in '' no KILL killed 1; do
    wrong --on-lost run --on-lost "$text" "$key" -- true
  done
}

@test "run has no PID, and its help has none" {
  rlock run --help >help
  grep -q -- '--signal SIG' help
  run -1 grep -w PID help
}

@test "what stops the process of --while-pid does nothing without it" {
  wrong '--signal does nothing without --while-pid; give both, or leave it out' acquire --signal INT "$key"
  wrong '--kill-after does nothing without --while-pid' acquire "$key" -k 3s
  wrong '--on-lost does nothing without --while-pid' acquire --on-lost warn "$key"
  printf 'signal = INT\nkill-after = 3s\n[acquire]\non-lost = warn\n' >conf
  expect 0 rlock acquire --config conf "$key"
  expect 0 rlock acquire --signal INT -k 1s --on-lost kill --while-pid $$ "$key-2"
}

@test "at once and after a time exclude each other, and so do quiet and verbose" {
  wrong --wait run -n -w 1s "$key" -- true
  wrong --wait acquire --wait 1s --nonblock "$key"
  wrong --quiet status -q -v
}

@test "bytes of a mistake do not reach the terminal raw" {
  local odd=$'\e]0;title\a\xc2\x9b31m\u202e'
  wrong '' "$odd"
  [[ $stderr != *[$'\e\a']* && $stderr != *$'\u202e'* && $stderr != *$'\xc2\x9b'* ]]
  wrong '' acquire "--$odd" "$key"
  [[ $stderr != *[$'\e\a']* && $stderr != *$'\u202e'* && $stderr != *$'\xc2\x9b'* ]]
  wrong '' acquire --ttl "$odd" "$key"
  [[ $stderr != *[$'\e\a']* && $stderr != *$'\u202e'* && $stderr != *$'\xc2\x9b'* ]]
  wrong '' acquire "$odd"
  [[ $stderr != *[$'\e\a']* && $stderr != *$'\u202e'* && $stderr != *$'\xc2\x9b'* ]]
}

@test "--help of all verbs tells all of their options on standard output" {
  local verb
  run --separate-stderr -0 rlock --help
  [ -z "$stderr" ]
  for verb in "${verbs[@]}"; do
    [[ $output == *"rlock $verb "* ]]
  done
  run --separate-stderr -0 rlock -h
  for verb in "${verbs[@]}"; do
    run --separate-stderr -0 rlock $verb --help
    [ -z "$stderr" ]
    [[ $output == *"rlock $verb "*--server*--prefix*"Exit status"* ]]
    [ $verb = run ] || run --separate-stderr -0 rlock $verb "$key" -h
  done
  run --separate-stderr -0 rlock run --help
  [[ $output == *--ttl*--wait*--nonblock*--conflict-exit-code*--signal*--kill-after*--on-lost*--no-renew* ]]
  nobody_called
}

@test "what follows KEY belongs to the command, --help and --version too" {
  expect 0 rlock run "$key" printf '%s,' --help -h
  [ "$output" = --help,-h, ]
  expect 0 rlock run "$key" -- printf '%s,' --version -h
  [ "$output" = --version,-h, ]
}

@test "--version is the one of the file VERSION" {
  run --separate-stderr -0 rlock --version
  [ "${lines[0]}" = "rlock $(cat "$BATS_TEST_DIRNAME/../VERSION")" ]
  [[ ${lines[1]} =~ ^with\ OpenSSL\ 3\.[0-9.]+,\ hiredis\ 1\.[0-9.]+,\ c-ares\ 1\.[0-9.]+,\ http-parser\ 2\.9\.[0-9.]+,\ CLI11\ 2\.[0-9.]+,\ nlohmann-json\ 3\.[0-9.]+,\ lib(stdc|c)\+\+\ [0-9.]+,\ (glibc|musl)\ [0-9.]+$ ]]
  [ "${#lines[@]}" = 2 ]
  [ -z "$stderr" ]
  nobody_called
}

@test "--version of a verb prints the version, and the verb does nothing" {
  local verb option version
  version="rlock $(cat "$BATS_TEST_DIRNAME/../VERSION")"
  for option in --version -V; do
    for verb in "${verbs[@]}"; do
      expect 0 rlock $verb $option
      [ "${lines[0]}" = "$version" ]
      expect 0 rlock --server "$url" $option $verb "$key" touch ran
      [ "${lines[0]}" = "$version" ]
    done
    expect 0 rlock run $option "$key" touch ran
    [ "${lines[0]}" = "$version" ]
  done
  [ ! -e ran ]
  nobody_called
}

@test "help is at most 80 columns wide, names defaults and variables, and has examples" {
  local verb
  for verb in '' "${verbs[@]}"; do
    # shellcheck disable=SC2086 # none for the overview
    rlock help $verb >help
    rlock $verb --help | diff - help
    [ "$(wc -L <help)" -le 80 ]
    [ -z "$verb" ] || grep -A9 '^Examples:' help | grep -q "rlock $verb"
  done
  rlock run --help >help
  grep -A1 -- '--ttl D' help | grep -qF '[default 30s; $RLOCK_TTL]'
  expect_error 64 "'lock'" rlock help lock
  expect_error 64 'did you mean status?' rlock help statsu
  expect_error 64 "unexpected argument 'extra'; write rlock help" rlock help run extra
  rlock help help | diff - <(rlock --help)
  rlock help --help | diff - <(rlock --help)
  nobody_called
}

@test "-h is what is needed most, on one screen; --help is everything" {
  local verb option
  for verb in '' "${verbs[@]}"; do
    # shellcheck disable=SC2086 # none for the overview
    rlock $verb -h >brief
    rlock $verb --help >whole
    [ "$(wc -l <brief)" -lt 24 ]
    [ "$(wc -L <brief)" -le 80 ]
    grep -qF -- "rlock $verb${verb:+ }--help" brief
    [ "$(wc -l <whole)" -gt "$(wc -l <brief)" ]
    # No option that --help has not.
    for option in $(grep -o -- ' --[a-z-]*' brief | grep -v -- --help); do grep -qF -- "$option" whole; done
  done
  rlock run -h >brief
  for option in --ttl --shared --slots --wait --nonblock --conflict-exit-code --hold --once --timeout --server; do
    grep -q -- " $option " brief
  done
  rlock help -h | diff - <(rlock -h)
  # Both at once is everything, before the verb too.
  rlock run -h --help | diff - <(rlock run --help)
  rlock -h run | diff brief -
  rlock --help run -h | diff - <(rlock run --help)
  nobody_called
}

@test "a mistyped verb or option gets the nearest one suggested" {
  wrong 'did you mean acquire?' aquire "$key"
  wrong 'did you mean status?' statsu
  wrong 'did you mean --ttl?' run --tll 5s "$key" -- true
  wrong 'did you mean --nonblock?' acquire --non-block "$key"
  wrong 'did you mean --server?' --sever "$url" status
  wrong 'it is an option of run' acquire --no-renew "$key"
  wrong "'--json' is not an option of rlock run; it is an option of acquire and status" run --json "$key" true
  wrong 'did you mean run?' rnu "$key" true
  wrong 'did you mean run?' RUN "$key" true
  wrong 'did you mean --version?' --versoin
  wrong "'---' is not an option of rlock run; see rlock run --help" run --- "$key" true
  wrong "'- ' is not an option of rlock run; see rlock run --help" run '- ' "$key" true
  # What flock, consul and others call it.
  wrong "'--timeout' is not an option of rlock acquire; did you mean --wait?" acquire --timeout 5 "$key"
  wrong 'did you mean --nonblock?' run --nb "$key" true
  wrong "'-e' is not an option of rlock run; did you mean -x (--exclusive)?" run -e "$key" true
  wrong 'did you mean release?' unlock "$key"
  wrong 'did you mean status?' ls
  wrong "'-T' is not an option of rlock run; did you mean --ttl?" run -T 5s "$key" true
  wrong "'-N' is not an option of rlock acquire; did you mean --nonblock?" acquire "$key" -N
  wrong 'did you mean --json?' acquire --jsno "$key"
  wrong 'did you mean --connect-timeout?' acquire --connect 1s "$key"
  wrong "'--ttl' comes before the verb; write it after the verb; it is an option of run, acquire and renew" --ttl 5s run "$key" true
  wrong "'--xyzzy' is not an option of rlock acquire; see" acquire --xyzzy "$key"
}

@test "a bad value says where it comes from" {
  printf 'prefix = team:\n[run]\nwait = 1s\n  ttl = soon\n' >conf
  expect_error 78 "conf line 4" rlock run --config conf "$key" -- true
  [[ $stderr == *"conf line 4: ttl: 'soon' is not a duration"* ]]
  RLOCK_TTL=soon wrong "RLOCK_TTL in the environment (--ttl): 'soon' is not" run "$key" -- true
  wrong "--ttl: 'soon' is not a duration; write 500ms, 30s, 5m or 1h30m" run -t soon "$key" -- true
  RLOCK_WAIT=-1 wrong RLOCK_WAIT acquire "$key"
  RLOCK_GRACE=1h30 wrong RLOCK_GRACE release "$key" token
  RLOCK_SHOW_COMMAND=maybe wrong "RLOCK_SHOW_COMMAND in the environment (--show-command): 'maybe'" run "$key" true
  RLOCK_SERVER=localhost wrong RLOCK_SERVER status
  RLOCK_SERVER=redis://a,redis://b wrong RLOCK_SERVER status
  RLOCK_COMPAT=jedis wrong 'write none or redisson' status
  RLOCK_PASSWORD_FILE=nowhere expect_error 78 'RLOCK_PASSWORD_FILE in the environment' rlock status
  RLOCK_CONFIG=nowhere expect_error 78 'RLOCK_CONFIG in the environment' rlock status
  printf 'password-file = nowhere\n' >conf
  expect_error 78 'conf line 1: password-file: the file cannot be read' rlock status --config conf
  printf 'tll = 5s\n' >conf
  expect_error 78 "conf line 1: 'tll' is not an option" rlock run --config conf "$key" -- true
}

@test "letters that were meant for something else" {
  wrong "'-ttl' is read as letters; write --ttl" run -ttl 5s "$key" -- true
  wrong "'-server' is read as letters; write --server" run -server "$url" "$key" -- true
  wrong "'-wait' is read as letters; write --wait" acquire "$key" -wait=5s
  wrong "'-t=5s' has an extra =; write -t 5s" run -t=5s "$key" -- true
  wrong "'***' has an extra =; write -t D" run -t=redis://ann:secret@h "$key" -- true
  wrong "'=...' follows an option that takes no value" run -n=true "$key" -- true
  # -s was meant for --server.
  wrong "'=...' follows an option that takes no value" acquire "-s=redis://h?password=canary" "$key"
  [[ $output != *canary* ]]
  wrong "'--nonblock=' has an extra =; write --nonblock" run --nonblock= "$key" -- true
  # Those of COMMAND are not looked at.
  wrong "--ttl: 'x' is not a duration" run -t x "$key" java -server -ttl
}

@test "flock -c is told how to write it" {
  local shell="write rlock run KEY -- sh -c 'COMMAND'"
  wrong "'-c' is not an option of rlock run; $shell" run -c 'touch ran' "$key"
  wrong "'-c' is not an option of rlock run; $shell" run "$key" -c 'touch ran'
  wrong "'--command' is not an option of rlock run; $shell" run "$key" --command 'touch ran'
  wrong "'-c' is not an option of rlock acquire; see rlock acquire --help" acquire -c "$key"
  [ ! -e ran ]
}

@test "a long value is repeated in part, and so that no password is seen" {
  local long
  long=$(printf '%5000s' | tr ' ' x)
  wrong "--ttl: '${long:0:80}...' is not a duration" run --ttl "$long" "$key" -- true
  [ "${#stderr}" -lt 200 ]
  wrong "...' is not a verb of rlock" "$long"
  [ "${#stderr}" -lt 200 ]
  wrong "...' is not an option of rlock run" run --"$long" "$key" -- true
  [ "${#stderr}" -lt 200 ]
  wrong "'***' is not a duration" run --ttl "redis://:$long@host" "$key" -- true
  wrong 'has an unknown form; write redis://' run --server "$long" "$key" -- true
  [ "${#stderr}" -lt 200 ]
}

# noted TEXT COMMAND...: it succeeds, and says this alone.
noted() {
  run --separate-stderr -0 "${@:2}"
  [ "$stderr" = "$1" ]
}

@test "a variable that is almost one of rlock's, or would be that of an option, is told" {
  RLOCK_TLL=5s noted 'rlock: RLOCK_TLL in the environment sets nothing; did you mean RLOCK_TTL?' rlock run "$key" -- true
  RLOCK_SLOTS=3 noted 'rlock: RLOCK_SLOTS in the environment sets nothing; write --slots' rlock run "$key" -- true
  RLOCK_SLOTS=3 noted '' rlock run -q "$key" -- true
  RLOCK_OF_ANOTHER_VERSION=3 noted '' rlock run "$key" -- rlock run --with "$key-2" "$key" -- rlock status -q "$key-3"
}

@test "an empty TOKEN is not the one of the environment" {
  RLOCK_TOKEN=$(rlock acquire "$key")
  export RLOCK_TOKEN
  met=$(connections)
  wrong 'TOKEN is empty' release "$key" ''
  wrong 'TOKEN is empty' renew "$key" ''
  expect 0 rlock release "$key"
}

@test "an option twice, or one with an empty value that would swallow the next word" {
  wrong '--ttl is given twice' run -t 5s --ttl 6s "$key" -- true
  wrong '--wait is given twice' run -w 1s --wait 1s "$key" -- true
  wrong '--prefix' run --prefix= "$key" true
  wrong '--config: the name of the file is empty' run --config '' "$key" true
  wrong '--password-file: the name of the file is empty' run --password-file '' "$key" true
}

@test "KEY of renew and release comes from RLOCK_KEY where it is missing" {
  wrong 'or set RLOCK_KEY' renew
  wrong 'or set RLOCK_KEY' release
  RLOCK_KEY=$key wrong 'KEY is missing' acquire
  RLOCK_TOKEN=$(rlock acquire "$key")
  export RLOCK_KEY=$key RLOCK_TOKEN
  expect 0 rlock renew
  expect 0 rlock release
  is_free
}

@test "help into a pipe that nobody reads is quiet, SIGPIPE ignored or not" {
  run --separate-stderr -0 python3 - <<'END'
import os
import subprocess
for restored, wanted in (True, -13), (False, 0):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(["rlock", "run", "--help"], stdout=writing, stderr=subprocess.PIPE, restore_signals=restored)
    assert (done.returncode, done.stderr) == (wanted, b""), done
END
}

@test "help that cannot be written is an error" {
  expect 70 sh -c 'rlock --help >/dev/full'
  expect 70 sh -c 'rlock run --help >/dev/full'
  expect 70 sh -c 'rlock --version >/dev/full'
}
