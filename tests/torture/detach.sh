#!/bin/bash
# A program that loads and unloads libraries in several threads is attached to and detached from, again
# and again: no relocated word may lead into the recorder afterwards. ROUNDS makes more of it.
. "$(dirname "$0")/lib.sh"
[ "$(uname -m)" = x86_64 ] || skip "attaching is written for x86-64"
rounds=${ROUNDS:-12}
for number in 1 2 3; do cp "$BUILD/../torture/torture_gamma.so" "library$number.so"; done

coproc PROGRAM { exec "$BUILD/../torture/torture_closing" "$work"/library?.so 2>program.err; }
pid=$PROGRAM_PID to=${PROGRAM[1]} from=${PROGRAM[0]}
words() { # how many lead into the recorder
    echo words >&"$to"
    read -r -t 60 answer unloads <&"$from" || { fail "the program says no more: $(cat program.err)"; exit 1; }
}
is_attached() { grep -q 'being recorded' attach.err; }
is_hooked() { words && [ "$answer" != 0 ]; }
# Attaching is still at it for a moment: it waits for modules that are being loaded.
detaches() { "$TIDEMARK" attach --detach "$pid" 2>detach.err || ! grep -q 'being traced' detach.err; }

hooked=0 left=0 before=0
for ((round = 1; round <= rounds; round++)); do
    rm -f attach.err # the round before has said the same
    "$TIDEMARK" attach -o "round.tmk" "$pid" 2>attach.err {to}>&- {from}<&- &
    attached=$!
    until_true is_attached || { cat attach.err; break; }
    until_true is_hooked || { kill_hard $attached; exit 1; }
    hooked=$((hooked + 1))
    until_true detaches || { kill_hard $attached; exit 1; }
    [ ! -s detach.err ] || { fail "detach: $(cat detach.err)"; kill_hard $attached; break; }
    wait $attached || fail "attach: $(cat attach.err)"
    words
    [ "$answer" = 0 ] || { left=$((left + 1)); echo "round $round: $answer words"; }
    rm -f round.tmk*
done
[ "$hooked" = "$rounds" ] || fail "attached without an effect: $hooked of $rounds"
[ "$left" = 0 ] || fail "$left of $rounds detaches left words that lead into the recorder"
words
[ "$unloads" -gt "$rounds" ] || fail "only $unloads libraries were unloaded"
eval "exec $to>&-"
wait "$pid" || fail "the program: $? $(cat program.err)"
exit $failed
