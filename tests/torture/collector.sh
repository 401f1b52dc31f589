#!/bin/bash
# The collector is stopped, and killed, while a program allocates as fast as it can: the program's memory
# is bounded, what the chosen policy says happens, and every event is accounted for.
. "$(dirname "$0")/lib.sh"
threads=3

start() { # OPTIONS…
    rm -f counters run.tmk*
    "$TIDEMARK" record -q "$@" -o run.tmk -- "$victims/killed" $threads counters 2>err &
    recorder=$!
    disown $recorder
    until_true runs
    collector=$(collector_of $recorder)
    program=$(word 0)
    until_true counted_more_than $threads 100000
}
# Rings, call paths, and what the recorder keeps for itself: 256 KiB a thread and small change.
memory_is_bounded() {
    local kib
    kib=$(awk '/^VmRSS/ { print $2 }' "/proc/$program/status")
    [ "$kib" -lt 20000 ] || fail "$1: the program has $kib KiB"
}
stands_still() {
    local before
    before=$(counted $threads)
    sleep 0.3
    [ "$(counted $threads)" = "$before" ]
}
end_and_account() { # the program is killed, the collector completes the profile
    kill -KILL "$program" 2>/dev/null
    until_true [ ! -d "/proc/$recorder" ]
    local said number
    number=$(counted $threads)
    said=$(allocations_of run.tmk victim_counted)
    [ -z "$(query run.tmk 'SELECT 1 FROM program WHERE late_events > 0')" ] || fail "$1: late events"
    lost=$(query run.tmk "SELECT lost_events FROM program")
    case $1 in
    wait) [ "$lost" = 0 ] && [ "$said" -ge "$number" ] && [ "$said" -le $((number + threads)) ] ||
        fail "wait: $said of $number, $lost events lost" ;;
    drop) [ "$lost" -gt 0 ] && [ "$said" -lt "$number" ] && [ $((said + lost)) -ge "$number" ] ||
        fail "drop: $said of $number, $lost events lost"
        "$TIDEMARK" report run.tmk | grep -q '^  loss .*lost\|^  loss .*dropped\|^  loss  *[0-9]' ||
            fail "drop: the report does not speak of the loss: $("$TIDEMARK" report run.tmk | grep loss)" ;;
    esac
}

# --on-full=wait: the program stands still until the collector goes on; nothing is lost.
start
kill -STOP "$collector"
until_true stands_still
memory_is_bounded wait
kill -CONT "$collector"
until_true counted_more_than $threads $(($(counted $threads) + 100000))
end_and_account wait

# --on-full=drop: the program goes on, and what was dropped is counted.
start --on-full=drop
kill -STOP "$collector"
until_true counted_more_than $threads $(($(counted $threads) + 1000000))
memory_is_bounded drop
kill -CONT "$collector"
until_true counted_more_than $threads $(($(counted $threads) + 100000))
end_and_account drop

# Killed while its rings are full: nobody tells in the stream how much did not fit, and it is known all the same.
start --on-full=drop
kill -STOP "$collector"
until_true counted_more_than $threads $(($(counted $threads) + 1000000))
kill -KILL "$program"
until_true [ ! -e "/proc/$program/exe" ]
kill -CONT "$collector"
end_and_account drop

# Stopped, then killed, while all threads wait for it: they go on, unrecorded, for as long as they like.
for first in STOP KILL; do
    start
    kill -$first "$collector"
    [ $first = KILL ] || until_true stands_still
    kill -KILL "$collector" 2>/dev/null
    until_true counted_more_than $threads $(($(counted $threads) + 3000000))
    memory_is_bounded "killed after $first"
    kill_hard "$program"
    # What was written before can be read.
    if [ -s run.tmk ]; then
        "$TIDEMARK" report run.tmk >report 2>report.err || [ "$(wc -l <report.err)" = 1 ] || fail "$first: $(head -3 report.err)"
    fi
done
exit $failed
