# A --server that names no server, or servers that cannot keep a lock together: one line that says what is wrong, 64 (78
# from a file), no password in it, and nobody is called.
load helper

setup_file() {
  port=$(free_port)
  export port
  start_server server --port "$port" --bind 127.0.0.1
}
teardown_file() { stop_servers; }

setup() {
  begin_test
  here=127.0.0.1:$port
  met=$(connections)
}

# bad TEXT URL: so says the command line, the environment, and a file.
bad() {
  wrong "--server" acquire -n --server "$2" "$key"
  [[ $stderr == *"$1"* ]] || { echo "$stderr" >&2 && return 1; }
  [ -n "$2" ] || return 0
  RLOCK_SERVER=$2 wrong "$1" acquire -n "$key"
  [[ $stderr == *'RLOCK_SERVER in the environment (--server)'* ]]
  [[ $2 != *$'\n'* ]] || return 0
  printf "server = '%s'\n" "$2" >conf
  chmod o-r conf
  expect_error 78 "$1" rlock --config conf acquire -n "$key"
  [[ $stderr == *'conf line 1: server'* ]]
  nobody_called
}

@test "an address without a scheme is told how to write it, a word that may be a password is not repeated" {
  local url
  for url in 127.0.0.1:6379 127.0.0.1 localhost:6379 localhost '[::1]:6379'; do
    bad "the URL has no scheme; did you mean redis://$url?" "$url"
  done
  bad 'has an unknown form' 4711canary:6379
  [[ $stderr != *canary* ]]
}

@test "valkey:// and valkeys:// are redis:// and rediss://" {
  expect 0 rlock run --server "valkey://$here" "$key" -- sh -c 'echo "$RLOCK_SERVER"; rlock renew'
  [ "${lines[0]}" = "redis://$here" ]
  expect 0 rlock run --server "valkey://$here/1" "$key" -- true
  expect_error 69 'TLS' rlock acquire -n --server "valkeys://$here" "$key"
}

@test "an unknown form, a host or a port that is none, a database that no server has" {
  local url
  for url in x ann:6379 a.b:1234 localhost:x 127.0.0.1:0 http://localhost redis: redis:/ Redis://host LOCAL local: ' local' "sentinel://$here/m" \
    "redis-sentinel://$here/m" "redis+sentinel+cluster://$here/m"; do
    bad 'has an unknown form; write redis://' "$url"
  done
  bad 'is empty' ''
  for url in redis:// redis:///1 redis://:6379 redis://:canary@ redis+cluster:// redis+sentinel:///m; do
    bad 'has no host' "$url"
  done
  for url in redis://host:0 redis://host:99999 redis://host:65536 redis://host:x redis://host:-1 redis://host: \
    "redis+cluster://$here,h:99999" "redis+sentinel://$here,h:0/m"; do
    bad 'has a port that is not 1 to 65535' "$url"
  done
  for url in "redis://$here/x" "redis://$here/-1" "redis://$here/1/2" "unix://$sock?db=x" "unix://$sock?db=-1" \
    "redis+sentinel://$here/m/x"; do
    bad 'has a database that is not a number' "$url"
  done
  for url in redis://:ca/nary@host redis://:ca@na/ry@host redis://ann:ca/nary@host redis://:ca?nary@host \
    redis+cluster://ann:ca/nary@host; do
    bad '; in a password write %2F for / and %3F for ?' "$url"
  done
  bad 'names a database; a Cluster has only one' "redis+cluster://$here/3"
  bad 'without its ]' 'redis://[::1'
  bad 'text after the ]' 'redis://[::1]x'
  bad 'has a space in it; write a comma, and no space' "redis://$here redis://$here"
  bad 'has a space in it; write a comma, and no space' "redis+cluster://$here, b"
  bad 'a character in its host' $'redis://ho\nst'
  bad 'a character in its host' redis://canary%40host
}

@test "Sentinels without the name of a master, and hosts named twice or left out" {
  bad 'names no master; write redis+sentinel://' "redis+sentinel://$here"
  bad 'names no master; write redis+sentinel://' "redis+sentinel://$here/"
  bad 'twice' "redis+sentinel://$here,$here/m"
  bad 'twice' 'redis+sentinel://h,H:26379/m'
  bad 'twice' 'redis+cluster://[::1],[0:0::1]:6379'
  bad 'an extra comma' "redis+sentinel://$here,/m"
  bad 'an extra comma' "redis+cluster://$here,,h"
  bad 'names several hosts' "redis://$here,h"
}

@test "a path that no socket has, escapes that are none, a ?query that is not known" {
  local url
  bad 'unknown form' unix:
  for url in unix:// unix://relative; do bad 'needs an absolute path' "$url"; done
  bad 'over 107 bytes' "unix:///$(printf '%120s' | tr ' ' s)"
  bad 'NUL in its path' 'unix:///a%00b'
  bad 'other than ?db=N' "unix://$sock?x=1"
  bad 'cannot have a ?query' "redis://$here/1?x=y"
  bad 'cannot have a ?query' "redis+cluster://$here?cacert=/x"
  bad 'a ?query other than' "rediss://$here?cacrt=/x"
  bad 'a ?query other than' "redis+sentinel://$here/m?cacert=/x"
  bad 'without ?sentinel_password_file=' "redis+sentinel://$here/m?sentinel_user=u"
  bad 'broken % escape' redis://u:p%zz@host
  bad 'broken % escape' redis://u%2:p@host
}

