/* Triggers of snapshots: what they read, and that each fires once for a crossing. The control group
 * is a directory whose files the test writes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "collector/triggers.h"

#define UNKNOWN UINT64_MAX
#define MS      1000000ull
#define SECOND  1000000000ull

static struct trigger_levels levels_of(uint64_t resident, uint64_t requested, uint64_t allocated)
{
    const struct figure unknown = FIGURE_UNKNOWN;
    return (struct trigger_levels){
        .resident_bytes = resident == UNKNOWN ? unknown : figure_of(resident),
        .requested_bytes = requested == UNKNOWN ? unknown : figure_of(requested),
        .allocated_bytes = allocated == UNKNOWN ? unknown : figure_of(allocated),
        .allocated_count = unknown,
        .stack_bytes = unknown,
        .age_ns = unknown,
        .machine_bytes = unknown,
        .machine_available_bytes = unknown};
}

static struct trigger parsed(const char *text)
{
    struct trigger trigger;
    char why[160];
    assert_int_equal(trigger_parse(text, &trigger, why), 0);
    return trigger;
}

static void texts_are_read_and_told(void **state)
{
    static const struct {
        const char *text, *name;
        enum trigger_kind kind;
        uint64_t level;
    } right[] = {{"rss=2G", "rss=2.00 GiB", TRIGGER_RSS, 2ull << 30},
                 {"requested=512K", "requested=512 KiB", TRIGGER_REQUESTED, 512 << 10},
                 {"rate=1G/s", "rate=1.00 GiB/s", TRIGGER_RATE, 1 << 30},
                 {"rate=1G", "rate=1.00 GiB/s", TRIGGER_RATE, 1 << 30},
                 {"cgroup=90%", "cgroup=90.0 %", TRIGGER_CGROUP, 900000},
                 {"cgroup=0.5%", "cgroup=0.5 %", TRIGGER_CGROUP, 5000},
                 {"count=12", "count=12", TRIGGER_COUNT, 12},
                 {"count=2.5M", "count=2.50 M", TRIGGER_COUNT, 2500000},
                 {"stack=8M", "stack=8.00 MiB", TRIGGER_STACK, 8 << 20},
                 {"time=1.5s", "time=1.50 s", TRIGGER_TIME, 1500 * MS},
                 {"free=2G", "free=2.00 GiB", TRIGGER_FREE, 2ull << 30},
                 {"free=10%", "free=10.0 %", TRIGGER_FREE, 100000},
                 {"oom", "oom", TRIGGER_OOM, 950000}};
    /* clang-format off */
    static const char *const wrong[] = {"",          "rss",       "rss=",      "rss=0",
                                        "rss=2G/s",  "rs=2G",     "rsss=2G",   "cgroup=90",
                                        "cgroup=0%", "cgroup=-1%", "cgroup=101%", "cgroup=nan%",
                                        "cgroup=90%%", "oom=1",   "rate=/s",   "requested=many",
                                        "count=0",   "count=1T",  "count=1MM", "count=-1",
                                        "time=0",    "time=5pc",    "free=0%",   "free=101%",
                                        "free=",     "stack=10%", "count=1e30"};
    /* clang-format on */
    (void)state;
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        char name[64];
        struct trigger trigger = parsed(right[i].text);
        assert_int_equal(trigger.kind, right[i].kind);
        assert_int_equal(trigger.level, right[i].level);
        trigger_name(&trigger, name);
        assert_string_equal(name, right[i].name);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct trigger trigger;
        char why[160] = "";
        assert_int_not_equal(trigger_parse(wrong[i], &trigger, why), 0);
        assert_true(strlen(why) > 10);
    }
}

/* How often the only trigger fires. */
static int fires(struct triggers *triggers, struct trigger_levels levels, uint64_t now_ns)
{
    int times = 0;
    while (triggers_see(triggers, &levels, now_ns))
        times++;
    return times;
}

