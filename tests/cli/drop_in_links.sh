# The drop-in libraries in each way of linking: C++'s runtime inside the program, optimisation by the
# linker, other linkers, and another malloc in front.
. "$HERE/lib.sh"
command -v c++ >/dev/null || skip "no C++ compiler"
libraries=$BIN/../lib
headers=$HERE/../../include/tidemark/malloc_count
link="-L$libraries -Wl,-rpath,$libraries:$PWD"

cat >operators.cpp <<'END'
#include "malloc_count.h"
#include <cstdio>
#include <new>
#include <string>
#include <vector>

struct alignas(64) Wide { char bytes[100]; };
static int called;
static void handler() { called++; std::set_new_handler(NULL); }
template <typename T> static T *keep(T *block) { __asm__ volatile("" : "+r"(block)::"memory"); return block; }

int main()
{
    std::vector<std::string> strings(100, std::string(100, 'x'));
    size_t before = malloc_count_current(), calls = malloc_count_num_allocs();
    int *one = keep(new int), *some = keep(new int[10]), *quiet = keep(new (std::nothrow) int[5]);
    Wide *wide = keep(new Wide), *wides = keep(new Wide[3]);
    size_t bytes = malloc_count_current() - before;
    calls = malloc_count_num_allocs() - calls;
    delete one;
    delete[] some;
    delete[] quiet;
    delete wide;
    delete[] wides;
    std::printf("%zu bytes by %zu calls, %zu left", bytes, calls, malloc_count_current() - before);
    std::set_new_handler(handler);
    volatile size_t big = ~size_t(0) / 4;
    try {
        keep(new char[big]);
    } catch (const std::bad_alloc &) {
        std::printf(", bad_alloc behind %d handler", called);
    }
    std::printf(", nothrow %d\n", keep(new (std::nothrow) char[big]) == NULL);
}
END
built() { # NAME FLAGS…
    local name=$1
    shift
    c++ -std=c++17 -O1 -I "$headers" operators.cpp -o operators "$@" $link -ltidemark-malloc-count 2>err || { echo "$name: not here"; return; }
    echo "$name: $(./operators 2>err) $(grep -c '^malloc_count ### exiting, total: [1-9]' err)"
}
built shared
built 'libstdc++ inside' -static-libstdc++
built 'libgcc inside too' -static-libstdc++ -static-libgcc
built 'as needed' -Wl,--as-needed
built 'LTO' -flto -O2
built 'LTO, libstdc++ inside' -flto -O2 -static-libstdc++
for linker in bfd gold lld mold; do
    for inside in '' -static-libstdc++; do
        built linker -fuse-ld=$linker $inside
    done
done | grep -v 'not here' | sort -u

echo "--- another malloc in front"
echo 'void *malloc(unsigned long n) { static char b[1 << 20]; static unsigned long u; u += n + 31 & ~15ul; return b + u - (n + 31 & ~15ul); }
      void *calloc(unsigned long n, unsigned long m) { return malloc(n * m); }
      void *realloc(void *o, unsigned long n) { return malloc(n); }
      void free(void *p) { (void)p; }' >own.c
echo '#include <stdlib.h>
int main(void) { free(malloc(1000)); return 0; }' >plain.c
cc -fno-builtin -shared -fPIC -w -o libown.so own.c
cc -fno-builtin -o in_front plain.c -L. -Wl,--no-as-needed -lown $link -ltidemark-malloc-count && ./in_front
cc -fno-builtin -o in_front plain.c -L. -Wl,--no-as-needed -lown $link -ltidemark-malloc-profile && ./in_front | head -1
cc -fno-builtin -w -o inside plain.c own.c
tidemark count ./inside 2>&1 | sed 's/\[[0-9]*\]/[…]/'
tidemark count -f json -o json ./inside && jq -c '.processes[0] | [.malloc_in_front, .total_bytes]' json
