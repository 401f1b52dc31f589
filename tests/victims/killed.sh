#!/bin/sh
# killed.sh RUNS THREADS VICTIM: records a victim that is killed by SIGKILL at a random time, again
# and again: every allocation that it had counted by then is in its profile. SEED repeats a run.
set -u
here=$(cd "$(dirname "$0")" && pwd)
runs=$1 threads=$2 victim=$3
seed=${SEED:-$(od -An -N2 -tu2 /dev/urandom | tr -d ' ')}
echo "SEED=$seed"
work=run/killed.$threads
rm -rf "$work"
mkdir -p "$work"
failed=0

word() { # N: the Nth uint64 of the victim's counters
    od -An -tu8 -j $((8 * $1)) -N 8 "$work/counters" | tr -d ' '
}

run=0
while [ $run -lt "$runs" ]; do
    run=$((run + 1))
    rm -f "$work"/counters "$work"/*.tmk* "$work"/*.db
    "$TIDEMARK" record -q -o "$work/killed.tmk" -- "$victim" "$threads" "$work/counters" 2>"$work/err" &
    recorder=$!
    tries=0
    until [ -s "$work/counters" ] && [ "$(word 0)" != 0 ]; do
        sleep 0.01
        tries=$((tries + 1))
        [ $tries -lt 12000 ] || { echo "run $run: the victim did not start"; cat "$work/err"; exit 1; }
    done
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    sleep "0.$(printf %03d $((seed / 65536 % 250)))"
    kill -KILL "$(word 0)"
    wait $recorder 2>/dev/null
    status=$?
    [ $status = 137 ] || { echo "run $run: exit status $status instead of 137"; failed=1; }
    counted=0 index=1
    while [ $index -le "$threads" ]; do
        counted=$((counted + $(word $((8 * index)))))
        index=$((index + 1))
    done
    echo "counted=$counted" >"$work/facts"
    "$TIDEMARK" unpack "$work/killed.tmk" "$work/killed.db" || { failed=1; continue; }
    "$here/../lib/check.sh" "$here/killed.expect" "$work/killed.db" "$threads" "$work/facts" ||
        { echo "run $run: above"; failed=1; }
done
exit $failed
