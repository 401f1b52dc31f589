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

# Records with the options up to --, replays by one and by three threads, compares.
same() {
    local profile jobs
    rm -f ./*.tm*
    tidemark record -q --trace -o run.%p.tmk "$@" >/dev/null 2>&1
    for profile in run.*.tmk; do
        case $profile in *.replay.tmk) continue ;; esac
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
same "$VICTIMS/threads" 4 20000
same "$VICTIMS/fork"
same "$VICTIMS/dlopen"
same "$VICTIMS/regions"
same --free-stacks "$VICTIMS/freed"
same --free-stacks --timed "$VICTIMS/threads" 4 5000
same --timed "$VICTIMS/basic" 3
same --sample=4K "$VICTIMS/sampled" 2
same --embed-sources --no-looks "$VICTIMS/basic" 3
same --compress=lz4 "$VICTIMS/recursion"
# Longer than it takes until a profile is written: what was written early has an early clock.
same sh -c "for i in 1 2 3 4; do '$VICTIMS/basic' 2; sleep 1; done"

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
try tidemark replay
sentence "no trace"
try tidemark replay nowhere.tmt
sentence "nowhere.tmt"
try tidemark replay a.tmk
sentence "not a trace"
try tidemark replay --from mark:loop a.tmt
sentence "marks are not recorded yet"
try tidemark replay --to later a.tmt
sentence "no moment"

# What is cut off is replayed as far as it is there, and says so, from the files' names.
head -c $(($(stat -c %s a.tmt) - 40)) a.tmt >cut.tmt
try tidemark replay cut.tmt
sentence "cut off"
query cut.replay.tmk "SELECT key FROM meta WHERE key IN ('missing', 'named_later') ORDER BY 1"
tidemark report cut.replay.tmk | grep -c 'cut off'
