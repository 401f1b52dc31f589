# The lists that are shipped for --allocator-functions, on the real libraries: 1000 blocks of 100 bytes and
# 1000 of 50 that the program asks for, and none of them left.
. "$HERE/lib.sh"

for list in apr talloc memkind glib libxml2; do
    "$CLI/cli_allocator_lists" $list >bare
    case $? in
    77) echo "$list: the library is not installed" >&3; continue ;;
    0) ;;
    *) echo "$list: the program fails without a recorder" ;;
    esac
    "$BIN/tidemark" record -q --trace --allocator-functions=$list -o lists.tmk "$CLI/cli_allocator_lists" $list |
        cmp - bare
    "$BIN/tidemark" events --json --stacks -k pool,free lists.tmt >events
    found=$(jq -r 'select(.kind == "pool" and (.size_bytes == 100 or .size_bytes == 50) and
        any(.frames[]; .function == "main")) | .size_bytes' events | sort -n | uniq -c | tr -s ' \n' ' ')
    [ "$found" = " 1000 50 1000 100 " ] || echo "$list: blocks of the program's are $found"
    born=$(grep -c '"kind":"pool"' events)
    ended=$(grep -c '"kind":"pool-free"' events)
    [ $((born - ended)) = 0 ] || echo "$list: of $born blocks $ended end"
    "$BIN/tidemark" report --json lists.tmk | jq -r '.unseen[] | .why'
done 3>/dev/null
echo "those that are installed are right"
