# A script that does not get its lock must not go on as if it had.
# shellcheck disable=SC2016 # the scripts below expand what stands in single quotes
load helper

# No lease here ends by itself.
export RLOCK_TTL=10m

setup_file() { start_server; }
teardown_file() { stop_servers; }

# stops N ARGUMENT...: `eval "$(rlock ARGUMENT...)"` under set -e ends the script with N there and then, in each shell.
stops() {
  local wanted=$1 shell
  shift
  for shell in bash dash; do
    expect "$wanted" $shell -ec 'eval "$(rlock "$@" 2>/dev/null)"; touch went-on' $shell "$@"
    [ ! -e went-on ]
  done
}

@test "acquire --export: KEY, token and fence, whatever the bytes of KEY" {
  local odd
  for odd in "$key" "it's; touch ran" '$(touch ran)' '`touch ran`' 'a  b' -k '*' 'ключ'; do
    expect 0 bash -ec 'eval "$(rlock acquire --export -- "$1")"; [ "$RLOCK_KEY" = "$1" ]; rlock release; [ -n "$RLOCK_FENCE" ]' \
      bash "$odd"
    expect 0 dash -ec 'eval "$(rlock acquire --export -- "$1")"; [ "$RLOCK_KEY" = "$1" ]; rlock release' dash "$odd"
  done
  [ ! -e ran ]
}

@test "acquire --export hands down the prefix and the compat that are in force, so that a bare release finds the lock" {
  local script='eval "$(rlock acquire --export "$@")"; rlock release; env | grep -E "^RLOCK_(PREFIX|COMPAT)=" | sort | paste -sd " "'
  run -0 bash -ec "$script" bash --prefix "it's:" "$key"
  [ "$output" = "RLOCK_PREFIX=it's:" ]
  run -0 bash -ec "$script" bash --prefix '' "$key"
  [ "$output" = RLOCK_PREFIX= ]
  run -0 bash -ec "$script" bash --compat redisson --prefix r: "$key"
  [ "$output" = 'RLOCK_COMPAT=redisson RLOCK_PREFIX=r:' ]
  RLOCK_PREFIX=other: RLOCK_COMPAT=redisson run -0 bash -ec "$script" bash --compat none --prefix rlock: "$key"
  [ "$output" = 'RLOCK_COMPAT=none RLOCK_PREFIX=rlock:' ]
  printf 'prefix = "conf:"\n' >conf
  RLOCK_CONFIG=conf run -0 bash -ec "$script" bash "$key"
  [ "$output" = RLOCK_PREFIX=conf: ]
  run -0 bash -ec "$script" bash "$key"
  [ -z "$output" ]
}

@test "acquire --export that fails stops a script with set -e" {
  rlock acquire "$key"
  stops 75 acquire --export -n "$key"
  stops 75 acquire -n "$key" --export
  stops 9 acquire --export -w 10ms -E 9 "$key"
  stops 64 acquire --export --bogus "$key"
  stops 64 acquire -export "$key"
  stops 64 acquire --EXPORT "$key"
  stops 64 acquire --bogus --export "$key"
  stops 64 acquire --export --ttl never "$key"
  stops 64 acquire --export
  stops 64 acquire --export ''
  stops 64 acquire --export --json "$key"
  stops 64 aquire --export "$key"
  stops 69 acquire --export -n --server unix:///nowhere "$key"
  stops 78 acquire --export --config nowhere "$key"
  stops 78 acquire --export --password-file nowhere "$key"
  RLOCK_TTL=never stops 64 acquire --export "$key"
  printf 'export = true\nttl = 10s\n' >conf
  stops 75 acquire --config conf -n "$key"
}

@test "acquire --export: busy cannot be made to look like success" {
  stops 64 acquire --export -E 0 "$key"
  is_free
}

@test "acquire --export: a signal stops the script too" {
  rlock acquire "$key"
  bash -ec 'eval "$(rlock acquire --export "$1")"; touch went-on' bash "$key" 3>&- &
  local script=$!
  until_true 10 waiting 1
  pkill -TERM -P "$(pgrep -P "$script")" -x rlock || pkill -TERM -P "$script" -x rlock
  ended 143 "$script"
  [ ! -e went-on ]
}

@test "without --export nothing but a token is ever on standard output" {
  rlock acquire "$key"
  run --separate-stderr -75 rlock acquire -n "$key"
  [ -z "$output" ]
  run --separate-stderr -64 rlock run --export "$key" -- rlock --export
  [ -z "$output" ]
  run --separate-stderr -3 rlock run "$key-2" -- sh -c 'exit 3' --export
  [ -z "$output" ]
}

@test "busy is said, unless -E 0 says that it is fine" {
  rlock acquire "$key"
  expect_error 75 "busy: $key is held by" rlock run -n "$key" -- true
  local verb
  for verb in run acquire; do
    run --separate-stderr -0 rlock $verb -n -E 0 "$key" ${verb#acquire}
    [ -z "$output$stderr" ]
  done
  run --separate-stderr -0 rlock run -v -n -E 0 "$key" -- true
  [[ $stderr == *"busy: $key"* ]]
}

# The recipes, a file each: what stands indented in "Use it" of the README, and in docs/using.md.
recipes() {
  local section
  section=$(sed -n '/^## Use it/,/^## Exit/p' "$BATS_TEST_DIRNAME/../README.md" && cat "$BATS_TEST_DIRNAME/../docs/using.md")
  awk '/^    / { if (!inside) n++; inside = 1; print substr($0, 5) > ("recipe-" n); next } { inside = 0 }' <<<"$section"
  # A lock of another form and prefix is acquired by nobody here.
  grep -l -e --compat recipe-* | xargs -r rm
  # Not the server of the example, and no minutes.
  sed -i -E '/^export RLOCK_SERVER=/d; s/--server local //; s/-w [0-9]+m/-w 200ms/' recipe-*
  local script
  for script in $(grep -ohE '\./[a-z]+\.sh' recipe-* | sort -u); do
    printf '#!/bin/sh\necho "$0" >>ran\n' >"$script"
    chmod +x "$script"
  done
  held=$(sed -nE 's/--while-pid \$\$ //; s/^(.*\()?rlock (run|acquire) (-[^ ]+ ([0-9]+[a-z]*|[0-9]) |-[^ ]+ )*([a-z-]+).*/\5/p' recipe-* | sort -u)
  [ "$(wc -w <<<"$held")" -ge 4 ]
}

@test "every recipe of the README and of docs/using.md runs its script when the lock is free" {
  recipes
  local recipe
  for recipe in recipe-*; do
    bash "$recipe" >said 2>&1 || true
    [ "$(grep -cE '^(rlock run .*)?\./|-- \./' "$recipe")" = "$(cat ran 2>/dev/null | wc -l)" ] || {
      cat "$recipe" said
      return 1
    }
    rm -f ran
  done
}

@test "no recipe of the README or of docs/using.md runs its script while somebody else has the lock" {
  recipes
  redis flushall  # one holds its lock for a while after its end
  local recipe name
  for name in $held; do rlock acquire "$name"; done
  export RLOCK_WAIT=200ms
  for recipe in recipe-*; do
    bash "$recipe" || true
    [ ! -e ran ]
    for name in $held; do is_held "$name"; done
  done
}
