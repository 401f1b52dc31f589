# The ledger: what is resident at the end, by owner and by call path, of a victim that has touched
# known amounts of everything; against the victim's own mincore, and against awk on its own smaps.
. "$HERE/lib.sh"

# LOW <= VALUE <= HIGH, in bytes
within() {
    if [ "${2:-x}" -ge "$3" ] 2>/dev/null && [ "$2" -le "$4" ]; then
        echo "$1 as expected"
    else
        echo "$1: $2 is not within $3 and $4"
    fi
}
last() {
    sqlite3 all.db "SELECT $1 FROM sample WHERE id = (SELECT max(id) FROM sample)"
}
of_path() {
    sqlite3 all.db "SELECT sum($2) FROM residency_by_function
        WHERE function = '$1' AND sample = (SELECT max(id) FROM sample)"
}

export VICTIM_FACTS=facts
try tidemark record -q -o all.tmk "$VICTIMS/resident" all "$PWD/mapped" smaps
tidemark unpack all.tmk all.db
last "why = 3, has_ledger"
sqlite3 all.db "SELECT count(*) FROM meta WHERE key = 'no_ledger'"
K=1024 M=$((1024 * 1024))
page=4096

# By call path, to a page; the first half of 100 MiB is touched.
half=$(sed -n 's/^half=//p' facts)
within "touched by mincore" "$half" $((50 * M - page)) $((50 * M + page))
within "touched" "$(of_path victim_touches_half resident_bytes)" $((half - page)) $((half + page))
[ "$(of_path victim_touches_half 'resident_bytes + untouched_bytes + swapped_bytes')" = \
    $((100 * M)) ] && echo "nothing lost"

# One block of 48 bytes to a page: 5000 pages, and the one of the last block.
for column in live_count live_bytes pinning_count; do
    of_path victim_interns $column
done
within "pinned" "$(of_path victim_interns pinned_bytes)" $((4999 * 4048 + 1)) $((5001 * 4048))
within "of all" "$(last pinned_bytes)" "$(of_path victim_interns pinned_bytes)" $((5030 * 4096))

# And page by page: the 5000 are nearly free, each kept by a block of 48 bytes (the first and the last
# may have neighbours). What is pinned, and what could go back, adds up.
sqlite3 all.db "SELECT min(live_count), min(resident_bytes), max(resident_bytes)
    FROM heap_pages WHERE pinned_by = 'victim_interns'"
within "nearly free pages" "$(sqlite3 all.db "SELECT count(*) FROM heap_pages
    WHERE pinned_by = 'victim_interns' AND occupied_percent < 25")" 4999 5001
within "alone on their page" "$(sqlite3 all.db "SELECT count(*) FROM heap_pages
    WHERE pinned_by = 'victim_interns' AND live_bytes = 48 AND live_count = 1")" 4998 5001
sqlite3 all.db "SELECT sum(pinned_bytes) = (SELECT pinned_bytes FROM sample WHERE id = sample),
    sum(CASE WHEN live_count THEN 0 ELSE resident_bytes END) =
        (SELECT returnable_bytes FROM sample WHERE id = sample),
    min(bytes) = $page, max(bytes) = $page, sample = (SELECT max(id) FROM sample) FROM heap_page"
within "full pages" "$(sqlite3 all.db "SELECT count(*) FROM heap_pages
    WHERE occupied_percent = 100 AND pinned_by IS NULL")" $((half / page - 2)) $((half / page + 2))
tidemark report --show=residency all.tmk | grep -c '^  Heap in cells of 4.00 KiB: '

# By owner.
within "own mmap" "$(last mmap_bytes)" $((4 * M)) $((4 * M + 64 * K))
within "shared" "$(last shared_bytes)" $M $M
within "files" "$(last file_bytes)" $((2 * M)) $((8 * M))
within "globals" "$(last globals_bytes)" $((8 * M)) $((9 * M))
within "stacks" "$(last stack_bytes)" $M $((M + 256 * K))
within "slack" "$(last slack_bytes)" $((5000 * 4048)) $((5100 * 4096))
within "tool" "$(last tool_bytes)" 1 $((4 * M))
within "gone, in parts of 50" "$(last '50 * unexplained_bytes')" 0 "$(last resident_bytes)"
last "resident_bytes = live_touched_bytes + slack_bytes + mmap_bytes + file_bytes + stack_bytes +
    globals_bytes + shared_bytes + tool_bytes + other_bytes + unexplained_bytes"

