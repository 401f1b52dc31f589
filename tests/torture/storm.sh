#!/bin/bash
# Storms: far more processes than there are descriptors for. Each has its place in what was recorded, the
# counts are the program's, nothing is said with -q, and the collector stays small.
#
# storm.sh [WAY PROCESSES PARALLEL DESCRIPTORS]…: the ways are storm.c's. `make check-storm` has larger ones.
. "$(dirname "$0")/lib.sh"
blocks=10
most_kib=$((64 << 10))

# The largest of the processes in it: the collector.
measured() { # OUT COMMAND…: its status, and KiB in $kib
    kib=$(python3 - "$@" <<'PY'
import resource, subprocess, sys
status = subprocess.call(sys.argv[2:], stdout=open(sys.argv[1], "w"), stderr=open("err", "w"))
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(status)
PY
)
}

counted_in_profiles() { # "PROFILES ALLOCATIONS FREES"
    local profile profiles=0 allocations=0 frees=0 a f
    for profile in c.*.tmk; do
        rm -f db
        "$TIDEMARK" unpack "$profile" db || fail "$profile cannot be unpacked"
        IFS='|' read -r a f <<<"$(sqlite3 db "SELECT coalesce(sum(alloc_count), 0), coalesce(sum(free_count), 0)
            FROM site JOIN path ON path.id = site.path JOIN location_frame USING (location)
            JOIN function ON function.id = location_frame.function WHERE function.name = 'torture_counted'")"
        profiles=$((profiles + (a > 0))) allocations=$((allocations + a)) frees=$((frees + f))
    done
    echo "$profiles $allocations $frees"
}

storm() { # WAY PROCESSES PARALLEL DESCRIPTORS
    local count=$2 said
    rm -rf storm && mkdir storm && cd storm || exit 1
    (ulimit -n "$4" && measured out "$TIDEMARK" record -q -o 'c.%p.tmk' "$BUILD/../torture/torture_storm" "$1" "$2" "$3"
    echo "$? $kib" >end)
    read -r status kib <end
    [ "$status" = 0 ] || fail "$*: status $status: $(head -3 err)"
    [ "$(cat out)" = "$count processes" ] || fail "$*: $(head -3 out)"
    [ ! -s err ] || fail "$*: said: $(head -3 err)"
    [ "$kib" -le $most_kib ] || fail "$*: the collector took $kib KiB"
    said=$(counted_in_profiles)
    [ "$said" = "$count $((blocks * count)) $(((blocks - 1) * count))" ] ||
        fail "$*: $said (profiles, allocations, frees) of $count processes, $blocks allocations each"
    echo "$*: $said, $kib KiB"
    cd ..
}

[ $# -gt 0 ] || set -- exec 300 4 64 fork 200 200 64
while [ $# -ge 4 ]; do
    storm "$1" "$2" "$3" "$4"
    shift 4
done
exit $failed
