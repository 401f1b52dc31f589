#!/bin/sh
# Allocators side by side: the IBM report's 28 patterns, netbuild, streams against allocators, real programs;
# time, memory, the slowest call, the instructions of a call. Compiles the C parts, then alloc.py.
#
#   sh bench/alloc.sh [--quick] [--only=REGEX] [--parts=LIST] [--with=NAME=LIBRARY]…
#
# BIN, or build/release/bin, is looked into for libbfm.so. TIDEMARK_BENCH holds more options, for
# `make bench`. What is measured and how: doc/BFM-bench.md.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
work=$root/build/bench
mkdir -p "$work"

cc=${CC:-cc}
warnings='-Wall -Wextra'
# Nothing may think that it knows what malloc and free do; nothing is bound while it is measured.
# shellcheck disable=SC2086 # options are words
(cd "$root/bench/alloc" &&
    "$cc" -std=gnu17 -O2 -g $warnings -D_GNU_SOURCE -fno-builtin-malloc -fno-builtin-free \
        -I"$root/src" -pthread -Wl,-z,now -o "$work/bench_alloc" block.c latency.c main.c memory.c \
        netbuild.c patterns.c stress.c streams.c threads.c)
# shellcheck disable=SC2086
"$cc" -std=gnu17 -O2 $warnings -shared -fPIC -o "$work/count_plugin.so" "$root/bench/alloc/count_plugin.c"
# shellcheck disable=SC2086
"$cc" -std=gnu17 -O2 $warnings -pthread -o "$work/rusage" "$root/bench/rusage.c"
# shellcheck disable=SC2086
exec python3 "$root/bench/alloc.py" --bin="${BIN:-$root/build/release/bin}" --work="$work" \
    ${TIDEMARK_BENCH:-} "$@"
