#!/usr/bin/env bash
# Fetches other libraries' locks and makes DIR/LIBRARY of each, which takes try|hold NAME as client.py says. Where one is not to be had
# DIR/LIBRARY.missing says why.
#
#   tests/libraries/build.sh DIR
#
# Each language by its own client of packages, side by side, in at most 60 s; what they have fetched before they keep in
# their own places.
set -euo pipefail
here=$(cd "${BASH_SOURCE[0]%/*}" && pwd)
mkdir -p "$1"
cd "$1"
# For the caches; a test has a home of its own.
HOME=$(getent passwd "$EUID" | cut -d: -f6)
export HOME

# made LIBRARY COMMAND...
made() {
  printf '#!/bin/sh\nexec %s "$@"\n' "${*:2}" >"$1"
  chmod +x "$1"
}
# missing WHY LIBRARY...
missing() {
  local why=$1 library
  shift
  for library; do echo "$why" >"$library.missing"; done
}
limited() { timeout -k 5 60 "$@"; }
# For a JVM that ends soon: it takes half of the time with these.
read -ra short_lived <"$here/../jvm.options"
export MAVEN_OPTS=${short_lived[*]}

debian_python() {
  local python
  for python in python3 /usr/bin/python3; do
    "$python" -c 'import redis' 2>/dev/null || continue
    made redis-py "$python" "$here/client.py" redis-py
    return 0
  done
  missing 'there is no python3-redis' redis-py
}

pip_python() { pip_clients pip 'python-redis-lock pottery' python-redis-lock==4.0.0 pottery==3.0.0; }
pip_frameworks() {
  pip_clients frameworks 'redlock-py django django-redis celery-once celery-singleton' \
    redlock-py==1.0.8 django==4.2.16 django-redis==5.4.0 celery==5.4.0 celery-once==3.0.1 celery-singleton==0.3.1
}
# pip_clients DIR LIBRARIES PACKAGE...
pip_clients() {
  local python dir=$1 all library
  read -ra all <<<"$2"
  shift 2
  for python in $(type -ap python3); do
    "$python" -m pip --version >/dev/null 2>&1 && break
    python=
  done
  [ -n "$python" ] || { missing 'there is no pip' "${all[@]}"; return; }
  limited "$python" -m pip install -q --no-compile --no-warn-script-location --target "$dir" "$@" redis==4.6.0 >"$dir.log" 2>&1 ||
    { missing 'pip does not get it' "${all[@]}"; return; }
  for library in "${all[@]}"; do made "$library" env "PYTHONPATH=$PWD/$dir" "$python" "$here/client.py" "$library"; done
}

node() {
  local all=(redlock redis-semaphore)
  command -v npm >/dev/null || { missing 'there is no npm' "${all[@]}"; return; }
  mkdir -p node
  limited npm install --prefix node --silent --no-audit --no-fund --prefer-offline redlock@4.2.0 redis-semaphore@5.6.2 ioredis@5.4.1 >npm.log 2>&1 ||
    { missing 'npm does not get it' "${all[@]}"; return; }
  local library
  for library in "${all[@]}"; do made "$library" env "NODE_PATH=$PWD/node/node_modules" node "$here/client.js" "$library"; done
}

golang() {
  local all=(redsync redislock) go
  go=$(command -v go || ls /usr/local/go/bin/go 2>/dev/null) || { missing 'there is no Go' "${all[@]}"; return; }
  mkdir -p go
  cp "$here"/{go.mod,go.sum,client.go} go/
  (cd go && limited "$go" build -o client .) >go.log 2>&1 || { missing 'Go does not get it' "${all[@]}"; return; }
  local library
  for library in "${all[@]}"; do made "$library" "$PWD/go/client" "$library"; done
}

rust() {
  local cargo
  cargo=$(command -v cargo || ls "$HOME/.cargo/bin/cargo" 2>/dev/null) || { missing 'there is no Cargo' rslock; return; }
  cp -r "$here/rust" rust
  (cd rust && limited "$cargo" build) >rust.log 2>&1 || { missing 'Cargo does not get and build it in time' rslock; return; }
  made rslock "$PWD/rust/target/debug/client" rslock
}

java() {
  { command -v javac && command -v mvn; } >/dev/null || { missing 'there is no JDK, or no Maven' shedlock spring spring-spin spring-7; return; }
  java_clients java '' shedlock spring spring-spin
  java_clients java7 -Dspring.integration=7.0.0,-Dlettuce=6.8.1.RELEASE spring-7
}
# java_clients DIR PROPERTIES LIBRARY...: against the versions of the pom, or those that are named.
java_clients() {
  local dir=$1 properties library
  IFS=, read -ra properties <<<"$2"
  shift 2
  classpath() {
    limited mvn -B -q "$@" "${properties[@]}" -f "$here/pom.xml" dependency:build-classpath -Dmdep.outputFile="$PWD/$dir.classpath"
  }
  mkdir -p "$dir"
  { classpath -o || classpath; } >"$dir.mvn.log" 2>&1 || { missing 'Maven does not get it' "$@"; return; }
  javac "${short_lived[@]/#/-J}" -cp "$(cat "$dir.classpath")" -d "$dir" "$here/Client.java" >"$dir.javac.log" 2>&1 ||
    { missing "$(head -n 1 "$dir.javac.log")" "$@"; return; }
  # Spring warns of every version that is not its own.
  for library; do
    made "$library" sh -c "'exec \"\$@\" 2>>$PWD/$dir.log'" sh java -Xmx128m "${short_lived[@]}" -cp "$PWD/$dir:$(cat "$dir.classpath")" Client "$library"
  done
}

for language in debian_python pip_python pip_frameworks node golang rust java; do "$language" & done
wait
