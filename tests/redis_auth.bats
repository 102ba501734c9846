# Passwords: where they come from, and that they go nowhere else.
load helper

TEST_ACL=  # the users are its own

# Not exported: a command's environment would have it from here.
[ ! -e "${BATS_FILE_TMPDIR-}/secret" ] || SECRET=$(cat "$BATS_FILE_TMPDIR/secret")

setup_file() {
  start_server
  # No other test on this machine has this one. It stands in no argv of the tests either.
  SECRET="canary${RANDOM}x$$@:/%? ~"
  printf %s "$SECRET" >"$BATS_FILE_TMPDIR/secret"
  redis-cli -s "$sock" <<<"config set requirepass \"$SECRET\"" >/dev/null
  redis <<<"acl setuser ann on \">ann-$SECRET\" +@all ~* &*" >/dev/null
}
teardown_file() { stop_servers; }

redis() { REDISCLI_AUTH=$SECRET redis-cli -s "$sock" --no-auth-warning "$@"; }

# escaped TEXT: as it stands in a URL.
escaped() {
  local text=$1
  text=${text//%/%25} text=${text//@/%40} text=${text//:/%3A} text=${text//\//%2F} text=${text//\?/%3F}
  echo "${text// /%20}"
}
# login [USER]: the server's URL with user and password.
login() { echo "unix://${1-}:$(escaped "${1:+$1-}$SECRET")@$sock"; }

# silent FILE...: no password in there.
silent() {
  cut -d@ -f1 <<<"$SECRET" >needle
  run -1 grep -alFf needle "$@"
}
# in_no_argv: nor in the command line of any process. Those that end while one looks are none.
in_no_argv() {
  cut -d@ -f1 <<<"$SECRET" >needle
  cat /proc/[0-9]*/cmdline >argv 2>/dev/null || true
  [ -s argv ]
  run -1 grep -alFf needle argv
}

# all_verbs: each does its work, under -v; what they say stands in said.
all_verbs() {
  local token
  {
    rlock run -v "$@" "$key" -- true
    token=$(rlock acquire -v "$@" "$key")
    rlock renew -v "$@" "$key" "$token"
    rlock status -v "$@"
    rlock status -v --json "$@" "$key"
    rlock release -v "$@" "$key" "$token"
  } >>said 2>&1
  silent said
}
# refused: each is, and nothing is locked then.
refused() {
  rejects() {
    expect 77 timeout 120 rlock "$@"
    echo "$output" >>said
  }
  rejects run -v "$@" "$key" -- touch ran
  rejects run -v -n -E 9 "$@" "$key" -- touch ran
  rejects run -v -w 100ms "$@" "$key" -- touch ran
  rejects acquire -v "$@" "$key"
  rejects renew -v "$@" "$key" 0123
  rejects release -v "$@" "$key" 0123
  rejects status -v "$@"
  rejects status -v --exit-code "$@" "$key"
  silent said
  [ ! -e ran ]
  is_free
  waiting 0
}

@test "from the URL in RLOCK_SERVER" {
  RLOCK_SERVER=$(login) all_verbs
  RLOCK_SERVER=$(login | sed s/canary/CANARY/) refused
}

@test "from the URL in the configuration file" {
  unset RLOCK_SERVER
  echo "server = \"$(login)\"" >conf
  all_verbs --config conf
  sed -i s/canary/CANARY/ conf
  refused --config conf
}

@test "from REDISCLI_AUTH" {
  REDISCLI_AUTH=$SECRET all_verbs
  REDISCLI_AUTH=wrong refused
}

@test "from --password-file" {
  printf '%s\nmore\n' "$SECRET" >file
  all_verbs --password-file file
  printf %s "$SECRET" >file
  all_verbs --password-file file
  printf '%s\r\n' "$SECRET" >file
  all_verbs --password-file file
  rlock run --password-file <(printf %s "$SECRET") "$key" -- true
  expect_error 78 '--password-file: the file is a directory; name a file' rlock run --password-file / "$key" -- true
  printf 'x%s\n' "$SECRET" >file
  refused --password-file file
}

@test "from the configuration file's password-file" {
  printf '%s\n' "$SECRET" >file
  echo "password-file = $PWD/file" >conf
  all_verbs --config conf
}

@test "no password at all: refused, with the ways to give one" {
  refused
  expect_error 77 RLOCK_SERVER rlock acquire -n "$key"
  [[ $stderr == *REDISCLI_AUTH* && $stderr == *--password-file* ]]
}

@test "the URL's password beats the file's, and that one the environment's" {
  echo wrong >file
  RLOCK_SERVER=$(login) REDISCLI_AUTH=wrong all_verbs --password-file file
  echo "$SECRET" >file
  REDISCLI_AUTH=wrong all_verbs --password-file file
}

@test "a password file that is missing, empty or endless is a configuration error" {
  : >empty
  echo >newline
  local file
  for file in missing empty newline /dev/zero .; do
    expect_error 78 '--password-file' timeout 120 rlock acquire --password-file "$file" "$key"
  done
  is_free
}

@test "users have passwords of their own" {
  RLOCK_SERVER=$(login ann) all_verbs
  export RLOCK_SERVER=unix://ann:@$sock
  REDISCLI_AUTH=ann-$SECRET all_verbs
  echo "ann-$SECRET" >file
  all_verbs --password-file file
  REDISCLI_AUTH=$SECRET refused
  RLOCK_SERVER=$(login | sed 's,//,//bob,') refused
  # A user is no secret: it stands in the message.
  REDISCLI_AUTH=wrong expect_error 77 "ann:@" rlock status
}

@test "a lone part before the @ is the password, as redis-cli has it, and is not shown" {
  local lone
  lone=unix://$(escaped "$SECRET")@$sock
  RLOCK_SERVER=$lone all_verbs
  RLOCK_SERVER=${lone/canary/CANARY} refused
  run -1 grep -i canary said
  RLOCK_SERVER=$lone run -0 rlock run "$key" -- printenv RLOCK_SERVER
  [ "$output" = "unix://$sock" ]
  # Nor where nothing answers, or where it stands on the command line.
  RLOCK_SERVER=redis://canary@127.0.0.1:$(free_port) run -69 rlock status
  [[ $output != *canary* ]]
  background rlock run --server "$lone" "$key" -- sh -c 'touch up; until [ -e go ]; do sleep 0.01; done'
  until_true 10 test -e up
  in_no_argv
  touch go
  finish
}

@test "a lone word before the @ is the user where the password comes from elsewhere, and is not shown" {
  local taken='the word before the @ was taken for the'
  printf '%s\n' "ann-$SECRET" >file
  RLOCK_SERVER=unix://ann@$sock all_verbs --password-file file
  REDISCLI_AUTH=ann-$SECRET RLOCK_SERVER=unix://ann@$sock all_verbs
  # As in the example of /etc/rlock.conf.
  printf 'server = "unix://ann@%s"\npassword-file = %s\n' "$sock" "$PWD/file" >conf
  RLOCK_SERVER='' all_verbs --config conf
  # What it was taken for here, it need not be elsewhere: the rlock inside reads the file again.
  RLOCK_SERVER='' run -0 rlock run --config conf "$key" -- sh -c 'rlock renew && echo "[$RLOCK_SERVER]"'
  [ "${lines[0]}" = '[]' ]
  RLOCK_SERVER=unix://ann@$sock run -0 rlock run --password-file file "$key" -- sh -c 'rlock renew && printenv RLOCK_SERVER'
  [ "${lines[0]}" = "unix://ann:@$sock" ]
  # The message says what it was taken for, and not what it is.
  expect_error 77 "$taken user, as the password comes from elsewhere: write :PASSWORD@" \
    rlock status --server "unix://bob@$sock" --password-file file
  [[ $stderr != *bob* ]]
  expect_error 77 "$taken password: write USER:@" rlock status --server "unix://bob@$sock"
  [[ $stderr != *bob* ]]
}

@test "a user without a password is not the default user" {
  RLOCK_SERVER=unix://ann:@$sock refused
  # As inside a run whose URL had the password: what is missing is said, and not that it is wrong.
  RLOCK_SERVER=unix://ann:@$sock expect_error 77 'it needs a password: put it in the URL (RLOCK_SERVER, /etc/rlock.conf), REDISCLI_AUTH' rlock status
  RLOCK_SERVER=$(login ann) run --separate-stderr -77 rlock run "$key" -- rlock renew
  [[ $stderr == *'it needs a password'* && $stderr != *'is wrong'* ]]
  redis acl setuser bare on nopass '+@all' '~*' '&*'
  RLOCK_SERVER=unix://bare:@$sock expect 0 rlock run "$key" -- true
}

@test "over TCP, with a database" {
  local port
  port=$(free_port)
  redis config set port "$port"
  RLOCK_SERVER=redis://:$(escaped "$SECRET")@127.0.0.1:$port/3 rlock acquire "$key"
  [ "$(redis -n 3 exists "rlock:$key")" = 1 ]
  RLOCK_SERVER=redis://ann:$(escaped "ann-$SECRET")@localhost:$port/3 expect 75 rlock acquire -n "$key"
  RLOCK_SERVER=redis://:canary@127.0.0.1:$port/3 expect 77 rlock acquire -n "$key"
}

@test "on the command line it is taken out of the process list" {
  local url
  all_verbs --server "$(login)"
  all_verbs --server="$(login ann)"
  for url in "$(login)" "$(login ann)"; do
    background rlock run --server "$url" "$key" -- sh -c 'touch up; until [ -e go ]; do sleep 0.01; done'
    until_true 10 test -e up
    until_true 10 guard_of $!
    background rlock run --server="$url" "$key" -- true
    until_true 10 waiting 1
    in_no_argv
    grep -aq -- '--server' argv
    touch go
    finish
    rm up go
  done
}

@test "it is in no process list, output, record or environment of the command" {
  printf '%s\n' "$SECRET" >file
  local how
  for how in url auth file; do
    (
      options=()
      case $how in
        url) RLOCK_SERVER=$(login) ;;
        auth) export REDISCLI_AUTH=$SECRET ;;
        file) options=(--password-file file) ;;
      esac
      exec rlock run -v --show-command "${options[@]}" "$key" -- \
        sh -c 'env >env; cat /proc/self/environ >environ; touch up; until [ -e go ]; do sleep 0.01; done' >>said 2>&1
    ) 3>&- &
    local pid=$!
    until_true 10 test -e up
    until_true 10 guard_of "$pid"
    in_no_argv
    REDISCLI_AUTH=$SECRET rlock status >>said
    REDISCLI_AUTH=$SECRET rlock status --json "$key" >>said
    redis hgetall "rlock:i:{rlock:$key}" >>said
    touch go
    ended 0 "$pid"
    rm up go
    grep -q RLOCK_TOKEN env
    # Who had REDISCLI_AUTH keeps it: it is redis-cli's own.
    if [ $how = auth ]; then silent said; else silent env environ said; fi
  done
}

