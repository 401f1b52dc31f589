/* Memory that runs out (RLIMIT_AS, RLIMIT_DATA): calls say so with ENOMEM, whatever size and kind
 * they are, no block changes, every structure is sound, and when something is freed it goes on.
 * Each limit in a child of its own. TIDEMARK_TEST_SEED=n repeats one run. (A control group's limit
 * ends a program that touches more, whatever malloc does: there is nothing to return.) */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "tidemark/bfm.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 }; /* their shadow alone is more than any limit */
#else
enum { SANITIZED = 0 };
#endif

enum { SLOTS = 1 << 16, REFUSALS = 9, THREADS = 3 };

static uint64_t seed;

static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15ull;

    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

/* A child's exit status is the line that was wrong, modulo 250. */
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            dprintf(2, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                     \
            _exit(1 + __LINE__ % 250);                                                             \
        }                                                                                          \
    } while (0)

struct block {
    unsigned char *at;
    size_t bytes;
};

struct stream {
    uint64_t state;
    unsigned count, refused;
    unsigned full[3]; /* refusals while there were blocks, by sizes asked for */
    struct block *blocks;
    bool alone; /* no other thread: bfm_check() is worth its time */
};

/* Its first, its last and a few bytes between say whose they are. */
static void fill(struct block block)
{
    for (size_t i = 0; i < block.bytes; i += block.bytes / 7 + 1)
        block.at[i] = (unsigned char)(block.bytes + i);
    block.at[block.bytes - 1] = (unsigned char)block.bytes;
}

static void verify(struct block block, size_t bytes)
{
    for (size_t i = 0; i < bytes && i < block.bytes - 1; i += block.bytes / 7 + 1)
        MUST(block.at[i] == (unsigned char)(block.bytes + i));
    MUST(bytes < block.bytes || block.at[block.bytes - 1] == (unsigned char)block.bytes);
}

/* By turns all sizes, small ones only, and what the tree component has. */
static size_t size_of(struct stream *stream)
{
    uint64_t random = next(&stream->state);

    if (stream->refused % 3 == 1)
        return 1 + random % 512;
    if (stream->refused % 3 == 2)
        return 513 + random % 8000;
    switch (random % 16) {
    case 0:
        return 1 + random / 16 % 3000000;
    case 1:
        return 513 + random / 16 % 60000;
    case 2:
        return random / 16 % 40 ? 100 : ((size_t)32 << 20) + random / 1024 % 9000000;
    default:
        return 1 + random / 16 % 512;
    }
}

static void drop(struct stream *stream, unsigned which)
{
    verify(stream->blocks[which], SIZE_MAX);
    bfm_free(stream->blocks[which].at);
    stream->blocks[which] = stream->blocks[--stream->count];
}

static void *ask(struct stream *stream, size_t bytes)
{
    uint64_t random = next(&stream->state);

    errno = 0;
    switch (random % 4) {
    case 0: {
        unsigned char *block = bfm_calloc(1, bytes);
        MUST(!block || (!block[0] && !block[bytes / 2] && !block[bytes - 1]));
        return block;
    }
    case 1:
        return bfm_memalign((size_t)16 << random / 4 % 9, bytes);
    default:
        return bfm_malloc(bytes);
    }
}

/* What was refused left everything as it was. Then a part is freed. */
static void refused(struct stream *stream)
{
    MUST(errno == ENOMEM);
    stream->full[stream->refused % 3] += stream->count > 0;
    stream->refused++;
    if (stream->alone)
        MUST(!bfm_check(NULL));
    for (unsigned i = 0; i < stream->count; i++)
        verify(stream->blocks[i], SIZE_MAX);
    for (unsigned i = stream->count / 3 + 1; i-- && stream->count;)
        drop(stream, (unsigned)(next(&stream->state) % stream->count));
}

static void take_one(struct stream *stream)
{
    struct block made = {NULL, size_of(stream)};

    made.at = ask(stream, made.bytes);
    if (!made.at) {
        refused(stream);
        return;
    }
    fill(made);
    stream->blocks[stream->count++] = made;
}

