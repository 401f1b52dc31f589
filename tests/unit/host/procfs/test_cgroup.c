#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>

#include "base/strbuf.h"
#include "base/now.h"
#include "procfs/cgroup.h"
#include "procfs/cgroup_recent.h"
#include "../../model/numbers.h"

#define UNKNOWN UINT64_MAX
#include "victim.h"

/* ---- Where --------------------------------------------------------------------------------- */

static const char unified_mounts[] =
    "23 1 0:21 / /proc rw - proc proc rw\n"
    "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:4 master:5 - cgroup2 cgroup2 rw,nsdelegate\n";

static const char hybrid_mounts[] =
    "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
    "35 31 0:32 / /sys/fs/cgroup/my\\040memory\\011x rw - cgroup cgroup rw,memory\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

static const char container_mounts[] =
    "35 31 0:32 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw\n";

static void a_group_is_found_in_its_hierarchy(void **state)
{
    (void)state;
    static const struct {
        const char *cgroup, *mounts;
        int error, version;
        const char *mount, *path;
    } table[] = {
        {"0::/user.slice/a b\n", unified_mounts, 0, 2, "/sys/fs/cgroup", "/user.slice/a b"},
        {"0::/\n", unified_mounts, 0, 2, "/sys/fs/cgroup", ""},
        {"5:cpu,cpuacct:/c\n4:memory:/m:x/y\n0::/u\n", hybrid_mounts, 0, 1,
         "/sys/fs/cgroup/my memory\tx", "/m:x/y"},
        {"0::/u\n4:hugetlb,memory:/m\n", hybrid_mounts, 0, 1, "/sys/fs/cgroup/my memory\tx", "/m"},
        {"4:memoryx,xmemory:/m\n0::/u\n", hybrid_mounts, 0, 2, "/sys/fs/cgroup/unified", "/u"},
        {"4:name=memory:/m\n0::/u\n", hybrid_mounts, 0, 2, "/sys/fs/cgroup/unified", "/u"},
        {"0::/docker/abc/d\n", container_mounts, 0, 2, "/sys/fs/cgroup", "/d"},
        {"0::/docker/abc\n", container_mounts, 0, 2, "/sys/fs/cgroup", ""},
        {"0::/docker/abcd\n", container_mounts, -ENOENT, 0, "", ""},
        {"0::/../other\n", unified_mounts, -ENOENT, 0, "", ""},
        {"0::/..\n", unified_mounts, -ENOENT, 0, "", ""},
        {"0::/..x\n", unified_mounts, 0, 2, "/sys/fs/cgroup", "/..x"},
        {"0::/cut", unified_mounts, -ENOENT, 0, "", ""},
        {"0::relative\n", unified_mounts, -ENOENT, 0, "", ""},
        {"", unified_mounts, -ENOENT, 0, "", ""},
        {"\n::\n:\n0:\n", unified_mounts, -ENOENT, 0, "", ""},
        {"0::/x\n", "", -ENOENT, 0, "", ""},
        {"0::/x\n", "31 23 0:28 / /a b\n - cgroup2\n1 2 3 - cgroup2 x y\n", -ENOENT, 0, "", ""},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct cgroup_place place = {0};
        assert_int_equal(cgroup_locate_in(table[i].cgroup, table[i].mounts, "memory", &place),
                         table[i].error);
        if (table[i].error)
            continue;
        assert_int_equal(place.version, table[i].version);
        assert_string_equal(place.mount, table[i].mount);
        assert_string_equal(place.path, table[i].path);
    }
}

/* Cut anywhere and scrambled: found or not found, never a crash, never a path that was not there.
 */
static void texts_may_be_damaged(void **state)
{
    (void)state;
    static const char group[] = "5:cpu,cpuacct:/c\n4:memory:/m/y\n0::/u\n";
    struct cgroup_place place;
    for (size_t length = 0; length < sizeof hybrid_mounts; length++) {
        char *cut = strndup(hybrid_mounts, length);
        int error = cgroup_locate_in(group, cut, "memory", &place);
        assert_true(error == 0 || error == -ENOENT);
        free(cut);
    }
    for (size_t length = 0; length < sizeof group; length++) {
        char *cut = strndup(group, length);
        if (cgroup_locate_in(cut, hybrid_mounts, "memory", &place) == 0)
            assert_true(strcmp(place.path, "/m/y") == 0 || strcmp(place.path, "/u") == 0);
        free(cut);
    }
    for (int round = 0; round < 20000; round++) {
        char mounts[sizeof hybrid_mounts], groups[sizeof group];
        memcpy(mounts, hybrid_mounts, sizeof mounts);
        memcpy(groups, group, sizeof groups);
        for (int i = 0; i < 4; i++) {
            mounts[(size_t)random() % (sizeof mounts - 1)] = "\\ \n-/,0"[random() % 7];
            groups[(size_t)random() % (sizeof groups - 1)] = ":\n/,0"[random() % 5];
        }
        cgroup_locate_in(groups, mounts, "memory", &place);
    }
    struct strbuf deep = STRBUF_INIT;
    strbuf_add_string(&deep, "0::/");
    strbuf_add_repeated(&deep, "x", PATH_MAX);
    strbuf_add_string(&deep, "\n");
    assert_int_equal(cgroup_locate_in(deep.data, unified_mounts, "memory", &place), -ENOENT);
    strbuf_release(&deep);
}

