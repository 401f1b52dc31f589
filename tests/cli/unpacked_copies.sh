# A debug file whose sections are packed is unpacked once: its copy, unpacked, serves every later recording.
# Nobody else's directory, nobody else's file, and nothing of before the machine started.
. "$HERE/lib.sh"
command -v objcopy >/dev/null || skip "no objcopy"
command -v awk >/dev/null || skip "no awk"

{
    echo '#include <stdlib.h>'
    echo 'static void *volatile kept;'
    # A megabyte of names takes no time to compile.
    awk 'BEGIN { printf "enum filling {"; for (i = 0; i < 3000; i++) { for (s = ""; length(s) < 380;) s = s "_" i * length(s); printf " filling%s,", s }
                 print " } filled;" }'
    echo '__attribute__((noinline)) void work(void) { for (int i = 0; i < 1000; i++) kept = malloc(100); }'
    echo 'int main(void) { work(); return 0; }'
} >program.c
id=-Wl,--build-id=0x0123456789abcdef0123456789abcdef01234567
cc -g -O0 -fno-builtin $id -o whole program.c
objcopy --only-keep-debug --compress-debug-sections=zlib whole program.debug
chmod 644 program.debug
objcopy --strip-all --add-gnu-debuglink=program.debug whole program
# Those of the program; the C library's debug file may be installed too.
copies() { ls "$1" 2>/dev/null | grep ^0123 | sed "s/-$(stat -c %s program.debug)\\.debug/-BYTES.debug/"; }
names() {
    rm -f run.tmk
    tidemark record -q -o run.tmk ./program || echo "status $?"
    tidemark report --json run.tmk | grep -o '"function": "\(work\|copy\)"' | sort -u
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
LC_ALL=C sed -i 's/\x00work\x00/\x00copy\x00/' "$copy"
names
echo "== what is not whole, what others may write, what is older than its original: made anew"
truncate -s -1000 "$copy"
names
head -c "$(stat -c %s "$copy")" /dev/zero >zeros && cat zeros >"$copy"
names
LC_ALL=C sed -i 's/\x00work\x00/\x00copy\x00/' "$copy"
chmod 620 "$copy"
names
LC_ALL=C sed -i 's/\x00work\x00/\x00copy\x00/' "$copy"
chmod 644 program.debug
names
LC_ALL=C sed -i 's/\x00work\x00/\x00copy\x00/' "$copy"
echo "== of before the machine started: made anew"
touch -d 2000-01-01 "$copy"
names
copies cache

echo "== a directory with other files in it: they stay, and drafts of who was killed go"
rm "$copy"
echo mine >cache/mine.txt
echo mine >cache/0123.debug
echo mine >"cache/0123456789abcdef-12.debug.txt"
echo draft >cache/.new-0123456789abcdef-1.debug
echo draft >cache/.new-mine
touch -d 2000-01-01 cache/*.* cache/.new-*
echo draft >cache/.new-0123456789abcdef-2.debug
echo draft >cache/.new-0123456789abcdef-3.debug
touch -d '-2 minutes' cache/.new-0123456789abcdef-3.debug
names
ls -A cache | grep -v '.\{40\}'
rm cache/*.txt cache/0123.debug cache/.new-*
echo "== while somebody else makes the copy"
rm "$copy"
echo draft >"cache/.new-${copy#cache/}"
names
ls -A cache | grep -c "${copy#cache/}"
touch -d '-2 minutes' cache/.new-*
names
ls -A cache | grep "${copy#cache/}" | cut -c1-9

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
shared=/var/tmp/tidemark-cache-$(id -u)
rm -f "$shared"/0123*
(export HOME="$PWD/home" && names)
ls -A home # nobody asked for a .cache there
copies "$shared"
stat -c %a "$shared"
rm "$shared"/0123*
(unset HOME && names)
copies "$shared"
rm "$shared"/0123*
(export TIDEMARK_CACHE= && names)
copies "$shared"
mkdir -m 755 home/.cache
(export HOME="$PWD/home" && names)
copies home/.cache/tidemark
stat -c %a home/.cache home/.cache/tidemark
mkdir caches
(export XDG_CACHE_HOME="$PWD/caches" HOME="$PWD/nowhere" && names)
copies caches/tidemark

echo "== somebody else's home, with a link to a directory of ours (sudo may keep HOME)"
mkdir -p theirs/.cache ours
ln -s "$PWD/ours" theirs/.cache/tidemark
if [ "$(id -u)" = 0 ]; then
    chown -h 65534 theirs theirs/.cache theirs/.cache/tidemark
    (export HOME="$PWD/theirs" && names)
else
    (export TIDEMARK_CACHE= && names) # to become somebody else takes root
fi
ls ours

echo "== a link in the place that everybody may write into"
if unshare -m true 2>/dev/null; then
    HOME="$PWD/home/nowhere" OURS="$PWD/ours" unshare -m sh -c '
        mount -t tmpfs none /var/tmp && ln -s "$OURS" "/var/tmp/tidemark-cache-$(id -u)" &&
        tidemark record -q -o linked.tmk ./program && tidemark report --json linked.tmk' |
        grep -o '"function": "work"' | sort -u
else
    echo '"function": "work"' # to mount takes root
fi
ls ours
rm -f "$shared"/0123*

echo "== two at once"
export TIDEMARK_CACHE="$PWD/cache"
tidemark record -q -o one.tmk ./program &
tidemark record -q -o two.tmk ./program
wait
copies cache

echo "== a debug file with a split file beside it: names of that"
rm cache/*
mkdir built installed
cp program.c built/filling.c
(
    cd built
    sed -i "s/kept = malloc(100); }/inlined(); }/; 2a static inline __attribute__((always_inline)) void inlined(void) { kept = malloc(100); }" filling.c
    sed '/^enum/d' filling.c >split.c
    sed -n '/^enum/p' filling.c >names.c
    cc -g -O1 -fno-builtin -gsplit-dwarf -c split.c
    cc -g -c names.c
    cc $id -o whole split.o names.o
    objcopy --only-keep-debug --compress-debug-sections=zlib whole program.debug
    objcopy --strip-all --add-gnu-debuglink=program.debug whole program
    cp program program.debug split.dwo ../installed
)
rm -r built
for _ in 1 2; do
    tidemark record -q -o split.tmk installed/program
    tidemark report --json split.tmk | grep -o '"function": "\(work\|inlined\)"' | sort -u
    rm split.tmk
done
