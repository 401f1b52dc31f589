/* A heap as Go's: 64 GiB reserved, pieces of it committed in two ways, touched, and given back in part. It
 * prints what the kernel has of the piece. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#define MIB ((size_t)1 << 20)

static void must(int holds, const char *what)
{
    if (!holds) {
        perror(what);
        exit(1);
    }
}

__attribute__((noinline)) static char *reserves(void)
{
    char *all = mmap(NULL, 65536 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(all != MAP_FAILED, "mmap");
    return all;
}

__attribute__((noinline)) static void protects(char *at, size_t bytes)
{
    must(mprotect(at, bytes, PROT_READ | PROT_WRITE) == 0, "mprotect");
}

__attribute__((noinline)) static void fixes(char *at, size_t bytes)
{
    must(mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
             at,
         "mmap over the reservation");
}

__attribute__((noinline)) static void gives_back(char *at, size_t bytes)
{
    must(madvise(at, bytes, MADV_DONTNEED) == 0, "madvise");
}

static void touch(char *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 4096)
        ((volatile char *)at)[i] = 1;
}

static size_t in_core(char *at, size_t bytes)
{
    static unsigned char pages[64 * 256];
    size_t count = 0;
    must(mincore(at, bytes, pages) == 0, "mincore");
    for (size_t i = 0; i < bytes / 4096; i++)
        count += pages[i] & 1;
    return count * 4096 / MIB;
}

/* As a database: far more is mapped than is touched. */
static void holds_more_than_it_maps(void)
{
    char *map = mmap(NULL, 256 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(map != MAP_FAILED, "mmap");
    char *volatile block = calloc(1, 8 * MIB);
    must(block != NULL, "calloc");
    touch(map, 4096);
    touch(block, 8 * MIB);
}

/* Too short to be sampled. */
static void maps_for_a_moment(void)
{
    char *volatile block = calloc(1, MIB);
    must(block != NULL, "calloc");
    touch(block, MIB);
    char *map = mmap(NULL, 48 * MIB, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    must(map != MAP_FAILED, "mmap");
    must(munmap(map, 48 * MIB) == 0, "munmap");
}

int main(int count, char **arguments)
{
    must(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0, "prctl");
    if (count > 1 && arguments[1][0] == 'm') {
        maps_for_a_moment();
        return 0;
    }
    if (count > 1) {
        holds_more_than_it_maps();
        return 0;
    }
    char *all = reserves();
    protects(all, 32 * MIB);
    fixes(all + 64 * MIB, 48 * MIB);
    protects(all + 1024 * MIB, 2 * MIB);
    touch(all, 12 * MIB);
    touch(all + 64 * MIB, 8 * MIB);
    gives_back(all + 8 * MIB, 4 * MIB);
    gives_back(all + 64 * MIB + 5 * MIB, 3 * MIB);
    /* The end is the moment with most resident memory: a look at it sees no other. */
    touch(all + 12 * MIB, 12 * MIB);
    touch(all + 72 * MIB, 12 * MIB);
    touch(all + 1024 * MIB, 2 * MIB);
    printf("in core %zu %zu %zu\n", in_core(all, 32 * MIB), in_core(all + 64 * MIB, 48 * MIB),
           in_core(all + 1024 * MIB, 2 * MIB));
    return 0;
}
