# Whole call paths of Python, from the block to the module, are what the interpreter itself says at that moment, in
# each way in which functions are called; for every interpreter of $TIDEMARK_PYTHONS, or the one there is.
. "$HERE/lib.sh"

pythons=
for python in ${TIDEMARK_PYTHONS:-python3}; do
    python=$("$python" -c 'import sys; print(sys.executable if (3, 11) <= sys.version_info < (3, 15) else "")' 2>/dev/null)
    pythons="$pythons $python"
done
[ -n "${pythons# }" ] && [ "$(uname -m)" = x86_64 ] || skip "no Python 3.11 to 3.14 on x86-64"

# One instruction of Python has an extension allocate, and the interpreter itself: two paths.
both() { # PYTHON
    "$1" -c 'import _json; _json.__file__' 2>/dev/null || { echo '1|1' && echo '1|0' && return; } # it is built in
    tidemark record -q -o both.tmk "$1" -c 'import json, operator, os
encode = json.encoder.encode_basestring_ascii
kept = list(map(operator.call, [encode, bytes] * 100, ["x" * 5000, 7000] * 100))
os._exit(0)'
    rm -f both.db
    tidemark unpack both.tmk both.db
    sqlite3 both.db "SELECT sum(live_count) / 100, coalesce(module.path, '') LIKE '%/_json%' AS extension FROM site
        JOIN path ON path.id = site.path JOIN location ON location.id = path.location
        LEFT JOIN module ON module.id = location.module
        WHERE live_count > 0 AND live_bytes / live_count > 4000 AND live_count >= 100 GROUP BY 2 ORDER BY 2 DESC"
}

# Each of many functions has its own blocks, also when its table has grown meanwhile.
many() { # PYTHON
    tidemark record -q -o many.tmk "$1" -c 'import os
made, kept = {}, []
for i in range(14000):
    exec(f"def f{i}(): return bytes({5000 + i})", made)
    kept.append(made[f"f{i}"]())
for i in range(14000):
    kept.append(made[f"f{i}"]())
os._exit(0)'
    rm -f many.db
    tidemark unpack many.tmk many.db
    sqlite3 many.db "SELECT count(*) FROM (SELECT 1 FROM call_sites WHERE function GLOB 'f[0-9]*' GROUP BY function
        HAVING sum(live_count) = 2 AND sum(live_bytes) = 2 * (5033 + substr(function, 2)))"
}

for python in $pythons; do
    for seed in 1 2; do
        tidemark record -q -o paths.tmk "$python" "$HERE/python_paths.py" run $seed want.json
        rm -f paths.db
        tidemark unpack paths.tmk paths.db
        "$python" "$HERE/python_paths.py" compare want.json paths.db
    done >said
    both "$python" >>said
    many "$python" >>said
    [ -e first ] || { cat said && cp said first; }
    diff first said || echo "$python"
done
