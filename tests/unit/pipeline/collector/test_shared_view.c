/* The view of a memory whose owner may have written anything into it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <cmocka.h>
#include "player.h"

enum { RING = 16 << 10, CHUNKS = 16 };

struct scene {
    struct view view;
    struct player player;
    char paths[512]; /* of the modules visited, each followed by a blank */
    size_t cursor;
};

static void scene_open(struct scene *scene)
{
    struct wire_header options = player_options(RING, CHUNKS);
    memset(scene, 0, sizeof *scene);
    assert_int_equal(shared_view_open(&scene->view, &options), 0);
    player_open(&scene->player, &scene->view);
}

static void scene_close(struct scene *scene)
{
    player_close(&scene->player);
    shared_view_close(&scene->view);
}

static void visit(void *context, const struct wire_module *module)
{
    struct scene *scene = context;
    size_t used = strlen(scene->paths);
    snprintf(scene->paths + used, sizeof scene->paths - used, "%s ", module->path);
}

static const char *modules_of(struct scene *scene)
{
    scene->paths[0] = 0;
    shared_view_refresh(&scene->view);
    shared_view_modules(&scene->view, &scene->cursor, visit, scene);
    return scene->paths;
}

static struct wire_module *log_module(char *at, const char *path)
{
    struct wire_module *module = (void *)at;
    size_t bytes = (offsetof(struct wire_module, path) + strlen(path) + 1 + 7) & ~(size_t)7;
    module->start = 0x1000;
    module->end = 0x2000;
    strcpy(module->path, path);
    __atomic_store_n(&module->entry_bytes, (uint32_t)bytes, __ATOMIC_RELEASE);
    return module;
}

static char *after(struct wire_module *module)
{
    return (char *)module + module->entry_bytes;
}

/* ---- Limits ---- */

static int open_under_limit(struct view *view, uint64_t bytes)
{
    struct wire_header options = player_options(RING, 64);
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    int error = shared_view_open(view, &options);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    return error;
}

static void the_memory_is_as_large_as_files_may_be(void **state)
{
    (void)state;
    struct view view;
    assert_int_equal(open_under_limit(&view, 20 * WIRE_CHUNK_BYTES + 5), 0);
    assert_int_equal(view.chunk_limit, 20);
    assert_int_equal(view.header->chunk_limit, 20); /* the recorder goes by this one */
    shared_view_close(&view);
    assert_int_equal(open_under_limit(&view, 1000 * (uint64_t)WIRE_CHUNK_BYTES), 0);
    assert_int_equal(view.header->chunk_limit, 64);
    shared_view_close(&view);
    assert_int_equal(open_under_limit(&view, VIEW_LEAST_CHUNKS * WIRE_CHUNK_BYTES - 1), -EFBIG);
    shared_view_close(&view);
    assert_int_equal(open_under_limit(&view, 0), -EFBIG);
    shared_view_close(&view);
}

static bool has_memory = true;

void *__real_mmap(void *at, size_t bytes, int allowed, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int allowed, int flags, int fd, off_t offset);

void *__wrap_mmap(void *at, size_t bytes, int allowed, int flags, int fd, off_t offset)
{
    if (fd < 0 && !has_memory) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return __real_mmap(at, bytes, allowed, flags, fd, offset);
}

static unsigned mappings_of_the_memory(void)
{
    unsigned count = 0;
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "re");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps))
        count += strstr(line, "memfd:tidemark") != NULL;
    fclose(maps);
    return count;
}

/* A list that cannot grow is tried again at each look; a chunk behind the window is mapped for it. */
static void a_chunk_without_a_place_is_unmapped(void **state)
{
    (void)state;
    enum { LOOKS = 100, MORE = CHUNKS_FIRST + 1 };
    struct view view;
    struct wire_header options = player_options(RING, VIEW_WINDOW_CHUNKS + MORE);
    assert_int_equal(shared_view_open(&view, &options), 0);
    for (uint32_t i = 0; i < MORE; i++)
        view.header->chunk_kind[VIEW_WINDOW_CHUNKS + i] = WIRE_CHUNK_NODES;
    atomic_store(&view.header->chunk_count, VIEW_WINDOW_CHUNKS + MORE);
    has_memory = false;
    shared_view_refresh(&view);
    assert_int_equal(view.nodes.count, CHUNKS_FIRST);
    unsigned before = mappings_of_the_memory();
    for (int i = 0; i < LOOKS; i++)
        shared_view_refresh(&view);
    assert_int_equal(mappings_of_the_memory(), before);
    has_memory = true;
    shared_view_refresh(&view);
    assert_int_equal(view.nodes.count, MORE);
    shared_view_close(&view);
    assert_int_equal(mappings_of_the_memory(), 0);
}

