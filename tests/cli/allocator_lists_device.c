/* A stand-in for the libraries of a graphics processor, and a program that uses them. There is no
 * such processor here: device addresses are those of a reserved range, as with CUDA's unified
 * addresses, and nothing may touch them. LIBRARY makes the library, ALLOCATE and RELEASE name its
 * inner functions, OUTER_ALLOCATE and OUTER_RELEASE those that call them. */
#include <stddef.h>
#include <stdio.h>

int ALLOCATE(void **block, size_t bytes);
int RELEASE(void *block);
int OUTER_ALLOCATE(void **block, size_t bytes);
int OUTER_RELEASE(void *block);

#ifdef LIBRARY
#include <sys/mman.h>
#define DEVICE_BYTES ((size_t)1 << 30)

__attribute__((noinline)) int ALLOCATE(void **block, size_t bytes)
{
    static char *device;
    static size_t used;
    if (!device)
        device =
            mmap(NULL, DEVICE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (device == MAP_FAILED || bytes > DEVICE_BYTES - used)
        return 2; /* out of memory, and *block is as it was */
    *block = device + used;
    used += (bytes + 255) / 256 * 256;
    return 0;
}

__attribute__((noinline)) int RELEASE(void *block)
{
    return block ? 0 : 1;
}

int OUTER_ALLOCATE(void **block, size_t bytes)
{
    int status = ALLOCATE(block, bytes);
    return status ? status + 100 : 0;
}

int OUTER_RELEASE(void *block)
{
    int status = RELEASE(block);
    return status ? status + 100 : 0;
}

#else
enum { BLOCKS = 1000, KEPT = 3 };

int main(void)
{
    void *blocks[BLOCKS], *others[BLOCKS], *kept[KEPT], *none = &blocks;
    int refused = 0;
    for (int i = 0; i < BLOCKS; i++)
        if (OUTER_ALLOCATE(&blocks[i], 100) || ALLOCATE(&others[i], 50))
            return 1;
    for (int i = 0; i < KEPT; i++)
        if (OUTER_ALLOCATE(&kept[i], 7777))
            return 1;
    for (int i = 0; i < 10; i++)
        refused += OUTER_ALLOCATE(&none, (size_t)1 << 40) != 0;
    for (int i = 0; i < BLOCKS; i++)
        if (OUTER_RELEASE(blocks[i]) || RELEASE(others[i]))
            return 1;
    printf("%d refused\n", refused);
    return 0;
}
#endif
