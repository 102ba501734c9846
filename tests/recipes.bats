# packaging/examples: every file there does what it says, against a real server.
# shellcheck disable=SC2016 # shells inside expand what stands in single quotes
load helper

examples=$BATS_TEST_DIRNAME/../packaging/examples

setup_file() { start_server; }
teardown_file() { stop_servers; }

# make_jobs NAME...: commands that note in ./ran that they ran, with what arguments.
make_jobs() {
  local name
  for name; do
    mkdir -p "$(dirname "$name")"
    printf '#!/bin/sh\necho "%s${1:+ $1}" >>%q\n' "${name##*/}" "$PWD/ran" >"$name"
    chmod +x "$name"
  done
}
# ran: the names of those that ran, in order.
ran() { paste -sd ' ' ran 2>/dev/null; }

# cron_commands: the commands of the crontab as cron gives them to the shell, one a line.
cron_commands() {
  sed -nE '/^([0-9*/,-]+ ){5}/{s///; s/([^\\])%.*/\1/; s/\\%/%/g; p}' "$examples/crontab" |
    sed "s,/srv/jobs,$PWD/jobs,; s/ -w [0-9]*m / -w 100ms /"
}
# as_cron HOST COMMAND: as cron runs it there.
as_cron() {
  env -i PATH="$(dirname "$RLOCK"):/usr/bin:/bin" SHELL=/bin/sh HOME="$PWD" LOGNAME=cron RLOCK_SERVER="$url" \
    ${ASAN_OPTIONS:+"ASAN_OPTIONS=$ASAN_OPTIONS"} ${TSAN_OPTIONS:+"TSAN_OPTIONS=$TSAN_OPTIONS"} \
    /bin/sh -c "$2"
}
cron_jobs() {
  redis flushall
  rm -f ran
  # shellcheck disable=SC2046 # words
  make_jobs $(cron_commands | grep -o "$PWD/jobs/[a-z]*.sh")
}

@test "crontab: each line is a comment, a variable, or five fields and an rlock" {
  [ "$(cron_commands | wc -l)" -ge 6 ]
  ! grep -vE '^(#.*|[A-Z_]+=[^ ]+|([0-9*/,-]+ ){5}rlock run .*|)$' "$examples/crontab"
}

@test "crontab: each entry runs its job in the environment of cron, and prints nothing to be mailed" {
  cron_jobs
  local command name
  while read -r command; do
    name=$(grep -o '[a-z]*\.sh' <<<"$command")
    expect 0 as_cron one "$command"
    [ -z "$output" ]
    [[ "$(ran)" == "$name"* ]]
    rm ran
  done < <(cron_commands)
  [ -n "$name" ]
}

@test "crontab: a % reaches the job" {
  cron_jobs
  as_cron one "$(cron_commands | grep archive)"
  [[ "$(ran)" =~ ^archive.sh\ [0-9]{4}-[0-9]{2}-[0-9]{2}$ ]]
}

@test "crontab: no entry runs its job while another host has the lock, and only the one that waits says so" {
  cron_jobs
  local command name waited=0
  while read -r command; do
    name=$(sed -E 's/.* ([a-z]+) -- .*/\1/' <<<"$command")
    if [[ $command == *--slots* ]]; then
      rlock acquire --slots 2 "$name"
      rlock acquire --slots 2 "$name"
    else
      rlock acquire "$name"
    fi
    if [[ $command == *' -E 0 '* ]]; then
      expect 0 as_cron one "$command"
      [ -z "$output" ]
    else
      expect_error 75 "$name" as_cron one "$command"
      waited=$((waited + 1))
    fi
    [ ! -e ran ]
  done < <(cron_commands)
  [ "$waited" = 1 ]
}

@test "crontab: of three hosts one runs the nightly job, though the third is late" {
  cron_jobs
  local command
  command=$(cron_commands | grep nightly)
  background as_cron one "$command"
  background as_cron two "$command"
  finish
  as_cron three "$command"
  [ "$(ran)" = nightly.sh ]
}

@test "crontab: the report is tried until it has succeeded, on whichever host" {
  cron_jobs
  local command
  command=$(cron_commands | grep report)
  echo 'exit 3' >>jobs/report.sh
  expect 3 as_cron one "$command"
  sed -i '$d' jobs/report.sh
  as_cron two "$command"
  as_cron one "$command"
  [ "$(ran)" = 'report.sh report.sh' ]
}

