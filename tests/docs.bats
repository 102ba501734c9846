# The manual: written from the table of options, and of use. tests/completions.bats has the completions.
# shellcheck disable=SC2016 # the shells inside expand what stands in single quotes
load helper

setup_file() { start_server; }
teardown_file() { stop_servers; }

root=$BATS_TEST_DIRNAME/..

# needs PROGRAM
needs() { command -v "$1" >/dev/null || skip "there is no $1"; }

@test "man and completions are what rlock-docs writes" {
  mkdir man completions
  "$(dirname "$RLOCK")/rlock-docs" "$root" .
  diff -r man "$root/man"
  diff -r completions "$root/completions"
}

# page NAME: the manual's page as a terminal of 80 columns shows it.
page() { mandoc -T utf8 -O width=78 "$root/man/$1" | col -bx; }

@test "the pages of the manual are good mdoc, for mandoc and for groff, and fit 80 columns" {
  needs mandoc
  local name
  for name in rlock.1 rlock.conf.5; do
    mandoc -T lint -W warning "$root/man/$name"
    page "$name" >page
    [ "$(wc -l <page)" -ge 80 ]
    [ "$(wc -L <page)" -le 80 ]
    if command -v groff >/dev/null; then
      [ "$(groff -ww -mandoc -Tutf8 -z "$root/man/$name" 2>&1)" = '' ]
    fi
    if command -v lexgrog >/dev/null; then
      [[ $(lexgrog "$root/man/$name") == *"\"${name%.?} - "* ]]
    fi
  done
}

@test "the man page tells every option, variable and exit status" {
  needs mandoc
  mandoc -T utf8 -O width=400 "$root/man/rlock.1" | col -b >page
  local verb word
  local verbs
  verbs=$(rlock help | sed -n '/^Usage/,/^Examples/s/^  rlock \([a-z]*\) .*/\1/p' | grep -vx help)
  [ "$(wc -w <<<"$verbs")" -ge 5 ]
  for verb in $verbs; do
    grep -q "^ *rlock $verb \[OPTIONS\]" page
    for word in $(rlock $verb --help | grep -oE -- '^  (-.,|   ) --[a-z-]+|RLOCK_[A-Z_]+' | tr -d ','); do
      grep -q -- "$word" page
    done
  done
  for word in $(sed -n 's/.*ExitRow{"\([^"]*\)".*/\1/p' "$root/src/base/exit_status.hpp"); do
    grep -q "^ *$word" page
  done
  sed -n '/^ENVIRONMENT/,/^FILES/p' page >environment
  # What the program reads and what it sets: getenv("NAME"), set("NAME", variable("NAME"), and the lists of names.
  grep -rhoE '(getenv|set|variable|known_or)\(.*"[A-Z_]{4,}"|for \(const char\* [a-z]+ : \{.*\}' "$root/src" --include='*.cpp' |
    grep -oE '"[A-Z_]{4,}"' | tr -d '"' | sort -u >names
  [ "$(wc -l <names)" -ge 15 ]
  while read -r word; do
    grep -qw "$word" environment || {
      echo "ENVIRONMENT does not name $word" >&2
      return 1
    }
  done <names
}

@test "rlock help and the manual say the same words of each option and verb" {
  needs mandoc
  mandoc -T utf8 -O width=400 "$root/man/rlock.1" | col -bx >page
  local verb
  for verb in run acquire renew release status; do rlock help "$verb" >"$verb.help"; done
  rlock help >help
  python3 - <<-'END'
	import re
	page = ' '.join(open('page', encoding='utf8').read().split())
	count = 0
	for verb in 'run acquire renew release status'.split():
	    text = open(verb + '.help', encoding='utf8').read()
	    assert text.splitlines()[1].rstrip('.') in page, verb
	    # An option is indented by two or six, what is said of it by more.
	    for entry in re.findall(r'^ {2,6}(?=-).*(?:\n {20,}\S.*)*', text, re.M):
	        if '--help' in entry or '--version' in entry:
	            continue
	        said = re.sub(r'^\s*(-., )?--\S+( \S+)?(\s{2,}|\n\s*)', '', entry)
	        said = re.sub(r'\s*\[(default |\$RLOCK_)[^]]*\]$', '', ' '.join(said.split()))
	        assert said and said in page, entry
	        count += 1
	assert count > 60, count
	forms = re.search(r'^Servers .*\n((?:  .*\n)+)', open('help', encoding='utf8').read(), re.M).group(1)
	for form in re.findall(r'^  (\S+)  ', forms, re.M):
	    assert form in page, form
	END
}

