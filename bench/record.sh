#!/bin/sh
# What recording costs, beside every peer that is installed: compiles the C parts, then record.py.
#
#   BIN=build/release/bin sh bench/record.sh [--quick] [--rounds=N] [--only=REGEX] …
#
# TIDEMARK_BENCH holds more options, for `make bench`: TIDEMARK_BENCH=--quick make bench
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
bin=$(cd "${BIN:-$root/build/release/bin}" && pwd)
work=$root/build/bench
mkdir -p "$work"

# As distributions compile, and not as cmake was told: the workload has no frame pointers.
for part in workload rusage; do
    "${CC:-cc}" -std=gnu17 -O2 -g -fomit-frame-pointer -Wall -Wextra -pthread \
        -o "$work/$part" "$root/bench/$part.c"
done
# shellcheck disable=SC2086 # options are words
exec python3 "$root/bench/record.py" --bin="$bin" --work="$work" ${TIDEMARK_BENCH:-} "$@"
