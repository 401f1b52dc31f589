# The module `tidemark` of Python: regions over functions, generators, coroutines, threads and forks; marks, a
# snapshot; windows of recording. Recorded, counted, bare, and where Tidemark is not there at all.
. "$HERE/lib.sh"

share=$(dirname "$BIN")/share/tidemark/python
pythons=
for python in ${TIDEMARK_PYTHONS:-python3}; do
    python=$("$python" -c 'import ctypes, sys; print(sys.executable if (3, 11) <= sys.version_info < (3, 15) else "")' 2>/dev/null)
    pythons="$pythons $python"
done
[ -n "${pythons# }" ] && [ "$(uname -m)" = x86_64 ] || skip "no Python 3.11 to 3.14 with ctypes on x86-64"
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$share
unset TIDEMARK_API

# Blocks of 100,000 bytes of each region.
blocks() { # PROFILE
    query "$1" "SELECT region, sum(alloc_bytes) / 100000 FROM region_call_sites
        WHERE function LIKE 'take%genexpr>' GROUP BY region ORDER BY region"
}

cat >window.py <<'EOF'
import os, sys, tidemark
kept = [bytes(100000) for _ in range(5)]
for file in sys.argv[1:]:
    with tidemark.Tracker(file):
        kept += [bytes(100000) for _ in range(3)]
        child = os.fork()
        if child == 0:
            break
        os.waitpid(child, 0)
    print(file, "complete" if os.path.exists(file) and open(file, "rb").read(16)[8:] == b"TMKPACK1" else "-")
    kept += [bytes(100000) for _ in range(7)]
EOF
cat >empty.py <<'EOF'
import tidemark
for _ in range(2):
    with tidemark.Tracker(), tidemark.Tracker():
        kept = [bytes(100000) for _ in range(3)]
EOF

# What was allocated in blocks of 100,000 bytes.
large() { query "$1" "SELECT sum(alloc_bytes) / 100000 FROM call_sites WHERE function LIKE '%listcomp>' OR file LIKE '%window.py'"; }

check() { # PYTHON
    echo "--- recorded"
    try tidemark record -q -o 'run.%p.tmk' "$1" "$HERE/python_module.py"
    cat out err
    parent=run.$(cat pid).tmk
    blocks "$parent"
    tidemark report --json "$parent" | jq -c '.marks[] | select(.name != "").name'
    tidemark report --json "$parent" | jq -c '[.samples[] | select(.why == "mark") | .has_ledger // (.ledger != null)]'
    query "$parent" "SELECT name, unended_count FROM regions WHERE unended_count > 0"
    for profile in $(profiles_in run.*.session.tmk); do
        blocks "$profile"
    done

    echo "--- counted, bare, and without the library"
    try tidemark count "$1" "$HERE/python_module.py"
    cat out
    try "$1" "$HERE/python_module.py"
    cat out err
    # The loader may find one that is installed.
    sed 's/name = "libtidemark-api.so.0"/name = "libtidemark-nowhere.so.0"/' "$share/tidemark.py" >tidemark.py
    cp "$HERE/python_module.py" .
    PYTHONPATH= try "$1" python_module.py
    cat out err
    PYTHONPATH= try "$1" window.py nothing.tmk nothing.tmk
    grep -o 'Tracker records nothing: libtidemark-api.so.0 is not there' err
    rm tidemark.py
    try "$1" -W error empty.py
    cat out
    sentence 'tidemark: Tracker records nothing: it has no file. Run the program so: tidemark record '

    echo "--- a window in a bare process"
    : >window.tmk
    try "$1" window.py window.tmk
    cat out err
    ls window.tmk*
    large window.tmk
    tidemark report --json window.tmk | jq -c '[.meta.ended_on, [.marks[].name], [.regions[].name], .program.lost_events]'
    mkdir "two words"
    try "$1" window.py "two words/it's \"x\" \\.tmk"
    cat out err
    large "two words/it's \"x\" \\.tmk"
    try "$1" window.py ""
    grep -o 'Tracker records nothing: its file has no name' err
    echo mine >mine.txt
    try "$1" window.py mine.txt
    grep -o "'mine.txt' is there already and is no file of Tidemark's" err
    cat mine.txt
    try "$1" -c 'import tidemark
for each in "one.tmk", "two.tmk":
    with tidemark.Tracker(each): pass'
    sentence 'Tracker records nothing: a process has one window, and it is over'
    ls one.tmk two.tmk 2>/dev/null

    echo "--- a window under record"
    try tidemark record -q -o inside.tmk --start-on=tracker-begin --until=tracker-end "$1" window.py not.tmk
    cat out
    sentence "recorded already: 'not.tmk' is not written"
    large inside.tmk
    rm -rf ./*.tmk ./*.old "two words" mine.txt
}

for python in $pythons; do
    check "$python" >said
    [ -n "$first" ] || { cat said && first=1 && mv said first.said && continue; }
    cmp said first.said || { echo "$python:" && diff first.said said; }
done
