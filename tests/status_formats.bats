# rlock status --format, for programs: keys, JSON after its schema, and what Prometheus reads.
load helper

setup_file() { start_server; }
teardown_file() { stop_servers; }

@test "keys: one a line, in natural order, of what is held, waited for or remembered" {
  redis flushall
  run -0 rlock status --format keys
  [ -z "$output" ]
  local name token
  for name in job10 job2 job1 'deploy web'; do rlock acquire "$name" >/dev/null; done
  rlock run ran -- true
  token=$(rlock acquire gone)
  rlock release gone "$token"
  run -0 rlock status --format keys
  [ "$output" = $'deploy web\njob1\njob2\njob10\nran' ]
  run -0 rlock status --format keys 'job?'
  [ "$output" = $'job1\njob2' ]
  run -0 rlock status --format keys nobody
  [ -z "$output" ]
  run -1 rlock status --format keys --exit-code 'ra*'
  [ "$output" = ran ]
  run -0 rlock status --format keys --exit-code
  [ "${#lines[@]}" = 5 ]
}

@test "a pattern names the keys that match, the prefix as it stands, and an exact key wins" {
  redis flushall
  local name
  for name in deploy deploy-a deploy-b 'x[1]' x1 y; do rlock acquire "$name" >/dev/null; done
  keys() { [ "$(rlock status --format keys "$1" | tr '\n' ' ')" = "$2" ]; }
  keys 'deploy*' 'deploy deploy-a deploy-b '
  keys 'deploy-[b-z]' 'deploy-b '
  keys '*' 'deploy deploy-a deploy-b x1 x[1] y '
  keys '*-?' 'deploy-a deploy-b '
  keys 'x[1]' 'x[1] '
  keys 'x[12]' 'x1 '
  keys 'x\[1]*' 'x[1] '
  keys 'z*' ''
  # The one that is called so is one lock, and a pattern a list, however many match.
  run -0 rlock status --json 'x[1]'
  jq -e '.key == "x[1]" and .held' <<<"$output"
  run -0 rlock status --json 'x[12]'
  jq -e '[.locks[].key] == ["x1"]' <<<"$output"
  run -0 rlock status --json 'z*'
  jq -e '.locks == []' <<<"$output"
  expect 0 rlock status --exit-code -q 'deploy*'
  expect 1 rlock status --exit-code -q 'z*'
}

@test "keys of others cannot steer a terminal, nor make two lines of one" {
  redis flushall
  redis set $'rlock:a\e[31m\nb' x px 60000
  run -0 rlock status --format keys
  [ "$output" = 'a\x1b[31m\x0ab' ]
}

@test "a format is one of those that there are, and --json is one" {
  redis flushall
  expect_error 64 "table|json|keys" rlock status --format yaml
  expect_error 64 '--format' rlock status --json --format keys
  [ "$(rlock status --json)" = "$(rlock status --format json)" ]
}
