# The lists that are shipped for --allocator-functions, on the real libraries: 1000 blocks of 100 bytes and
# 1000 of 50 that the program asks for, and none of them left. What cannot be tried says why in `left_out`.
. "$HERE/lib.sh"

for list in apr talloc memkind glib libxml2; do
    "$CLI/cli_allocator_lists" $list >bare
    case $? in
    77) echo "$list: the library is not installed" >&3; continue ;;
    0) ;;
    *) echo "$list: the program fails without a recorder" ;;
    esac
    "$BIN/tidemark" record -q --trace --allocator-functions=$list -o lists.tmk "$CLI/cli_allocator_lists" $list |
        cmp - bare
    "$BIN/tidemark" events --json --stacks -k pool,free lists.tmt >events
    found=$(jq -r 'select(.kind == "pool" and (.size_bytes == 100 or .size_bytes == 50) and
        any(.frames[]; .function == "main")) | .size_bytes' events | sort -n | uniq -c | tr -s ' \n' ' ')
    [ "$found" = " 1000 50 1000 100 " ] || echo "$list: blocks of the program's are $found"
    born=$(grep -c '"kind":"pool"' events)
    ended=$(grep -c '"kind":"pool-free"' events)
    [ $((born - ended)) = 0 ] || echo "$list: of $born blocks $ended end"
    "$BIN/tidemark" report --json lists.tmk | jq -r '.unseen[] | .why'
done 3>/dev/null

# Programs that have such an allocator. Of a list that cannot be tried it is said why.
as=
blocks() { # LIST COMMAND…: how many blocks there are of each size, into sizes
    local list=$1
    shift
    $as "$BIN/tidemark" record -q --no-follow --trace "--allocator-functions=$list" -o program.tmk "$@" >out 2>err
    "$BIN/tidemark" events --json -k pool,free program.tmt >events
    jq -r 'select(.kind == "pool") | .size_bytes' events | sort -n | uniq -c | awk '{ print $2, $1 }' >sizes
    "$BIN/tidemark" report --json program.tmk | jq -r '.unseen[] | .why'
}
has() { # SIZE: a thousand
    grep -qx "$1 1000" sizes || echo "$2: of $1 bytes there are $(sed -n "s/^$1 //p" sizes), not 1000"
}

try_lua() {
    local archive
    archive=$(ls /usr/lib/*/liblua5.4.a 2>/dev/null | head -1)
    [ -n "$archive" ] && cc -I/usr/include/lua5.4 -o lua "$HERE/allocator_lists_lua.c" "$archive" -lm -ldl 2>/dev/null ||
        { echo "lua: liblua5.4-dev is not installed" >&3; return; }
    blocks lua ./lua
    has 1032 lua && has 532 lua
    [ "$(grep -c '"kind":"pool"' events)" = "$(grep -c '"kind":"pool-free"' events)" ] || echo "lua: blocks are left"
}

# A thousand variables more are a thousand declarations more, and a thousand names.
try_ggc() {
    local compiler
    compiler=$(cc -print-prog-name=cc1)
    [ -x "$compiler" ] && nm -D "$compiler" 2>/dev/null | grep -q ggc_internal_alloc ||
        { echo "ggc: there is no cc1 with symbols" >&3; return; }
    seq 100 | sed 's/.*/int v&;/' >few.c
    seq 1100 | sed 's/.*/int v&;/' >many.c
    blocks ggc "$compiler" -quiet few.c -o /dev/null
    mv sizes few
    blocks ggc "$compiler" -quiet many.c -o /dev/null
    [ "$(join <(sort few) <(sort sizes) | awk '$3 - $2 == 1000' | wc -l)" -ge 2 ] ||
        echo "ggc: a thousand variables are not a thousand blocks"
}

# The names of a thousand locations, each with an end.
try_nginx() {
    command -v nginx >/dev/null && nm -D "$(command -v nginx)" | grep -q ' ngx_palloc$' ||
        { echo "nginx: it is not installed, or has no symbols" >&3; return; }
    {
        echo "daemon off; master_process off; pid nginx.pid; error_log stderr; events {} http { access_log off;"
        echo "server { listen 127.0.0.1:1;"
        for i in $(seq 1000); do printf 'location /%0300d { return 200; }\n' "$i"; done
        echo "} }"
    } >nginx.conf
    blocks nginx nginx -t -p "$PWD" -c "$PWD/nginx.conf" -e stderr
    has 302 nginx
}

# A thousand texts of 12345 bytes, each behind a length of four.
try_postgres() {
    local bin as=
    bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -1)
    [ -x "$bin/initdb" ] || { echo "postgres: it is not installed" >&3; return; }
    [ "$(id -u)" = 0 ] && as="setpriv --reuid=65534 --regid=65534 --clear-groups"
    chmod 777 . && rm -f program.* && $as test -x "$BIN/tidemark" && $as "$bin/initdb" -D data -U t -A trust --no-sync >/dev/null 2>&1 ||
        { echo "postgres: initdb cannot run here" >&3; return; }
    echo "SELECT count(length(repeat('x', 12345 + i - i))) FROM generate_series(1, 1000) i;" >question
    blocks postgres "$bin/postgres" --single -D data template1 <question
    has 12349 postgres
}

# Not in Debian: UMPIRE says where it is installed.
try_umpire() {
    [ -n "${UMPIRE:-}" ] && c++ -std=c++17 -I"$UMPIRE/include" -o umpire "$HERE/allocator_lists_umpire.cpp" \
        -L"$UMPIRE/lib" -Wl,-rpath,"$UMPIRE/lib" -lumpire -lcamp -lfmt 2>err ||
        { echo "umpire: it is not installed (UMPIRE=DIRECTORY)" >&3; return; }
    blocks umpire ./umpire
    has 1000 umpire && has 700 umpire
    ! grep -qvE '^(500|700|1000) ' sizes || echo "umpire: a pool's own memory counts beside its blocks"
    [ "$("$BIN/tidemark" events --json -k malloc program.tmt | jq 'select(.size_bytes == 500) | .kind' | wc -l)" = 1000 ] ||
        echo "umpire: blocks of the host's memory are not malloc's"
    [ "$(grep -c '"kind":"pool"' events)" = "$(grep -c '"kind":"pool-free"' events)" ] || echo "umpire: blocks are left"
}

for list in lua ggc nginx postgres umpire; do
    try_$list
done 3>left_out
echo "those that are installed are right"
