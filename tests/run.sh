#!/usr/bin/env bash
# Builds rlock, tests it, and ends with one line: N passed, N failed[, N skipped].
#
#   tests/run.sh [OPTION...]                 every test: the unit tests and all bats files
#   tests/run.sh [OPTION...] FILE.bats...    these files alone
#
#   --preset P     which build of CMakePresets.json is tested (release). With asan or tsan each report of a sanitizer counts
#                  as a failure.
#   --rlock FILE   the bats files test this program, such as that of packaging/release.sh, in place of the preset's
#   --at-risk      of all bats files only those where a sanitizer may find what no other test shows: at_risk below
#   --again        a file in which a test failed is run once more, alone, when all others are done, and that counts. What
#                  failed the first time is named above the last line.
#
# The tests of the test tools (tests/tools) need no rlock, and are part of every test of the preset release alone.
# tsan makes vfork a fork and lets signals wait, so files that look at just those are left out unless they are named. With
# either sanitizer architecture and model are left out, which test no code of rlock's.
# Exits non-zero where a test failed, did not come to its end, or where nothing ran. Installs what is missing, and says what.
# The bats files find the binary under test in RLOCK.
set -euo pipefail

# Which begin first, since at the end they would be all that runs: those that took 40 s and more when all ran, the longest
# first. What is printed says how long each took.
longest=(
    redlock waiting_display sentinel cluster libraries zookeeper_server redis_down redis_errors run_lease_lost zookeeper packages
    redisson etcd with model numbers_and_floods etcd_server zookeeper_wire proxies redis_auth local_server etcd_wire redis_restart
    acquire_while_pid scripts last_guard
)
# Trials of deadlines, which wait most of the time: no load but that of one or two others of them, after all others.
quiet=(faults/consensus_{etcd,zookeeper} tools/soak faults/{minorities,soak,restarts} waiting_stalls faults/{failovers,split_brain})
# One whose leases are of 600 ms, and one that makes all cores busy: the machine is theirs alone, in the end.
alone=(faults/{lease,busy_host})
# What reads bytes of others: replies, records, URLs, files. Where several threads, fibers or processes share memory: renewal,
# guard, keeper, several servers. And what ends in an unusual place: a loss, a signal, a kill.
at_risk=(
    fuzz faults/fake_server redis_errors etcd_wire zookeeper_wire etcd_server zookeeper_server messages lock_of_others status urls
    configuration
    run_lease_lost redis_restart acquire_while_pid sentinel cluster redlock with tls
    run_ending run_killed run_signals
)

preset=release again='' tested='' only_at_risk=''
while [[ ${1-} == --* ]]; do
    case $1 in
        --preset) preset=${2:?tests/run.sh --preset wants a name} && shift 2 ;;
        --again) again=yes && shift ;;
        --at-risk) only_at_risk=yes && shift ;;
        --rlock) tested=$(realpath -e -- "${2:?tests/run.sh --rlock wants a FILE}") && shift 2 ;;
        *) echo "tests/run.sh: '$1' is not an option; there are --preset P, --rlock FILE, --at-risk and --again" >&2 && exit 64 ;;
    esac
done
# Seconds: one test, and all bats files together. What is not done by then has failed. The aim for all is 900 on 2 quiet
# cores; the limits are far above, because they are there for what hangs.
export BATS_TEST_TIMEOUT=${BATS_TEST_TIMEOUT:-600}
all_files=3600
if [[ $preset == ?san ]]; then
    # Files look at this where a sanitizer is in the way of what they look at.
    export TEST_SANITIZER=$preset
    all_files=7200
fi

files=()
for file; do
    [[ -e $file ]] || { echo "tests/run.sh: there is no file $file" >&2 && exit 64; }
    files+=("$(realpath -e -- "$file")")
done
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
# shellcheck source=tests/sanitizers.bash
. tests/sanitizers.bash

