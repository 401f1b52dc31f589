/* Lag and drag of blocks of this process, which writes them at known times; scans come when the
 * tests want them. On a kernel that cannot tell there is nothing to test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/now.h"
#include "base/ticks.h"
#include "collector/page_use.h"
#include "wire/wire.h"
#include "wire/write_watch.h"

enum {
    PAGE = 4096,
    PAGES = 64,
    HEADER = 16,
    NODE = 7,
    NOT_ASKED = 0,
    MS = 1000,
    KIB = PAGE / 1024
};
#define INTERVAL_NS 60000000000u

static struct heat *heat;
static struct page_use *use;
static char *memory;

static int set_up(void **state)
{
    (void)state;
    memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(memory, PAGES * PAGE, MADV_NOHUGEPAGE);
    heat = heat_missing() ? NULL : heat_begin(getpid(), write_watch_open(), INTERVAL_NS);
    use = page_use_new(clock_read());
    usleep(20 * MS); /* so that the rate of the clock is known */
    if (heat)
        page_use_begin(use, heat);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    heat_end(heat);
    page_use_free(use);
    munmap(memory, PAGES * PAGE);
    return 0;
}

static void begin(void)
{
    if (heat)
        return;
    printf("%s\n", heat_missing());
    skip();
}

static void scan(void)
{
    heat_lock(heat, HEAT_SCAN);
    heat_unlock(heat);
    usleep(2 * MS); /* no other in the same millisecond */
}

static void feed(unsigned kind, const char *address, uint64_t size, uint64_t node)
{
    struct wire_record record = {(uint64_t)kind << 56 | (uint64_t)(uintptr_t)address, ticks_now(),
                                 size, wire_detail((uint32_t)node, 0, 0)};
    struct replay_run run = {0, kind & WIRE_LONG ? 32 : 16};
    page_use_runs(use, &run, 1, &record);
}

/* Of `pages` whole pages, as malloc's headers leave them. */
static char *born(size_t pages)
{
    feed(WIRE_MALLOC, memory + HEADER, (pages + 1) * PAGE - HEADER, NODE);
    usleep(2 * MS); /* no scan of the same millisecond */
    return memory + PAGE;
}

static void freed(uint64_t told)
{
    usleep(2 * MS);
    feed(WIRE_FREE_AT, memory + HEADER, told, 0);
}

/* Of one call path. */
static struct profile_page_use take(void)
{
    size_t count;
    struct profile_page_use *rows = page_use_take(use, ticks_now(), &count);
    assert_int_equal(count, 1);
    struct profile_page_use row = rows[0];
    assert_int_equal(row.path, NODE);
    free(rows);
    return row;
}

static void assert_near(uint64_t kib_ms, uint64_t error_kib_ms, uint64_t pages, double ms)
{
    double found = (double)kib_ms / (double)(pages * KIB);
    double error = (double)error_kib_ms / (double)(pages * KIB) + 2; /* times are cut to ms */
    if (found < ms - error || found > ms + error)
        fail_msg("%.1f ms are not %.1f ± %.1f", found, ms, error);
}

static double ms_since(uint64_t ns)
{
    return (double)(now_monotonic_ns() - ns) / 1e6;
}

static void a_block_lies_before_its_first_write_and_after_its_last(void **state)
{
    (void)state;
    begin();
    uint64_t since = now_monotonic_ns();
    char *pages = born(8);
    usleep(30 * MS);
    scan();
    memset(pages, 1, 8 * PAGE);
    double lag = ms_since(since);
    uint64_t once = now_monotonic_ns();
    scan();
    usleep(30 * MS);
    scan();
    pages[0] = 2;
    uint64_t again = now_monotonic_ns();
    scan();
    usleep(60 * MS);
    scan();
    freed(write_watch_told(0));
    double drag = (7 * ms_since(once) + ms_since(again)) / 8;
    struct profile_page_use row = take();
    assert_int_equal(row.count, 1);
    assert_int_equal(row.alive_count + row.unseen_count + row.unwritten_bytes, 0);
    assert_int_equal(row.bytes, 8 * PAGE);
    assert_near(row.lag_kib_ms, row.lag_error_kib_ms, 8, lag);
    assert_near(row.drag_kib_ms, row.drag_error_kib_ms, 8, drag);
    assert_true(row.life_kib_ms >= row.lag_kib_ms + row.drag_kib_ms);
}

