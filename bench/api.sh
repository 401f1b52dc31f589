#!/bin/sh
# What programs pay for tidemark.h, and for being counted. Each call where nobody profiles: CPU time
# and instructions of one (callgrind, where valgrind is there), with the shared library and with the
# static one; the calls that ask for counters under libtidemark-count too. Then, as
# bench/count.sh does, a malloc and a free under libtidemark-count. Fails if a call that nobody
# listens to costs more than 2 ns, or one that is counted more than 8 ns.
#
#   BIN=build/release/bin sh bench/api.sh
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
bin=$(cd "${BIN:-$root/build/release/bin}" && pwd)
lib=$(cd "$bin/../lib" && pwd)
work=$root/build/bench
mkdir -p "$work"
for kind in shared static; do
    library=$([ $kind = shared ] && echo "-L$lib -ltidemark-api -Wl,-rpath,$lib" || echo "$lib/libtidemark-api.a")
    # shellcheck disable=SC2086
    "${CC:-cc}" -std=gnu17 -O2 -g -Wall -Wextra -I "$root/include" -o "$work/api_$kind" "$root/bench/api.c" $library
done
status=0
python3 "$root/bench/api.py" "$work" "$lib/libtidemark-count.so" || status=1
BIN=$bin sh "$root/bench/count.sh" || status=1
exit $status
