/* Free memory goes back to the system: what is above the bound (64 MiB and half of what is in use,
 * age_limit) at once, the rest within a second in which the program makes calls, and all of it by
 * bfm_malloc_trim(). Resident memory is read from /proc, for each pattern in a child of
 * its own. BFM_TEST_LARGEST=MIB (up to 1024) widens the sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "tidemark/bfm.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 }; /* their shadow is resident too */
#else
enum { SANITIZED = 0 };
#endif

#define MIB      ((size_t)1 << 20)
#define CONSTANT (64 * MIB)
/* The page map, a step that is not yet due, and the test itself. */
#define SLACK (3 * MIB)

/* Anonymous memory, as pages of programs and libraries also depend on other processes. The
 * kernel walks the pages for it; statm's sum may be behind on a machine of many processors. */
static size_t resident(void)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    size_t kib = 0;
    char line[256];
    bool found = false;

    while (file && !found && fgets(line, sizeof line, file))
        found = sscanf(line, "Anonymous: %zu kB", &kib) == 1;
    if (!found)
        _exit(2);
    fclose(file);
    return kib << 10;
}

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* The greatest that resident memory may be while `live` bytes are in use. */
static bool within(size_t base, size_t live, const char *what, size_t bytes)
{
    size_t now = resident(), most = base + live + live / 2 + CONSTANT + SLACK;

    if (now > most)
        printf("%s of %zu KiB: %zu MiB resident, of which %zu in use\n", what, bytes >> 10,
               now / MIB, live / MIB);
    return now <= most;
}

/* ---- blocks of one size, again and again ---- */

static void *take_malloc(size_t bytes)
{
    return bfm_malloc(bytes);
}

static void *take_calloc(size_t bytes)
{
    char *block = bfm_calloc(1, bytes);

    for (size_t i = 0; block && i < bytes; i += 509)
        if (block[i])
            _exit(3);
    return block;
}

static void *take_memalign(size_t bytes)
{
    return bfm_memalign(1 << 16, bytes);
}

static void *take_by_growing(size_t bytes)
{
    char *block = NULL;

    for (size_t held = bytes / 16 + 1; held < bytes; held += held / 2) {
        block = bfm_realloc(block, held);
        memset(block + held / 2, 1, held - held / 2);
    }
    return bfm_realloc(block, bytes);
}

static const struct way {
    const char *name;
    void *(*take)(size_t bytes);
} ways[] = {
    {"malloc", take_malloc},
    {"calloc", take_calloc},
    {"memalign", take_memalign},
    {"realloc", take_by_growing},
};
enum { WAYS = sizeof ways / sizeof *ways, ROUNDS = 12 };

/* `count` blocks live at once, each of them replaced in every round. */
static int replaced(const struct way *way, size_t bytes, unsigned count)
{
    size_t base = resident();
    char *blocks[4] = {NULL};

    for (unsigned round = 0; round < ROUNDS; round++)
        for (unsigned i = 0; i < count; i++) {
            bfm_free(blocks[i]);
            if (!within(base, bytes * count, way->name, bytes))
                return 1;
            blocks[i] = way->take(bytes + round % 3 * (bytes / 9));
            memset(blocks[i], 1, bytes);
        }
    for (unsigned i = 0; i < count; i++)
        bfm_free(blocks[i]);
    return !within(base, 0, way->name, bytes) || bfm_check(NULL);
}

static int child_status(pid_t pid)
{
    int status = 0;

    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

/* Runs the rest of the function in a child, which must end with 0. */
#define IN_A_CHILD(...)                                                                            \
    do {                                                                                           \
        pid_t pid;                                                                                 \
        fflush(stdout);                                                                            \
        pid = fork();                                                                              \
        if (!pid) {                                                                                \
            int status = (__VA_ARGS__);                                                            \
            fflush(stdout);                                                                        \
            _exit(status);                                                                         \
        }                                                                                          \
        assert_int_equal(child_status(pid), 0);                                                    \
    } while (0)

static void what_is_kept_is_bounded(void **unused)
{
    const char *given = getenv("BFM_TEST_LARGEST");
    size_t most = (given ? strtoull(given, NULL, 0) : 72) * MIB;

    (void)unused;
    for (size_t bytes = MIB; !SANITIZED && bytes <= most; bytes += bytes / 3 * 2)
        for (unsigned i = 0; i < WAYS; i++)
            for (unsigned count = 1; count <= 4 && count * bytes <= 2 * most; count += 3)
                IN_A_CHILD(replaced(&ways[i], bytes, count));
}

/* ---- many blocks, freed one by one ---- */

struct many {
    size_t bytes, count, keep_every; /* 0: none */
    char **blocks;
};

static struct many fill(size_t bytes, size_t all, size_t keep_every)
{
    struct many many = {bytes, all / bytes, keep_every, NULL};

    many.blocks = malloc(many.count * sizeof *many.blocks);
    memset(many.blocks, 1, many.count * sizeof *many.blocks);
    return many;
}

static void take_all(struct many *many)
{
    for (size_t i = 0; i < many->count; i++) {
        many->blocks[i] = bfm_malloc(many->bytes);
        memset(many->blocks[i], 1, many->bytes);
    }
}

/* Returns the pages that hold what is left and the tags of the free chunks beside it, in bytes. */
static size_t free_most(struct many *many)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), left = 0;

    for (size_t i = 0; i < many->count; i++)
        if (!many->keep_every || i % many->keep_every)
            bfm_free(many->blocks[i]);
        else
            left += ((uintptr_t)many->blocks[i] + many->bytes - 1) / page * page -
                    (uintptr_t)many->blocks[i] / page * page + 2 * page;
    return left;
}