static void what_was_written_behind_the_last_scan_is_told(void **state)
{
    (void)state;
    begin();
    char *pages = born(8);
    memset(pages, 1, 8 * PAGE);
    scan();
    usleep(50 * MS);
    scan();
    memset(pages, 2, 8 * PAGE);
    uint64_t since = now_monotonic_ns();
    freed(write_watch_told(8));
    double drag = ms_since(since);
    struct profile_page_use row = take();
    assert_near(row.drag_kib_ms, row.drag_error_kib_ms, 8, drag);
    assert_true(row.drag_kib_ms < 8 * KIB * 40);
}

/* Nobody says which pages they were: those with most drag, so that there is never too much. */
static void of_some_pages_that_were_written_last_drag_is_not_too_much(void **state)
{
    (void)state;
    begin();
    char *pages = born(4);
    memset(pages, 1, 4 * PAGE);
    scan();
    usleep(60 * MS);
    uint64_t since = now_monotonic_ns();
    scan();
    memset(pages, 2, 2 * PAGE);
    scan();
    usleep(20 * MS);
    double late = ms_since(since);
    scan();
    freed(write_watch_told(2));
    struct profile_page_use row = take();
    assert_true(row.drag_kib_ms <= 2 * KIB * (uint64_t)(2 * ms_since(since) - late + 4));
    assert_true(row.drag_kib_ms + row.drag_error_kib_ms >= 2 * KIB * 19);
}

/* Two pages have most drag, and are known least; the two others stay. */
static void the_error_is_that_of_the_pages_that_stay(void **state)
{
    (void)state;
    begin();
    char *pages = born(4);
    memset(pages, 1, 4 * PAGE);
    usleep(60 * MS);
    scan();
    uint64_t since = now_monotonic_ns();
    scan();
    memset(pages, 2, 2 * PAGE);
    scan();
    double narrow = ms_since(since) + 2; /* times are cut to ms */
    usleep(20 * MS);
    freed(write_watch_told(2));
    struct profile_page_use row = take();
    printf("err %lu narrow %.1f since %.1f drag %lu\n", row.drag_error_kib_ms / KIB, narrow,
           ms_since(since), row.drag_kib_ms / KIB);
    assert_true(row.drag_error_kib_ms <= KIB * (uint64_t)(2 * narrow + ms_since(since) + 4));
}

