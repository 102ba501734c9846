# shellcheck disable=SC2016,SC2154 # the command expands what stands in single quotes; helper.bash sets key, url, sock
load helper

setup_file() { start_server; }
teardown_file() { stop_servers; }

# The lock as a shell holds it that has called acquire.
acquire() {
  RLOCK_TOKEN=$(rlock acquire "$@" "$key")
  export RLOCK_KEY=$key RLOCK_TOKEN
}
scripts_called() { redis info commandstats | sed -n 's/^cmdstat_eval\(sha\)\?:calls=\([0-9]*\).*/\2/p' | awk '{ n += $1 } END { print n + 0 }'; }

@test "below a shell that holds the lock, two nested runs renew, and do not wake each other" {
  not_under_acl 'counts the calls of all'
  acquire -t 3s
  python3 "$BATS_TEST_DIRNAME/faults/proxy.py" --listen "unix:$PWD/slow" --to "unix:$sock" --fault 'delay both 2' \
    >proxy 3>&- &
  until_true 10 grep -q ready proxy
  export RLOCK_SERVER=unix://$PWD/slow
  redis config resetstat
  background rlock run -t 3s "$key" -- sleep 4
  background rlock run -t 3s "$key" -- sleep 4
  finish
  echo "scripts: $(scripts_called)"
  # Each looks once, and renews once a second; each renewal makes the other look.
  [ "$(scripts_called)" -gt 6 ]
  [ "$(scripts_called)" -lt 60 ]
  # Kept beyond its first 3 s, and theirs to release it was not.
  [ "$(redis get "rlock:$key")" = "$RLOCK_TOKEN" ]
}
