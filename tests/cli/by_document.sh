# Traces, profiles and session files are as their documents say: a reader that knows the documents alone reads them.
. "$HERE/lib.sh"

command -v zstd >/dev/null || skip "no zstd"
python3 -c 'import sqlite3' 2>/dev/null || skip "no sqlite3 for python3"
tidemark record -q --trace --compress=none -o run.tmk "$CLI/cli_by_document"
tidemark events --json run.tmt >events.jsonl
tidemark unpack run.tmk run.db
zstd -qdc run.tmk >recorded.db
python3 "$HERE/by_document.py" run.tmt events.jsonl run.db recorded.db
# Traces of all kinds of records, by hand, of both versions.
for version in 1 2; do
    golden=$HERE/../golden/trace-v$version.stored.tmt
    tidemark replay -q -o golden$version.tmk "$golden" 2>/dev/null
    tidemark events --json "$golden" >golden.jsonl
    tidemark unpack golden$version.tmk golden$version.db
    python3 "$HERE/by_document.py" "$golden" golden.jsonl golden$version.db
done
# Small processes are rows of a session file, but for those that a busy machine keeps alive for too long.
tidemark record -q -o many.tmk sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true $i; ls / >/dev/null; done'
python3 "$HERE/by_document.py" --session many.session.tmk
