# Programs whose debug information is packed a thousand to one: what it would take is looked at before it is
# unpacked. The recording has all figures and the names that are not packed.
. "$HERE/lib.sh"
command -v python3 >/dev/null || skip "no python3"
command -v objcopy >/dev/null || skip "no objcopy"

# The most memory of the command or its children, in MiB, is below LIMIT.
below() { # LIMIT COMMAND…
    local limit=$1 most
    shift
    python3 - "$@" <<'P' >most
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=open("out", "wb"), stderr=open("err", "wb")).returncode
print("status", status, file=sys.stderr)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10)
P
    most=$(cat most)
    [ "$most" -lt "$limit" ] && echo "below $limit MiB" || echo "$most MiB, not below $limit"
}

# What a recording of PROGRAM calls the function, and what the report says of its file.
recorded() {
    rm -f run.tmk
    below 400 tidemark record -q -o run.tmk "$1" 2>&1
    tidemark report --json run.tmk | python3 -c '
import json, os, sys
told = json.load(sys.stdin)
print("all figures:", told["program"]["alloc_count"] >= 1000, "  names: work" if "\"work\"" in json.dumps(told) else "  none",
      *[m["symbols"] for m in told["modules"] if os.path.basename(m["path"]).startswith("program")])'
    tidemark report run.tmk | grep -o "debug information that would take more memory" || true
}

cat >program.c <<'EOF2'
#include <stdlib.h>
static void *volatile kept;
__attribute__((noinline)) void work(void) { for (int i = 0; i < 1000; i++) kept = malloc(100); }
int main(void) { work(); return 0; }
EOF2
cc -g -O1 -fno-builtin -Wl,--build-id=0x0123456789abcdef0123456789abcdef01234567 -o whole program.c

echo "== SHF_COMPRESSED"
python3 "$HERE/packed.py" zlib 3221225472 section
objcopy --add-section .debug_loc=section whole program.packed
python3 "$HERE/packed.py" mark program.packed .debug_loc
recorded ./program.packed
below 400 tidemark doctor ./program.packed 2>&1
grep -c "some are missing: its packed debug" out

echo "== .zdebug"
python3 "$HERE/packed.py" gnu 3221225472 section
objcopy --add-section .zdebug_loc=section whole program.gnu
recorded ./program.gnu

echo "== .gnu_debugdata"
python3 "$HERE/packed.py" xz 3221225472 section
objcopy --strip-all --add-section .gnu_debugdata=section whole program.stripped
recorded ./program.stripped

echo "== a debug file, packed itself and as a whole"
objcopy --only-keep-debug whole program.debug
objcopy --strip-all --add-gnu-debuglink=program.debug whole program.linked
python3 "$HERE/packed.py" gz 3221225472 program.debug
recorded ./program.linked
objcopy --only-keep-debug program.packed program.debug
recorded ./program.linked

echo "== functions that share a list of ranges: 20,000 times 20,000"
if [ "$(uname -m)" = x86_64 ]; then
    python3 "$HERE/ranges.py" 20000 20000 >ranges.s
    cc -o ranges ranges.s
    below 400 tidemark record -q -o ranges.tmk ./ranges 2>&1
else
    printf 'status 0\nbelow 400 MiB\n'
fi

echo "== honest ones"
for how in zlib zlib-gnu; do
    objcopy --compress-debug-sections=$how whole program.honest
    recorded ./program.honest
done
if command -v nm >/dev/null && command -v xz >/dev/null; then
    objcopy --only-keep-debug whole names && objcopy -S --remove-section .gdb_index --keep-symbol=work --keep-symbol=main names small 2>/dev/null
    xz -k small && objcopy --strip-all --add-section .gnu_debugdata=small.xz whole program.small
    recorded ./program.small
fi
