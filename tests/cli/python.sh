# Python beside C: what lives by line is what tracemalloc says, in each way that Python runs code; for every
# interpreter of $TIDEMARK_PYTHONS, or the one there is.
. "$HERE/lib.sh"

script=$HERE/python_lines.py
supported() {
    "$1" -c 'import sys, sysconfig; sys.exit(not ((3, 11) <= sys.version_info < (3, 15) and not sysconfig.get_config_var("Py_GIL_DISABLED")))' 2>/dev/null
}
pythons=
for python in ${TIDEMARK_PYTHONS:-python3}; do
    # A shim would be recorded too: the program that it starts is what is meant.
    python=$("$python" -c 'import sys; print(sys.executable)' 2>/dev/null) && supported "$python" && pythons="$pythons $python"
done
[ -n "$pythons" ] && [ "$(uname -m)" = x86_64 ] || skip "no Python 3.11 to 3.14 on x86-64"

# Lines whose innermost frame is that line: live blocks and bytes.
lines() { # PROFILE
    rm -f lines.db
    "$BIN/tidemark" unpack "$1" lines.db
    sqlite3 -separator ' ' lines.db "SELECT file.path, frame.line, sum(site.live_count), sum(site.live_bytes)
        FROM site JOIN path ON path.id = site.path JOIN location_frame AS frame USING (location)
        JOIN function ON function.id = frame.function JOIN file ON file.id = function.file
        WHERE frame.depth = 0 AND site.live_count > 0 GROUP BY 1, 2" | sed 's|^/.*/||' | sort
}
# The oracle has run before: its own lines are not ours.
same_lines() { # PROFILE
    lines "$1" >got
    while read -r file line count bytes; do
        grep -qx "$file $line $count $bytes" got || echo "$file:$line: tracemalloc $count $bytes, here $(grep "^$file $line " got)"
    done <want
}

# How many objects of each type there are at the end, before the interpreter lets go of them.
check_types() { # PYTHON
    PYTHONHASHSEED=0 try tidemark record -q -o types.tmk "$1" "$HERE/python_types.py"
    mv out types.want
    tidemark report --json types.tmk >types.json
    jq -r '.alive_by_type.types[] | "\(.count) \(.name)"' types.json >types.got
    local word name count
    while read -r word name count; do
        if [ "$word" = about ]; then # what else is alive is the interpreter's affair, but for the last few
            awk -v name="$name" -v count="$count" '{ got = $1; sub(/^[0-9]+ /, "") }
                $0 == name { found = 1; if (got < count - 3 || got > count + 5 + count / 50) print name ": gc has " count ", here " got }
                END { if (!found) print "no " name }' types.got
        else
            grep -qx "$name $word" types.got || echo "$word: $name, here $(grep " $word\$" types.got)"
        fi
    done <types.want
    # Nearly all of it has a type, and the line that made most of each.
    jq -c '.alive_by_type | [.bytes > 5 * .unknown_bytes, ([.types[] | select(.name == "Plain") | .most_by.function]),
        ([.types[].name] | index("keys of dicts") != null and index("items of lists") != null and index("tables of sets") != null)]' types.json
    # One line makes objects of several types: no type is said of all that it ever allocated.
    jq '[.types[] | select(.sources | tostring | test("call|frames") | not)] | length' types.json
    tidemark report --by=type types.tmk | grep -c '^Alive '
    # Who keeps it: a list and a dict of the script, not the collector's list of all objects.
    PYTHONHASHSEED=0 try tidemark record -q --held -o held.tmk "$1" -c 'kept = [("a" * 100, str(i) * 50) for i in range(20000)]
table = {i: [i] * 10 for i in range(10000)}'
    tidemark held --json held.tmk | jq -c '[.at, ([.. | objects | select((.retained_blocks // 0) > 30000 and (.retained_blocks // 0) < 45000)] | length > 0)]'
    tidemark leaks --json held.tmk | jq -r .at
    # By name, and of known sizes.
    PYTHONHASHSEED=0 try tidemark record -q --held -o holders.tmk "$1" "$HERE/python_holders.py"
    tidemark held --json holders.tmk >holders.json
    while read -r name module least most; do
        jq -r --arg name "$name" --arg of "$module" --argjson least "$least" --argjson most "$most" '[.holders[]
            | select(.parent == 0 and .kind == "module variable" and .name == $name and .of == $of) | .retained_blocks] as $blocks
            | if ($blocks | length) == 1 and $blocks[0] >= $least and $blocks[0] <= $most then empty else "\($name) of \($of): \($blocks)" end' holders.json
    done <<EOF
kept __main__ 39890 40010
table __main__ 29600 29760
root __main__ 19900 24020
seen __main__ 1900 2100
add __main__ 1500 1510
once __main__ 1200 1210
short __main__ 2735 2755
taken __main__ 5990 6010
DATA python_holders_lib 3000 3004
Base python_holders_lib 3740 3800
EOF
    tidemark report holders.tmk | grep -o 'held by *kept of __main__'
    # What nobody holds may be the collector's to find, whatever the rows are of.
    PYTHONHASHSEED=0 try tidemark record -q --held -o rings.tmk "$1" -c 'import gc
gc.disable()
for i in range(500): ring = [i]; ring.append(ring)'
    for by in holder path library type; do
        tidemark held --by=$by rings.tmk | sed -n '1s/.* by nobody/by nobody/p'
    done
    # Two runs, of which the second keeps 300 more of a class and 100 fewer of another.
    for counts in '500, 400' '800, 300'; do
        PYTHONHASHSEED=0 try tidemark record -q -o "counts.${counts%%,*}.tmk" "$1" -c "class More: pass
