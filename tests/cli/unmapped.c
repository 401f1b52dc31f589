/* Unmaps 64 GiB of reserved addresses twice, and the same 1 MiB of memory twice: 1 MiB goes back. What is longer
 * than all addresses is refused. */
#include <string.h>
#include <sys/mman.h>

enum { MIB = 1 << 20 };

static void *map(size_t bytes, int protection)
{
    return mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

int main(void)
{
    size_t far_bytes = (size_t)65536 * MIB;
    char *far = map(far_bytes, PROT_NONE);
    munmap(far, far_bytes);
    munmap(far, far_bytes);
    char *near = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(near, 1, 4 * MIB);
    munmap(near, MIB);
    munmap(near, MIB);
    munmap(near + MIB, (size_t)-1);
    munmap(near + 2 * MIB, -(size_t)MIB);
    return 0;
}
