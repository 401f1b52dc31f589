/* From the replay to the profile, commit after commit. SEED=n repeats a run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "../../model/numbers.h"
#include "../../engine/replay/records.h"
#include "base/error.h"
#include "profile_build/clock.h"
#include "profile_build/snapshot.h"
#include "profile_build/profile_build.h"
#include "profile/profile.h"

enum { NODES = 5000, BLOCKS = 512 };

struct scene {
    char path[64];
    struct origins_node nodes[NODES];
    struct origins origins;
    struct clock_reading start;
    struct replay *replay;
    struct writer *writer;
    uint64_t ticks;
    bool live[BLOCKS];
    unsigned seed;
};

static uint32_t below(struct scene *scene, uint32_t limit)
{
    return (uint32_t)rand_r(&scene->seed) % limit;
}

/* A tree in which some paths begin where the walk could not go on. */
static void publish_nodes(struct scene *scene)
{
    for (uint32_t id = 1; id < NODES; id++) {
        struct origins_node *node = &scene->nodes[id];
        bool outermost = below(scene, 50) == 0;
        node->parent = outermost ? 0 : below(scene, id);
        node->ip = outermost && below(scene, 2) ? WIRE_MARK_UNWALKABLE : 5000 + below(scene, 90);
    }
}

static uint32_t node_count(void *context)
{
    (void)context;
    return NODES;
}

static struct origins_node node_at(void *context, uint32_t number)
{
    const struct scene *scene = context;
    assert_true(number < NODES);
    return scene->nodes[number];
}

static void leave_nodes(void *context, uint32_t count)
{
    (void)context;
    assert_true(count <= NODES);
}

static void no_modules(void *context, size_t *cursor,
                       void (*visit)(void *visitor, const struct origins_module *module),
                       void *visitor)
{
    (void)context, (void)cursor, (void)visit, (void)visitor;
}

static void scene_open(struct scene *scene)
{
    *scene = (struct scene){.path = "/tmp/tidemark-test-XXXXXX"};
    scene->seed = getenv("SEED") ? (unsigned)atoi(getenv("SEED")) : (unsigned)getpid();
    print_message("seed %u\n", scene->seed);
    int fd = mkstemp(scene->path);
    assert_true(fd >= 0);
    close(fd);
    unlink(scene->path);
    scene->origins = (struct origins){scene, node_count, node_at, leave_nodes, no_modules};
    publish_nodes(scene);
    scene->start = clock_read();
    scene->ticks = scene->start.ticks;
    scene->replay = replay_new(scene->ticks, 0.3);
    replay_thread_begin(scene->replay, 1, scene->ticks);
    assert_int_equal(profile_build_open(&scene->writer, scene->path, getpid(), "/nowhere/program"),
                     0);
}

static void scene_close(struct scene *scene)
{
    replay_free(scene->replay);
    unlink(scene->path);
}

/* An allocation or a free of one of the blocks, at odd times, from one of the first `nodes`
 * paths. */
static void play_event(struct scene *scene, uint32_t nodes)
{
    char bytes[32];
    uint32_t block = below(scene, BLOCKS);
    uint64_t address = 0x10000 + 64ull * block;
    scene->ticks += 1 + below(scene, 1000);
    struct wire_record record =
        scene->live[block] ? record_short(WIRE_FREE, scene->ticks, address)
                           : record_long(WIRE_MALLOC, scene->ticks, address, below(scene, 300),
                                         wire_detail(below(scene, nodes), 4, 0));
    scene->live[block] = !scene->live[block];
    replay_records(scene->replay, 0, bytes, record_write(bytes, &record));
}

static void commit(struct scene *scene)
{
    struct snapshot snapshot;
    struct clock_reading now = clock_read();
    struct snapshot_moment moment = {
        .scale = {scene->start.ticks, clock_tick_ns(scene->start, now)},
        .now_ticks = now.ticks,
        .node_count = NODES};
    assert_int_equal(snapshot_take(&snapshot, scene->replay, &moment), 0);
    assert_int_equal(profile_build_write(scene->writer, &scene->origins, &snapshot), 0);
    snapshot_release(&snapshot);
}

static bool is_unwalkable(const struct profile *profile, uint32_t node)
{
    for (; node; node = profile->nodes[node].parent)
        if (profile->codes[profile->nodes[node].location].mark == WIRE_MARK_UNWALKABLE)
            return true;
    return false;
}

