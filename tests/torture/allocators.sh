#!/bin/bash
# Programs with a malloc of their own: in the program, around the C library's, linked statically, preloaded,
# bound past ours (RTLD_DEEPBIND), or beside an LD_AUDIT library. All run as they do bare.
. "$(dirname "$0")/lib.sh"
here=$SOURCE/tests/torture
need cc
compile() { cc -D_GNU_SOURCE -g -O1 -fno-builtin -pthread "$@" || fail "cannot compile: $*"; }

# Runs bare and recorded: output, errors and status are the same; sets `profile`.
unharmed() { # NAME COMMAND…
    local name=$1
    shift
    "$@" >bare.out 2>bare.err
    local bare=$?
    "$TIDEMARK" record -q -o "$name.tmk" -- "$@" >out 2>err
    local status=$?
    [ $status = $bare ] || fail "$name: status $status, bare run $bare: $(head -3 err)"
    cmp bare.out out || fail "$name: output differs"
    cmp bare.err err >/dev/null || grep -q '^tidemark: ' err || fail "$name: errors differ: $(head -3 err)"
    [ ! -f "$name.tmk" ] || "$TIDEMARK" report "$name.tmk" >report 2>&1 || fail "$name: report: $(head -2 report)"
}
complete() { # NAME: nothing lost, no block twice
    [ "$(query "$1.tmk" 'SELECT lost_events + late_events + replaced_blocks FROM program')" = 0 ] ||
        fail "$1: losses: $(query "$1.tmk" 'SELECT lost_events, late_events, replaced_blocks FROM program')"
}

compile "$here/own_malloc.c" -o own
unharmed own ./own
compile -DMAPS "$here/own_malloc.c" -o maps
unharmed maps ./maps
TIDEMARK_CHECK_UNWIND=1 unharmed maps-checked timeout 600 ./maps
grep -q 'a malloc of its own' err || fail "maps-checked: nothing is said: $(head -3 err)"
compile -DWRAPS "$here/own_malloc.c" -o wraps
unharmed wraps ./wraps
complete wraps
[ "$(allocations_of wraps.tmk body)" = 4000 ] || fail "wraps: $(allocations_of wraps.tmk body) allocations instead of 4000"

# An allocator in the program itself: not ours to see, and not ours to harm.
for library in jemalloc tcmalloc_minimal mimalloc; do
    archive=$(ls /usr/lib/*/lib$library.a 2>/dev/null | head -1)
    if [ -n "$archive" ]; then
        if c++ -g -O1 -fno-builtin -pthread "$SOURCE/tests/real/allocator.cpp" -Wl,--whole-archive "$archive" -Wl,--no-whole-archive -ldl -lm -o "static_$library" 2>cc.err; then
            unharmed "static_$library" "./static_$library" 4
        else
            echo "$library: cannot be linked statically here: $(tail -1 cc.err)"
        fi
    fi
    # Preloaded, in front and behind: every block is seen once.
    shared=$(ls /usr/lib/*/lib$library.so.? 2>/dev/null | head -1)
    [ -n "$shared" ] || { echo "lib$library.so is not installed: not tried"; continue; }
    LD_PRELOAD=$shared "$victims/basic" 4 >bare.out
    LD_PRELOAD=$shared "$TIDEMARK" record -q -o pre.tmk "$victims/basic" 4 >out 2>err || fail "$library preloaded: status $?"
    cmp bare.out out || fail "$library preloaded: output differs"
    complete pre
    [ "$(allocations_of pre.tmk victim_small)" = 4000 ] || fail "$library preloaded: $(allocations_of pre.tmk victim_small) allocations"
    rm -f pre.tmk*
    # In front it is the program's malloc and ours hears nothing; the program must not suffer.
    LD_PRELOAD=$shared:$(dirname "$TIDEMARK")/../lib/libtidemark.so TIDEMARK_OPTIONS="-q -o $work/front.tmk" \
        "$victims/basic" 4 >out 2>err || fail "$library in front: status $?"
    cmp bare.out out || fail "$library in front: output differs"
done

compile -shared -fPIC "$here/audit.c" -o audit.so
LD_AUDIT=$work/audit.so "$victims/basic" 4 >bare.out
LD_AUDIT=$work/audit.so "$TIDEMARK" record -q -o audit.tmk "$victims/basic" 4 >out 2>err || fail "LD_AUDIT: status $?"
cmp bare.out out || fail "LD_AUDIT: output differs"
complete audit
[ "$(allocations_of audit.tmk victim_small)" = 4000 ] || fail "LD_AUDIT: $(allocations_of audit.tmk victim_small) allocations"

compile -I"$here" "$here/deepbind.c" -o deepbind
compile -shared -fPIC "$here/deep.c" -o deep.so
unharmed deepbind ./deepbind ./deep.so
[ "$(allocations_of deepbind.tmk torture_counted)" = 4000 ] || fail "deepbind: $(allocations_of deepbind.tmk torture_counted) allocations"
complete deepbind
[ "$(allocations_of deepbind.tmk deep_gives)" = 2000 ] || fail "deepbind: $(allocations_of deepbind.tmk deep_gives) allocations of the library's"
left=$("$TIDEMARK" query -f csv deepbind.tmk "SELECT foreign_frees, (SELECT sum(live_count) FROM functions WHERE function IN ('deep_gives', 'torture_counted')) FROM program" | tail -1)
[ "${left//$'\r'/}" = 0,0 ] || fail "deepbind: frees of nothing, and blocks that were freed: $left"
# Another allocator's blocks would go to the C library's free: that one is not bound to then.
for options in --allocator=bfm "--allocator=bfm --events=pages" --sample=4K --stacks=none; do
    "$TIDEMARK" record -q $options -o deep.tmk -- ./deepbind ./deep.so >out 2>err || fail "deepbind $options: $(head -3 err)"
    cmp out <(./deepbind ./deep.so) || fail "deepbind $options: output differs"
done
# A name that is looked for where the caller's RUNPATH says.
mkdir -p beside && cp deep.so beside/deep_beside.so
compile -I"$here" "$here/deepbind.c" -Wl,--enable-new-dtags,-rpath,"\$ORIGIN/beside" -o deepbind_beside
unharmed deepbind_beside ./deepbind_beside deep_beside.so
[ "$(allocations_of deepbind_beside.tmk torture_counted)" = 4000 ] || fail "RUNPATH: $(allocations_of deepbind_beside.tmk torture_counted) allocations"
"$TIDEMARK" report deepbind_beside.tmk | grep -q 'RTLD_DEEPBIND' && fail "RUNPATH: constructors that there are none of"
# Constructors run before dlopen returns: what they allocate is not seen, and the report says so.
compile -shared -fPIC -DCONSTRUCTORS "$here/deep.c" -o deep_constructed.so
unharmed constructed ./deepbind ./deep_constructed.so
"$TIDEMARK" report constructed.tmk | grep -q '20 modules were loaded with RTLD_DEEPBIND' || fail "constructors: nothing is said"
# It is given our functions by the next event: of 20 times 100 calls the first each time may be missed.
seen=$(allocations_of deepbind_beside.tmk deep_gives)
[ "$seen" -ge 1980 ] && [ "$seen" -le 2000 ] || fail "RUNPATH: $seen allocations of the library's"
exit $failed
