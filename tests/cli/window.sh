# A recording that begins and ends at marks, or after a time, while the program goes on.
. "$HERE/lib.sh"
. "$HERE/commanded.sh"

is_complete() { [ "$(tidemark report --json $1 | jq -r .state)" = complete ]; }
# alloc_count, their bytes, frees, live blocks, live bytes; marks; how it ended
told() {
    tidemark report --json "$1" | jq -c '[.program.alloc_count, .program.alloc_bytes,
        .program.free_count, .program.live_count, .program.live_bytes, [.marks[]?.name],
        .meta.end]'
}

echo "--- from a mark to a mark"
commanded --start-on 'rea*' --until 'done*' -o marks.tmk
say a 10 1000
say m early done
say m ready
say h 4
say a 3 100
say t 5 50
say m ready again
say m done with it
until_true is_complete marks.tmk && [ ! -s err ] && echo "while the program runs standard error is its own"
say a 1000 1000
say f
say x 7
ended
grep -o 'recording ended at a mark (--until=done\*); the program goes on' err
told marks.tmk
tidemark report --json marks.tmk | jq -c '.meta | [.begun_on, .before_blocks, .before_bytes, .ended_on]'
words() { tidemark report "$1" | tr -s ' \n' ' '; }
words marks.tmk | grep -c '10 blocks (9.76 KiB) from before are followed'
words marks.tmk | grep -c "ran on when recording ended at mark 'done with it' (--until)"
words marks.tmk | grep -c 'left at end'

echo "--- marks that never come"
commanded --start-on nowhere --until neverever -o never.tmk
say a 10 1000
say x 3
ended
grep -c "no mark 'neverever' came: recorded to the end" err
told never.tmk
words never.tmk | grep -c "the whole run: no mark 'nowhere' ever came"

echo "--- for a time, and children that come later"
commanded --for 50ms -o for.tmk
say a 10 1000
until_true is_complete for.tmk
say a 1000 1000
say x 0
ended
grep -o 'recording ended after 50.0 ms (--for); the program goes on' err
tidemark report --json for.tmk | jq -c '[.program.alloc_count <= 10, .meta.end, .meta.ended_on]'
mkfifo go
rm -f err # the one before has said the same, and ours is emptied in the background
tidemark record --for 20ms -o 'sh.%p.tmk' sh -c 'read line <go; "$0"; exit 5' "$VICTIMS/basic" \
    >out 2>err &
until_true is_complete "sh.*.tmk"
echo >go
wait $!
echo "status $?, $(ls sh.*.tmk | wc -l) profile"

echo "--- by LD_PRELOAD"
mkfifo hand
LD_PRELOAD=$BIN/../lib/libtidemark.so TIDEMARK_OPTIONS='--until=enough -o hand.tmk' \
    "$CLI/cli_commanded" <hand >out 2>err &
exec 3>hand
printf 'a 10 1000\nm enough\n' >&3
until_true test -s hand.tmk
until_true sh -c 'tidemark report --json hand.tmk 2>/dev/null | jq -e .meta.ended_on >ended_on'
printf 'a 10 1000\nx 2\n' >&3
exec 3>&-
wait $!
echo "status $?, $(cat ended_on)"
told hand.tmk

echo "--- refused"
for options in '--for=0' '--for=soon' '--until=' '--start-on=x --trace'; do
    try tidemark record $options true
    head -1 err
done

echo "--- a program that has ended before its collector looks for the first time"
LD_PRELOAD=$CLI/libcli_hold_welcome.so tidemark record -q --for 10us --exit-wait=100ms -o late.tmk "$CLI/cli_deep_recursion" 2000
tidemark report --json late.tmk | jq -c '[.program.alloc_count < 1000, .meta.end, .meta.ended_on]'
tidemark report late.tmk | grep -o 'ran on when .*(--for)'

echo "--- a time in which nothing has begun yet: it counts from where the recorder is ready"
for try in $(seq 40); do
    rm -f short.tmk
    tidemark record --for 10us -o short.tmk "$VICTIMS/basic" >out 2>err || echo "status $?"
    [ "$(tidemark report --json short.tmk | jq -r .meta.ended_on)" = 'after 10.0 µs (--for)' ] || cat err
done
