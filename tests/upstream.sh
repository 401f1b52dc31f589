#!/bin/bash
# upstream.sh DIR…: upstream's own test programs and plot scripts with Tidemark's drop-in libraries in place of the originals, against
# the originals themselves. DIR is the user's copy of
#
#   malloc_count    github.com/bingmann/malloc_count                test-malloc_count, test-memprofile
#   stx-btree       github.com/bingmann/stx-btree                   memprofile/ (six containers, forked)
#   malloc_profile  github.com/baldas/tm-study-malloc               tools/malloc_profile with benchmarks/stamp/trunk
#
# Nothing is fetched, nothing of DIR is changed, and nothing of it is kept. BUILD is a build of Tidemark (default: build/release beside this
# file). Ends with 0 if all that was found is right, with 77 if nothing was found.
set -u
top=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD:-$top/build/release}
lib=$build/lib
include=$top/include/tidemark
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
found=0 wrong=0

say() { # WHAT SHELL-CONDITION
    if eval "$2"; then echo "right  $1"; else echo "WRONG  $1" && wrong=$((wrong + 1)); fi
}
ours() { echo "-I $include/$1 -L $lib -Wl,-rpath,$lib -Wl,--no-as-needed -ltidemark-${1//_/-}"; }
most() { awk '$2 > most { most = $2 } END { print most + 0 }' "$1"; }
near() { awk -v a="$1" -v b="$2" -v by="$3" 'BEGIN { exit !(a - b <= by && b - a <= by) }'; }
plots() { # SCRIPT: what it draws is there
    command -v gnuplot >/dev/null || return 0
    (cp "$1" script && gnuplot script) >/dev/null 2>&1 && [ -s memprofile.pdf ] && [ "$(head -c 4 memprofile.pdf)" = %PDF ]
}

# The originals' callback writes a line, for which today's glibc allocates a buffer, which calls the callback again, for ever. So
# their files are given a buffer beforehand. And they count the end of their own file as a free of the program's, so that it is kept.
cat >buffered.c <<'END'
#include <stdio.h>
FILE *__real_fopen(const char *, const char *);
FILE *__wrap_fopen(const char *name, const char *mode)
{
    static char buffer[BUFSIZ];
    FILE *file = __real_fopen(name, mode);
    if (file)
        setvbuf(file, buffer, _IOFBF, sizeof buffer);
    return file;
}
int __wrap_fclose(FILE *file)
{
    return fflush(file);
}
END
gcc -fPIC -c buffered.c -o buffered.o || exit 1
buffered="$work/buffered.o -Wl,--wrap=fopen,--wrap=fclose"

# Lines of malloc_count.
counted() { sed -n 's/^malloc_count ### //p' "$1"; }

malloc_count() {
    local from=$1
    found=1
    echo "== $from: malloc_count"
    gcc -w -I "$from" "$from"/test-malloc_count/test.c "$from"/malloc_count.c "$from"/stack_count.c -o theirs -ldl || return
    gcc -w "$from"/test-malloc_count/test.c -o ours $(ours malloc_count) || return
    ./theirs >theirs.out 2>theirs.err
    ./ours >ours.out 2>ours.err
    say "status 0" "./ours >/dev/null 2>&1"
    say "the same lines, of status and at exit" "diff <(counted theirs.err) <(counted ours.err)"
    say "the peak that it asks for" "diff <(grep 'our peak' theirs.out) <(grep 'our peak' ours.out)"
    say "64 KiB of stack" "near \$(grep -o 'usage: [0-9]*' ours.out | cut -c 8-) 65536 8192"
    gcc -w -c "$from"/malloc_count.c -o malloc_count.o || return
    g++ -w -I "$from" "$from"/test-memprofile/test.cc malloc_count.o -o theirs $buffered -ldl || return
    g++ -w "$from"/test-memprofile/test.cc -o ours $(ours malloc_count) || return
    ./theirs >/dev/null 2>&1 || echo "       the original does not run here"
    mv memprofile.txt theirs.txt
    ./ours >/dev/null 2>&1
    say "MemProfile's peak, within its resolution and the stack" "near $(most theirs.txt) $(most memprofile.txt) 8192"
    say "its script draws it" "plots '$from/test-memprofile/memprofile.gnuplot'"
    say "tidemark plot draws it" "'$build/bin/tidemark' plot memprofile.txt -o drawn.svg 2>/dev/null"
    rm -f memprofile.pdf drawn.svg
}