bash packaging/install-deps.sh test
cmake --preset "$preset"
cmake --build --preset "$preset"

# Nothing that the user has set up for her own locks may reach the tests, nor the other way round.
unset "${!RLOCK_@}" REDISCLI_AUTH
export RLOCK=$root/build/$preset/rlock

out=$(mktemp -d)
export XDG_CONFIG_HOME=$out/config
mkdir "$out"/{reports,bin}
# The system's Python starts in a sixth of the time of one of pyenv, which is a script first; it starts some thousand times.
[[ ! -x /usr/bin/python3 ]] || ln -s /usr/bin/python3 "$out/bin/"
export PATH=$out/bin:$PATH
# What the tests look for beside rlock is there too.
if [[ -n $tested ]]; then
    mkdir "$out/tested"
    ln -s "$root/build/$preset"/{scripts,rlock-docs,unit_tests,*_fuzz} "$out/tested/"
    cp "$tested" "$out/tested/rlock"
    RLOCK=$out/tested/rlock
fi
sanitizer_reports "$out/reports"
declare -A running=() began=()
# timeout passes the signal on to bats and to what bats started.
trap '((${#running[@]} == 0)) || kill "${!running[@]}" 2>/dev/null || true; rm -rf "$out"' EXIT
trap 'exit 130' INT
trap 'exit 143' HUP TERM

passed=0 failed=0 skipped=0 failures=() unsteady=() once_more=()

# count NAME PASSED FAILED SKIPPED STATUS: adds up; a status that the numbers do not explain is a failure of its own.
count() {
    local name=$1 good=$2 bad=$3 left=$4 status=$5
    if ((status != 0 && bad == 0)); then
        bad=1
        failures+=("$name: ended with status $status")
    fi
    passed=$((passed + good)) failed=$((failed + bad)) skipped=$((skipped + left))
}

