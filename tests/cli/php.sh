# PHP beside C: blocks of a mebibyte have the path that PHP's own debug_backtrace() says, in each way that PHP
# runs code; for every interpreter of $TIDEMARK_PHPS, or the one there is.
. "$HERE/lib.sh"

script=$HERE/php_lines.php
supported() {
    "$1" -r 'exit(PHP_VERSION_ID >= 80100 && PHP_VERSION_ID < 80500 ? PHP_ZTS : 1);' 2>/dev/null
}
phps=
for php in ${TIDEMARK_PHPS:-php}; do
    supported "$php" && phps="$phps $php"
done
[ -n "$phps" ] && [ "$(uname -m)" = x86_64 ] || skip "no PHP 8.1 to 8.4 without threads on x86-64"

# Paths of blocks of a mebibyte, with how many there are, as the script prints them.
paths() { # PROFILE
    rm -f paths.db
    "$BIN/tidemark" unpack "$1" paths.db
    sqlite3 -separator ' ' paths.db "WITH RECURSIVE up(site, count, path, text) AS (
            SELECT site.path, site.peak_bytes >> 20, site.path, '' FROM site WHERE site.peak_bytes >= 1 << 20
            UNION ALL SELECT site, count, path.parent, text || CASE WHEN function.file IS NULL OR function.name = 'str_repeat' THEN ''
                ELSE CASE WHEN text = '' THEN '' ELSE ' < ' END || function.name || CASE WHEN frame.line = 0 THEN '' ELSE ':' || frame.line END END
            FROM up JOIN path ON path.id = up.path JOIN location_frame AS frame USING (location)
                LEFT JOIN function ON function.id = frame.function WHERE frame.depth = 0)
        SELECT sum(count), text FROM (SELECT count, text, max(length(text)) FROM up GROUP BY site)
        WHERE text LIKE '%:%' GROUP BY text" | LC_ALL=C sort
}

cp "$script" script.php && touch -d '1 hour ago' script.php
check() { # PHP
    export PHP_LINES_FILE=$PWD/loaded.php USE_ZEND_ALLOC=0
    local options
    for mode in plain fork jit; do
        options=
        if [ $mode = jit ]; then # opcache leaves files alone that are younger than two seconds
            options="-d opcache.enable_cli=1 -d opcache.jit_buffer_size=32M -d opcache.jit=function"
            "$1" $options -r 'exit((int) !(opcache_get_status()["jit"]["on"] ?? false));' 2>/dev/null || {
                echo "jit: 1"
                continue
            }
        fi
        if [ $mode = fork ] && ! "$1" -r 'exit((int) !function_exists("pcntl_fork"));'; then
            echo "fork: 1"
            continue
        fi
        rm -f mode.*.tmk
        tidemark record -q --separate -o 'mode.%p.tmk' "$1" $options script.php ${mode/jit/plain} | LC_ALL=C sort >want
        for profile in mode.*.tmk; do
            [ $mode = fork ] && [ "$(query "$profile" "SELECT value FROM meta WHERE key = 'started_by'")" != fork ] && continue
            echo "$mode: $(($(wc -l <want) > 100))"
            paths "$profile" | diff - want
        done
    done
    unset USE_ZEND_ALLOC
}

for php in $phps; do
    check "$php" >result 2>&1
    cat result
done

# PHP's own allocator asks for chunks of 2 MiB, and for what is larger by itself: the line that asks for one has it.
printf '<?php\nfunction big() {\n    return str_repeat("x", 8 << 20);\n}\n$kept = big();\n' >big.php
asked() { # OPTION…
    rm -f big.tmk
    tidemark record -q "$@" -o big.tmk "${phps##* }" big.php
    query big.tmk "WITH RECURSIVE up(path, text) AS (
            SELECT path, '' FROM mapped_site WHERE peak_bytes > 7 << 20
            UNION ALL SELECT path.parent, text || CASE WHEN file.path LIKE '%/big.php' OR file.path LIKE '[%' THEN ' ' || function.name || ':' || frame.line
                WHEN function.name = 'zend_execute' THEN ' ' || function.name ELSE '' END
            FROM up JOIN path ON path.id = up.path JOIN location_frame AS frame USING (location)
                LEFT JOIN function ON function.id = frame.function LEFT JOIN file ON file.id = function.file)
        SELECT DISTINCT text FROM up WHERE path = 0"
}
asked
asked --native
