/* truth: sick
 * what: each folded line makes the header anew in the request's pool, which frees at the end
 * real: Apache httpd before 2.0.50, CVE-2004-0493: ap_get_mime_headers_core takes memory without limit
 * expect: grew-until-teardown leak-growth copy-growth
 * wrapper: apr_palloc allocator_alloc */
#include "truth.h"

struct chunk {
    struct chunk *next;
    char room[];
};

static struct chunk *pool;

NOINLINE static void *apr_palloc(size_t size)
{
    struct chunk *chunk = malloc(sizeof *chunk + size);
    chunk->next = pool;
    pool = chunk;
    return chunk->room;
}

NOINLINE static char *get_mime_headers(char *header, size_t length, size_t more)
{
    char *longer = apr_palloc(length + more + 1); /* guilty: get_mime_headers */
    memcpy(longer, header, length);
    memset(longer + length, ' ', more);
    return longer;
}

int main(void)
{
    size_t length = 10;
    char first[10] = "X-Header: ", *header = first;
    for (int i = 0; i < 1500; i++) {
        header = get_mime_headers(header, length, 40);
        length += 40;
        pace(i, 4);
    }
    printf("%zu\n", length);
    while (pool) {
        struct chunk *next = pool->next;
        free(pool);
        pool = next;
    }
    return 0;
}
