/* truth: sick
 * what: the copy of a packet's options is made for each query with a long option, and forgotten
 * real: dnsmasq before 2.78, CVE-2017-14495: the EDNS0 code lacks a free
 * expect: leak-lost leak-growth
 * wrapper: whine_malloc */
#include "truth.h"

NOINLINE static void *whine_malloc(size_t size)
{
    void *block = calloc(1, size);
    if (!block)
        fprintf(stderr, "failed to allocate %zu bytes\n", size);
    return block;
}

NOINLINE static void cache_insert(int i)
{
    static void *slots[200];
    free(slots[i % 200]);
    slots[i % 200] = whine_malloc(90);
}

NOINLINE static size_t add_pseudoheader(const char *packet, size_t length)
{
    char *copy = NULL;
    if (length > 100 && (copy = whine_malloc(length))) { /* guilty: add_pseudoheader */
        memcpy(copy, packet, length);
        use(copy);
    }
    return length + 11;
}

int main(void)
{
    char packet[512] = "query";
    size_t size = 0;
    for (int i = 0; i < 15000; i++) {
        cache_insert(i);
        size += add_pseudoheader(packet, i % 3 ? 60 : 400);
        pace(i, 30);
    }
    printf("%zu\n", size);
    return 0;
}