@test "the outages that the manual says are survived are those of the lease's arithmetic" {
  needs mandoc
  # R2 of PROOFS.md: the deadline, less what ending and killing take; a renewal is due at a third of the ttl.
  page rlock.1 | awk '$1 == "ttl" { table = 1; next } table && NF != 7 { exit } table { print $1, $2, $4, $6 }' >outages
  [ "$(wc -l <outages)" -ge 4 ]
  local ttl always best kill
  while read -r ttl always best kill; do
    case $ttl in *m) ttl=$((${ttl%m} * 60)) ;; *s) ttl=${ttl%s} ;; esac
    awk -v t="$ttl" -v always="$always" -v best="$best" -v kill="$kill" 'BEGIN {
      k = t / 3 < 5 ? t / 3 : 5
      b = t * 0.99 - 0.05 - k - (t / 10 < 1 ? t / 10 : 1)
      a = b - t / 3
      if (k != kill) exit 1
      if (best > b + 0.001 || b - best >= 1) exit 1
      if (always > a + 0.001 || a - always >= 1 || always <= 0) exit 1
    }'
  done <outages
}

@test "the man page tells every field of the JSON" {
  local field
  rlock acquire --json "$key" >acquired
  {
    background rlock run --show-command "$key" -- true
    until_true 10 waiting 1
    rlock status --json "$key"
    rlock release "$key" "$(jq -r .token acquired)"
    finish
    rlock run --show-command --label text "$key" -- rlock status --json
    rlock run --slots 2 "$key" -- rlock status --json
    rlock run --hold 1h "$key" -- sh -c 'kill -9 $$' || [ $? = 137 ]
    rlock status --json "$key"
    redis set "rlock:$key" foreign >&2
    rlock status --json "$key"
  } >said
  jq -r '.. | objects | keys[]' acquired said | sort -u >fields
  [ "$(wc -l <fields)" = 29 ]
  sed -n '/^\.Sh JSON/,/^\.Sh LOGS/p' "$root/man/rlock.1" | grep '^\.Li' >json
  while read -r field; do
    grep -qw "$field" json
  done <fields
}

# examples_of PAGE: the command lines of its EXAMPLES, as a reader copies them.
examples_of() {
  sed -n '/^\.Sh EXAMPLES/,/^\.Sh SEE/p' "$root/man/$1" | sed -n '/^\.Bd/,/^\.Ed/p' |
    sed 's/\\-/-/g; s/\\(aq/'"'"'/g; s/\\(ti/~/g; s/\\e/\\/g'
}

# example: runs $example, which is to succeed. What it printed is in ./said.
example() {
  timeout 120 bash -c "$example" >said 2>&1 </dev/null || {
    echo "$example"
    cat said
    return 1
  }
}
# ran N: so many jobs have run since the test of this example began; ./ran has a line for each: the ttl, and all keys held.
ran() { [ "$(wc -l <ran)" = "$1" ]; }
# somebody_has KEY: another holder.
somebody_has() { RLOCK_TOKEN='' rlock acquire "$1" >theirs; }

# judge: the effect of $example on a server without locks.
judge() {
  case $example in
    'rlock run nightly-backup '*)
      somebody_has nightly-backup
      background example
      until_true 10 waiting 1 nightly-backup
      rlock release nightly-backup "$(cat theirs)"
      finish
      grep -qx '30s nightly-backup' ran && ran 1 && is_free nightly-backup
      ;;
    'rlock run -n -E 0 report '*)
      example
      grep -qx '30s report' ran
      somebody_has report
      example
      ran 1 && [ ! -s said ]
      ;;
    'rlock run -w 5m -t 1m deploy '*) example && grep -qx '1m deploy' ran ;;
    'rlock run --with database deploy '*) example && grep -qx '30s database deploy' ran ;;
    'rlock run -n -E 0 --hold 1m nightly '*)
      example
      is_held nightly
      example
      ran 1
      ;;
    'rlock run --once 20h report '*)
      example
      example
      ran 1
      ;;
    'eval "$(rlock acquire --export deploy)" && ./deploy.sh && rlock release')
      example
      grep -q ' deploy$' ran && is_free deploy
      ;;
    'eval "$(rlock acquire --export --while-pid $$ deploy)" && ./deploy.sh')
      example
      grep -q ' deploy$' ran && until_true 10 is_free deploy
      ;;
    'rlock renew -t 10m')
      held_deploy
      example
      [ "$(redis pttl rlock:deploy)" -gt 500000 ]
      ;;
    'rlock release deploy "$RLOCK_TOKEN"' | 'printenv RLOCK_TOKEN | rlock release deploy -')
      held_deploy
      RLOCK_TOKEN=other expect 79 bash -c "$example"
      is_held deploy
      example
      is_free deploy
      ;;
    'rlock release --force deploy')
      somebody_has deploy
      example
      is_free deploy
      ;;
    'rlock status')
      somebody_has deploy
      example
      grep -q '^deploy .*held' said
      ;;
    'rlock status --json deploy | '*host*)
      somebody_has deploy
      example
      [ "$(cat said)" = "$(hostname)" ]
      ;;
    'if rlock status --exit-code -q deploy; then echo busy; fi')
      example
      [ ! -s said ]
      somebody_has deploy
      example
      [ "$(cat said)" = busy ]
      ;;
    "rlock status 'deploy-*'")
      somebody_has deploy-a
      somebody_has other
      example
      grep -q '^deploy-a .*held' said && [ "$(wc -l <said)" = 2 ]
      ;;
    # tests/status_watch.bats has it on a terminal.
    'rlock status --watch') expect 64 bash -c "$example" ;;
    'rlock status --format prometheus >rlock.'*)
      somebody_has deploy
      example
      grep -qx 'rlock_lock_held{key="deploy"} 1' rlock.prom && [ "$(echo rlock.*)" = rlock.prom ]
      RLOCK_SERVER=unix://$PWD/nobody bash -c "$example" 2>/dev/null
      [ "$(grep -v '^#' rlock.prom)" = 'rlock_up 0' ]
      ;;
    *)
      echo 'judge of tests/docs.bats does not know this example'
      return 1
      ;;
  esac
}
held_deploy() {
  RLOCK_TOKEN=$(rlock acquire deploy)
  export RLOCK_TOKEN RLOCK_KEY=deploy
}

