/* truth: sick
 * what: a page buffer is mapped for each request, and half of them are never unmapped
 * expect: mapping-growth */
#include "truth.h"
#include <sys/mman.h>

NOINLINE static char *buffer_map(size_t size)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    char *buffer = mmap(NULL, size, 3, flags, -1, 0); /* guilty: buffer_map */
    if (buffer == MAP_FAILED)
        abort();
    memset(buffer, 1, size);
    return buffer;
}

NOINLINE static void request_serve(int i)
{
    char *buffer = buffer_map(16384);
    char *answer = malloc(3000);
    memcpy(answer, buffer, 3000);
    use(answer);
    free(answer);
    if (i % 2)
        munmap(buffer, 16384);
}

int main(void)
{
    for (int i = 0; i < 3000; i++) {
        request_serve(i);
        pace(i, 3);
    }
    return 0;
}
