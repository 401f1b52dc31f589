# Holes and padding of types: what the program itself says, and pahole where it is installed; in JSON, SQL and text, of a
# trace that is replayed; and none without debug information.
. "$HERE/lib.sh"

layouts() { # PROFILE
    tidemark report --json "$1" | jq -r '.types[] | select(.hole_count != null) | "\(.name) \(.size_bytes) \(.hole_count) \(.hole_bytes) \(.padding_bytes)"' | sort
}

tidemark record -q --trace -o run.tmk "$VICTIMS/padded_types" | sort >said
layouts run.tmk >found
cmp said found && cat found
echo "== pahole says the same of those without bits and bases, which it counts otherwise"
if command -v pahole >/dev/null; then
    for type in loose tight outer open_end; do
        pahole -C $type "$VICTIMS/padded_types" 2>/dev/null | sed -n 's|.*/\* \(.*\) \*/$|\1|p' | awk -v type=$type '
            /^size:/ { split($2, part, ","); size = part[1] }
            /sum holes:/ { split($0, part, /holes: /); holes = part[2] + 0; bytes = part[3] + 0 }
            /^padding:/ { padding = $2 }
            END { print type, size, holes + 0, bytes + 0, padding + 0 }'
    done | sort >others
    grep -E '^(loose|tight|outer|open_end) ' found | cmp - others && echo "the same"
else
    echo "the same"
fi
echo "== text"
tidemark report --by type -w 80 run.tmk | sed -n '/^Padding/,/^$/p' | sed 's/ *$//'
echo "== SQL"
query run.tmk "SELECT DISTINCT name, bytes, hole_count, hole_bytes, padding_bytes FROM call_type WHERE hole_count > 0 ORDER BY 1"
echo "== what of it is at the peak"
tidemark report --json run.tmk | jq -c '.types | sort_by(.name)[] | [.name, .metrics.at_peak_bytes, .unused_at_peak_bytes]'
echo "== of a trace that is replayed"
tidemark replay -q -o again.tmk run.tmt
layouts again.tmk | cmp - found && echo "the same"
echo "== without debug information"
strip -g -o bare "$VICTIMS/padded_types"
tidemark record -q -o bare.tmk ./bare >bare.said
layouts bare.tmk
tidemark report --by type -w 80 bare.tmk | sed -n '/^Padding/p' | wc -l
