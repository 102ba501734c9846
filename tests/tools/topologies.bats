#!/usr/bin/env bats
# The servers of each topology, as the trials and the soak start them.

load ../helper

# play TOPOLOGY: the lines of standard input are Python, `field` is a topology of that name.
play() {
  {
    printf 'import sys\nsys.path.insert(0, "%s")\n' "$BATS_TEST_DIRNAME/../faults"
    printf 'from topologies import *\nwith TOPOLOGIES["%s"](sys.argv[1], **eval(sys.argv[2])) as field:\n' "$1"
    sed 's/^/    /'
  } >play.py
  timeout 400 python3 -B play.py "$BATS_TEST_TMPDIR/field" "${2:-{\}}"
}

@test "Sentinels name a new master when they are told to, and when the old one is killed" {
  play sentinel <<-'END'
	first = field.master()
	first.redis("SET", "k", "v")
	second = field.failover()
	assert second is not first and second.role() == "master"
	until(lambda: first.role() == "slave", "the demotion")
	second.kill()
	until(lambda: field.master() not in (None, second), "a new master")
	assert field.master().redis("GET", "k") == "v"
	second.start()
	field.settle()
	assert second.role() == "slave"
	END
}

@test "a Cluster moves slots, fails over, and tells the addresses of its proxies" {
  play cluster 'dict(proxied=True)' <<-'END'
	slot = field.slot_of("k")
	first = field.owner(slot)
	first.redis("SET", "k", "v")
	target = next(node for node in field.servers if node.role() == "master" and node is not first)
	try:
	    target.redis("GET", "k")
	except ServerError as error:
	    assert str(error) == f"MOVED {slot} {first.address}", error
	field.begin_move(slot, target)
	try:
	    first.redis("GET", "not there{k}")
	except ServerError as error:
	    assert str(error) == f"ASK {slot} {target.address}", error
	field.move_slot(slot, target)
	assert field.owner(slot) is target and target.redis("GET", "k") == "v"
	assert field.failover("k").redis("GET", "k") == "v"
	END
}

@test "independent servers know nothing of each other, and all end together" {
  play redlock 'dict(servers=3)' <<-'END'
	field.servers[0].redis("SET", "k", "v")
	assert [server.redis("GET", "k") for server in field.servers_of("k")] == ["v", None, None]
	open("pids", "w").write(" ".join(str(server.process.pid) for server in field.servers))
	END
  for pid in $(cat pids); do
    is_gone "$pid"
  done
}
