# For tests of several servers: `load topologies`, then in setup_file `start_field TOPOLOGY [NAME=VALUE,...]`, in
# teardown_file `stop_field`. They are those of faults/topologies.py; `field` tells them what to do.
# shellcheck shell=bash

# start_field TOPOLOGY [NAME=VALUE,...]: all of it is well when this returns. Sets and exports url.
start_field() {
  mkfifo "$BATS_FILE_TMPDIR/orders"
  python3 -B "$BATS_TEST_DIRNAME/faults/topologies.py" "$1" "$BATS_FILE_TMPDIR/field" "${2:-}" \
    <>"$BATS_FILE_TMPDIR/orders" >"$BATS_FILE_TMPDIR/answers" 2>&1 3>&- &
  disown $!
  echo $! >"$BATS_FILE_TMPDIR/field_pid"
  until_true 60 grep -qs '^ready ' "$BATS_FILE_TMPDIR/answers" || {
    cat "$BATS_FILE_TMPDIR/answers" >&2
    return 1
  }
  url=$(sed -n 's/^ready //p' "$BATS_FILE_TMPDIR/answers")
  export url
}

# It ends all servers.
stop_field() {
  local pid
  pid=$(cat "$BATS_FILE_TMPDIR/field_pid") || return 0
  kill -TERM "$pid" 2>/dev/null || return 0
  until_true 20 is_gone "$pid"
  rm -r "$BATS_FILE_TMPDIR"/{orders,answers,field_pid,field}
}

# field PYTHON...: carries it out, with `field` for the topology, and prints what it prints.
field() {
  local answers=$BATS_FILE_TMPDIR/answers said
  said=$(wc -l <"$answers")
  printf '%s\n' "$*" >"$BATS_FILE_TMPDIR/orders"
  # shellcheck disable=SC2016 # expanded by eval
  until_true 90 eval 'tail -n +$((said + 1)) "$answers" | grep -q -e "^done$" -e "^failed: "'
  tail -n +$((said + 1)) "$answers" | grep -v '^done$' || true
  tail -n 1 "$answers" | grep -qx 'done'
}
