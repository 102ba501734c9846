# shellcheck disable=SC2016,SC2154 # the command expands what stands in single quotes; helper.bash sets key, url, sock
load helper

setup_file() { start_server; }
teardown_file() { stop_servers; }

# arrive [RLOCK'S ARGUMENT...] -- ARGUMENT...: printf gets each ARGUMENT byte for byte, and no other.
arrive() {
  local own=()
  while [ "$1" != -- ]; do own+=("$1") && shift; done
  shift
  printf '[%s]\0' "$@" | od -An -c >wanted
  rlock run "${own[@]}" /usr/bin/printf '[%s]\0' "$@" | od -An -c >seen
  diff wanted seen
}

# shellcheck disable=SC1003 # a lone backslash
awkward=('' ' ' '[1,2]' '[]' '{a: b}' '%' '%s' '\' '\n' '*' '~' '$HOME' '$(id)' '`id`' "'" '"' ';' '#' '=' 'a=b' '@'
  - -- --- --ttl --ttl=5s -t 5 -n -q --help -h --version -V --on-lost=nonsense --no-such-option -E 600
  $'two\nlines' $'\n' $'tab\tand\rreturn' $'\e[31m' $'\xff\xfe\x80' $'\xc3' 'schloß' '鎖' '' -- '')

@test "arguments arrive byte for byte, with and without --" {
  arrive "$key" -- "${awkward[@]}"
  arrive "$key" -- -- "${awkward[@]}"
}

@test "every byte that an argument can hold arrives" {
  local code all=''
  for code in {1..255}; do
    printf -v code '\\x%x' "$code"
    printf -v all '%s%b.' "$all" "$code"
  done
  arrive "$key" -- "$all"
}

@test "each awkward argument may be the command's first" {
  local argument
  for argument in "${awkward[@]}"; do
    arrive "$key" -- "$argument"
  done
}

@test "an argument of 100,000 bytes and 5,000 arguments arrive" {
  local long
  printf -v long '%100000s' x
  arrive "$key" -- "$long"
  # shellcheck disable=SC2046 # words are wanted
  arrive "$key" -- $(seq 5000)
}

@test "behind COMMAND every option is the command's; between KEY and COMMAND an option is in the wrong place" {
  expect 0 rlock run "$key" sh -c 'echo "$@"' -- -t nonsense --wait -E 600 --server nowhere
  [ "$output" = '-t nonsense --wait -E 600 --server nowhere' ]
  expect_error 64 "'--ttl' comes after KEY; options go before KEY" rlock run "$key" --ttl 5s touch ran
  expect_error 64 "'-x' comes after KEY" rlock run "$key" -x touch ran
  [ ! -e ran ]
  expect 127 rlock run "$key" -- --ttl 5s true
  [[ $output == *"cannot execute '--ttl'"* ]]
  expect 127 rlock run "$key" -- -- true
  [[ $output == *"cannot execute '--':"* ]]
}

@test "options before KEY, in each way of writing them" {
  for own in '-t 5s -w 2s' '-t5s -w2s' '--ttl 5s --wait 2s' '--ttl=5s --wait=2s' '-qt 5s'; do
    # shellcheck disable=SC2086 # words are wanted
    expect 0 rlock run $own "$key" sh -c 'echo "$RLOCK_TTL $*"' sh --ttl 9s
    [ "$output" = '5s --ttl 9s' ]
  done
}

@test "options that every verb has may stand before the verb" {
  not_under_acl 'other prefixes are denied'
  unset RLOCK_SERVER
  local own
  for own in "--server $url --prefix p:" "-q --server=$url --prefix=p:" "--prefix=p: -v --server $url"; do
    # shellcheck disable=SC2086 # words are wanted
    expect 0 rlock $own run -t 5s "$key" -- sh -c 'echo "$RLOCK_TTL"; redis-cli -s "$sock" exists "p:$RLOCK_KEY"'
    [[ $'\n'$output$'\n' == *$'\n5s\n1\n'* ]]
  done
}

@test "a key may look like a verb" {
  local verb
  for verb in run acquire renew release status; do
    expect 0 rlock run "$verb" sh -c 'echo "$RLOCK_KEY"'
    [ "$output" = "$verb" ]
    expect 0 rlock run -t 5s "$verb" -- sh -c 'echo "$RLOCK_KEY"'
    [ "$output" = "$verb" ]
  done
}

@test "a key may start with a dash, after --" {
  local name
  for name in -k --ttl --help -- -; do
    expect 0 rlock run -- "$name" sh -c 'echo "$RLOCK_KEY"'
    [ "$output" = "$name" ]
    expect 0 rlock run -t 5s -- "$name" -- sh -c 'echo "$RLOCK_KEY"'
    [ "$output" = "$name" ]
  done
}

@test "a key is not split, globbed or cut" {
  local name
  for name in '[1,2]' 'a b' 'a,b' '*' '{}' "it's" 'schloß' '=' 'a=b'; do
    expect 0 rlock run "$name" -- sh -c 'echo "$RLOCK_KEY"; redis-cli -s "$sock" exists "rlock:$RLOCK_KEY"'
    [ "$output" = "$name"$'\n1' ]
  done
}

@test "a mistyped option is not taken for the command" {
  expect 64 rlock run --tll 5s "$key" -- touch ran
  expect 64 rlock run -Z "$key" -- touch ran
  [ ! -e ran ]
}
