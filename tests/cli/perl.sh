# Perl beside C: blocks of a mebibyte have the path that Perl's own caller() says, in each way that Perl runs
# code; for every interpreter of $TIDEMARK_PERLS, or the one there is.
. "$HERE/lib.sh"

script=$HERE/perl_lines.pl
supported() {
    "$1" -e 'exit !($] >= 5.028 && $] < 5.042 && length pack("P", "") == 8)' 2>/dev/null
}
perls=
for perl in ${TIDEMARK_PERLS:-perl}; do
    supported "$perl" && perls="$perls $perl"
done
[ -n "$perls" ] && [ "$(uname -m)" = x86_64 ] || skip "no Perl 5.28 to 5.40 on x86-64"

# Paths of blocks of a mebibyte, with how many there are, as the script prints them.
paths() { # PROFILE
    rm -f paths.db
    "$BIN/tidemark" unpack "$1" paths.db
    sqlite3 -separator ' ' paths.db "WITH RECURSIVE up(site, count, path, text) AS (
            SELECT site.path, site.peak_bytes >> 20, site.path, '' FROM site WHERE site.peak_bytes >= 1 << 20
            UNION ALL SELECT site, count, path.parent, text || CASE WHEN function.name IS NULL OR frame.line = 0 THEN ''
                WHEN text = '' THEN '' ELSE ' < ' END || CASE WHEN function.name IS NULL OR frame.line = 0 THEN ''
                WHEN function.name IN ('<require>', '<do>') THEN '<file>:' || frame.line ELSE function.name || ':' || frame.line END
            FROM up JOIN path ON path.id = up.path JOIN location_frame AS frame USING (location)
                LEFT JOIN function ON function.id = frame.function WHERE frame.depth = 0)
        SELECT sum(count), text FROM (SELECT count, text, max(length(text)) FROM up GROUP BY site)
        WHERE text LIKE '%:%' AND text NOT LIKE 'BEGIN:%' GROUP BY text" | sort
}
same_paths() { # PROFILE
    paths "$1" >got
    sort want | diff - got
}

check() { # PERL
    export PERL_LINES_FILE=$PWD/loaded.pl
    for mode in plain fork thread; do
        if [ $mode = thread ] && ! "$1" -e 'use threads' 2>/dev/null; then continue; fi
        rm -f mode.*.tmk
        tidemark record -q --separate -o 'mode.%p.tmk' "$1" "$script" $mode >want
        for profile in mode.*.tmk; do
            [ $mode = fork ] && [ "$(query "$profile" "SELECT value FROM meta WHERE key = 'started_by'")" != fork ] && continue
            echo "$mode: $(($(wc -l <want) > 40))"
            same_paths "$profile"
        done
    done
}

for perl in $perls; do
    check "$perl" >"result" 2>&1
    cat result
done
