#!/bin/sh
# What programs pay for tidemark.h, and for being counted.
#
# Each call of tidemark.h where nobody profiles, with the shared library and with the static one: CPU
# time, and instructions where valgrind is there; what asks for counters under libtidemark-count too.
# Fails if one costs more than 2 ns.
#
# Then malloc and free under libtidemark-count: the loops of workload.c with and without it, turn by
# turn in the same minutes, CPU time of the loop alone; the instructions of both; and a compiler's
# run; and the counters alone with large blocks that threads pass on (passed.c). Fails if a call costs
# more than 8 ns (the median of the rounds).
#
#   BIN=build/release/bin [ROUNDS=7] sh bench/count.sh
set -eu

. "$(dirname "$0")/lib.sh"
lib=$(cd "$bin/../lib" && pwd)
compile() { "${CC:-cc}" -std=gnu17 -O2 -g -Wall -Wextra "$@"; }

compile -falign-loops=32 -I "$root/include" -o "$work/api_shared" "$root/bench/inprocess/api.c" \
    -L "$lib" -ltidemark-api -Wl,-rpath,"$lib"
compile -falign-loops=32 -I "$root/include" -o "$work/api_static" "$root/bench/inprocess/api.c" "$lib/libtidemark-api.a"
compile -fomit-frame-pointer -pthread -o "$work/workload" "$root/bench/inprocess/workload.c"
compile -O2 -fno-builtin -D_GNU_SOURCE -pthread -I "$root/src/inprocess" -I "$root/src" -o "$work/passed" \
    "$root/bench/inprocess/passed.c" "$root"/src/inprocess/counters/counters.c "$root"/src/inprocess/counters/reserves.c \
    "$root"/src/inprocess/counters/ledger.c "$root"/src/inprocess/counters/figures.c "$root"/src/inprocess/interpose/c_library.c
status=0
python3 "$root/bench/inprocess/api.py" "$work" "$lib/libtidemark-count.so" || status=1
python3 "$root/bench/inprocess/count.py" "$lib/libtidemark-count.so" "$work" "$root" || status=1
exit $status