/* ---- Death ---- */

/* What a mutex of glibc's would be made of: its owner, that is us, its kind and its links. */
static void nothing_in_the_header_holds_up_or_misleads_closing(void **state)
{
    (void)state;
    /* clang-format off */
    uint32_t owners[] = {0, (uint32_t)gettid(), (uint32_t)gettid() | FUTEX_WAITERS,
                         FUTEX_OWNER_DIED, FUTEX_WAITERS | FUTEX_TID_MASK, UINT32_MAX};
    /* clang-format on */
    for (size_t owner = 0; owner < sizeof owners / sizeof *owners; owner++)
        for (int kind = 0; kind < 256; kind++) {
            struct scene scene;
            scene_open(&scene);
            uint32_t *words = (void *)&scene.view.header->collector;
            for (size_t i = 0; i < 16; i++)
                words[i] = i == 0 || i == 2 ? owners[owner] : (uint32_t)kind;
            scene_close(&scene);
        }
}

static void *open_and_end(void *context)
{
    struct view *view = context;
    struct wire_header options = player_options(RING, CHUNKS);
    assert_int_equal(shared_view_open(view, &options), 0);
    assert_int_equal(atomic_load(&view->header->collector), gettid());
    return NULL;
}

static void the_kernel_marks_the_word_of_a_thread_that_ended(void **state)
{
    (void)state;
    struct view view;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, open_and_end, &view), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(atomic_load(&view.header->collector), FUTEX_OWNER_DIED);
    shared_view_close(&view);
}

/* A thread that serves one process after the other. */
static void a_thread_that_leaves_marks_the_word_and_opens_another_view(void **state)
{
    (void)state;
    struct wire_header options = {.ring_bytes = WIRE_MIN_RING_BYTES,
                                  .chunk_limit = VIEW_LEAST_CHUNKS};
    struct view first, second;
    struct robust_list_head *before, *after;
    size_t bytes;
    syscall(SYS_get_robust_list, 0, &before, &bytes);
    assert_int_equal(shared_view_open(&first, &options), 0);
    shared_view_leave(&first);
    assert_true(atomic_load(&first.header->collector) & FUTEX_OWNER_DIED);
    assert_int_equal(shared_view_open(&second, &options), 0);
    assert_int_equal(atomic_load(&second.header->collector), gettid());
    shared_view_close(&first);
    assert_int_equal(atomic_load(&second.header->collector), gettid());
    shared_view_close(&second);
    syscall(SYS_get_robust_list, 0, &after, &bytes);
    assert_ptr_equal(before, after);
}

static void *close_then_hold(void *mutex)
{
    struct scene scene;
    scene_open(&scene);
    scene_close(&scene);
    assert_int_equal(pthread_mutex_lock(mutex), 0);
    return NULL;
}

static void robust_mutexes_work_again_after_closing(void **state)
{
    (void)state;
    pthread_mutexattr_t robust;
    pthread_mutex_t mutex;
    pthread_t thread;
    pthread_mutexattr_init(&robust);
    pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
    assert_int_equal(pthread_mutex_init(&mutex, &robust), 0);
    assert_int_equal(pthread_create(&thread, NULL, close_then_hold, &mutex), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(pthread_mutex_trylock(&mutex), EOWNERDEAD);
    pthread_mutex_consistent(&mutex);
    pthread_mutex_unlock(&mutex);
    pthread_mutex_destroy(&mutex);
    pthread_mutexattr_destroy(&robust);
}

/* ---- Modules ---- */

static void modules_are_told_once_and_in_order(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene);
    assert_string_equal(modules_of(&scene), "");
    char *log = player_chunk(&scene.player, WIRE_CHUNK_MODULES);
    struct wire_module *second = log_module(after(log_module(log, "a.out")), "libc.so");
    assert_string_equal(modules_of(&scene), "a.out libc.so ");
    assert_string_equal(modules_of(&scene), "");
    log_module(after(second), "libm.so");
    assert_string_equal(modules_of(&scene), "libm.so ");
    log_module(player_chunk(&scene.player, WIRE_CHUNK_MODULES), "libz.so");
    assert_string_equal(modules_of(&scene), "libz.so ");
    scene_close(&scene);
}

