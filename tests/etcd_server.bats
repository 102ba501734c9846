# What only etcd has: its URLs, users, certificates, quotas, compactions, and what rlock leaves there.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # the command expands what stands in single quotes; helper.bash sets key, url
load helper
load certificates
load etcd
load stores

setup_file() { start_store; }
teardown_file() { stop_servers; }

@test "a URL that is wrong: what, and how it is meant" {
  local bad
  for bad in etcd:// etcd:///prefix etcd://h:0 etcd://h:70000 etcd://h:x etcd://h,,i etcd://h,h 'etcd://h?cacert=x' 'etcd://h?nope=1' \
    'etcd://u:p%zz@h' 'etcds://h?cert=x' 'etcd://h,redis://i'; do
    expect 64 rlock run --server "$bad" "$key" -- touch ran
    [[ $output == 'rlock: '* ]]
    [ "${#lines[@]}" = 1 ]
  done
  expect_error 64 '' rlock run --server 'etcd://u:s3cret-canary@h:bad' "$key" -- touch ran
  [[ $stderr != *s3cret* ]]
  [ ! -e ran ]
}

@test "something that does not speak HTTP, or another HTTP: said, and no command runs" {
  local reply
  for reply in 'text:-ERR unknown command' 'text:HTTP/1.1 200 OK' half close silent 'text:HTTP/1.1 404 Not Found'; do
    background python3 -B "$BATS_TEST_DIRNAME/faults/fake_server.py" --listen 127.0.0.1:0 --seconds 600 --reply "$reply" >fake.log
    until_true 10 grep -q ready fake.log
    run --separate-stderr timeout 120 rlock run --connect-timeout 500ms \
      --server "etcd://$(sed -n 's/^ready //p' fake.log)" -n "$key" -- touch ran
    [ "$status" != 0 ]
    [ "$status" != 75 ]
    [ "${#stderr_lines[@]}" = 1 ]
    kill $!
    : >fake.log
  done
  [ ! -e ran ]
}

@test "a prefix of the URL keeps locks apart, and is a path" {
  expect 0 rlock run --server "$url/team/a" "$key" -- rlock run --server "$url/team/b" -n "$key" -- true
  rlock acquire --server "$url/team/a" "$key"
  ask get --prefix --keys-only /team/a/ | grep -q .
  [ "$(rlock status --server "$url/team/a" --format keys)" = "$key" ]
  [ -z "$(rlock status --server "$url/team" --format keys)" ]
  is_free
}

@test "a Unix socket" {
  local path=$BATS_FILE_TMPDIR/server/client:1
  [ -S "$path" ]
  expect 0 rlock run --server "etcd+unix://$path" "$key" -- rlock status --json "$key"
  jq -e .held <<<"$output"
}

@test "the variables of etcdctl are not read" {
  ETCDCTL_ENDPOINTS=127.0.0.1:1 ETCDCTL_USER=ann:wrong expect 0 rlock run "$key" -- true
}

# with_users [OPTION...]: an own store where ann may do with /team/ what she likes, and nothing else. What asks it is root. To check
# a password is cheap there: as usual, each costs a member 70 ms of its processor, and seconds on a busy machine.
with_users() {
  own_store --bcrypt-cost 4 "$@"
  ask user add root:root-pass
  ask user grant-role root root
  ask role add team
  ask role grant-permission team --prefix=true readwrite /team/
  ask user add "ann:$secret"
  ask user grant-role ann team
  ask auth enable
  export ETCDCTL_USER=root:root-pass
}
secret='etcdcanary:@/? %'
escaped='etcdcanary%3A%40%2F%3F%20%25'

@test "users: a role with a prefix is all that is needed, and every verb works with it" {
  with_users
  export RLOCK_SERVER=etcd://ann:$escaped@$endpoint/team
  start_held -t 4s --label x
  background rlock run "$key" -- true
  until_true 10 waiting 1
  [ "$(status_of '.holders[0].label')" = x ]
  expect 75 rlock run -n "$key" -- true
  # Past a renewal.
  sleep 2
  touch go
  ended 0 "$rlock"
  finish
  rlock release --force "$key" || true
  local token
  token=$(rlock acquire "$key")
  rlock renew -t 1m "$key" "$token"
  rlock release "$key" "$token"
  rlock run --hold 5s --slots 2 --once 1ms --with "$key-b" "$key" -- true
  rlock status --format keys | grep -qx "$key"
}

