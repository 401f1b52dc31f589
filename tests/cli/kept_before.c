/* Points to its blocks from a mapping and from a block that are older than the recording. Large ones:
 * the kernel joins such a mapping with what a library that is loaded below it has for its variables. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BYTES = 8 << 20, BLOCKS = 100000 };

int main(void)
{
    void **mapping = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void **block = malloc(BLOCKS * sizeof *block);
    memset(mapping, 0, BYTES);
    memset(block, 0, BLOCKS * sizeof *block);
    mapping[0] = block;
    puts("ready");
    fflush(stdout);
    for (size_t i = 1; i < BLOCKS; i++) {
        (i % 2 ? mapping : block)[i] = memset(malloc(3000), 1, 3000);
        usleep(1000);
    }
    return 0;
}
