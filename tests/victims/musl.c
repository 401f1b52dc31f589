/* What musl's C library does otherwise: calloc calls malloc, realloc to 0 keeps a block, memory is asked for in
 * functions that have no call frame information, destructors run behind the handlers of exit. */
#include "victim.h"
#include <stdio.h>

static void *kept[64];
static size_t kept_count;

static void keep_it(void *block)
{
    CHECK(block);
    kept[kept_count++ % 64] = keep(block);
}

VICTIM void victim_calloc(void)
{
    for (int i = 0; i < 100; i++)
        free(keep(calloc(7, 11)));
    barrier();
}

VICTIM void victim_aligned(void)
{
    void *block;
    CHECK(posix_memalign(&block, 256, 1000) == 0);
    free(keep(block));
    free(keep(aligned_alloc(64, 640)));
    barrier();
}

VICTIM void victim_realloc(void)
{
    void *block = NULL;
    for (size_t i = 1; i <= 100; i++)
        block = keep(realloc(block, 1000 * i));
    free(block);
}

/* musl gives a block of no bytes where glibc would give NULL. */
VICTIM void victim_to_zero(void)
{
    void *block = keep(realloc(keep(malloc(50)), 0));
    CHECK(block);
    free(block);
}

/* In frames of the C library, which are short, long, and with a frame pointer. */
VICTIM void victim_strdup(void)
{
    for (int i = 0; i < 10; i++)
        keep_it(strdup("twenty and one bytes"));
    barrier();
}

VICTIM void victim_getline(void)
{
    char *line = NULL;
    size_t bytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    CHECK(file && getline(&line, &bytes, file) > 0);
    fclose(file);
    free(line);
}

VICTIM void victim_asprintf(void)
{
    char *text;
    CHECK(asprintf(&text, "%s %d %f", "text", 5, 1.5) > 0);
    free(keep(text));
}

VICTIM int victim_compare(const void *a, const void *b)
{
    keep_it(malloc(3));
    return *(const int *)a - *(const int *)b;
}

/* The C library calls back. */
VICTIM void victim_sorts(void)
{
    int numbers[] = {5, 3, 1, 4, 2};
    qsort(numbers, 5, sizeof *numbers, victim_compare);
    CHECK(numbers[0] == 1);
}

VICTIM void *victim_thread(void *unused)
{
    for (int i = 0; i < 100; i++)
        free(keep(malloc(77)));
    return unused;
}

VICTIM void victim_at_exit(void)
{
    free(keep(malloc(11)));
    barrier();
}

VICTIM __attribute__((destructor)) void victim_destructor(void)
{
    free(keep(malloc(12)));
    barrier();
}

int main(void)
{
    pthread_t thread[8];
    atexit(victim_at_exit);
    victim_calloc();
    victim_aligned();
    victim_realloc();
    victim_to_zero();
    victim_strdup();
    victim_getline();
    victim_asprintf();
    victim_sorts();
    for (int i = 0; i < 8; i++)
        CHECK(!pthread_create(&thread[i], NULL, victim_thread, NULL));
    for (int i = 0; i < 8; i++)
        CHECK(!pthread_join(thread[i], NULL));
    return 3;
}