@test "users: a wrong password, none, and one without the right: 77, one line, and the password in none" {
  with_users
  RLOCK_SERVER=etcd://ann:CANARY-wrong@$endpoint/team every_verb 77 ''
  RLOCK_SERVER=etcd://$endpoint/team every_verb 77 ''
  RLOCK_SERVER=etcd://ann:$escaped@$endpoint/other every_verb 77 ''
  for RLOCK_SERVER in "etcd://ann:CANARY-wrong@$endpoint/team" "etcd://ann:$escaped@$endpoint/other"; do
    export RLOCK_SERVER
    rlock run -v "$key" -- true >>said 2>&1 || true
    rlock status -v >>said 2>&1 || true
  done
  run -1 grep -i canary said
}

@test "users: the password comes from a file, stands in no process list, and not in the command's environment" {
  with_users
  printf '%s\n' "$secret" >password
  chmod 600 password
  export RLOCK_SERVER=etcd://ann@$endpoint/team
  expect 0 rlock run --password-file password "$key" -- true
  rlock run --server "etcd://ann:$escaped@$endpoint/team" "$key" -- \
    sh -c 'env >env; cat /proc/[0-9]*/cmdline >argv 2>/dev/null; touch up; until [ -e go ]; do sleep 0.01; done' 3>&- &
  rlock=$!
  until_true 10 test -e up
  run -1 grep -a etcdcanary env argv
  touch go
  ended 0 "$rlock"
}

@test "users: a token that has expired, and authentication turned off and on meanwhile, cost no lock" {
  with_users --auth-token-ttl 1
  export RLOCK_SERVER=etcd://ann:$escaped@$endpoint/team
  start_held -t 12s
  background rlock run -w 5m "$key" -- touch next
  until_true 10 waiting 1
  local path
  path=$(ask get --prefix --keys-only --sort-by=CREATE --order=ASCEND /team/q/ | head -n 1)
  renewed() { [ "$(ask get "$path" -w json | jq '.kvs[0].mod_revision')" != "$before" ]; }
  for _ in 1 2; do
    before=$(ask get "$path" -w json | jq '.kvs[0].mod_revision')
    until_true 10 renewed
  done
  ask auth disable
  before=$(env -u ETCDCTL_USER etcdctl --endpoints "$endpoint" get "$path" -w json | jq '.kvs[0].mod_revision')
  env -u ETCDCTL_USER bash -c "$(declare -f ask); until [ \"\$(ask get '$path' -w json | jq '.kvs[0].mod_revision')\" != '$before' ]; do sleep 0.05; done"
  env -u ETCDCTL_USER etcdctl --endpoints "$endpoint" auth enable
  before=$(ask get "$path" -w json | jq '.kvs[0].mod_revision')
  until_true 10 renewed
  touch go
  ended 0 "$rlock"
  finish
  [ -e next ]
}

@test "a user and a password for a server that has authentication off are no harm" {
  expect 0 rlock run --server "etcd://ann:pass@$endpoint" "$key" -- true
}

