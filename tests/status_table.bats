# What people see of rlock status: a table of many locks, and all of one. tests/status.bats has what it tells.
load helper

# No lease here ends by itself.
export RLOCK_TTL=10m

setup_file() { start_server; }
teardown_file() { stop_servers; }

# on_terminal COLUMNS ARGUMENT...: rlock on a terminal so wide, in $output; TERM and the rest as they are.
on_terminal() {
  python3 - "$@" >shown <<-'END'
	import os, sys, pexpect
	child = pexpect.spawn(os.environ["RLOCK"], sys.argv[2:], dimensions=(24, int(sys.argv[1])), timeout=20)
	sys.stdout.buffer.write(child.read().replace(b"\r\n", b"\n"))
	child.close()
	sys.exit(child.exitstatus)
	END
  output=$(cat shown)
}
# widest: of the lines of a file, in columns.
widest() {
  python3 -c '
import sys, unicodedata
def width(line):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)
print(max(width(line.rstrip("\n")) for line in open(sys.argv[1], encoding="utf-8")))' "$1"
}
# cell KEY HEADING: what the table in $output has of that lock under that heading.
cell() {
  local heading=${output%%$'\n'*} before line
  line=$(grep "^$1 " <<<"$output")
  before=${heading%%"$2"*}
  line=${line:${#before}}
  echo "${line%%  *}"
}

@test "a line a lock: state, holder, held for, lease left, waiting, last run" {
  redis flushall
  local token i
  token=$(USER=ann rlock acquire -t 10m job10)
  background rlock run job10 -- true
  background rlock run job10 -- true
  until_true 10 waiting 2 job10
  USER=ann rlock acquire -s job2 >/dev/null
  USER=ben rlock acquire -s job2 >/dev/null
  for i in 1 2; do USER=ann rlock acquire --slots 4 slotted >/dev/null; done
  rlock run --hold 1h kept -- true
  expect 3 rlock run broken -- sh -c 'exit 3'
  USER=ann rlock acquire --label https://ci.example.org/7 labelled >/dev/null
  redis set rlock:theirs x
  run --separate-stderr -0 rlock status
  [ "$(cut -d' ' -f1 <<<"$output" | tr '\n' ' ')" = 'KEY job10 job2 kept labelled slotted theirs broken ' ]
  [[ $output =~ ^KEY\ +STATE\ +HOLDER\ +HELD\ +LEASE\ +WAITING\ +LAST\ RUN$'\n' ]]
  [ "$(cell job10 STATE)" = held ]
  [[ $(cell job10 HOLDER) =~ ^ann@$(uname -n)\ pid\ [0-9]+$ ]]
  [[ $(cell job10 HELD) =~ ^[0-9]+s$ ]]
  [[ $(cell job10 LEASE) =~ ^(10m|9m [0-9]+s)$ ]]
  [ "$(cell job10 WAITING)" = 2 ]
  [ "$(cell job10 'LAST RUN')" = - ]
  [ "$(cell job2 STATE)" = 'shared 2' ]
  [[ $(cell job2 HOLDER) =~ ^(ann|ben)@.*\ \+\ 1$ ]]
  [ "$(cell slotted STATE)" = 'slots 2 of 4' ]
  [ "$(cell kept STATE)" = 'on hold' ]
  [[ $(cell kept 'LAST RUN') =~ ^exit\ 0,\ [0-9]+s\ ago$ ]]
  [ "$(cell broken STATE)" = free ]
  [ "$(cell broken HOLDER)$(cell broken HELD)$(cell broken LEASE)$(cell broken WAITING)" = ---- ]
  [[ $(cell broken 'LAST RUN') =~ ^exit\ 3,\ [0-9]+s\ ago$ ]]
  [ "$(cell labelled HOLDER)" = https://ci.example.org/7 ]
  [ "$(cell theirs HOLDER)" = '(not an rlock)' ]
  [ "$(cell theirs LEASE)" = 'no end' ]
  rlock release job10 "$token"
  finish
}

@test "what is waited for comes first, then what is held, then the rest; --sort has other orders, --held leaves the rest out" {
  redis flushall
  keys() { cut -d' ' -f1 | tail -n +2 | paste -sd ' '; }
  local one two
  one=$(rlock acquire d-held)
  rlock run b-ran -- true
  rlock run a-ran -- true
  two=$(rlock acquire e-waited)
  rlock acquire c-held >/dev/null
  background rlock run e-waited -- true
  until_true 10 waiting 1 e-waited
  [ "$(rlock status | keys)" = 'e-waited c-held d-held a-ran b-ran' ]
  [ "$(rlock status --sort state | keys)" = 'e-waited c-held d-held a-ran b-ran' ]
  [ "$(rlock status --sort key | keys)" = 'a-ran b-ran c-held d-held e-waited' ]
  [ "$(rlock status --sort held | keys)" = 'd-held e-waited c-held a-ran b-ran' ]
  [ "$(rlock status --sort waiting | keys)" = 'e-waited a-ran b-ran c-held d-held' ]
  [ "$(rlock status --sort last-run | keys)" = 'a-ran b-ran c-held d-held e-waited' ]
  [ "$(rlock status --held | keys)" = 'e-waited c-held d-held' ]
  [ "$(rlock status --held '*-held' | keys)" = 'c-held d-held' ]
  run --separate-stderr -0 rlock status --held '*-ran'
  [ -z "$output" ]
  [[ $stderr == 'rlock: no lock held or waited for matches *-ran at '* ]]
  # Programs have the order of keys, unless they say so.
  [ "$(rlock status --json | jq -r '[.locks[].key] | join(" ")')" = 'a-ran b-ran c-held d-held e-waited' ]
  [ "$(rlock status --format keys | paste -sd ' ')" = 'a-ran b-ran c-held d-held e-waited' ]
  [ "$(rlock status --json --held --sort held | jq -r '[.locks[].key] | join(" ")')" = 'd-held e-waited c-held' ]
  [ "$(rlock status --format keys --held | paste -sd ' ')" = 'c-held d-held e-waited' ]
  # Of one lock both say nothing.
  [ "$(rlock status --held --sort held a-ran | head -n 1)" = 'key       a-ran' ]
  rlock release e-waited "$two"
  rlock release d-held "$one"
  finish
}

@test "one lock in detail: holders, the queue in order, the last run, labels" {
  local token i
  rlock run --label before "$key" -- true
  token=$(USER=ann rlock acquire -t 10m --label 'build 7' "$key")
  for i in 1 2 3; do
    USER=w$i background rlock run --label "build 8.$i" "$key" -- true
    until_true 10 waiting $i
  done
  run --separate-stderr -0 rlock status "$key"
  [ "${lines[0]}" = "key       $key" ]
  [ "${lines[1]}" = 'state     held' ]
  [ "${lines[2]}" = 'mode      exclusive' ]
  [ "${lines[3]}" = 'waiting   3' ]
  [[ ${lines[4]} =~ ^last\ run\ \ exit\ 0\ at\ [0-9:]{8}\ \([0-9]+s\ ago\),\ took\ [0-9ms]+,\ .*@$(uname -n)\ pid\ [0-9]+$ ]]
  [ "${lines[5]}" = '          before' ]
  local time='[0-9:]{8}'
  [[ ${lines[6]} =~ ^HOLDER\ +HELD\ +SINCE\ +LEASE\ +FENCE\ +LABEL$ ]]
  [[ ${lines[7]} =~ ^ann@$(uname -n)\ pid\ [0-9]+\ +[0-9]+s\ +$time\ +(10m|9m\ [0-9]+s)\ +[0-9]+\ +build\ 7$ ]]
  [[ ${lines[8]} =~ ^\#\ +WAITER\ +WAITING\ +SINCE\ +MODE\ +LABEL$ ]]
  for i in 1 2 3; do
    [[ ${lines[8 + i]} =~ ^$i\ +w$i@$(uname -n)\ pid\ [0-9]+\ +[0-9]+s\ +$time\ +exclusive\ +build\ 8\.$i$ ]]
  done
  rlock release "$key" "$token"
  finish
}

@test "times are those of the clock here, as in messages, with the date where it is not today; JSON has UTC" {
  local token since
  export TZ=Asia/Tokyo
  rlock acquire "$key" >/dev/null
  since=$(rlock status --json "$key" | jq -r '.holders[0].since')
  [[ $since == *Z ]]
  rlock status "$key" | grep -q " $(date -d "$since" +%T) "
  run --separate-stderr -75 rlock run -n "$key" -- true
  [[ $stderr == *" since $(date -d "$since" +%T);"* ]]
  token=$(redis get "rlock:$key")
  since=$(($(date +%s) - 9 * 86400))
  redis hset "rlock:i:{rlock:$key}" "$token" "1 s ${since}000000 ${since}000000 7 7 host ann "
  rlock status "$key" | grep -q " $(date -d "@$since" '+%b %e %H:%M') "
  run --separate-stderr -75 rlock run -n "$key" -- true
  [[ $stderr == *" since $(date -d "@$since" '+%b %e %H:%M');"* ]]
}

@test "on a terminal it is as wide as that, wide characters counted, and elsewhere 200 columns" {
  redis flushall
  export TERM=xterm NO_COLOR=1
  local long='a-key-that-is-longer-than-any-column-of-a-terminal-may-be-1234567890' columns
  USER=ann rlock acquire "$long" >/dev/null
  rlock acquire --label "$(printf 'x%.0s' {1..200})" 日本語の名前がここにあります >/dev/null
  rlock acquire 'café' >/dev/null
  env -u LC_ALL -u LANG rlock status >plain
  grep -q "$long  held" plain
  grep -q 'x\{50\}x*…  ' plain
  [ "$(widest plain)" -le 200 ]
  # Columns are where they should be: with wide characters in front, too.
  python3 - <<-'END'
	import unicodedata
	for line in list(open("plain", encoding="utf-8"))[1:]:
	    at = line.index("  held  ")
	    columns = sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line[:at])
	    assert columns <= 68, columns
	END
  for columns in 60 80 120; do
    on_terminal "$columns" status
    [ "$(widest shown)" -le "$columns" ]
    grep -q '…' shown
    [ "$(wc -l <shown)" = 4 ]
    on_terminal "$columns" status 日本語の名前がここにあります
    [ "$(widest shown)" -le "$columns" ]
  done
  on_terminal 400 status
  grep -q 'x\{200\}  ' shown
  LC_ALL=C on_terminal 80 status
  [ "$(widest shown)" -le 80 ]
}

@test "colours on a terminal alone, and not where NO_COLOR or TERM says no" {
  redis flushall
  rlock acquire "$key" >/dev/null
  rlock status >plain
  run -1 grep -q $'\e' plain
  TERM=xterm on_terminal 80 status
  grep -q $'\e\\[32mheld\e\\[0m' shown
  sed 's/\x1b\[[0-9]*m//g' shown | head -n 1 | cmp - <(head -n 1 plain)
  NO_COLOR=1 TERM=xterm on_terminal 80 status
  run -1 grep -q $'\e' shown
  TERM=dumb on_terminal 80 status
  run -1 grep -q $'\e' shown
  NO_COLOR='' TERM=xterm on_terminal 80 status
  grep -q $'\e' shown
}

@test "nothing that others wrote steers the terminal, in the table nor in the detail" {
  redis flushall
  export TERM=xterm NO_COLOR=1
  USER=$'\e[2J' rlock run --hold 1h --label $'\e]0;title\a' "$key" -- true
  redis set $'rlock:\e[31mred' x px 60000
  on_terminal 200 status
  run -1 grep -q $'\e' shown
  grep -q 'x1b\[31mred' shown
  on_terminal 200 status "$key"
  run -1 grep -q $'\e' shown
  grep -q 'x1b\]0;title' shown
}

@test "no lock at all, or none that matches, is one line on standard error" {
  redis flushall
  run --separate-stderr -0 rlock status
  [ -z "$output" ]
  [[ $stderr == 'rlock: no locks at '* ]]
  run --separate-stderr -0 rlock status 'deploy-*'
  [ -z "$output" ]
  [[ $stderr == 'rlock: no lock matches deploy-* at '* ]]
}

@test "ten thousand locks are listed in small steps, which no other client has to wait for" {
  redis flushall
  redis eval 'local now = redis.call("TIME")[1]
    for i = 1, ARGV[1] do
      local name = "{rlock:key-" .. i .. "}"
      redis.call("SET", "rlock:key-" .. i, i, "PX", 3600000)
      redis.call("HSET", "rlock:i:" .. name, i, "1 s " .. now .. "000000 " .. now .. "000000 " .. i .. " " .. i .. " host ann ")
      redis.call("SET", "rlock:l:" .. name, "1 0 = = " .. now .. " 0 0 5 0 " .. i .. " host ann ")
      redis.call("SET", "rlock:f:" .. name, i)
    end' 0 10000
  redis config resetstat
  strace -f -e trace=sendto,write,writev -o sent rlock status >table
  [ "$(wc -l <table)" = 10001 ]
  [[ $(sed -n 2p table) =~ ^key-1\ +held\ +ann@host\ pid\ 1\ .*exit\ 0 ]]
  [[ $(tail -n 1 table) = key-10000\ * ]]
  # A script a lock, many of them in a request; and the keyspace in pieces.
  [ "$(redis info commandstats | sed -n 's/^cmdstat_evalsha:calls=\([0-9]*\),.*/\1/p')" -ge 10000 ]
  [ "$(redis info commandstats | sed -n 's/^cmdstat_scan:calls=\([0-9]*\),.*/\1/p')" -ge 20 ]
  [ "$(wc -l <sent)" -lt 500 ]
  redis flushall
}
