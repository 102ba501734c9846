# What a run says of itself to others: --label.
load helper

# No lease here ends by itself.
export RLOCK_TTL=10m

setup_file() { start_server; }
teardown_file() { stop_servers; }

# label_of PATH: in the JSON of status.
label_of() { rlock status --json "$key" | jq -r "$1.label"; }

@test "a label of the holder and of a waiter is in status --json, whatever characters it has" {
  local job=$'https://ci/job/7 \x1f\n\x1b[31m 日本'
  background rlock run --label "$job" "$key" -- sh -c 'until [ -e go ]; do sleep 0.01; done'
  until_true 10 is_held
  RLOCK_LABEL='the nightly one' background rlock run "$key" -- true
  until_true 10 waiting 1
  [ "$(label_of .holders[0])" = "$job" ]
  [ "$(label_of .waiters[0])" = 'the nightly one' ]
  touch go
  finish
  # Who was last had no command to show, and keeps its label.
  [ "$(label_of .last_run)" = 'the nightly one' ]
}

@test "acquire has a label too, and it stays apart from a command line" {
  local token
  token=$(rlock acquire --label one "$key")
  [ "$(label_of .holders[0])" = one ]
  rlock release "$key" "$token"
  # shellcheck disable=SC2016 # for the inner shell
  run -0 --separate-stderr rlock run --show-command --label two "$key" -- sh -c $'rlock status --json "$RLOCK_KEY" #\x1f'
  [ "$(jq -r '.holders[0].label' <<<"$output")" = two ]
  [[ $(jq -r '.holders[0].command' <<<"$output") = "sh -c \$'rlock status "* ]]
}

@test "a label of more than 256 bytes is cut between two characters" {
  local many
  many=$(printf 'é%.0s' {1..200})
  rlock acquire --label "x$many" "$key"
  [ "$(label_of .holders[0])" = "x${many:0:127}" ]
}

@test "without a label nothing of it is sent" {
  rlock acquire --label '' "$key"
  # shellcheck disable=SC2154 # the helper sets it
  [[ $(redis --no-raw hvals "rlock:i:{rlock:$key}") != *'\x1f'* ]]
  [ "$(label_of .holders[0])" = null ]
}
