#!/bin/sh
# What traces cost and how large they are, beside heaptrack's file where that is installed: trace.py.
#
#   BIN=build/release/bin sh bench/trace.sh [--quick] [--rounds=N] [--only=REGEX]
#
# TIDEMARK_BENCH holds more options, for `make bench`.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
bin=$(cd "${BIN:-$root/build/release/bin}" && pwd)
work=$root/build/bench
mkdir -p "$work"

for part in workload rusage; do
    "${CC:-cc}" -std=gnu17 -O2 -g -fomit-frame-pointer -Wall -Wextra -pthread \
        -o "$work/$part" "$root/bench/$part.c"
done
cmake --build "$bin/.." --target bench_trace >/dev/null
# shellcheck disable=SC2086 # options are words
exec python3 "$root/bench/trace.py" --bin="$bin" --work="$work" ${TIDEMARK_BENCH:-} "$@"