/* ---- What ---------------------------------------------------------------------------------- */

struct tree {
    char top[64];
};

static void tree_write(const struct tree *tree, const char *file, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", tree->top, file);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static void tree_directory(const struct tree *tree, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", tree->top, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

static struct tree tree_new(void)
{
    struct tree tree = {"/tmp/tidemark-cgroup-XXXXXX"};
    assert_non_null(mkdtemp(tree.top));
    tree_directory(&tree, "a");
    tree_directory(&tree, "a/b");
    tree_directory(&tree, "a/b/c");
    return tree;
}

static void tree_remove(const struct tree *tree)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", tree->top);
    assert_int_equal(system(command), 0);
}

static struct cgroup_memory tree_read(const struct tree *tree, int version, const char *path)
{
    struct cgroup_memory memory;
    struct cgroup_place place = {.version = version};
    snprintf(place.mount, sizeof place.mount, "%s", tree->top);
    snprintf(place.path, sizeof place.path, "%s", path);
    assert_int_equal(cgroup_read_place(&place, &memory), 0);
    return memory;
}

static void the_tightest_limit_is_found_on_the_way_up(void **state)
{
    (void)state;
    struct tree tree = tree_new();
    tree_write(&tree, "a/b/c/memory.current", "1000\n");
    tree_write(&tree, "a/b/c/memory.peak", "2000\n");
    tree_write(&tree, "a/b/c/memory.max", "max\n");
    tree_write(&tree, "a/b/c/memory.high", "900000\n");
    tree_write(&tree, "a/b/c/memory.swap.current", "77\n");
    tree_write(&tree, "a/b/c/memory.swap.max", "max\n");
    tree_write(&tree, "a/b/c/memory.events",
               "low 0\nhigh 5\nmax 7\noom 3\noom_kill 2\noom_group_kill 1\n");
    tree_write(&tree, "a/b/c/memory.pressure",
               "some avg10=12.34 avg60=0.05 avg300=100.00 total=123456\n"
               "full avg10=1.00 avg60=0.00 avg300=0.00 total=99\n");
    tree_write(&tree, "a/b/memory.max", "50000\n");
    tree_write(&tree, "a/b/memory.high", "max\n");
    tree_write(&tree, "a/b/memory.current", "30000\n");
    tree_write(&tree, "a/memory.max", "60000\n");
    tree_write(&tree, "a/memory.high", "800000\n");

    struct cgroup_memory memory = tree_read(&tree, 2, "/a/b/c");
    assert_int_equal(number_of(memory.current_bytes), 1000);
    assert_int_equal(number_of(memory.peak_bytes), 2000);
    assert_int_equal(number_of(memory.max_bytes), FIGURE_MOST);
    assert_int_equal(number_of(memory.high_bytes), 900000);
    assert_int_equal(number_of(memory.swap_bytes), 77);
    assert_int_equal(number_of(memory.swap_max_bytes), FIGURE_MOST);
    assert_int_equal(number_of(memory.limit_bytes), 50000);
    assert_int_equal(number_of(memory.limit_current_bytes), 30000);
    assert_string_equal(memory.limit_path, "/a/b");
    assert_int_equal(number_of(memory.tightest_high_bytes), 800000);
    assert_int_equal(number_of(memory.high_events), 5);
    assert_int_equal(number_of(memory.max_events), 7);
    assert_int_equal(number_of(memory.oom_events), 3);
    assert_int_equal(number_of(memory.oom_kill_events), 2);
    assert_float_equal(memory.pressure.some_avg10, 12.34, 1e-9);
    assert_float_equal(memory.pressure.some_avg60, 0.05, 1e-9);
    assert_float_equal(memory.pressure.some_avg300, 100, 1e-9);
    assert_float_equal(memory.pressure.full_avg10, 1, 1e-9);
    assert_int_equal(number_of(memory.pressure.some_total_us), 123456);
    assert_int_equal(number_of(memory.pressure.full_total_us), 99);
    tree_remove(&tree);
}

