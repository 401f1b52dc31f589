#!/bin/bash
# What is around a program changes under it: its clock, its control group's memory, the place its profile
# is written to.
. "$(dirname "$0")/lib.sh"

# ---- Clocks ----
# A time namespace whose monotonic clock is years ahead of the collector's.
if unshare --time --monotonic 100000000 --boottime 100000000 true 2>/dev/null; then
    "$TIDEMARK" record -q -o 'clock.%n.tmk' unshare --fork --time --monotonic 100000000 --boottime 100000000 "$victims/basic" 2 >out 2>err ||
        fail "time namespace: status $?: $(head -3 err)"
    [ "$(allocations_of clock.basic.tmk victim_small)" = 2000 ] || fail "time namespace: not everything is there"
    [ "$(query clock.basic.tmk 'SELECT lost_events + late_events + replaced_blocks FROM program')" = 0 ] || fail "time namespace: losses"
    hours=$(query clock.basic.tmk "SELECT max(lifetime_max_ns) / 3600000000000 FROM program")
    [ "$hours" = 0 ] || fail "time namespace: a block lived for $hours hours"
else
    echo "no time namespace may be made: not tried"
fi
# A program that is told wild times by a library in front of the C library (as libfaketime does).
cat >wild.c <<'C'
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static long calls;
int clock_gettime(clockid_t clock, struct timespec *now)
{
    int status = (int)syscall(SYS_clock_gettime, clock, now);
    now->tv_sec += __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED) % 2 ? 1000000 : -1000000;
    return status;
}
int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    (void)zone;
    now->tv_sec = __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED) * -1000;
    now->tv_usec = 0;
    return 0;
}
time_t time(time_t *now) { return now ? *now = 0 : 0; }
C
if cc -shared -fPIC -O1 wild.c -o wild.so 2>/dev/null; then
    for _ in $(seq 12); do # the collector's clocks are the kernel's, whatever the library says
        rm -f wild.tmk
        LD_PRELOAD=$work/wild.so "$TIDEMARK" record -q -o wild.tmk "$victims/basic" 2 >out 2>err || fail "wild clock: status $?"
        [ "$(allocations_of wild.tmk victim_small)" = 2000 ] || fail "wild clock: not everything is there: $(cat err)"
    done
fi

# ---- Memory of its control group ends ----
group=/sys/fs/cgroup/memory/tidemark-torture.$$
limit=memory.limit_in_bytes
[ -d /sys/fs/cgroup/memory ] || { group=/sys/fs/cgroup/tidemark-torture.$$ limit=memory.max; }
eater='while(1) { push @all, "x" x 100000 }'
if [ "$(id -u)" = 0 ] && mkdir "$group" 2>/dev/null; then
    trap 'rmdir "$group" 2>/dev/null; rm -rf "$work"' EXIT
    if echo 64M >"$group/$limit" 2>/dev/null && { [ ! -f "$group/memory.swap.max" ] || echo 0 >"$group/memory.swap.max"; }; then
        # Only the program is in the group.
        "$TIDEMARK" record -q -o 'oom.%n.tmk' sh -c "echo \$\$ >$group/cgroup.procs; exec perl -e '$eater'" >out 2>err
        status=$?
        [ $status = 137 ] || fail "OOM: status $status instead of 137: $(head -3 err)"
        "$TIDEMARK" report oom.perl.tmk >report 2>&1 || fail "OOM: $(head -3 report)"
        grep -q 'signal 9\|SIGKILL\|killed' report || fail "OOM: the report does not say how it ended: $(head -5 report)"
        tr -s '\n ' ' ' <report | grep -q 'the kernel killed 1 process of its control group for want of memory (limit 64.0 MiB)' ||
            fail "OOM: the report does not say why it was killed: $(head -3 report)"
        live=$(query oom.perl.tmk 'SELECT live_bytes >> 20 FROM program')
        [ "$live" -ge 30 ] && [ "$live" -le 70 ] || fail "OOM: $live MiB alive at the end of 64 MiB"
        # The collector in it too: whichever the kernel ends first, nobody hangs, and a file that is
        # there can be read.
        (echo "$BASHPID" >"$group/cgroup.procs"; exec "$TIDEMARK" record -q -o both.tmk perl -e "$eater") >out 2>err &
        wait $! 2>/dev/null
        until_true sh -c "! [ -s $group/cgroup.procs ]"
        [ ! -s both.tmk ] || "$TIDEMARK" report both.tmk >report 2>&1 || [ "$(wc -l <report)" -le 2 ] || fail "OOM of both: $(head -3 report)"
    else
        echo "a control group's memory cannot be limited here: not tried"
    fi
    rmdir "$group" 2>/dev/null
else
    echo "no control group may be made: not tried"
fi

# ---- Where the profile goes becomes read-only ----
mkdir disk
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=8m tmpfs disk 2>/dev/null; then
    trap 'umount disk 2>/dev/null; rm -rf "$work"' EXIT
    "$TIDEMARK" record -q -o disk/older.tmk true # what was there: an earlier profile
    cp disk/older.tmk older
    "$TIDEMARK" record -q -o disk/older.tmk "$victims/killed" 2 counters 2>err &
    recorder=$!
    until_true runs
    until_true [ -s disk/older.tmk.old ]
    cmp older disk/older.tmk.old || fail "what was there is not what it was"
    until_true [ -s disk/older.tmk ]
    head -c 16M /dev/zero >disk/filler 2>/dev/null
    before=$(counted 2)
    until_true counted_more_than 2 $((before + 2000000))
    kill -KILL "$(word 0)"
    wait $recorder
    status=$?
    [ $status = 137 ] || fail "full disk: status $status"
    cmp older disk/older.tmk.old || fail "full disk: what was there is not what it was"
    "$TIDEMARK" report disk/older.tmk >report 2>&1 || [ "$(wc -l <report)" -le 2 ] || fail "full disk: $(head -3 report)"
    umount disk
    mount -t tmpfs -o ro tmpfs disk 2>/dev/null || fail "no read-only file system"
    "$TIDEMARK" record -o disk/never.tmk "$victims/basic" 1 >out 2>err
    one_sentence_about err 'disk/never.tmk.*[Rr]ead-only'
    umount disk
    trap 'rm -rf "$work"' EXIT
else
    echo "nothing may be mounted: not tried"
fi
exit $failed
