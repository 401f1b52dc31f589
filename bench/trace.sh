#!/bin/sh
# What traces cost and how large they are, beside heaptrack's file where that is installed: trace.py.
#
#   BIN=build/release/bin sh bench/trace.sh [--quick] [--rounds=N] [--only=REGEX]
#
# TIDEMARK_BENCH holds more options, for `make bench`.
set -eu

. "$(dirname "$0")/lib.sh"
compile_workload
cmake --build "$bin/.." --target bench_trace >/dev/null
# shellcheck disable=SC2086 # options are words
exec python3 "$root/bench/files/trace.py" --bin="$bin" --work="$work" ${TIDEMARK_BENCH:-} "$@"
