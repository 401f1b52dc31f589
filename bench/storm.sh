#!/bin/sh
# What a short process costs when thousands are recorded: compiles the C part, then storm.py.
#
#   BIN=build/release/bin sh bench/storm.sh [--rounds=N] [--count=N] [--bin=ANOTHER_BUILD/bin] …
set -eu

. "$(dirname "$0")/lib.sh"
"${CC:-cc}" -std=gnu17 -O2 -Wall -Wextra -o "$work/storm" "$root/bench/pipeline/storm.c"
exec python3 "$root/bench/pipeline/storm.py" --bin="$bin" --work="$work" "$@"
