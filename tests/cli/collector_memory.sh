# A bound of the collector's memory: exact as long as it will do, then by samples; every screen says so, and
# what was recorded exactly is followed to its end.
. "$HERE/lib.sh"
. "$HERE/commanded.sh"

echo "--- what does not go"
for options in "--collector-memory=1M" "--collector-memory=64M --trace" "--collector-memory=64M --timed"; do
    tidemark record $options true 2>&1 | head -1
done

echo "--- within the bound everything is exact"
commanded --collector-memory=1G -o exact.tmk
say a 1000 1000
say h 400
say x 0
ended
tidemark report --json exact.tmk | jq -c '[.sampled, .program.alloc_bytes_error, .meta.sample_why]'
tidemark report exact.tmk | grep -c '^  loss  *none'

echo "--- above it what is exact is followed, the rest is drawn"
commanded --collector-memory=16M -o bounded.tmk
say a 1000 1000
bounded() {
    last=$(tidemark snapshot $recorder) && tidemark report --json "$last" | jq -e '.sampled.changes | length > 0' >changed
}
blocks=1000
until bounded; do say a 100000 16; blocks=$((blocks + 100000)); done 2>/dev/null
[ $blocks -gt 100000 ] || echo "bounded at $blocks blocks"
say a 1000 100000
say x 0
ended
tidemark report --json bounded.tmk | jq -c '[.sampled.because, .sampled.changes[0].interval_bytes,
    .sampled.changes[0].from_ns > 0, (.meta.no_ledger | test("bounded")), .program.live_bytes_error > 0]'
tidemark report --json bounded.tmk | jq -c --argjson blocks $blocks '.program as $p
    | (1000000 + ($blocks - 1000) * 16 + 100000000) as $true
    | [$p.live_bytes - $true | fabs] | .[0] < 4 * $p.live_bytes_error + 3 * 524288'
tidemark report bounded.tmk | tr -s ' \n' ' ' | grep -o 'then one allocation in every 512 KiB.*(--collector-memory)'
tidemark report bounded.tmk | grep -c '^  loss  *none'
tidemark report bounded.tmk | grep '^  loss'
tidemark insight bounded.tmk | grep -o 'Recording went on by samples' | head -1
grep -c 'to keep the collector within 16.0 MiB (--collector-memory)' err