@test "the command finds the server's address without the password" {
  RLOCK_SERVER=$(login ann) run -0 rlock run "$key" -- printenv RLOCK_SERVER
  [ "$output" = "unix://ann:@$sock" ]
  # It is redis-cli's own variable: who had it keeps it.
  REDISCLI_AUTH=$SECRET run -0 rlock run "$key" -- printenv REDISCLI_AUTH
}

@test "the server logs no password, under MONITOR either" {
  REDISCLI_AUTH=$SECRET background redis-cli -s "$sock" --no-auth-warning monitor >commands
  until_true 10 grep -q OK commands
  RLOCK_SERVER=$(login) all_verbs
  RLOCK_SERVER=$(login ann) all_verbs
  redis echo the-end
  until_true 10 grep -q the-end commands
  grep -qi evalsha commands
  silent commands "$BATS_FILE_TMPDIR/server.log"
}

@test "a connection that breaks is made anew with the password" {
  REDISCLI_AUTH=$SECRET background rlock run --ttl 3s -k 100ms "$key" -- \
    sh -c 'touch up; until [ -e go ]; do sleep 0.01; done; exit 5'
  local pid=$!
  until_true 10 test -e up
  redis config resetstat
  redis client kill type normal
  renewed() { [ "$(redis info commandstats | sed -n 's/^cmdstat_pexpire:calls=\([0-9]*\).*/\1/p')" -ge 6 ]; }
  until_true 10 renewed
  touch go
  ended 5 "$pid"
}

