# The report of a known program, and its options.
. "$HERE/lib.sh"

tidemark record -q -o r.tmk "$VICTIMS/basic" 1 >/dev/null
try tidemark report r.tmk
grep -q 'victim_spike' out && echo "the peak's call site"
grep -q 'basic\.c:[0-9]' out && echo "with file and line"
[ "$(wc -L <out)" -le 80 ] && echo "80 columns"
grep -c "$(printf '\033')" out
try tidemark report --top 1 --sort leaked r.tmk
grep -q 'victim_' out && echo "sorted by what is live"
try tidemark report --filter 'victim_zero' r.tmk
grep -q victim_zero out && ! grep -q victim_calloc out && echo "filtered"
try tidemark report --depth 1 r.tmk
try tidemark report --json r.tmk
jq -e 'type == "object"' out
grep -q victim_spike out && echo "the call site in JSON"
try tidemark report --filter '(' r.tmk
sentence 'filter|expression'
try tidemark report --sort sideways r.tmk
sentence 'sort|sideways'
# Sections on request; what was not recorded is said, and is no failure.
try tidemark report --functions --inclusive --columns mean_size r.tmk
grep -q '^ .*100 %.* main ' out && echo "main has all, inclusive"
try tidemark report --tree --width 120 r.tmk
grep -q '↓ main\|v main' out && echo "a tree from main"
try tidemark report --show all r.tmk
[ "$(wc -L <out)" -le 80 ] && echo "80 columns"
try tidemark report --json --tree r.tmk
jq '.tree.inclusive == .program.peak_bytes and ([.functions.rows[].exclusive.at_peak_bytes] | add) <= .program.peak_bytes' out
try tidemark report --show peek r.tmk
sentence 'peek'
# A column is any metric of doc/METRICS.md, not only what reports are sorted by.
try tidemark report --functions -n 100 --columns live_count,size_max,peak_ns,freed_elsewhere_count --width 140 r.tmk
grep -q ' live_count .* freed_elsewhere_count' out && echo "any metric is a column"
grep -q ' 1009 B .* victim_sizes' out && echo "with its unit"
try tidemark report --columns sideways r.tmk
sentence 'sideways'
# Of blocks that all live still no life is the longest, nor is it 0 ns.
tidemark report --functions -n 100 --columns shortest,longest --width 140 r.tmk | grep ' victim_sizes' | grep -o ' -  *- '
# To a pipe that closes early.
tidemark report r.tmk | head -1 >/dev/null
echo "status ${PIPESTATUS[0]}" | sed 's/status \(0\|141\)$/ended quietly/'
tidemark unpack r.tmk r.db && sqlite3 r.db 'SELECT count(*) > 5 FROM call_sites; PRAGMA integrity_check'
