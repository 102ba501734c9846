load helper

setup_file() { start_server; }
teardown_file() { stop_servers; }

@test "every exit status of the command is rlock's own" {
  local code
  for code in $(seq 0 255); do
    expect "$code" rlock run "$key" -- sh -c "exit $code"
  done
}

@test "a command ended by a signal gives 128 + its number" {
  ulimit -c 0
  local signal
  for signal in 1 2 3 4 6 7 8 9 10 11 12 13 14 15 24 25 31; do
    expect $((128 + signal)) env --default-signal rlock run "$key" -- sh -c "kill -$signal \$\$"
  done
}

@test "a command that is not there gives 127, one that cannot be executed 126" {
  expect 127 rlock run "$key" -- ./no-such-command
  [[ $output == *"cannot execute './no-such-command': "* ]]
  expect 127 rlock run "$key" -- no-such-command
  touch plain
  chmod 644 plain
  expect 126 rlock run "$key" -- ./plain
  expect 126 rlock run "$key" -- .
  is_free
}

@test "a line of shell, and a script whose interpreter is not there, are told how to be mended" {
  expect 127 rlock run "$key" -- 'echo one; echo two'
  [ "$output" = "rlock: cannot execute 'echo one; echo two': No such file or directory; for a line of shell write -- sh -c 'COMMAND'" ]
  expect 127 rlock run "$key" -- 'no such' file
  [[ $output == *': No such file or directory' ]]
  printf '#!/bin/sh\r\ntouch ran\r\n' >of-windows
  chmod +x of-windows
  expect 127 rlock run "$key" -- ./of-windows
  [[ $output == "rlock: cannot execute './of-windows': the interpreter that it names is not there; "*CRLF* ]]
  # Repeated in part only.
  expect 127 rlock run "$key" -- "$(printf '%02000d' 0 | sed 's,0\{200\},&/,g')"
  [ "${#output}" -lt 300 ]
  is_free
}
