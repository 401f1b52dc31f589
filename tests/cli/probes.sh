# The probes that tidemark-record(1) lists are in the library, and a debugger stops at them.
. "$HERE/lib.sh"
library="$(dirname "$BIN")/lib/libtidemark.so"
[ -f /usr/include/sys/sdt.h ] || [ -f "/usr/include/$(gcc -print-multiarch)/sys/sdt.h" ] || skip "built without sys/sdt.h"
readelf -nW "$library" | grep -A 1 'Provider: tidemark' | sed -n 's/^ *Name: *//p' | sort -u >there
sed -n '/^# PROBES/,/^# /p' "$HERE/../../man/tidemark-record.1.scd" | sed -n '/^\*/p' | tr -d '*,' | tr ' ' '\n' | sort >listed
diff listed there && wc -l <there
command -v gdb >/dev/null || skip "no gdb"
cat >commands <<'EOF'
set breakpoint pending on
set debuginfod enabled off
break -probe-stap tidemark:end
run
print $_probe_arg0
kill
EOF
TIDEMARK_OPTIONS='-q -o stopped.tmk' gdb -q -batch -nx -x commands -ex quit --args \
    env LD_PRELOAD="$library" "$VICTIMS/brief" >log 2>&1
grep -cE '^Breakpoint 1, ' log
grep -E '^\$1 = ' log || cat log
