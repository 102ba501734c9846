# rlock beside three members of ZooKeeper, of which one is left: it has no majority, and may only be read.
load helper
load topologies
load zookeeper

setup_file() {
  ! lacks_store || return 0
  start_field zookeeper
}
teardown_file() { [ ! -e "$BATS_FILE_TMPDIR/field_pid" ] || stop_field; }
@test "a member that may only be read locks nothing, whoever asks it" {
  local alone
  expect 0 rlock run "$key" true
  field 'field.servers[0].kill(); field.servers[1].kill(); until(lambda: field.servers[2].says("isro") == "ro", "read-only mode", 60)'
  alone=$(field 'print(field.url_of(field.servers[2]))')
  expect_error 69 'no majority' rlock run -n --server "$alone" "$key" -- touch ran
  expect 69 rlock run -w 1s "$key" -- touch ran
  expect_error 69 'no majority' rlock status --connect-timeout 1s --server "$alone" "$key"
  [ ! -e ran ]
}
