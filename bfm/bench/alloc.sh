#!/bin/sh
# Allocators side by side: the IBM report's 28 patterns, netbuild, streams against allocators, real programs;
# time, memory, the slowest call, the instructions of a call. Compiles the C parts, then alloc.py.
#
#   sh bfm/bench/alloc.sh [--quick] [--only=REGEX] [--parts=LIST] [--with=NAME=LIBRARY]…
#
# BIN, or build/release/bin, is looked into for libbfm.so. TIDEMARK_BENCH holds more options, for
# `make bench`. What is measured and how: bfm/doc/BFM-bench.md.
set -eu

up=../..
. "$(dirname "$0")/../../bench/lib.sh"
compile_bench_alloc
cc=${CC:-cc}
warnings='-Wall -Wextra'
# shellcheck disable=SC2086
"$cc" -std=gnu17 -O2 $warnings -shared -fPIC -o "$work/count_plugin.so" "$root/bfm/bench/alloc/count_plugin.c"
# shellcheck disable=SC2086
"$cc" -std=gnu17 -O2 $warnings -pthread -o "$work/rusage" "$root/bench/rusage.c"
# shellcheck disable=SC2086
exec python3 "$root/bfm/bench/alloc.py" --bin="$bin" --work="$work" \
    ${TIDEMARK_BENCH:-} "$@"
