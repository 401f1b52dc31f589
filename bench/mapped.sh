#!/bin/sh
# What mappings cost: calls that map, bare and recorded, by turns; processor time of a look at 1 GiB without
# and with live blocks of some sizes; the collector's memory for each mapping that is held.
#
#   BIN=build/release/bin sh bench/mapped.sh
set -eu

. "$(dirname "$0")/lib.sh"
"${CC:-cc}" -std=gnu17 -O2 -Wall -Wextra -o "$work/map" "$root/bench/inprocess/map.c"
look=$bin/../tests/bench_look

record() {
    "$bin/tidemark" record -q -o "$work/mapped.tmk" "$@"
}
calls() { # NAME COMMAND…
    name=$1
    shift
    for what in 10 'many 30000'; do
        # shellcheck disable=SC2086
        "$@" "$work/map" $what | awk -v name="$name" '{ printf "%s %s ns, ", $0, name }'
    done
    echo
}
for turn in 1 2 3; do
    calls bare env
    calls recorded record
done

# Processes that end with their standard input.
held() { # PROGRAM…: its pid, into $pid
    rm -f "$work/end" && mkfifo "$work/end"
    "$@" <"$work/end" &
    pid=$!
    exec 3>"$work/end"
    sleep 8
}
released() {
    exec 3>&-
    wait "$pid" || true
}

held "$work/map" resident 1024
for bytes in none 4096 1024 240 100; do
    for turn in 1 2 3; do
        "$look" "$pid" blocks=$bytes | awk '/^copy/ { printf "%s + ", $3 } /^cpu/ { printf "%s ", $3 }'
    done
    echo "ms to copy live blocks of $bytes bytes and for a look at 1 GiB of them"
done
released

collector_of() { # the memory of the collector of a recording
    for child in $(pgrep -P "$1" -x tidemark-coll); do
        awk '/^RssAnon/ { print $2 * 1024 }' "/proc/$child/status"
    done
}
for count in 10 50000; do
    held "$bin/tidemark" record -q -o "$work/mapped.tmk" "$work/map" hold $count
    eval "of_$count=$(collector_of "$pid")"
    released
done
echo "$(((of_50000 - of_10) / 49990)) bytes of the collector's memory for each mapping"
