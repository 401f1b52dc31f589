/* The tracer: whatever is told while the merge runs ahead of the disk is in the file, whole and in
 * its order, and what cannot be written is said once and harms nobody. TIDEMARK_TEST_SEED=n repeats
 * one run. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include "../../files/trace/stream.h"
#include "collector/event_sink.h"
#include "collector/tracer.h"
#include "player.h"
#include <cmocka.h>

enum { RING = 16 << 10, NODES = 20000, RUN_MAX = 3000 };

struct scene {
    char path[64];
    struct view view;
    struct player player;
    struct wire_node *nodes;
    struct wire_module *module;
    struct event_sink sink;
    struct author author;
};

static void scene_open(struct scene *scene)
{
    struct wire_header options = player_options(RING, PLAYER_MAX_CHUNKS);
    struct trace_options how = {.compression = TRACE_LZ4, .start_ticks = START};
    memset(scene, 0, sizeof *scene);
    snprintf(scene->path, sizeof scene->path, "test_tracer.%d.tmt", (int)getpid());
    assert_int_equal(shared_view_open(&scene->view, &options), 0);
    player_open(&scene->player, &scene->view);
    scene->nodes = (void *)player_chunk(&scene->player, WIRE_CHUNK_NODES);
    scene->module = (void *)player_chunk(&scene->player, WIRE_CHUNK_MODULES);
    scene->sink.replay = replay_new(START, 1);
    scene->sink.tracer = tracer_new(scene->path, &how, &scene->view, NULL);
    scene->author = (struct author){.random = some_seed(), .shape = &shapes[0], .ticks = START};
    print_message("seed %llu\n", (unsigned long long)scene->author.random);
}

static void scene_close(struct scene *scene)
{
    tracer_free(scene->sink.tracer);
    replay_free(scene->sink.replay);
    player_close(&scene->player);
    shared_view_close(&scene->view);
    unlink(scene->path);
}

static void add_nodes(struct scene *scene, uint32_t count)
{
    uint32_t first = atomic_load(&scene->view.header->node_count);
    for (uint32_t i = first; i < first + count; i++) {
        scene->nodes[i].ip = 0x400000 + 16 * (uint64_t)i;
        scene->nodes[i].parent = i / 3;
    }
    atomic_store_explicit(&scene->view.header->node_count, first + count, memory_order_release);
}

static void log_module(struct scene *scene)
{
    scene->module->start = 0x1000;
    scene->module->end = 0x2000;
    strcpy(scene->module->path, "libz.so");
    __atomic_store_n(&scene->module->entry_bytes,
                     (uint32_t)((offsetof(struct wire_module, path) + 8 + 7) & ~7u),
                     __ATOMIC_RELEASE);
}

static void event_sink_some(struct scene *scene)
{
    static _Alignas(16) unsigned char records[RUN_MAX * 32];
    struct author *author = &scene->author;
    uint32_t stream = (uint32_t)below(author, STREAMS);
    size_t count = 1 + below(author, RUN_MAX), bytes = 0;
    for (size_t i = 0; i < count; i++) {
        struct wire_record record = some_record(author, stream);
        size_t length = wire_record_bytes(record.kind_address);
        memcpy(records + bytes, &record, length);
        bytes += length;
    }
    struct replay_run run = {.thread = stream, .bytes = (uint32_t)bytes};
    event_sink_runs(&scene->sink, &run, 1, records);
}

static void event_sink_all(struct scene *scene, unsigned runs)
{
    for (uint32_t i = 0; i < STREAMS; i++)
        event_sink_thread_begin(&scene->sink, 100 + i, START + i);
    for (unsigned i = 0; i < runs; i++) {
        if (i % 10 == 0 && atomic_load(&scene->view.header->node_count) + 500 < NODES)
            add_nodes(scene, 500);
        if (i == runs / 2)
            log_module(scene);
        if (i == runs * 3 / 4)
            atomic_store(&scene->module->died, 9);
        if (chance(&scene->author, 20))
            event_sink_lost(&scene->sink, 1 + below(&scene->author, 5));
        if (chance(&scene->author, 5))
            tracer_flush(scene->sink.tracer);
        event_sink_some(scene);
    }
}

static void finish(struct scene *scene)
{
    assert_non_null(tracer_settle(scene->sink.tracer));
    assert_non_null(tracer_settle(scene->sink.tracer)); /* once more is the same */
    tracer_finish(scene->sink.tracer);
    assert_null(tracer_error(scene->sink.tracer));
}

/* What a replay of the file says, which must be whole. */
static struct strbuf dump_of(const char *path)
{
    struct strbuf said = STRBUF_INIT;
    struct replay *replay = replay_new(START, 1);
    struct trace_events events = {0};
    struct trace_damage damage;
    struct trace *trace;
    uint32_t streams = 0;
    assert_int_equal(trace_open(&trace, path), 0);
    for (size_t i = 0; i < trace_block_count(trace); i++) {
        assert_int_equal(trace_events(trace, i, &events), 0);
        assert_int_equal(trace_replay(&events, replay, &streams), 0);
    }
    trace_damage(trace, &damage, NULL, 0);
    assert_false(damage.cut_off);
    assert_int_equal(damage.blocks, 0);
    dump_replay(replay, &said);
    trace_events_release(&events);
    trace_close(trace);
    replay_free(replay);
    return said;
}

