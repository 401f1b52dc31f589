# Tables, columns, kinds and limits that the documents list are those that the code has.
. "$HERE/lib.sh"

command -v zstd >/dev/null || skip "no zstd"
python3 -c 'import sqlite3' 2>/dev/null || skip "no sqlite3 for python3"
tidemark record -q -o run.tmk "$VICTIMS/basic" 1 >/dev/null
zstd -qdc run.tmk >recorded.db
tidemark unpack run.tmk unpacked.db
python3 "$HERE/docs_formats.py" "$HERE/../.." recorded.db unpacked.db
