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

# The same words in commands that compare, annotate and look for what is lost.
for filter in function:victim_calloc '!function:victim_calloc'; do
    tidemark annotate --json --metric bytes --filter "$filter" run.tmk | jq -r .totals.bytes
    tidemark diff --json --sort bytes --filter "$filter" run.tmk run.tmk | jq -r .total.before
done | paste -sd ' ' | awk -v all="$all" '{ if ($1 == $2 && $3 == $4 && $1 + $3 == all && $1 > 0) print "halves again"; else print }'
tidemark annotate --filter victim_calloc run.tmk | grep -o 'only call paths.*'
tidemark diff --filter victim_calloc run.tmk run.tmk | grep -o 'those that pass the filter victim_calloc'
tidemark record -q -o lost.tmk "$VICTIMS/lost" lose_list >/dev/null
lost() { tidemark leaks --json "$@" lost.tmk | jq -c '[.lost.blocks + .indirect.blocks, .elsewhere.blocks]'; }
echo "lost: $(lost) $(lost --filter lose_list) $(lost --filter '!lose_list')"
tidemark leaks --filter '!lose_list' lost.tmk | sed -n '1p; s/^ *[0-9.]* [A-Zi]* in [0-9]* blocks* lost elsewhere/lost elsewhere/p'
for command in "annotate" "leaks" "diff run.tmk"; do
    try tidemark $command --filter '!(' run.tmk
    sentence 'expression'
done
try tidemark diff --by type --filter a run.tmk run.tmk
sentence 'types'

# A moment of a trace, and findings.
tidemark record -q --trace -o at.tmk "$VICTIMS/basic" 1 >/dev/null
at() { tidemark at --json --filter "$1" at.tmt peak | jq .filtered_bytes; }
whole=$(tidemark at --json at.tmt peak | jq .at.live_bytes)
[ "$(at victim_held)" -gt 0 ] && [ $(($(at victim_held) + $(at '!victim_held'))) = "$whole" ] && echo "at: halves again"
tidemark at --filter function:no_such at.tmt peak | grep filter
tidemark at --filter '!victim_held' at.tmt peak | grep -c victim_held
found() { tidemark insight --json --filter "$1" at.tmk | jq -c '[(.insights | length), .elsewhere]'; }
echo "insights: $(found function:victim_) $(found function:no_such)"
tidemark insight --filter no_such at.tmk | grep 'pass the filter'
for command in "at at.tmt peak" "insight at.tmk"; do
    try tidemark $command --filter '!('
    sentence 'expression'
done
