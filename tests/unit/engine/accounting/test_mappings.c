/* Pieces of mappings by address, against a map of pages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "accounting/mappings.h"

enum { PAGE = 4096, PAGES = 3000, STEPS = 100000 };
#define BASE 0x7f0000000000ull

/* What is at each page: the mapping's birth, which is unlike all others; 0: nothing. */
static uint64_t pages[PAGES];
static uint64_t told_bytes[STEPS + 2], gone_bytes[STEPS + 2]; /* by birth */
static bool is_over[STEPS + 2];

static void note_gone(void *context, uint32_t number, const struct mapping *mapping, uint64_t bytes)
{
    (void)context;
    (void)number;
    told_bytes[mapping->born] += bytes;
    assert_false(is_over[mapping->born]);
    is_over[mapping->born] = mapping->bytes == 0;
}

static uint64_t clear_pages(size_t first, size_t count, uint64_t before)
{
    uint64_t cleared = 0;
    for (size_t page = first; page < first + count; page++) {
        if (pages[page] > before || !pages[page])
            continue;
        gone_bytes[pages[page]] += PAGE;
        pages[page] = 0;
        cleared++;
    }
    return cleared;
}

static void assert_leaves_are_right(const struct mappings *mappings)
{
    size_t pieces = 0;
    for (size_t i = 0; i < mappings->leaf_count; i++) {
        const struct mapping_leaf *leaf = mappings->leaves[i].leaf;
        assert_in_range(leaf->count, 1, MAPPINGS_LEAF);
        assert_true(leaf->pieces[0].start == mappings->leaves[i].start);
        assert_true(!i || leaf->count + mappings->leaves[i - 1].leaf->count > MAPPINGS_JOIN);
        pieces += leaf->count;
    }
    assert_int_equal(pieces, mappings->piece_count);
}

static void assert_agrees(const struct mappings *mappings)
{
    uint64_t at = BASE;
    struct mapping_piece piece;
    static uint64_t bytes[STEPS + 2];
    memset(bytes, 0, sizeof bytes);
    assert_leaves_are_right(mappings);
    for (size_t page = 0; page < PAGES;) {
        if (!mappings_above(mappings, at, &piece))
            piece = (struct mapping_piece){BASE + PAGES * (uint64_t)PAGE, UINT64_MAX, 0};
        assert_true(piece.start >= at);
        for (; page < PAGES && BASE + page * PAGE < piece.start; page++)
            assert_int_equal(pages[page], 0);
        for (; page < PAGES && BASE + page * PAGE < piece.end; page++) {
            assert_int_equal(pages[page], mappings->all[piece.mapping].born);
            bytes[pages[page]] += PAGE;
        }
        at = piece.end;
    }
    for (uint32_t i = 0; i < mappings->used; i++)
        if (mappings->all[i].pieces)
            assert_int_equal(mappings->all[i].bytes, bytes[mappings->all[i].born]);
    assert_memory_equal(told_bytes, gone_bytes, sizeof told_bytes);
}

static void end_whole_mapping(struct mappings *mappings, size_t page)
{
    struct mapping_piece piece;
    uint64_t born = pages[page];
    if (!born || !mappings_above(mappings, BASE + page * PAGE, &piece))
        return;
    mappings_end(mappings, piece.mapping, mappings->all[piece.mapping].start, note_gone, NULL);
    for (size_t i = 0; i < PAGES; i++) {
        if (pages[i] != born)
            continue;
        gone_bytes[born] += PAGE;
        pages[i] = 0;
    }
}

static void step_once(struct mappings *mappings, uint64_t now)
{
    size_t first = (size_t)rand() % PAGES, count = 1 + (size_t)rand() % (rand() % 50 ? 4 : 900);
    unsigned what = (unsigned)rand() % 100;
    uint64_t start = BASE + first * PAGE;
    if (first + count > PAGES)
        count = PAGES - first;
    uint64_t end = mappings_end_of(start, count * PAGE - (uint64_t)rand() % PAGE);
    if (what == 0) {
        end_whole_mapping(mappings, first);
        return;
    }
    uint64_t before = what < 60 || what % 2 ? now : (uint64_t)rand() % now;
    mappings_cut(mappings, start, end, before, note_gone, NULL);
    clear_pages(first, count, before);
    if (what >= 60)
        return;
    struct mapping made = {.start = start, .born = now};
    mappings_add(mappings, &made, end);
    for (size_t page = first; page < first + count; page++)
        pages[page] = now;
}

