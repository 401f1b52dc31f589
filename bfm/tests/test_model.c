/* Streams of calls against the model: random ones, and ones made to hurt. TIDEMARK_TEST_SEED=n
 * repeats one run. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "model.h"

static struct model model;
static uint64_t state;

static uint64_t next(void)
{
    uint64_t z = state += 0x9E3779B97F4A7C15ull;

    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

static void one_call(struct model *on, unsigned slots, size_t (*size)(uint64_t))
{
    unsigned slot = next() % slots;

    switch (next() % 16) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
        model_malloc(on, slot, size(next()));
        break;
    case 5:
        model_calloc(on, slot, size(next()));
        break;
    case 6:
    case 7:
        model_realloc(on, slot, size(next()));
        break;
    case 8:
        model_memalign(on, slot, (size_t)16 << next() % 10, size(next()));
        break;
    default:
        model_free(on, slot);
    }
}

static void random_calls(struct model *on, unsigned slots, unsigned calls, size_t (*size)(uint64_t))
{
    for (unsigned i = 0; i < calls; i++) {
        one_call(on, slots, size);
        if (i % (calls / 40) == 0)
            model_verify(on);
    }
    model_verify(on);
}

static size_t tree_size(uint64_t random)
{
    return 513 + random % 6000;
}

static size_t small_size(uint64_t random)
{
    return random % 513;
}

/* Around what is cut into pages for records. */
static size_t page_size(uint64_t random)
{
    return 8192 - 64 + random % 96 + random / 128 % 3 * 8192;
}

static void random_streams(void **unused)
{
    (void)unused;
    random_calls(&model, MODEL_BLOCKS, 40000, model_size);
    random_calls(&model, 100, 20000, model_size);
    model_free_all(&model);
    random_calls(&model, MODEL_BLOCKS, 40000, tree_size);
    random_calls(&model, MODEL_BLOCKS, 60000, small_size);
    random_calls(&model, 500, 20000, page_size);
    model_free_all(&model);
    model_verify(&model);
}

static void every_step_is_sound(void **unused)
{
    (void)unused;
    for (unsigned i = 0; i < 1500; i++) {
        one_call(&model, 60, i % 3 ? model_size : page_size);
        model_verify(&model);
    }
    model_free_all(&model);
}

/* Every second block freed, then ones that are a little larger: nothing fits. */
static void checkerboards(void **unused)
{
    (void)unused;
    for (size_t bytes = 24; bytes < 9000; bytes = bytes * 3 / 2) {
        for (unsigned i = 0; i < MODEL_BLOCKS; i++)
            model_malloc(&model, i, bytes + i / 256);
        for (unsigned i = 0; i < MODEL_BLOCKS; i += 2)
            model_free(&model, i);
        model_verify(&model);
        for (unsigned i = 0; i < MODEL_BLOCKS; i += 2)
            model_malloc(&model, i, bytes + i / 128);
        model_verify(&model);
        for (unsigned i = MODEL_BLOCKS; i--;)
            model_free(&model, i * 37 % MODEL_BLOCKS);
        model_verify(&model);
    }
}

/* Blocks freed in a row, in any order, beside each other and not: sound at each step, and joined as
 * soon as anybody looks. */
static void frees_in_a_row(void **unused)
{
    enum { BLOCKS = 90 };
    unsigned order[BLOCKS];

    (void)unused;
    for (unsigned round = 0; round < 40; round++) {
        struct bfm_statistics before = {.size = sizeof before}, after = before;
        assert_int_equal(bfm_statistics(NULL, &before), 0);
        for (unsigned i = 0; i < BLOCKS; i++) {
            unsigned other = next() % (i + 1);
            order[i] = order[other];
            order[other] = i;
            model_malloc(&model, i, round % 3 ? tree_size(next()) : 9000 + next() % 9000);
        }
        for (unsigned i = 0; i < BLOCKS; i++) {
            model_free(&model, order[i]);
            assert_null(bfm_check(NULL));
            if (next() % 16 == 0)
                model_malloc(&model, BLOCKS + i, tree_size(next()));
            if (next() % 16 == 0 && i + 1 < BLOCKS)
                model_realloc(&model, order[i + 1], tree_size(next()));
        }
        model_verify(&model);
        model_free_all(&model);
        assert_int_equal(bfm_statistics(NULL, &after), 0);
        assert_int_equal(after.tree_used, before.tree_used);
        assert_null(bfm_check(NULL));
    }
}

