# What a profile holds is in doc/SECURITY.md, all of it.
. "$HERE/lib.sh"
command -v python3 >/dev/null || skip "no python3"
python3 -c 'import sqlite3' 2>/dev/null || skip "no sqlite3 for python3"
tidemark record -q -o run.tmk "$VICTIMS/basic" 1 >/dev/null
tidemark unpack run.tmk run.db
tidemark job -o job.tmk run.tmk >/dev/null
tidemark unpack job.tmk job.db
python3 "$HERE/holds.py" "$HERE/../.." run.db job.db
