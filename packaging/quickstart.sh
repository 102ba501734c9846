#!/usr/bin/env bash
# From a clean clone to a lock that works: installs what is missing, builds build/release/rlock and shows it at work.
# Root, or a user who may sudo; exits non-zero where anything failed.
set -euo pipefail

die() {
    printf 'quickstart: %s\n' "$*" >&2
    exit 1
}

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
bash packaging/install-deps.sh build || die 'what rlock needs could not be installed; the reason stands above'

# What is set up for a fleet is not for a demonstration.
unset "${!RLOCK_@}"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
trap 'exit 1' HUP INT TERM

# The machine's compiler may be an older one, or a clang that cannot use the library of g++; the one of install-deps.sh can.
pick_compiler() {
    local compiler
    for compiler in ${CXX:+"$CXX"} c++ g++ g++-{16..12} clang++ clang++-{22..16}; do
        echo '#include <expected>
            std::expected<int, int> one = 1;' >"$out/one.cpp"
        # CXX may have options behind it.
        # shellcheck disable=SC2086
        if $compiler -std=c++23 -c -o "$out/one.o" "$out/one.cpp" 2>/dev/null; then
            export CXX=$compiler
            return
        fi
    done
    die 'there is no compiler for C++23 (g++ 12 or later)'
}

# Silent, unless it fails: then all that it said.
quietly() { "$@" >"$out/log" 2>&1 </dev/null || { cat "$out/log" >&2 && return 1; }; }

# An earlier configuration may name a compiler or a directory that no longer exists.
configure() {
    quietly cmake --preset release 2>/dev/null || quietly cmake --fresh --preset release ||
        die 'cmake could not configure build/release; the reason stands above'
}

SECONDS=0
pick_compiler
configure
echo "quickstart: building build/release/rlock with $CXX, which takes a minute or two" >&2
if [[ -t 1 ]]; then
    cmake --build --preset release --target rlock || die 'the build failed; the reason stands above'
else
    quietly cmake --build --preset release --target rlock || die 'the build failed; the reason stands above'
fi
rlock=$PWD/build/release/rlock
echo "quickstart: built in $SECONDS s: $("$rlock" --version | head -n 1)" >&2

# The command itself keeps the order of events: what passes through pipes may come out in another one.
hello() {
    # shellcheck disable=SC2016 # for the inner shell
    "$rlock" --server local run -v hello -- sh -c '
        echo "$1 begins" >>"$2"
        echo "begins, fence $RLOCK_FENCE"
        sleep 2
        echo ends
        echo "$1 ends" >>"$2"
    ' sh "$1" "$out/order" 2>&1 | sed -u "s/^/  $1: /" | tee "$out/$1"
}

echo
echo 'Two at once, each: rlock --server local run -v hello -- sh -c "...; sleep 2; ..."'
hello one &
first=$!
hello two &
second=$!
{ wait "$first" && wait "$second"; } || die 'the demonstration failed; the reason stands above'

# The demonstration is a test too: one after the other, and one was seen waiting.
paste -sd ' ' "$out/order" | grep -Eqx '(one|two) begins \1 ends (one|two) begins \2 ends' ||
    die 'the two ran at the same time'
grep -Eqi 'rlock: .*wait' "$out/one" "$out/two" || die 'neither waited for the other'

# No comments behind commands: a zsh does not take them. %q writes what a shell reads, spaces and all.
build=$(printf %q "$PWD/build/release") as_root=
((EUID == 0)) || as_root='sudo '
cat <<END

It works. Paste these lines to go on in this shell; they hold a lock for 20 seconds, show it, and wait for it:

  export PATH=$build:\$PATH RLOCK_SERVER=local
  rlock run demo -- sleep 20 &
  sleep 1; rlock status
  rlock run demo -- echo "my turn"

To install rlock below /usr/local; to remove it again; to make a Debian package of it:

  ${as_root}cmake --install $build
  ${as_root}cmake -P $build/uninstall.cmake
  bash $(printf %q "$PWD/packaging/install-deps.sh") package && bash $(printf %q "$PWD/packaging/debian.sh") --binary $build/rlock

"local" is this machine alone: a server of your own, which goes on running for the next call, on a socket and on no port.
For one lock on all your machines, set RLOCK_SERVER to the URL of a Redis, Valkey, etcd or ZooKeeper that they all reach, such as
redis://locks.example.com:6379.
END
