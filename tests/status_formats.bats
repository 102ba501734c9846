# rlock status --format, for programs: keys, JSON after its schema, and what Prometheus reads.
load helper

# No lease here ends by itself.
export RLOCK_TTL=10m

setup_file() { start_server; }
teardown_file() { stop_servers; }

@test "keys: one a line, in natural order, of what is held, waited for or remembered" {
  redis flushall
  run -0 rlock status --format keys
  [ -z "$output" ]
  local name token
  for name in job10 job2 job1 'deploy web'; do rlock acquire "$name" >/dev/null; done
  rlock run ran -- true
  token=$(rlock acquire gone)
  rlock release gone "$token"
  run -0 rlock status --format keys
  [ "$output" = $'deploy web\njob1\njob2\njob10\nran' ]
  run -0 rlock status --format keys 'job?'
  [ "$output" = $'job1\njob2' ]
  run -0 rlock status --format keys nobody
  [ -z "$output" ]
  run -1 rlock status --format keys --exit-code 'ra*'
  [ "$output" = ran ]
  run -0 rlock status --format keys --exit-code
  [ "${#lines[@]}" = 5 ]
}

@test "a pattern names the keys that match, the prefix as it stands, and an exact key wins" {
  redis flushall
  local name
  for name in deploy deploy-a deploy-b 'x[1]' x1 y; do rlock acquire "$name" >/dev/null; done
  keys() { [ "$(rlock status --format keys "$1" | tr '\n' ' ')" = "$2" ]; }
  keys 'deploy*' 'deploy deploy-a deploy-b '
  keys 'deploy-[b-z]' 'deploy-b '
  keys '*' 'deploy deploy-a deploy-b x1 x[1] y '
  keys '*-?' 'deploy-a deploy-b '
  keys 'x[1]' 'x[1] '
  keys 'x[12]' 'x1 '
  keys 'x\[1]*' 'x[1] '
  keys 'z*' ''
  # The one that is called so is one lock, and a pattern a list, however many match.
  run -0 rlock status --json 'x[1]'
  jq -e '.key == "x[1]" and .held' <<<"$output"
  run -0 rlock status --json 'x[12]'
  jq -e '[.locks[].key] == ["x1"]' <<<"$output"
  run -0 rlock status --json 'z*'
  jq -e '.locks == []' <<<"$output"
  expect 0 rlock status --exit-code -q 'deploy*'
  expect 1 rlock status --exit-code -q 'z*'
}

@test "keys are those that other verbs take, as they stand there; the table has the others too" {
  redis flushall
  local name key long
  long=$(printf '%1025s' | tr ' ' k)
  # What would steer a terminal, make two lines of one, name another key once it is printed, or is too long for a KEY.
  for name in $'a\e[31m\nb' $'\xff' $'\u202e' "$long"; do redis set "rlock:$name" x px 60000; done
  for name in "${long%k}" ключ '-n' "it's" 'a*'; do rlock acquire -- "$name" >/dev/null; done
  rlock status --format keys >keys
  [ "$(wc -l <keys)" = 5 ]
  diff keys <(rlock status --format keys --exit-code)
  while read -r key; do expect 0 rlock status --exit-code -- "$key"; done <keys
  [ "$(rlock status --json | jq '.locks | length')" = 9 ]
  [ "$(rlock status | wc -l)" = 10 ]
}

@test "in a pattern, ? and a range stand for a character, not for a byte" {
  redis flushall
  local name
  for name in tür tor 日本 $'t\xffr' t-r; do rlock acquire "$name" >/dev/null; done
  keys() { [ "$(rlock status --format keys "$1" | sort | tr '\n' ' ')" = "$2" ]; }
  for LC_ALL in C C.UTF-8; do
    keys 't?r' "$(printf '%s\n' t-r tor tür | sort | tr '\n' ' ')"
    keys 't[ü-]r' "$(printf '%s\n' t-r tür | sort | tr '\n' ' ')"
    keys '??' '日本 '
    keys 't??r' ''
    # What is not UTF-8 is still matched, a byte at a time.
    [ "$(rlock status --json 't*r' | jq '.locks | length')" = 4 ]
  done
}