/* The mappings that hold most, with the flags that say which pages the kernel may give them. */
static void show_resident(void)
{
    FILE *file = fopen("/proc/self/smaps", "r");
    char line[256], mapping[256] = "";
    unsigned long kib, rss_kib = 0, huge_kib = 0;

    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        if (sscanf(line, "Rss: %lu kB", &kib) == 1)
            rss_kib = kib;
        else if (sscanf(line, "AnonHugePages: %lu kB", &kib) == 1)
            huge_kib = kib;
        else if (!strncmp(line, "VmFlags:", 8) && rss_kib >= 256)
            printf("  %s: %lu KiB, in huge pages %lu, %s\n", mapping, rss_kib, huge_kib, line);
        else if (strchr(line, '-') && strchr(line, '-') < strchr(line, ' '))
            strcpy(mapping, line);
    }
    if (file)
        fclose(file);
}

static bool is_back(size_t base, size_t left, const struct many *many, const char *when)
{
    size_t now = resident();

    if (now <= base + left + left / 20 + MIB)
        return true;
    printf("blocks of %zu, one of %zu left, %s: %zu KiB more than before, pages in use %zu KiB\n",
           many->bytes, many->keep_every, when, (now - base) >> 10, left >> 10);
    show_resident();
    return false;
}

/* Pairs of a small block, some a millisecond, for a second. */
static void be_active(size_t bytes, long pause_ms)
{
    for (long i = 0; i < 1000; i += pause_ms) {
        for (unsigned k = 0; k < 50; k++)
            bfm_free(bfm_malloc(bytes));
        sleep_ms(pause_ms);
    }
}

enum { SECONDS_MOST = 5 };

static int comes_back(size_t bytes, size_t keep_every, size_t active_bytes, long pause_ms)
{
    struct many many = fill(bytes, 192 * MIB, keep_every);
    size_t base = resident(), left;

    take_all(&many);
    left = free_most(&many);
    if (resident() > base + left + left / 2 + CONSTANT + 4 * SLACK) {
        printf("blocks of %zu: %zu MiB resident after the last free\n", bytes, resident() / MIB);
        return 1;
    }
    /* A second, where the processor is ours; on a busy machine what is due is found later. */
    for (unsigned second = 1; second <= SECONDS_MOST; second++) {
        be_active(active_bytes, pause_ms);
        if (is_back(base, left, &many, "a second later"))
            return bfm_check(NULL) != NULL;
    }
    return 1;
}

/* A free each tenth of a second: 16 may pass until one looks at the clock, 8 MiB go with each of
 * the others. */
static int comes_back_to_who_calls_seldom(size_t bytes, size_t active_bytes)
{
    struct many many = fill(bytes, 192 * MIB, 0);
    size_t base = resident();

    take_all(&many);
    free_most(&many);
    for (unsigned i = 0; i < 60; i++) {
        bfm_free(bfm_malloc(active_bytes));
        sleep_ms(100);
        if (resident() <= base + MIB)
            return 0;
    }
    return !is_back(base, 0, &many, "six seconds later");
}

static int comes_back_at_once(size_t bytes, size_t keep_every)
{
    struct many many = fill(bytes, 128 * MIB, keep_every);
    size_t base = resident(), left;

    take_all(&many);
    left = free_most(&many);
    bfm_malloc_trim(0);
    return !is_back(base, left, &many, "trimmed") || bfm_check(NULL);
}

static void what_is_free_comes_back(void **unused)
{
    static const size_t sizes[] = {24, 300, 1000, 5000, 20000, 300000, 3000000};

    (void)unused;
    for (size_t i = 0; !SANITIZED && i < sizeof sizes / sizeof *sizes; i++) {
        IN_A_CHILD(comes_back(sizes[i], 0, 40, 1));
        IN_A_CHILD(comes_back_at_once(sizes[i], 0));
        if (sizes[i] >= 1000 && sizes[i] < 300000)
            IN_A_CHILD(comes_back_at_once(sizes[i], 400));
    }
}

static void whatever_the_program_calls(void **unused)
{
    (void)unused;
    if (SANITIZED)
        return;
    IN_A_CHILD(comes_back(1000, 0, 1000, 1));
    IN_A_CHILD(comes_back(1000, 400, 1000, 20));
    IN_A_CHILD(comes_back(30000, 0, 40, 20));
    IN_A_CHILD(comes_back(100, 0, 100, 20));
    IN_A_CHILD(comes_back_to_who_calls_seldom(3000000, 200000));
    IN_A_CHILD(comes_back_to_who_calls_seldom(100, 40));
}

/* Each second of 6,000 blocks of 20,000 bytes is free, and a pause has made all of it old. */
static int a_call_gives_back_little(void)
{
    struct many many = fill(20000, 120 * MIB, 2);
    size_t begin, before, most = 0;

    take_all(&many);
    free_most(&many);
    begin = before = resident();
    sleep_ms(600);
    for (unsigned call = 0; call < 300; call++) {
        void *block = bfm_malloc(100000);
        bfm_free(block);
        size_t now = resident(), given = before > now ? before - now : 0;
        most = given > most ? given : most;
        before = now;
    }
    if (most > 3 * MIB || before == begin)
        printf("%zu KiB in two calls, %zu KiB in all\n", most >> 10, (begin - before) >> 10);
    return most > 3 * MIB || before == begin;
}

static void no_call_gives_back_all_of_many_pieces(void **unused)
{
    (void)unused;
    if (!SANITIZED)
        IN_A_CHILD(a_call_gives_back_little());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_call_gives_back_all_of_many_pieces),
        cmocka_unit_test(what_is_kept_is_bounded),
        cmocka_unit_test(what_is_free_comes_back),
        cmocka_unit_test(whatever_the_program_calls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
