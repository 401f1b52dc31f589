/* When pages were written, of this process, which writes a known pattern. On a kernel that cannot
 * tell there is nothing to test but that it is said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include "base/now.h"
#include "collector/heat.h"
#include "wire/write_watch.h"

/* Scans come when the tests want them, and not while they write: a page that is half full then is
 * written again. */
enum { PAGE = 4096, PAGES = 600, MS = 1000 };
#define INTERVAL_NS 60000000000u

static char *memory_of(size_t pages)
{
    char *memory =
        mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    madvise(memory, pages * PAGE, MADV_NOHUGEPAGE);
    return memory;
}

static unsigned of(struct heat *heat, const char *memory, size_t page)
{
    return heat_of(heat, (uint64_t)(uintptr_t)(memory + page * PAGE));
}

static struct heat *begin(void)
{
    if (heat_missing()) {
        printf("%s\n", heat_missing());
        skip();
    }
    int watch = write_watch_open();
    assert_true(watch >= 0);
    struct heat *heat = heat_begin(getpid(), watch, INTERVAL_NS);
    assert_non_null(heat);
    return heat;
}

static void fill(struct heat *heat, char *memory, int with, size_t bytes)
{
    heat_lock(heat, HEAT_SCAN);
    memset(memory, with, bytes);
    heat_unlock(heat);
}

/* A third each is written once, written again half-way, and never touched. */
static void pages_cool_down_until_they_are_written(void **state)
{
    (void)state;
    struct heat *heat = begin();
    char *memory = memory_of(PAGES);
    fill(heat, memory, 1, 2 * PAGES / 3 * PAGE);
    heat_lock(heat, HEAT_SCAN);
    for (size_t i = 0; i < PAGES; i++)
        assert_int_equal(of(heat, memory, i), i < 2 * PAGES / 3 ? HEAT_KNOWN : 0);
    heat_unlock(heat);
    usleep(1100 * MS);
    for (size_t i = PAGES / 3; i < 2 * PAGES / 3; i++)
        memory[i * PAGE + i] = 2;
    heat_lock(heat, HEAT_SCAN);
    for (size_t i = 0; i < PAGES; i++)
        assert_int_equal(of(heat, memory, i), i < PAGES / 3
                                                  ? HEAT_KNOWN | HEAT_COLD_1S | HEAT_FILLED
                                              : i < 2 * PAGES / 3 ? HEAT_KNOWN
                                                                  : 0);
    heat_unlock(heat);
    usleep(1100 * MS);
    heat_lock(heat, HEAT_SCAN);
    for (size_t i = PAGES / 3; i < 2 * PAGES / 3; i++)
        assert_int_equal(of(heat, memory, i), HEAT_KNOWN | HEAT_COLD_1S); /* not only filled */
    heat_unlock(heat);
    heat_end(heat);
    munmap(memory, PAGES * PAGE);
}

/* 32 bits of milliseconds are over after 49.7 days. */
static void time_does_not_begin_again_after_weeks(void **state)
{
    (void)state;
    struct heat *heat = begin();
    uint64_t now_ns = now_monotonic_ns(), day_ns = 86400ull * 1000000000;
    uint32_t before = heat_ms_at(heat, now_ns);
    for (unsigned day = 1; day < 120; day++) {
        uint32_t ms = heat_ms_at(heat, now_ns + day * day_ns);
        assert_true(ms > before || (day >= 50 && ms == before && ms + 1));
        before = ms;
    }
    heat_end(heat);
}

/* Reading keeps nothing warm, and what is read is what was written. */
static void reading_is_no_writing(void **state)
{
    (void)state;
    struct heat *heat = begin();
    char *memory = memory_of(PAGES);
    unsigned long sum = 0;
    fill(heat, memory, 3, PAGES * PAGE);
    heat_lock(heat, HEAT_SCAN);
    heat_unlock(heat);
    for (int i = 0; i < 12; i++, usleep(100 * MS))
        for (size_t at = 0; at < PAGES * PAGE; at += 64)
            sum += ((volatile char *)memory)[at];
    assert_int_equal(sum, 12ul * 3 * PAGES * PAGE / 64);
    heat_lock(heat, HEAT_SCAN);
    for (size_t i = 0; i < PAGES; i++)
        assert_int_equal(of(heat, memory, i), HEAT_KNOWN | HEAT_COLD_1S | HEAT_FILLED);
    heat_unlock(heat);
    heat_end(heat);
    munmap(memory, PAGES * PAGE);
}

