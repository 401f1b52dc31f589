#!/bin/bash
# Storms: far more processes than there are descriptors for. Each has its place in what was recorded, the
# counts are the program's, nothing is said with -q, and the collector stays small.
#
# storm.sh [WAY PROCESSES PARALLEL DESCRIPTORS]…: the ways are storm.c's. `make check-storm` has larger ones.
. "$(dirname "$0")/lib.sh"
blocks=10
most_kib=$((64 << 10))
most_living_kib=200 # for each process that lives at the same time
stops=0
options=() # of record

# The largest of the processes in it: the collector. $stops times that is stopped for longer than what is
# in a profile may be old, as on a machine that has no time for it.
measured() { # OUT COMMAND…: its status, and KiB in $kib
    kib=$(python3 - "$stops" "$@" <<'PY'
import os, resource, signal, subprocess, sys, time
stops, out, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
record = subprocess.Popen(command, stdout=open(out, "w"), stderr=open("err", "w"))
while stops and record.poll() is None:
    time.sleep(1)
    found = subprocess.run(["pgrep", "-P", str(record.pid), "-x", "tidemark-coll"], capture_output=True).stdout.split()
    try:
        os.kill(int(found[0]), signal.SIGSTOP)
        time.sleep(2.2)
        os.kill(int(found[0]), signal.SIGCONT)
    except (IndexError, ProcessLookupError):
        break
    stops -= 1
status = record.wait()
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(status)
PY
)
}

# All but the first process are alike: rows, or on a busy machine files of those that lived long. Of some
# of them, what is counted by call path.
check_children() { # STORM COUNT
    local profile said children
    children=".profiles[] | select(.pid != $(cat first))"
    "$TIDEMARK" report --json . >overview || fail "$1: no overview"
    said=$(jq -r "[$children] | [length, (map(.allocations) | unique | length),
        (map(select(.lossy or .state != \"complete\" or .end != \"exit\" or .end_status != 0)) | length)] | @tsv" overview)
    [ "$said" = "$2	1	0" ] || fail "$1: children, different counts of allocations, damaged: $said"
    for profile in $(jq -r "[$children | .profile] | .[:3][], .[-3:][]" overview); do
        rm -f db
        "$TIDEMARK" unpack "$profile" db || fail "$1: $profile cannot be unpacked"
        said=$(sqlite3 db "SELECT sum(alloc_count), sum(free_count), (SELECT lost_events + late_events FROM program)
            FROM site JOIN path ON path.id = site.path JOIN location_frame USING (location)
            JOIN function ON function.id = location_frame.function WHERE function.name = 'torture_counted'")
        [ "$said" = "$blocks|$((blocks - 1))|0" ] || fail "$1: $profile: allocations, frees, lost: $said"
    done
}

storm() { # WAY PROCESSES PARALLEL (barrier: SECONDS) DESCRIPTORS
    local count=$2 living=$3 status kib
    [ "$1" = barrier ] && living=$2
    rm -rf storm && mkdir storm && cd storm || exit 1
    (ulimit -n "$4" && measured out "$TIDEMARK" record -q "${options[@]}" -o 'c.%p.tmk' "$BUILD/../torture/torture_storm" "$1" "$2" "$3"
    echo "$? $kib" >end)
    read -r status kib <end
    [ "$status" = 0 ] || fail "$*: status $status: $(head -3 err)"
    [ "$(cat out)" = "$count processes" ] || fail "$*: $(head -3 out)"
    [ ! -s err ] || fail "$*: said: $(head -3 err)"
    [ "$kib" -le $((most_kib + most_living_kib * living)) ] || fail "$*: the collector took $kib KiB"
    check_children "$*" "$count"
    echo "$*: $kib KiB"
    cd ..
}

# Who waits for the others needs that all are welcomed: while they live for longer than a profile takes to
# be begun, and with a trace each, of which two hundred would be open.
barriers() {
    local damaged
    most_living_kib=512 storm barrier 110 0 100
    options=(--trace) most_living_kib=3072
    storm barrier 110 3 100
    options=() most_living_kib=200
    damaged=$(find storm -name '*.tmt' | wc -l)
    [ "$damaged" = 111 ] || fail "barrier: $damaged traces of 111 processes"
    mkdir replayed
    "$TIDEMARK" replay -q -o replayed/ storm/*.tmt 2>err && [ ! -s err ] || fail "barrier: traces: $(head -3 err)"
}

# Threads count with the user's processes (`ulimit -u`; root has no such limit). The program gets as many as
# bare, and for whom there is none of ours, that is counted, and not waited for.
barrier_of_few_threads() {
    local as=() user profiles others
    user=$(id -u)
    if [ "$(id -u)" = 0 ]; then
        user=47119
        as=(setpriv --reuid=47119 --regid=47119 --clear-groups)
        command -v setpriv >/dev/null && "${as[@]}" test -x "$TIDEMARK" -a -x "$BUILD/../torture/torture_storm" || return 0
    fi
    rm -rf threads && mkdir -m 777 threads && cd threads || exit 1
    (ulimit -u $(($(ps -u "$user" -L 2>/dev/null | tail -n +2 | wc -l) + 160)) &&
        "${as[@]}" "$TIDEMARK" record --separate -o 'c.%p.tmk' "$BUILD/../torture/torture_storm" barrier 110 0 >out 2>err)
    [ "$(cat out)" = "110 processes" ] || fail "few threads: $(cat out) $(head -3 err)"
    profiles=$(find . -name '*.tmk' | wc -l)
    others=$(sed -n 's/.*is not recorded: there is no thread.* (and \([0-9]*\) more processes: torture_storm [0-9]*)$/\1/p' err)
    [ $((profiles + 1 + ${others:-0})) = 111 ] || fail "few threads: $profiles profiles, and ${others:-none} more of 111: $(cat err)"
    cd ..
}

# Fewer descriptors than the collector has files open: whom it cannot take runs on, and is counted. Somebody
# is missing with the fewest that do for one program; with more all may be taken, one after the other.
few_descriptors() {
    local most least=8
    rm -rf few && mkdir few && cd few || exit 1
    until (ulimit -n $least && "$TIDEMARK" record -q -o one.tmk true) 2>/dev/null || [ $least = 40 ]; do
        least=$((least + 1))
    done
    for most in $least $((least + 2)) $((least + 4)); do
        (ulimit -n $most && timeout -s KILL 600 "$TIDEMARK" record -o "few.$most.tmk" \
            bash -c 'for i in 1 2 3; do ls >/dev/null; bash -c "ls | cat" >/dev/null; done; echo done' >out 2>err) ||
            fail "few descriptors: status $? at $most"
        [ "$(cat out)" = done ] || fail "few descriptors: at $most: $(cat out)"
        [ $most != $least ] || grep -q "not recorded\|cannot" err || fail "few descriptors: nobody is missing at $most: $(cat err)"
        ! grep 'no file of Tidemark' err || fail "few descriptors: that is not known at $most"
    done
    cd ..
}

if [ $# = 0 ]; then
    few_descriptors
    stops=6 storm exec 300 16 256
    barriers
    barrier_of_few_threads
    set -- exec 300 4 64 fork 200 200 64
fi
while [ $# -ge 4 ]; do
    storm "$1" "$2" "$3" "$4"
    shift 4
done
exit $failed