unit_tests() {
    local status=0 report=$out/unit.json numbers='0 0 0'
    ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=1 "build/$preset/unit_tests" --gtest_brief=1 \
        --gtest_output="json:$report" </dev/null || status=$?
    # One that crashes leaves no report.
    if [[ -s $report ]]; then
        numbers=$(jq -r '[.testsuites[].testsuite[]] | map(select(.failures)) as $bad
            | map(select((.failures | not) and .result != "COMPLETED")) as $left
            | "\(length - ($bad | length) - ($left | length)) \($bad | length) \($left | length)"' "$report")
        mapfile -t failures < <(jq -r '.testsuites[].testsuite[] | select(.failures)
            | "unit tests: \(.classname).\(.name)"' "$report")
    fi
    # shellcheck disable=SC2086 # three numbers
    count 'unit tests' $numbers "$status"
}

# bats_ended NAME TAP STATUS SECONDS: prints what the bats of a file wrote, and counts it. A test that the plan announces
# and that has no result failed, and so did a file that has no test.
bats_ended() {
    local name=$1 tap=$2 status=$3 numbers lost line
    printf '\n# %s (%s s)\n' "$name" "$4"
    cat "$tap" "$tap.err"
    numbers=$(awk '
        /^1\.\.[0-9]+$/ { plan = substr($0, 4) + 0 }
        /^ok [0-9]+ / { if (/ # skip/) left++; else good++ }
        /^not ok [0-9]+ / { bad++ }
        END {
            lost = plan - good - bad - left
            if (plan == 0 || lost < 0) lost = plan == 0
            print lost, good + 0, bad + lost, left + 0
        }' "$tap")
    lost=${numbers%% *}
    if [[ -n $again ]] && ((status != 0)); then
        once_more+=("$name")
        mapfile -t -O "${#unsteady[@]}" unsteady < <(grep -E '^not ok [0-9]+ ' "$tap" | sed "s|^|$name: |")
        return
    fi
    while read -r line; do
        failures+=("$name: $line")
    done < <(grep -E '^not ok [0-9]+ ' "$tap")
    ((lost == 0)) || failures+=("$name: $lost without a result (status $status)")
    # shellcheck disable=SC2086 # three numbers
    count "$name" ${numbers#* } "$status"
}

reap_one() {
    local pid status=0
    wait -n -p pid "${!running[@]}" || status=$?
    local name=${running[$pid]}
    unset "running[$pid]"
    bats_ended "$name" "$out/${name//\//_}" "$status" $((SECONDS - began[$pid]))
}

# bats_files MOST FILE...: one bats per file, so that one that hangs or dies takes no other along; so many at once.
bats_files() {
    local most=$1 name left
    shift
    for file; do
        ((${#running[@]} < most)) || reap_one
        name=${file#"$root"/}
        left=$((all_files - SECONDS))
        timeout --kill-after=10 "$((left > 0 ? left : 1))" bats --tap --timing "$file" \
            >"$out/${name//\//_}" 2>"$out/${name//\//_}.err" </dev/null &
        running[$!]=$name began[$!]=$SECONDS
    done
    while ((${#running[@]} > 0)); do
        reap_one
    done
}

# is_one_of FILE NAME...: whether a name stands for this file of tests/.
is_one_of() {
    local file=${1#"$root"/tests/}
    shift
    [[ " $* " == *" ${file%.bats} "* ]]
}

for name in "${longest[@]}" "${quiet[@]}" "${alone[@]}" "${at_risk[@]}"; do
    [[ -e tests/$name.bats ]] || { echo "tests/run.sh: a list above names $name, and there is no tests/$name.bats" >&2 && exit 70; }
done
shopt -s nullglob
if ((${#files[@]} == 0)); then
    unit_tests
    first=("${longest[@]}" "${quiet[@]}")
    first=("${first[@]/#/$root/tests/}")
    for file in "${first[@]/%/.bats}" "$root"/tests/{,faults/,tools/}*.bats; do
        [[ $preset == tsan && $file =~ run_(signals|environment|exit_status|arguments|short_job) ]] ||
            [[ $preset == ?san && $file =~ /(architecture|model)\.bats$ ]] ||
            [[ $preset != release && $file == */tools/* ]] ||
            { [[ -n $only_at_risk ]] && ! is_one_of "$file" "${at_risk[@]}"; } ||
            [[ " ${files[*]} " == *" $file "* ]] || files+=("$file")
    done
fi
together=() few=() by_itself=()
for file in "${files[@]}"; do
    if is_one_of "$file" "${alone[@]}"; then
        by_itself+=("$file")
    elif is_one_of "$file" "${quiet[@]}"; then
        few+=("$file")
    else
        together+=("$file")
    fi
done
SECONDS=0
# Most tests wait most of the time.
bats_files $(($(nproc) * 5 / 2)) "${together[@]}"
bats_files $(($(nproc) + 1)) "${few[@]}"
bats_files 1 "${by_itself[@]}"
if ((${#once_more[@]} > 0)); then
    printf '\n# Once more, alone: %s\n' "${once_more[*]}"
    again=
    for name in "${once_more[@]}"; do
        [[ $name == /* ]] || name=$root/$name
        bats_files 1 "$name"
    done
fi
mapfile -t reports < <(sanitizer_findings "$out/reports")
for report in "${reports[@]}"; do
    cat "$report"
    count "$(grep -m 1 -oE '(ERROR|WARNING): .*|runtime error: .*' "$report" || echo "$report")" 0 0 0 1
done

echo
if ((${#unsteady[@]} > 0)); then
    echo 'Failed the first time:'
    printf '  %s\n' "${unsteady[@]}"
fi
if ((${#failures[@]} > 0)); then
    echo 'Failed:'
    printf '  %s\n' "${failures[@]}"
fi
summary="$passed passed, $failed failed"
((skipped == 0)) || summary+=", $skipped skipped"
echo "$summary"
((failed == 0 && passed > 0))
