#!/usr/bin/env bash
# Measures rlock beside other locks and prints one Markdown table (P1 to P12: see bench.py).
#
#   tests/bench/run.sh [--quick] [--only P1,P3] [--save FILE] [--no-install]
#
# RLOCK              the binary to measure, default build/release/rlock
# RLOCK_RELEASE      what packaging/release.sh made, for P1, P3, P11 and P12; default that of build/release-files, if it is there
# RLOCK_BENCH_EXTRA  further commands to set beside `rlock run k true`, one per line or separated by ;
#                    {socket}, {port} and {dir} stand for the Redis socket, its TCP port and a scratch folder
#
# Installs what it compares with, unless told --no-install; what is not there then is named as left out.
# Servers are private, on loopback and a Unix socket, and gone when this ends.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)

install=yes options=()
for option; do
    if [[ $option == --no-install ]]; then install=no; else options+=("$option"); fi
done
if [[ $install == yes ]]; then
    bash "$root/packaging/install-deps.sh" bench || echo 'bench: not all peers could be installed, going on' >&2
fi

# A thousand waiters are a thousand connections; their server wants as many descriptors and some.
ulimit -n 4096 2>/dev/null || ulimit -n "$(ulimit -Hn)"

RLOCK=${RLOCK:-$root/build/release/rlock}
if [[ ! -x $RLOCK ]]; then
    echo "bench: there is no $RLOCK; build it, or name one in RLOCK" >&2
    exit 69
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for tool in floor stamp; do
    "${CC:-cc}" -O2 -static -o "$scratch/$tool.linked" "$here/$tool.c"
    cp "$scratch/$tool.linked" "$scratch/$tool"
done
# A copy, as an installed program is one: what a linker wrote piecemeal lies in the page cache in small pages and starts
# several per cent slower.
cp "$RLOCK" "$scratch/rlock"
RLOCK_RELEASE=${RLOCK_RELEASE:-$(echo "$root"/build/release-files/rlock-*-"$(uname -m)"-linux/rlock)}
[[ ! -x $RLOCK_RELEASE ]] || cp "$RLOCK_RELEASE" "$scratch/rlock-release"
# Removes the scratch folder itself; replacing this shell, it gets the signals meant for the bench.
exec python3 -B "$here/bench.py" "$scratch" "${options[@]}"
