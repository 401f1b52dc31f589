# Callgrind's and Massif's formats, read by valgrind's own tools.
. "$HERE/lib.sh"
[ -x /usr/bin/python3 ] || skip "no python3"
command -v callgrind_annotate >/dev/null && command -v ms_print >/dev/null || skip "no valgrind"
exchanged() { /usr/bin/python3 "$HERE/exchanged.py" "$@"; }

tidemark record -q -o run.tmk "$VICTIMS/basic" >/dev/null 2>&1
tidemark export --to callgrind run.tmk 2>/dev/null
tidemark export --to massif run.tmk 2>/dev/null

echo "# callgrind_annotate"
callgrind_annotate --threshold=100 --show=at_peak_bytes,live_bytes,alloc_count run.callgrind >own 2>warned
callgrind_annotate --threshold=100 --inclusive=yes --show=alloc_count --sort=alloc_count run.callgrind >inclusive 2>>warned
cat warned
exchanged callgrind run.tmk own inclusive
grep -q 'basic.c:victim_small' own && echo "names and files"

echo "# ms_print"
ms_print run.massif >printed 2>warned && exchanged massif run.tmk printed
cat warned
grep -q 'victim_small (.*basic.c:' printed && echo "with names and lines"

echo "# and back"
tidemark import run.massif -o back.tmk 2>/dev/null
exchanged imported run.tmk back.tmk at_peak_bytes peak_bytes 'alloc_count?' 'live_bytes?' 'at_peak_count?'
