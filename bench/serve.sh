#!/bin/sh
# What the web view's server costs on a profile of a million call paths, on a job of 64 ranks, and on a
# trace: time to its first answer, each query, memory. Records g++ on examples/heavy.cpp first, unless
# PROFILE names a profile and TRACE a trace; makes a job, unless JOB names a directory.
#
#   BIN=build/release/bin sh bench/serve.sh
set -eu

. "$(dirname "$0")/lib.sh"

if [ -z "${PROFILE:-}" ]; then
    rm -f "$work"/serve*.tmk
    "$bin/tidemark" record -q -o "$work/serve.%n.%p.tmk" \
        g++ -O2 -c "$root/examples/heavy.cpp" -o /dev/null >/dev/null
    PROFILE=$(ls "$work"/serve.cc1plus.*.tmk)
fi
if [ -z "${TRACE:-}" ]; then
    rm -f "$work"/traced.*
    "$bin/tidemark" record -q --trace -o "$work/traced.%n.%p.tmk" \
        g++ -O2 -c "$root/examples/heavy.cpp" -o /dev/null >/dev/null
    TRACE=$(ls "$work"/traced.cc1plus.*.tmt)
fi
if [ -z "${JOB:-}" ] && [ -x "$bin/../tests/make_job" ]; then
    rm -rf "$work/run64"
    JOB=$work/run64
    "$bin/../tests/make_job" "$JOB" 64
fi
exec python3 "$root/bench/show/serve.py" "$bin/tidemark" "$PROFILE" "$TRACE" ${JOB:+"$JOB"}
