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

# By size, thread and age where the figures exist, several at once, and a sentence where they do not.
cat >sizes.c <<'P'
#include <stdlib.h>
static void *volatile kept[60];
__attribute__((noinline)) static void *small(int i) { return kept[i] = malloc(1000 + i); }
__attribute__((noinline)) static void *large(int i) { return kept[i] = malloc(100000 + i); }
int main(void)
{
    for (int i = 0; i < 20; i++)
        small(i), large(20 + i);
    return 0;
}
P
cc -g -O1 -o sizes sizes.c
tidemark record -q --trace --held -o sizes.tmk ./sizes
sized() { tidemark report --json --sort=count --filter "$1" sizes.tmk | jq -rc '[.sections[0].sites[] | select(.function != "?") | [.function, .metrics.alloc_count]]'; }
for filter in 'size:>=100000' 'size:<=1000' 'size:>100019' '!size:>=100000 & function:small|large' 'size:>1K & !large' 'size:>500 & size:<90K & small'; do
    echo "$filter: $(sized "$filter")"
done
count() { tidemark "$@" sizes.tmt --json | grep -c '"function"'; }
echo "blocks: $(count blocks --filter 'size:>=100030 & large') $(count blocks --filter '!size:>=100030 & large') $(count blocks --filter 'small & thread:1' --top 0) $(count blocks --filter 'small & !thread:1' --top 0) $(count blocks --filter 'small & age:>=0s') $(count blocks --filter 'small & age:>1h')"
echo "events: $(count events --filter 'small & size:<1005') $(count events --filter 'small & !thread:1')"
while read -r command; do
    try tidemark $command
    sentence filter
done <<'P'
report --filter thread:1 sizes.tmk
annotate --filter age:>1s sizes.tmk
leaks --filter region:a sizes.tmk
at --filter size:>1K sizes.tmt peak
events --filter age:>1s sizes.tmt
blocks --filter region:a sizes.tmt
report --filter size:64K sizes.tmk
report --filter !region:a sizes.tmk
check --budget b.toml --update --filter a sizes.tmk
held --by library --filter a sizes.tmk
P
printf '[program]\nlive = "1 MB"\n' >b.toml
for filter in large small no_such; do
    tidemark check -b b.toml --filter $filter --json sizes.tmk | jq -c '[.filter, .kept, .verdicts[0].value]'
done
held() { tidemark held --json --by path "$@" sizes.tmk | jq -c '[.holders[].function] | sort'; }
echo "held: $(held) $(held --filter small) $(held --filter '!small')"
tidemark held --filter small sizes.tmk | grep -c -e 'pass the filter small' -e ' small '
tidemark html --filter 'small|a&"b' -o page.html sizes.tmk 2>said
grep -o 'data-search="[^"]*"' page.html
# The page's field takes the same terms.
for filter in 'small & !large' 'small & size:>1K' region:solve; do
    tidemark html --force --filter "$filter" -o both.html sizes.tmk 2>said
    grep -o 'data-search="[^"]*"' both.html
done
for filter in 'small & age:>1s' thread:1; do
    try tidemark html --filter "$filter" -o other.html sizes.tmk
    sentence 'single blocks, not of call paths'
done
[ ! -e other.html ] && echo "no page"
