/* Regions, marks, counters, pauses and stacks from C:
 *   cc -g phases.c -ltidemark-api -pthread -o phases
 *   tidemark record --trace -o phases.tmk ./phases 4
 *   tidemark report --show regions phases.tmk
 * Each of the threads works in "parallel" (100 blocks of 10 KB, 50 kept) and in it in "scratch". */
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <tidemark/tidemark.h>

enum { MOST_THREADS = 16, ROUNDS = 100, BLOCK = 10000, SCRATCH = 300 };

static void *kept[MOST_THREADS][ROUNDS];

static void *work(void *number)
{
    void **own = kept[(size_t)number];
    tidemark_region_begin("parallel");
    for (int i = 0; i < ROUNDS; i++) {
        own[i] = malloc(BLOCK);
        tidemark_region_begin("scratch");
        free(malloc(SCRATCH));
        tidemark_region_end("scratch");
    }
    for (int i = 0; i < ROUNDS; i += 2)
        free(own[i]);
    if ((size_t)number % 2 == 0)
        tidemark_region_end("parallel"); /* the others' is ended by their thread's end */
    return NULL;
}

static jmp_buf back;

static void leave_by_longjmp(void)
{
    tidemark_region_begin("left");
    kept[0][0] = malloc(1);
    longjmp(back, 1);
}

__attribute__((noinline)) static void deep(void)
{
    volatile char room[100000];
    for (size_t i = 0; i < sizeof room; i += 64)
        room[i] = 1;
}

int main(int argc, char **argv)
{
    size_t threads = argc > 1 ? strtoul(argv[1], NULL, 10) : 4;
    struct tidemark_counters before = TIDEMARK_COUNTERS_INIT, after = TIDEMARK_COUNTERS_INIT;
    struct tidemark_painted_stack paint;
    pthread_t ids[MOST_THREADS];
    if (threads > MOST_THREADS)
        threads = MOST_THREADS;
    printf("recording %d\n", tidemark_is_recording());
    fflush(stdout);
    tidemark_mark("start");
    int known = tidemark_read_counters(TIDEMARK_PROCESS, &before) == 0;
    for (size_t i = 0; i < threads; i++)
        pthread_create(&ids[i], NULL, work, (void *)i);
    for (size_t i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    if (known && tidemark_read_counters(TIDEMARK_PROCESS, &after) == 0)
        printf("blocks kept %" PRIu64 ", at least %" PRIu64 " bytes\n",
               after.live_count - before.live_count >= threads * ROUNDS / 2
                   ? (uint64_t)(threads * ROUNDS / 2)
                   : 0,
               after.current_bytes - before.current_bytes >= threads * ROUNDS / 2 * BLOCK
                   ? (uint64_t)(threads * ROUNDS / 2 * BLOCK)
                   : 0);
    tidemark_region_begin("outer");
    if (!setjmp(back))
        leave_by_longjmp();
    tidemark_region_end("outer"); /* closes "left" too */
    tidemark_region_end("nobody's");
    tidemark_reset_peak(TIDEMARK_THREAD);
    free(malloc(123456));
    if (tidemark_read_counters(TIDEMARK_THREAD, &after) == 0 &&
        after.peak_bytes != TIDEMARK_UNKNOWN)
        printf("own peak since then %s\n",
               after.peak_bytes - after.current_bytes == 123456 ? "123456" : "wrong");
    tidemark_pause();
    void *unseen = malloc(777777);
    free(kept[0][1]);
    kept[0][1] = NULL;
    tidemark_resume();
    free(unseen);
    tidemark_mark("paused once");
    printf("snapshot %d\n", tidemark_snapshot("now") == 0);
    tidemark_mark("end");
    tidemark_stack_paint(&paint, 1 << 20);
    deep();
    uint64_t depth = tidemark_stack_depth(&paint);
    printf("stack %s\n", depth >= 100000 && depth < 104000 ? "100 KB" : "wrong");
    return 0;
}
