# What programs say of themselves: from C, C++, Fortran and Python, bare and recorded, with any number
# of threads; and the symbols that the library may have, for ever.
. "$HERE/lib.sh"

echo "--- symbols"
nm -D --defined-only "$API" | sed 's/^[0-9a-f]* //' | sort

# Of a region: name, beginnings, those without an end, blocks, bytes, alive, temporary.
regions() {
    tidemark report --json "$1" | jq -r '.regions[] | [.name, .entered_count, .unended_count,
        .total.alloc_count, .total.alloc_bytes, .total.live_count, .total.live_bytes,
        .total.temporary_count] | map(tostring) | join(" ")' | sort
}

echo "--- bare"
"$APIS/api_phases" 2
"$APIS/api_phases_static" 2
"$APIS/api_arena"

for threads in 1 3 16; do
    echo "--- $threads threads"
    try tidemark record --trace -o "p$threads.tmk" "$APIS/api_phases" $threads
    grep -v '^  ' out
    regions "p$threads.tmk"
done

echo "--- against the profile"
tidemark report --json p3.tmk | jq -c '[.marks[] | [.kind, .name]]'
tidemark report --json p3.tmk | jq -c '[.samples[] | select(.why == "mark") | .has_ledger // (.ledger != null)] | length'
tidemark report --json --region parallel p3.tmk | jq -c '.program | [.alloc_count, .alloc_bytes, .live_bytes]'
tidemark report --json --region parallel p3.tmk | jq -c '.meta.region'
of_region=$(tidemark report --json --region parallel p3.tmk | jq .program.alloc_bytes)
[ "$(tidemark annotate --json --metric bytes --region parallel p3.tmk | jq .totals.bytes)" = "$of_region" ] &&
    [ "$(tidemark diff --json --sort bytes --region parallel p3.tmk p3.tmk | jq .total.after)" = "$of_region" ] &&
    echo "the same by line and in a comparison"
try tidemark report --region nix p3.tmk
sentence "no region 'nix'.*parallel"
tidemark report --show regions p3.tmk | grep -c 'parallel (1 without an end)'
# A region's peak is its own; who held it is known of the program's alone.
tidemark report --region scratch p3.tmk | grep -c "^\(Alive\|Held\) at the peak"
tidemark report --region scratch p3.tmk | grep -o "^Alive at the program's peak"

query p3.tmk "SELECT name, alloc_count, alloc_bytes, live_count FROM regions ORDER BY name"
query p3.tmk "SELECT count(*) FROM region_call_sites WHERE region = 'scratch' AND function = 'work'"

echo "--- the trace knows the same"
tidemark replay -o r3.tmk p3.tmt >/dev/null 2>&1
regions p3.tmk >a
regions r3.tmk >b
cmp a b && echo "the same regions"
[ "$(tidemark at p3.tmt 'mark:paused once' --json | jq .at.live_bytes)" = \
    "$(tidemark report --json p3.tmk | jq '.marks[] | select(.name == "paused once").live_bytes')" ] &&
    echo "the same bytes at a mark"
try tidemark at p3.tmt mark:nowhere
sentence "no mark 'nowhere'.*start, paused once, now, end"
tidemark replay --from 'mark:paused once' --to mark:end -o w.tmk p3.tmt >/dev/null 2>&1
tidemark report --json w.tmk | jq -c '[.marks[].name]'
tidemark events p3.tmt --kind mark,region --thread "$(tidemark report --json p3.tmk | jq '.threads[0].tid')" |
    sed 's/.*\(mark\|region-begin\|region-end\) *//'

echo "--- a sample"
try tidemark record --sample=16K -o s.tmk "$APIS/api_phases" 3
tidemark report --json s.tmk | jq -c '[.regions[] | .name] | sort'

echo "--- static, C++, Fortran, Python"
try tidemark record -o static.tmk "$APIS/api_phases_static" 3
regions static.tmk | grep parallel
try tidemark record -o arena.tmk "$APIS/api_arena"
grep -c 'tidemark ### current [0-9,]*, peak [0-9,]*, total [0-9,]*, count [0-9]*$' out
regions arena.tmk
tidemark report --json arena.tmk | jq -c '[.threads[].pool_count] | add'
tidemark report --json arena.tmk | jq -c '.program | [.foreign_frees, .replaced_blocks]'
if [ -x "$APIS/api_fortran" ]; then
    try tidemark record -o fortran.tmk "$APIS/api_fortran"
    regions fortran.tmk
else
    printf 'status 0\nsetup 1 0 1 2000000 0 0 0\nsolve 1 0 1 8000 0 0 1\n' # no compiler
fi
export TIDEMARK_API=$API
python=$(python3 -c 'import sys; print(sys.executable)') # not a script that starts it
try tidemark record -o python.tmk "$python" "$HERE/../../examples/api/regions.py"
cat out
regions python.tmk | awk '{ print $1, $2, $3, ($5 >= 3000000) }'
