# Traces that end early: the disk is full, everything is killed.
. "$HERE/lib.sh"

# The disk is nearly full: the trace ends first, properly, which is said once. The profile on the same disk is
# whole. (trace.sh has a trace that fails alone.)
if [ "$(id -u)" = 0 ] && mkdir small && mount -t tmpfs -o size=6m tmpfs small 2>/dev/null; then
    trap 'umount small' EXIT
    try tidemark record --trace --compress=none -o small/full.tmk "$VICTIMS/crossfree" 4
    cp small/full.tm* . 2>/dev/null
else
    skip "not root: no file system to fill"
fi
grep -c "the trace small/full.tmt ended as the disk had only .* MiB left, which are kept for the profile; what came before that is in it, and the profile is whole" err || cat err
"$READ_TRACE" full.tmt | grep -E '^(damage|end|unknown)' |
    sed -E 's/after [0-9]+ whole/after N whole/'
[ "$("$READ_TRACE" full.tmt | sed -n 's/^events: //p')" -ge 1000 ] && echo "a thousand events or more"

# Everything is killed at once: what was written by then is in the trace.
tidemark record -q --trace -o dead.tmk perl -e '
    my $n = 0;
    while (1) { my @list = map { "x" x 1000 } 1 .. 100; $n++; select(undef, undef, undef, 0.001); }' &
tool=$!
disown $tool
events() { "$READ_TRACE" dead.tmt | sed -n 's/^events: //p'; }
has_tens_of_thousands() { [ "$(events)" -gt 20000 ]; }
until_true has_tens_of_thousands
program=$(pgrep -P $tool perl)
kill -9 "$(collector_of $tool)" $tool "$program"
"$READ_TRACE" dead.tmt >said
grep damage said | sed -E 's/after [0-9]+ whole/after N whole/'
has_tens_of_thousands && echo "tens of thousands of events"
grep -E '^(unknown nodes|end)' said

# A collector that is killed alone: the program does not suffer.
"$BIN/tidemark" record -q --trace -o alone.tmk sh -c 'while [ ! -e killed ]; do sleep 0.05; done; echo it went on' >out 2>/dev/null &
tool=$!
disown $tool
until_true [ -s alone.tmt ]
kill -9 "$(collector_of $tool)"
: >killed
until_true grep 'it went on' out
"$READ_TRACE" alone.tmt | grep -cE '^damage: .* cut off'
