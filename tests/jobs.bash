# shellcheck shell=bash
# shellcheck disable=SC2016,SC2154 # the command expands what stands in single quotes; helper.bash sets key
# Jobs that hold the lock until a test ends them, and say in the file `log` when they run. For locks that several may hold.

# job NAME [OPTION...]: writes "NAME in" when it runs, ends when there is a file end.NAME, and then writes "NAME out". Its
# rlock is in $!.
job() {
  local name=$1
  shift
  rlock run "$@" "$key" -- sh -c 'echo "$1 in" >>log; until [ -e "end.$1" ]; do sleep 0.01; done; echo "$1 out" >>log' sh "$name" 3>&- &
}
runs() { grep -qx "$1 in" log; }
all_run() {
  local name
  for name; do until_true 10 runs "$name" || return; done
}
end() {
  local name
  for name; do touch "end.$name"; done
}
# How many places of the lock are taken.
holders() { redis zcard "rlock:h:{rlock:$key}"; }
