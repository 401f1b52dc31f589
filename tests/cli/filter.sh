# Call paths chosen, and passed over, by function, file and module: two halves are the whole.
. "$HERE/lib.sh"

tidemark record -q -o run.tmk "$VICTIMS/basic" 1 >/dev/null
sum() { # FILTER: bytes
    tidemark export --to folded --metric bytes --filter "$1" -o - run.tmk 2>/dev/null |
        awk '{ sum += $NF } END { print sum + 0 }'
}
all=$(tidemark report --json run.tmk | jq .program.alloc_bytes)
for filter in victim_calloc function:victim_ file:victim_ file:basic module:basic 'module:libc' \
    function:basic.c function::none 'victim_(calloc|held)' no_such_function '[!]'; do
    some=$(sum "$filter") others=$(sum "!$filter")
    [ $((some + others)) = "$all" ] && echo "$filter: $([ "$some" = 0 ] && echo none ||
        { [ "$others" = 0 ] && echo all || echo some; })"
done
tidemark report --filter '!victim_calloc' --functions run.tmk >out
grep -q victim_spike out && ! grep -q victim_calloc out && echo "the report passes over it"
try tidemark report --filter '!(' run.tmk
sentence 'expression'
