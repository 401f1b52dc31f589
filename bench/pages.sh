#!/bin/sh
# What BFM's tracer costs and what it is worth: netbuild (bench/alloc) on BFM, plain and recorded by
# `tidemark record --allocator=bfm --events=pages`, turn by turn; and what is estimated of each call path
# beside the exact profile. Fails if a call path above 1 % of the peak is off by more than 5 %, or if netbuild
# with one thread takes more than 3 % more processor time (the median of the rounds, turn by turn; what the
# collector takes on another processor is not in it). Two minutes on a quiet machine. (valgrind cannot count it: the
# recorder's shared memory grows by an mremap that it does not know.)
#
#   BIN=build/release/bin sh bench/pages.sh [--rounds=N] [--shapes=N]
set -eu

. "$(dirname "$0")/lib.sh"
compile_bench_alloc "$root/bfm/bench/alloc" "$work"
exec python3 "$root/bench/inprocess/pages.py" "$bin" "$work" "$root" "$@"
