/* The texts of /proc that system_memory_take() reads, and what they add up to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "system_memory/processes.h"
#include "../../model/numbers.h"

#define UNKNOWN UINT64_MAX

static const char sample[] = "Name:\ta b\\nc\\\\d)\n"
                             "Umask:\t0022\n"
                             "State:\tS (sleeping)\n"
                             "Tgid:\t4711\n"
                             "Ngid:\t0\n"
                             "Pid:\t4711\n"
                             "PPid:\t12\n"
                             "Uid:\t1\t1000\t3\t4\n"
                             "NSpid:\t4711\t17\t3\n"
                             "Kthread:\t0\n"
                             "VmSize:\t   20 kB\n"
                             "VmRSS:\t   12 kB\n"
                             "VmSwap:\t    3 kB\n"
                             "Threads:\t2\n";

static void a_status_is_taken_apart(void **state)
{
    (void)state;
    struct system_memory_status status;
    assert_int_equal(system_memory_parse_status(sample, &status), 0);
    assert_string_equal(status.name, "a b\nc\\d)");
    assert_int_equal(status.state, 'S');
    assert_int_equal(status.pid, 4711);
    assert_int_equal(status.parent, 12);
    assert_int_equal(status.inner_pid, 3);
    assert_int_equal(status.uid, 1000);
    assert_int_equal(number_of(status.threads), 2);
    assert_int_equal(number_of(status.size_bytes), 20 * 1024);
    assert_int_equal(number_of(status.rss_bytes), 12 * 1024);
    assert_int_equal(number_of(status.swap_bytes), 3 * 1024);
    assert_false(status.is_kernel);
}

/* A number is whole or not there: 4711 cut to 471 would be another process. */
static void a_status_may_be_cut_anywhere(void **state)
{
    (void)state;
    for (size_t length = 0; length < sizeof sample; length++) {
        struct system_memory_status status;
        char *text = strndup(sample, length);
        bool whole = strstr(text, "Tgid:\t4711\n");
        assert_int_equal(system_memory_parse_status(text, &status), whole ? 0 : -EINVAL);
        assert_true(!whole || status.pid == 4711);
        assert_true(status.uid == 1000 || status.uid == (uid_t)-1);
        assert_true(status.inner_pid == 3 || status.inner_pid == 0);
        assert_true(!whole || number_of(status.rss_bytes) == 12 * 1024 ||
                    number_of(status.rss_bytes) == UNKNOWN);
        free(text);
    }
}

static bool is_kernel(const char *text)
{
    struct system_memory_status status;
    assert_int_equal(system_memory_parse_status(text, &status), 0);
    return status.is_kernel;
}

static void threads_of_the_kernel_are_told(void **state)
{
    (void)state;
    assert_true(is_kernel("State:\tI (idle)\nTgid:\t9\nPPid:\t7\nKthread:\t1\n"));
    assert_true(is_kernel("State:\tS (sleeping)\nTgid:\t2\nPPid:\t0\n"));
    assert_true(is_kernel("State:\tS (sleeping)\nTgid:\t9\nPPid:\t2\n"));
    assert_false(is_kernel("State:\tZ (zombie)\nTgid:\t9\nPPid:\t2\n"));
    assert_false(is_kernel("State:\tS (sleeping)\nTgid:\t9\nPPid:\t2\nVmSize:\t1 kB\n"));
    assert_false(is_kernel("State:\tS (sleeping)\nTgid:\t9\nPPid:\t7\n"));
}

static void check_cgroup(const char *text, const char *expected)
{
    char *cgroup = system_memory_parse_cgroup(text);
    if (expected)
        assert_string_equal(cgroup, expected);
    else
        assert_null(cgroup);
    free(cgroup);
}

static void the_group_is_that_of_the_memory_controller(void **state)
{
    (void)state;
    check_cgroup("0::/user.slice/a:b\n", "/user.slice/a:b");
    check_cgroup("5:cpu,cpuacct:/x\n3:memory:/y\n0::/z\n", "/y");
    check_cgroup("5:cpu,memory,io:/x\n0::/z\n", "/x");
    check_cgroup("5:memory_not:/x\n0::/z\n", "/z");
    check_cgroup("1:name=systemd:/s\n", "/s");
    check_cgroup("0::/cut", NULL);
    check_cgroup("", NULL);
    check_cgroup("0:\n::\n:memory\n", NULL);
}

/* ---- The balance --------------------------------------------------------------------------- */

