/* Kills for want of memory, in control groups that are directories whose files the test writes. */
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
#include "collector/oom_watch.h"

static char mount_point[] = "/tmp/tidemark-oom-XXXXXX";

static void oom_watch_place(struct oom_watch *watch, const struct cgroup_place *place)
{
    struct cgroup_memory memory;
    if (cgroup_read_place(place, &memory) == 0)
        oom_watch_see(watch, &memory);
}

static void put(const char *group, const char *file, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s/%s", mount_point, group, file);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static struct cgroup_place place_of(const char *group, int version)
{
    struct cgroup_place place = {.version = version};
    snprintf(place.mount, sizeof place.mount, "%s", mount_point);
    snprintf(place.path, sizeof place.path, "/%s", group);
    return place;
}

static int make_groups(void **state)
{
    (void)state;
    char path[256];
    if (!mkdtemp(mount_point))
        return -1;
    for (const char *const *name = (const char *[]){"a", "b", "empty", NULL}; *name; name++) {
        snprintf(path, sizeof path, "%s/%s", mount_point, *name);
        if (mkdir(path, 0700))
            return -1;
    }
    return 0;
}

static int remove_groups(void **state)
{
    (void)state;
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", mount_point);
    return system(command);
}

static void kills_are_those_since_it_was_seen(void **state)
{
    (void)state;
    struct oom_watch watch = {0};
    struct cgroup_place place = place_of("a", 2);
    assert_false(figure_known(oom_watch_kills(&watch).kills));
    put("a", "memory.max", "67108864\n");
    put("a", "memory.events", "low 0\noom 5\noom_kill 3\n");
    oom_watch_place(&watch, &place);
    assert_true(figure_equal(oom_watch_kills(&watch).kills, figure_of(0)));
    assert_true(figure_equal(oom_watch_kills(&watch).limit_bytes, figure_of(64 << 20)));
    put("a", "memory.events", "low 0\noom 9\noom_kill 5\n");
    oom_watch_place(&watch, &place); /* it has not moved */
    assert_true(figure_equal(oom_watch_kills(&watch).kills, figure_of(2)));
    put("a", "memory.max", "max\n");
    assert_true(figure_equal(oom_watch_kills(&watch).limit_bytes, CGROUP_UNLIMITED));
}

static void a_process_may_be_moved(void **state)
{
    (void)state;
    struct oom_watch watch = {0};
    struct cgroup_place first = place_of("a", 2), then = place_of("b", 1);
    put("a", "memory.events", "oom_kill 3\n");
    put("b", "memory.limit_in_bytes", "4096\n");
    put("b", "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 10\n");
    oom_watch_place(&watch, &first);
    oom_watch_place(&watch, &then);
    put("a", "memory.events", "oom_kill 4\n");
    assert_true(figure_equal(oom_watch_kills(&watch).kills, figure_of(0)));
    put("b", "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 11\n");
    assert_true(figure_equal(oom_watch_kills(&watch).kills, figure_of(1)));
    assert_true(figure_equal(oom_watch_kills(&watch).limit_bytes, figure_of(4096)));
}

/* cgroup v1 shows an exiting process in the root group: nobody is killed there. */
static void kills_in_a_group_that_it_leaves_count(void **state)
{
    (void)state;
    struct oom_watch watch = {0};
    struct cgroup_place first = place_of("b", 1), then = place_of("a", 2);
    put("b", "memory.limit_in_bytes", "4096\n");
    put("b", "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 10\n");
    put("a", "memory.events", "oom_kill 3\n");
    put("a", "memory.max", "8192\n");
    oom_watch_place(&watch, &first);
    put("b", "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 12\n");
    oom_watch_place(&watch, &then);
    assert_true(figure_equal(oom_watch_kills(&watch).kills, figure_of(2)));
    assert_true(figure_equal(oom_watch_kills(&watch).limit_bytes, figure_of(4096)));
    put("a", "memory.events", "oom_kill 4\n");
    assert_true(figure_equal(oom_watch_kills(&watch).kills, figure_of(3)));
    assert_true(figure_equal(oom_watch_kills(&watch).limit_bytes, figure_of(8192)));
}

static void what_the_group_does_not_say_is_not_known(void **state)
{
    (void)state;
    struct oom_watch watch = {0};
    struct cgroup_place empty = place_of("empty", 2), place = place_of("a", 2);
    oom_watch_place(&watch, &empty);
    assert_false(figure_known(oom_watch_kills(&watch).kills));
    put("a", "memory.events", "oom_kill 3\n");
    oom_watch_place(&watch, &place);
    put("a", "memory.events", "oom_kill 2\n"); /* another group of that name */
    assert_false(figure_known(oom_watch_kills(&watch).kills));
    put("a", "memory.events", "");
    assert_false(figure_known(oom_watch_kills(&watch).kills));
}

static void a_process_that_is_gone_stays_where_it_was(void **state)
{
    (void)state;
    struct oom_watch watch = {0};
    struct cgroup_place place = place_of("a", 2);
    put("a", "memory.events", "oom_kill 3\n");
    oom_watch_place(&watch, &place);
    oom_watch_follow(&watch, 0x3fffffff);
    put("a", "memory.events", "oom_kill 4\n");
    assert_true(figure_equal(oom_watch_kills(&watch).kills, figure_of(1)));
    oom_watch_follow(&watch, getpid()); /* wherever that is, it is not there */
    assert_true(!watch.placed || strcmp(watch.place.mount, mount_point));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kills_are_those_since_it_was_seen),
        cmocka_unit_test(a_process_may_be_moved),
        cmocka_unit_test(kills_in_a_group_that_it_leaves_count),
        cmocka_unit_test(what_the_group_does_not_say_is_not_known),
        cmocka_unit_test(a_process_that_is_gone_stays_where_it_was),
    };
    return cmocka_run_group_tests(tests, make_groups, remove_groups);
}