# started_by UNIT: the command of its ExecStart, with the rlock that is tested and ./job.
started_by() { sed -n "s,^ExecStart=/usr/bin/rlock run \(.*\) -- .*,exec rlock run \1 -- ./job,p" "$examples/$1"; }
# setting UNIT NAME
setting() { sed -n "s/^$2=//p" "$examples/$1"; }

@test "systemd: the units are right, says systemd-analyze" {
  command -v systemd-analyze >/dev/null || skip 'there is no systemd-analyze'
  local unit
  for unit in "$examples"/*.service "$examples"/*.timer; do
    # It looks for the programs, and wants the name of a unit.
    sed "s,=/usr/bin/rlock,=$RLOCK,; s,/usr/local/bin/.*,/bin/true," "$unit" >"${unit##*/}"
  done
  expect 0 systemd-analyze verify --man=no ./*.service ./*.timer
  [ -z "$output" ] || [[ $output != *.service* && $output != *.timer* ]]
}

@test "systemd: rlock@.service with the drop-in is right, and without one it is refused" {
  command -v systemd-analyze >/dev/null || skip 'there is no systemd-analyze'
  export SYSTEMD_UNIT_PATH=$PWD:
  mkdir rlock@nightly.service.d
  cp "$examples/../rlock@.service" .
  # Each is started by the name of a program, or by its path.
  sed "s,=rlock ,=$RLOCK ,; s,/usr/local/bin/.*,/bin/true," "$examples/rlock@nightly.conf" >rlock@nightly.service.d/command.conf
  expect 0 systemd-analyze verify --man=no rlock@nightly.service
  [[ $output != *rlock@* ]]
  expect 1 systemd-analyze verify --man=no rlock@other.service
  [[ $output == *rlock@other.service*ExecStart=* ]]
  # The lines that its comments tell to paste are those of the drop-in.
  diff <(sed -n 's/^# *ExecStart=//p' rlock@.service) <(sed -n 's/^ExecStart=//p' "$examples/rlock@nightly.conf")
}

@test "systemd: a stop ends who waits at once, and the job with what it started, as a success" {
  write_job
  local unit pid
  for unit in nightly-backup.service scheduler.service; do
    [[ " $(setting $unit SuccessExitStatus) " == *' 143 '* ]]
    redis flushall
    background bash -c "$(started_by $unit | sed 's/ -n / /')"
    pid=$!
    until_true 10 job_runs
    # KillMode=mixed: the signal goes to rlock alone.
    [ "$(setting $unit KillMode)" = mixed ]
    background bash -c "$(started_by $unit | sed 's/ -n / /')"
    until_true 10 waiting 1 "${unit%.service}"
    kill -TERM $!
    ended 143 $!
    waiting 0 "${unit%.service}"
    kill -TERM "$pid"
    ended 143 "$pid"
    job_is_dead
    rm -f job.* daemon.*
    background_pids=()
  done
}

@test "systemd: busy is a success, and what does not mend itself is not tried again" {
  rlock acquire nightly-backup
  write_job
  expect 75 bash -c "$(started_by nightly-backup.service)"
  [ ! -e job.pid ]
  [[ " $(setting nightly-backup.service SuccessExitStatus) " == *' 75 '* ]]
  local status
  for status in $(setting scheduler.service RestartPreventExitStatus); do
    grep -q "ExitRow{\"$status\"" "$BATS_TEST_DIRNAME/../src/base/exit_status.hpp"
  done
}

@test "systemd: the password comes from a credential" {
  not_under_acl 'a user without a password'
  own_server --requirepass from-a-credential
  expect_error 77 '' rlock run -n "$key" -- true
  mkdir -m 700 credentials
  (umask 277 && echo from-a-credential >credentials/redis-password)
  eval "export $(setting nightly-backup.service Environment | grep RLOCK_PASSWORD_FILE | sed "s,%d,$PWD/credentials,")"
  [ "${RLOCK_PASSWORD_FILE##*/}" = "$(setting nightly-backup.service LoadCredential | cut -d: -f1)" ]
  make_jobs job
  expect 0 bash -c "$(started_by nightly-backup.service)"
  [ "$(ran)" = job ]
}

