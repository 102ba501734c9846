#!/bin/sh
# A lock for as long as this script lives. rlock renews it in the background, releases it when the script has ended,
# also when it was killed, and stops the script and what it started if the lock is lost.
set -eu
eval "$(rlock acquire --export --while-pid $$ -w 5m deploy)"

./build.sh
./deploy.sh