@test "a format is one of those that there are, and --json is one" {
  redis flushall
  expect_error 64 "table, json, prometheus or keys" rlock status --format yaml
  expect_error 64 '--format' rlock status --json --format keys
  [ "$(rlock status --json)" = "$(rlock status --format json)" ]
}

# one_of_every_kind: locks of all kinds, and what others may leave on a server.
one_of_every_kind() {
  redis flushall
  rlock acquire exclusive >/dev/null
  rlock acquire -s shared >/dev/null
  rlock acquire -s --label 'build "7"' shared >/dev/null
  rlock acquire --slots 3 slots >/dev/null
  rlock run --hold 1h --show-command hold -- true
  run -1 rlock run failed -- false
  run -143 rlock run killed -- sh -c 'kill $$'
  rlock run succeeded -- true
  redis set rlock:foreign x >/dev/null
  redis rpush rlock:data x >/dev/null
  redis set rlock:theirs x px 60000 >/dev/null
  redis set rlock:version x px 60000 >/dev/null
  redis hset 'rlock:i:{rlock:version}' x '3 s 1 1 1 1 h u c' >/dev/null
  redis set rlock:odd x px 60000 >/dev/null
  redis hset 'rlock:i:{rlock:odd}' x '1 s 1 9223372036854775807 1 -1 h u c' >/dev/null
  redis zadd 'rlock:q:{rlock:odd}' 1e300 a -inf b 1.5 c >/dev/null
  redis set 'rlock:l:{rlock:odd}' '1 0 99999999999999 1 99999999999999 1 -3 -5 0 7 host ann ' >/dev/null
  redis set $'rlock:\xff\e[31m"\\\n' x px 60000 >/dev/null
  background rlock run exclusive -- true
  until_true 10 waiting 1 exclusive
  background rlock run -s exclusive -- true
  until_true 10 waiting 2 exclusive
}

@test "what --json prints is what the schema says, of every kind of lock" {
  local python key
  python_with jsonschema
  one_of_every_kind
  {
    rlock status --json
    rlock status --json 'no*'
    rlock status --json nobody
    for key in $(rlock status --json | jq -r '.locks[].key | select(test("^[a-z]+$"))'); do rlock status --json "$key"; done
  } >said
  for key in a b c; do
    start_server "vote-$key"
    redis set rlock:voted x px 60000 >/dev/null
  done
  local three=unix://$BATS_FILE_TMPDIR/vote-a.sock,unix://$BATS_FILE_TMPDIR/vote-b.sock,unix://$BATS_FILE_TMPDIR/vote-c.sock
  {
    RLOCK_SERVER=$three rlock status --json
    RLOCK_SERVER=$three rlock status --json voted
  } >>said
  "$python" - "$BATS_TEST_DIRNAME/../docs/status.schema.json" <<-'END'
	import json, sys, jsonschema
	schema = json.load(open(sys.argv[1]))
	jsonschema.Draft202012Validator.check_schema(schema)
	# Nothing that it does not name, either.
	for kind in "holder", "waiter", "last_run":
	    schema["$defs"][kind]["additionalProperties"] = False
	for shape in schema["oneOf"]:
	    shape["unevaluatedProperties"] = False
	lock = schema["oneOf"][1]["properties"]["locks"]
	lock["items"] = {"allOf": [lock["items"]], "unevaluatedProperties": False}
	check = jsonschema.Draft202012Validator(schema)
	said = [json.loads(line) for line in open("said")]
	assert len(said) == 17, len(said)
	for value in said:
	    check.validate(value)
	# All that it names was there.
	met = set()
	def walk(value):
	    if isinstance(value, dict):
	        met.update(value)
	    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
	        walk(inner)
	walk(said)
	names = {name for kind in ("lock", "holder", "waiter", "last_run") for name in schema["$defs"][kind]["properties"]}
	# A queue that nobody can read: zookeeper_server.bats has one.
	assert names - met == {"error"}, names - met
	# It is not so wide that anything goes.
	held = next(value for value in said if value.get("key") == "exclusive")
	for spoil in (lambda v: v.pop("held"), lambda v: v["holders"][0].update(since="yesterday"),
	              lambda v: v.update(version=2), lambda v: v["waiters"][0].pop("mode"), lambda v: v.update(more=1)):
	    spoilt = json.loads(json.dumps(held))
	    spoil(spoilt)
	    assert not check.is_valid(spoilt), spoilt
	END
  rlock release --force exclusive
  finish
}

