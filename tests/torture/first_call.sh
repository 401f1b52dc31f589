#!/bin/bash
# Every function that we stand in for is the first call of a program, made by the constructor of a
# library that is begun before ours: it does what it does without us.
. "$(dirname "$0")/lib.sh"
libraries=$BUILD/../../lib
program=$BUILD/../torture/torture_first_call

# Where the C library lacks a function, the bare program skips it.
first() { # HOW NAME COMMAND…
    local how=$1 name=$2 said
    shift 2
    said=$("$@" "$program" "$name" 2>err)
    case "$? ${said%%$'\n'*}" in
    "0 calls called main" | "7 calls " | "0 absent main") ;;
    *) fail "$how: $name first: status and output $? $said $(head -3 err)" ;;
    esac
}

names=$("$program")
[ -n "$names" ] || fail "no functions"
for name in $names; do
    first bare "$name" env
    for library in tidemark tidemark-bfm tidemark-count tidemark-malloc-count; do
        first "$library" "$name" env LD_PRELOAD="$libraries/lib$library.so"
    done
    first record "$name" "$TIDEMARK" record -q -o first.tmk --
    first pages "$name" "$TIDEMARK" record -q --allocator=bfm --events=pages -o first.tmk --
done
exit $failed
