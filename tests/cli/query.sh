# SQL on a profile: what can be asked, the formats, and that nothing but reading is allowed.
. "$HERE/lib.sh"

tidemark record -q -o q.tmk "$VICTIMS/basic" 1 >/dev/null
try tidemark query q.tmk
for view in functions top_functions call_paths timeline ledger; do
    grep -qx "$view" out || echo "not listed: $view"
done
grep -A4 '^call_sites' out | grep -q 'function, file, line, path, alloc_count' || echo "call_sites: other columns, or one twice"
grep -A4 '^region_call_sites' out | grep -q 'region, function, file, line, path, alloc_count' || echo "region_call_sites: other columns"
grep ':[0-9]' out && echo "columns of one name in one table"
# Numbers among text stand where text stands.
tidemark query q.tmk "SELECT 'a' AS key, 'some text' AS value, 3 AS n UNION SELECT 'b', 7, 1234"
# Functions are the report's.
tidemark query -j q.tmk "SELECT function, at_peak_bytes, inclusive_at_peak_bytes AS inclusive
    FROM functions WHERE inclusive_at_peak_bytes > 0 ORDER BY function" >q.json
tidemark report --json --functions --top 1000 q.tmk >r.json
python3 - <<'END'
import json
asked = {f["function"]: (f["at_peak_bytes"], f["inclusive"]) for f in json.load(open("q.json"))}
rows = json.load(open("r.json"))["functions"]["rows"]
said = {f["function"]: (f["exclusive"]["at_peak_bytes"], f["inclusive"]["at_peak_bytes"])
        for f in rows if f["inclusive"]["at_peak_bytes"]}
print("as the report has it:", asked == said and len(said) > 2)
END
try tidemark query q.tmk "SELECT function, alloc_count AS n, freed_count FROM functions
    WHERE function IN ('victim_calloc', 'victim_sizes') ORDER BY n DESC"
cat out
try tidemark query -f csv q.tmk "SELECT 'a,\"b\"' AS \"x,y\", 1.5 AS z, NULL AS n, x'00ff' AS b"
tr -d '\r' <out
try tidemark query -f json q.tmk "SELECT 1 AS a, 'x' AS b; SELECT NULL AS c"
jq -c . out
try tidemark query -f jsonl q.tmk "SELECT value AS v FROM json_each('[1,2]')"
cat out
echo "SELECT sum(alloc_count) = (SELECT alloc_count FROM program) AS adds_up FROM functions" |
    tidemark query q.tmk -
# Only reading.
cp q.tmk before.tmk
for sql in "DELETE FROM site" "CREATE TABLE x(y)" "CREATE TEMP TABLE x(y)" "ATTACH 'x.db' AS x" "VACUUM INTO 'x.db'" \
    "PRAGMA journal_mode=WAL" "INSERT INTO functions(function) VALUES('x')" "DROP VIEW ledger" "BEGIN" \
    "PRAGMA writable_schema=1; UPDATE sqlite_schema SET sql=''" "SELECT load_extension('x')"; do
    try tidemark query q.tmk "$sql"
    sentence "only|read|authorized"
done
cmp q.tmk before.tmk && [ ! -e x.db ] && echo "nothing was written"
# Also what was unpacked, and a recording that goes on or was killed.
tidemark unpack q.tmk
tidemark query -f csv q.db "SELECT count(*) > 5 AS many FROM functions" | tr -d '\r'
mkdir empty
TMPDIR=$PWD/empty tidemark query -f csv q.tmk "SELECT 1 AS one" | tr -d '\r'
ls empty
try tidemark query q.tmk "SELEKT 1"
sentence "syntax"
try tidemark query q.tmk "SELECT nix FROM site"
sentence "no such column"
try tidemark query q.tmk ";"
sentence "no statement"
try tidemark query q.tmk a b
sentence "quote"
try tidemark query
sentence "no profile"
try tidemark query "$HERE/query.sh" "SELECT 1"
sentence "no tidemark profile"
TMPDIR=/nowhere try tidemark query q.tmk "SELECT 1"
sentence "TMPDIR"
tidemark query -f csv q.tmk "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT * FROM c" | head -1 | tr -d '\r'
# By a list of what is allowed, also for what the profile itself brings.
for call in "load_extension('x')" "sqlite_log(1,'x')" "fts3_tokenizer('x')" "writefile('x','y')" "readfile('/etc/passwd')" \
    "last_insert_rowid()" "randomblob(9)" "sqlite_compileoption_get(1)" "edit('x')"; do
    try tidemark query q.tmk "SELECT $call"
    sentence "authorized|no such function"
done
try tidemark query q.tmk "SELECT 1 FROM pragma_compile_options"
sentence "authorized|no such table"
try tidemark query q.tmk "SELECT length(zeroblob(900000000))"
sentence "too big"
if python3 -c 'import sqlite3' 2>/dev/null; then
    python3 - <<'END'
import shutil, sqlite3
endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) AS n FROM c"
for name, sql in (("endless.db", ["DROP VIEW top_functions", "CREATE VIEW top_functions AS " + endless]),
                  ("virtual.db", ["CREATE VIRTUAL TABLE x USING fts4(a)"])):
    shutil.copy("q.db", name)
    database = sqlite3.connect(name)
    try:
        for statement in sql:
            database.execute(statement)
    except sqlite3.OperationalError:  # no such module here
        database.executescript("PRAGMA writable_schema=1; INSERT INTO sqlite_schema VALUES"
                               "('table','x','x',0,'CREATE VIRTUAL TABLE x USING fts4(a)')")
    database.commit()
END
    try tidemark query --give-up 1 endless.db "SELECT * FROM top_functions"
    sentence "without a row"
    try tidemark query virtual.db "SELECT 1"
    sentence "virtual tables"
fi
try tidemark query --give-up 0 q.tmk "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"
sentence "no table for people"