/* Pages move between records and chunks while both are in use. */
static void pages_change_hands(void **unused)
{
    (void)unused;
    for (unsigned round = 0; round < 12; round++) {
        for (unsigned i = 0; i < MODEL_BLOCKS; i++)
            model_malloc(&model, i, (i + round) % 2 ? 500 : 700 + next() % 9000);
        for (unsigned i = round % 2; i < MODEL_BLOCKS; i += 2)
            model_free(&model, i);
        model_verify(&model);
    }
    model_free_all(&model);
    model_verify(&model);
}

static void independent_heaps(void **unused)
{
    static struct model other;

    (void)unused;
    for (int round = 0; round < 3; round++) {
        other.heap = bfm_heap_create();
        assert_non_null(other.heap);
        random_calls(&other, 1000, 8000, model_size);
        random_calls(&model, 1000, 4000, model_size);
        if (round == 0)
            model_free_all(&other);
        bfm_heap_destroy(other.heap);
        other = (struct model){0};
        model_verify(&model);
    }
    model_free_all(&model);
}

/* calloc knows which pages are zero; purging changes that. */
static void zeros_stay_zeros(void **unused)
{
    (void)unused;
    for (int round = 0; round < 8; round++) {
        random_calls(&model, 300, 1500, model_size);
        bfm_malloc_trim(round % 2 ? 0 : 1 << 20);
        for (unsigned i = 0; i < 300; i++)
            if (!model.blocks[i].at)
                model_calloc(&model, i, model_size(next()));
        model_verify(&model);
    }
    model_free_all(&model);
}

/* What the hook was told of and still lives: addresses in a table with gaps. */
enum { TOLD = 1 << 14 };
static const void *told[TOLD];
static unsigned told_samples, told_blocks;

static unsigned told_at(const void *address)
{
    unsigned at = (unsigned)((uintptr_t)address / 16) * 0x9E3779B1u >> 18;

    while (told[at] && told[at] != address)
        at = (at + 1) % TOLD;
    return at;
}

static void forget_told(unsigned at)
{
    told[at] = NULL;
    for (unsigned i = (at + 1) % TOLD; told[i]; i = (i + 1) % TOLD) {
        const void *address = told[i];
        told[i] = NULL;
        told[told_at(address)] = address;
    }
}

static void hear(const struct bfm_event *event, void *unused)
{
    unsigned at = told_at(event->address);

    (void)unused;
    switch (event->kind) {
    case BFM_SAMPLE_TAKEN:
    case BFM_BLOCK_TAKEN:
        if (told[at])
            abort(); /* told twice */
        told[at] = event->address;
        ++*(event->kind == BFM_BLOCK_TAKEN ? &told_blocks : &told_samples);
        break;
    case BFM_SAMPLE_RETURNED:
    case BFM_BLOCK_RETURNED:
        if (!told[at])
            abort(); /* not told when it was taken */
        forget_told(at);
        --*(event->kind == BFM_BLOCK_RETURNED ? &told_blocks : &told_samples);
        break;
    case BFM_SAMPLE_RESIZED:
    case BFM_BLOCK_RESIZED:
        if (!told[at])
            abort();
        break;
    default:
        break;
    }
}

static void what_is_told_is_what_lives(void **unused)
{
    unsigned large = 0, expected = 0;
    double middle = 0;

    (void)unused;
    assert_int_equal(bfm_set_hook(hear, NULL), 0);
    for (int i = 0; i < 200; i++)
        random_calls(&model, 60, 40, i % 3 ? small_size : model_size);
    random_calls(&model, MODEL_BLOCKS, 60000, small_size);
    random_calls(&model, MODEL_BLOCKS, 20000, model_size);
    for (unsigned i = 0; i < MODEL_BLOCKS; i++)
        if (model.blocks[i].at) {
            size_t usable = bfm_malloc_usable_size(model.blocks[i].at);
            large += usable >= 65536;
            middle += usable > 512 && usable < 65536 ? 1 - exp(-(double)usable / 8192) : 0;
            expected += usable <= 512 ? (unsigned)usable : 0;
        }
    /* each with its chance: further off in one of two million runs. The mean may have become eight
     * times what it is at first, as this thread does little else. */
    assert_true(told_blocks - large <= middle + 5 * sqrt(middle));
    assert_true(told_blocks - large >= middle / 8 - 5 * sqrt(middle));
    assert_true(told_samples * 8192 > expected / 2 && told_samples * 8192 < expected * 2);
    model_free_all(&model);
    assert_int_equal(told_blocks, 0);
    assert_int_equal(told_samples, 0);
    model_verify(&model);
    assert_int_equal(bfm_set_hook(NULL, NULL), 0);
    random_calls(&model, MODEL_BLOCKS, 20000, small_size);
    model_free_all(&model);
}