static const char machine[] = "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 300 kB\n"
                              "Buffers: 10 kB\nCached: 300 kB\nSwapCached: 0 kB\nShmem: 50 kB\n"
                              "AnonPages: 400 kB\nSlab: 60 kB\nSReclaimable: 20 kB\n"
                              "KReclaimable: 25 kB\nKernelStack: 5 kB\nPageTables: 6 kB\n"
                              "Percpu: 4 kB\nHugetlb: 64 kB\nSwapTotal: 500 kB\nSwapFree: 450 kB\n";

static struct smaps_bytes bytes_kib(uint64_t pss, uint64_t anonymous, uint64_t file,
                                    uint64_t shared)
{
    return (struct smaps_bytes){.pss = figure_of(pss * 1024),
                                .pss_anonymous = figure_of(anonymous * 1024),
                                .pss_file = figure_of(file * 1024),
                                .pss_shared_memory = figure_of(shared * 1024),
                                .swap_pss = figure_of(7 * 1024)};
}

static uint64_t sum(const struct system_memory_balance *balance)
{
    return balance->processes + balance->anonymous_elsewhere + balance->shared_memory +
           balance->page_cache + balance->kernel + balance->huge_pool + balance->free +
           (uint64_t)balance->rest;
}

static void all_of_the_machine_adds_up(void **state)
{
    (void)state;
    struct system_memory_process processes[3] = {
        {.state = SYSTEM_MEMORY_READ, .bytes = bytes_kib(300, 250, 40, 10)},
        {.state = SYSTEM_MEMORY_FORBIDDEN, .bytes = bytes_kib(9999, 9999, 0, 0)},
        {.state = SYSTEM_MEMORY_READ, .bytes = bytes_kib(70, 50, 10, 10)},
    };
    struct system_memory system = {.processes = processes, .count = 3, .is_whole = true};
    struct system_memory_balance balance;
    system_memory_parse_machine(machine, &system.machine);
    assert_true(system_memory_balance(&system, &balance));
    assert_int_equal(balance.processes, 370 * 1024);
    assert_int_equal(balance.anonymous_elsewhere, 100 * 1024);
    assert_int_equal(balance.shared_memory, 30 * 1024);
    assert_int_equal(balance.page_cache, 210 * 1024); /* 300 - 50 + 10 - 50 */
    assert_int_equal(balance.kernel, 80 * 1024);
    assert_int_equal(balance.huge_pool, 64 * 1024);
    assert_int_equal(balance.rest, 46 * 1024);
    assert_int_equal(sum(&balance), balance.total);
    assert_int_equal(number_of(balance.swap_used), 50 * 1024);
    assert_int_equal(number_of(balance.swap_processes), 14 * 1024);

    /* What was read at another moment may be more than there is: the sum holds all the same. */
    processes[0].bytes = bytes_kib(2000, 1500, 400, 100);
    assert_true(system_memory_balance(&system, &balance));
    assert_true(balance.rest < 0);
    assert_int_equal(sum(&balance), balance.total);

    processes[2].bytes.swap_pss = FIGURE_UNKNOWN;
    assert_true(system_memory_balance(&system, &balance));
    assert_int_equal(number_of(balance.swap_processes), UNKNOWN);
    system.is_whole = false;
    assert_false(system_memory_balance(&system, &balance));
    system.is_whole = true;
    system_memory_parse_machine("MemTotal: 1000 kB\nMemFree: 10", &system.machine);
    assert_false(system_memory_balance(&system, &balance));
}

static void swap_in_use_is_known_where_both_its_numbers_are(void **state)
{
    (void)state;
    static const char known[] = "MemTotal: 9 kB\nMemFree: 1 kB\nCached: 1 kB\nAnonPages: 1 kB\n";
    static const struct {
        const char *swap;
        uint64_t used;
    } machines[] = {{"", UNKNOWN},
                    {"SwapTotal: 5 kB\n", UNKNOWN},
                    {"SwapFree: 5 kB\n", UNKNOWN},
                    {"SwapTotal: 5 kB\nSwapFree: 2 kB\n", 3 * 1024},
                    {"SwapTotal: 5 kB\nSwapFree: 6 kB\n", 0}}; /* read while it changed */
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        struct system_memory census = {.is_whole = true};
        struct system_memory_balance balance;
        char text[256];
        snprintf(text, sizeof text, "%s%s", known, machines[i].swap);
        system_memory_parse_machine(text, &census.machine);
        assert_true(system_memory_balance(&census, &balance));
        assert_int_equal(number_of(balance.swap_used), machines[i].used);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_status_is_taken_apart),
        cmocka_unit_test(a_status_may_be_cut_anywhere),
        cmocka_unit_test(threads_of_the_kernel_are_told),
        cmocka_unit_test(the_group_is_that_of_the_memory_controller),
        cmocka_unit_test(all_of_the_machine_adds_up),
        cmocka_unit_test(swap_in_use_is_known_where_both_its_numbers_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