static void resize_one(struct stream *stream)
{
    unsigned which = (unsigned)(next(&stream->state) % stream->count);
    struct block old = stream->blocks[which];
    struct block made = {NULL, size_of(stream)};

    errno = 0;
    made.at = bfm_realloc(old.at, made.bytes);
    if (!made.at) {
        verify(old, SIZE_MAX);
        refused(stream);
        return;
    }
    verify((struct block){made.at, old.bytes}, made.bytes < old.bytes ? made.bytes : old.bytes);
    fill(made);
    stream->blocks[which] = made;
}

static void *run(void *argument)
{
    struct stream *stream = argument;

    while (stream->refused < REFUSALS) {
        uint64_t random = next(&stream->state);
        if (stream->count == SLOTS) { /* there is more memory than that: no refusal to be had */
            stream->refused++;
            for (unsigned i = SLOTS / 2; i--;)
                drop(stream, stream->count - 1);
        } else if (random % 8 == 0 && stream->count)
            drop(stream, (unsigned)(random / 8 % stream->count));
        else if (random % 8 == 1 && stream->count)
            resize_one(stream);
        else
            take_one(stream);
    }
    while (stream->count)
        drop(stream, stream->count - 1);
    return NULL;
}

/* So much more than there is now. */
static void limit(int resource, size_t bytes)
{
    size_t pages[6] = {0};
    FILE *file = fopen("/proc/self/statm", "r");
    struct rlimit to;

    MUST(file && fscanf(file, "%zu %zu %zu %zu %zu %zu", &pages[0], &pages[1], &pages[2], &pages[3],
                        &pages[4], &pages[5]) == 6);
    fclose(file);
    bytes += pages[resource == RLIMIT_DATA ? 5 : 0] * (size_t)sysconf(_SC_PAGESIZE);
    to = (struct rlimit){bytes, bytes};
    MUST(!setrlimit(resource, &to));
}

static struct block room[THREADS][SLOTS];

static void run_threads(unsigned threads)
{
    struct stream streams[THREADS] = {{0}};
    pthread_t others[THREADS];
    unsigned started = 0;

    for (unsigned i = 0; i < threads; i++)
        streams[i] = (struct stream){.state = seed + i, .blocks = room[i], .alone = threads == 1};
    for (unsigned i = 1; i < threads; i++)
        started += !pthread_create(&others[started], NULL, run, &streams[i]);
    run(&streams[0]);
    for (unsigned i = 0; i < started; i++)
        pthread_join(others[i], NULL);
    MUST(streams[0].full[0] && (threads > 1 || streams[0].full[2]));
}

static void no_event(const struct bfm_event *event, void *unused)
{
    (void)event;
    (void)unused;
}

static int child(int resource, size_t bytes, unsigned threads, bool told)
{
    struct bfm_statistics statistics = {.size = sizeof statistics};

    alarm(100);
    if (told)
        MUST(!bfm_set_hook(no_event, NULL));
    bfm_free(bfm_malloc(1)); /* it begins */
    limit(resource, bytes);
    run_threads(threads);
    MUST(!bfm_check(NULL));
    bfm_malloc_trim(0);
    MUST(!bfm_check(NULL));
    MUST(!bfm_statistics(NULL, &statistics));
    MUST(statistics.tree_used == 0 && statistics.large_used == 0);
    return 0;
}

static void survives(int resource, size_t bytes, unsigned threads, bool told)
{
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (!pid)
        _exit(child(resource, bytes, threads, told));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        print_message("resource %d, %zu bytes, %u threads: status %#x\n", resource, bytes, threads,
                      (unsigned)status);
    assert_int_equal(status, 0);
}

/* Beyond the page map's first part. */
static const size_t limits[] = {(size_t)20 << 20, (size_t)33 << 20, (size_t)80 << 20};

static void addresses_run_out(void **unused)
{
    (void)unused;
    for (size_t i = 0; !SANITIZED && i < sizeof limits / sizeof *limits; i++)
        survives(RLIMIT_AS, limits[i] + seed % 1024 * 1024, 1, i % 2);
}

