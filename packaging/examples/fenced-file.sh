#!/bin/sh
# fenced-file.sh FILE: replaces FILE by its standard input, unless a newer holder of the lock has already done so.
#
#   rlock run report -- sh -c './make-report | fenced-file.sh /srv/report.html'
#
# A lock cannot stop a process that is frozen at the wrong moment (a paused virtual machine) and wakes up when the lock is
# somebody else's. The fence can: it grows with each acquire, and what is written to refuses one that is older than it has
# seen. To run on the machine that has FILE: flock holds for one machine only.
set -eu
# A link stays one: what it leads to is replaced.
file=$(readlink -f -- "$1")
# Whatever takes time comes before the look at the fence.
new=$(mktemp "$file.XXXXXX")
trap 'rm -f "$new"' EXIT
cat >"$new"
# The file keeps its owner, group and mode, a new one has what the umask says. Only root can keep the owner of somebody else's.
if [ -e "$file" ]; then
    chown --reference="$file" "$new" 2>/dev/null || chgrp --reference="$file" "$new"
    chmod --reference="$file" "$new"
else
    chmod "$(printf '%o' $((0666 & ~0$(umask))))" "$new"
fi

exec 9>>"$file.fence"
flock 9
newest=$(tail -n 1 "$file.fence")
if [ "$RLOCK_FENCE" -lt "${newest:-0}" ]; then
    echo "fenced-file: $file is at fence $newest, and ours is $RLOCK_FENCE; nothing written" >&2
    exit 1
fi
# First the fence, then the file: a crash in between loses nothing but this write.
[ "$RLOCK_FENCE" = "$newest" ] || echo "$RLOCK_FENCE" >&9
mv "$new" "$file"
