/* Maps 100 MiB and gives them back, then maps 50 MiB, or what it is told, and keeps them. Beside them stands a block of
 * 1 MiB. All of it is touched. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MIB = 1 << 20 };

__attribute__((noinline)) static void *map_and_touch(size_t bytes)
{
    void *mapping = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return mapping == MAP_FAILED ? NULL : memset(mapping, 1, bytes);
}

__attribute__((noinline)) static int gives_back(void)
{
    void *mapping = map_and_touch(100 * MIB);
    return mapping ? munmap(mapping, 100 * MIB) : -1;
}

__attribute__((noinline)) static int keeps(size_t mib)
{
    return map_and_touch(mib * MIB) ? 0 : -1;
}

int main(int argc, char **argv)
{
    char *block = malloc(MIB);
    if (!block)
        return 1;
    memset(block, 1, MIB);
    int error = gives_back();
    error = error ? error : keeps(argc > 1 ? strtoul(argv[1], NULL, 10) : 50);
    free(block);
    return error ? 1 : 0;
}
