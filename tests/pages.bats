# The lines of shell in docs/containers.md, docs/operations.md and docs/using.md, as far as they can be run here.

load helper

docs=$BATS_TEST_DIRNAME/../docs

setup_file() { start_server; }
teardown_file() { stop_servers; }

# line FILE PATTERN: the line of an indented block that matches, without its indentation.
line() {
  local found
  found=$(grep -E "^    .*$2" "$docs/$1" | sed 's/^    //')
  [ -n "$found" ] && echo "$found"
}

@test "operations: the health check passes on a server that works, and names what is wrong elsewhere" {
  check=$(line operations.md health-)
  run -0 sh -c "$check"
  run -69 env RLOCK_SERVER="unix://$PWD/nobody.sock" sh -c "$check"
}

@test "operations: jobs are stopped by hand, and go on" {
  local script
  script=$(sed -n '/token=.*maintenance/,/rlock release/p' "$docs/operations.md")
  [ "$(wc -l <<<"$script")" -eq 3 ]
  run -0 sh -ec "${script//rlock status nightly/rlock status nightly; rlock run -n -E 7 nightly -- true || test \$? = 7}"
  [[ $output == *'maintenance until noon'* ]]
  run -0 rlock run -n nightly -- true
}

@test "operations: a password is rotated, and no job that runs or waits is lost" {
  not_under_acl 'has a user of its own'
  own_server
  redis acl setuser rlock on '>old-password' '+@all' '~*' '&*'
  echo old-password >password
  echo new-password >new-password-file
  export RLOCK_SERVER=unix://rlock:@$sock RLOCK_PASSWORD_FILE=$PWD/password RLOCK_TTL=3s
  rlock run "$key" -- sh -c 'touch up; until [ -e go ]; do sleep 0.01; done; exit 5' 3>&- &
  local job=$! script owner
  until_true 10 test -e up
  background rlock run "$key" -- touch ran
  until_true 10 waiting 1
  owner="-o $(id -un) -g $(id -gn)"
  script=$(sed -n '/^    redis-cli ACL SETUSER.*>/,/^    redis-cli ACL SETUSER.*</p' "$docs/operations.md")
  [ "$(wc -l <<<"$script")" = 3 ]
  script=${script//redis-cli/redis-cli -s "$sock"}
  script=${script/-o root -g jobs/$owner}
  sh -ec "${script/\/etc\/rlock\/password/$PWD/password}"
  # Whoever connects anew needs the new one.
  REDISCLI_AUTH=old-password expect 77 env -u RLOCK_PASSWORD_FILE rlock status
  redis config resetstat
  redis client kill type normal
  redis client kill type pubsub
  renewed() { [ "$(redis info commandstats | sed -n 's/^cmdstat_pexpire:calls=\([0-9]*\).*/\1/p')" -ge 4 ]; }
  until_true 10 renewed
  touch go
  ended 5 "$job"
  finish
  [ -e ran ]
}

@test "operations: nothing is held" {
  # shellcheck disable=SC2016 # a pattern
  check=$(grep -oE '`rlock status --exit-code -q`' "$docs/operations.md" | tr -d '`')
  [ "$check" = 'rlock status --exit-code -q' ]
  export RLOCK_PREFIX=$key:
  run -1 sh -c "$check"
  rlock acquire "$key" >/dev/null
  run -0 sh -c "$check"
}

@test "operations: a prefix keeps environments apart" {
  printf '#!/bin/sh\nRLOCK_PREFIX=production: rlock run --connect-timeout 30s -n deploy -- echo both\n' >deploy.sh
  chmod +x deploy.sh
  run -0 sh -c "$(line operations.md RLOCK_PREFIX=staging:)"
  [ "$output" = both ]
}

@test "operations: each tool is started under the lock with its arguments" {
  local tool command
  mkdir bin
  for tool in make ansible-playbook terraform kubectl; do
    printf '#!/bin/sh\necho "%s $*"; rlock status --exit-code -q production\n' "$tool" >"bin/$tool"
    chmod +x "bin/$tool"
    command=$(line operations.md "production -- $tool")
    run -0 env PATH="$PWD/bin:$PATH" sh -c "$command"
    [ "$output" = "${command#*-- }" ]
  done
}

@test "containers: the entrypoint passes TERM on and ends with the command's status" {
  local entrypoint
  mapfile -t entrypoint < <(sed -n 's/^    ENTRYPOINT //p' "$docs/containers.md" | jq -r '.[]')
  [ "${entrypoint[0]}" = /usr/bin/rlock ]
  printf '#!/bin/sh\ntrap "exit 5" TERM\n: >started\nwhile :; do sleep 0.1; done\n' >nightly.sh
  chmod +x nightly.sh
  rlock "${entrypoint[@]:1}" ./nightly.sh 3>&- &
  until_true 10 test -e started
  run -0 rlock status --exit-code -q nightly
  kill -TERM $!
  local status=0
  wait $! || status=$?
  [ "$status" -eq 5 ]
  run -1 rlock status --exit-code -q nightly
}

@test "containers: the CronJob is YAML, and its command runs the job" {
  python3 -c 'import yaml' 2>/dev/null || skip 'no python3-yaml'
  local command
  sed -n '/^    apiVersion/,/^- /p' "$docs/containers.md" | sed -n 's/^    //p' >job.yml
  mapfile -t command < <(python3 - <<'END'
import yaml
container, = yaml.safe_load(open("job.yml"))["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
assert {e["name"] for e in container["env"]} == {"RLOCK_SERVER", "RLOCK_PASSWORD_FILE", "RLOCK_LABEL"}
print("\n".join(container["command"]))
END
  )
  [ "${command[-1]}" = /app/nightly.sh ]
  run -0 "${command[@]:0:${#command[@]}-1}" echo ran
  [ "$output" = ran ]
  # --hold keeps it for the other cluster.
  run -0 "${command[@]:0:${#command[@]}-1}" echo ran
  [ -z "$output" ]
}

@test "using: names from status are released by xargs, whatever they begin with" {
  local name
  for name in --force -n 'test-a b'; do rlock acquire --prefix "$key:" -- "$name" >/dev/null; done
  release=$(line using.md 'format keys')
  RLOCK_PREFIX=$key: run -0 sh -c "${release/test-\*/*}"
  RLOCK_PREFIX=$key: run -1 rlock status --exit-code -q
}
