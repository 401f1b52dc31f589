# A program with a malloc of its own in front of the real one: each of its blocks counts once, whatever
# address its malloc returns.
. "$HERE/lib.sh"
command -v c++ >/dev/null || skip "no C++ compiler"

cat >wrapper.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
/* A header of 16 bytes in front of each block, as malloc_count has. */
static void *(*real_malloc)(size_t), (*real_free)(void *), *(*real_realloc)(void *, size_t);
static char early[65536];
static size_t used;
static void find(void)
{
    static int finding;
    if (finding++)
        return;
    *(void **)&real_free = dlsym(RTLD_NEXT, "free");
    *(void **)&real_realloc = dlsym(RTLD_NEXT, "realloc");
    *(void **)&real_malloc = dlsym(RTLD_NEXT, "malloc");
}
void *malloc(size_t size)
{
    if (!real_malloc)
        find();
    char *block = real_malloc ? real_malloc(size + 16) : early + (used += (size + 31) & ~15ul) - ((size + 31) & ~15ul);
    return block ? block + 16 * (block < early || block >= early + sizeof early) : NULL;
}
void free(void *block)
{
    if (block && !((char *)block >= early && (char *)block < early + sizeof early))
        real_free((char *)block - 16);
}
void *calloc(size_t count, size_t size)
{
    void *block = malloc(count * size);
    return block ? memset(block, 0, count * size) : NULL;
}
void *realloc(void *block, size_t size)
{
    char *moved = block ? real_realloc((char *)block - 16, size + 16) : NULL;
    return block ? moved ? moved + 16 : NULL : malloc(size);
}
END
cat >work.cpp <<'END'
#include <cstdlib>
#include <new>
#include <vector>
int main(int argc, char **)
{
    std::vector<char *> kept;
    kept.reserve(2000);
    for (int i = 0; i < 1000 * argc; i++) {
        kept.push_back(new char[1000]);
        void *block = std::malloc(500);
        std::free(std::realloc(block, 2000));
        try {
            if (i % 100 == 0)
                kept.push_back(new char[~size_t(0) / 4]);
        } catch (const std::bad_alloc &) {
        }
    }
    for (char *block : kept)
        delete[] block;
}
END
cc -O1 -fno-builtin -w -c wrapper.c -o wrapper.o
cc -O1 -fno-builtin -w -shared -fPIC wrapper.c -o libwrapper.so
c++ -O1 -fno-builtin work.cpp -o plain
c++ -O1 -fno-builtin work.cpp wrapper.o -o inside
c++ -O1 -fno-builtin work.cpp -o beside -L. -Wl,--no-as-needed -lwrapper -Wl,-rpath,"$PWD"
for program in plain inside beside; do
    for size in 1 2; do
        tidemark count -f json -o $size.json ./$program $([ $size = 1 ] || echo more)
    done
    # What 1,000 rounds more have taken: 1,000 new, malloc and realloc each. A malloc behind the wrapper has a header.
    jq -rs --arg program $program '[.[].processes[] | select(.main)] |
        $program + ":" + ([["malloc", .[1].calls.malloc - .[0].calls.malloc], ["realloc", .[1].calls.realloc - .[0].calls.realloc],
            ["free", .[1].calls.free - .[0].calls.free], ["failed", .[1].calls.failed - .[0].calls.failed],
            ["bytes", ((.[1].total_bytes - .[0].total_bytes) / 100000 | floor) / 10],
            ["peak", ((.[1].peak_bytes - .[0].peak_bytes) / 100000 | floor) / 10]] | map(" \(.[0]) \(.[1])") | join(""))' 1.json 2.json
    rm -f ./*.json*
done