@test "each example of the man page does what it says" {
  local script
  for script in backup report deploy nightly; do
    cat >$script.sh <<-'END'
	#!/bin/sh
	echo "$RLOCK_TTL $(redis-cli -s "$sock" --scan --pattern 'rlock:[a-z][a-z]*' | sed 's/rlock://' | sort | paste -sd' ')" >>ran
	END
    chmod +x $script.sh
  done
  examples_of rlock.1 | grep -v '^\.' >examples
  [ "$(wc -l <examples)" -ge 15 ]
  while read -r example; do
    redis flushall
    : >ran
    unset RLOCK_TOKEN RLOCK_KEY
    judge || {
      echo "$example" >&2
      return 1
    }
  done <examples
}

# conf_examples: splits the examples of rlock.conf(5) into 1.conf, 2.conf and so on.
conf_examples() {
  examples_of rlock.conf.5 | awk '/^\.Bd/ { n++; next } /^\.Ed/ { next } { print >(n ".conf") }'
}

@test "each example of rlock.conf(5) is read without an error, and sets what it says" {
  conf_examples
  [ -s 4.conf ]
  # The first is the file that is packaged, where # stands before each setting.
  diff <(sed 's/^ *$//' "$root/packaging/examples/rlock.conf") 1.conf
  expect 0 rlock --config 1.conf status
  echo secret >password
  sed -n 's/^#\([a-z[].*\)/\1/p' 1.conf | sed "s|/etc/rlock.password|password|" >all.conf
  [ "$(wc -l <all.conf)" -ge 8 ]
  # The server is one line or the other.
  grep -v 'rediss\|password' all.conf >one.conf
  grep -v redis: all.conf >tls.conf
  # The server is younger than the grace of the file.
  RLOCK_SERVER=$url RLOCK_GRACE=1ms expect 0 rlock --config one.conf run "$key" -- printenv RLOCK_TTL RLOCK_PREFIX
  [ "${lines[*]}" = '30s rlock:' ]
  local file
  for file in one tls 2 3; do
    sed -i "s|/etc/rlock.password|password|; s|cacert=[^\"]*|cacert=/dev/null|" $file.conf
    RLOCK_SERVER='' expect 64 rlock --config $file.conf run -n "$key"
    [[ $output == *'COMMAND is missing'* ]]
  done
  RLOCK_SERVER=$url rlock acquire "$key"
  RLOCK_SERVER=$url expect 0 rlock --config 4.conf run "$key" -- false
  [ "$output" = '' ]
}

@test "the rights that docs/servers.md and manual print are those of acl.conf" {
  needs mandoc
  local rule
  rule=$(<"$root/tests/acl.conf")
  grep -qF "    ACL SETUSER rlock ${rule/on/on >PASSWORD}" "$root/docs/servers.md"
  sed -n '/^   Rights/,/^WHAT/p' <(page rlock.1) >rights
  tr -s ' \n' ' ' <rights >flat
  grep -qF "ACL SETUSER rlock ${rule/on/on >PASSWORD} Teams" flat
  # Those of teams, and those for single options and URLs: the same words on both sides.
  grep -qF "$(sed -n 's/^    \(~app1:.*\)/\1/p' "$root/docs/servers.md")" flat
  words() { grep -oE '[+~&][a-zA-Z@][^ ,;`]*' "$1" | sed 's/:$//' | sort -u; }
  sed -n '/^    ACL SETUSER/,/^## When a server/p' "$root/docs/servers.md" | sed 's/\\|/|/g' >listed
  diff <(words listed) <(words rights)
}
