#!/bin/bash
# A service with many threads is attached to and detached from again and again: it goes on answering, and
# takes no more mappings, bytes, descriptors and threads than after the second time. CYCLES makes more of it
# (`make check-attach`: 200).
. "$(dirname "$0")/lib.sh"
[ "$(uname -m)" = x86_64 ] || skip "attaching is written for x86-64"
cycles=${CYCLES:-12}

coproc SERVICE { exec "$BUILD/../torture/torture_service" 24 2>&1; }
pid=$SERVICE_PID to=${SERVICE[1]} from=${SERVICE[0]}
answers() {
    echo question >&"$to"
    read -r -t 60 answer <&"$from" && [ "$answer" = here ]
}
is_recorded() { grep -q 'being recorded' attach.err; }
taken() { # mappings, virtual KiB, descriptors, threads
    echo "$(wc -l <"/proc/$pid/maps") $(awk '/^VmSize/ {print $2}' "/proc/$pid/status")" \
        "$(find "/proc/$pid/fd" -mindepth 1 | wc -l) $(find "/proc/$pid/task" -mindepth 1 -maxdepth 1 | wc -l)"
}

# Until it has begun it may be this shell still, in the middle of its execve().
answers || { fail "it does not begin: '$answer'"; exit 1; }
second=
for ((cycle = 1; cycle <= cycles; cycle++)); do
    rm -f attach.err # the time before has said the same
    "$TIDEMARK" attach -o cycle.tmk "$pid" 2>attach.err {to}>&- {from}<&- &
    attached=$!
    until_true is_recorded || { cat attach.err; kill_hard $attached; break; }
    if [ $cycle = 1 ]; then # Ctrl-Z: the service would wait for who is stopped
        kill -TSTP $attached
        kill -TTOU $attached
        answers && grep -q '^State:.T' /proc/$attached/status && fail "attach can be stopped"
    fi
    answers || { fail "recorded the ${cycle}th time: '$answer'"; break; }
    "$TIDEMARK" attach --detach "$pid" {to}>&- {from}<&- || fail "the ${cycle}th detach failed"
    wait $attached || fail "the ${cycle}th time: $(cat attach.err)"
    answers || { fail "after $cycle cycles: '$answer'"; break; }
    [ $cycle != 2 ] || second=$(taken)
    rm -f cycle.tmk*
done
[ -n "$second" ] || exit 1
last=$(taken)
echo "mappings, KiB, descriptors, threads: $second; after $cycles cycles: $last"
read -r mappings bytes descriptors threads <<<"$second"
read -r mappings_now bytes_now descriptors_now threads_now <<<"$last"
# Which threads had an event, and how deep they were, differs a little from cycle to cycle.
[ "$mappings_now" -le $((mappings + 12)) ] || fail "mappings: $mappings -> $mappings_now"
[ "$bytes_now" -le $((bytes + 4096)) ] || fail "KiB: $bytes -> $bytes_now"
[ "$descriptors_now $threads_now" = "$descriptors $threads" ] || fail "descriptors or threads"
eval "exec $to>&-"
wait "$pid" || fail "the service ended with $?"
exit $failed
