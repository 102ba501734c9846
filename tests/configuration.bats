# The command line over the environment over the files.
load helper

acl_more='~* &*'

setup_file() { start_server; }
teardown_file() { stop_servers; }

# public: goes to a directory that everybody can enter, which that of bats is not.
public() {
  public=$(mktemp -d /tmp/rlock-test.XXXXXX)
  chmod 755 "$public"
  cd "$public" || return
}
teardown() {
  end_jobs
  [ -z "${public-}" ] || rm -rf "$public"
}

# conf LINE...: the file ./conf, which RLOCK_CONFIG then names.
conf() {
  printf '%s\n' "$@" >conf
  export RLOCK_CONFIG=$PWD/conf
}
ttl() { rlock run "$@" "$key" -- printenv RLOCK_TTL; }

# bad TEXT: what stands in ./conf stops every verb, before anything is asked of the server.
bad() {
  expect_error 78 "$1" rlock run "$key" -- touch ran
  expect_error 78 "$1" rlock acquire "$key"
  [[ $stderr == *"conf"* ]]
  [ ! -e ran ]
  is_free
}

@test "command line over environment over file over default" {
  [ "$(ttl)" = 30s ]
  conf 'ttl = 21s'
  [ "$(ttl)" = 21s ]
  export RLOCK_TTL=22s
  [ "$(ttl)" = 22s ]
  [ "$(ttl --ttl 23s)" = 23s ]
}

@test "the file is named by --config, by RLOCK_CONFIG, or lies in XDG_CONFIG_HOME or HOME" {
  mkdir -p xdg home/.config
  echo 'ttl = 11s' >home/.config/rlock.conf
  echo 'ttl = 12s' >xdg/rlock.conf
  echo 'ttl = 13s' >one.conf
  echo 'ttl = 14s' >two.conf
  unset XDG_CONFIG_HOME
  HOME=$PWD/home
  [ "$(ttl)" = 11s ]
  export XDG_CONFIG_HOME=$PWD/xdg
  [ "$(ttl)" = 12s ]
  # As the XDG specification has it, only an absolute path counts.
  [ "$(XDG_CONFIG_HOME=xdg ttl)" = 11s ]
  [ "$(XDG_CONFIG_HOME=xdg HOME=home ttl)" = 30s ]
  export RLOCK_CONFIG=one.conf
  [ "$(ttl)" = 13s ]
  [ "$(ttl --config two.conf)" = 14s ]
}

@test "the user's file is over /etc/rlock.conf, and what only that one says counts" {
  needs_mounts
  [ ! -e /etc/rlock.conf ] || skip 'there is an /etc/rlock.conf'
  mkdir xdg
  printf 'ttl = 12s\n' >xdg/rlock.conf
  export XDG_CONFIG_HOME=$PWD/xdg
  # In a mount namespace of its own: nobody else sees it.
  unshare --mount bash -ec '
    mount -t tmpfs none /etc/ssl 2>/dev/null || exit 99
    mkdir /etc/ssl/up /etc/ssl/work
    mount -t overlay -o lowerdir=/etc,upperdir=/etc/ssl/up,workdir=/etc/ssl/work none /etc || exit 99
    printf "ttl = 17s\nprefix = team:\n" >/etc/rlock.conf
    rlock run "$1" -- sh -c "printenv RLOCK_TTL; rlock status \"\$1\"" sh "$1"
    XDG_CONFIG_HOME=/nonexistent rlock run "$1" -- printenv RLOCK_TTL
  ' bash "$key" >out || { [ $? != 99 ] || skip 'cannot mount'; false; }
  [ "$(head -1 out)" = 12s ]
  [[ "$(sed -n 3p out)" == state*held ]]
  [ "$(tail -1 out)" = 17s ]
}

