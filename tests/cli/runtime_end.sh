# A runtime that throws away the memory of its objects loses nothing: what is lost is found before its end.
. "$HERE/lib.sh"

try tidemark record -q -o kept.tmk "$CLI/cli_runtime_end"
cat out
tidemark leaks --json kept.tmk | jq -c '[.at, .lost.blocks, .reachable.blocks >= 100]'
tidemark report kept.tmk | grep -o 'never freed.*'
tidemark insight --json kept.tmk | jq -c '[.insights[] | select(.severity == "severe" or .severity == "warning") | .id]'
try tidemark record -q -o lost.tmk "$CLI/cli_runtime_end" ten
tidemark leaks --json lost.tmk | jq -c '[.lost.blocks >= 9, .lost.bytes >= 900000]'
tidemark leaks lost.tmk | grep -o 'lose_blocks' | head -1
# So libgcrypt, by a function that does other things too.
try tidemark record -q -o secure.tmk "$CLI/cli_runtime_end" libgcrypt
tidemark leaks --json secure.tmk | jq -c '[.at, .lost.blocks >= 9 and .lost.blocks <= 10, .reachable.blocks >= 90]'
# So Perl, which frees the structure that points to all that it keeps.
try tidemark record -q -o perl.tmk perl -e 'our @kept = map { "x" x 2000 } 1 .. 1000'
tidemark leaks --json perl.tmk | jq -c '[.at, .lost.blocks, .reachable.blocks >= 1000]'
# An interpreter of a Perl thread ends with the thread, by whoever joins it: no end of the program's.
threads='threads->create(sub { 1 })->join for 1 .. 3'
if perl -Mthreads -e 1 2>/dev/null; then
    try tidemark record -q -o threads.tmk perl -Mthreads -e "$threads"
else
    cp perl.tmk threads.tmk # this Perl has none
fi
tidemark leaks --json threads.tmk | jq -c '[.at, .lost.blocks]'
query threads.tmk 'SELECT count(*) FROM sample WHERE why = 4' # PROFILE_SAMPLE_BEFORE_END
# Without looks nothing is asked, and the function runs as ever.
try tidemark record -q --no-looks -o none.tmk "$CLI/cli_runtime_end"
cat out