static void data_runs_out(void **unused)
{
    (void)unused;
    for (size_t i = 0; !SANITIZED && i < sizeof limits / sizeof *limits; i++)
        survives(RLIMIT_DATA, limits[i] + seed % 1024 * 1024, 1, i % 2 == 0);
}

static void they_run_out_for_threads(void **unused)
{
    (void)unused;
    if (SANITIZED)
        return;
    survives(RLIMIT_AS, (size_t)90 << 20, THREADS, false);
    survives(RLIMIT_AS, (size_t)90 << 20, THREADS, true);
}

/* So little that not even a heap can begin. */
static void nothing_to_begin_with(void **unused)
{
    int status;
    pid_t pid;

    (void)unused;
    if (SANITIZED)
        return;
    pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        alarm(60);
        limit(RLIMIT_AS, 1 << 20);
        for (size_t bytes = 1; bytes < (size_t)1 << 30; bytes *= 3) {
            errno = 0;
            void *block = bfm_malloc(bytes);
            MUST(block || errno == ENOMEM);
            bfm_free(block);
        }
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* Whatever is left of the addresses behind the largest region that fits, the page map has to fit,
 * too. */
static void the_first_block_is_there_under_any_limit(void **unused)
{
    (void)unused;
    for (size_t mib = 26; !SANITIZED && mib < 150; mib += 3) {
        int status;
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (!pid) {
            alarm(60);
            limit(RLIMIT_AS, mib << 20);
            MUST(bfm_malloc(100) && bfm_malloc(5000) && !bfm_check(NULL));
            _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
}

/* No address for a mapping of 40 MiB, but a free chunk of as much. */
static int large_from_chunks(void)
{
    enum { PIECES = 60 };
    char *pieces[PIECES], *block;

    bfm_free(bfm_malloc(1000000)); /* the region is there */
    limit(RLIMIT_AS, (size_t)20 << 20);
    for (int i = 0; i < PIECES; i++)
        MUST((pieces[i] = bfm_malloc(1000000)) != NULL);
    MUST(!bfm_malloc((size_t)40 << 20) && errno == ENOMEM);
    for (int i = 0; i < PIECES; i++)
        bfm_free(pieces[i]);
    MUST((block = bfm_malloc((size_t)40 << 20)) != NULL);
    memset(block, 1, (size_t)40 << 20);
    MUST(!bfm_check(NULL));
    MUST(bfm_realloc(block, (size_t)36 << 20) == block);
    bfm_free(block);
    MUST((block = bfm_calloc(1, (size_t)40 << 20)) != NULL);
    for (size_t i = 0; i < (size_t)40 << 20; i += 100)
        MUST(!block[i]);
    bfm_free(block);
    MUST(!bfm_check(NULL));
    return 0;
}

static void large_blocks_fall_back_to_free_chunks(void **unused)
{
    int status;
    pid_t pid;

    (void)unused;
    if (SANITIZED)
        return;
    pid = fork();
    assert_true(pid >= 0);
    if (!pid)
        _exit(large_from_chunks());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* Where the C library says ENOMEM, so do we: also what could be reserved, but never be filled. */
static void beyond_reason_is_enomem(void **unused)
{
    (void)unused;
    if (SANITIZED)
        return;
    for (int power = 46; power < 64; power++) {
        errno = 0;
        assert_null(bfm_memalign((size_t)1 << power, 100));
        assert_int_equal(errno, ENOMEM);
        errno = 0;
        assert_null(bfm_malloc((size_t)1 << power));
        assert_int_equal(errno, ENOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_to_begin_with),
        cmocka_unit_test(the_first_block_is_there_under_any_limit),
        cmocka_unit_test(addresses_run_out),
        cmocka_unit_test(data_runs_out),
        cmocka_unit_test(they_run_out_for_threads),
        cmocka_unit_test(large_blocks_fall_back_to_free_chunks),
        cmocka_unit_test(beyond_reason_is_enomem),
    };
    const char *given = getenv("TIDEMARK_TEST_SEED");

    seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) * 1000003 + (uint64_t)getpid();
    printf("TIDEMARK_TEST_SEED=%llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