@test "systemd: rlock, its guard and a renewal make no system call that the service's filter denies" {
  command -v systemd-analyze >/dev/null || skip 'there is no systemd-analyze'
  not_sanitized 'makes calls of its own'
  [ "$(setting nightly-backup.service SystemCallFilter)" = @system-service ]
  # A set names calls and further sets.
  set_of() { systemd-analyze syscall-filter "$1" | sed -n 's/^ *\([a-z0-9_@-]*\)$/\1/p' | grep -vxF "$1"; }
  allowed() {
    local name
    for name in $(set_of "$1"); do
      if [[ $name == @* ]]; then allowed "$name"; else echo "$name"; fi
    done
  }
  allowed @system-service >allowed
  strace -f -qq -o calls rlock run -t 3s -k 100ms "$key" -- sleep 1.5
  strace -f -qq -o calls-2 rlock run -t 2s -w 300ms "$key" -- true
  sed -nE 's/^[0-9]+ +([a-z_0-9]+)\(.*/\1/p' calls calls-2 | sort -u >made
  [ "$(wc -l <made)" -ge 20 ]
  ! grep -vxFf allowed made
}

@test "scripts: the steps of a deploy run under the lock, which is free afterwards" {
  make_jobs ./build.sh ./deploy.sh
  echo 'rlock status --exit-code -q deploy && echo held >>ran' >>build.sh
  cp build.sh deploy.sh
  local script
  for script in deploy-steps deploy-while-pid; do
    expect 0 "$examples/$script.sh"
    [ "$(ran)" = 'build.sh held build.sh held' ]
    rm ran
    until_true 10 is_free deploy
  done
}

@test "scripts: nothing runs when the lock is busy" {
  make_jobs ./build.sh ./deploy.sh
  rlock acquire deploy
  local script
  for script in deploy-steps deploy-while-pid; do
    sed 's/-w 5m/-w 100ms/' "$examples/$script.sh" >script
    expect 75 sh script
    [ ! -e ran ]
    is_held deploy
  done
  redis flushall
}

@test "scripts: a lock that was lost ends the script before the next step" {
  make_jobs ./build.sh ./deploy.sh
  echo "redis-cli -s $sock del rlock:deploy >/dev/null" >>build.sh
  expect 79 "$examples/deploy-steps.sh"
  [ "$(ran)" = build.sh ]
  rm ran
  # Stopped by a signal here: the keeper is told at once, and the build waits to be stopped.
  echo 'sleep 60' >>build.sh
  expect 143 "$examples/deploy-while-pid.sh"
  [ "$(ran)" = build.sh ]
}

@test "scripts: killed in the middle, both release the lock" {
  make_jobs ./build.sh ./deploy.sh
  echo 'touch up; exec sleep 60' >>build.sh
  background "$examples/deploy-while-pid.sh"
  until_true 10 test -e up
  is_held deploy
  kill -KILL $!
  until_true 10 is_free deploy
  rm up
  sed -i 's/exec sleep 60/sleep 0.3/' build.sh
  background "$examples/deploy-steps.sh"
  until_true 10 test -e up
  kill -TERM $!
  ended 143 $!
  is_free deploy
  background_pids=()
}

# yaml FILE EXPRESSION: what Python finds in the document d, a line each for a list.
yaml() {
  python3 - "$examples/$1" "$2" <<-'END'
	import sys, yaml
	d = yaml.safe_load(open(sys.argv[1]))
	found = eval(sys.argv[2])
	print("\n".join(found) if isinstance(found, list) else found)
	END
}
needs_yaml() { python3 -c 'import yaml' 2>/dev/null || skip 'Python has no yaml'; }

# serialises KEY SCRIPT LABEL: two jobs with this script run one after the other, and who looks sees the label.
serialises() {
  printf '#!/bin/sh\necho begins >>ran\nuntil [ -e go ]; do sleep 0.01; done\necho ends >>ran\n' >deploy.sh
  chmod +x deploy.sh
  rm -f ran go
  background bash -eo pipefail -c "$2"
  until_true 10 test -e ran
  background bash -eo pipefail -c "$2"
  until_true 10 waiting 1 "$1"
  [ "$(rlock status --json "$1" | jq -r '.holders[0].label, .waiters[0].label')" = "$3"$'\n'"$3" ]
  touch go
  finish
  [ "$(ran)" = 'begins ends begins ends' ]
}

