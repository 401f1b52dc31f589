# Types of what is allocated: as a victim knows them, with debug information, with symbols only, and
# stripped; of what has no certain type none is said; and where nothing was read.
. "$HERE/lib.sh"

makers='vector_of_double list_of_plain circle box shared_shape unique_owner string freed_circle mixed bytes leftovers'
# The type, what says it, and blocks: of those that a function makes, the holders aside.
types_of() { # PROFILE FUNCTION
    tidemark report --json --filter "^make_$2" "$1" |
        jq -c '[.types[] | [.name, .sources[0], .metrics.alloc_count]] + [["?", .untyped.metrics.alloc_count]]'
}
all_types() { # PROFILE
    tidemark report --json "$1" | jq -c '.types | sort_by(.name)[] | [.name, .sources, .metrics.alloc_count]'
}

echo "== with debug information"
tidemark record -q -o run.tmk "$VICTIMS/types"
for maker in $makers; do
    echo "$maker: $(types_of run.tmk "$maker")"
done
echo "== with symbols"
strip -g -o symbols "$VICTIMS/types"
tidemark record -q -o symbols.tmk ./symbols
all_types symbols.tmk
echo "== stripped"
strip -o stripped "$VICTIMS/types"
tidemark record -q -o stripped.tmk ./stripped
all_types stripped.tmk
echo "== text"
tidemark report --by type -w 80 stripped.tmk | sed -n '/^Types/,/^$/p'
# Alive, block by block: how many of each.
tidemark report --by type -w 80 stripped.tmk | sed -n '/^Alive/,$p' | awk 'NR > 4 { print $5, $6 }'
echo "== names are hidden with others"
tidemark html --redact=names -o hidden.html run.tmk
grep -c 'deep::Box' hidden.html
echo "== where nothing was read"
tidemark record -q --sample=1 -o sampled.tmk "$VICTIMS/types"
tidemark report --json sampled.tmk | jq -c '[.untyped.classes_known, ([.types[].sources[]] | unique)]'
tidemark report --of mapped --json run.tmk | jq -c '[.untyped.classes_known, .types]'
echo "== of a trace that is replayed"
tidemark record -q --trace -o traced.tmk ./stripped
tidemark replay -q -o replayed.tmk traced.tmt
all_types replayed.tmk | head -1
try tidemark report --by colour run.tmk
sentence "by"