/* The kernel writes there for us as well. */
static void what_the_kernel_writes_counts(void **state)
{
    (void)state;
    struct heat *heat = begin();
    char *memory = memory_of(1);
    int ends[2];
    fill(heat, memory, 4, PAGE);
    heat_lock(heat, HEAT_SCAN);
    heat_unlock(heat);
    usleep(1100 * MS);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "written", 8), 8);
    assert_int_equal(read(ends[0], memory, 8), 8);
    assert_string_equal(memory, "written");
    heat_lock(heat, HEAT_SCAN);
    assert_int_equal(of(heat, memory, 0), HEAT_KNOWN);
    heat_unlock(heat);
    close(ends[0]);
    close(ends[1]);
    heat_end(heat);
    munmap(memory, PAGE);
}

/* Memory that somebody else watches stays theirs, and what is no userfaultfd is not asked. */
static void what_cannot_be_watched_is_not_known(void **state)
{
    (void)state;
    if (heat_missing())
        skip();
    int theirs = write_watch_open(), ours = write_watch_open();
    char *memory = memory_of(1);
    struct write_watch_register range = {(uintptr_t)memory, PAGE, WRITE_WATCH_PROTECT, 0};
    assert_int_equal(ioctl(theirs, WRITE_WATCH_REGISTER, &range), 0);
    struct heat *heat = heat_begin(getpid(), ours, INTERVAL_NS);
    assert_non_null(heat);
    memset(memory, 5, PAGE);
    heat_lock(heat, HEAT_SCAN);
    assert_int_equal(of(heat, memory, 0), 0);
    heat_unlock(heat);
    heat_end(heat);
    close(theirs);
    munmap(memory, PAGE);
    assert_null(
        heat_begin(getpid(), open("/dev/zero", O_RDONLY), INTERVAL_NS)); /* no userfaultfd */
    heat_end(NULL);
}

