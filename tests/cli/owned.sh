# Whose the resident pages are, page by page: every kind of range, and every way in which a part of it goes.
. "$HERE/lib.sh"

# Of each function: pages resident at the end; of its mappings: made, mapped, reserved.
owned() { # PROFILE LIKE
    rm -f "$1.db"
    "$BIN/tidemark" unpack "$1" "$1.db"
    sqlite3 -separator ' ' "$1.db" "SELECT function, sum(resident_bytes) / 4096.0 || ' of', kind FROM owners
        WHERE sample = (SELECT max(id) FROM sample) AND function LIKE '$2' AND kind <> 'allocator' GROUP BY function, kind;
        SELECT function.name, 'made', sum(alloc_count), 'live', sum(live_bytes) / 4096, 'reserved',
            sum(reserved_bytes) / 4096
        FROM mapped_site JOIN path ON path.id = mapped_site.path JOIN location_frame USING (location)
        JOIN function ON function.id = location_frame.function
        WHERE depth = 0 AND function.name LIKE '$2' GROUP BY function.name"
    sqlite3 "$1.db" "SELECT 'off by', sum(owner.resident_bytes) - sample.resident_bytes FROM sample
        JOIN owner ON owner.sample = sample.id GROUP BY sample.id ORDER BY sample.id DESC LIMIT 1"
}

echo "ranges:"
try tidemark record -q -o ranges.tmk "$VICTIMS/owned" ranges "$PWD/file"
cat out err
owned ranges.tmk 'own%'

echo "storm:"
try tidemark record -q -o storm.tmk "$VICTIMS/owned" storm
owned storm.tmk 'own%'

# No call path leads through the program's code: its variables have names all the same.
echo "static:"
try tidemark record -q -o static.tmk "$VICTIMS/owned" static
query static.tmk "SELECT name, resident_bytes FROM owners WHERE sample = (SELECT max(id) FROM sample)
    AND kind = 'globals' ORDER BY resident_bytes DESC LIMIT 1"
