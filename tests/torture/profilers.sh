#!/bin/bash
# Two profilers at once: Tidemark under Tidemark, and with heaptrack, whichever comes first.
. "$(dirname "$0")/lib.sh"
library=$(dirname "$TIDEMARK")/../lib/libtidemark.so
"$victims/basic" 2 >bare.out; bare=$?
small=2000 # what victim_small allocates in two threads

check() { # NAME STATUS PROFILE
    [ "$2" = $bare ] || fail "$1: exit status $2, bare run $bare: $(head -3 err)"
    cmp bare.out out || fail "$1: output differs"
    local found
    found=$(allocations_of "$3" victim_small)
    # Another profiler allocates a little for itself within it.
    [ "$found" -ge $small ] && [ "$found" -le $((small + 100)) ] || fail "$1: $found of $small are in $3"
    [ "$(query "$3" 'SELECT lost_events + late_events + replaced_blocks FROM program')" = 0 ] ||
        fail "$1: losses"
}

# The outer one records the inner one, whose program is the inner one's.
"$TIDEMARK" record -q -o 'outer.%n.%p.tmk' "$TIDEMARK" record -q -o inner.tmk "$victims/basic" 2 >out 2>err
status=$?
profile=inner.tmk
[ -s inner.tmk ] || profile=$(ls outer.basic.*.tmk | head -1)
check "tidemark in tidemark" $status "$profile"
ls outer.tidemark.*.tmk >/dev/null || fail "the inner tidemark was not recorded by the outer"

# The library preloaded twice over, by hand and by record.
LD_PRELOAD=$library "$TIDEMARK" record -q -o twice.tmk "$victims/basic" 2 >out 2>err
check "preloaded and recorded" $? twice.tmk
rm -f tidemark.*.tmk

if command -v heaptrack >/dev/null; then
    "$TIDEMARK" record -q -o 'under.%n.tmk' heaptrack -o heap "$victims/basic" 2 >all 2>err
    status=$?
    grep -v '^heaptrack\|^starting\|^\[\|^Heaptrack\|^  *heaptrack\|^	\|^$' all >out
    [ $status = $bare ] || fail "heaptrack under tidemark: status $status"
    grep -q "$(cat bare.out)" all || fail "heaptrack under tidemark: $(cat all)"
    cp bare.out out
    check "heaptrack under tidemark" $status under.basic.tmk
    preload=$(ls /usr/lib/heaptrack/libheaptrack_preload.so /usr/lib/*/heaptrack/libheaptrack_preload.so 2>/dev/null | head -1)
    for order in "$preload:$library" "$library:$preload"; do
        [ -n "$preload" ] || break
        rm -f hand.tmk heap.raw
        DUMP_HEAPTRACK_OUTPUT=$work/heap.raw LD_PRELOAD=$order TIDEMARK_OPTIONS="-q -o $work/hand.tmk" "$victims/basic" 2 >out 2>err
        check "LD_PRELOAD=$(echo "$order" | sed 's|[^:]*/||g')" $? hand.tmk
        [ -s heap.raw ] || fail "heaptrack recorded nothing in $order"
    done
else
    echo "heaptrack is not installed: not tried"
fi
exit $failed
