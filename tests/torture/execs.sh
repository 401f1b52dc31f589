#!/bin/bash
# A process executes one program after the other while it is attached to: what was found out about the
# one must not be used in the next. Each attach records or says why not, in one sentence, and the process
# ends as it would have alone.
. "$(dirname "$0")/lib.sh"
[ "$(uname -m)" = x86_64 ] || skip "attaching is written for x86-64"
rounds=${ROUNDS:-10} recorded=0 refused=0

for ((round = 1; round <= rounds; round++)); do
    "$BUILD/../torture/torture_execs" 150 $round &
    pid=$!
    while kill -0 "$pid" 2>/dev/null && ! grep -q 'zombie' "/proc/$pid/status" 2>/dev/null; do
        if "$TIDEMARK" attach -q -o round.tmk --for=10s "$pid" 2>attach.err; then
            recorded=$((recorded + 1))
        else
            refused=$((refused + 1))
            grep -q 'no memory for a stack\|went wrong' attach.err && fail "round $round: $(cat attach.err)"
            [ "$(wc -l <attach.err)" = 1 ] || fail "round $round: not one sentence: $(cat attach.err)"
        fi
        rm -f round.tmk*
    done
    wait "$pid" || fail "round $round: the process ended with $?"
done
echo "$recorded recorded, $refused refused"
[ $((recorded + refused)) -gt 0 ] || fail "nobody came in time"
exit $failed