/* What a slot of 2 MiB begins with is a block or a record, and no tag, so the program touches it
 * first; small blocks do not reach into one with their end alone. */
static void no_tag_is_first_in_a_slot(void **unused)
{
    const uintptr_t slot = (uintptr_t)2 << 20;
    bfm_heap *heap = bfm_heap_create();
    uintptr_t first;

    (void)unused;
    assert_non_null(heap);
    first = (uintptr_t)bfm_heap_malloc(heap, 1000);
    assert_in_range(first % slot, slot - 8192, slot - 1);
    for (size_t held = 0, bytes; held < (size_t)200 << 20; held += bytes) {
        char *block;
        bytes = next() % 4 ? 513 + next() % 9000 : 1 + next() % 512;
        block = bfm_heap_malloc(heap, bytes);
        assert_non_null(block);
        if (bytes <= 512)
            continue;
        assert_int_not_equal(((uintptr_t)block - 8) % slot, 8);
        if (bytes + 8 <= 4096)
            assert_in_range((uintptr_t)block % slot + bytes, 1, slot);
    }
    assert_null(bfm_check(heap));
    bfm_heap_destroy(heap);
}

/* What a request takes from a long chunk: with its tag. */
static size_t taken(size_t bytes)
{
    return (bytes + 8 + 15) / 16 * 16;
}

/* Long free chunks of nearly the same size, several of them in one tree, are used up from their
 * fronts: the smallest first, each block behind the one before, and nothing else is taken meanwhile. */
static void long_chunks_are_used_up_in_order(void **unused)
{
    enum { LONG = 12, BYTES = 600 };
    char *chunk[LONG], *guard[LONG];
    bfm_heap *heap = bfm_heap_create();

    (void)unused;
    assert_non_null(heap);
    for (int i = 0; i < LONG; i++) {
        chunk[i] = bfm_heap_malloc(heap, 100000 + 200 * (i * 5 % LONG));
        guard[i] = bfm_heap_malloc(heap, 600);
    }
    for (int i = 0; i < LONG; i++)
        bfm_free(chunk[i]);
    for (int size = 0; size < LONG; size++) {
        char *expected = chunk[size * 5 % LONG]; /* 5 * 5 = 1 modulo LONG */
        for (size_t left = taken(100000 + 200 * size); left >= taken(BYTES); left -= taken(BYTES)) {
            assert_ptr_equal(bfm_heap_malloc(heap, BYTES), expected);
            expected += taken(BYTES);
            if (left % 7 == 0)
                assert_null(bfm_check(heap));
        }
    }
    for (int i = 0; i < LONG; i++)
        bfm_free(guard[i]);
    assert_null(bfm_check(heap));
    bfm_heap_destroy(heap);
}

static void all_comes_back(void **unused)
{
    struct bfm_statistics statistics = {.size = sizeof statistics};

    (void)unused;
    random_calls(&model, MODEL_BLOCKS, 20000, model_size);
    model_free_all(&model);
    bfm_malloc_trim(0);
    assert_int_equal(bfm_statistics(NULL, &statistics), 0);
    assert_int_equal(statistics.tree_used, 0);
    assert_int_equal(statistics.records, 0);
    assert_int_equal(statistics.large_used, 0);
    assert_int_equal(statistics.large_kept, 0);
    assert_in_range(statistics.dirty, 0, 300000);
    assert_null(bfm_check(NULL));
}

int main(void)
{
    /* clang-format off */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_step_is_sound), cmocka_unit_test(random_streams),
        cmocka_unit_test(checkerboards),       cmocka_unit_test(frees_in_a_row),
        cmocka_unit_test(pages_change_hands),
        cmocka_unit_test(independent_heaps),   cmocka_unit_test(zeros_stay_zeros),
        cmocka_unit_test(what_is_told_is_what_lives),
        cmocka_unit_test(no_tag_is_first_in_a_slot),
        cmocka_unit_test(long_chunks_are_used_up_in_order),
        cmocka_unit_test(all_comes_back),
    };
    /* clang-format on */
    const char *given = getenv("TIDEMARK_TEST_SEED");

    state = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) * 1000003 + (uint64_t)getpid();
    printf("TIDEMARK_TEST_SEED=%llu\n", (unsigned long long)state);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