static void what_is_told_is_in_the_file(void **state)
{
    (void)state;
    struct scene scene;
    struct strbuf told = STRBUF_INIT;
    struct stat file;
    scene_open(&scene);
    tracer_fact(scene.sink.tracer, "first", "fact");
    assert_int_equal(stat(scene.path, &file), -1); /* nothing has been handed over */
    event_sink_all(&scene, 600);                   /* more than all chunks together hold */
    finish(&scene);
    assert_int_equal(stat(scene.path, &file), 0);
    assert_int_equal(tracer_file_bytes(scene.sink.tracer), file.st_size);
    struct strbuf said = dump_of(scene.path);
    dump_replay(scene.sink.replay, &told);
    assert_int_equal(said.length, told.length);
    assert_memory_equal(said.data, told.data, told.length);
    strbuf_release(&said);
    strbuf_release(&told);
    scene_close(&scene);
}

static void nodes_modules_and_facts_are_there_too(void **state)
{
    (void)state;
    struct scene scene;
    struct trace *trace;
    struct trace_node *nodes;
    struct trace_module *modules;
    size_t count;
    scene_open(&scene);
    tracer_fact(scene.sink.tracer, "first", "fact");
    tracer_fact(scene.sink.tracer, "first", "replaced");
    event_sink_all(&scene, 100);
    char *large = malloc(TRACER_CHUNK_BYTES + 1000); /* larger than a chunk */
    memset(large, 'x', TRACER_CHUNK_BYTES + 999);
    large[TRACER_CHUNK_BYTES + 999] = '\0';
    tracer_fact(scene.sink.tracer, "large", large);
    tracer_fact(scene.sink.tracer, "after", "it");
    finish(&scene);
    assert_int_equal(trace_open(&trace, scene.path), 0);
    assert_string_equal(trace_fact(trace, "first"), "replaced");
    assert_string_equal(trace_fact(trace, "after"), "it");
    assert_int_equal(trace_nodes(trace, SIZE_MAX, &nodes, &count), 0);
    assert_int_equal(count, atomic_load(&scene.view.header->node_count));
    for (size_t i = 1; i < count; i++) {
        assert_int_equal(nodes[i].ip, scene.nodes[i].ip);
        assert_int_equal(nodes[i].parent, scene.nodes[i].parent);
    }
    assert_int_equal(trace_modules(trace, SIZE_MAX, &modules, &count), 0);
    assert_int_equal(count, 1);
    assert_string_equal(modules[0].path, "libz.so");
    assert_int_equal(modules[0].died, 9);
    free(large);
    free(nodes);
    free(modules);
    trace_close(trace);
    scene_close(&scene);
}

/* Feeds as long as it takes until the failure is seen; the merge must never wait for good. */
static void event_sink_to_failure(struct scene *scene, const char *why)
{
    event_sink_all(scene, 400);
    assert_null(tracer_settle(scene->sink.tracer));
    tracer_finish(scene->sink.tracer);
    assert_non_null(tracer_error(scene->sink.tracer));
    assert_non_null(strstr(tracer_error(scene->sink.tracer), why));
    assert_non_null(strstr(tracer_error(scene->sink.tracer), scene->path));
}

static void what_cannot_be_created_is_said(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene);
    tracer_free(scene.sink.tracer);
    struct trace_options how = {.compression = TRACE_LZ4, .start_ticks = START};
    snprintf(scene.path, sizeof scene.path, "no-such-directory/x.tmt");
    scene.sink.tracer = tracer_new(scene.path, &how, &scene.view, NULL);
    event_sink_to_failure(&scene, "No such file or directory");
    assert_int_equal(tracer_file_bytes(scene.sink.tracer), 0);
    scene_close(&scene);
}

static void a_name_that_is_taken_is_left_alone(void **state)
{
    (void)state;
    struct scene scene;
    struct stat there;
    scene_open(&scene);
    assert_int_equal(mkdir(scene.path, 0700), 0);
    event_sink_to_failure(&scene, "is no regular file");
    assert_int_equal(stat(scene.path, &there), 0);
    assert_true(S_ISDIR(there.st_mode));
    rmdir(scene.path);
    scene_close(&scene);
}

/* As on a full disk: what was whole before stays readable. */
static void a_file_that_may_not_grow_is_said_and_kept(void **state)
{
    (void)state;
    enum { MOST = 1 << 20 }; /* more than one block, less than all */
    struct scene scene;
    struct rlimit before, limit;
    struct trace *trace;
    struct trace_events events = {0};
    signal(SIGXFSZ, SIG_IGN);
    scene_open(&scene);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = (struct rlimit){MOST, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    event_sink_to_failure(&scene, "File too large");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(trace_open(&trace, scene.path), 0);
    assert_true(trace_block_count(trace) > 0);
    for (size_t i = 0; i < trace_block_count(trace); i++)
        assert_int_equal(trace_events(trace, i, &events), 0);
    trace_events_release(&events);
    trace_close(trace);
    scene_close(&scene);
}

static void left_before_anything_was_handed_over_there_is_no_file(void **state)
{
    (void)state;
    struct scene scene;
    struct stat file;
    scene_open(&scene);
    tracer_fact(scene.sink.tracer, "a", "b");
    tracer_free(scene.sink.tracer);
    scene.sink.tracer = NULL;
    assert_int_equal(stat(scene.path, &file), -1);
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_told_is_in_the_file),
        cmocka_unit_test(nodes_modules_and_facts_are_there_too),
        cmocka_unit_test(what_cannot_be_created_is_said),
        cmocka_unit_test(a_name_that_is_taken_is_left_alone),
        cmocka_unit_test(a_file_that_may_not_grow_is_said_and_kept),
        cmocka_unit_test(left_before_anything_was_handed_over_there_is_no_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
