# A debug file whose sections are packed is unpacked once: its copy, unpacked, serves every later recording.
# Nobody else's directory, nobody else's file, and nothing of before the machine started.
. "$HERE/lib.sh"
command -v objcopy >/dev/null || skip "no objcopy"
command -v awk >/dev/null || skip "no awk"

{
    echo '#include <stdlib.h>'
    echo 'static void *volatile kept;'
    awk 'BEGIN { for (i = 0; i < 11500; i++) printf "int filling_%d(int a, int b) { int c = a * b; return c + %d; }\n", i, i }'
    echo '__attribute__((noinline)) void work(void) { for (int i = 0; i < 1000; i++) kept = malloc(100); }'
    echo 'int main(void) { work(); return 0; }'
} >program.c
id=-Wl,--build-id=0x0123456789abcdef0123456789abcdef01234567
cc -g -O0 -fno-builtin $id -o whole program.c
cc -g -O0 -fno-builtin $id -Dwork=copied -o other program.c
objcopy --only-keep-debug --compress-debug-sections=zlib whole program.debug
objcopy --only-keep-debug other other.debug
chmod 644 program.debug
objcopy --strip-all --add-gnu-debuglink=program.debug whole program
# Those of the program; the C library's debug file may be installed too.
copies() { ls "$1" 2>/dev/null | grep ^0123 | sed "s/-$(stat -c %s program.debug)\\.debug/-BYTES.debug/"; }
names() {
    rm -f run.tmk
    tidemark record -q -o run.tmk ./program || echo "status $?"
    tidemark report --json run.tmk | grep -o '"function": "\(work\|copied\)"' | sort -u
}

echo "== the first recording makes a copy"
export TIDEMARK_CACHE="$PWD/cache"
mkdir cache && chmod 700 cache
names
copies cache
copy=$(ls cache/0123*)
stat -c %a "$copy"
readelf -SW "$copy" 2>/dev/null | grep -c '\.debug_.* C ' || true

echo "== the next one reads it"
cp other.debug "$copy"
names
echo "== of before the machine started: made anew"
touch -d 2000-01-01 "$copy"
names
copies cache

echo "== places where none is made"
rm "$copy"
(TIDEMARK_CACHE= && names)
chmod 770 cache
names
copies cache
chmod 700 cache
(TIDEMARK_CACHE=$PWD/nowhere && names)
copies nowhere

echo "== without the variable"
unset TIDEMARK_CACHE XDG_CACHE_HOME
mkdir home
(export HOME="$PWD/home" && names)
copies home/.cache/tidemark
stat -c %a home/.cache home/.cache/tidemark
mkdir caches
(export XDG_CACHE_HOME="$PWD/caches" HOME="$PWD/nowhere" && names)
copies caches/tidemark

echo "== two at once"
export TIDEMARK_CACHE="$PWD/cache"
tidemark record -q -o one.tmk ./program &
tidemark record -q -o two.tmk ./program
wait
copies cache
