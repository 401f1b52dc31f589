# Files that are no profile, or a damaged or a newer one: one sentence each, never a crash.
. "$HERE/lib.sh"

look() { # WHAT FILE PATTERN
    tidemark report "$2" >out 2>err
    status=$?
    printf '%s: ' "$1"
    if [ $status = 0 ] || [ $status -ge 126 ]; then echo "status $status"; fi
    [ -s out ] && echo "printed something"
    sentence "$3"
}
tidemark record -q -o good.tmk "$VICTIMS/basic" 1 >/dev/null
tidemark unpack good.tmk good.db

look "not there" none.tmk "none.tmk"
mkdir folder.tmk
look "a directory" folder.tmk "folder.tmk"
: >empty.tmk
look "empty" empty.tmk "empty.tmk"
echo "just some text, not a profile at all" >text.tmk
look "text" text.tmk "text.tmk"
head -c 100000 /dev/urandom >noise.tmk
look "noise" noise.tmk "noise.tmk"
head -c $(($(wc -c <good.tmk) / 2)) good.tmk >half.tmk
look "half of a packed one" half.tmk "half.tmk"
head -c $(($(wc -c <good.db) / 2)) good.db >half.db
look "half of a plain one" half.db "half.db"
sqlite3 foreign.db 'CREATE TABLE cats(name)'
look "another database" foreign.db "foreign.db"
cp good.db newer.db
sqlite3 newer.db "UPDATE meta SET value = 99 WHERE key LIKE '%version%' AND value = 1; PRAGMA user_version = 99;"
look "a newer one" newer.db "newer"

try tidemark unpack good.tmk good.db
sentence "good.db"
try tidemark unpack text.tmk other.db
sentence "text.tmk"
ls other.db 2>/dev/null
try tidemark report
sentence "file|FILE|profile"

# Damage anywhere: report ends with a sentence or a report, never by a signal.
size=$(wc -c <good.db)
for at in 0 16 20 24 28 96 100 105 200 4096 4100 8192 $((size / 3)) $((size / 2)) $((size - 100)); do
    cp good.db damaged.db
    printf '\377\377\377\377\377\377\377\377' | dd of=damaged.db bs=1 seek=$at conv=notrunc 2>/dev/null
    tidemark report damaged.db >out 2>err
    status=$?
    [ $status -lt 126 ] || echo "damaged at $at: status $status"
done
size=$(wc -c <good.tmk)
for at in 0 4 8 12 20 $((size / 3)) $((size / 2)) $((size - 10)); do
    cp good.tmk damaged.tmk
    printf '\377\377\377\377\377\377\377\377' | dd of=damaged.tmk bs=1 seek=$at conv=notrunc 2>/dev/null
    tidemark report damaged.tmk >out 2>err
    status=$?
    [ $status -lt 126 ] || echo "packed, damaged at $at: status $status"
done