@test "an /etc/rlock.conf that this user cannot read is an error, or with -v told where the server is named" {
  needs_mounts
  [ ! -e /etc/rlock.conf ] || skip 'there is an /etc/rlock.conf'
  cp "$RLOCK" rlock
  chmod 777 . "$sock"
  unset RLOCK_SERVER
  unshare --mount bash -ec '
    mount -t tmpfs none /etc/ssl 2>/dev/null || exit 99
    mkdir /etc/ssl/up /etc/ssl/work
    mount -t overlay -o lowerdir=/etc,upperdir=/etc/ssl/up,workdir=/etc/ssl/work none /etc || exit 99
    mount --bind "$PWD" /mnt
    cd /mnt
    install -m 640 /dev/null /etc/rlock.conf
    mkfifo open
    as_user() { env HOME=/nonexistent setpriv --reuid 65534 --regid 65534 --clear-groups ./rlock run "$@" 2>>said; }
    unset XDG_CONFIG_HOME
    # By way of a descriptor: the directories above the socket are root`s alone.
    mount --bind "${url#unix://}" open || exit 99
    status=0
    as_user -n key -- touch ran || status=$?
    echo "$status" >>said
    export RLOCK_SERVER=unix:///mnt/open
    as_user -n key -- echo named >>said
    env HOME=/nonexistent setpriv --reuid 65534 --regid 65534 --clear-groups ./rlock run -v -n key -- true >verbose 2>&1
    env HOME=/nonexistent script -qec "setpriv --reuid 65534 --regid 65534 --clear-groups ./rlock run -n key -- true" /dev/null </dev/null >terminal
    env HOME=/nonexistent setpriv --reuid 65534 --regid 65534 --clear-groups ./rlock run -v --config /dev/null -n key -- true >meant 2>&1
    unset RLOCK_SERVER
    # Where it lies behind a door, and where it leads nowhere.
    mkdir -m 700 /etc/closed
    mv /etc/rlock.conf /etc/closed
    ln -s closed/rlock.conf /etc/rlock.conf
    status=0
    as_user -n key -- touch ran || status=$?
    echo "$status" >>said
    rm /etc/closed/rlock.conf
    status=0
    ./rlock run -n key -- touch ran 2>>said || status=$?
    echo "$status" >>said
  ' || { [ $? != 99 ] || skip 'cannot mount'; false; }
  cat said
  [ ! -e ran ]
  local told='rlock: /etc/rlock.conf cannot be read: Permission denied; it is ignored, --config /dev/null does so without this note'
  [ "$(grep -c . said)" = 7 ]
  [[ "$(sed -n 1p said)" == 'rlock: /etc/rlock.conf cannot be read: Permission denied; '*--server* ]]
  [ "$(sed -n 2,3p said | tr '\n' ' ')" = '78 named ' ]
  [ "$(sed -n 4p said)" = "$(sed -n 1p said)" ]
  [ "$(sed -n 5p said)" = 78 ]
  [ "$(sed -n 6p said)" = 'rlock: /etc/rlock.conf cannot be read: No such file or directory' ]
  [ "$(sed -n 7p said)" = 78 ]
  grep -qx "$told" verbose
  [ "$(tr -d '\r' <terminal)" = "$told" ]
  run -1 grep 'cannot be read' meant
}

@test "a section counts for its verb alone, and over the lines above it" {
  conf 'ttl = 40s' '[run]' 'ttl = 41s' '[acquire]' 'ttl = 42s' 'json = true'
  [ "$(ttl)" = 41s ]
  run --separate-stderr -0 rlock acquire "$key"
  [ "$(jq .ttl_ms <<<"$output")" = 42000 ]
  rlock release "$key" "$(jq -r .token <<<"$output")"
}

@test "every option can stand in the file" {
  conf "server = $url" 'prefix = team:' 'connect-timeout = 2s' '[run]' 'wait = 100ms' 'conflict-exit-code = 9' \
    'kill-after = 1s' 'signal = INT' 'on-lost = warn' 'no-renew = true' 'show-command = true'
  unset RLOCK_SERVER
  rlock acquire "$key"
  [ "$(redis exists "team:$key")" = 1 ]
  expect 9 rlock run "$key" -- true
}

@test "flags of the file are on, off, or overruled" {
  conf '[run]' 'nonblock = true' '[status]' 'exit-code = false'
  local token
  token=$(rlock acquire "$key")
  expect 75 rlock run "$key" -- true
  expect 0 rlock status "$key-free"
  # --wait is nearer than the file's nonblock.
  background rlock run --wait 5m "$key" -- true
  until_true 10 waiting 1
  rlock release "$key" "$token"
  finish
}

@test "options of other verbs are passed over" {
  conf 'ttl = 40s' 'wait = 1s' 'exit-code = true' 'show-command = true' 'json = true' '[renew]' 'ttl = 41s'
  rlock run "$key" -- true
  expect 1 rlock status "$key"
  rlock acquire "$key"
  expect 0 rlock status --json "$key"
}

@test "comments, quotes and empty lines" {
  conf '# a comment' '' '; another' 'ttl = "41s"  # behind' "prefix = 'team:'"
  [ "$(ttl)" = 41s ]
}