@test "Prometheus reads the metrics of every kind of lock, escaped keys and all" {
  local python
  python_with prometheus_client
  one_of_every_kind
  # Looks the same in print as one that is there, and a line twice would be an error.
  redis set 'rlock:\xff\x1b[31m"\\\x0a' x px 60000 >/dev/null
  redis set $'rlock:\xff\e[31m"\\\\\n' x px 60000 >/dev/null
  rlock status --format prometheus >said
  "$python" - <<-'END'
	from prometheus_client.parser import text_string_to_metric_families
	text = open("said", "rb").read().decode()
	assert all(c == "\n" or c.isprintable() for c in text)
	families = list(text_string_to_metric_families(text))
	values = {}
	for family in families:
	    assert family.type == "gauge" and family.documentation, family
	    for sample in family.samples:
	        name = (sample.name, sample.labels.get("key"))
	        assert name not in values, name
	        values[name] = sample.value
	assert all(family.name.startswith("rlock_") for family in families) and len({f.name for f in families}) == len(families)
	def of(metric, key): return values.get(("rlock_" + metric, key))
	assert of("up", None) == 1
	assert of("lock_held", "exclusive") == 1 and of("lock_held", "failed") == 0 and of("lock_held", "hold") == 1
	assert of("lock_holders", "shared") == 2 and of("lock_holders", "slots") == 1 and of("lock_holders", "failed") == 0
	assert 0 <= of("lock_held_seconds", "exclusive") < 300 and of("lock_held_seconds", "failed") is None
	assert 0 < of("lock_lease_seconds", "exclusive") <= 600 and of("lock_lease_seconds", "foreign") is None
	assert of("lock_waiters", "exclusive") == 2 and of("lock_waiters", "shared") == 0
	assert 0 <= of("lock_waiting_seconds", "exclusive") < 300 and of("lock_waiting_seconds", "shared") is None
	assert of("last_run_exit_status", "killed") == 143 and of("last_run_exit_status", "succeeded") == 0
	assert of("last_run_exit_status", "exclusive") is None
	ended, succeeded = "last_run_end_timestamp_seconds", "last_success_timestamp_seconds"
	assert of(ended, "succeeded") == of(succeeded, "succeeded") > 1.6e9 and of(succeeded, "failed") is None
	assert 0 <= of("last_run_duration_seconds", "succeeded") < 60
	assert of("lock_held", '\\xff\\x1b[31m"\\\\x0a') == 1
	END
  rlock release --force exclusive
  finish
}

@test "a success before a failure is remembered beside it" {
  redis flushall
  rlock run "$key" -- true
  run -1 rlock run "$key" -- false
  run -1 rlock run "$key" -- false
  rlock status --json "$key" | jq -e '.last_run | .exit_status == 1 and .succeeded != null and .succeeded <= .ended'
  [[ $(rlock status "$key") =~ 'last success  '[0-9:]{8}\ \([0-9]+s\ ago\) ]]
  rlock status --format prometheus "$key" | grep -q '^rlock_last_success_timestamp_seconds{key="'"$key"'"} 1[0-9]*\.[0-9][0-9][0-9]$'
}

@test "where no server answers, the metrics say that it is down, and the status is 69" {
  export RLOCK_SERVER=unix://$PWD/nobody
  run --separate-stderr -69 rlock status --connect-timeout 100ms --format prometheus
  [ "${lines[-1]}" = 'rlock_up 0' ]
  [ "$(grep -vc '^#' <<<"$output")" = 1 ]
  [[ $stderr == 'rlock: '* ]]
}
