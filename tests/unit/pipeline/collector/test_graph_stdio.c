/* Words in the buffers of FILEs hold nothing; those of all other blocks do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "collector/graph_stdio.h"

enum { HEAP = 0x10000, LIBC = 0x40000, BYTES = 0x8000, FILE_BYTES = 552, BUFFER_BYTES = 1024 };
enum { FILE_BLOCK, BUFFER_BLOCK, OUTPUT_BLOCK, KEPT_BLOCK, BLOCKS };

static uint64_t heap[BYTES / 8], libc[BYTES / 8];

static const struct graph_block blocks[BLOCKS] = {
    [FILE_BLOCK] = {HEAP, FILE_BYTES},
    [BUFFER_BLOCK] = {HEAP + 0x1000, BUFFER_BYTES},
    [OUTPUT_BLOCK] = {HEAP + 0x2000, BUFFER_BYTES},
    [KEPT_BLOCK] = {HEAP + 0x3000, 64},
};
static struct smaps_mapping mappings[] = {
    {.start = HEAP, .end = HEAP + BYTES, .path = "[heap]"},
    {.start = LIBC, .end = LIBC + BYTES, .path = "/lib/libc.so.6"},
};
static const struct smaps smaps = {.mappings = mappings, .count = 2};

static bool read_words(void *context, uint64_t address, uint64_t *words, size_t count)
{
    (void)context;
    uint64_t base = address >= LIBC ? LIBC : HEAP;
    if (address < HEAP || address - base + count * 8 > BYTES)
        return false;
    memcpy(words, (base == LIBC ? libc : heap) + (address - base) / 8, count * 8);
    return true;
}

static bool is_no_vtable(void *context, uint64_t address)
{
    (void)context, (void)address;
    return false;
}

static void make_file(uint64_t *at, uint64_t buffer, uint64_t bytes, uint64_t vtable)
{
    at[0] = 0x1234567800000000 | 0xfbad2488;
    at[7] = buffer;
    at[8] = buffer + bytes;
    at[27] = vtable;
}

/* Returns whether the block that buffer and output point to, and the FILE at one of its words, is
 * held by a word of the block. */
static bool holds_at(uint32_t block, size_t at)
{
    const struct graph_memory memory = {.read = read_words, .is_vtable = is_no_vtable};
    uint64_t first_words[BLOCKS] = {heap[0]}, kept = blocks[KEPT_BLOCK].address;
    uint64_t root = blocks[block].address;
    struct graph graph;
    struct graph_chain chain;
    uint8_t ranks[4] = {0};
    assert_int_equal(graph_begin(&graph, blocks, BLOCKS, &memory), 0);
    assert_int_equal(graph_keep_holders(&graph, NULL, 0), 0);
    graph_add_roots(&graph, 0x9000, &root, 1);
    uint64_t words[FILE_BYTES / 8];
    memcpy(words, heap, sizeof words);
    words[7] = words[8] = 0;
    words[at] = heap[at] = kept;
    graph_add_words(&graph, FILE_BLOCK, words, FILE_BYTES / 8);
    graph_add_words(&graph, BUFFER_BLOCK, &kept, 1);
    graph_add_words(&graph, OUTPUT_BLOCK, &kept, 1);
    graph_stdio_see_blocks(&graph, &smaps, first_words);
    graph_stdio_see_variables(&graph, &smaps, LIBC, LIBC + BYTES);
    assert_int_equal(graph_chain_find(&graph, ranks, KEPT_BLOCK, &chain), 0);
    free(chain.nodes);
    graph_release(&graph);
    return chain.count != 0;
}

static bool holds(uint32_t block)
{
    return holds_at(block, 1);
}

static void what_of_a_file_was_never_set_holds_nothing(void **state)
{
    enum { WIDE = 30, POINTERS = 11 };
    (void)state;
    memset(heap, 0, sizeof heap);
    make_file(heap, 0, 0, LIBC + 0x4000);
    heap[20] = HEAP + WIDE * 8;
    assert_true(holds_at(FILE_BLOCK, 9) && holds_at(FILE_BLOCK, 13));
    memset(heap + 1, 0, 13 * 8);
    assert_true(holds_at(FILE_BLOCK, WIDE + POINTERS - 1));
    heap[WIDE + POINTERS - 1] = 0;
    assert_false(holds_at(FILE_BLOCK, WIDE + POINTERS));
    heap[20] = HEAP + FILE_BYTES; /* elsewhere */
    assert_false(holds_at(FILE_BLOCK, 28));
    heap[27] = HEAP; /* no FILE */
    assert_true(holds_at(FILE_BLOCK, 28));
    memset(heap, 0, sizeof heap);
}

static void buffers_of_blocks_and_variables_hold_nothing(void **state)
{
    (void)state;
    make_file(heap, blocks[BUFFER_BLOCK].address, BUFFER_BYTES, LIBC + 0x4000);
    assert_false(holds(BUFFER_BLOCK));
    assert_true(holds(OUTPUT_BLOCK));
    make_file(libc + 100, blocks[OUTPUT_BLOCK].address, BUFFER_BYTES, LIBC + 0x4000);
    assert_false(holds(OUTPUT_BLOCK));
    /* the last that fits */
    memset(libc, 0, sizeof libc);
    make_file(libc + BYTES / 8 - 28, blocks[OUTPUT_BLOCK].address, BUFFER_BYTES, LIBC + 0x4000);
    assert_false(holds(OUTPUT_BLOCK));
}

static void what_only_looks_like_a_file_is_none(void **state)
{
    (void)state;
    memset(libc, 0, sizeof libc);
    make_file(heap, blocks[BUFFER_BLOCK].address, BUFFER_BYTES, HEAP); /* functions on the heap */
    assert_true(holds(BUFFER_BLOCK));
    make_file(heap, blocks[BUFFER_BLOCK].address, BUFFER_BYTES - 8, LIBC); /* a part of a block */
    assert_true(holds(BUFFER_BLOCK));
    make_file(heap, blocks[BUFFER_BLOCK].address + 8, BUFFER_BYTES - 8, LIBC);
    assert_true(holds(BUFFER_BLOCK));
    make_file(heap, blocks[BUFFER_BLOCK].address, BUFFER_BYTES, LIBC);
    heap[0] = 0xfbae2488;
    assert_true(holds(BUFFER_BLOCK));
    /* no room for a FILE */
    libc[BYTES / 8 - 1] = 0xfbad2488;
    assert_true(holds(OUTPUT_BLOCK));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_of_a_file_was_never_set_holds_nothing),
        cmocka_unit_test(buffers_of_blocks_and_variables_hold_nothing),
        cmocka_unit_test(what_only_looks_like_a_file_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
