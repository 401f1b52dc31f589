# Programs written for malloc_count, stack_count, memprofile and malloc_profile, linked with ours.
. "$HERE/lib.sh"
programs=$BIN/../tests/cli

"$programs/cli_drop_in_count" 2>err
sed 's/[0-9,]\+/N/g' err
(ulimit -s unlimited && "$programs/cli_drop_in_count" 2>/dev/null | grep '^main')
(ulimit -s 512 && "$programs/cli_drop_in_count" 2>/dev/null | grep '^main')

echo "--- stacks of 16 KiB and more"
"$programs/cli_stacks" 2>/dev/null && echo "as deep as they went"
(ulimit -s unlimited && "$programs/cli_stacks" 2>/dev/null) && echo "as deep as they went"

echo "--- MemProfile"
"$programs/cli_drop_in_profile" 2>err
grep -v exiting err
# Line by line as the original's rule has them; the stack is as deep as each implementation makes it.
paste rule.txt ours.txt | awk 'NF != 4 || $2 - $4 > 2000 || $4 - $2 > 2000 { print "not the same: " $0 } END { print NR " lines by the rule" }'
awk 'NF == 0 { breaks++; next } NF != 2 || $1 !~ /^[0-9.e+-]+$/ || $2 !~ /^[0-9]+$/ { print "not a line: " $0 }
     $1 < before { print "time goes back" } { before = $1; n++; if ($2 > most) most = $2; last = $2 }
     END { print breaks " break"; print (n > 30 ? "lines" : "too few lines: " n)
           print (most > 1048576 && most < 2400000 ? "peak" : "peak is " most); print (last < 70000 ? "ends low" : "ends at " last) }' plain.txt
sed 's/ts=[0-9.e+-]*/ts=T/; s/\(mem=41943\)[0-9]*/\1…/; s/mem=[0-9]\{1,5\}$/mem=little/; s/\(mem=419[45]\)[0-9]*/\1…/' function.txt | sort | uniq -c | awk '{ $1 = ""; print }'
command -v gnuplot >/dev/null && gnuplot -e 'set terminal dumb; plot "plain.txt" using 1:2 with lines' >plot 2>&1 && [ "$(wc -l <plot)" -lt 10 ] && cat plot

echo "--- regions"
"$programs/cli_drop_in_regions" >out
sed -n '/BeginRegion/s/:.*//p; /^parallel\|^transactional/p' out
awk 'NF != 6 { print "not a line: " $0 } END { print (NR > 0 ? "six columns" : "nothing") }' regions.dat

echo "--- examples/four_maps.cpp"
"$programs/cli_four_maps" 50000 2>err | sed 's/ *[0-9.]* bytes.*//' | sort
tidemark plot four_maps-*.txt -o four_maps.svg 2>/dev/null
for map in map unordered vector deque; do
    grep -c "<title>four_maps-$map" four_maps.svg
done
if command -v gnuplot >/dev/null; then
    rm four_maps.svg
    gnuplot "$HERE/../../examples/four_maps.gp" 2>&1
fi
grep -c '</svg>' four_maps.svg
# The page's figures: a node of std::map has 40 bytes; a vector that doubles for a moment has old and new.
awk '$2 > most { most = $2 } END { print (most >= 50000 * 40 && most < 50000 * 41 + 9000 ? "40 bytes a pair" : "not " most) }' four_maps-map.txt
awk '$2 > most { most = $2 } END { print (most >= 98304 * 8 && most < 98304 * 8 + 9000 ? "65536 and 32768 pairs" : "not " most) }' four_maps-vector.txt

echo "--- what the libraries offer, beside malloc and its family and the operators"
family=" $(sed -n 's/^[A-Z_]*(\([A-Za-z0-9_]*\), [a-z ]*counters.*/\1/p' "$HERE/../../src/inprocess/interpose/functions.def" | tr '\n' ' ')"
for library in count malloc-count malloc-profile; do
    echo "$library:"
    nm -D --defined-only "$BIN/../lib/libtidemark-$library.so" | awk -v family="$family" \
        'index(family, " " $3 " ") { found++; next } { print "  " $3 }
         END { all = split(family, names); print (found == all ? "  and all of functions.def" : "  and " found " of " all) }' | LC_ALL=C sort
done
