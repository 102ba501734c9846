#!/usr/bin/env bash
# Verifies the models of the lock (lock.pml: one server; quorum.pml: several; modes.pml: several holders; ordered.pml: a store that a majority decides) with spin, and their mutants. Ends with one line: N passed, N failed.
#
#   tests/model/run.sh                everything
#   tests/model/run.sh NAME...        these alone
#   tests/model/run.sh --trace NAME   one that fails, or a mutant: the steps to the error, in words
#
# Needs spin and a C compiler, one core and 2 GiB of memory. Exits 1 where a promise does not hold, or a mutant is not
# caught.
set -euo pipefail

models=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
cc=${CC:-cc}
mib=3900        # a search that needs more has failed

# Clients that live once. Two of them, and any number of faults; with three that would be too many states.
two='-DN=2 -DTTL=4 -DCLAIM=3'
three='-DN=3 -DTTL=3 -DCLAIM=2 -DFAULTS=1'
restart='-DN=2 -DTTL=3 -DCLAIM=2 -DRESTARTS=2 -DFAULTS=1'
restart_three='-DN=3 -DTTL=3 -DCLAIM=2 -DRESTARTS=1 -DFAULTS=0'
queue='-DN=2 -DTTL=3 -DCLAIM=2 -DWITH_FOREIGN'
# With time that presses. The clocks agree: these are no questions of the deadline.
timed_two='-DTIMED -DN=2 -DTTL=3 -DSKEW=0'
timed_three="-DTIMED -DN=3 -DTTL=3 -DSKEW=0 -DONCE -DFAULTS=1"

several='-DMODES -DCHECK_OVERLAP -DCHECK_FIFO -DCHECK_SERVED'

# Votes of three servers.
votes='-DCHECK_OVERLAP -DLATE=1'

names=() mutants=()
declare -A what flags

# promise NAME WHAT FLAG...
promise() {
    names+=("$1")
    what[$1]=$2
    flags[$1]=${*:3}
}

# mutant NAME PROMISE: the model with MUTANT_NAME must break the promise of that name.
mutant() {
    mutants+=("$1")
    what[$1]=$2
    flags[$1]="${flags[$2]} -DMUTANT_$1"
}

promise overlap       '2 clients, any faults'                    -DCHECK_OVERLAP "$two"
promise overlap_3     '3 clients, 1 fault'                       -DCHECK_OVERLAP "$three"
promise overlap_restart '2 clients, 1 fault, 2 restarts'          -DCHECK_OVERLAP "$restart"
promise overlap_restart_3 '3 clients, 1 restart'                    -DCHECK_OVERLAP "$restart_three"
promise lease_restart '2 clients, 1 fault, 2 restarts'           -DCHECK_LEASE "$restart"
promise lease         '2 clients, any faults'                    -DCHECK_LEASE "$two"
promise answer        '2 clients, any faults'                    -DCHECK_ANSWER "$two"
promise fifo          '2 clients and a foreign one, any faults'  -DCHECK_FIFO "$queue"
promise fifo_timed    '2 clients again and again, 2 faults'      -DCHECK_FIFO "$timed_two -DFOREIGN_FIRST -DFAULTS=2"
promise fifo_3        '3 clients, 1 fault'                       -DCHECK_FIFO "$timed_three"
promise overlap_timed '2 clients again and again, 2 faults'      -DCHECK_OVERLAP "$timed_two" -DFAULTS=2
promise served        '2 clients again and again, 3 faults'      -DCHECK_SERVED "$timed_two" -DFAULTS=3
promise served_3      '3 clients, 1 fault'                       -DCHECK_SERVED "$timed_three"
promise served_beside '2 clients again and again, 2 windows, 1 fault' -DCHECK_SERVED "$timed_two" -DFAULTS=1 -DWINDOWS=2
promise overlap_beside '2 clients, 2 windows, a foreign one, 1 fault' -DCHECK_OVERLAP "$queue" -DWINDOWS=2 -DFAULTS=1
promise fifo_beside   '2 clients again and again, 1 window, 1 fault' -DCHECK_FIFO "$timed_two" -DFAULTS=1 -DWINDOWS=1
promise modes         '3 readers or writers, 1 fault'            "$several"
promise slots         '3 clients for 2 slots, 1 fault'           "$several -DSLOTS=2"
promise quorum        '2 clients, 1 restart, 1 late request'     "$votes -DRESTARTS=1 -DSHORT=2"
promise quorum_ttls   'the same with two ttls, 2 restarts'       "$votes -DRESTARTS=2"
promise quorum_fence  '2 clients'                                -DCHECK_FENCE -DLATE=0 -DLONG=1
promise quorum_late   '2 clients, 2 restarts, 2 late requests'   -DCHECK_OVERLAP -DLATE=2 -DRESTARTS=2
promise quorum_fence_late '2 clients, 1 late request'            -DCHECK_FENCE -DLATE=1 -DLONG=1

promise ordered       '2 clients, 1 late request'                -DORDERED