@test "GitLab: deploys to an environment run one after the other, and show the URL of their job" {
  needs_yaml
  [ "$(yaml gitlab-ci.yml 'sorted(d["deploy"])')" = $'environment\nscript\nstage\nvariables' ]
  export CI_JOB_URL=https://gitlab.example.com/shop/-/jobs/7 CI_ENVIRONMENT_NAME=production
  # The runner expands variables in variables.
  [ "$(yaml gitlab-ci.yml 'd["deploy"]["variables"]["RLOCK_LABEL"]')" = '$CI_JOB_URL' ]
  RLOCK_LABEL=$CI_JOB_URL serialises deploy-production "$(yaml gitlab-ci.yml 'd["deploy"]["script"]')" "$CI_JOB_URL"
}

@test "GitHub: deploys run one after the other, and show the URL of their run" {
  needs_yaml
  [ "$(yaml github-deploy.yml 'sorted(map(str, d))')" = $'True\njobs\nname' ]
  export GITHUB_SERVER_URL=https://github.com GITHUB_REPOSITORY=shop/web GITHUB_RUN_ID=7
  serialises deploy-production "$(yaml github-deploy.yml 'd["jobs"]["deploy"]["steps"][1]["run"]')" \
    https://github.com/shop/web/actions/runs/7
}

@test "fencing: a file takes what newer holders write, and refuses an older one" {
  local write=$examples/fenced-file.sh
  rlock run "$key" -- sh -c "echo first | $write page; echo again | $write page"
  [ "$(cat page)" = again ]
  # One that is frozen before it writes, and wakes up when others have had the lock.
  rlock run "$key" -- sh -c 'echo $RLOCK_FENCE' >old
  expect 0 rlock run "$key" -- sh -c "echo newer | $write page"
  RLOCK_FENCE=$(cat old) expect 1 sh -c "echo late | $write page"
  [[ $output == *"nothing written"* ]]
  [ "$(cat page)" = newer ]
  # Nothing is left of the attempt.
  [ "$(echo page*)" = 'page page.fence' ]
}

@test "fencing: the file keeps its owner, group and mode, a new one has what the umask says, and a link stays one" {
  local write=$examples/fenced-file.sh
  (umask 027 && rlock run "$key" -- sh -c "echo first | $write page")
  [ "$(stat -c %a page)" = 640 ]
  chmod 4751 page
  [ "$EUID" != 0 ] || chown 65534:65533 page
  stat -c '%u %g %a' page >before
  ln -s page link
  rlock run "$key" -- sh -c "echo second | $write link"
  stat -c '%u %g %a' page | diff before -
  [ -L link ]
  [ "$(cat page)" = second ]
}

