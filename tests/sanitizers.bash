# shellcheck shell=bash
# How programs of a build with a sanitizer (presets asan, tsan) are run, and what they found. For tests/run.sh and tests/soak.sh.

# sanitizer_reports DIR: exports what lets such a program write its reports into files of DIR, which is there.
sanitizer_reports() {
    # Leaks are looked for in the unit tests alone: at the end of a process that is a subreaper the search can hang.
    export ASAN_OPTIONS=log_path=$1/asan:detect_stack_use_after_return=1:detect_leaks=0
    export UBSAN_OPTIONS=log_path=$1/ubsan:print_stacktrace=1
    # A fiber of base/wait/fiber counts as a thread when a keeper is forked, which then starts one of its own.
    export TSAN_OPTIONS=log_path=$1/tsan:die_after_fork=0
}

# sanitizer_findings DIR: prints the paths of the reports that tell of a fault, one a line.
sanitizer_findings() {
    local report
    for report in "$1"/*; do
        # Fibers: said once a process, and of no consequence where each switch is announced (base/wait/fiber).
        [[ ! -e $report ]] || ! grep -qv "ASan doesn't fully support makecontext" "$report" || echo "$report"
    done
}