# rotating TTL [OPTION...]: a job under the password file ./file, its pid in $job. cut_off: the server has another
# password, and all connections are made anew.
rotating() {
  redis <<<"acl setuser rota reset on >before +@all ~* &*" >/dev/null
  echo before >file
  export RLOCK_SERVER=unix://rota:@$sock
  rlock run --password-file file --ttl "$1" -k 100ms "${@:2}" "$key" -- \
    sh -c 'touch up; until [ -e go ]; do sleep 0.01; done; exit 5' 2>said 3>&- &
  job=$!
  until_true 10 test -e up
  until_true 10 guard_of "$job"
}
cut_off() {
  redis <<<"acl setuser rota resetpass >after" >/dev/null
  redis config resetstat
  redis client kill type normal
}
renewed() { [ "$(redis info commandstats | sed -n 's/^cmdstat_pexpire:calls=\([0-9]*\).*/\1/p')" -ge 4 ]; }

@test "a running job outlives a password that is rotated in its file, and so does a waiter" {
  rotating 3s
  background rlock run --password-file file "$key" -- touch ran
  until_true 10 waiting 1
  echo after >file
  cut_off
  until_true 10 renewed
  touch go
  ended 5 "$job"
  until_true 10 test -e ran
  finish
  until_true 10 is_free
  [ ! -s said ]
}

