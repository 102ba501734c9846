#!/usr/bin/env bash
# Makes releases of etcd that no package has, out of their Go modules: DIRECTORY/VERSION/etcd and etcdctl, where they are not
# there already.
#
#   make_etcd.sh DIRECTORY VERSION...     such as 3.5.35
#
# Their wall clocks step as WALL_CLOCK says (wall_clock.py). Needs Go, a network, 1 GB for its cache, and minutes. Where there is no
# Go: says so, status 3.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
directory=$(realpath -m -- "${1:?make_etcd.sh wants a DIRECTORY and a VERSION}")
shift
command -v go >/dev/null || { echo 'there is no Go' && exit 3; }
export GOTOOLCHAIN=local GOFLAGS=-mod=mod CGO_ENABLED=0 GOWORK=off

# Another package than one of the standard library cannot change the clock.
step_the_clock() {
    local clock
    clock=$(go env GOROOT)/src/time
    # shellcheck disable=SC2016 # what sed inserts
    sed '/^func Now() Time {/,/^}/s/^\tsec, nsec, mono := .*/&\n\tsec += *ahead/' "$clock/time.go" >time.go
    grep -q '^	sec += \*ahead$' time.go || { echo "this Go has another time.Now(): $(go version)" >&2 && return 1; }
    jq -n --arg from "$clock" --arg changed "$PWD/time.go" --arg more "$here/wall_clock.go" \
        '{Replace: {($from + "/time.go"): $changed, ($from + "/wall_clock.go"): $more}}' >overlay.json
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' HUP TERM
for version; do
    made=$directory/$version
    [[ ! -x $made/etcd || ! -x $made/etcdctl ]] || continue
    rm -rf "${work:?}/$version"
    mkdir -p "$work/$version" "$made"
    cd "$work/$version"
    # A module of our own: go install refuses modules that replace others, as these do.
    go mod init etcd
    go get "go.etcd.io/etcd/server/v3@v$version" "go.etcd.io/etcd/etcdctl/v3@v$version"
    step_the_clock
    go build -overlay overlay.json -o "$made/etcdctl" go.etcd.io/etcd/etcdctl/v3
    go build -overlay overlay.json -o "$made/etcd" go.etcd.io/etcd/server/v3
done >&2
