#!/bin/sh
# fuzz.sh [SECONDS [TARGET…]]: runs the fuzzers (all of fuzz/ where none is named) one after the
# other, SECONDS each (600), starting from their corpora. What is found on the way stays in
# build/fuzz/found/TARGET; what crashes is build/fuzz/found/TARGET.crash-…, and fuzz.sh ends with 1.
# `fuzz.sh merge` adds to the corpora what of it reaches code that they do not.
#
#   cmake --preset fuzz && cmake --build --preset fuzz && tools/fuzz.sh
#
# BUILD is the preset's build directory if it is another than build/fuzz.
set -u

root=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD:-$root/build/fuzz}
found=$build/found
# The corpus of a target; a project of its own (bfm/) keeps its own.
corpus() {
    [ -d "$root/$1/fuzz/corpus" ] && echo "$root/$1/fuzz/corpus/$1" || echo "$root/fuzz/corpus/$1"
}
all=$(cd "$root" && ls fuzz/*/fuzz_*.c */fuzz/fuzz_*.c | sed 's/.*fuzz_\(.*\)\.c$/\1/')
export ASAN_OPTIONS=${ASAN_OPTIONS:-allocator_may_return_null=1:detect_stack_use_after_return=0}

merge() { # TARGET: few small inputs that together reach what the corpus does not
    mkdir -p "$found/$1"
    "$build/fuzz/fuzz_$1" -close_fd_mask=3 -set_cover_merge=1 -use_counters=0 \
        "$(corpus "$1")" "$found/$1" 2>&1 |
        sed -n "s/^MERGE-OUTER: \([0-9]* new files.*added\)/$1: \1/p"
}

if [ "${1:-}" = merge ]; then
    shift
    for target in ${*:-$all}; do
        merge "$target"
    done
    exit
fi
seconds=${1:-600}
[ $# -eq 0 ] || shift

status=0
for target in ${*:-$all}; do
    mkdir -p "$found/$target"
    log=$found/$target.log
    nice "$build/fuzz/fuzz_$target" -close_fd_mask=3 -max_total_time="$seconds" -timeout=20 \
        -rss_limit_mb=4096 -print_final_stats=1 -artifact_prefix="$found/$target." \
        "$found/$target" "$(corpus "$target")" >"$log" 2>&1
    result=$?
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    cover=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -1)
    printf '%-14s %12s runs in %s s, %s edges%s\n' "$target" "${runs:-?}" "$seconds" "${cover:-?}" \
        "$([ $result = 0 ] || echo ", FOUND: see $log")"
    [ $result = 0 ] || status=1
done
exit $status