static void what_is_not_said_is_unknown_not_unlimited(void **state)
{
    (void)state;
    struct tree tree = tree_new();
    struct cgroup_memory memory = tree_read(&tree, 2, "/a/b/c");
    assert_int_equal(number_of(memory.current_bytes), UNKNOWN);
    assert_int_equal(number_of(memory.peak_bytes), UNKNOWN);
    assert_int_equal(number_of(memory.max_bytes), UNKNOWN);
    assert_int_equal(number_of(memory.limit_bytes), UNKNOWN);
    assert_int_equal(number_of(memory.limit_current_bytes), UNKNOWN);
    assert_int_equal(number_of(memory.oom_kill_events), UNKNOWN);
    assert_int_equal(number_of(memory.pressure.some_total_us), UNKNOWN);
    assert_true(isnan(memory.pressure.some_avg10));
    tree_write(&tree, "a/memory.max", "max\n");
    tree_write(&tree, "a/b/memory.max", "12cut");
    tree_write(&tree, "a/b/c/memory.max", "99999999999999999999999\n");
    memory = tree_read(&tree, 2, "/a/b/c");
    assert_int_equal(number_of(memory.max_bytes), UNKNOWN);
    assert_int_equal(number_of(memory.limit_bytes), FIGURE_MOST);
    assert_int_equal(number_of(memory.limit_current_bytes), UNKNOWN);
    assert_string_equal(memory.limit_path, "");
    tree_write(&tree, "memory.max", "4096\n");
    memory = tree_read(&tree, 2, "/a/b/c");
    assert_int_equal(number_of(memory.limit_bytes), 4096);
    tree_remove(&tree);
}