static void an_entry_may_fill_its_chunk_to_the_end(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene);
    struct wire_module *module =
        log_module(player_chunk(&scene.player, WIRE_CHUNK_MODULES), "big.so");
    module->entry_bytes = WIRE_CHUNK_BYTES;
    log_module(player_chunk(&scene.player, WIRE_CHUNK_MODULES), "next.so");
    assert_string_equal(modules_of(&scene), "big.so next.so ");
    scene_close(&scene);
}

static void module_too_long(struct wire_module *module)
{
    module->entry_bytes = 2 * WIRE_CHUNK_BYTES;
}
static void module_huge(struct wire_module *module)
{
    module->entry_bytes = UINT32_MAX & ~7u;
}
static void module_odd(struct wire_module *module)
{
    module->entry_bytes += 4;
}
static void module_too_short(struct wire_module *module)
{
    module->entry_bytes = 8;
}
static void module_no_path(struct wire_module *module)
{
    module->entry_bytes = offsetof(struct wire_module, path) & ~7u;
}
static void module_long_id(struct wire_module *module)
{
    module->build_id_bytes = 28;
}
static void module_inside_out(struct wire_module *module)
{
    module->end = module->start;
}
static void module_unended(struct wire_module *module)
{
    memset(module->path, 'x', module->entry_bytes - offsetof(struct wire_module, path));
}

static void damaged_modules_end_the_log(void **state)
{
    (void)state;
    static void (*const damages[])(struct wire_module *) = {
        module_too_long, module_huge,    module_odd,        module_too_short,
        module_no_path,  module_long_id, module_inside_out, module_unended,
    };
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        struct scene scene;
        scene_open(&scene);
        struct wire_module *good =
            log_module(player_chunk(&scene.player, WIRE_CHUNK_MODULES), "good");
        struct wire_module *bad = log_module(after(good), "bad");
        log_module(after(bad), "behind");
        damages[i](bad);
        assert_string_equal(modules_of(&scene), "good ");
        assert_string_equal(modules_of(&scene), "");
        scene_close(&scene);
    }
}

static void random_bytes_as_modules_do_no_harm(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene);
    uint32_t *log = (void *)player_chunk(&scene.player, WIRE_CHUNK_MODULES);
    uint32_t word = 2463534242u;
    for (unsigned round = 0; round < 200; round++) {
        for (size_t i = 0; i < 4096; i++) {
            word ^= word << 13, word ^= word >> 17, word ^= word << 5;
            log[i] = word % 3 ? word % 256 & ~7u : word;
        }
        scene.cursor = 0;
        modules_of(&scene);
    }
    scene_close(&scene);
}

/* ---- Counts ---- */

static void lying_chunk_counts_map_no_more_than_there_is(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene);
    for (unsigned i = 0; i < WIRE_MAX_CHUNKS; i++)
        atomic_store(&scene.player.header->chunk_kind[i], i % 7);
    atomic_store(&scene.player.header->chunk_count, UINT32_MAX);
    atomic_store(&scene.player.header->ring_count, UINT32_MAX);
    atomic_store(&scene.player.header->node_count, UINT32_MAX);
    scene.player.header->chunk_limit = UINT32_MAX;
    scene.player.header->ring_bytes = 16;
    shared_view_refresh(&scene.view);
    assert_in_range(scene.view.chunks_seen, 1, CHUNKS);
    uint32_t rings = shared_view_ring_count(&scene.view),
             nodes = shared_view_node_count(&scene.view);
    assert_in_range(rings, 1, 2 * WIRE_RINGS_PER_CHUNK);
    for (uint32_t i = 0; i < rings; i++) { /* a SIGBUS would end the test */
        assert_int_equal(atomic_load(&shared_view_ring(&scene.view, i)->head), 0);
        assert_int_equal(shared_view_ring_data(&scene.view, i)[RING + WIRE_RING_SPILL - 1], 0);
    }
    for (uint32_t i = 0; i < nodes; i += 1000)
        assert_int_equal(shared_view_node(&scene.view, i)->ip, 0);
    assert_string_equal(modules_of(&scene), "");
    shared_view_touched_bytes(&scene.view);
    scene_close(&scene);
}

static void unknown_chunk_kinds_are_skipped(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene);
    player_chunk(&scene.player, 200);
    player_chunk(&scene.player, WIRE_CHUNK_NONE);
    player_chunk(&scene.player, WIRE_CHUNK_HEADER);
    player_chunk(&scene.player, WIRE_CHUNK_NODES);
    atomic_store(&scene.player.header->node_count, 10);
    shared_view_refresh(&scene.view);
    assert_int_equal(shared_view_node_count(&scene.view), 10);
    assert_int_equal(shared_view_ring_count(&scene.view), 0);
    scene_close(&scene);
}

