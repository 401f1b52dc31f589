#!/bin/sh
# What the web view's server costs on a profile of a million call paths: time to its first answer,
# each query, memory. Records g++ on examples/heavy.cpp first, unless PROFILE names a profile.
#
#   BIN=build/release/bin sh bench/serve.sh
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
bin=$(cd "${BIN:-$root/build/release/bin}" && pwd)
work=$root/build/bench
mkdir -p "$work"

if [ -z "${PROFILE:-}" ]; then
    rm -f "$work"/serve*.tmk
    "$bin/tidemark" record -q -o "$work/serve.%n.%p.tmk" \
        g++ -O2 -c "$root/examples/heavy.cpp" -o /dev/null >/dev/null
    PROFILE=$(ls "$work"/serve.cc1plus.*.tmk)
fi
exec python3 "$root/bench/serve.py" "$bin/tidemark" "$PROFILE"
