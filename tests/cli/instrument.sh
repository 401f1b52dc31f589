# Function hooks: --stacks=instrument, taken by itself where unwinding fails; call paths are those that
# unwinding finds, and stacks are as deep as the program itself has measured.
. "$HERE/lib.sh"
MODES="depth forever jumps fibers alternate threads"

# Every call path with allocations, as its functions from the outermost, and how often it was taken.
# Only the program's own: beyond main and a thread's first function the two differ.
paths() {
    query "$1" "WITH RECURSIVE own AS (
            SELECT location, group_concat(name, '<') AS names FROM (
                SELECT location, function.name AS name FROM location_frame
                JOIN function ON function.id = location_frame.function
                WHERE function.name LIKE 'victim_%' OR function.name IN ('main', 'thread', 'stays')
                ORDER BY location, depth) GROUP BY location),
        walk(site, path, names, level) AS (
            SELECT site.path, site.path, '', 0 FROM site WHERE alloc_count > 0
            UNION ALL
            SELECT site, path.parent,
                CASE WHEN level > 200 THEN walk.names
                     WHEN own.names IS NULL THEN walk.names ELSE walk.names || ' ' || own.names END,
                level + 1
            FROM walk JOIN path ON path.id = walk.path LEFT JOIN own ON own.location = path.location)
        SELECT names, sum(alloc_count) FROM (
            SELECT site AS id, names, max(level) FROM walk GROUP BY site)
        JOIN site ON site.path = id GROUP BY names ORDER BY names"
}

# Without unwind tables, hooks are used by themselves; with them, when they are asked for.
for mode in $MODES; do
    tidemark record -q --stacks=unwind -o "unwound.$mode.tmk" "$VICTIMS/hooked_told" $mode
    tidemark record -q --stacks=instrument -o "told.$mode.tmk" "$VICTIMS/hooked_told" $mode
    VICTIM_FACTS=facts.$mode tidemark record -q -o "hooked.$mode.tmk" "$VICTIMS/hooked" $mode
    paths "unwound.$mode.tmk" >unwound
    for other in told hooked; do
        paths "$other.$mode.tmk" >"$other"
        cmp -s unwound "$other" && echo "$mode: $other: the same paths" || diff unwound "$other" | head -20
    done
    [ "$(wc -l <unwound)" -gt 0 ] || echo "no paths"
done
paths hooked.jumps.tmk
paths hooked.alternate.tmk

# That they are the hooks' is seen without them: nothing can be walked.
tidemark record -q --stacks=unwind -o none.tmk "$VICTIMS/hooked" depth
echo "unwound without tables: $(paths none.tmk | grep -c main) paths from main"

# To the byte, and all of it is some function's.
for mode in $MODES running; do
    VICTIM_FACTS=facts tidemark record -q -o deep.tmk "$VICTIMS/hooked" $mode
    . ./facts
    rm facts
    tidemark report -j deep.tmk >deep.json
    jq -r --arg main "$main" --arg thread "$thread" '.stacks |
        [(.[0].bytes | tostring) == $main, (map(.bytes)[1:] | max | tostring) == (if $thread == "0" then "null" else $thread end),
         all(.path == null or (.functions | map(.bytes) | add) == .bytes)] | map(tostring) | join(" ")' deep.json |
        sed "s/^/$mode: /"
done
jq -c '.stacks[] | [.bytes > 0, .path, (.functions | length)]' deep.json | tail -1
try tidemark report --show=stacks hooked.forever.tmk
sed -n '/^Stack of/,$p' out | sed -E 's/^(Stack of) .*(at most), .*/\1 … \2/; s/[0-9.]+ ([KM]i)?B/N/g
    s/[0-9.]+ %/P/; s/[^ ]*hooked\.c:[0-9]+//; s/  +/ /g; s/ $//'
try tidemark report --show=stacks unwound.depth.tmk
grep -c 'not known to the byte' out

# A replay of the trace says the same.
tidemark record -q --trace -o traced.tmk "$VICTIMS/hooked" depth
tidemark replay -q -o again.tmk traced.tmt
for profile in traced again; do
    tidemark report -j $profile.tmk | jq -c '[.stacks[0].bytes > 40000, (.stacks[0].functions | map([.function, .frames]))]'
done | uniq -c | sed 's/^ *//'

# Cut to what is wanted.
tidemark record -q --stacks=instrument --max-depth=3 -o cut.tmk "$VICTIMS/hooked" depth
paths cut.tmk
