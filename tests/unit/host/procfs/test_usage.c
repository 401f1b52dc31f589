#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>

#include "procfs/process.h"
#include "procfs/usage.h"
#include "../../model/numbers.h"

#define UNKNOWN UINT64_MAX
#include "victim.h"

/* A child that faults, burns and sleeps, and says by getrusage() what it thinks of that. */
struct report {
    struct rusage usage;
    uint64_t peak_bytes;
    atomic_int ready;
};

enum { NAPS = 25, THREADS = 3, PAGES = 3000 };

static void *nap(void *context)
{
    struct report *report = context;
    pthread_setname_np(pthread_self(), "a (nap) per\n");
    for (int i = 0; i < NAPS; i++)
        usleep(500);
    atomic_fetch_add(&report->ready, 1);
    while (pause() < 0)
        continue;
    return NULL;
}

static void burn(uint64_t ms)
{
    struct timespec now;
    do
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    while ((uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000 < ms);
}

static void work(void *shared)
{
    struct report *report = shared;
    size_t bytes = PAGES * process_page_bytes();
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    memset(memory, 1, bytes);
    munmap(memory, bytes);
    burn(60);
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, nap, report);
    }
    while (atomic_load(&report->ready) < THREADS)
        usleep(500);
    report->peak_bytes = bytes;
    getrusage(RUSAGE_SELF, &report->usage);
}

static uint64_t ns_of(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_usec * 1000u;
}

static void check_near(uint64_t value, uint64_t expected, uint64_t slack)
{
    assert_true(value + slack >= expected && value <= expected + slack);
}

static void numbers_are_those_of_getrusage(void **state)
{
    (void)state;
    struct report *report = victim_shared(sizeof *report);
    struct victim victim = victim_start(work, report);
    struct usage usage;
    victim_settle(victim, 1 + THREADS);
    assert_int_equal(usage_read(victim.pid, &usage), 0);
    assert_true(number_of(usage.minor_faults) >= PAGES);
    check_near(number_of(usage.minor_faults), (uint64_t)report->usage.ru_minflt, 20);
    check_near(number_of(usage.major_faults), (uint64_t)report->usage.ru_majflt, 5);
    check_near(number_of(usage.user_ns) + number_of(usage.system_ns),
               ns_of(report->usage.ru_utime) + ns_of(report->usage.ru_stime), 40000000);
    assert_true(number_of(usage.user_ns) + number_of(usage.system_ns) >= 40000000);
    assert_int_equal(number_of(usage.threads), 1 + THREADS);
    assert_true(number_of(usage.voluntary_switches) >= THREADS * NAPS);
    check_near(number_of(usage.voluntary_switches), (uint64_t)report->usage.ru_nvcsw, 20);
    check_near(number_of(usage.involuntary_switches), (uint64_t)report->usage.ru_nivcsw, 20);
    check_near(number_of(usage.peak_resident_bytes), (uint64_t)report->usage.ru_maxrss * 1024,
               2u << 20);
    assert_true(number_of(usage.peak_resident_bytes) >= report->peak_bytes * 9 / 10);
    assert_true(number_of(usage.peak_virtual_bytes) >= number_of(usage.peak_resident_bytes));
    assert_true(number_of(usage.resident_bytes) <= number_of(usage.peak_resident_bytes));
    assert_int_equal(number_of(usage.swapped_bytes), 0);
    assert_true(number_of(usage.page_table_bytes) && number_of(usage.page_table_bytes) != UNKNOWN);
    victim_end(victim);
    munmap(report, sizeof *report);
}

struct threads {
    int count, nappers;
    pid_t pid;
    uint64_t voluntary;
};

static int note_thread(const struct usage_thread *thread, void *context)
{
    struct threads *threads = context;
    threads->count++;
    assert_int_equal(thread->state, 'S');
    if (thread->tid == threads->pid)
        return 0;
    threads->nappers += strcmp(thread->name, "a (nap) per?") == 0;
    assert_true(number_of(thread->voluntary_switches) >= NAPS);
    threads->voluntary += number_of(thread->voluntary_switches);
    return 0;
}

