# The counters of tidemark.h: bare, where libtidemark-count answers, and where the collector does,
# against what a program (counters.cpp) is known to do.
. "$HERE/lib.sh"

counters=$BIN/../tests/cli/cli_counters
library=$BIN/../lib/libtidemark-count.so

echo "--- bare"
"$counters" 3
echo "--- counted"
tidemark count -f json -o count.json "$counters" 3
jq -r '.processes[] | select(.main) | .peak_bytes > 10000000 and .peak_bytes < 10200000' count.json |
    sed 's/true/the peak is the run'"'"'s, whatever was reset/'

echo "--- preloaded, and with any number of threads"
for threads in 1 3 16; do
    TIDEMARK_COUNT_OUTPUT=line LD_PRELOAD=$library "$counters" $threads >"of.$threads"
    grep -A 4 -e '-- .* threads*$' "of.$threads" | sed 1d | head -2
    sed -n '/-- changes/,$p' "of.$threads" >"changes.$threads"
    cmp changes.1 "changes.$threads"
done

echo "--- recorded"
try tidemark record -o run.tmk "$counters" 3
grep -v -e '^  ' -e '-- child' out # which begins without any blocks there

echo "--- linked statically, and C's example"
try tidemark count -o count "$APIS/api_phases_static" 3
grep kept out
try tidemark count -o count "$APIS/api_phases" 16
cat out