static void any_sequence_agrees_with_pages(void **state)
{
    (void)state;
    unsigned seed = (unsigned)time(NULL);
    print_message("seed %u\n", seed);
    srand(seed);
    struct mappings mappings = {0};
    for (uint64_t now = 1; now <= STEPS; now++) {
        step_once(&mappings, now);
        if (now % 100 == 0 || now < 1000)
            assert_agrees(&mappings);
    }
    mappings_cut(&mappings, 0, UINT64_MAX, UINT64_MAX, note_gone, NULL);
    clear_pages(0, PAGES, UINT64_MAX);
    assert_agrees(&mappings);
    assert_int_equal(mappings.piece_count, 0);
    mappings_release(&mappings);
}

static size_t pieces_of(const struct mappings *mappings)
{
    struct mapping_piece piece;
    size_t count = 0;
    for (uint64_t at = 0; mappings_above(mappings, at, &piece); at = piece.end)
        count++;
    assert_int_equal(count, mappings->piece_count);
    return count;
}

/* An mremap that began at 100 and was told of at 200; another thread was given the middle of what
 * it left at 150. */
static void what_was_mapped_later_stays(void **state)
{
    (void)state;
    struct mappings mappings = {0};
    struct mapping made = {.start = BASE, .born = 50},
                   later = {.start = BASE + 10 * PAGE, .born = 150};
    mappings_add(&mappings, &made, BASE + 30 * PAGE);
    mappings_cut(&mappings, later.start, later.start + 5 * PAGE, UINT64_MAX, NULL, NULL);
    mappings_add(&mappings, &later, later.start + 5 * PAGE);
    mappings_cut(&mappings, BASE, BASE + 30 * PAGE, 100, NULL, NULL);
    assert_int_equal(pieces_of(&mappings), 1);
    mappings_cut(&mappings, BASE, BASE + 30 * PAGE, 150, NULL, NULL);
    assert_int_equal(pieces_of(&mappings), 0);
    mappings_release(&mappings);
}

static void ends_are_whole_pages(void **state)
{
    (void)state;
    assert_int_equal(mappings_end_of(BASE, 1), BASE + PAGE);
    assert_int_equal(mappings_end_of(BASE, PAGE), BASE + PAGE);
    assert_true(mappings_end_of(UINT64_MAX - 10, UINT64_MAX) == UINT64_MAX - PAGE + 1);
}

enum { MILLION = 1000000 };

static void assert_is_small(const struct mappings *mappings, size_t count)
{
    assert_int_equal(pieces_of(mappings), count);
    assert_in_range(mappings_memory_bytes(mappings), 1, 100 * count + 4096);
}

static void a_million_mappings_take_100_bytes_each(void **state)
{
    (void)state;
    for (unsigned order = 0; order < 3; order++) {
        struct mappings mappings = {0};
        for (uint64_t i = 0; i < MILLION; i++) {
            uint64_t place = order == 0 ? i : order == 1 ? MILLION - i : i * 7919 % MILLION;
            struct mapping made = {.start = BASE + 2 * place * PAGE, .born = 1};
            mappings_add(&mappings, &made, made.start + PAGE);
        }
        assert_is_small(&mappings, MILLION);
        for (uint64_t i = 0; i < MILLION; i += 2) {
            uint64_t start = BASE + 2 * (i * 7919 % MILLION) * PAGE;
            mappings_cut(&mappings, start, start + PAGE, UINT64_MAX, NULL, NULL);
        }
        assert_int_equal(pieces_of(&mappings), MILLION / 2 + (order == 1));
        mappings_release(&mappings);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_sequence_agrees_with_pages),
        cmocka_unit_test(what_was_mapped_later_stays),
        cmocka_unit_test(ends_are_whole_pages),
        cmocka_unit_test(a_million_mappings_take_100_bytes_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