@test "it does where the file comes last, as long as the lease lasts; -v says where the refused password came from" {
  rotating 3s -v
  cut_off
  until_true 10 grep -q 'not renewed: .*the user or password is wrong (WRONGPASS); the password comes from the file, --password-file; the lease' said
  echo after >file
  until_true 10 renewed
  touch go
  ended 5 "$job"
  until_true 10 is_free
}

@test "the guard of a killed rlock knows the new password too" {
  rotating 60s
  echo after >file
  cut_off
  kill -KILL "$job"
  until_true 10 is_free
}

@test "a message says where the refused password came from: the URL, the file, REDISCLI_AUTH" {
  export RLOCK_SERVER=unix://ann:@$sock
  printf 'wrong\n' >file
  printf 'server = unix://ann:wrong@%s\n' "$sock" >conf
  expect_error 77 '(WRONGPASS); the password comes from REDISCLI_AUTH; see' env REDISCLI_AUTH=wrong rlock status
  expect_error 77 '; the password comes from the file, --password-file; see' rlock status --password-file file
  expect_error 77 '; the password comes from the file, RLOCK_PASSWORD_FILE in the environment (--password-file); see' \
    env RLOCK_PASSWORD_FILE=file rlock status
  expect_error 77 '; the password comes from the URL, RLOCK_SERVER in the environment (--server); see' \
    env RLOCK_SERVER="unix://ann:wrong@$sock" rlock status
  expect_error 77 '; the password comes from the URL, conf line 1: server; see' env -u RLOCK_SERVER rlock status --config conf
}

@test "a signal while a server with a password does not answer: the late answer leaves no lock" {
  export RLOCK_SERVER
  RLOCK_SERVER=$(login ann)
  # The scripts are known there, so that the late request takes the lock.
  rlock run "$key" -- true
  kill -STOP "$(server_pid)"
  rlock run "$key" -- touch ran 3>&- &
  local rlock=$!
  until_true 10 grep -q '^State.*S' "/proc/$rlock/status"
  kill -TERM "$rlock"
  ended 143 "$rlock"
  kill -CONT "$(server_pid)"
  until_true 3 is_free
  [ ! -e ran ]
}

# start_open NAME: a server that asks nobody for a password, and knows a user who has one.
start_open() {
  start_server "$1"
  redis() { redis-cli -s "$sock" "$@"; }
  redis acl setuser ann on '>right' '+@all' '~*' '&*'
}

