# What tests of a store that a majority decides ask through rlock itself: `load stores` behind `load etcd` or `load zookeeper`.
# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034 # what until_true evaluates

# status_of QUERY [KEY]: of its JSON.
status_of() { rlock status --json "${2:-$key}" | jq -cr "$1"; }
# waiting N [KEY]: exactly N stand in the queue.
waiting() { [ "$(status_of .waiting "${2:-$key}")" = "$1" ]; }
holders() { status_of '.holders | length'; }
# until_renewed: the lease of $key begins anew.
until_renewed() {
  local before
  before=$(writes)
  until_true 10 eval '[ "$(writes)" != "$before" ]'
}

# With -n a server has half a second to answer, which a busy machine does not keep to.
mkdir -p "$XDG_CONFIG_HOME"
echo 'connect-timeout = 5s' >"$XDG_CONFIG_HOME/rlock.conf"
