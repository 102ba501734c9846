# For trials of members of a store that a majority decides, briefly; tests/soak.sh has them at length.
# shellcheck shell=bash

setup() { begin_test; }

# consensus OPTION...: with a new seed each time, which is printed.
consensus() { python3 -B "$BATS_TEST_DIRNAME/consensus.py" --keep "$BATS_TEST_TMPDIR/trial" "$@"; }
# isolated: skips what needs networks and mounts of its own.
isolated() { { [ "$EUID" = 0 ] && unshare --net --mount true 2>/dev/null; } || skip 'needs root and network namespaces'; }
# has_disks: skips what makes disks of files.
has_disks() { { [ -e /dev/loop-control ] && command -v mkfs.ext4 >/dev/null; } || skip 'needs loop devices and mkfs.ext4'; }
# stalls STORE EVENT,...
stalls() { python3 -B "$BATS_TEST_DIRNAME/stalls.py" --store "$1" --tries 1 --waiters 1,3 --bound 2.5 --events "$2"; }
