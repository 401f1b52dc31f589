#!/bin/bash
# Every call path is libunwind's (TIDEMARK_CHECK_UNWIND, doc/UNWIND.md): victims, a program with
# every kind of stack, and whole runs of a compiler, three interpreters and Ghostscript.
. "$(dirname "$0")/lib.sh"

victims=$BUILD/../victims

# checked NAME LEAST COMMAND…: at least so many captures are compared, none differs, and few end where
# neither side can go on (JIT code without frame pointers).
checked() {
    local name=$1 least=$2 status captures differences incomparable
    shift 2
    TIDEMARK_CHECK_UNWIND=${every:-1} timeout 800 "$TIDEMARK" record -q -o "$work/%p.tmk" -- "$@" \
        </dev/null >"$work/out" 2>"$work/err"
    status=$?
    rm -f "$work"/*.tmk*
    grep -aq 'libunwind.so.8 cannot be loaded' "$work/err" && skip "libunwind8 is not installed"
    [ $status = 0 ] || fail "$name: exit status $status: $(tail -3 "$work/err")"
    read -r captures differences incomparable < <(sed -n \
        's/^tidemark: check: \([0-9]*\) captures, .* \([0-9]*\) differences (\([0-9]*\) not.*/\1 \2 \3/p' \
        "$work/err" | awk '{ n += $1; d += $2; c += $3 } END { print n + 0, d + 0, c + 0 }')
    printf '%-18s %9d captures, %d differences, %d not comparable\n' \
        "$name" "$captures" "$differences" "$incomparable"
    [ "$captures" -ge "$least" ] || fail "$name: fewer captures than $least"
    [ "$differences" = 0 ] || fail "$name: $(grep -a -m 40 -e '#' "$work/err")"
    [ $((incomparable * 20)) -le "$captures" ] || fail "$name: too many are not comparable"
}

checked recursion 10000 "$victims/recursion" 1
checked cxx_throw 1000 "$victims/cxx_throw" 8
checked dlopen 500 "$victims/dlopen" "$victims/plugin_alpha.so" "$victims/plugin_beta.so"
checked signals-handler 1000 "$victims/signals" handler
checked signals-altstack 1000 "$victims/signals" altstack
every=7 checked signals-jump 500 "$victims/signals" jump
[ -x "$victims/fortran" ] && checked fortran 100 "$victims/fortran"
checked stacks 50000 "$BUILD/real_stacks"

# The answer has no reader: that does not end the program.
TIDEMARK_CHECK_UNWIND=1 perl -e 'pipe my $read, my $write; open STDERR, ">&", $write; close $read; exec @ARGV' \
    "$TIDEMARK" record -q -o "$work/unread.tmk" -- "$victims/recursion" 1 </dev/null >"$work/out" ||
    fail "an answer without a reader: exit status $?"

cd "$work" || exit 1
compiler=$(g++ -print-prog-name=cc1plus 2>/dev/null)
[ -x "$compiler" ] &&
    checked cc1plus 500000 "$compiler" -quiet -fsyntax-only -o /dev/null -D_GNU_SOURCE \
        -imultiarch "$(g++ -print-multiarch)" "$SOURCE/examples/heavy.cpp"
have() { command -v "$1" >/dev/null || { echo "without $1, which is not installed"; false; }; }
have python3 && checked python3 1000 "$(python3 -c 'import sys; print(sys.executable)')" -c 'import json, threading
threads = [threading.Thread(target=lambda: json.dumps([[i] * 20 for i in range(500)])) for _ in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]'
have perl && checked perl 20000 perl -e 'my %h; $h{"key $_"} = "x" x ($_ % 100) for 1..20000; print join(",", (sort keys %h)[0..9]), "\n"'
have gs && {
    echo '/Times-Roman findfont 40 scalefont setfont 60 60 moveto (tidemark) show showpage' >page.ps
    checked gs 1000 gs -q -dNOPAUSE -dBATCH -dSAFER -sDEVICE=ppmraw -r72 -sOutputFile=/dev/null page.ps
}
# Not a word against JIT code: most of it keeps frame pointers, and is walked by both.
have node && checked node 50000 node -e 'let a = []; for (let i = 0; i < 1e5; i++) a.push({n: i, s: "x".repeat(i % 50)}); JSON.stringify(a)'
exit $failed