class Less: pass
kept = [[kind() for i in range(count)] for kind, count in zip((More, Less), ($counts))]"
    done
    tidemark diff --by=type --json counts.500.tmk counts.800.tmk | jq -c '[.types[] | select(.name == ("More", "Less")) | [.name, .count_after - .count_before]] | sort'
    tidemark diff --by=type --top=100 counts.500.tmk counts.800.tmk | awk '$NF == "More" || $NF == "Less" { print $(NF - 1), $NF }' | sort
    try tidemark diff --by=type counts.500.tmk counts.800.tmk counts.500.tmk
    sentence 'compares two recordings'
    tidemark report --by=type --top=100 types.tmk | grep -oE ' 180  Made +' | tr -s ' '
}

check() { # PYTHON
    python=$1
    check_types "$python"
    # Lines that keep something: what is asked for around them, tracemalloc asks for as well.
    PYTHONHASHSEED=0 "$python" "$script" oracle | sort >all
    for line in $(grep -n '^ .*\(keep(\|yield\|append(\|kept\[0\]\)' "$script" | cut -d: -f1); do
        grep "^python_lines.py $line " all
    done >want
    wc -l <want

    PYTHONHASHSEED=0 try tidemark record -q -o lines.tmk "$python" "$script"
    same_lines lines.tmk
    # Functions that came and went at the same places: 50 blocks of 733 bytes for each of four names.
    grep '^made-[0-3] 2 ' got
    # Instructions at the same places, and other lines.
    grep '^made-x [234] ' got
    # The path is Python's, from its module on.
    sqlite3 lines.db "WITH RECURSIVE up(path, parent, depth) AS (
        SELECT path.id, path.parent, 0 FROM site JOIN path ON path.id = site.path
            JOIN location_frame AS frame USING (location) JOIN function ON function.id = frame.function
            WHERE function.name = 'sorted_by' AND site.live_bytes > 0
        UNION ALL SELECT path.id, path.parent, depth + 1 FROM up JOIN path ON path.id = up.parent)
        SELECT group_concat(name, ' < ') FROM (SELECT DISTINCT up.depth, function.name AS name FROM up JOIN path ON path.id = up.path
            JOIN location_frame AS frame USING (location) JOIN function ON function.id = frame.function
            WHERE frame.depth = 0 ORDER BY up.depth)"
    # Above a frame of Python's there is none of the interpreter's: they stand for it.
    sqlite3 lines.db "SELECT count(*) FROM path JOIN location_frame AS frame USING (location) JOIN function ON function.id = frame.function
        JOIN path AS caller ON caller.id = path.parent JOIN location_frame AS above ON above.location = caller.location
        JOIN function AS python ON python.id = above.function JOIN file ON file.id = python.file
        WHERE function.name = '_PyEval_EvalFrameDefault' AND file.path LIKE '%.py'"

    # Whatever allocator Python is told to take.
    for allocator in malloc debug pymalloc_debug; do
        PYTHONMALLOC=$allocator PYTHONHASHSEED=0 tidemark record -q -o lines.tmk "$python" "$script"
        lines lines.tmk | awk -v line="$(grep -n 'keep(bytes(1000 + i))' "$script" | cut -d: -f1)" '$1 == "python_lines.py" && $2 == line { print $3 }'
    done

    # tracemalloc and debug hooks before us: no one calls himself, and nobody waits for his own lock.
    for before in "-X tracemalloc" "-X dev" "-X dev -X tracemalloc=5"; do
        # shellcheck disable=SC2086 # several words
        timeout 600 tidemark record -q -o lines.tmk "$python" $before "$script"
        echo "$before: status $?, $(lines lines.tmk | awk -v line="$(grep -n 'keep(bytes(1000 + i))' "$script" | cut -d: -f1)" '$1 == "python_lines.py" && $2 == line { print ($3 >= 100) }')"
    done

    # The child of a fork; a trace and what is made of it; the interpreter's own frames.
    PYTHONHASHSEED=0 tidemark record -q --separate --trace -o 'fork.%p.tmk' "$python" "$script" fork
    for profile in fork.*.tmk; do
        [ "$(query "$profile" "SELECT value FROM meta WHERE key = 'started_by'")" = fork ] || continue
        lines "$profile" | awk -v line="$(grep -n 'name number' "$script" | cut -d: -f1)" '$1 == "python_lines.py" && $2 == line { print "child", $3 }'
        lines "$profile" >live
        "$BIN/tidemark" replay -o again.tmk "${profile%.tmk}.tmt" >replay.out 2>&1 || cat replay.out
        lines again.tmk | diff live - && echo "the trace says the same"
        "$BIN/tidemark" at -n 10000 "${profile%.tmk}.tmt" 100% | grep -c ' strings$'
    done
    rm -f fork.*
    tidemark record -q --native -o native.tmk "$python" "$script"
    [ "$(query native.tmk "SELECT count(*) FROM function WHERE name = '_PyEval_EvalFrameDefault'")" -gt 0 ] && echo "with the interpreter's own"
}

# Each says the same.
for python in $pythons; do
    check "$python" >said
    [ -e first ] || { cat said && cp said first; }
    diff first said || echo "$python"
done
