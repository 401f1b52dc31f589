# heaptrack's format, read by heaptrack_print; and heaptrack's recordings, read by us.
. "$HERE/lib.sh"
[ -x /usr/bin/python3 ] || skip "no python3"
command -v heaptrack_print >/dev/null || skip "no heaptrack_print"
# heaptrack_gui writes beyond an array where numbers of allocations first come in another order.
in_order() { /usr/bin/python3 -c '
import sys
seen = 0
for line in open(sys.argv[1], errors="replace"):
    if line.startswith("+ "):
        number = int(line[2:], 16)
        if number > seen:
            sys.exit("allocation info %x before %x" % (number, seen))
        seen += number == seen
print("in order" if seen > 1 else "no allocations")' "$1"; }
exchanged() { /usr/bin/python3 "$HERE/exchanged.py" "$@"; }

for victim in basic cxx_new realloc; do
    echo "# $victim"
    tidemark record -q -o $victim.tmk "$VICTIMS/$victim" >/dev/null 2>&1
    tidemark export --to heaptrack $victim.tmk 2>/dev/null
    heaptrack_print $victim.heaptrack >printed 2>said || cat said
    in_order $victim.heaptrack
    exchanged heaptrack $victim.tmk printed
    tidemark import $victim.heaptrack -o $victim.back.tmk 2>/dev/null
    exchanged imported $victim.tmk $victim.back.tmk alloc_count alloc_bytes live_count live_bytes \
        at_peak_bytes at_peak_count peak_bytes temporary_count free_count 'realloc_count?' 'slack_bytes?'
done
grep -q '^victim_' printed && echo "with names"

echo "# nothing was allocated"
printf '%s\n' 'v 10400 3' 'X none' 'I 1000 10' 'c 0' 'c 1' >none.heaptrack
tidemark import none.heaptrack -o none.tmk 2>/dev/null
tidemark export --to heaptrack -o again.heaptrack none.tmk 2>/dev/null
heaptrack_print again.heaptrack 2>&1 | grep -E '^(calls|temporary)'

echo "# packed as the name says"
for ending in gz zst; do
    tidemark export --to heaptrack -o packed.$ending realloc.tmk 2>/dev/null
    heaptrack_print packed.$ending 2>/dev/null | grep '^calls to' >of_packed
    grep '^calls to' printed | cmp - of_packed && echo "the same calls"
done
gzip -dc packed.gz | cmp - realloc.heaptrack && echo "the same bytes"
tidemark export --to pprof -o once.pb.gz realloc.tmk 2>/dev/null
gzip -dc once.pb.gz | gzip -dc 2>&1 >/dev/null | grep -o 'not in gzip format'

echo "# what heaptrack recorded"
command -v heaptrack >/dev/null && heaptrack -o real "$VICTIMS/basic" >/dev/null 2>&1
file=$(ls real.* 2>/dev/null | head -1)
[ -n "$file" ] || { echo "calls"; exit; } # it cannot record here
heaptrack_print "$file" >printed 2>/dev/null
tidemark import "$file" -o real.tmk 2>/dev/null
exchanged heaptrack real.tmk printed 2>/dev/null | grep calls