/* A mapping that takes the place of a watched one, of the same size, is watched as well. */
static void what_is_mapped_anew_is_watched(void **state)
{
    (void)state;
    struct heat *heat = begin();
    char *memory = memory_of(4);
    fill(heat, memory, 6, 4 * PAGE);
    heat_lock(heat, HEAT_SCAN);
    heat_unlock(heat);
    usleep(1100 * MS);
    assert_ptr_equal(mmap(memory, 4 * PAGE, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
                     memory);
    madvise(memory, 4 * PAGE, MADV_NOHUGEPAGE);
    memset(memory, 7, 2 * PAGE);
    heat_lock(heat, HEAT_SCAN);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(of(heat, memory, i),
                         i < 2 ? HEAT_KNOWN : HEAT_KNOWN | HEAT_COLD_1S | HEAT_FILLED);
    heat_unlock(heat);
    usleep(1100 * MS);
    memory[0] = 8;
    heat_lock(heat, HEAT_SCAN);
    assert_int_equal(of(heat, memory, 0), HEAT_KNOWN);
    assert_int_equal(of(heat, memory, 1), HEAT_KNOWN | HEAT_COLD_1S);
    heat_unlock(heat);
    heat_end(heat);
    munmap(memory, 4 * PAGE);
}

/* Where descriptors are short for a while, what was not seen is not cold; it is seen afterwards. */
static void a_scan_that_fails_is_not_known(void **state)
{
    (void)state;
    struct heat *heat = begin();
    struct rlimit limit, none;
    char *memory = memory_of(2);
    fill(heat, memory, 6, 2 * PAGE);
    heat_lock(heat, HEAT_SCAN);
    heat_unlock(heat);
    usleep(1100 * MS);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = (struct rlimit){0, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    memory[0] = 7;
    heat_lock(heat, HEAT_SCAN);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(of(heat, memory, i), 0);
    heat_unlock(heat);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    heat_lock(heat, HEAT_SCAN);
    assert_int_equal(of(heat, memory, 0), HEAT_KNOWN);
    assert_int_equal(of(heat, memory, 1), HEAT_KNOWN | HEAT_COLD_1S | HEAT_FILLED);
    heat_unlock(heat);
    heat_end(heat);
    munmap(memory, 2 * PAGE);
}

/* A peek tells what was written since the scan, each time anew, and leaves it to the next scan. */
static void a_peek_leaves_pages_as_they_are(void **state)
{
    (void)state;
    struct heat *heat = begin();
    struct heat_write first, last;
    char *memory = memory_of(PAGES), *late = memory_of(4);
    uint64_t address = (uint64_t)(uintptr_t)memory;
    fill(heat, memory, 6, PAGES * PAGE);
    heat_lock(heat, HEAT_SCAN);
    heat_unlock(heat);
    usleep(1100 * MS);
    for (size_t i = 0; i < PAGES; i += 2) /* 300 runs */
        memory[i * PAGE] = 7;
    late[PAGE] = 7; /* no scan has seen this mapping */
    for (int peeks = 0; peeks < 2; peeks++) {
        heat_lock(heat, HEAT_PEEK);
        for (size_t i = 0; i < PAGES; i++)
            assert_int_equal(of(heat, memory, i),
                             i % 2 ? HEAT_KNOWN | HEAT_COLD_1S | HEAT_FILLED : HEAT_KNOWN);
        assert_int_equal(of(heat, memory, 0), HEAT_KNOWN); /* backwards */
        for (size_t i = 0; i < 4; i++)
            assert_int_equal(of(heat, late, i), i == 1 ? HEAT_KNOWN : 0);
        heat_unlock(heat);
    }
    usleep(20 * MS);
    uint32_t now_ms = heat_ms_at(heat, now_monotonic_ns());
    heat_lock(heat, HEAT_SCAN);
    assert_true(heat_writes_of(heat, address, 1, UINT32_MAX, &first, &last));
    assert_true(last.until >= now_ms && last.after < now_ms - 1000); /* the peeks told no bound */
    heat_unlock(heat);
    heat_end(heat);
    munmap(memory, PAGES * PAGE);
    munmap(late, 4 * PAGE);
}

/* ---- Memory that is written more than a half percent of a processor allows ------------------- */

enum { HOT = 16000, ROUNDS = 24, SETTLED = 8 };
enum { HOT_INTERVAL_MS = 50 };
#define HOT_INTERVAL_NS (HOT_INTERVAL_MS * 1000000u)

struct write_times {
    uint32_t from_ms, to_ms;
};

static uint32_t newest_scan(struct heat *heat)
{
    heat_hold(heat);
    uint32_t end_ms = heat_scan_around(heat, 0, 1, UINT32_MAX);
    heat_unlock(heat);
    return end_ms;
}

static void wait_for_scan(struct heat *heat)
{
    for (uint32_t newest = newest_scan(heat); newest_scan(heat) == newest;)
        usleep(MS);
    usleep(3 * MS); /* no write in the millisecond of a scan */
}

static long faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

/* Not while a scan is under way. Returns the faults. */
static long write_each(struct heat *heat, char *memory, size_t pages, struct write_times *times)
{
    heat_hold(heat);
    long before = faults();
    times->from_ms = heat_ms_at(heat, now_monotonic_ns());
    for (size_t i = 0; i < pages; i++)
        memory[i * PAGE]++;
    times->to_ms = heat_ms_at(heat, now_monotonic_ns());
    long found = faults() - before;
    heat_unlock(heat);
    return found;
}

static void assert_between(const struct heat_write *said, const struct write_times *times)
{
    assert_true(said->after <= times->to_ms + 1);
    assert_true(said->until + 1 >= times->from_ms);
}

/* What is said of a page is true up to the scan up to which it is said. */
static void assert_bounds(struct heat *heat, const char *memory, size_t page,
                          const struct write_times *times, size_t count)
{
    uint64_t address = (uint64_t)(uintptr_t)(memory + page * PAGE);
    struct heat_write first, last;
    heat_hold(heat);
    uint32_t end_ms = heat_scan_around(heat, address, address + PAGE, UINT32_MAX);
    assert_true(!end_ms || heat_scan_before(heat, address, address + PAGE, end_ms) < end_ms);
    while (count && times[count - 1].to_ms >= end_ms)
        count--;
    if (count) {
        assert_true(heat_writes_of(heat, address, 1, end_ms, &first, &last));
        assert_between(&first, &times[0]);
        assert_between(&last, &times[count - 1]);
    }
    heat_unlock(heat);
}

/* If nothing rested, each page would have a fault after each scan. On a busy machine there may be
 * several scans between two rounds. */
static void memory_that_is_always_written_rests(void **state)
{
    (void)state;
    if (heat_missing())
        skip();
    char *memory = memory_of(HOT);
    struct heat *heat = heat_begin(getpid(), write_watch_open(), HOT_INTERVAL_NS);
    struct write_times times[ROUNDS];
    long most = 0;
    assert_non_null(heat);
    for (size_t round = 0; round < ROUNDS; round++) {
        long found = write_each(heat, memory, HOT, &times[round]);
        most += round >= SETTLED ? found : 0;
        wait_for_scan(heat);
        for (size_t page = 0; page < HOT; page += HOT / 16 + 1)
            assert_bounds(heat, memory, page, times, round + 1);
    }
    uint32_t scans = (newest_scan(heat) - times[SETTLED].from_ms) / HOT_INTERVAL_MS + 1;
    assert_true(most < (long)scans * HOT * 2 / 3);
    heat_lock(heat, HEAT_PEEK); /* what rests is not said to be cold */
    for (size_t page = 0; page < HOT; page++)
        assert_int_equal(of(heat, memory, page) & ~HEAT_FILLED, HEAT_KNOWN);
    heat_unlock(heat);
    heat_lock(heat, HEAT_SCAN); /* the last scan takes all */
    heat_unlock(heat);
    for (size_t page = 0; page < HOT; page += HOT / 16 + 1)
        assert_bounds(heat, memory, page, times, ROUNDS);
    heat_end(heat);
    munmap(memory, HOT * PAGE);
}

/* One that is left open at first is found twice, and was filled once. */
static void memory_that_was_hot_cools_down(void **state)
{
    (void)state;
    if (heat_missing())
        skip();
    char *memory = memory_of(HOT);
    struct heat *heat = heat_begin(getpid(), write_watch_open(), HOT_INTERVAL_NS);
    struct write_times times[ROUNDS];
    assert_non_null(heat);
    for (size_t round = 0; round < ROUNDS; round++) {
        write_each(heat, memory, round ? HOT / 2 : HOT, &times[round]);
        wait_for_scan(heat);
    }
    for (int scans = 0; scans < 20; scans++) /* the longest rest is over */
        wait_for_scan(heat);
    usleep(1100 * MS);
    heat_lock(heat, HEAT_PEEK);
    for (size_t page = 0; page < HOT; page++)
        assert_int_equal(of(heat, memory, page),
                         HEAT_KNOWN | HEAT_COLD_1S | (page < HOT / 2 ? 0 : HEAT_FILLED));
    heat_unlock(heat);
    heat_end(heat);
    munmap(memory, HOT * PAGE);
}

/* A process that has not lived for a second has nothing cold, and is not asked. */
static void a_young_process_is_not_scanned(void **state)
{
    (void)state;
    struct heat *heat = begin();
    char *memory = memory_of(PAGES);
    memset(memory, 1, PAGES * PAGE);
    for (int how = HEAT_PEEK; how <= HEAT_LAST; how += HEAT_LAST - HEAT_PEEK) {
        struct write_times times;
        heat_lock(heat, (enum heat_look)how);
        unsigned found = of(heat, memory, 0);
        uint32_t scanned = heat_scan_around(heat, 0, 1, UINT32_MAX);
        heat_unlock(heat);
        long again = write_each(heat, memory, PAGES, &times);
        if (times.to_ms > 1000) /* a busy machine */
            break;
        assert_int_equal(found, HEAT_KNOWN);
        assert_int_equal(scanned, 0);
        assert_true(again < PAGES);
    }
    usleep(1100 * MS);
    heat_lock(heat, HEAT_LAST);
    assert_true(heat_scan_around(heat, 0, 1, UINT32_MAX) > 1000);
    heat_unlock(heat);
    heat_end(heat);
    munmap(memory, PAGES * PAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_cool_down_until_they_are_written),
        cmocka_unit_test(time_does_not_begin_again_after_weeks),
        cmocka_unit_test(reading_is_no_writing),
        cmocka_unit_test(what_the_kernel_writes_counts),
        cmocka_unit_test(what_cannot_be_watched_is_not_known),
        cmocka_unit_test(what_is_mapped_anew_is_watched),
        cmocka_unit_test(a_scan_that_fails_is_not_known),
        cmocka_unit_test(a_peek_leaves_pages_as_they_are),
        cmocka_unit_test(memory_that_is_always_written_rests),
        cmocka_unit_test(memory_that_was_hot_cools_down),
        cmocka_unit_test(a_young_process_is_not_scanned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
