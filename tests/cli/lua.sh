# Lua beside C: blocks of a mebibyte have the path that Lua's own debug.getinfo says, in each way that Lua runs code;
# for every interpreter of $TIDEMARK_LUAS, or those that there are. In lua itself, and in a program that loads it: in
# the child of a fork, beside threads that run Lua too, when the library was unloaded before, and on stacks of the
# program's own.
. "$HERE/lib.sh"

script=$HERE/lua_lines.lua
luas=
for lua in ${TIDEMARK_LUAS:-lua5.1 lua5.2 lua5.3 lua5.4}; do
    "$lua" -e 'os.exit(jit and 1 or 0)' 2>/dev/null && luas="$luas $lua"
done
[ -n "$luas" ] && [ "$(uname -m)" = x86_64 ] || skip "no Lua 5.1 to 5.4 on x86-64"

# Paths of blocks of a mebibyte, with how many there are, as the script prints them.
paths() { # PROFILE
    rm -f paths.db
    "$BIN/tidemark" unpack "$1" paths.db
    sqlite3 -separator ' ' paths.db "WITH RECURSIVE up(site, count, path, text) AS (
            SELECT site.path, site.alloc_bytes >> 20, site.path, '' FROM site WHERE site.alloc_bytes >= 1 << 20
            UNION ALL SELECT site, count, path.parent, text || CASE WHEN NOT coalesce(file.path LIKE '%.lua' OR file.path IN ('[C]', '[string]', 'chunk', 'later'), 0) THEN ''
                ELSE CASE WHEN text = '' THEN '' ELSE ' < ' END || function.name || CASE WHEN frame.line = 0 THEN '' ELSE ':' || frame.line END END
            FROM up JOIN path ON path.id = up.path JOIN location_frame AS frame USING (location)
                LEFT JOIN function ON function.id = frame.function LEFT JOIN file ON file.id = function.file WHERE frame.depth = 0)
        SELECT sum(count), text FROM (SELECT count, text, max(length(text)) FROM up GROUP BY site)
        WHERE text NOT LIKE 'warm:%' AND text NOT LIKE 'rep < <main>:%' AND text NOT LIKE '%<main>:2' GROUP BY text" | LC_ALL=C sort
}

check() { # NAME COMMAND…
    name=$1
    shift
    rm -f mode.*.tmk
    tidemark record -q --separate -o 'mode.%p.tmk' "$@" >said
    LC_ALL=C sort said | uniq -c | awk '{ $1 = $1; print }' | LC_ALL=C sort >want
    for profile in mode.*.tmk; do
        [ $name = child ] && [ "$(query "$profile" "SELECT value FROM meta WHERE key = 'started_by'")" != fork ] && continue
        echo "$name: $(($(wc -l <want) > 100))"
        paths "$profile" | diff - want
    done
}

mkdir files
cat >files/lua_loaded.lua <<'L'
local loaded = {}
shared_plain()
function loaded.run(f)
  f()
end
return loaded
L
echo 'shared_plain() local function done() shared_plain() end done()' >files/lua_done.lua
export LUA_LINES_FOLDER=$PWD/files

for lua in $luas; do
    check program "$lua" "$script"
    library=$(ldconfig -p | sed -n "s/.*lib$(basename "$lua")\.so\.0 .*=> //p" | head -n 1)
    for mode in thread child again stacks; do
        if [ -f "$library" ]; then
            check $mode "$CLI/cli_lua_host" "$library" "$script" $mode
        else
            echo "$mode: 1"
        fi
    done
done >result 2>&1
sort -u result

# Functions that are made, called once and forgotten have each its line, though others have their addresses later: a table
# of 40 kB each, which is two blocks.
cat >forgotten.lua <<'L'
math.randomseed(1)
local load = loadstring or load
local big = load("return {" .. string.rep("1,", 2500) .. "}", "@big.lua")
local want, kept = {}, {}
function forgotten_big() return big() end
for i = 1, 20000 do
  local lines = math.random(0, 3)
  local made = load("return function() \n" .. string.rep("\n", lines) .. string.rep("forgotten = 1; ", 12) .. "local x = forgotten_big()\n" .. string.rep("\n", 4 - lines) ..
                    "return x end", "@made.lua")()
  made()
  want[2 + lines] = (want[2 + lines] or 0) + 1
  if i % 3 == 0 then kept[#kept + 1] = string.rep("z", 100) .. i end
  if i % 50 == 0 then kept[#kept + 1] = made end
end
for line, count in pairs(want) do print("made.lua:" .. line .. " " .. count) end
L
for lua in $luas; do
    tidemark record -q -o forgotten.tmk "$lua" forgotten.lua | sort >want
    echo "$(wc -l <want) lines"
    query forgotten.tmk "WITH RECURSIVE up(count, path, text) AS (
            SELECT alloc_count / 2, path, '' FROM site WHERE size_max BETWEEN 40000 AND 41000
            UNION ALL SELECT count, path.parent, CASE WHEN file.path LIKE '%made.lua' THEN 'made.lua:' || frame.line ELSE text END
            FROM up JOIN path ON path.id = up.path LEFT JOIN location_frame AS frame USING (location)
                LEFT JOIN function ON function.id = frame.function LEFT JOIN file ON file.id = function.file)
        SELECT text || ' ' || sum(count) FROM up WHERE path = 0 AND text != '' GROUP BY text" | sort | diff - want
done >result 2>&1
sort -u result
