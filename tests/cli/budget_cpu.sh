# A cap on what recording costs: exact as long as it is cheap, then by samples, and always right about what
# was recorded exactly.
. "$HERE/lib.sh"
. "$HERE/commanded.sh"

figures() {
    tidemark report --json "$1" | jq -c '.program | [.alloc_count, .alloc_bytes, .live_count, .live_bytes,
        .foreign_frees, .replaced_blocks, .malformed_events]'
}

echo "--- within the budget everything is recorded, and known to be"
commanded --budget-cpu 100% -o exact.tmk
say a 1000 1000
say t 500 10
say h 400
say x 0
ended
figures exact.tmk
tidemark report --json exact.tmk | jq -c '[.sampled, .program.peak_bytes, .program.temporary_count, .meta.budget_millionths]'
tidemark report exact.tmk | tr -s ' \n' ' ' | grep -c '100 % of the program.s processor time at most (--budget-cpu); .* and everything was recorded'
tidemark report --json exact.tmk | jq -c '[.samples[] | select(.why == "end") | .ledger != null]'

echo "--- above it what was recorded before is followed to its end"
commanded --budget-cpu 0.01% -o capped.tmk
changed() {
    last=$(tidemark snapshot $recorder) && tidemark report --json "$last" | jq -e '.sampled.changes | length > 0' >changed
}
say a 1000 1000
until changed; do say t 20000 100; done 2>/dev/null
exact=$(tidemark report --json "$last" | jq .program.live_count)
say t 1000000 100
say h 400
say x 0
ended
echo "$exact blocks then"
figures capped.tmk | jq -c '.[2:]'
tidemark report --json capped.tmk | jq -c '[.sampled.changes[0].interval_bytes, .program.live_bytes_error,
    .sampled.changes[0].from_ns > 0, (.meta.no_ledger | test("budget")), .meta.sample_bytes]'
# The truth lies within the bar and what no sample tells of; more than 6 sigma off is no accident.
tidemark report --json capped.tmk | jq -c '.program as $p | .sampled.interval_bytes as $b | $p.peak_bytes >= 1000000
    and $p.size_max == 1000 and $p.alloc_bytes > 1000000
    and $p.alloc_bytes < 1000000 + 100 * 100 * 1000000 + 20 * $b'
tidemark report capped.tmk | tr -s ' \n' ' ' | grep -c 'exact until .*, then one allocation in every 512 KiB'

echo "--- children of a fork, and threads"
try tidemark record --budget-cpu 0.01% -q -o 'fork.%p.tmk' "$VICTIMS/fork"
try tidemark record --budget-cpu 100% -q -o threads.tmk "$VICTIMS/manythreads"
tidemark record -q -o plain.tmk "$VICTIMS/manythreads" >/dev/null
[ "$(figures threads.tmk)" = "$(figures plain.tmk)" ] && echo "the same figures"

echo "--- refused"
for options in '--budget-cpu=lots' '--budget-cpu=0' '--budget-cpu=1% --sample=512K' '--budget-cpu=1% --trace' \
    '--budget-cpu=1% --timed'; do
    try tidemark record $options true
    head -1 err
done
