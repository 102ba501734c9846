#!/bin/sh
# A lock over several steps, with nothing in the background: the lock lasts for -t, and each step has to end within it.
# Where a step may take any time, see deploy-while-pid.sh.
set -eu

# Exits 75 here when the lock is busy for five minutes, and with the status of any other failure: --export prints
# (exit N), and set -e does the rest. RLOCK_KEY and RLOCK_TOKEN are in the environment now, for renew and release.
eval "$(rlock acquire --export -w 5m -t 10m deploy)"
# However the script ends. The lock may be lost by then, which is no failure of what was done.
trap 'rlock release -q || true' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

./build.sh
# Another ten minutes. 79, and so the end of the script, if the lock was lost.
rlock renew -t 10m
./deploy.sh
