# The house rules that a compiler does not see.

bats_require_minimum_version 1.5.0

src=$BATS_TEST_DIRNAME/../src

# includes FOLDER: the rooms whose headers its files include, itself among them. A store is a room of its own.
includes() {
  grep -rhoE '^#include "[a-z_/]+/' "$src/$1" | sed -E 's,^#include ",,; s,^(stores/)?([a-z_]+)/.*,\1\2,' | sort -u
}

only() {
  local folder=$1 allowed=" $* " found
  for found in $(includes "$folder"); do
    if [[ $allowed != *" $found "* ]]; then
      echo "src/$folder includes $found"
      return 1
    fi
  done
}

@test "includes run along the arrows of ARCHITECTURE.md only" {
  only base
  only net base
  only lock base
  only process base
  only stores/common lock net base
  only stores/quorum lock base
  only stores/ordered lock base
  only stores/etcd stores/common stores/ordered lock net base
  only stores/zookeeper stores/common stores/ordered lock net base
  only stores/redis stores/common stores/quorum lock net base
  only stores/registry stores/common stores/redis stores/etcd stores/zookeeper lock net base
  only show lock base
  only commands show stores/registry stores/common lock process base
  only cli commands show stores/registry stores/common lock base
  only docs cli stores/registry stores/common lock base
}

@test "a store is named in its own room and in the registry: nobody else knows which stores there are" {
  run ! grep -rnE '\b(redis|etcd|zookeeper)::' "$src" --include='*.?pp' --exclude-dir={redis,etcd,zookeeper,registry}
}

@test "the arithmetic of a lease is in lock/lease alone" {
  run ! grep -rnE 'LeaseTerms ?\{[^}]|ttl(\.count\(\))? [*/] [0-9]' "$src" --include='*.?pp' --exclude='lease.?pp'
}

@test "wherever the ttl is told of those who do not say it, it is the default" {
  local root=$BATS_TEST_DIRNAME/.. seconds
  seconds=$(sed -nE 's/.* default_ttl = std::chrono::seconds\(([0-9]+)\);/\1/p' "$src/lock/lease.hpp")
  grep -qF "The lock is a lease of $seconds seconds" "$root/README.md"
  grep -qF "when its lease ends ($seconds s)" "$root/packaging/examples/nightly-backup.service"
  grep -qF "free after | $seconds s (\`-t\`) |" "$root/README.md"
  grep -qF "\`--ttl\` ($seconds s)" "$root/docs/containers.md"
  grep -qF "(\`--grace\`, or $seconds s)" "$root/docs/servers.md"
  grep -qF "\`-t\` ($seconds s)" "$root/packaging/examples/moving.md"
  grep -qxF "#ttl = ${seconds}s" "$root/packaging/examples/rlock.conf"
  grep -qxF "#grace = ${seconds}s" "$root/packaging/examples/rlock.conf"
  grep -qF "(${seconds}s without that option)" "$src/docs/rlock.1.in"
}

@test "each library is known in one room" {
  # rooms LIBRARY: the rooms with files that include it
  rooms() { grep -rlE "^#include <$1/" "$src" | sed -E "s,^$src/,,; s,^(stores/)?([a-z_]+)/.*,\1\2," | sort -u; }
  [ "$(rooms hiredis)" = stores/redis ]
  [ "$(rooms openssl)" = net ]
  [ "$(rooms CLI)" = cli ]
  [ "$(grep -rl '<ares.h>' "$src")" = "$src/net/dns.cpp" ]
  [ "$(grep -rl '<http_parser.h>' "$src")" = "$src/net/http.cpp" ]
  [ "$(rooms nlohmann)" = show$'\n'stores/etcd ]
  # What is asked for, and what is told.
  [ "$(grep -rl 'nlohmann/' "$src/show" | sort)" = "$src/show/json.cpp"$'\n'"$src/show/log_json.cpp" ]
}

@test "the sources have none of the words that CONTRIBUTING.md rules out" {
  local words
  words=$(sed -n '/^| word /,/^$/p' "$BATS_TEST_DIRNAME/../CONTRIBUTING.md" | cut -d'|' -f4 | grep -oE '[a-z]+' |
    grep -vx not | paste -sd'|')
  [ "${words//[!|]/}" ]
  # Messages, comments and names; what others call it may stand in strings of help (`also`).
  run ! grep -rniE "\b($words)(s|ed|ing)?\b" "$src" --include='*.?pp' --include='*.lua' --exclude-dir=rows
}

@test "docs/servers.md prints the ACL that the tests run under" {
  acl=$(cat "$BATS_TEST_DIRNAME/acl.conf")
  grep -qxF "    ACL SETUSER rlock on >PASSWORD ${acl#on }" "$BATS_TEST_DIRNAME/../docs/servers.md"
}

@test "the README's exit statuses are those of the table" {
  local status
  for status in 64 69 75 77 78 79; do
    grep -q "ExitRow{\"$status\"" "$src/base/exit_status.hpp"
    grep -q "^| $status |" "$BATS_TEST_DIRNAME/../README.md"
  done
}

@test "each promise that the code names stands in tests/PROOFS.md, and each test that stands there is there" {
  local proofs=$BATS_TEST_DIRNAME/PROOFS.md promise file
  for promise in $(grep -rhoE '\bR[0-9]+\b of tests/PROOFS.md' "$src" | cut -d' ' -f1 | sort -u); do
    grep -qE "^\| ([^|]*[ ,])?${promise}[ ,]" "$proofs"
  done
  # In the last column of the table.
  for file in $(sed -n 's/^| .* | //p' "$proofs" | grep -oE '`[a-z_/]+(\.[a-z]+)`' | tr -d '`' | sort -u); do
    compgen -G "$BATS_TEST_DIRNAME/$file" >/dev/null || compgen -G "$BATS_TEST_DIRNAME/*/$file" >/dev/null || [ -e "$BATS_TEST_DIRNAME/../$file" ]
  done
}

@test "each decision is a short record, and stands in their list" {
  local record name
  for record in "$BATS_TEST_DIRNAME"/../docs/decisions/*.md; do
    name=${record##*/}
    [ "$name" = README.md ] || {
      grep -qF "]($name)" "${record%/*}/README.md" && grep -q '^\*\*Choice\.\*\* ' "$record" && (($(wc -l <"$record") <= 60))
    } || {
      echo "$name"
      return 1
    }
  done
}
