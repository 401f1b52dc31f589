/* truth: sick
 * what: a signature of a wrong length leaves the key context of its verification behind
 * real: BIND 9 before 9.18.7, CVE-2022-38178: the EdDSA code leaks on malformed signatures
 * expect: leak-lost leak-growth
 * wrapper: isc_mem_get isc__mem_get */
#include "truth.h"

static size_t in_use;

NOINLINE static void *isc__mem_get(size_t size)
{
    void *block = malloc(size);
    if (!block)
        abort();
    in_use += size;
    return block;
}

NOINLINE static void isc__mem_put(void *block, size_t size)
{
    in_use -= size;
    free(block);
}

NOINLINE static char *message_create(int i)
{
    char *message = isc__mem_get(1200);
    memset(message, i, 1200);
    return message;
}

NOINLINE static int eddsa_verify(const char *message, int length)
{
    char *context = isc__mem_get(350); /* guilty: eddsa_verify */
    memcpy(context, message, 350);
    use(context);
    if (length != 64)
        return -1;
    isc__mem_put(context, 350);
    return 0;
}

int main(void)
{
    int bad = 0;
    for (int i = 0; i < 12000; i++) {
        char *message = message_create(i);
        bad += eddsa_verify(message, i % 2 ? 64 : 63) != 0;
        isc__mem_put(message, 1200);
        pace(i, 24);
    }
    printf("%d %zu\n", bad, in_use);
    return 0;
}
