# From one format to the next: what an importer has read an exporter writes so that the sums are the
# same when it is read again, or it refuses.
. "$HERE/lib.sh"

figures() {
    tidemark report --json "$1" | jq -c '.program | {alloc_count, alloc_bytes, live_count, live_bytes,
        at_peak_bytes}' >"$1.json"
}

for victim in realloc basic freed; do
    tidemark record -q --no-follow -o $victim.tmk "$VICTIMS/$victim" >/dev/null 2>&1
    for first in pprof heaptrack massif dhat; do
        tidemark export --to $first -o file.$first $victim.tmk 2>/dev/null
        tidemark import --force -o first.tmk file.$first 2>/dev/null
        figures first.tmk
        for second in pprof heaptrack massif dhat; do
            rm -f second.* && tidemark export --to $second -o second.file first.tmk 2>said ||
                { echo "$victim $first $second: refused"; continue; }
            tidemark import -o second.tmk second.file 2>/dev/null
            figures second.tmk
            jq -r -n --slurpfile a first.tmk.json --slurpfile b second.tmk.json --arg chain "$victim $first $second" '
                [$a[0] | keys[] | select($a[0][.] != null and $b[0][.] != null)] as $both |
                [$both[] | select($a[0][.] != $b[0][.])] as $differ |
                "\($chain): " + (if ($differ | length) > 0 then
                    ($differ | map("\(.) \($a[0][.]) became \($b[0][.])") | join(", "))
                    else ($both | join(" ")) end)'
        done
    done
done
