#!/usr/bin/env bash
# Compiles Client.java into a directory, against the Redisson that Maven has or fetches, and writes ./client there, which
# runs it. Where that cannot be, says why in one line and exits 1.
#
#   tests/redisson/build.sh DIR
#
# Maven keeps what it has fetched in its own place; it may take two minutes for that.
set -euo pipefail
here=$(cd "${BASH_SOURCE[0]%/*}" && pwd)
target=$1

no() {
  echo "no Redisson: $*"
  exit 1
}

command -v javac >/dev/null || no 'there is no JDK'
command -v mvn >/dev/null || no 'there is no Maven'
mkdir -p "$target"
# For a JVM that ends soon: it takes half of the time with these.
read -ra short_lived <"$here/../jvm.options"
export MAVEN_OPTS=${short_lived[*]}
classpath() {
  timeout -k 5 120 mvn -B -q "$@" -f "$here/pom.xml" dependency:build-classpath -Dmdep.outputFile="$target/classpath"
}
classpath -o >"$target/maven.log" 2>&1 || classpath >"$target/maven.log" 2>&1 || no 'Maven does not get it'
javac "${short_lived[@]/#/-J}" -cp "$(cat "$target/classpath")" -d "$target" "$here/Client.java" 2>"$target/javac.log" ||
  no "javac: $(head -n 1 "$target/javac.log")"
printf '#!/bin/sh\nexec java -Xmx128m %s -cp %q Client "$@" 2>>%q\n' "${short_lived[*]}" \
  "$target:$(cat "$target/classpath")" "$target/client.log" >"$target/client"
chmod +x "$target/client"