static void counts_end_where_the_mapped_chunks_do(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene);
    atomic_store(&scene.player.header->ring_count, 3);
    atomic_store(&scene.player.header->node_count, 3);
    shared_view_refresh(&scene.view);
    assert_int_equal(shared_view_ring_count(&scene.view), 0);
    assert_int_equal(shared_view_node_count(&scene.view), 0);
    player_chunk(&scene.player, WIRE_CHUNK_RINGS); /* headers without data */
    shared_view_refresh(&scene.view);
    assert_int_equal(shared_view_ring_count(&scene.view), 0);
    player_chunk(&scene.player, WIRE_CHUNK_RING_DATA);
    shared_view_refresh(&scene.view);
    assert_int_equal(shared_view_ring_count(&scene.view), 3);
    atomic_store(&scene.player.header->ring_count, 1000);
    assert_int_equal(shared_view_ring_count(&scene.view), wire_rings_per_data_chunk(RING));
    scene_close(&scene);
}

static void both_sides_see_the_same_rings(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene);
    for (unsigned i = 0; i < 2 * wire_rings_per_data_chunk(RING); i++) {
        struct pen pen = player_ring(&scene.player, i);
        pen_write(&pen, WIRE_FREE, i, 0);
    }
    shared_view_refresh(&scene.view);
    assert_int_equal(shared_view_ring_count(&scene.view), 2 * wire_rings_per_data_chunk(RING));
    for (unsigned i = 0; i < shared_view_ring_count(&scene.view); i++) {
        const struct wire_record *record = (void *)shared_view_ring_data(&scene.view, i);
        assert_int_equal(atomic_load(&shared_view_ring(&scene.view, i)->tid), i);
        assert_int_equal(record->kind_address & WIRE_ADDRESS_MASK, i);
    }
    scene_close(&scene);
}

/* ---- The file ---- */

static void the_program_cannot_change_the_files_size(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene);
    assert_int_equal(ftruncate(scene.view.fd, 0), -1);
    assert_int_equal(ftruncate(scene.view.fd, 1 << 30), -1);
    scene_close(&scene);
}

static void closing_twice_is_harmless(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene);
    shared_view_close(&scene.view);
    scene_close(&scene);
}

static void nodes_that_were_left_can_be_looked_at_again(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene);
    struct wire_node *nodes = (void *)player_chunk(&scene.player, WIRE_CHUNK_NODES);
    player_chunk(&scene.player, WIRE_CHUNK_NODES);
    nodes[7].ip = 4711;
    atomic_store(&scene.player.header->node_count, WIRE_NODES_PER_CHUNK + 10);
    shared_view_refresh(&scene.view);
    const struct wire_node *node = shared_view_node(&scene.view, 7);
    assert_int_equal(node->ip, 4711);
    shared_view_leave_nodes(&scene.view, shared_view_node_count(&scene.view));
    assert_ptr_equal(shared_view_node(&scene.view, 7), node);
    assert_int_equal(node->ip, 4711);
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_that_were_left_can_be_looked_at_again),
        cmocka_unit_test(the_memory_is_as_large_as_files_may_be),
        cmocka_unit_test(a_chunk_without_a_place_is_unmapped),
        cmocka_unit_test(nothing_in_the_header_holds_up_or_misleads_closing),
        cmocka_unit_test(the_kernel_marks_the_word_of_a_thread_that_ended),
        cmocka_unit_test(a_thread_that_leaves_marks_the_word_and_opens_another_view),
        cmocka_unit_test(robust_mutexes_work_again_after_closing),
        cmocka_unit_test(modules_are_told_once_and_in_order),
        cmocka_unit_test(an_entry_may_fill_its_chunk_to_the_end),
        cmocka_unit_test(damaged_modules_end_the_log),
        cmocka_unit_test(random_bytes_as_modules_do_no_harm),
        cmocka_unit_test(lying_chunk_counts_map_no_more_than_there_is),
        cmocka_unit_test(unknown_chunk_kinds_are_skipped),
        cmocka_unit_test(counts_end_where_the_mapped_chunks_do),
        cmocka_unit_test(both_sides_see_the_same_rings),
        cmocka_unit_test(the_program_cannot_change_the_files_size),
        cmocka_unit_test(closing_twice_is_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
