/* 64 MiB of memory that is mapped and written, 1 MiB of a block, and 32 MiB that is not touched
 * (numa.sh). The first begins at a multiple of 16 MiB. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MIB = 1 << 20 };

__attribute__((noinline)) static char *map_and_fill(void)
{
    char *at = (char *)0x700000000000;
    char *memory = mmap(at, 64 * MIB, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (memory != at)
        exit(1);
    madvise(memory, 64 * MIB, MADV_NOHUGEPAGE);
    memset(memory, 1, 64 * MIB);
    return memory;
}

__attribute__((noinline)) static char *map_and_leave(void)
{
    return mmap(NULL, 32 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int main(void)
{
    char *filled = map_and_fill(), *left = map_and_leave();
    return !filled || left == MAP_FAILED;
}
