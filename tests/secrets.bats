# R44: what may be a password is not repeated, wherever it was typed.
load helper

setup_file() { start_server; }
teardown_file() { stop_servers; }

# Some 1,500 of them, beside each other.
@test "no mistyped command line, variable or file shows the password in it" {
  python3 "$BATS_TEST_DIRNAME/mistyped.py" "$RLOCK" "$sock" >said || { tail -n 40 said && return 1; }
  [[ $(tail -n 1 said) == *' lines, 0 of them wrong' ]]
  (($(tail -n 1 said | cut -d' ' -f1) > 700))
}

@test "a word that is no URL is quoted as ever, and so is a host that is more than a word" {
  expect_error 64 "--ttl: '5x' is not a duration" rlock acquire --ttl 5x "$key"
  expect_error 64 "'--tll' is not an option" rlock acquire --tll=5s "$key"
  expect_error 64 "'-W' is not an option" rlock acquire -W5s "$key"
  expect_error 64 "'runn' is not a verb" rlock runn "$key" true
  expect_error 64 "'--ttl' comes after KEY" rlock run "$key" --ttl=5s true
  expect_error 69 'cannot resolve nowhere.invalid: ' rlock acquire -n --server redis://nowhere.invalid "$key"
  expect_error 69 'cannot resolve nowhere: ' rlock acquire -n --server redis://nowhere:6379 "$key"
  expect_error 69 'cannot resolve the host of the URL (not shown: it may be a password): ' \
    rlock acquire -n --server redis://nowhere "$key"
}
