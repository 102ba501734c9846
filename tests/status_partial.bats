# rlock status of a Cluster where a node does not answer: it shows what the others have, and says that this is not all.
load helper
load topologies

setup_file() {
  # Without replicas nobody takes over, and the others go on alone.
  start_field cluster masters=3,replicas=0
  field 'for node in field.servers: node.redis("CONFIG", "SET", "cluster-require-full-coverage", "no")'
  field 'print(field.servers[0].address)' >"$BATS_FILE_TMPDIR/gone"
  local i
  # shellcheck disable=SC2154 # start_field sets it
  for i in 1 2 3 4 5 6 7 8 9; do RLOCK_SERVER=$url rlock acquire -t 1h "lock-$i" >/dev/null; done
  field 'for i in range(1, 10): print(f"lock-{i}", field.servers_of(f"rlock:lock-{i}")[0] is field.servers[0])' \
    >"$BATS_FILE_TMPDIR/where"
  there=$(sed -n 's/ False$//p' "$BATS_FILE_TMPDIR/where") away=$(sed -n 's/ True$//p' "$BATS_FILE_TMPDIR/where")
  gone=$(cat "$BATS_FILE_TMPDIR/gone")
  export there away gone
  [ -n "$there" ] && [ -n "$away" ]
}
teardown_file() { stop_field; }
teardown() {
  end_jobs
  field 'field.servers[0].resume() if field.servers[0].process.poll() is None else field.servers[0].start()'
}

# partly WORD...: runs rlock status --connect-timeout 1s WORD..., which ends with 69 and names the node once.
partly() {
  run --separate-stderr -69 rlock status --connect-timeout 1s "$@"
  # shellcheck disable=SC2154 # bats sets them
  if ((${#stderr_lines[@]} != 1)) || [[ $stderr != "rlock: "*"the locks at $gone are not shown: "* ]]; then
    printf '%s\n%s\n' "$output" "$stderr" >&2
    return 1
  fi
}
shows_the_others() {
  partly
  [ "$(tail -n +2 <<<"$output" | cut -d' ' -f1)" = "$there" ]
  partly --format keys
  [ "$output" = "$there" ]
  partly --json
  [ "$(jq -r '.locks[].key' <<<"$output")" = "$there" ]
  [ "$(jq -r '.unseen[] | .server, (.error | length > 0)' <<<"$output")" = "$gone"$'\n'true ]
  partly --format prometheus 'lock-*'
  grep -qx 'rlock_up 1' <<<"$output"
  grep -qx 'rlock_unseen_servers 1' <<<"$output"
  [ "$(grep -c '^rlock_lock_held{.*} 1$' <<<"$output")" = "$(wc -l <<<"$there")" ]
}

@test "all nodes are there: nothing is missing" {
  expect 0 rlock status --json
  [ "$(jq -r '.locks | length' <<<"$output")" = 9 ]
  [ "$(jq -r .unseen <<<"$output")" = null ]
  rlock status --format prometheus | grep -qx 'rlock_unseen_servers 0'
}

@test "a node that is dead" {
  field 'field.servers[0].kill()'
  shows_the_others
  expect 0 rlock status "$(head -n 1 <<<"$there")"
  expect_error 69 "$(head -n 1 <<<"$away")" rlock status --connect-timeout 300ms "$(head -n 1 <<<"$away")"
}

@test "a node that is silent" {
  field 'field.servers[0].stop()'
  shows_the_others
}

@test "--exit-code: that one is held is known without the rest; that none is, is not" {
  field 'field.servers[0].kill()'
  run -0 rlock status -q --exit-code "$(head -n 1 <<<"$there" | sed 's/^lock/lock*/')"
  partly -q --exit-code 'nobody*'
}

@test "no node answers: that is said, and nothing is shown" {
  field 'for node in field.servers: node.stop()'
  run --separate-stderr -69 rlock status --connect-timeout 300ms
  field 'for node in field.servers: node.resume()'
  [ -z "$output" ]
}

@test "--watch shows the others, and what is missing" {
  field 'field.servers[0].kill()'
  timeout 60 python3 - "$gone" <<-'END'
	import os, pexpect, re, sys
	os.environ.update(TERM="xterm", NO_COLOR="1")
	watch = pexpect.spawn(os.environ["RLOCK"], ["status", "--watch"], dimensions=(24, 120), timeout=20, encoding="utf-8")
	watch.expect(re.escape("not shown: the locks at " + sys.argv[1] + ": "))
	watch.expect("lock-")
	watch.send("q")
	watch.read()
	watch.close()
	assert watch.exitstatus == 0, watch.exitstatus
	END
}

@test "what --json prints of a part is what the schema says" {
  local python
  python_with jsonschema
  field 'field.servers[0].kill()'
  partly --json
  "$python" - "$BATS_TEST_DIRNAME/../docs/status.schema.json" "$output" <<-'END'
	import json, sys, jsonschema
	schema, said = json.load(open(sys.argv[1])), json.loads(sys.argv[2])
	schema["$defs"]["unseen"]["additionalProperties"] = False
	schema["oneOf"][1]["unevaluatedProperties"] = False
	jsonschema.Draft202012Validator(schema).validate(said)
	assert set(said["unseen"][0]) == set(schema["$defs"]["unseen"]["properties"])
	END
}
