# From one format to the next: what an importer has read an exporter writes so that the sums are the
# same when it is read again, or it refuses.
. "$HERE/lib.sh"

figures() {
    tidemark report --json "$1" | jq -c '.program | {alloc_count, alloc_bytes, live_count, live_bytes,
        at_peak_bytes}' >"$1.json"
}

for victim in realloc basic; do
    tidemark record -q --no-follow -o $victim.tmk "$VICTIMS/$victim" >/dev/null 2>&1
done
# One path, one block of 2 MiB at the peak and one of 32 KiB later: pprof keeps the bytes of the peak, not its blocks.
printf '%s\n' 'v 10400 3' 'X two' 'I 1000 0' 's 4 main' 'i 1000 0 1 0 0' 't 1 0' 'a 200000 1' 'a 8000 1' \
    'c 0' '+ 0' '- 0' '+ 1' '- 1' 'c 1' >two.heaptrack
tidemark import -o two.tmk two.heaptrack 2>/dev/null

for victim in realloc basic two; do
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