@test "a # in quotes belongs to the value" {
  conf "prefix = 'a#b:'  # behind" '[acquire]  # behind' 'prefix = "c#d:"'
  rlock acquire "$key"
  [ "$(redis exists "c#d:$key")" = 1 ]
  rlock run "$key" -- true
  conf 'prefix = "a#b:"#"'
  rlock acquire "$key"
  [ "$(redis exists "a#b:$key")" = 1 ]
  redis acl setuser hash on '>p#"x' '+@all' '~*' '&*'
  conf "server = 'unix://hash:p#\"x@$sock'"
  RLOCK_SERVER='' expect 0 rlock run "$key-2" -- true
}

@test "an option that the verb of its section does not have" {
  conf '[run]' 'ttl = 1m' 'json = true'
  bad "conf line 3: 'json' is not an option of rlock run"
  conf '[status]' 'wait = 1s'
  bad "conf line 2: 'wait' is not an option of rlock status"
}

@test "a file cannot force a release" {
  local token
  token=$(rlock acquire "$key")
  conf 'force = true'
  expect_error 78 "conf line 1: 'force' is not an option that a file can set" rlock release "$key" 0123
  conf '[release]' 'force = true'
  expect_error 78 "conf line 2: 'force' is not an option that a file can set" rlock release "$key" 0123
  unset RLOCK_CONFIG
  expect 0 rlock release "$key" "$token"
}

@test "options that exclude each other, or one twice, in the same part of a file" {
  conf 'nonblock = true' 'wait = 5s'
  bad "conf line 2: 'wait' and 'nonblock' exclude each other"
  conf 'quiet = true' 'verbose = true'
  bad "conf line 2: 'verbose' and 'quiet' exclude each other"
  conf '[run]' 'wait = 5s' '[acquire]' 'wait = 5s' '[run]' 'nonblock = yes'
  bad "conf line 6: 'nonblock' and 'wait' exclude each other"
  conf 'ttl = 1m' 'ttl = 2m'
  bad "conf line 2: 'ttl' is set twice"
  # A section is over what stands above it, and what is off excludes nothing.
  conf 'nonblock = true' 'verbose = off' 'quiet = true' '[run]' 'wait = 5s'
  expect 0 rlock run "$key" -- true
  conf 'nonblock = false' 'wait = 10ms'
  rlock acquire "$key"
  expect 75 rlock run "$key" -- true
}

@test "a line that sets nothing is named, with what to write" {
  local line
  for line in 'ttl 1m' 'soon' 'x' '= 1m' 'server redis://:canary@h?db=1' $'\x01\x02'; do
    conf '' '# more' "$line"
    bad 'conf line 3: write NAME = VALUE, or [VERB]'
    [[ $stderr != *canary* ]]
  done
  conf 'wait = 1s' '[run'
  bad 'conf line 2: the ] of [VERB] is missing'
  conf '' '[rum]' '' 'ttl = 3m'
  bad 'conf line 2: [rum] is not a verb'
  conf 'ttl = 1m ; minute'
  bad 'a comment behind #'
}

@test "a file in YAML, in JSON, or of no text at all is said to be one" {
  local line
  for line in 'ttl: 1m' 'server: redis://:canary@h?db=1' 'run:' '---' '- ttl'; do
    conf '# more' "$line"
    bad 'conf line 2: this is YAML; write NAME = VALUE, or [VERB]'
    [[ $stderr != *canary* ]]
  done
  for line in '{"ttl": "1m"}' '{' '"ttl": "1m",' '{"server": "redis://:canary@h?db=1"}'; do
    conf "$line"
    bad 'conf line 1: this is JSON; write NAME = VALUE, or [VERB]'
    [[ $stderr != *canary* ]]
  done
  for line in '\0\0' 'ttl = 1m\n\0' '\xff\xfet\0t\0l\0'; do
    printf "$line" >conf
    bad 'conf is not a text file'
  done
  printf '\xef\xbb\xbfttl = 21s\r\n[run]\r\nttl = 22s\r\n' >conf # of Windows
  [ "$(ttl)" = 22s ]
}

@test "a misspelt name gets the nearest one suggested" {
  local name
  for name in tll TTL --ttl RLOCK_TTL; do
    conf '' "$name = 5s"
    bad "conf line 2: '$name' is not an option of rlock; did you mean ttl?"
  done
  for name in connect_timeout connecttimeout conect-timeout RLOCK_CONNECT_TIMEOUT; do
    conf "$name = 5s"
    bad 'did you mean connect-timeout?'
  done
  conf 'xyzzy = 5s'
  bad "conf line 1: 'xyzzy' is not an option of rlock"
  [[ $stderr != *'did you mean'* ]]
  conf '[rum]'
  bad 'conf line 1: [rum] is not a verb of rlock; did you mean run?'
}

@test "a file that somebody else can change is refused" {
  public
  conf 'ttl = 21s'
  chmod 666 conf
  bad "conf can be written by everybody; chmod go-w $PWD/conf"
  chmod 660 conf
  bad "conf can be written by its group; chmod g-w $PWD/conf"
  chmod 644 conf
  [ "$(ttl)" = 21s ]
  chmod 440 conf
  [ "$(ttl)" = 21s ]
  # A password, and the key of a certificate, by the same rule.
  unset RLOCK_CONFIG
  echo secret >secret
  local mode option
  for mode in 666 660; do
    chmod $mode secret
    expect_error 78 "--password-file: $PWD/secret can be written by " rlock acquire --password-file "$PWD/secret" "$key"
    for option in "rediss://127.0.0.1:1?cert=/nowhere&key=$PWD/secret" \
      "redis+sentinel://127.0.0.1:1/m?sentinel_password_file=$PWD/secret"; do
      expect_error 78 "$PWD/secret can be written by " rlock acquire --server "$option" "$key"
    done
  done
  [ "$EUID" = 0 ] || return 0
  chmod 600 secret
  chown 12345 secret
  expect_error 78 "--password-file: $PWD/secret belongs to the user 12345" rlock acquire --password-file "$PWD/secret" "$key"
  expect_error 78 "?key=: $PWD/secret belongs to the user 12345" \
    rlock acquire --server "rediss://127.0.0.1:1?cert=/nowhere&key=$PWD/secret" "$key"
}

@test "below a directory that only its owner can enter the mode of a file counts for nothing" {
  public
  mkdir -p closed/more
  chmod 700 closed
  chmod 777 closed/more
  printf 'ttl = 21s\nserver = unix://:secret@%s\n' "$sock" >closed/more/conf
  echo secret >closed/more/secret
  chmod 666 closed/more/*
  run --separate-stderr rlock run -v -n --config closed/more/conf --server "$RLOCK_SERVER" "$key" -- printenv RLOCK_TTL
  [ "$output" = 21s ]
  [[ $stderr != *everybody* ]]
  RLOCK_SERVER=unix:///nothing run rlock run -v -n --password-file closed/more/secret "$key" -- true
  [ "$status" = 69 ]
  [[ $output != *everybody* ]]
  # Of who is let in by its group nobody here knows.
  chmod 750 closed
  expect_error 78 'can be written by everybody' rlock acquire -n --config closed/more/conf "$key"
}

@test "a file of another user is refused, root's runs with that user's HOME included" {
  [ "$EUID" = 0 ] || skip 'needs root'
  conf 'ttl = 21s'
  chown 12345 conf
  bad 'conf belongs to the user 12345, neither to root nor to the user of this run, 0; chown it, or name another file'
  expect_error 78 '--config: ' rlock acquire --config conf "$key"
  unset RLOCK_CONFIG
  mkdir -p home/.config
  mv conf home/.config/rlock.conf
  HOME=$PWD/home XDG_CONFIG_HOME='' expect_error 78 'belongs to the user 12345' rlock acquire "$key"
  HOME='' XDG_CONFIG_HOME=$PWD/home/.config expect_error 78 'belongs to the user 12345' rlock acquire "$key"
  # What another user has put there and is root's is fine, and so is a user's own file for this user.
  ln -s "$PWD/home/.config/rlock.conf" link
  chown -h 12345 link
  chown 0 home/.config/rlock.conf
  [ "$(ttl --config link)" = 21s ]
}

@test "a file of its own is read by each user" {
  [ "$EUID" = 0 ] || skip 'needs root'
  command -v setpriv >/dev/null || skip 'needs setpriv'
  local own
  own=$(mktemp -d /tmp/rlock-conf.XXXXXX) # above it nothing is closed to that user
  cp "$RLOCK" "$own/rlock"
  printf 'wait = soon\n' >"$own/conf"
  chmod 755 "$own"
  chown 12345 "$own/conf"
  run --separate-stderr setpriv --reuid 12345 --clear-groups "$own/rlock" acquire --config "$own/conf" "$key"
  rm -rf "$own"
  [[ $stderr == *"conf line 1: wait: 'soon' is not a duration"* ]]
}

@test "the chmod that is suggested can be pasted, whatever the file is called" {
  local name
  public
  unset RLOCK_CONFIG
  for name in 'my conf' "it's" '-conf' '$(touch ran)' $'line\nbreak'; do
    printf 'server = unix://:secret@/nothing\n' >"./$name"
    chmod 666 "./$name"
    for _ in written read; do
      run --separate-stderr rlock acquire -v -n --config="$name" "$key"
      [[ ${stderr_lines[0]} == *'; chmod '* ]]
      bash -c "chmod ${stderr_lines[0]##*; chmod }"
    done
    [ "$(stat -c %a "./$name")" = 640 ]
  done
  [ ! -e ran ]
}

@test "a secret that everybody can read is told once to whoever can mend that: on a terminal, or with -v" {
  public
  conf "server = unix://:secret@$PWD/nothing"
  unset RLOCK_SERVER
  local told="rlock: everybody can read the password in $PWD/conf; chmod o-r $PWD/conf"
  told() { grep -c 'everybody can read' <<<"$stderr" || true; }
  run --separate-stderr rlock acquire -v -n "$key"
  [ "$status" = 69 ]
  [ "${stderr_lines[0]}" = "$told" ]
  [ "$(told)" = 1 ]
  # What somebody has decided is not mailed by cron with each job.
  expect_error 69 '' rlock acquire -n "$key"
  [ "$(told)" = 0 ]
  run script -qec 'rlock acquire -n key' /dev/null </dev/null
  [[ $output == *"$told"* ]]
  run script -qec 'rlock acquire -q -n key' /dev/null </dev/null
  [[ $output != *everybody* ]]
  chmod 640 conf
  run --separate-stderr rlock acquire -v -n "$key"
  [ "$(told)" = 0 ]
  # No password, nothing to tell; nor where the word before the @ is a user.
  conf "server = unix://$PWD/nothing"
  chmod 644 conf
  run --separate-stderr rlock acquire -v -n "$key"
  [ "$(told)" = 0 ]
  conf "server = unix://ann@$PWD/nothing"
  REDISCLI_AUTH=secret run --separate-stderr rlock acquire -v -n "$key"
  [ "$(told)" = 0 ]
  # Beside a URL that cannot be read, where the file's servers are not used.
  conf 'server = "redis://:secret@host,redis://other host"'
  run --separate-stderr rlock acquire -v --server "unix://$PWD/nothing" -n "$key"
  [ "$status" = 69 ]
  [ "$(told)" = 1 ]
  # In a file of its own it is told once for all servers.
  unset RLOCK_CONFIG
  echo secret >password
  export RLOCK_SERVER=unix:///nothing/1,unix:///nothing/2,unix:///nothing/3
  run --separate-stderr rlock acquire -v --password-file password -n "$key"
  [ "$status" = 69 ]
  [ "${stderr_lines[0]}" = 'rlock: everybody can read the password in password; chmod o-r password' ]
  [ "$(told)" = 1 ]
  chmod 600 password
  run --separate-stderr rlock acquire -v --password-file password -n "$key"
  [ "$(told)" = 0 ]
  # A pipe has the password once.
  expect_error 69 '' rlock acquire --password-file <(echo secret) -n "$key"
  # The key of a certificate is a secret too.
  touch secret.key
  local server="rediss://127.0.0.1:1?cert=$PWD/secret.key&key=$PWD/secret.key"
  run --separate-stderr rlock status -v --server "$server,${server/:1?/:2?},${server/:1?/:3?}"
  [ "$(told)" = 1 ]
  [[ $stderr == *"everybody can read the key in $PWD/secret.key"* ]]
}

@test "an empty file is a file" {
  conf
  [ "$(ttl)" = 30s ]
  : >conf
  [ "$(ttl)" = 30s ]
}

@test "an option that rlock does not have" {
  conf 'ttl = 40s' 'tll = 50s'
  bad tll
  conf '[run]' 'tll = 50s'
  expect_error 78 tll rlock run "$key" -- true
  conf 'help = true'
  bad help
  conf 'config = other'
  bad config
}

@test "a section that is no verb" {
  conf '[runn]' 'ttl = 50s'
  bad runn
  conf '[run.more]' 'ttl = 50s'
  expect_error 78 '' rlock run "$key" -- true
}

@test "a value that the command line would not take" {
  local line
  for line in 'ttl = 5x' 'ttl = ""' 'ttl = 10s 20s' 'wait = soon' 'conflict-exit-code = 600' 'nonblock = maybe'; do
    conf "$line"
    bad "${line%% *}"
  done
}

@test "a value that the command line would not take after a closer look" {
  local line
  unset RLOCK_SERVER
  for line in 'ttl = 1ms' 'connect-timeout = 0' 'server = localhost' 'server = redis://a,redis://b' \
    'server = "redis://a,redis://b"' 'server = [redis://a, redis://b]'; do
    conf "$line"
    bad "${line%% *}"
  done
}

@test "a bad value does not give the password away" {
  unset RLOCK_SERVER
  conf 'server = redis://u:canary@host:x'
  bad server
  [[ $stderr != *canary* ]]
  conf 'server = redis://u:canary@host' 'ttl = x'
  bad ttl
  [[ $stderr != *canary* ]]
}

@test "a file that is missing, or cannot be read" {
  expect_error 78 nowhere rlock acquire --config nowhere "$key"
  RLOCK_CONFIG=nowhere expect_error 78 nowhere rlock acquire "$key"
  mkdir directory
  expect_error 78 '--config: directory is a directory; name a file' rlock acquire --config directory "$key"
  mkfifo pipe
  expect_error 78 '--config: pipe is a named pipe; name a file' timeout 120 rlock acquire --config pipe "$key"
  expect_error 78 '--password-file: the file is a named pipe' timeout 120 rlock acquire --password-file pipe "$key"
  expect 0 rlock status --config /dev/null
  [ "$(ttl --config <(sleep 0.1 && echo 'ttl = 21s'))" = 21s ]
  expect_error 78 'longer than 64 KiB' timeout 120 rlock acquire --config /dev/zero "$key"
  is_free
}

@test "a file that is none" {
  local i
  for i in 1 2 3; do
    head -c 4096 /dev/urandom >conf
    run --separate-stderr rlock acquire --config conf "$key"
    [ "$status" = 78 ]
    [ "${#stderr_lines[@]}" = 1 ]
  done
  is_free
}

@test "an empty RLOCK_PREFIX means no prefix, over the file too" {
  conf 'prefix = team:'
  RLOCK_PREFIX='' rlock acquire "$key"
  [ "$(redis exists "$key")" = 1 ]
  expect 75 rlock acquire -n --prefix '' "$key"
  rlock acquire "$key"
  [ "$(redis exists "team:$key")" = 1 ]
  RLOCK_PREFIX=other: rlock acquire "$key"
  [ "$(redis exists "other:$key")" = 1 ]
  conf 'prefix = ""'
  expect 75 rlock acquire -n "$key"
}

@test "other empty variables count as none" {
  RLOCK_TTL='' RLOCK_WAIT='' RLOCK_CONFIG='' RLOCK_SHOW_COMMAND='' expect 0 rlock run "$key" -- printenv RLOCK_TTL
  [ "$output" = 30s ]
}

@test "a variable that the command line would not take is a usage error that names it" {
  RLOCK_TTL=5x expect_error 64 ttl rlock acquire "$key"
  RLOCK_WAIT=soon expect_error 64 wait rlock acquire "$key"
  RLOCK_SHOW_COMMAND=maybe expect_error 64 show-command rlock run "$key" -- true
  is_free
}

@test "RLOCK_WAIT does not stand in the way of -n, nor of --wait" {
  rlock acquire "$key"
  export RLOCK_WAIT=1h
  expect 75 rlock acquire -n "$key"
  expect 75 rlock acquire -w 10ms "$key"
  unset RLOCK_WAIT
  conf 'wait = 1h'
  expect 75 rlock acquire -n "$key"
}

@test "a # inside a value, and a quote that is not closed, are named instead of being read as another value" {
  local line
  for line in 'server = redis://:can#ary@h' 'prefix = a#b:' 'label = #7' 'ttl = 30s# seconds' 'server = redis://h#0  # behind'; do
    conf '' "$line"
    bad 'conf line 2: there is a # in its value; put the value in quotes, or a blank before a comment'
    [[ $stderr != *ary* ]]
  done
  for line in 'label = "a b' "server = 'redis://:canary@h" 'prefix = "a:  # behind' "label = \"it's"; do
    conf '' "$line"
    bad 'conf line 2: the quote that its value begins with is not closed'
    [[ $stderr != *canary* ]]
  done
  # These are what they were.
  for line in 'ttl = 51s #' $'ttl = 51s\t# a "comment' 'ttl = "51s"# behind' '; ttl = "5#' '# ttl = "5'; do
    conf "$line"
    [[ $(ttl) == 51s || $line == [\;#]* ]]
  done
}
