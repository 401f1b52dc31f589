#!/bin/bash
# oracle.sh: counts, bytes and peak agree with valgrind's memcheck and dhat on deterministic programs.
#
# Known reasons for a difference, and what is done about each:
# - valgrind counts a realloc as an allocation and a free; so are ours added up.
# - realloc(NULL, n) is a malloc for both. realloc(p, 0) frees for both.
# - At exit valgrind makes libc and libstdc++ free what they hold: switched off.
# - valgrind replaces operator new, so libstdc++'s emergency pool (72,704 bytes, malloc'd by its
#   constructor) is seen by both.
# - A failed request counts for neither.
# - dhat counts a request of zero bytes as one byte, memcheck and we as none: total bytes are
#   memcheck's, and no such block is alive at the peak of these programs.
# - A realloc is one step of the peak for dhat as for us: the old block and the new one are never
#   counted at once.
# - Memory that the loader takes before the recorder is ready goes through the loader's own malloc,
#   which neither sees.
# - The environment: recorded runs have LD_PRELOAD and TIDEMARK_SESSION. None of the programs here
#   copies its environment.
# Tolerance: none.
. "$(dirname "$0")/lib.sh"
need valgrind

compare() { # NAME WHAT OURS THEIRS
    [ "$3" = "$4" ] || fail "$1: $2: we say $3, valgrind $4"
}

agree() { # NAME COMMAND…
    local name=$1 allocations frees bytes peak_bytes peak_blocks
    shift
    "$TIDEMARK" record -q -o "$work/$name.tmk" -- "$@" >/dev/null 2>"$work/err" || fail "$name: exit status $?"
    check_account "$name"
    valgrind --run-libc-freeres=no --run-cxx-freeres=no "$@" 2>"$work/memcheck" >/dev/null
    read -r allocations frees bytes <<<"$(grep 'total heap usage' "$work/memcheck" |
        sed 's/.*usage: \(.*\) allocs, \(.*\) frees, \(.*\) bytes.*/\1 \2 \3/; s/,//g')"
    compare "$name" allocations "$(value "$name" 'SELECT alloc_count + realloc_count FROM program')" "$allocations"
    compare "$name" frees "$(value "$name" 'SELECT free_count FROM program')" "$frees"
    compare "$name" bytes "$(value "$name" 'SELECT alloc_bytes + realloc_bytes FROM program')" "$bytes"

    valgrind --tool=dhat --dhat-out-file=/dev/null --run-libc-freeres=no --run-cxx-freeres=no "$@" 2>"$work/dhat" >/dev/null
    read -r peak_bytes peak_blocks <<<"$(grep 'At t-gmax' "$work/dhat" |
        sed 's/.*gmax: *\(.*\) bytes in \(.*\) blocks.*/\1 \2/; s/,//g')"
    compare "$name" "peak bytes" "$(value "$name" 'SELECT peak_bytes FROM program')" "$peak_bytes"
    compare "$name" "blocks at the peak" "$(value "$name" 'SELECT at_peak_count FROM program')" "$peak_blocks"
}

agree oracle "$BUILD/../victims/oracle"
agree basic "$BUILD/../victims/basic" 1
agree cxx_new "$BUILD/../victims/cxx_new" 1
agree recursion "$BUILD/../victims/recursion" 1
[ -x "$BUILD/../victims/fortran" ] && agree fortran "$BUILD/../victims/fortran"
exit $failed