static int stop_at_first(const struct usage_thread *thread, void *context)
{
    (void)thread;
    ++*(int *)context;
    return 42;
}

static void threads_have_names_and_numbers_of_their_own(void **state)
{
    (void)state;
    struct report *report = victim_shared(sizeof *report);
    struct victim victim = victim_start(work, report);
    struct threads threads = {.pid = victim.pid};
    victim_settle(victim, 1 + THREADS);
    assert_int_equal(usage_threads(victim.pid, note_thread, &threads), 0);
    assert_int_equal(threads.count, 1 + THREADS);
    assert_int_equal(threads.nappers, THREADS);
    int visits = 0;
    assert_int_equal(usage_threads(victim.pid, stop_at_first, &visits), 42);
    assert_int_equal(visits, 1);
    victim_end(victim);
    munmap(report, sizeof *report);
}

static void what_is_gone_is_said_so(void **state)
{
    (void)state;
    struct report *report = victim_shared(sizeof *report);
    struct victim victim = victim_start(work, report);
    struct usage usage;
    kill(victim.pid, SIGKILL);
    siginfo_t info;
    waitid(P_PID, (id_t)victim.pid, &info, WEXITED | WNOWAIT);
    assert_int_equal(usage_read(victim.pid, &usage), 0); /* a zombie remembers */
    assert_true(number_of(usage.minor_faults) >= PAGES && number_of(usage.minor_faults) != UNKNOWN);
    assert_int_equal(number_of(usage.peak_resident_bytes), UNKNOWN);
    waitpid(victim.pid, NULL, 0);
    assert_int_equal(usage_read(victim.pid, &usage), -ESRCH);
    munmap(report, sizeof *report);
}

static const char stat_text[] =
    "12 (a) b (c)\n) S 1 2 3 4 5 6 77 8 99 10 1234 5678 14 15 16 17 21 19 777 20 21 22";

static void texts_may_be_cut_anywhere(void **state)
{
    (void)state;
    static const char status_text[] = "Name:\tVmHWM:   1 kB\nVmPeak:\t   20 kB\nVmHWM:\t   12 kB\n"
                                      "VmRSS:\t18446744073709551615 kB\nVmSwap:\t 3 kB\n";
    struct usage usage = {0};
    usage_parse_stat(stat_text, &usage);
    assert_int_equal(number_of(usage.minor_faults), 77);
    assert_int_equal(number_of(usage.major_faults), 99);
    assert_int_equal(number_of(usage.user_ns),
                     1234u * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK)));
    assert_int_equal(number_of(usage.threads), 21);
    assert_string_equal(usage.name, "a) b (c)?");
    usage_parse_status(status_text, &usage);
    assert_int_equal(number_of(usage.peak_resident_bytes), 12 * 1024);
    assert_int_equal(number_of(usage.resident_bytes), UNKNOWN); /* does not fit */
    assert_int_equal(number_of(usage.locked_bytes), UNKNOWN);

    for (size_t length = 0; length < sizeof stat_text; length++) {
        char *cut = strndup(stat_text, length);
        usage_parse_stat(cut, &usage);
        assert_true(number_of(usage.major_faults) == 99 ||
                    number_of(usage.major_faults) == UNKNOWN);
        assert_true(number_of(usage.threads) == 21 || number_of(usage.threads) == UNKNOWN);
        free(cut);
    }
    for (size_t length = 0; length < sizeof status_text; length++) {
        char *cut = strndup(status_text, length);
        usage_parse_status(cut, &usage);
        assert_true(number_of(usage.peak_resident_bytes) == 12 * 1024 ||
                    number_of(usage.peak_resident_bytes) == UNKNOWN);
        free(cut);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_those_of_getrusage),
        cmocka_unit_test(threads_have_names_and_numbers_of_their_own),
        cmocka_unit_test(what_is_gone_is_said_so),
        cmocka_unit_test(texts_may_be_cut_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
