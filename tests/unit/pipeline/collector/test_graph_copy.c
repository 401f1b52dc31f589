/* What a graph look copies of a process or reads of it ahead, and what it finds that was mapped late: of this
 * process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "collector/graph_ahead.h"
#include "collector/graph_copy.h"
#include "collector/graph_late.h"

enum { PAGE = 4096, BYTES = 3 << 20 };

static char *memory_of(size_t bytes)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    return memory;
}

static uint64_t address_of(const void *at)
{
    return (uint64_t)(uintptr_t)at;
}

struct scene {
    struct smaps smaps;
    struct program_memory memory;
};

/* What is mapped now. The memory points to the scene. */
static void scene_begin(struct scene *scene)
{
    *scene = (struct scene){.smaps = SMAPS_INIT};
    assert_int_equal(smaps_read(&scene->smaps, getpid()), 0);
    scene->memory =
        (struct program_memory){open("/proc/self/mem", O_RDONLY), getpid(), &scene->smaps};
}

static void scene_release(struct scene *scene)
{
    smaps_release(&scene->smaps);
    close(scene->memory.fd);
}

/* Every other page is there. */
static void what_is_there_is_copied(void **state)
{
    (void)state;
    char *memory = memory_of(BYTES), found[2 * PAGE];
    struct graph_copy copy = GRAPH_COPY_INIT;
    struct pages pages;
    struct page_table_range range = {address_of(memory), address_of(memory) + BYTES};
    struct scene scene;
    scene_begin(&scene);
    for (size_t at = 0; at < BYTES; at += 2 * PAGE)
        memset(memory + at, 1 + (int)(at / PAGE % 100), PAGE);
    assert_int_equal(page_table_open(&pages, getpid()), 0);
    graph_copy_begin(&copy, &pages, &range, 1);
    assert_true(graph_copy_take(&copy, &pages, &range, 1, &scene.memory));
    for (size_t at = 0; at < BYTES; at += 2 * PAGE) {
        assert_int_equal(graph_copy_read(&copy, range.start + at, found, sizeof found), PAGE);
        assert_memory_equal(found, memory + at, PAGE);
        assert_int_equal(graph_copy_read(&copy, range.start + at + PAGE, found, PAGE), 0);
    }
    assert_int_equal(graph_copy_read(&copy, range.start + 100, found, 8), 8);
    assert_int_equal(graph_copy_read(&copy, range.end, found, 8), 0);
    graph_copy_release(&copy);
    page_table_close(&pages);
    scene_release(&scene);
    munmap(memory, BYTES);
}

static void what_has_outgrown_the_room_is_not_copied(void **state)
{
    (void)state;
    char *memory = memory_of(4 * BYTES);
    struct graph_copy copy = GRAPH_COPY_INIT;
    struct pages pages;
    struct page_table_range range = {address_of(memory), address_of(memory) + 4 * BYTES};
    struct scene scene;
    scene_begin(&scene);
    memory[0] = 1;
    assert_int_equal(page_table_open(&pages, getpid()), 0);
    graph_copy_begin(&copy, &pages, &range, 1);
    memset(memory, 1, 4 * BYTES);
    assert_false(graph_copy_take(&copy, &pages, &range, 1, &scene.memory));
    assert_int_equal(copy.size, 0);
    page_table_close(&pages);
    scene_release(&scene);
    munmap(memory, 4 * BYTES);
}

/* ---- What reading changes ---- */

static uint64_t shared_bytes_of(const char *memory)
{
    struct smaps smaps = SMAPS_INIT;
    assert_int_equal(smaps_read(&smaps, getpid()), 0);
    uint64_t bytes = figure_or(smaps_find(&smaps, address_of(memory))->bytes.shared, UINT64_MAX);
    smaps_release(&smaps);
    return bytes;
}

/* A child that waits has its pages in common with us. To pin them would copy them. The pages are a
 * mapping of their own, because smaps counts whole mappings. */
static void what_a_fork_shares_stays_shared(void **state)
{
    (void)state;
    char *apart = memory_of(BYTES + 2 * PAGE), *memory = apart + PAGE, *found = memory_of(BYTES);
    assert_int_equal(mprotect(apart, PAGE, PROT_NONE), 0);
    assert_int_equal(mprotect(memory + BYTES, PAGE, PROT_NONE), 0);
    struct scene scene;
    memset(memory, 7, BYTES);
    memset(found, 1, BYTES);
    pid_t child = fork();
    if (!child) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    assert_true(child > 0);
    scene_begin(&scene);
    uint64_t shared = shared_bytes_of(memory);
    size_t got = program_memory_read(&scene.memory, address_of(memory), found, BYTES);
    uint64_t still = shared_bytes_of(memory);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(got, BYTES);
    assert_memory_equal(found, memory, BYTES);
    assert_int_equal(shared, BYTES);
    assert_int_equal(still, BYTES);
    scene_release(&scene);
    munmap(apart, BYTES + 2 * PAGE);
    munmap(found, BYTES);
}