# By mapping, against somebody else's sum.
rss=$(awk '/^Rss:/ { sum += $2 } END { print sum * 1024 }' smaps)
size=$(awk '/^Size:/ { sum += $2 } END { print sum * 1024 }' smaps)
within "awk's RSS" "$(last resident_bytes)" $((rss - 512 * K)) $((rss + 512 * K))
within "awk's size" "$(last virtual_bytes)" $((size - 4 * M)) $((size + 4 * M))
[ "$(sqlite3 all.db "SELECT sum(resident_bytes) FROM mapping
    WHERE sample = (SELECT max(id) FROM sample)")" = "$(last resident_bytes)" ] && echo "rows add up"
sqlite3 all.db "SELECT kind, count, resident_bytes FROM mapping
    WHERE path LIKE '%/mapped' AND sample = (SELECT max(id) FROM sample)"
last "minor_faults > 20000, proportional_bytes <= resident_bytes, machine_bytes > machine_available_bytes"

# By owner, by name: the sum is what is resident, to the byte.
owner() {
    sqlite3 all.db "SELECT coalesce(sum(resident_bytes), 0) FROM owners WHERE $1
        AND sample = (SELECT max(id) FROM sample)"
}
sqlite3 all.db "SELECT sample.id > 0, sum(owner.resident_bytes) - sample.resident_bytes FROM sample
    JOIN owner ON owner.sample = sample.id GROUP BY sample.id ORDER BY sample.id DESC LIMIT 1"
[ "$(owner "kind = 'blocks' AND function = 'victim_touches_half'")" = "$(of_path victim_touches_half resident_bytes)" ] &&
    echo "blocks by call path as in the residency"
within "beside kept blocks" "$(owner "kind = 'allocator' AND function = 'victim_interns'")" \
    $((4999 * 4048)) $((5001 * 4048))
within "the array" "$(owner "kind = 'globals' AND name = 'victim_global'")" $((8 * M)) $((8 * M))
within "its thread's stack" "$(owner "kind = 'stack' AND name = 'victim-stack'")" $M $((M + 64 * K))
within "the main stack" "$(owner "kind = 'stack' AND name = 'resident'")" 1 $((256 * K))
within "the file" "$(owner "name LIKE '%/mapped'")" $((2 * M)) $((2 * M))
within "what others have" "$(owner "kind = 'other'")" 0 $(($(last resident_bytes) / 200))
last "high_water_bytes >= resident_bytes * 0.99"
within "parts of the container" "$(sqlite3 all.db "SELECT sum(bytes) FROM container
    WHERE sample = (SELECT max(id) FROM sample)")" 0 "$(last 'coalesce(cgroup_bytes, 0) + (64 << 20)')"

# Pages of nothing but zeros, on request: the first half of the block is ones.
try tidemark record -q --page-content -o content.tmk "$VICTIMS/resident" all "$PWD/mapped"
query content.tmk "SELECT function, zero_bytes < 8192 FROM owners WHERE function = 'victim_touches_half'
    AND kind = 'blocks' AND sample = (SELECT max(id) FROM sample)"

# Threads and variables.
sqlite3 all.db "SELECT name FROM thread ORDER BY id"
within "the thread's stack" "$(sqlite3 all.db \
    "SELECT stack_touched_bytes FROM thread WHERE name = 'victim-stack'")" $M $((M + 64 * K))
sqlite3 all.db "SELECT name, bytes, section, file LIKE '%resident.c', line > 0 FROM variables
    WHERE name IN ('victim_global', 'victim_thread_local') ORDER BY bytes"
sqlite3 all.db "SELECT section, bytes FROM section JOIN module ON module.id = section.module
    WHERE path LIKE '%/resident' AND section = 5"