@test "a wrong password on a server that is open to all: refused, and nothing stays locked" {
  start_open open
  # From here on the scripts are known there, so that what follows a refused AUTH is carried out.
  RLOCK_SERVER=unix://$sock rlock run "$key" -- true
  export RLOCK_SERVER=unix://ann:wrong@$sock
  expect 77 rlock acquire "$key"
  is_free
  expect 77 rlock run "$key" -- touch ran
  is_free
  redis set "rlock:$key" somebody
  expect 77 rlock run -w 100ms "$key" -- touch ran
  waiting 0
  [ ! -e ran ]
  [ "$(redis get "rlock:$key")" = somebody ]
}

@test "a wrong password on a server that is open to all: nothing held is released or renewed" {
  local token
  start_open open-held
  RLOCK_SERVER=unix://$sock
  token=$(rlock acquire --ttl 10m "$key")
  # The scripts are known, so that what follows a refused AUTH would be carried out.
  rlock renew --ttl 10m "$key" "$token"
  rlock release "$key-2" "$token" 2>/dev/null || [ $? = 79 ]
  export RLOCK_SERVER=unix://ann:wrong@$sock
  expect_error 77 WRONGPASS rlock release "$key" "$token"
  expect_error 77 WRONGPASS rlock release --force "$key"
  expect_error 77 WRONGPASS rlock renew --ttl 10h "$key" "$token"
  RLOCK_KEY=$key RLOCK_TOKEN=$token expect_error 77 WRONGPASS rlock run --ttl 10h "$key" -- touch ran
  [ "$(redis get "rlock:$key")" = "$token" ]
  [ "$(redis pttl "rlock:$key")" -lt 600001 ]
}

# canary_shown OUTPUT...: the password, or the token, or eight bytes of either, anywhere.
shows_nothing() {
  run -1 grep -E 'canary|[0-9a-f]{8}' "$@"
}

