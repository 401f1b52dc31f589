#!/bin/sh
# Allocators side by side: the IBM report's 28 patterns, netbuild, streams against allocators, real programs;
# time, memory, the slowest call, the instructions of a call. Compiles the C parts, then alloc.py.
#
#   sh bfm/bench/alloc.sh [--quick] [--only=REGEX] [--parts=LIST] [--with=NAME=LIBRARY]…
#
# BIN, or build/release/bin, is looked into for libbfm.so; where bfm/ stands alone, BIN or bfm/build.
# TIDEMARK_BENCH holds more options, for `make bench`. What is measured and how: bfm/doc/BFM-bench.md.
set -eu

folder=$(cd "$(dirname "$0")" && pwd)
cc=${CC:-cc}
if [ -f "$folder/../../bench/lib.sh" ]; then
    up=../..
    . "$folder/../../bench/lib.sh"
    "$cc" -std=gnu17 -O2 -Wall -Wextra -pthread -o "$work/rusage" "$root/bench/rusage.c"
else # no programs are measured: they are Tidemark's
    bin=$(cd "${BIN:-$folder/../build}" && pwd)
    work=$bin/bench
    mkdir -p "$work"
    . "$folder/compile.sh"
fi
compile_bench_alloc "$folder/alloc" "$work"
"$cc" -std=gnu17 -O2 -Wall -Wextra -shared -fPIC -o "$work/count_plugin.so" "$folder/alloc/count_plugin.c"
# shellcheck disable=SC2086
exec python3 "$folder/alloc.py" --bin="$bin" --work="$work" ${TIDEMARK_BENCH:-} "$@"