/* The profile as it is on disk now. Returns its sites. */
static size_t check_profile(const char *path)
{
    struct profile *profile;
    struct call_numbers sum = {0};
    uint64_t unwalkable = 0, unattributed = 0;
    if (profile_read(&profile, path))
        fail_msg("%s", error_text());
    assert_null(profile->damage);
    assert_int_equal(profile->node_count, NODES);
    for (size_t i = 0; i < profile->site_count; i++) {
        struct profile_site room;
        const struct call_numbers *metrics =
            call_numbers_of(&profile_site_at(profile, i, &room)->metrics);
        sum.lifetime_sum += metrics->lifetime_sum;
        sum.alloc_bytes += metrics->alloc_bytes;
        sum.at_peak_bytes += metrics->at_peak_bytes;
        sum.live_count += metrics->live_count;
        unwalkable += is_unwalkable(profile, profile_site_path(profile, i));
        unattributed += profile_site_path(profile, i) ? 0 : metrics->alloc_count;
    }
    assert_int_equal(sum.lifetime_sum, number_of(profile->program.total.lifetime_sum));
    assert_int_equal(sum.alloc_bytes, number_of(profile->program.total.alloc_bytes));
    assert_int_equal(sum.at_peak_bytes, number_of(profile->program.total.peak_bytes));
    assert_int_equal(sum.live_count, number_of(profile->program.total.live_count));
    assert_int_equal(unwalkable, atoll(profile_get(profile, PROFILE_META_UNWALKABLE)));
    assert_int_equal(unattributed, atoll(profile_get(profile, PROFILE_META_UNATTRIBUTED)));
    size_t sites = profile->site_count;
    profile_free(profile);
    return sites;
}

static void the_parts_add_up_at_every_commit(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene);
    size_t sites = 0;
    for (uint32_t round = 1; round <= 6; round++) {
        for (uint32_t events = below(&scene, 8000); events > 0; events--)
            play_event(&scene, NODES * round / 6);
        commit(&scene);
        size_t now = check_profile(scene.path);
        assert_true(now >= sites);
        sites = now;
    }
    commit(&scene); /* with nothing new */
    assert_int_equal(check_profile(scene.path), sites);
    assert_int_equal(profile_build_finish(scene.writer, true), 0);
    assert_int_equal(check_profile(scene.path), sites);
    scene_close(&scene);
}

/* A path that was never published is damage. Its metrics are kept, and who reads them is told. */
static void metrics_of_a_path_that_is_not_there_are_kept(void **state)
{
    (void)state;
    struct scene scene;
    struct profile *profile;
    scene_open(&scene);
    play_event(&scene, 1);
    char bytes[32];
    struct wire_record record =
        record_long(WIRE_MALLOC, ++scene.ticks, 0x999000, 77, wire_detail(NODES + 12, 4, 0));
    replay_records(scene.replay, 0, bytes, record_write(bytes, &record));
    commit(&scene);
    assert_int_equal(profile_build_finish(scene.writer, true), 0);
    assert_int_equal(profile_read(&profile, scene.path), 0);
    assert_non_null(profile->damage);
    assert_int_equal(profile->site_count, 2);
    assert_int_equal(
        number_of(figure_add(profile_site_figure(profile, 0, METRIC_ROW(alloc_bytes)),
                             profile_site_figure(profile, 1, METRIC_ROW(alloc_bytes)))),
        number_of(profile->program.total.alloc_bytes));
    profile_free(profile);
    scene_close(&scene);
}

/* All code of the scene is JIT code, at 5000 to 5089. */
static void write_map(const char *path, const char *text)
{
    FILE *map = fopen(path, "a");
    assert_non_null(map);
    assert_true(fputs(text, map) >= 0);
    assert_int_equal(fclose(map), 0);
}

static size_t count_named(const char *path, const char *name)
{
    struct profile *profile;
    size_t count = 0;
    assert_int_equal(profile_read(&profile, path), 0);
    for (size_t i = 0; i < profile->line_count; i++) {
        const struct profile_function *function = &profile->functions[profile->lines[i].function];
        count += function->name && strcmp(function->name, name) == 0;
    }
    profile_free(profile);
    return count;
}

/* The Java virtual machine writes its map at its exit: what was written nameless gets its name. */
static void code_gets_its_name_of_a_map_that_comes_late(void **state)
{
    (void)state;
    struct scene scene;
    char map[64];
    scene_open(&scene);
    snprintf(map, sizeof map, "/tmp/perf-%d.map", (int)getpid());
    unlink(map);
    play_event(&scene, NODES);
    commit(&scene);
    assert_int_equal(count_named(scene.path, "Interpreter"), 0);
    write_map(map, "1388 2d Interpreter\n"); /* half of it */
    commit(&scene);
    size_t named = count_named(scene.path, "Interpreter");
    assert_in_range(named, 40, 50);
    write_map(map, "13b5 40 other_code\n"); /* the same map has grown: this code may be newer */
    commit(&scene);
    assert_int_equal(count_named(scene.path, "other_code"), 0);
    unlink(map);
    write_map(map, "1300 200 all_of_it\n"); /* another map */
    commit(&scene);
    assert_int_equal(profile_build_finish(scene.writer, true), 0);
    assert_int_equal(count_named(scene.path, "Interpreter"), named);
    assert_in_range(count_named(scene.path, "all_of_it"), 40, 50);
    unlink(map);
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_parts_add_up_at_every_commit),
        cmocka_unit_test(metrics_of_a_path_that_is_not_there_are_kept),
        cmocka_unit_test(code_gets_its_name_of_a_map_that_comes_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