/* Before a gap, behind one, and without any right. */
static void each_page_that_is_there_is_read(void **state)
{
    (void)state;
    char *memory = memory_of(8 * PAGE), found[8 * PAGE];
    struct scene scene;
    memset(memory, 7, 8 * PAGE);
    scene_begin(&scene);
    munmap(memory + 3 * PAGE, PAGE);
    mprotect(memory + 5 * PAGE, PAGE, PROT_NONE);
    assert_int_equal(program_memory_read(&scene.memory, address_of(memory), found, 8 * PAGE),
                     3 * PAGE);
    assert_int_equal(program_memory_read(&scene.memory, address_of(memory) + 3 * PAGE, found, PAGE),
                     0);
    assert_int_equal(
        program_memory_read(&scene.memory, address_of(memory) + 4 * PAGE, found, 4 * PAGE),
        4 * PAGE);
    for (size_t at = 0; at < 4 * PAGE; at++)
        assert_int_equal(found[at], 7);
    scene_release(&scene);
    munmap(memory, 8 * PAGE);
}

/* ---- Ahead ---- */

enum { MANY = 64 }; /* pieces, more than there are rooms, and enough for threads */

struct seen {
    const char *memory;
    uint64_t next;
    size_t pieces, missing, most;
};

static int seen_piece(const struct graph_piece *piece, uint64_t *words, size_t got, void *context)
{
    struct seen *seen = context;
    assert_true(piece->start >= seen->next && piece->end > piece->start);
    assert_memory_equal(words, (const char *)(uintptr_t)piece->start, got);
    memset(words, 0, got);
    seen->next = piece->end;
    seen->missing += piece->end - piece->start - got;
    return ++seen->pieces == seen->most ? -ECANCELED : 0;
}

/* A page in the middle goes before it is read: the piece ends there. */
static void pieces_come_in_order(void **state)
{
    (void)state;
    enum { PIECE = GRAPH_AHEAD_WORDS * 8, GONE = 9 * PIECE + PIECE / 2 };
    char *memory = memory_of(MANY * PIECE);
    struct graph_pieces pieces = {0};
    struct pages pages;
    struct page_table_range range = {address_of(memory), address_of(memory) + MANY * PIECE};
    struct seen seen = {.memory = memory};
    struct scene scene;
    scene_begin(&scene);
    for (size_t at = 0; at < MANY * PIECE; at += 8)
        memcpy(memory + at, &at, 8);
    assert_int_equal(page_table_open(&pages, getpid()), 0);
    assert_int_equal(graph_pieces_find(&pieces, &pages, &range, 1), 0);
    munmap(memory + GONE, PAGE);
    assert_int_equal(graph_pieces_visit(&pieces, &scene.memory, seen_piece, &seen), 0);
    assert_int_equal(seen.next, range.end);
    assert_int_equal(seen.missing, PIECE / 2);
    assert_int_equal(seen.pieces, pieces.count);
    seen = (struct seen){.memory = memory, .most = 5};
    assert_int_equal(graph_pieces_visit(&pieces, &scene.memory, seen_piece, &seen), -ECANCELED);
    assert_int_equal(seen.pieces, 5);
    graph_pieces_release(&pieces);
    page_table_close(&pages);
    scene_release(&scene);
    munmap(memory, MANY * PIECE);
}

static bool is_found(const struct page_table_range *ranges, size_t count, const char *memory,
                     size_t bytes)
{
    for (size_t i = 0; i < count; i++)
        if (ranges[i].start <= address_of(memory) && ranges[i].end >= address_of(memory) + bytes)
            return true;
    return false;
}

static void what_was_mapped_late_is_found(void **state)
{
    (void)state;
    struct smaps smaps = SMAPS_INIT;
    struct page_table_range *ranges;
    size_t count;
    char *before = memory_of(PAGE), *reserved = memory_of(PAGE);
    mprotect(reserved, PAGE, PROT_NONE);
    assert_int_equal(smaps_read(&smaps, getpid()), 0);
    mprotect(reserved, PAGE, PROT_READ | PROT_WRITE);
    char *late = memory_of(64 * PAGE), *hidden = memory_of(PAGE);
    mprotect(hidden, PAGE, PROT_READ);
    assert_int_equal(graph_late_find(getpid(), &smaps, &ranges, &count), 0);
    assert_true(is_found(ranges, count, late, 64 * PAGE));
    assert_true(is_found(ranges, count, reserved, PAGE)); /* as an arena's room for growing */
    assert_false(is_found(ranges, count, before, PAGE));
    assert_false(is_found(ranges, count, hidden, PAGE));
    for (size_t i = 1; i < count; i++)
        assert_true(ranges[i - 1].end <= ranges[i].start);
    free(ranges);
    smaps_release(&smaps);
    munmap(before, PAGE);
    munmap(reserved, PAGE);
    munmap(late, 64 * PAGE);
    munmap(hidden, PAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_there_is_copied),
        cmocka_unit_test(what_has_outgrown_the_room_is_not_copied),
        cmocka_unit_test(what_a_fork_shares_stays_shared),
        cmocka_unit_test(each_page_that_is_there_is_read),
        cmocka_unit_test(pieces_come_in_order),
        cmocka_unit_test(what_was_mapped_late_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
