/* truth: sick
 * what: a plain request to the secured port leaves the filter's buffers behind
 * real: Apache httpd 2.0.35 to 2.0.48, CVE-2004-0113: mod_ssl leaks on plain HTTP to the SSL port
 * expect: leak-lost leak-growth
 * wrapper: apr_bucket_alloc */
#include "truth.h"

NOINLINE static void *apr_bucket_alloc(size_t size)
{
    char *block = malloc(size + 32);
    if (!block)
        abort();
    memset(block, 0, 32);
    return block;
}

NOINLINE static void request_answer(int i)
{
    char *brigade = apr_bucket_alloc(700);
    brigade[i % 700] = 1;
    use(brigade);
    free(brigade);
}

NOINLINE static int ssl_io_filter_connect(int i)
{
    char *buffer = apr_bucket_alloc(800); /* guilty: ssl_io_filter_connect */
    buffer[40 + i % 700] = 'G';
    use(buffer);
    if (i % 2)
        return -1; /* HTTP spoken on HTTPS port */
    free(buffer);
    return 0;
}

int main(void)
{
    int bad = 0;
    for (int i = 0; i < 10000; i++) {
        bad += ssl_io_filter_connect(i) != 0;
        request_answer(i);
        pace(i, 20);
    }
    printf("%d\n", bad);
    return 0;
}