@test "several servers: too few, too many, one of them twice, kinds that do not mix" {
  local eight="redis://$here"
  for n in 1 2 3 4 5 6 7; do eight+=,redis://h$n; done
  bad 'names 2 servers; name one, or 3 to 7' "redis://$here,redis://h"
  bad 'names 8 servers; name one, or 3 to 7' "$eight"
  bad 'twice' "redis://$here,redis://b,redis://$here/1"
  bad 'twice' "redis://a:6379,redis://A,redis://$here"
  bad 'twice' "redis://[::1],redis://$here,rediss://[0::1]:6379"
  bad 'twice' "unix://$sock,redis://b,unix://$sock?db=1"
  bad 'names local beside other servers' "redis://$here,local"
  bad 'names local beside other servers' "local,redis://$here,redis://b"
  bad 'names redis+cluster://b.x:6379 beside other servers' "redis://$here,redis+cluster://b.x,redis://c"
  bad 'names redis+sentinel://b.x:26379/m beside other servers' "redis://$here,redis+sentinel://b.x/m"
}

@test "a list with a member that is empty or wrong names which" {
  bad 'URL 1 of 2 has an extra comma' "redis://$here,,redis://b"
  bad 'an extra comma' "redis://$here,redis://b,"
  bad 'URL 1 of 2 is empty' ",redis://$here"
  bad 'URL 2 of 3 has a port' "redis://$here,redis://b:x, redis://c"
  bad 'names several hosts' "redis://$here,b,c"
}

@test "several --server are one list, from wherever they come" {
  wrong 'names 2 servers' run --server "redis://$here" --server redis://b "$key" -- true
  wrong 'names 2 servers' --server "redis://$here" run --server redis://b "$key" -- true
  wrong 'twice' acquire --server "redis://$here,redis://b" --server "redis://$here" "$key"
  echo "server = ['redis://$here', 'redis://b']" >conf
  expect_error 78 'names 2 servers' rlock --config conf acquire -n "$key"
  printf "server = redis://%s\nserver = redis://b\n" "$here" >conf
  expect_error 78 'names 2 servers' rlock --config conf acquire -n "$key"
  printf 'server = redis://b\n[acquire]\nserver = redis://%s\nserver = redis://c\nserver = "redis://d:x"\n' "$here" >conf
  expect_error 78 'conf line 5' rlock --config conf acquire -n "$key"
  expect_error 78 'names no master' rlock --config <(echo 'server = redis+sentinel://a,b/') acquire -n "$key"
  expect_error 69 'no Sentinel answers' \
    rlock --config <(echo 'server = redis+sentinel://127.0.0.1:1,127.0.0.1:2/m') acquire -n "$key"
  nobody_called
  # What stands on the command line counts alone.
  RLOCK_SERVER=redis://a,redis://b expect 0 rlock --server "redis://$here" run "$key" -- true
}

@test "commas, @ and escapes in a password, and IPv6, are read as they are meant" {
  redis acl setuser ann on '>c,a@n:a%r/y' '~*' '&*' +@all
  redis acl setuser default nopass
  expect 0 rlock --server "redis://ann:c,a@n:a%25r%2fy@$here" run "$key" -- true
  expect 0 rlock --server "unix://ann:c,a@n:a%25r/y@$sock" run "$key" -- true
  expect_error 69 '[::1]:1' rlock --server 'redis://ann:c,a@[::1]:1' acquire -n "$key"
  [[ $stderr != *c,a* ]]
}

@test "a bad URL does not give its password away" {
  local url
  for url in redis://u:canary@host:x redis://u:canary%zz@host redis://:canary@ 'redis://u:canary@host/x' \
    'unix://u:canary@/s?x' redis://u:canary@host:0 http://u:canary@host u:canary@host 'redis://h?password=canary' \
    'redis://u:can/ary@host' 'redis://u:can,ary@h/x,redis://b,redis://c' 'redis://u:canary@a,redis://u:canary@b' \
    'redis://u:canary@a,redis://b,redis://v:canary@A:6379' 'redis://u:canary@a,redis://b,redis+cluster://u:canary@c' \
    'redis+sentinel://u:canary@a,b' 'redis+sentinel://u:canary@a,a/m' 'redis://canary@a,,redis://b' 'redis://a,redis://canary@b,'; do
    bad '' "$url"
    [[ $stderr != *canary* && $stderr != *ary* ]]
    wrong --server status --server "$url" "$key"
    [[ $stderr != *canary* && $stderr != *ary* ]]
  done
}