mutant deadline_from_answer overlap
mutant no_margin            overlap
mutant late_answer_counts   overlap
mutant answer_of_another    overlap
mutant deadline_ignored     overlap
mutant frozen_not_killed    overlap
mutant start_unwatched      overlap
mutant guard_releases_first   overlap
mutant renew_lowers         overlap
mutant renew_blind          lease
mutant acquire_shortens       overlap
mutant release_blind          overlap_3
mutant no_grace             overlap_restart
mutant grace_too_short      overlap_restart
mutant waiter_hands_over    overlap_restart_3
mutant reclaim_blind        lease_restart
mutant push_is_grant        overlap_timed
mutant no_tombstone         lease
mutant release_forgets        answer
mutant acquire_overtakes      fifo
mutant later_ticket_stays   fifo
mutant handoff_unheld       fifo_timed
mutant claim_below_heartbeat     fifo_timed
mutant release_keeps_quiet    served
mutant claim_endless        served
mutant no_heartbeat              served
mutant window_open_to_newcomers fifo_beside
mutant window_endless        served_beside
mutant reader_beside_a_writer modes
mutant newcomer_passes       modes
mutant returner_passed       modes
mutant stops_at_self         modes
mutant one_grant_a_release   modes
mutant leave_keeps_quiet     modes
mutant one_slot_too_many     slots
mutant minority              quorum
mutant young_votes           quorum
mutant young_by_own_ttl      quorum_ttls
mutant taken_back_late       quorum
mutant token_goes_on         quorum
mutant no_raise              quorum_fence
mutant raise_anywhere        quorum_fence
mutant proof_by_keepalive    ordered
mutant counts_from_answer    ordered
mutant claim_blind           ordered
mutant compares_no_version   ordered
mutant grant_with_enter      ordered

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' HUP TERM

# model_of FLAGS: the file that they are for.
model_of() {
    if [[ $1 == *-DLATE=* ]]; then
        echo "$models/quorum.pml"
    elif [[ $1 == *-DORDERED* ]]; then
        echo "$models/ordered.pml"
    elif [[ $1 == *-DMODES* ]]; then
        echo "$models/modes.pml"
    else
        echo "$models/lock.pml"
    fi
}

# build FLAGS CFLAG...: the verifier, as $work/pan. The promise "served" holds for ever or not at all: LTL.
build() {
    local defines=$1
    shift
    cd "$work"
    rm -f -- *
    # shellcheck disable=SC2086 # several flags
    spin -a $defines "$(model_of "$defines")" >log 2>&1 &&
        "$cc" -w -DNOFAIR -DMEMLIM=$mib "$@" -o pan pan.c >>log 2>&1 && return
    cat log >&2
    exit 1
}

# search NAME: runs the verifier; its report is in $work/report, and the seconds of CPU in $work/seconds.
search() {
    local TIMEFORMAT=%U level=-O2
    # An error comes soon, and the states of modes.pml are few: a compiler that thinks takes longer than the search.
    [[ ${flags[$1]} != *-D@(MUTANT_|MODES)* ]] || level=-O0
    if [[ ${flags[$1]} == *CHECK_SERVED* && ${flags[$1]} != *-DMODES* ]]; then
        build "${flags[$1]} -DLTL" $level
        { time ./pan -a -w25 -m1000000 >report 2>&1; } 2>seconds || true
    else
        build "${flags[$1]}" -DSAFETY $level
        { time ./pan -w25 -m1000000 >report 2>&1; } 2>seconds || true
    fi
}

passed=0 failed=0

# verdict GOOD NAME: one line.
verdict() {
    local states memory
    states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' report)
    memory=$(sed -n 's/^ *\([0-9]*\)\.[0-9]*\ttotal actual memory usage.*/\1/p' report)
    if [[ $1 == yes ]]; then
        passed=$((passed + 1))
        printf 'ok     '
    else
        failed=$((failed + 1))
        printf 'not ok '
    fi
    printf '%-22s %-42s %10s states %6s s %5s MiB\n' "$2" "$3" "${states:-?}" "$(cat seconds)" "${memory:-?}"
}

verify() {
    local good=no
    search "$1"
    if grep -q 'errors: 0$' report && ! grep -Eqi 'not completed|too small|out of memory' report; then
        good=yes
    fi
    verdict $good "$1" "${what[$1]}"
    [[ $good == yes ]] || head -n 5 report
}

# An error is an assertion of the model or a cycle, not a search that broke off.
catch() {
    local good=no how=
    search "$1"
    if grep -Eq '^pan:[0-9]+: (assertion violated|acceptance cycle)' report; then
        good=yes how='caught by'
    else
        how='NOT caught by'
    fi
    verdict $good "$1" "$how ${what[$1]}"
}

# Breadth first finds the shortest way to an assertion; cycles are found depth first alone.
trace() {
    local defines="${flags[$1]} -DSHORTEST"
    build "$defines" -O2 -DSAFETY -DBFS
    ./pan -w25 >report 2>&1 || true
    local trail
    trail=$(basename "$(model_of "$defines")").trail
    if [[ ! -e $trail ]]; then
        [[ $defines == *CHECK_SERVED* ]] || return 0
        defines="${flags[$1]} -DLTL"
        build "$defines" -O2
        ./pan -a -w25 -m1000000 >report 2>&1 || true
        [[ -e $trail ]] || return 0
    fi
    # shellcheck disable=SC2086 # several flags
    spin -k "$trail" -T $defines "$(model_of "$defines")" 2>&1 | sed '/^spin: trail ends/,$d'
}

if [[ ${1-} == --trace ]]; then
    [[ -n ${2-} && -n ${flags[$2]-} ]] || { echo "run.sh: no such name: ${2-}" >&2; exit 64; }
    trace "$2"
    exit
fi

asked=" $* "
for name; do
    [[ -n ${flags[$name]-} ]] || { echo "run.sh: no such name: $name" >&2; exit 64; }
done

echo "# lease of 3 or 4 ticks, margin 1, clock error 1 (timed: 0), claim lease 2 to 4, delay and heartbeat 1 (timed)"
for name in "${names[@]}"; do
    [[ $# -gt 0 && $asked != *" $name "* ]] || verify "$name"
done
echo "# mutants"
for name in "${mutants[@]}"; do
    [[ $# -gt 0 && $asked != *" $name "* ]] || catch "$name"
done

echo
echo "$passed passed, $failed failed"
((failed == 0 && passed > 0))
