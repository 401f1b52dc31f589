# What a pointer leads to that has something else in its highest bits can be reached; one whose lowest
# bit is set leads into the middle; one that is turned by XOR is none.
. "$HERE/lib.sh"

echo "== lost | possible | reachable"
for each in highest_bits not_a_number lowest_bit turned_by_xor; do
    tidemark record -q -o run.tmk "$VICTIMS/disguised" "$each"
    echo "$each: $(tidemark leaks --json run.tmk | jq -r '"\(.lost.blocks + .indirect.blocks) | \(.possible.blocks) | \(.reachable.blocks)"')"
done
