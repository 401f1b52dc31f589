# A trace replayed is the profile that its recording wrote: every table of it, row by row.
. "$HERE/lib.sh"

# Says what differs between two profiles.
compare() {
    rm -f a.db b.db
    tidemark unpack "$1" a.db && tidemark unpack "$2" b.db || return
    local table sql
    for table in $(sqlite3 a.db "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"); do
        sql="ATTACH 'b.db' AS b; SELECT (SELECT count(*) FROM main.$table) - (SELECT count(*) FROM b.$table),
            (SELECT count(*) FROM (SELECT * FROM main.$table EXCEPT SELECT * FROM b.$table)),
            (SELECT count(*) FROM (SELECT * FROM b.$table EXCEPT SELECT * FROM main.$table))"
        [ "$(sqlite3 a.db "$sql")" = "0|0|0" ] || echo "$table: $(sqlite3 a.db "$sql")"
    done
    rm -f a.db b.db
}

# Records, replays by one and by three threads, compares.
same() {
    local profile jobs
    rm -f ./*.tm*
    tidemark record -q --trace -o run.%p.tmk "$@" >/dev/null 2>&1
    for profile in run.*[0-9].tmk; do
        for jobs in 1 3; do
            tidemark replay -q --jobs $jobs "${profile%.tmk}.tmt" || return
            compare "$profile" "${profile%.tmk}.replay.tmk"
        done
    done
    echo "same: $(echo "$*" | sed "s#$VICTIMS/##")"
}

same "$VICTIMS/basic" 3
same "$VICTIMS/realloc"
same "$VICTIMS/aligned"
same "$VICTIMS/cxx_new"
same "$VICTIMS/crossfree"
same "$VICTIMS/manythreads" 4
same "$VICTIMS/fork"
same "$VICTIMS/dlopen"
same "$VICTIMS/regions"
same --free-stacks "$VICTIMS/freed"
same --free-stacks --timed "$VICTIMS/crossfree"
same --timed "$VICTIMS/basic" 3
same --sample=4K "$VICTIMS/sampled" 2
same --embed-sources --no-looks "$VICTIMS/basic" 3
same --compress=lz4 "$VICTIMS/recursion"
# Longer than it takes until a profile is written: what was written early has an early clock.
same sh -c "for i in 1 2 3 4; do '$VICTIMS/basic' 2; sleep 1; done"

# Parts of a run add up to it; what lives goes from one to the next.
rm -f ./*.tm*
tidemark record -q --trace -o run.tmk "$VICTIMS/crossfree" >/dev/null
try tidemark replay -q --to '#160001' -o 1.tmk run.tmt
try tidemark replay -q --from '#160001' --to '#320001' -o 2.tmk run.tmt
try tidemark replay -q --from '#0' -o whole.tmk run.tmt
tidemark report 1.tmk | grep -oE '^  (left at end|never freed)'
tidemark insight --json 1.tmk | grep -c 'a part of a run: what is left'
for what in alloc_count alloc_bytes free_count events; do
    first=$(query 1.tmk "SELECT $what FROM program")
    split=$(query 1.tmk "SELECT events FROM program")
    tidemark replay -q --from "#$split" -o 3.tmk run.tmt
    [ $((first + $(query 3.tmk "SELECT $what FROM program"))) = "$(query run.tmk "SELECT $what FROM program")" ] &&
        echo "$what adds up"
done
[ "$(query 3.tmk "SELECT live_count, live_bytes FROM program")" = "$(query run.tmk "SELECT live_count, live_bytes FROM program")" ] &&
    echo "what lives at the end lives"
[ "$(query whole.tmk "SELECT sum(alloc_bytes), sum(lifetime_sum_ns) > 0 FROM site")" = "$(query run.tmk "SELECT sum(alloc_bytes), sum(lifetime_sum_ns) > 0 FROM site")" ] &&
    echo "a window over everything has everything"
try tidemark replay -q --to peak -o p.tmk run.tmt
[ "$(query p.tmk "SELECT live_bytes FROM program")" = "$(query run.tmk "SELECT peak_bytes FROM program")" ] &&
    echo "up to the peak is at the peak"
tidemark report p.tmk | grep -c '^  window .* of the recording: only what happened then$'
try tidemark replay --from 60% --to 20% run.tmt
sentence "ends before it begins"

# Where it goes.
rm -f ./*.tm*
tidemark record -q --trace -o a.tmk "$VICTIMS/basic" 3 >/dev/null
cp a.tmt b.tmt
try tidemark replay a.tmt b.tmt
sed 's/: .*//' out
mkdir d
try tidemark replay -q -o d a.tmt b.tmt
ls d
try tidemark replay -q -o c.tmk a.tmt
try tidemark replay -q -o c.tmk a.tmt
ls c.tmk*
try tidemark replay -o c.tmk a.tmt b.tmt
sentence "directory"
try tidemark replay -q -o a.tmt a.tmt
sentence "take the place of the trace a.tmt"
ln -s a.tmt link
try tidemark replay -q -o link a.tmt
sentence "take the place of the trace a.tmt"
mkdir e
cp a.tmt e
try tidemark replay -q -o d a.tmt e/a.tmt
sentence "the profiles of a.tmt and e/a.tmt would both be d/a.replay.tmk"
ls d e
try tidemark replay -q --to '#18446744073709551615' -o last.tmk a.tmt
[ "$(query last.tmk "SELECT events FROM program")" = "$(query a.tmk "SELECT events FROM program")" ] &&
    echo "an event that never came is after all"
try tidemark replay
sentence "no trace"
try tidemark replay nowhere.tmt
sentence "nowhere.tmt"
try tidemark replay a.tmk
sentence "not a trace"
try tidemark replay --from mark:loop a.tmt
sentence "no mark 'loop' in the trace"
try tidemark replay --to later a.tmt
sentence "no moment"

# What is cut off is replayed as far as it is there, and says so, from the files' names.
head -c $(($(stat -c %s a.tmt) - 40)) a.tmt >cut.tmt
try tidemark replay cut.tmt
sentence "cut off"
query cut.replay.tmk "SELECT key FROM meta WHERE key IN ('missing', 'named_later') ORDER BY 1"
tidemark report cut.replay.tmk | grep -c 'cut.tmt is cut off'

# Without the supplement the names are those of the files. It is the last but one block; the index
# behind it may look like another.
perl -e 'local $/; open F, "<", "a.tmt"; binmode F; $_ = <F>; $at = -1; $n = 0;
    while (($at = index($_, "TMTB", $at + 1)) >= 0) { $cut //= $at if unpack("V", substr($_, $at + 4, 4)) == 6 }
    print substr($_, 0, $cut)' >early.tmt
try tidemark replay early.tmt
sentence "cut off"
query early.replay.tmk "SELECT key FROM meta WHERE key IN ('missing', 'named_later', 'program', 'end') ORDER BY 1"
tidemark report early.replay.tmk | tr -s '\n ' ' ' | grep -c "recording's names: they come from the files"
tidemark report early.replay.tmk | grep -q 'victim_spike' && echo "named"
query early.replay.tmk "SELECT alloc_count, live_count FROM program"
query a.tmk "SELECT alloc_count, live_count FROM program"

# A block of events that is damaged costs what was in it, and is said. The largest one: which kind
# of block lies where depends on the clock.
perl -e 'local $/; open F, "<", "a.tmt"; binmode F; $_ = <F>; my (@at, $from, $most); my $at = -1;
    push @at, $at while ($at = index($_, "TMTB", $at + 1)) >= 0;
    for my $i (0 .. $#at - 1) {
        my $bytes = $at[$i + 1] - $at[$i];
        next if unpack("V", substr($_, $at[$i] + 4, 4)) != 1 || $bytes <= $most;
        ($from, $most) = ($at[$i], $bytes);
    }
    substr($_, $from + $most / 2, 8) = "XXXXXXXX"; print' >bad.tmt
try tidemark replay bad.tmt
sentence "damaged"
tidemark report bad.replay.tmk | grep -c 'is damaged'
