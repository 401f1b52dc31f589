#!/bin/sh
# What counting costs a call: the loops of workload.c with and without libtidemark-count.so, turn by
# turn in the same minutes, CPU time of the loop alone; the instructions of both, where valgrind is
# there; and a compiler's run. Fails if a call costs more than 8 ns (the median of the rounds).
#
#   BIN=build/release/bin sh bench/count.sh
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
bin=$(cd "${BIN:-$root/build/release/bin}" && pwd)
work=$root/build/bench
mkdir -p "$work"
"${CC:-cc}" -std=gnu17 -O2 -g -fomit-frame-pointer -Wall -Wextra -pthread \
    -o "$work/workload" "$root/bench/workload.c"
exec python3 "$root/bench/count.py" "$(realpath "$bin/../lib/libtidemark-count.so")" "$work" "$root"