static void version_1_has_other_names(void **state)
{
    (void)state;
    struct tree tree = tree_new();
    tree_write(&tree, "a/memory.usage_in_bytes", "1000\n");
    tree_write(&tree, "a/memory.max_usage_in_bytes", "2000\n");
    tree_write(&tree, "a/memory.limit_in_bytes", "9223372036854771712\n");
    tree_write(&tree, "memory.limit_in_bytes", "5000\n");
    tree_write(&tree, "memory.usage_in_bytes", "4000\n");
    tree_write(&tree, "a/memory.failcnt", "9\n");
    tree_write(&tree, "a/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
    struct cgroup_memory memory = tree_read(&tree, 1, "/a");
    assert_int_equal(number_of(memory.current_bytes), 1000);
    assert_int_equal(number_of(memory.peak_bytes), 2000);
    assert_int_equal(number_of(memory.max_bytes), FIGURE_MOST);
    assert_int_equal(number_of(memory.high_bytes), UNKNOWN);
    assert_int_equal(number_of(memory.limit_bytes), 5000);
    assert_int_equal(number_of(memory.limit_current_bytes), 4000);
    assert_int_equal(number_of(memory.max_events), 9);
    assert_int_equal(number_of(memory.oom_kill_events), 4);
    assert_int_equal(number_of(memory.oom_events), UNKNOWN);
    assert_true(isnan(memory.pressure.some_avg10));
    tree_remove(&tree);
}

static void a_pressure_that_is_cut_is_unknown(void **state)
{
    (void)state;
    static const char text[] = "some avg10=12.34 avg60=0.05 avg300=7.00 total=123456\n"
                               "full avg10=1.00 avg60=0.00 avg300=0.00 total=99\n";
    for (size_t length = 0; length < sizeof text; length++) {
        struct cgroup_pressure pressure;
        char *cut = strndup(text, length);
        cgroup_parse_pressure(cut, &pressure);
        assert_true(isnan(pressure.some_avg10) || fabs(pressure.some_avg10 - 12.34) < 1e-9);
        assert_true(isnan(pressure.full_avg10) || fabs(pressure.full_avg10 - 1) < 1e-9);
        assert_true(number_of(pressure.some_total_us) == UNKNOWN ||
                    number_of(pressure.some_total_us) == 123456);
        assert_true(number_of(pressure.full_total_us) == UNKNOWN ||
                    number_of(pressure.full_total_us) == 99);
        free(cut);
    }
    static const char *const absurd[] = {"some avg10=101.00 avg60=x avg300=-1.00 total=\n",
                                         "full\n", "some avg10=1.5 total=-3\n",
                                         "some \nfull avg10=1.00 avg60=1.00 avg300=1.00 total=5\n"};
    for (size_t i = 0; i < sizeof absurd / sizeof *absurd; i++) {
        struct cgroup_pressure pressure;
        cgroup_parse_pressure(absurd[i], &pressure);
        assert_true(isnan(pressure.some_avg10) && isnan(pressure.some_avg60));
        assert_int_equal(number_of(pressure.some_total_us), UNKNOWN);
    }
}

/* ---- This machine -------------------------------------------------------------------------- */

static void the_machine_is_as_sysinfo_says(void **state)
{
    (void)state;
    struct cgroup_machine machine;
    struct sysinfo info;
    assert_int_equal(cgroup_machine_read(&machine), 0);
    assert_int_equal(sysinfo(&info), 0);
    assert_int_equal(number_of(machine.total_bytes), (uint64_t)info.totalram * info.mem_unit);
    assert_int_equal(number_of(machine.swap_total_bytes), (uint64_t)info.totalswap * info.mem_unit);
    assert_true(number_of(machine.available_bytes) <= number_of(machine.total_bytes));
    assert_true(number_of(machine.free_bytes) <= number_of(machine.total_bytes));
    assert_true(number_of(machine.swap_free_bytes) <= number_of(machine.swap_total_bytes));

    cgroup_parse_meminfo("MemTotal:  99999999999999999999 kB\nMemFree: 5 kB\nMemAvail", &machine);
    assert_int_equal(number_of(machine.total_bytes), UNKNOWN);
    assert_int_equal(number_of(machine.free_bytes), 5 * 1024);
    assert_int_equal(number_of(machine.available_bytes), UNKNOWN);
}

static void hold_still(void *shared)
{
    (void)shared;
}

/* 1 when a process that has ended is known from a moment ago, 0 when it is not, -ENOENT when it has
 * no group, -EAGAIN when the machine was too busy for the reading to be of a moment ago. Readings of
 * before are old once it has waited. */
static int ended_process_is_known(void)
{
    struct cgroup_memory first, again;
    nanosleep(&(struct timespec){.tv_nsec = CGROUP_RECENT_NS + 1000000}, NULL);
    uint64_t begin_ns = now_monotonic_ns();
    struct victim victim = victim_start(hold_still, NULL);
    bool has_group = cgroup_recent_read(victim.pid, &first, CGROUP_RECENT_WAITS) == 0;
    victim_end(victim);
    int status = cgroup_recent_read_again(victim.pid, &again, CGROUP_RECENT_WAITS);
    if (!has_group)
        return -ENOENT;
    if (now_monotonic_ns() - begin_ns > CGROUP_RECENT_NS)
        return -EAGAIN;
    return status == 0 && !strcmp(again.place.path, first.place.path);
}

/* One that was asked a moment ago is in the group that it was in. */
static void a_group_is_not_asked_for_twice_in_a_moment(void **state)
{
    (void)state;
    struct victim victim = victim_start(hold_still, NULL);
    struct cgroup_memory memory;
    bool has_group = cgroup_recent_read(victim.pid, &memory, CGROUP_RECENT_WAITS) == 0;
    victim_end(victim);
    if (!has_group)
        skip();
    assert_true(cgroup_recent_read(victim.pid, &memory, CGROUP_RECENT_WAITS) < 0); /* it is gone */
    int known = -EAGAIN;
    for (int i = 0; i < 100 && known == -EAGAIN; i++)
        known = ended_process_is_known();
    if (known == -EAGAIN)
        skip(); /* never fast enough */
    assert_int_equal(known, 1);
}

static void a_process_has_a_group_or_none_that_we_see(void **state)
{
    (void)state;
    struct victim victim = victim_start(hold_still, NULL);
    struct cgroup_memory memory;
    int error = cgroup_read(victim.pid, &memory);
    assert_true(error == 0 || error == -ENOENT);
    if (!error) {
        char file[2 * PATH_MAX + 32];
        snprintf(file, sizeof file, "%s%s/cgroup.procs", memory.place.mount, memory.place.path);
        print_message("version %d, limit %llu\n", memory.place.version,
                      (unsigned long long)number_of(memory.limit_bytes));
        bool listed = false;
        FILE *members = fopen(file, "r");
        for (int pid; members && fscanf(members, "%d", &pid) == 1;)
            listed |= pid == victim.pid;
        assert_true(listed); /* the right group of the right hierarchy */
        fclose(members);
    }
    victim_end(victim);
    assert_int_equal(cgroup_read(victim.pid, &memory), -ESRCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_is_found_in_its_hierarchy),
        cmocka_unit_test(texts_may_be_damaged),
        cmocka_unit_test(the_tightest_limit_is_found_on_the_way_up),
        cmocka_unit_test(what_is_not_said_is_unknown_not_unlimited),
        cmocka_unit_test(version_1_has_other_names),
        cmocka_unit_test(a_pressure_that_is_cut_is_unknown),
        cmocka_unit_test(the_machine_is_as_sysinfo_says),
        cmocka_unit_test(a_group_is_not_asked_for_twice_in_a_moment),
        cmocka_unit_test(a_process_has_a_group_or_none_that_we_see),
    };
    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
