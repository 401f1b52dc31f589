#!/bin/sh
# What recording costs, beside every peer that is installed: compiles the C parts, then record.py.
#
#   BIN=build/release/bin sh bench/record.sh [--quick] [--rounds=N] [--only=REGEX] …
#
# TIDEMARK_BENCH holds more options, for `make bench`: TIDEMARK_BENCH=--quick make bench
set -eu

. "$(dirname "$0")/lib.sh"
compile_workload
# shellcheck disable=SC2086 # options are words
exec python3 "$root/bench/inprocess/record.py" --bin="$bin" --work="$work" ${TIDEMARK_BENCH:-} "$@"