static void a_crossing_fires_once(void **state)
{
    struct trigger list[] = {parsed("requested=800")};
    struct triggers *triggers = triggers_new(list, 1, getpid());
    static const struct {
        uint64_t requested;
        int fires;
    } steps[] = {{799, 0}, {UNKNOWN, 0}, {800, 1}, {900, 0},  {799, 0},     {800, 0},
                 {700, 0}, {800, 0},     {699, 0}, {2000, 1}, {UNKNOWN, 0}, {2000, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        assert_int_equal(fires(triggers, levels_of(0, steps[i].requested, 0), (i + 1) * SECOND),
                         steps[i].fires);
    triggers_free(triggers);
}

static void free_memory_falls(void **state)
{
    struct trigger list[] = {parsed("free=10%"), parsed("free=50")};
    struct triggers *triggers = triggers_new(list, 2, getpid());
    static const struct {
        uint64_t available;
        int fires;
    } steps[] = {{1000, 0}, {101, 0}, {100, 1}, {90, 0}, {112, 0}, {100, 0}, {113, 0},
                 {100, 1},  {40, 1},  {0, 0},   {56, 0}, {50, 0},  {57, 0},  {50, 1}};
    (void)state;
    assert_true(triggers_want(triggers, TRIGGER_FREE));
    assert_false(triggers_want(triggers, TRIGGER_RSS));
    assert_int_equal(fires(triggers, levels_of(0, 0, 0), SECOND), 0); /* the machine is unknown */
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct trigger_levels levels = levels_of(0, 0, 0);
        levels.machine_bytes = figure_of(1000);
        levels.machine_available_bytes = figure_of(steps[i].available);
        assert_int_equal(fires(triggers, levels, (i + 2) * SECOND), steps[i].fires);
    }
    triggers_free(triggers);
}

static void time_calls_and_stacks_fire_once(void **state)
{
    struct trigger list[] = {parsed("time=2s"), parsed("count=1k"), parsed("stack=64K")};
    struct triggers *triggers = triggers_new(list, 3, getpid());
    static const struct {
        uint64_t age_ns, calls, stack;
        int fires;
    } steps[] = {{SECOND, 999, 65535, 0},
                 {2 * SECOND, 999, 65535, 1},
                 {3 * SECOND, 1000, 65535, 1},
                 {4 * SECOND, 2000, 65536, 1},
                 {5 * SECOND, 9000, 1 << 20, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct trigger_levels levels = levels_of(0, 0, 0);
        levels.age_ns = figure_of(steps[i].age_ns);
        levels.allocated_count = figure_of(steps[i].calls);
        levels.stack_bytes = figure_of(steps[i].stack);
        assert_int_equal(fires(triggers, levels, (i + 1) * SECOND), steps[i].fires);
    }
    triggers_free(triggers);
}

static void several_fire_each(void **state)
{
    struct trigger list[] = {parsed("rss=100"), parsed("requested=100"), parsed("rss=200")};
    struct triggers *triggers = triggers_new(list, 3, getpid());
    (void)state;
    assert_int_equal(fires(triggers, levels_of(UNKNOWN, 99, 0), SECOND), 0);
    assert_int_equal(fires(triggers, levels_of(150, 150, 0), SECOND), 2);
    assert_int_equal(fires(triggers, levels_of(250, 150, 0), SECOND), 1);
    triggers_free(triggers);
}

static void a_rate_is_bytes_over_time(void **state)
{
    struct trigger list[] = {parsed("rate=1000")};
    struct triggers *triggers = triggers_new(list, 1, getpid());
    (void)state;
    assert_int_equal(fires(triggers, levels_of(0, 0, 5000), SECOND), 0);
    /* Too short a time says nothing. */
    assert_int_equal(fires(triggers, levels_of(0, 0, 6000), SECOND + MS), 0);
    assert_int_equal(fires(triggers, levels_of(0, 0, 5999), 2 * SECOND), 0);
    assert_int_equal(fires(triggers, levels_of(0, 0, 7000), 3 * SECOND), 1);
    assert_int_equal(fires(triggers, levels_of(0, 0, 9000), 4 * SECOND), 0);
    assert_int_equal(fires(triggers, levels_of(0, 0, 9100), 5 * SECOND), 0);
    assert_int_equal(fires(triggers, levels_of(0, 0, 11000), 6 * SECOND), 1);
    triggers_free(triggers);
}

/* ---- A control group of version 2 ---- */

static struct cgroup_place place = {.version = 2, .path = "/g"};

static void put(const char *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(const char *file, const char *format, ...)
{
    char path[2 * PATH_MAX];
    va_list arguments;
    snprintf(path, sizeof path, "%s%s/%s", place.mount, place.path, file);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    va_start(arguments, format);
    vfprintf(out, format, arguments);
    va_end(arguments);
    fclose(out);
}

static int make_group(void **state)
{
    char path[PATH_MAX + 8];
    (void)state;
    snprintf(place.mount, sizeof place.mount, "%s/tidemark-triggers-XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    if (!mkdtemp(place.mount))
        return -1;
    snprintf(path, sizeof path, "%.4000s/g", place.mount);
    return mkdir(path, 0700);
}

static int remove_group(void **state)
{
    char command[PATH_MAX + 16];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%.4000s'", place.mount);
    return system(command);
}

static void use(unsigned percent, unsigned slowed, unsigned killed)
{
    put("memory.current", "%u\n", percent * 10000);
    put("memory.max", "1000000\n");
    put("memory.events", "low 0\nhigh %u\nmax 0\noom 0\noom_kill %u\n", slowed, killed);
}

static void a_group_s_limit_is_watched(void **state)
{
    struct trigger list[] = {parsed("cgroup=90%")};
    struct trigger_levels none = levels_of(0, 0, 0);
    struct triggers *triggers = triggers_new_in(list, 1, &place);
    (void)state;
    use(89, 0, 0);
    assert_int_equal(fires(triggers, none, 1 * SECOND), 0);
    assert_int_equal(triggers_patience_ns(triggers), 10 * MS);
    use(90, 0, 0);
    assert_int_equal(fires(triggers, none, 1 * SECOND + MS), 0); /* not read again yet */
    assert_int_equal(fires(triggers, none, 2 * SECOND), 1);
    use(99, 0, 0);
    assert_int_equal(fires(triggers, none, 3 * SECOND), 0);
    use(20, 0, 0);
    assert_int_equal(fires(triggers, none, 4 * SECOND), 0);
    assert_int_equal(triggers_patience_ns(triggers), 50 * MS);
    use(95, 0, 0);
    assert_int_equal(fires(triggers, none, 5 * SECOND), 1);
    put("memory.max", "max\n");
    assert_int_equal(fires(triggers, none, 6 * SECOND), 0);
    triggers_free(triggers);
}

static void distress_fires_before_memory_ends(void **state)
{
    struct trigger list[] = {parsed("oom")};
    struct trigger_levels none = levels_of(0, 0, 0);
    struct triggers *triggers = triggers_new_in(list, 1, &place);
    (void)state;
    use(50, 7, 0); /* events from before count for nothing */
    assert_int_equal(fires(triggers, none, 1 * SECOND), 0);
    use(55, 7, 0);
    assert_int_equal(fires(triggers, none, 2 * SECOND), 0);
    use(75, 7, 0); /* three steps like this one and it is full */
    assert_int_equal(fires(triggers, none, 3 * SECOND), 1);
    use(75, 8, 0); /* the same distress */
    assert_int_equal(fires(triggers, none, 4 * SECOND), 0);
    use(75, 9, 0); /* that is over after ten seconds */
    assert_int_equal(fires(triggers, none, 14 * SECOND), 1);
    use(96, 9, 0);
    assert_int_equal(fires(triggers, none, 15 * SECOND), 1);
    use(96, 9, 0);
    assert_int_equal(fires(triggers, none, 60 * SECOND), 0);
    triggers_free(triggers);
}

/* A counter that could not be read for a while has not begun at 0. */
static void unknown_events_are_no_distress(void **state)
{
    struct trigger list[] = {parsed("oom")};
    struct trigger_levels none = levels_of(0, 0, 0);
    struct triggers *triggers = triggers_new_in(list, 1, &place);
    (void)state;
    use(50, 7, 0);
    put("memory.events", "low 0\n");
    assert_int_equal(fires(triggers, none, 1 * SECOND), 0);
    use(50, 7, 0);
    assert_int_equal(fires(triggers, none, 20 * SECOND), 0);
    put("memory.events", "low 0\n");
    assert_int_equal(fires(triggers, none, 40 * SECOND), 0);
    use(50, 8, 0); /* it has come meanwhile */
    assert_int_equal(fires(triggers, none, 60 * SECOND), 1);
    triggers_free(triggers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_read_and_told),
        cmocka_unit_test(a_crossing_fires_once),
        cmocka_unit_test(free_memory_falls),
        cmocka_unit_test(time_calls_and_stacks_fire_once),
        cmocka_unit_test(several_fire_each),
        cmocka_unit_test(a_rate_is_bytes_over_time),
        cmocka_unit_test_setup_teardown(a_group_s_limit_is_watched, make_group, remove_group),
        cmocka_unit_test_setup_teardown(distress_fires_before_memory_ends, make_group,
                                        remove_group),
        cmocka_unit_test_setup_teardown(unknown_events_are_no_distress, make_group, remove_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