@test "TLS: a server that the certificate names is spoken to, any other is not; a client certificate where it is asked for" {
  authority ca
  authority other
  certificate server ca 'DNS:localhost,IP:127.0.0.1'
  certificate client ca 'DNS:somebody'
  own_store --cert-file "$PWD/server.crt" --key-file "$PWD/server.key"
  local address=$endpoint port=${endpoint##*:}
  expect 0 rlock run --server "etcds://$address?cacert=$PWD/ca.crt" "$key" -- sh -c 'sleep 0.1'
  expect 0 rlock run --server "etcds://localhost:$port/x?cacert=$PWD/ca.crt" "$key" -- rlock status "$key"
  expect_error 77 certificate rlock run --server "etcds://$address?cacert=$PWD/other.crt" "$key" -- touch ran
  expect_error 77 certificate rlock run --server "etcds://$address" "$key" -- touch ran
  # The other way round: the mend is named.
  expect_error 69 'etcds://' rlock run --connect-timeout 1s --server "etcd://$address" "$key" -- touch ran
  expect_error 69 'etcd://' rlock run --connect-timeout 1s --server "etcds://${url#etcd*://}" "$key" -- touch ran || true
  [ ! -e ran ]
}

@test "no space: acquire says 69, and what is held can still be released" {
  own_store --quota-backend-bytes $((16 * 1024 * 1024))
  local token
  token=$(rlock acquire -t 10m "$key")
  key=$key-held start_held -t 5m
  head -c 1000000 /dev/zero | base64 -w 0 >megabyte
  for i in $(seq 30); do ask put "filler$i" <megabyte || break; done
  until_true 10 eval 'ask alarm list | grep -q NOSPACE'
  expect_error 69 NOSPACE timeout 120 rlock run --connect-timeout 1s -n "$key-2" -- touch ran
  [ ! -e ran ]
  expect 0 rlock release "$key" "$token"
  touch go
  ended 0 "$rlock"
  ask alarm disarm || true
  is_free
  is_free "$key-held"
}

@test "compaction and defragmentation while one holds and others wait" {
  own_store
  start_held -t 4s
  local i revision
  for i in 1 2 3; do
    background rlock run "$key" -- sh -c "echo $i >>order"
    until_true 10 waiting "$i"
  done
  for i in 1 2 3; do
    until_renewed
    revision=$(ask get x -w json | jq .header.revision)
    ask compact "$revision"
    ask defrag
  done
  waiting 3
  touch go
  ended 0 "$rlock"
  finish
  [ "$(paste -sd ' ' order)" = '1 2 3' ]
}

@test "a lease shorter than the cluster grants is refused, and nothing is left of it" {
  own_store --heartbeat-interval 500 --election-timeout 5000
  expect_error 64 '--ttl 3s is less than this etcd grants, 8s; use --ttl 8s or more' rlock run -t 3s "$key" -- touch ran
  [ ! -e ran ]
  is_free
  [ "$(ask lease list -w json | jq '.leases | length')" = 0 ]
  expect 0 rlock run -t 8s "$key" -- true
}

@test "a ttl that is no whole number of seconds" {
  expect 0 rlock run -t 3500ms "$key" -- rlock status --json "$key"
  jq -e '.holders[0].ttl_ms <= 4000' <<<"$output"
}

@test "nothing is left but last runs, and no lease that belongs to an entry" {
  own_store
  local token pid
  rlock run "$key" -- true
  token=$(rlock acquire "$key")
  rlock acquire -w 100ms "$key" || true
  rlock run "$key" -- true 3>&- &
  pid=$!
  until_true 10 waiting 1
  kill -TERM $pid
  ended 143 $pid
  rlock renew -t 1m "$key" "$token"
  rlock release "$key" "$token"
  start_held -t 4s
  until_renewed
  until_renewed
  touch go
  ended 0 "$rlock"
  is_free
  rlock run --slots 2 "$key" -- true
  # What is there has few leases, whatever has run: those of last runs and of what was released.
  no_more_than_few() { [ "$(ask lease list -w json | jq '.leases | length')" -le 4 ]; }
  until_true 10 no_more_than_few
  # Newer ones warn of the variables that older ones need.
  run -0 --separate-stderr ask get --prefix --keys-only /rlock/q/
  [ -z "$output" ]
}

# idle_leases: the leases that nothing is under.
idle_leases() {
  ask lease list >leases || return 2
  tail -n +2 leases | while read -r id; do ask lease timetolive --keys "$id"; done | grep -F 'attached keys([])'
}
# acquire_behind: waits behind a run, and then has the lock; its token is in the file token.
acquire_behind() {
  local waiter
  rm -f up go
  start_held
  rlock acquire -t 10m "$key" >token 3>&- &
  waiter=$!
  until_true 10 waiting 1
  touch go
  ended 0 "$rlock"
  ended 0 $waiter
}

@test "whoever releases, no lease stays behind" {
  own_store
  rlock release "$key" "$(rlock acquire -t 10m "$key")"
  run -1 idle_leases
  acquire_behind
  rlock release "$key" "$(cat token)"
  run -1 idle_leases
  acquire_behind
  rlock renew -t 20m "$key" "$(cat token)"
  rlock release "$key" "$(cat token)"
  run -1 idle_leases
  acquire_behind
  rlock renew -t 20m "$key" "$(cat token)"
  rlock release --force "$key"
  run -1 idle_leases
  rm up go
  start_held -t 4s
  rlock renew -t 20m "$key" "$(first_token)"
  until_renewed
  touch go
  ended 0 "$rlock"
  run -1 idle_leases
  rm up go
  start_held -t 10m
  until_true 10 guard_of "$rlock"
  kill -KILL "$rlock"
  until_true 10 is_free
  until_true 10 eval '! idle_leases'
}

@test "a dead waiter whose turn another takes leaves no lease" {
  own_store
  local token dead next
  token=$(rlock acquire -t 10m "$key")
  rlock run -t 10m "$key" -- touch ran 3>&- &
  dead=$!
  until_true 10 waiting 1
  rlock acquire -t 10m "$key" >next 3>&- &
  next=$!
  until_true 10 waiting 2
  kill -KILL $dead
  rlock release "$key" "$token"
  ended 0 $next
  rlock release "$key" "$(cat next)"
  run -1 idle_leases
  [ ! -e ran ]
}

@test "a lease that something else is under is not ended with an entry, nor what --hold keeps by the token of its run" {
  own_store
  local lease path
  rlock acquire -t 10m "$key" >token
  path=$(entries)
  lease=$(ask lease grant 600 | cut -d' ' -f2)
  ask put --lease="$lease" /theirs x
  ask put --lease="$lease" "$path" "$(ask get --print-value-only "$path")"
  rlock renew -t 20m "$key" "$(cat token)"
  rlock release "$key" "$(cat token)"
  [ "$(ask get --print-value-only /theirs)" = x ]
  rlock acquire -t 10m "$key"
  path=$(entries)
  ask put --lease="$lease" "$path" "$(ask get --print-value-only "$path")"
  rlock release --force "$key"
  [ "$(ask get --print-value-only /theirs)" = x ]
  is_free
  rlock run --hold 1h "$key" -- sh -c 'rlock renew -t 2h; echo "$RLOCK_TOKEN" >token'
  expect 79 rlock renew -t 2h "$key" "$(cat token)"
  expect 79 rlock release "$key" "$(cat token)"
  RLOCK_KEY=$key RLOCK_TOKEN=$(cat token) expect 75 rlock run -n "$key" -- touch ran
  is_held
  [ ! -e ran ]
}

@test "a queue that is longer than rlock takes in one answer is read in parts, and status shows all the others" {
  own_store
  local queue i
  rlock acquire --label first "$key" >token
  rlock acquire --label other "$key-other" >>token
  queue=$(entries | head -n 1)
  # A busy machine is not done with so much within the 2 s that a member has at first.
  local patient=(--connect-timeout 2m)
  for i in {1..8}; do head -c 900000 /dev/zero | tr '\0' x | ask put "${queue%/*}/$i-x"; done
  run -0 rlock status "${patient[@]}"
  [[ $output == *"$key "*first*" 8 "*"$key-other "*other* ]]
  run -0 rlock status "${patient[@]}" --json
  [ "$(jq -c --arg key "$key" '.locks[] | select(.key == $key) | [.holders[].label, .waiting]' <<<"$output")" = '["first",8]' ]
  [ "$(jq -r '.locks[] | select(.waiting == 0).holders[].label' <<<"$output")" = other ]
  run -0 rlock status "${patient[@]}" "$key"
  [[ $output == *'... and '*' more'* ]]
}

@test "whatever somebody has put into a queue by hand blocks the lock, and release --force ends it" {
  local name queue token
  token=$(rlock acquire "$key")
  queue=$(entries)
  queue=${queue%/*}
  rlock release "$key" "$token"
  for name in word a/b x- 0123-x/ ''; do
    ask put -- "$queue/$name" x
    expect_error 75 '' rlock run -n "$key" -- touch ran
    background rlock run "$key" -- true
    until_true 10 waiting 1
    expect 0 rlock release --force "$key"
    finish
    is_free
  done
  ask put -- "$queue/0123-05" x
  expect_error 78 '--slots 5' rlock run -n "$key" -- touch ran
  expect 0 rlock release --force "$key"
  is_free
  [ ! -e ran ]
}

@test "entries that others have written are passed over, or told to be no lock of ours, and never crash anybody" {
  local value path
  rlock acquire "$key" >token
  path=$(entries | head -n 1)
  for value in '' x '9 9 9' "$(printf '%05000d' 1)" $'\e[31m' '1 holds 99999999999999999999 -1 - x'; do
    ask put "${path%/*}/odd-x" "$value"
    ask put "${path%/*}/0123456789abcdef0123456789abcdef-x" "$value"
    ask put "${path%/*}/" "$value"
    expect 0 rlock status --json "$key"
    expect 0 rlock status "$key"
    [[ $output != *$'\e'* ]]
    expect 75 rlock run -n "$key" -- touch ran
    ask put "/rlock/l/rlock%3A$key" "$value"
    ask put "/rlock/l/rlock:$key" "$value"
    expect 0 rlock status --json "$key"
  done
  expect 0 rlock release --force "$key"
  [ ! -e ran ]
}