# What is taken out of the resident memory over time is what looks at the mappings have found.
try tidemark record -q --no-follow -o slow.tmk sh -c 'sleep 1; :'
tidemark unpack slow.tmk slow.db
tool=$(sqlite3 slow.db "SELECT tool_bytes FROM sample ORDER BY id DESC LIMIT 1")
within "tool over time" "$(sqlite3 slow.db "SELECT tool_max FROM timeline WHERE tool_max > 0
    ORDER BY bucket DESC LIMIT 1")" $((tool - 128 * K)) $((tool + 128 * K))

# Not wanted: no look, and no waiting at the exit.
try tidemark record -q --no-looks -o none.tmk "$VICTIMS/resident" all "$PWD/mapped"
query none.tmk "SELECT count(*) FROM sample"

# While it grows: at resident peaks, each higher by a twentieth than the one before, or by a hundredth where
# it stands for a moment, as on a busy machine; and cheap. What
# it touches during a look counts, so no rest is below 0, and a look may fall into the first step.
try tidemark record -q -o steps.tmk "$VICTIMS/resident" steps
query steps.tmk "SELECT count(*) > 0, min(has_ledger), min(50 * unexplained_bytes > resident_bytes),
        min(unexplained_bytes) >= 0,
        sum(pass_ms * (id < (SELECT max(id) FROM sample WHERE why = 1))) <
            (SELECT 2 * max(value / 100e6, min(value / 20e6, 60)) FROM meta WHERE key = 'duration_ns'),
        max(live_touched_bytes) >= 20 << 20
    FROM sample WHERE why = 1;
    SELECT count(*) FROM sample AS later JOIN sample AS earlier ON earlier.id < later.id
    WHERE later.why = 1 AND earlier.why = 1 AND
        later.resident_bytes < 1.009 * earlier.resident_bytes;
    SELECT count(DISTINCT sample) > 1 FROM residency_by_function WHERE function = 'grow_in_steps'"

# Of a sample there is no ledger, but the rest.
try tidemark record -q --sample 512K -o sample.tmk "$VICTIMS/resident" all "$PWD/mapped"
query sample.tmk "SELECT DISTINCT has_ledger, resident_bytes > 0 FROM sample;
    SELECT value LIKE 'recorded with --sample%' FROM meta WHERE key = 'no_ledger';
    SELECT count(*) FROM heap_page;
    SELECT DISTINCT sum(owner.resident_bytes) - sample.resident_bytes FROM sample
        JOIN owner ON owner.sample = sample.id GROUP BY sample.id;
    SELECT sum(resident_bytes) > 60 << 20 FROM owners
        WHERE name = 'blocks of a sample, and what is free' AND sample = (SELECT max(id) FROM sample);
    SELECT count(*) FROM owners WHERE kind = 'blocks'"

# Ends without waiting for us, again and again: what there is stands, and is not said to be the end.
for i in 1 2 3 4 5; do
    tidemark record -q -o raw.tmk "$VICTIMS/resident" raw
    query raw.tmk "SELECT count(*) FROM sample WHERE why = 3"
done | uniq
# Exits while other threads allocate.
try tidemark record -q -o spin.tmk "$VICTIMS/resident" spin
query spin.tmk "SELECT why, has_ledger, unexplained_bytes BETWEEN 0 AND resident_bytes / 50 FROM sample
    WHERE why = 3"

# The kernel lets nobody look.
nobody=
[ "$(id -u)" = 0 ] && nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
mkdir -m 777 other && cd other && mkdir bin lib && cp "$VICTIMS/resident" .
cp "$BIN/tidemark" bin && cp "$(dirname "$BIN")/lib/libtidemark.so" lib # nobody may not come there
try $nobody bin/tidemark record -q -o "$PWD/hidden.tmk" ./resident hidden "$PWD/mapped"
query hidden.tmk "SELECT resident_bytes IS NULL, has_ledger, minor_faults > 0 FROM sample WHERE why = 3;
    SELECT value LIKE '%does not let us look%' FROM meta WHERE key = 'no_ledger'"
