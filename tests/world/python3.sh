# python3: its own tests: a subset that needs no network and no clock
python=$(python3 -c 'import sys; print(sys.executable)')
"$python" -c 'import test.test_list' 2>/dev/null || python=/usr/bin/python3
"$python" -c 'import test.test_list' 2>/dev/null || skip "python3's tests are not installed (libpython3-testsuite)"
export PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0
for name in test_list test_dict test_set test_unicode test_json test_re test_gc test_generators test_weakref \
    test_bytes test_struct test_sqlite3 test_zlib test_bz2 test_ctypes test_threading test_fork1 test_os test_subprocess test_signal; do
    bare=$(cd "$work" && "$python" -m unittest -q "test.$name" 2>&1 </dev/null | tail -1)
    "$TIDEMARK" record -q --no-follow -o "$name.tmk" "$python" -m unittest -q "test.$name" >out 2>err </dev/null
    said=$(tail -1 err)
    [ "$said" = "$bare" ] || fail "$name: '$said', bare run '$bare': $(grep -E '^(FAIL|ERROR):' err | head -5)"
    check_account "$name"
    echo "$name: $said"
done