stx_btree() {
    local from=$1 file
    found=1
    echo "== $from: stx-btree's memprofile"
    sed 's/1024000 \* 8/1024000/' "$from"/memprofile/main.cc >main.cc # an eighth: 50 MB instead of 400
    gcc -w -c "$from"/memprofile/malloc_count.c -o malloc_count.o || return
    g++ -w -O2 -I "$from"/include -I "$from"/memprofile main.cc malloc_count.o -o theirs $buffered -ldl || return
    g++ -w -O2 -I "$from"/include main.cc -o ours $(ours malloc_count) || return
    mkdir theirs.d && (cd theirs.d && ../theirs >/dev/null 2>&1)
    ./ours >ours.out 2>ours.err
    for file in theirs.d/memprofile-*.txt; do
        say "$(basename "$file"): the peak, within the resolution and the stack" \
            "near $(most "$file") $(most "$(basename "$file")") 32768"
    done
    say "its script draws all six" "plots '$from/memprofile/memprofile.gnuplot'"
    say "tidemark plot draws all six" "'$build/bin/tidemark' plot memprofile-*.txt -o drawn.svg 2>/dev/null"
    rm -rf theirs.d memprofile.pdf drawn.svg
}

stamp_program() { # FROM NAME ARGUMENTS: with the original's library and with ours
    local from=$1/benchmarks/stamp/trunk name=$2 profile=$1/tools/malloc_profile sources flags
    shift 2
    sources=$(ls "$from/$name"/*.c "$from"/lib/{bitmap,hash,hashtable,pair,random,list,mt19937ar,thread,vector,queue,rbtree,avltree,heap,map}.c 2>/dev/null | sort -u)
    flags="-w -fcommon -O2 -fno-builtin -DMALLOC_COUNT -DLIST_NO_DUPLICATES -DCHUNK_STEP1=12 -DMAP_USE_RBTREE -I $from/lib -I $from/common/seq"
    gcc $flags -I "$profile" $sources -o theirs -L . -Wl,-rpath,"$work" -lmallocprof -lpthread -lm 2>err || { echo "       $name does not build here: $(head -1 err)"; return; }
    gcc $flags $sources -o ours $(ours malloc_profile) -lpthread -lm || return
    ./theirs "$@" >theirs.out 2>&1
    mv memprofile.dat theirs.dat
    ./ours "$@" >ours.out 2>&1
    say "$name: runs, and allocates in transactions" "grep -q '^Time' ours.out && ! grep -q '^transactional:.* 0$' ours.out"
    # mallocs, frees and bytes are the last three words of a region's line. The original's table is of what it has seen since its constructor.
    regions() { awk '/^(sequential|parallel|transactional)/ { print $1, $(NF - 2), $(NF - 1), $NF }' "$1"; }
    say "$name: mallocs, frees and bytes in parallel regions and transactions" \
        "diff <(regions theirs.out | grep -v sequential) <(regions ours.out | grep -v sequential)"
    say "$name: the peak of its lines, within the resolution" "near $(most theirs.dat) $(most memprofile.dat) 8192"
    say "$name: tidemark plot draws it" "'$build/bin/tidemark' plot memprofile.dat -o drawn.svg 2>/dev/null"
    rm -f drawn.svg memprofile.dat
}

stamp() {
    local profile=$1/tools/malloc_profile
    found=1
    echo "== $1: malloc_profile with STAMP"
    gcc -w -std=gnu89 -shared -fPIC -I "$profile"/atomic_ops "$profile"/malloc_profile.c "$profile"/memprofile.c -o libmallocprof.so $buffered -ldl || return
    stamp_program "$1" genome -g256 -s16 -n16384 -t1
    stamp_program "$1" intruder -a10 -l4 -n2038 -s1 -t1
    stamp_program "$1" vacation -n2 -q90 -u98 -r16384 -T4096 -t1
}

for dir in "$@"; do
    dir=$(cd "$OLDPWD" && cd "$dir" && pwd) || exit 1
    [ -e "$dir/test-malloc_count/test.c" ] && malloc_count "$dir"
    [ -e "$dir/memprofile/main.cc" ] && [ -e "$dir/include/stx" ] && stx_btree "$dir"
    [ -e "$dir/tools/malloc_profile/malloc_profile.c" ] && stamp "$dir"
done
[ $found = 1 ] || { echo "nothing of upstream's in: $*" >&2; exit 77; }
[ $wrong = 0 ] && echo "all right"
exit $((wrong > 0))