/* So many mappings that a scan takes a while until it comes to `memory`, which lies above. */
enum { MAPPINGS = 8000 };
static char *mappings_below(void)
{
    char *below =
        mmap(NULL, MAPPINGS * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(below != MAP_FAILED && below < memory);
    for (size_t i = 0; i < MAPPINGS; i += 2)
        mprotect(below + i * PAGE, PAGE, PROT_READ);
    return below;
}

static void *scan_beside(void *unused)
{
    scan();
    return unused;
}

/* It began before the free, and came to the pages when the next block had written them. */
static void a_scan_may_see_the_next_block(void **state)
{
    (void)state;
    begin();
    char *below = mappings_below(), *pages = born(8);
    pthread_t scanning;
    memset(pages, 1, 8 * PAGE);
    uint64_t since = now_monotonic_ns();
    scan();
    usleep(300 * MS);
    scan();
    assert_int_equal(pthread_create(&scanning, NULL, scan_beside, NULL), 0);
    usleep(2 * MS);
    freed(write_watch_told(0));
    double drag = ms_since(since);
    memset(pages, 2, 8 * PAGE);
    pthread_join(scanning, NULL);
    struct profile_page_use row = take();
    printf("drag %lu err %lu %.1f\n", row.drag_kib_ms / KIB / 8, row.drag_error_kib_ms / KIB / 8,
           drag);
    munmap(below, MAPPINGS * PAGE);
    assert_int_equal(row.count, 1);
    assert_near(row.drag_kib_ms, row.drag_error_kib_ms, 8, drag);
}

static void pages_that_were_never_written_have_neither(void **state)
{
    (void)state;
    begin();
    char *pages = born(8);
    memset(pages, 1, 2 * PAGE);
    scan();
    usleep(10 * MS);
    scan();
    freed(write_watch_told(1)); /* may be one of those that no scan saw written */
    struct profile_page_use row = take();
    assert_int_equal(row.bytes, 8 * PAGE);
    assert_int_equal(row.unwritten_bytes, 5 * PAGE);
    assert_true(row.unwritten_kib_ms >= 5 * KIB * 9 && row.unwritten_kib_ms <= row.life_kib_ms);
}

static void blocks_that_live_count_until_the_last_scan(void **state)
{
    (void)state;
    begin();
    char *pages = born(8);
    memset(pages, 1, 8 * PAGE);
    uint64_t since = now_monotonic_ns();
    scan();
    usleep(40 * MS);
    double before = ms_since(since);
    uint64_t end = ticks_now();
    scan();
    double half = (ms_since(since) - before) / 2;
    usleep(40 * MS);
    scan();
    size_t count;
    struct profile_page_use *rows = page_use_take(use, end, &count);
    assert_int_equal(count, 1);
    assert_int_equal(rows->count, 1);
    assert_int_equal(rows->alive_count, 1);
    assert_near(rows->drag_kib_ms, rows->drag_error_kib_ms + (uint64_t)(8 * KIB * half), 8,
                before + half);
    free(rows);
}

/* One scan may come between a birth and the first write, and the process end before the next. */
static void a_block_that_lives_needs_two_scans(void **state)
{
    (void)state;
    begin();
    born(8);
    scan();
    struct profile_page_use row = take();
    assert_int_equal(row.count, 0);
    assert_int_equal(row.unseen_count, 1);
}

/* A damaged record may tell of any size. 64 TiB would be 17 billion pages to look at; of a block
 * that ends behind all addresses nothing is told. */
static void a_block_takes_no_longer_than_what_was_written(void **state)
{
    enum { ROUNDS = 200 };
    const uint64_t bytes = 1ull << 46;
    char *low = (char *)(uintptr_t)PAGE;
    (void)state;
    begin();
    memset(memory, 1, 3 * PAGE);
    scan();
    for (int i = 0; i < ROUNDS; i++)
        feed(WIRE_MALLOC, low + i * HEADER, bytes, NODE);
    feed(WIRE_MALLOC, low + PAGE, WIRE_ADDRESS_MASK, NODE);
    feed(WIRE_MALLOC, low + PAGE + HEADER, UINT64_MAX - PAGE, NODE);
    assert_int_equal(page_use_block_count(use), ROUNDS);
    usleep(2 * MS);
    scan();
    usleep(2 * MS);
    scan();
    struct profile_page_use row = take();
    assert_int_equal(row.count, ROUNDS);
    assert_int_equal(row.bytes, bytes + (ROUNDS - 1) * (bytes - PAGE));
}

static void what_is_not_known_is_unseen(void **state)
{
    (void)state;
    begin();
    born(8);
    freed(write_watch_told(0)); /* no scan fell into it */
    assert_int_equal(take().unseen_count, 1);
    born(8);
    scan();
    usleep(5 * MS);
    scan();
    freed(0); /* its end tells nothing */
    assert_int_equal(take().unseen_count, 2);
    born(8);
    scan();
    usleep(5 * MS);
    feed(WIRE_REALLOC_BEGIN, memory + HEADER, 0, 0);
    feed(WIRE_REALLOC_END, memory + HEADER, 100, NODE);
    struct profile_page_use row = take();
    assert_int_equal(row.unseen_count, 3);
    assert_int_equal(row.count + row.bytes + row.drag_kib_ms, 0);
}

/* The watch comes a little after the first blocks, and the merge's events after a scan. */
static void a_block_from_before_the_watch_was_written(void **state)
{
    (void)state;
    begin();
    struct clock_reading before = clock_read();
    heat_end(heat);
    page_use_free(use);
    use = page_use_new(before);
    char *pages = born(8);
    memset(pages, 1, 8 * PAGE);
    heat = heat_begin(getpid(), write_watch_open(), INTERVAL_NS);
    scan();
    page_use_begin(use, heat);
    usleep(10 * MS);
    scan();
    struct profile_page_use row = take();
    assert_int_equal(row.count, 1);
    assert_int_equal(row.unwritten_bytes, 0);
}

static void blocks_without_a_whole_page_are_not_counted(void **state)
{
    (void)state;
    size_t count;
    begin();
    feed(WIRE_MALLOC, memory + HEADER, 2 * PAGE - HEADER - 1, NODE);
    scan();
    usleep(5 * MS);
    scan();
    freed(write_watch_told(0));
    assert_null(page_use_take(use, ticks_now(), &count));
    assert_int_equal(count, 0);
}

/* Small blocks whose words in the table say that they may be known (of 100,000 some), those that
 * take a large one's address, and those that a realloc makes of a large one. */
static void small_blocks_do_not_fill_the_table(void **state)
{
    enum { LARGE = 200, SMALL = 100000 };
    char *large = (char *)0x100000000, *small = (char *)0x200000000;
    (void)state;
    for (size_t i = 0; i < LARGE; i++)
        feed(WIRE_MALLOC, large + i * 16 * PAGE, 10 * PAGE, NODE);
    for (size_t i = 0; i < SMALL; i++) {
        feed(WIRE_MALLOC, small + i * 64, 48, NODE);
        if (i % 2)
            feed(WIRE_FREE, small + i * 64, 0, 0);
    }
    assert_int_equal(page_use_block_count(use), LARGE);
    for (size_t i = 0; i < LARGE / 2; i++) {
        feed(WIRE_REALLOC_BEGIN, large + i * 16 * PAGE, 0, 0);
        feed(WIRE_REALLOC_END, small + (SMALL + i) * 64, 48, NODE);
    }
    assert_int_equal(page_use_block_count(use), LARGE / 2);
    for (size_t i = LARGE / 2; i < LARGE; i++) {
        feed(WIRE_FREE, large + i * 16 * PAGE, 0, 0);
        feed(WIRE_MALLOC, large + i * 16 * PAGE, 48, NODE);
    }
    assert_int_equal(page_use_block_count(use), 0);
}

/* Most blocks are born and freed between two scans. They count where they ended. */
static void blocks_between_two_scans_are_unseen(void **state)
{
    (void)state;
    begin();
    scan();
    for (int i = 0; i < 3; i++) {
        memset(born(8), 1, 8 * PAGE);
        freed(write_watch_told(8));
    }
    assert_int_equal(take().unseen_count, 3);
    born(8); /* taken out of the queue before it ends */
    assert_int_equal(take().unseen_count, 4);
    freed(NOT_ASKED);
    assert_int_equal(take().unseen_count, 4);
    born(8);
    page_use_restart(use);
    freed(NOT_ASKED);
    born(8);
    freed(NOT_ASKED);
    assert_int_equal(take().unseen_count, 2);
    char *pages = born(8);
    memset(pages, 1, 8 * PAGE);
    scan();
    freed(write_watch_told(0));
    struct profile_page_use row = take();
    assert_int_equal(row.unseen_count, 2);
    assert_int_equal(row.count, 1);
    assert_int_equal(row.unwritten_bytes, 0);
}

/* Meanwhile so many blocks come and go that the table of what may be known is made anew. */
/* The queue of a program that takes and frees large blocks all the time stays short. */
static void blocks_between_two_scans_take_no_memory(void **state)
{
    enum { BLOCKS = 100000, MOST = 1 << 20 };
    (void)state;
    begin();
    scan();
    size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    for (int i = 0; i < BLOCKS; i += 2) {
        char *one = memory, *other = memory + 16 * PAGE; /* of two that overlap either goes first */
        feed(WIRE_MALLOC, one, 8 * PAGE, NODE);
        feed(WIRE_MALLOC, other, 8 * PAGE, NODE);
        feed(WIRE_FREE, i % 4 ? one : other, 0, 0);
        feed(WIRE_FREE, i % 4 ? other : one, 0, 0);
    }
    assert_true(mallinfo2().uordblks + mallinfo2().hblkhd < before + MOST);
    assert_int_equal(take().unseen_count, BLOCKS);
}

static void a_block_whose_realloc_fails_late_is_still_known(void **state)
{
    enum { OTHERS = 20000 };
    char *large = (char *)0x100000010, *other = (char *)0x200000000;
    (void)state;
    feed(WIRE_MALLOC, large, 10 * PAGE, NODE);
    feed(WIRE_REALLOC_BEGIN, large, 0, 0);
    for (size_t i = 0; i < OTHERS; i++) {
        feed(WIRE_MALLOC, other + i * 3 * PAGE + i % 4096 * 16, 2 * PAGE, NODE);
        feed(WIRE_FREE, other + i * 3 * PAGE + i % 4096 * 16, 0, 0);
    }
    feed(WIRE_REALLOC_END | WIRE_FAILED, NULL, 20 * PAGE, NODE);
    assert_int_equal(page_use_block_count(use), 1);
    feed(WIRE_FREE, large, 0, 0);
    assert_int_equal(page_use_block_count(use), 0);
}

static void a_window_forgets_what_ended_before(void **state)
{
    (void)state;
    begin();
    born(8);
    scan();
    usleep(5 * MS);
    scan();
    freed(write_watch_told(0));
    page_use_restart(use);
    size_t count;
    assert_null(page_use_take(use, ticks_now(), &count));
}

/* ---- A block in memory of which so much is written that it rests ------------------------------- */

enum { HOT = 12000, PARTS = 8, ROUNDS = 24 };
#define HOT_INTERVAL_NS 20000000u

static void begin_hot(void)
{
    heat_end(heat);
    page_use_free(use);
    munmap(memory, PAGES * PAGE);
    memory = mmap(NULL, HOT * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    madvise(memory, HOT * PAGE, MADV_NOHUGEPAGE);
    heat = heat_begin(getpid(), write_watch_open(), HOT_INTERVAL_NS);
    use = page_use_new(clock_read());
    assert_non_null(heat);
    usleep(20 * MS);
    page_use_begin(use, heat);
}

static uint32_t newest_scan(void)
{
    heat_hold(heat);
    uint32_t end_ms = heat_scan_around(heat, 0, 1, UINT32_MAX);
    heat_unlock(heat);
    return end_ms;
}

static void wait_for_scan(void)
{
    for (uint32_t newest = newest_scan(); newest_scan() == newest;)
        usleep(MS);
    usleep(3 * MS);
}

/* As the recorder asks before a free. */
static uint64_t written_of(const char *pages, size_t count)
{
    enum { REGIONS = 4096 };
    static struct write_watch_region regions[REGIONS];
    struct write_watch_scan scan = {.size_bytes = sizeof scan,
                                    .start = (uintptr_t)pages,
                                    .end = (uintptr_t)(pages + count * PAGE),
                                    .regions = (uintptr_t)regions,
                                    .region_count = REGIONS,
                                    .category_mask = WRITE_WATCH_WRITTEN | WRITE_WATCH_PRESENT,
                                    .return_mask = WRITE_WATCH_WRITTEN};
    int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    int found = ioctl(pagemap, WRITE_WATCH_SCAN, &scan);
    uint64_t written = 0;
    close(pagemap);
    assert_true(found >= 0 && scan.walk_end == scan.end);
    for (int i = 0; i < found; i++)
        written += (regions[i].end - regions[i].start) / PAGE;
    return written;
}

/* Of one part, when it was written last. On a busy machine each step takes long. */
struct written {
    uint64_t from_ns, to_ns;
};

/* Part i is written in all rounds but the last `quiet[i]`. */
static void write_in_rounds(char *pages, size_t part, const int *quiet, struct written *last)
{
    for (int round = 0; round < ROUNDS; round++) {
        heat_hold(heat);
        for (int i = 0; i < PARTS; i++) {
            if (round >= ROUNDS - quiet[i])
                continue;
            last[i].from_ns = now_monotonic_ns();
            for (size_t page = 0; page < part; page++)
                pages[((size_t)i * part + page) * PAGE]++;
            last[i].to_ns = now_monotonic_ns();
        }
        heat_unlock(heat);
        wait_for_scan();
    }
}

enum knows { AT_MOST, EXACTLY, ALL_SCANNED };

static void check_hot_block(const int *quiet, enum knows knows)
{
    enum { PART = (HOT - 2) / PARTS, USED = PART * PARTS };
    struct written last[PARTS];
    double least = 0, most = 0;
    begin_hot();
    feed(WIRE_MALLOC, memory + HEADER, (USED + 1) * PAGE - HEADER, NODE);
    usleep(3 * MS);
    write_in_rounds(memory + PAGE, PART, quiet, last);
    heat_hold(heat);
    uint64_t written = written_of(memory + PAGE, USED);
    for (int i = 0; i < PARTS; i++)
        least += ms_since(last[i].to_ns) / PARTS;
    feed(WIRE_FREE_AT, memory + HEADER, write_watch_told(written), 0);
    for (int i = 0; i < PARTS; i++)
        most += ms_since(last[i].from_ns) / PARTS;
    heat_unlock(heat);
    struct profile_page_use row = take();
    assert_int_equal(row.count + row.unseen_count, 1);
    double said = (double)row.drag_kib_ms / (USED * KIB);
    double error = (double)row.drag_error_kib_ms / (USED * KIB) + 3;
    if (row.count && said - error > most)
        fail_msg("%.1f ms of drag are more than %.1f + %.1f", said, most, error);
    assert_true(knows != ALL_SCANNED || (row.count == 1 && written == 0));
    if (row.count && knows != AT_MOST && said + error < least)
        fail_msg("%.1f ms of drag are less than %.1f - %.1f", said, least, error);
    assert_int_equal(row.unwritten_bytes, 0);
    munmap(memory, HOT * PAGE);
    memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void what_rests_has_no_more_drag_than_is_true(void **state)
{
    (void)state;
    begin();
    check_hot_block((const int[PARTS]){0, 0, 0, 0, 3, 3, 5, 10}, AT_MOST);
    check_hot_block((const int[PARTS]){1, 1, 1, 1, 2, 2, 2, 2}, AT_MOST);
    check_hot_block((const int[PARTS]){0, 0, 0, 0, 0, 0, 0, 0}, EXACTLY);
    check_hot_block((const int[PARTS]){2, 2, 2, 2, 2, 2, 2, 2}, EXACTLY);
    check_hot_block((const int[PARTS]){4, 4, 4, 4, 4, 4, 4, 4}, EXACTLY);
}

/* All rests are over before the end: nothing is open. */
static void what_rested_has_the_drag_that_is_true(void **state)
{
    (void)state;
    begin();
    check_hot_block((const int[PARTS]){21, 20, 20, 20, 21, 21, 21, 21}, ALL_SCANNED);
}

#define WITH_HEAT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_HEAT(a_block_lies_before_its_first_write_and_after_its_last),
        WITH_HEAT(what_was_written_behind_the_last_scan_is_told),
        WITH_HEAT(of_some_pages_that_were_written_last_drag_is_not_too_much),
        WITH_HEAT(the_error_is_that_of_the_pages_that_stay),
        WITH_HEAT(a_scan_may_see_the_next_block),
        WITH_HEAT(pages_that_were_never_written_have_neither),
        WITH_HEAT(blocks_that_live_count_until_the_last_scan),
        WITH_HEAT(a_block_that_lives_needs_two_scans),
        WITH_HEAT(a_block_takes_no_longer_than_what_was_written),
        WITH_HEAT(what_is_not_known_is_unseen),
        WITH_HEAT(a_block_from_before_the_watch_was_written),
        WITH_HEAT(blocks_without_a_whole_page_are_not_counted),
        WITH_HEAT(small_blocks_do_not_fill_the_table),
        WITH_HEAT(blocks_between_two_scans_are_unseen),
        WITH_HEAT(blocks_between_two_scans_take_no_memory),
        WITH_HEAT(a_block_whose_realloc_fails_late_is_still_known),
        WITH_HEAT(a_window_forgets_what_ended_before),
        WITH_HEAT(what_rests_has_no_more_drag_than_is_true),
        WITH_HEAT(what_rested_has_the_drag_that_is_true),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
