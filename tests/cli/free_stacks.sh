# --free-stacks: where memory was freed; and what a report says of a profile without it.
. "$HERE/lib.sh"

try tidemark record -q --free-stacks -o with.tmk "$VICTIMS/freed" 2
try tidemark record -q -o without.tmk "$VICTIMS/freed" 2

# Known: a section of the usual report, and one to sort by.
try tidemark report with.tmk
grep -c '^Freed most ' out
try tidemark report --sort freed --depth 0 with.tmk
sed -n '/^Freed most/,$p' out | grep -o 'victim_[a-z_]*\|[0-9][0-9]* blocks\|50.0 % another thread.s'
try tidemark report --sort freed --filter victim_clears with.tmk
grep -c 'victim_drops' out
try tidemark report --json with.tmk
jq -c '.sections[] | select(.metric == "freed") | .sites[] | select(.function | test("victim_(drops|clears)"))
    | [.function, .value, .metrics.freed_count, .metrics.freed_elsewhere_count]' out

# Not known: no section, null, and a sentence to who asks for it.
try tidemark report without.tmk
grep -c '^Freed most ' out
try tidemark report --sort freed without.tmk
[ ! -s out ] && sentence 'record with .tidemark record --free-stacks'
try tidemark report --json without.tmk
jq -c '[.program.freed_count, .sections[0].sites[0].metrics.freed_bytes, (.sections[] | select(.metric == "freed"))]' out
query with.tmk "SELECT value FROM meta WHERE key = 'free_stacks'"
query without.tmk "SELECT count(*) FROM meta WHERE key = 'free_stacks'"
query without.tmk "SELECT count(*) FROM site WHERE freed_count IS NOT NULL"

# The last one counts; a library preloaded by hand takes it from TIDEMARK_OPTIONS.
try tidemark record -q --free-stacks --no-free-stacks -o last.tmk "$VICTIMS/freed" 1
query last.tmk "SELECT count(*) FROM meta WHERE key = 'free_stacks'"
library=$(dirname "$BIN")/lib/libtidemark.so
LD_PRELOAD=$library TIDEMARK_OPTIONS='-q --free-stacks -o hand.tmk' "$VICTIMS/freed" 1
query hand.tmk "SELECT value FROM meta WHERE key = 'free_stacks';
    SELECT freed_count > 0 FROM program"

# A child that was forked is recorded so too; a program that frees nothing freed 0, and that is known.
try tidemark record -q --free-stacks -o child.%p.tmk sh -c '/bin/true & wait'
for profile in $(profiles_in child.*.tmk); do
    query "$profile" "SELECT value, freed_count IS NULL FROM meta, program WHERE key = 'free_stacks'"
done | sort | uniq -c | sed 's/^ *[1-9][0-9]* //'