@test "servers and proxies that repeat what they do not know: neither password nor token is shown" {
  local wanted reply patience token=0123456789abcdef0123456789abcdef
  # The first answers AUTH, or where there is none what comes first.
  while IFS='|' read -r wanted reply; do
    background python3 -B "$BATS_TEST_DIRNAME/faults/fake_server.py" --listen "unix:$PWD/fake" --seconds 600 \
      --reply "text:-$reply" >fake.log
    until_true 10 grep -q ready fake.log
    # What is not ready is asked again; all else ends with the answer.
    if [ "$wanted" = 69 ]; then patience=100ms; else patience=20s; fi
    for RLOCK_SERVER in unix://ann:canary-123@$PWD/fake unix://$PWD/fake; do
      export RLOCK_SERVER
      for verb in "run -v $key true" "run -v -w $patience $key true" "acquire -v $key" "renew -v $key $token" \
        "release -v $key $token" "release -v --force $key" "status -v" "status -v $key"; do
        # shellcheck disable=SC2086 # words
        expect "$wanted" timeout 120 rlock ${verb/-v/-v --connect-timeout $patience}
        echo "$output" >>said
      done
    done
    shows_nothing said
    rm fake fake.log
  done <<-END
	77|ERR unknown command 'AUTH', with args beginning with: 'canary-123' '$token'
	77|ERR unknown command \`AUTH\`, with args beginning with: \`canary-123\`, \`$token\`
	78|ERR unknown command 'EVALSHA', with args beginning with: '5' '$token' 'canary-123'
	78|ERR unknown command 'canary-123'
	78|ERR unknown command canary-123 $token
	70|ERR wrong number of arguments for 'canary-123' command
	70|ERR canary-123
	70|canary-123 is not known
	70|ERR Command is not available: 'AUTH canary-123'. See $token
	70|$token
	69|upstream failure: canary-123
	69|no upstream host for $token
	69|ERR Connection refused canary-123
	70|invalid request canary-123
	77|ERR AUTH <password> called without any password configured for canary-123
	77|ERR invalid password canary-123
	69|LOADING canary-123
	END
  grep -q 'lacks a command that rlock needs; if it is a Sentinel, write redis+sentinel:// (ERR unknown command EVALSHA)' said
}

@test "a server without AUTH, EVALSHA, EVAL or anything else that rlock sends: named, and nothing of it is shown" {
  local command
  for command in auth evalsha eval hello subscribe scan select; do
    start_server "lacks-$command" --rename-command "$command" ''
    redis() { redis-cli -s "$sock" "$@"; }
    RLOCK_SERVER="unix://:canary-123@$sock?db=1"
    [ "$command" = auth ] || RLOCK_SERVER="unix://$sock?db=1"
    export RLOCK_SERVER
    # Somebody has it, so that a waiter sends all that it ever does.
    redis -n 1 set "rlock:$key" somebody
    for verb in "run -v -w 500ms $key true" "acquire -v -w 500ms $key" "renew -v $key $key" "release -v $key $key" \
      "status -v" "status -v $key"; do
      # shellcheck disable=SC2086 # words
      run timeout 120 rlock $verb
      ((status != 0 && status < 125)) || [ "${verb%% *}" = status ]
      echo "$output" >>said
    done
    kill -KILL "$(server_pid "lacks-$command")"
  done
  for command in AUTH EVALSHA SCAN SELECT; do
    grep -q "(ERR unknown command $command)" said
  done
  shows_nothing said
}

@test "no usage error prints the password of a URL that stands in the wrong place" {
  local secret=redis://:hunter2-canary@127.0.0.1:1
  printf '%s\n' "server: $secret" >wrong.conf
  printf 'ttl = "%s"\n' "$secret" >ttl.conf
  {
    rlock run "$key" "--server=$secret" true || true
    rlock status "$key" "$secret" || true
    rlock "$secret" run "$key" true || true
    rlock run --wait "$secret" "$key" true || true
    rlock run "-S$secret" "$key" true || true
    rlock --config wrong.conf run "$key" true || true
    rlock --config ttl.conf run "$key" true || true
    rlock --password-file "$secret" run "$key" true || true
    RLOCK_TTL=$secret rlock run "$key" true || true
    RLOCK_CONFIG=$secret rlock run "$key" true || true
  } >said 2>&1
  [ "$(grep -c '^rlock: ' said)" = 10 ]
  run -1 grep canary said
}

@test "a password that goes to another host in the clear is told once for all servers: on a terminal, or with -v" {
  local url
  for url in redis://u:p@192.0.2.1:1 redis+sentinel://u:p@127.0.0.1:1,192.0.2.1:1,192.0.2.2:1/m \
    redis+cluster://:p@192.0.2.1:1,192.0.2.2:1 redis://:p@127.0.0.1:1,redis://:p@192.0.2.1:1,redis://:p@192.0.2.2:1; do
    expect 69 timeout 120 rlock -v --connect-timeout 100ms --server "$url" acquire -n "$key"
    [ "$(grep -c 'rlock: the password is sent unencrypted to 192.0.2.1' <<<"$output")" = 1 ]
    [ "$(grep -c 'unencrypted' <<<"$output")" = 1 ]
  done
  export url key
  # What somebody has decided is not mailed by cron with each job.
  run --separate-stderr timeout 120 rlock --connect-timeout 100ms --server "$url" acquire -n "$key"
  [ "$status" = 69 ]
  [[ $stderr != *'unencrypted'* ]]
  run timeout 120 script -qec 'rlock --connect-timeout 100ms --server "$url" acquire -n "$key"' /dev/null </dev/null
  [ "$(grep -c 'rlock: the password is sent unencrypted to 192.0.2.1' <<<"$output")" = 1 ]
  run timeout 120 script -qec 'rlock -q --connect-timeout 100ms --server "$url" acquire -n "$key"' /dev/null </dev/null
  [[ $output == *'cannot connect'* && $output != *'unencrypted'* ]]
  # Nothing to warn of: no password, nobody in between, or TLS.
  for url in redis://192.0.2.1:1 redis://:p@127.0.0.1:1 redis://:p@localhost:1 'redis://:p@[::1]:1' rediss://:p@192.0.2.1:1 \
    unix://:p@/nowhere rediss+sentinel://:p@192.0.2.1:1/m; do
    expect 69 timeout 120 rlock -v --connect-timeout 100ms --server "$url" acquire -n "$key"
    [[ $output != *'unencrypted'* ]]
  done
}
