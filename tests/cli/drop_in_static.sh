# The drop-in libraries in programs that are linked statically: the same figures as in a dynamic one, by each linker
# and with optimisation by the linker; nothing of ours is in the program's way.
. "$HERE/lib.sh"
command -v c++ >/dev/null || skip "no C++ compiler"
echo 'int main() { return 0; }' >empty.cpp
c++ -static empty.cpp -o empty 2>/dev/null || skip "no static C++ library"
libraries=$BIN/../lib
include=$HERE/../../include/tidemark
flags() { sed -n 's/^Libs: //p' "$BIN/../tidemark-$1-static.pc" | sed "s|\${libdir}|$libraries|"; }

cat >static.cpp <<'END'
#include "malloc_count.h"
#include "memprofile.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>
template <typename T> static T *keep(T *block) { __asm__ volatile("" : "+r"(block)::"memory"); return block; }
void line_add() {} /* a name of the library's inside */
int main()
{
    size_t before = malloc_count_current(), calls = malloc_count_num_allocs();
    std::vector<std::string> strings(100, std::string(100, 'x'));
    void *aligned, *grown = keep(reallocarray(nullptr, 10, 10));
    if (posix_memalign(&aligned, 64, 100))
        return 1;
    char *copy = keep(strdup("0123456789")); /* libc's own call */
    grown = realloc(grown, 200);
    std::printf("%zu bytes in %zu calls, ", malloc_count_current() - before, malloc_count_num_allocs() - calls);
    free(keep(aligned));
    free(copy);
    free(grown);
    {
        MemProfile profile("lines.txt", 10, 1 << 16);
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; i++)
            threads.emplace_back([] { for (int j = 0; j < 10000; j++) free(keep(malloc(100))); });
        for (auto &thread : threads)
            thread.join();
        free(keep(malloc(1 << 20)));
    }
    strings = {};
    strings.shrink_to_fit();
    std::printf("%s\n", malloc_count_num_allocs() - calls > 40000 ? "and those of four threads" : "lost");
}
END
same() { # NAME FLAGS…
    local name=$1
    shift
    c++ -std=c++17 -O1 -I "$include/malloc_count" static.cpp -o static "$@" $(flags malloc-count) 2>err || { echo "$name: not here"; return; }
    rm -f lines.txt
    echo "$name: $(./static 2>err) $(grep -c '^malloc_count ### exiting, total: [1-9]' err) $(awk '$2 > 1048576 { above = 1 } END { print above }' lines.txt)"
}
c++ -std=c++17 -O1 -I "$include/malloc_count" static.cpp -o dynamic -L"$libraries" -Wl,-rpath,"$libraries" -ltidemark-malloc-count
echo "dynamic: $(./dynamic 2>/dev/null)"
same static -static
file static 2>/dev/null | grep -q 'dynamically' && echo "not static"
same 'static and movable' -static-pie
same 'unused sections out' -static -Wl,--gc-sections
same LTO -static -flto -O2
for linker in bfd gold lld mold; do
    same linker -static -fuse-ld=$linker
done | grep -v 'not here' | sort -u

echo "--- only C, only new, and the regions"
echo '#include <stdlib.h>
#include <stdio.h>
int main(void) { free(malloc(1000)); puts("ran"); return 0; }' >plain.c
cc -fno-builtin -static plain.c -o plain $(flags malloc-count) && ./plain 2>&1 | sed 's/total: [1-9].*/counted/'
echo 'int *volatile kept; int main() { kept = new int[1000]; delete[] kept; }' >new.cpp
c++ -O1 -static new.cpp -o new $(flags malloc-count) && ./new 2>&1 | sed 's/total: [1-9].*/counted/'
cat >regions.c <<'END'
#include "malloc_profile.h"
#include <stdlib.h>
void *volatile kept;
int main(void)
{
    malloc_enter_region(PAR_REGION);
    for (int i = 0; i < 7; i++)
        kept = malloc(100);
    malloc_exit_current_region();
    return 0;
}
END
cc -static -I "$include/malloc_profile" regions.c -o regions $(flags malloc-profile) && ./regions | awk '/^parallel/ { print "in the parallel region:", $(NF - 2) }'
