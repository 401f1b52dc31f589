/* truth: sick
 * what: control frames are taken from the connection's pool, which lives as long as the connection
 * real: nginx before 1.15.6, CVE-2018-16843: HTTP/2 SETTINGS and PING consume memory without limit
 * expect: leak-growth grew-until-teardown
 * wrapper: ngx_alloc ngx_palloc ngx_palloc_block */
#include "truth.h"

struct pool {
    struct pool *next;
    size_t used;
    char room[4000];
};

static struct pool *pool;

NOINLINE static void *ngx_alloc(size_t size)
{
    void *block = malloc(size);
    if (!block)
        fprintf(stderr, "malloc(%zu) failed\n", size);
    return block;
}

NOINLINE static void ngx_palloc_block(void)
{
    struct pool *block = ngx_alloc(sizeof *block);
    block->used = 0;
    block->next = pool;
    pool = block;
}

NOINLINE static void *ngx_palloc(size_t size)
{
    if (!pool || pool->used + size > sizeof pool->room)
        ngx_palloc_block();
    pool->used += size;
    return pool->room + pool->used - size;
}

NOINLINE static void http_v2_settings_frame(int i)
{
    char *frame = ngx_palloc(160); /* guilty: http_v2_settings_frame */
    memset(frame, i, 160);
    use(frame);
}

int main(void)
{
    for (int i = 0; i < 60000; i++) {
        http_v2_settings_frame(i);
        pace(i, 70);
    }
    while (pool) {
        struct pool *next = pool->next;
        free(pool);
        pool = next;
    }
    return 0;
}