@test "fencing: PostgreSQL refuses a transaction of an older holder" {
  local bin
  bin=$(pg_config --bindir 2>/dev/null || printf '%s\n' /usr/lib/postgresql/*/bin | tail -n 1)
  [ -x "$bin/initdb" ] || skip 'there is no PostgreSQL'
  local as=()
  # It does not run as root.
  if [ "$EUID" = 0 ]; then
    id postgres >/dev/null || skip 'there is no user postgres'
    as=(setpriv --reuid postgres --regid postgres --clear-groups)
  fi
  local data
  data=$(mktemp -d /tmp/rlock-pg.XXXXXX)
  [ "$EUID" != 0 ] || chown postgres "$data"
  "${as[@]}" env -C / "$bin/initdb" -D "$data/db" --no-sync -A trust -U postgres >initdb.log
  "${as[@]}" env -C / "$bin/postgres" -D "$data/db" -k "$data" -c listen_addresses= -c fsync=off >pg.log 2>&1 3>&- &
  local server=$!
  export PGHOST=$data PGUSER=postgres PGDATABASE=postgres
  local outcome=0
  until_true 30 psql -qc '' && fenced_transactions || outcome=$?
  kill -INT "$server"
  wait "$server" || true
  rm -rf "$data"
  return "$outcome"
}
fenced_transactions() {
  expect 0 psql -qX -v ON_ERROR_STOP=1 -f "$examples/fenced.sql" &&
    psql -qXc 'CREATE TABLE orders (n int); CREATE TABLE totals (day date, n int)' || return
  rlock run "$key" -- sh -c 'echo $RLOCK_FENCE' >old || return
  expect 0 rlock run "$key" -- "$examples/fenced-postgresql.sh" || return
  expect 0 rlock run "$key" -- "$examples/fenced-postgresql.sh" || return
  expect 3 env RLOCK_KEY="$key" RLOCK_FENCE="$(cat old)" "$examples/fenced-postgresql.sh" || return
  [[ $output == *"is too old"* ]] || return
  [ "$(psql -AtXc 'SELECT count(*) FROM totals')" = 2 ]
}

@test "moving: every option and variable of rlock that the tables name is there" {
  local verb word
  for verb in run acquire renew release status; do rlock $verb --help; done >help
  # The right column of each table, what stands in backticks; behind -- are words of another command.
  sed -nE '/^\|/{s/\\\|//g; s/.*\| ([^|]*) \|$/\1/p}' "$examples/moving.md" | grep -o '`[^`]*`' | tr -d '`' |
    sed 's/ -- .*//' | grep -oE '(^|[ "(])--?[a-zA-Z-]+|RLOCK_[A-Z_]+' | tr -d ' "(' | sort -u >words
  [ "$(wc -l <words)" -ge 25 ]
  while read -r word; do
    [[ $word == RLOCK_@(KEY|TOKEN|FENCE) ]] || grep -qE -- "(^|[^a-zA-Z-])$word([^a-z-]|\$)" help || {
      echo "$word is nowhere"
      return 1
    }
  done <words
}

@test "moving: each command line of rlock there does its job" {
  local line
  sed -nE '/^\|/{s/\\\|/\x01/g; s/.*\| ([^|]*) \|$/\1/p}' "$examples/moving.md" | grep -oE '`[^`]*rlock (run|acquire|release)[^`]*`' |
    tr -d '`' | tr '\1' '|' >lines
  [ "$(wc -l <lines)" -ge 9 ]
  printf '#!/bin/sh\necho "$RLOCK_KEY" >>ran\n' >job
  chmod +x job
  while read -r line; do
    redis flushall
    rm -f ran
    line=${line//COMMANDS/./job}
    line=${line//COMMAND/./job}
    [[ $line != *' PID '* ]] || line="sleep 60 & ${line/PID/\$!}; kill \$!"
    [[ $line != *'rlock release'* ]] || line="eval \"\$(rlock acquire --export KEY)\"; $line"
    if [[ $line == *'exec rlock'* ]]; then
      printf '#!/bin/bash\n%s\n./job\n' "$line" >script
      chmod +x script
      line=./script
    fi
    expect 0 bash -c "$line"
    [[ $line == *'rlock acquire'* ]] || [ "$(ran)" = KEY ]
  done <lines
}

@test "README: the server, the two hosts and the cron job of its five minutes, as typed" {
  needs_mounts
  unshare --net true 2>/dev/null || skip 'needs network namespaces'
  sed -n '/^## Five minutes/,/^## Use it/{s/^    //p}' "$BATS_TEST_DIRNAME/../README.md" >typed
  grep -E '^(bind|requirepass|append)' typed >redis.conf
  [ "$(wc -l <redis.conf)" = 4 ]
  sed -n 's/^rlock run -n try/&/p' typed | sed 's/sleep 10/until [ -e go ]; do sleep 0.05; done/' >try
  sed -n 's,^0 3 \* \* \* \(.*\)/usr/local/bin/nightly.sh,\1./nightly.sh,p' typed >cron
  printf '#!/bin/sh\nhostname >>ran\n' >nightly.sh
  chmod +x nightly.sh
  cp -a /etc etc
  echo '127.0.0.1 locks.example.com' >>etc/hosts
  # Both hosts have the same file.
  grep '^server = ' typed >etc/rlock.conf
  chmod 640 etc/rlock.conf
  # on HOST: runs the line of standard input there, with the environment of cron.
  cat >hosts <<-'END'
	set -e
	on() {
	  unshare --uts sh -c 'hostname "$1" && exec env -i ASAN_OPTIONS="$ASAN_OPTIONS" PATH="$2:/usr/bin:/bin" \
	    HOME=/nonexistent sh -c "$3"' \
	    sh "$1" "$(dirname "$RLOCK")" "$(cat)"
	}
	ip link set lo up
	mount --bind etc /etc
	redis-server redis.conf --dir "$PWD" >server.log 2>&1 &
	trap "kill -KILL $!; wait $! || true" EXIT
	until echo rlock status | on web1 2>/dev/null; do sleep 0.05; done
	on web1 <try >said-1 &
	first=$!
	until [ -s said-1 ]; do sleep 0.05; done
	status=0
	on web2 <try >said-2 2>&1 || status=$?
	touch go
	wait "$first"
	[ "$status" = 75 ]
	on web1 <cron >mail-1 2>&1 &
	first=$!
	on web2 <cron >mail-2 2>&1
	wait "$first"
	echo rlock status nightly | on web2 >status
	END
  until_ended timeout 120 unshare --mount --net bash hosts
  [ "$(cat said-1)" = hello ]
  [[ "$(cat said-2)" == *'rlock: busy: try is held by '*web1* ]]
  [ -z "$(cat mail-1 mail-2)" ]
  [ "$(wc -l <ran)" = 1 ]
  grep -q "$(cat ran)" status
}
# until_ended COMMAND...: in the background, so that bats can end it.
until_ended() {
  background "$@"
  finish
}

@test "every example is in their list, and every link of the documents leads somewhere" {
  local file link text
  for file in "$examples"/*; do
    file=${file##*/}
    [ "$file" = README.md ] || grep -qF "[$file]($file)" "$examples/README.md" || {
      echo "$file is not in the list"
      return 1
    }
  done
  for text in "$examples"/*.md "$BATS_TEST_DIRNAME"/../{README,ARCHITECTURE,CONTRIBUTING}.md "$BATS_TEST_DIRNAME"/../docs/{,decisions/}*.md; do
    for link in $(grep -oE '\]\([^)]*\)' "$text" | sed 's/^](//; s/)$//'); do
      [[ $link != http* ]] || continue
      file=$(dirname "$text")/${link%%#*}
      [[ $link != "#"* ]] || file=$text
      [ -e "${file%/}" ] && [[ $link != *#* || $(anchors "$file") == *" ${link#*#} "* ]] || {
        echo "$text: $link leads nowhere"
        return 1
      }
    done
  done
}
# anchors FILE: what GitHub makes of its headings.
anchors() { echo " $(sed -n 's/^#* //p' "$1" | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9_\n-' | paste -sd ' ') "; }

@test "Prometheus: cron leaves metrics that are whole, also where no server answers, and has nothing to mail" {
  local command
  command=$(sed -n 's,^\* \* \* \* \* \(cd \)/var/lib/prometheus/node-exporter,\1.,p' "$examples/crontab-prometheus")
  own_server
  rlock acquire "$key"
  expect 0 as_cron one "$command"
  [ -z "$output" ]
  grep -qx 'rlock_up 1' rlock.prom
  grep -qx "rlock_lock_held{key=\"$key\"} 1" rlock.prom
  ! command -v promtool >/dev/null || promtool check metrics <rlock.prom
  kill_own_server
  expect 0 as_cron one "$command"
  [ -z "$output" ]
  grep -qx 'rlock_up 0' rlock.prom
  run ! grep -q rlock_lock rlock.prom
}

@test "Prometheus: the rules are right, and name metrics that rlock prints" {
  needs_yaml
  ! command -v promtool >/dev/null || promtool check rules "$examples/prometheus-rules.yml"
  yaml prometheus-rules.yml '[rule["expr"] for group in d["groups"] for rule in group["rules"]]' >expressions
  [ "$(wc -l <expressions)" -ge 6 ]
  rlock run "$key-2" -- true
  rlock acquire "$key"
  background rlock run "$key" -- true
  until_true 10 waiting 1
  rlock status --format prometheus >metrics
  rlock release --force "$key"
  finish
  grep -oE 'rlock_[a-z_]+' expressions | sort -u >named
  [ "$(wc -l <named)" -ge 6 ]
  local name
  while read -r name; do grep -q "^${name}[ {]" metrics; done <named
}

@test "the recording in the README is a picture of less than 150 kB that shows who waits, and a lost lock" {
  local picture=$BATS_TEST_DIRNAME/../docs/rlock.svg
  [ "$(stat -c %s "$picture")" -lt 150000 ]
  python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$picture"
  grep -qF '](docs/rlock.svg)' "$BATS_TEST_DIRNAME/../README.md"
  local text
  for text in 'waiting 4s for deploy' 'rlock status --watch' 'rlock: lost deploy' '>79<' 'rlock run -n -E 0 --hold 1m nightly' 'nightly runs here'; do grep -qF "$text" "$picture"; done
}
