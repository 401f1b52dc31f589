/* Mappings as the replay counts them, against an array of pages: random calls of all kinds, with
 * blocks that are allocated and freed between. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "model/mapping.h"
#include "replay/replay.h"
#include "replay_numbers.h"
#include "records.h"

enum { NODES = 6, PAGE = 4096, PAGES = 256, STEPS = 100000, BLOCKS = 64 };
#define BASE  0x7f0000000000ull
#define HEAP  0x1000000ull
#define START 100

/* ---- The model ----------------------------------------------------------------------------- */

/* What one call mapped, by the number of its call. */
struct object {
    uint64_t born, bytes;
    uint32_t node, thread, serial;
    bool is_reserved, is_chunk, is_segment;
    bool is_allocators; /* a chunk that counts nowhere */
};

static struct object objects[2 * STEPS * 4];
static uint32_t object_count;
static uint32_t pages[PAGES]; /* object number + 1 */
static struct call_numbers paths[NODES];
static uint64_t heap[NODES], heap_at_all[NODES], block_bytes[BLOCKS];
static uint32_t block_node[BLOCKS];
static uint64_t mapped, mapped_peak, mapped_peak_ticks, live, all_peak, all_peak_ticks;
static uint64_t discards, discarded, unmaps, moves;
static uint32_t serials[2]; /* mappings that each thread has made */

static struct replay *replay;
static uint64_t ticks;

static void see_levels(void)
{
    for (int i = 0; i < NODES; i++) {
        if (paths[i].live_bytes <= paths[i].peak_bytes)
            continue;
        paths[i].peak_bytes = paths[i].live_bytes;
        paths[i].peak_ticks = ticks;
    }
    for (int i = 0; i < NODES && mapped > mapped_peak; i++) {
        paths[i].at_peak_bytes = paths[i].live_bytes;
        paths[i].at_peak_count = paths[i].live_count;
    }
    for (int i = 0; i < NODES && mapped + live > all_peak; i++) {
        paths[i].at_all_peak_bytes = paths[i].live_bytes;
        heap_at_all[i] = heap[i];
    }
    if (mapped > mapped_peak) {
        mapped_peak = mapped;
        mapped_peak_ticks = ticks;
    }
    if (mapped + live > all_peak) {
        all_peak = mapped + live;
        all_peak_ticks = ticks;
    }
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void object_over(const struct object *object, uint32_t thread, uint32_t by, bool is_free)
{
    struct call_numbers *path = &paths[object->node];
    uint64_t life = ticks - object->born;
    path->live_count--;
    path->free_count++;
    path->lifetime_sum += life;
    path->lifetime_max = larger(path->lifetime_max, life);
    if (life < path->lifetime_min)
        path->lifetime_min = life;
    if (!is_free)
        return;
    path->temporary_count += object->thread == thread && object->serial == serials[thread];
    paths[by].freed_count++;
    paths[by].freed_lifetime_sum += life;
    paths[by].freed_elsewhere_count += object->thread != thread;
}

static void object_loses(struct object *object, uint64_t bytes, uint32_t thread, uint32_t by,
                         bool is_free)
{
    object->bytes -= bytes;
    if (object->is_reserved)
        paths[object->node].reserved_bytes -= bytes;
    if (object->is_reserved || object->is_chunk)
        return;
    mapped -= bytes;
    paths[object->node].live_bytes -= bytes;
    paths[object->node].free_bytes += bytes;
    if (is_free)
        paths[by].freed_bytes += bytes;
    if (!object->bytes)
        object_over(object, thread, by, is_free);
}

/* By neighbouring pages of one object, as one call ends them. Returns the last one. */
static const struct object *clear(size_t first, size_t count, uint32_t thread, uint32_t by,
                                  bool is_free)
{
    const struct object *last = NULL;
    for (size_t i = first; i < first + count;) {
        uint32_t number = pages[i];
        uint64_t bytes = 0;
        for (; i < first + count && pages[i] == number; i++, bytes += PAGE)
            pages[i] = 0;
        if (!number)
            continue;
        object_loses(&objects[number - 1], bytes, thread, by, is_free);
        if (!objects[number - 1].is_allocators)
            last = &objects[number - 1];
    }
    return last;
}

static void make(size_t first, size_t count, struct object object, bool is_moved)
{
    struct call_numbers *path = &paths[object.node];
    object.bytes = count * PAGE;
    if (object.is_allocators) {
        object.is_chunk = true;
    } else if (object.is_reserved) {
        path->reserved_bytes += object.bytes;
    } else {
        object.serial = ++serials[object.thread];
        *(is_moved ? &path->realloc_count : &path->alloc_count) += 1;
        *(is_moved ? &path->realloc_bytes : &path->alloc_bytes) += object.bytes;
        path->live_count++;
        path->live_bytes += object.bytes;
        path->size_max = larger(path->size_max, object.bytes);
        if (object.bytes < path->size_min)
            path->size_min = object.bytes;
        mapped += object.bytes;
    }
    objects[object_count++] = object;
    for (size_t i = first; i < first + count; i++)
        pages[i] = object_count;
}

/* ---- Calls --------------------------------------------------------------------------------- */

struct call {
    uint32_t thread, node;
    size_t first, count;
    uint64_t address, bytes;
};

static void feed(uint32_t thread, struct wire_record record)
{
    char bytes[32];
    replay_records(replay, thread, bytes, record_write(bytes, &record));
}

static void feed_call(const struct call *call, unsigned kind, uint32_t said)
{
    feed(call->thread,
         record_long(kind, ticks, call->address, call->bytes, wire_detail(call->node, said, 0)));
}

static void call_mmap(const struct call *call)
{
    bool is_reserved = rand() % 4 == 0, is_segment = !is_reserved && rand() % 4 == 0;
    unsigned kind = is_segment ? MAPPING_SYSV : (unsigned)(rand() % MAPPING_SYSV);
    feed_call(call, WIRE_MMAP, wire_mapping_of(kind, is_reserved ? WIRE_MAPPING_RESERVED : 0));
    clear(call->first, call->count, call->thread, call->node, true);
    make(call->first, call->count,
         (struct object){.born = ticks,
                         .node = call->node,
                         .thread = call->thread,
                         .is_reserved = is_reserved,
                         .is_segment = is_segment},
         false);
}

/* It counts nowhere, but takes out what was there. */
static void call_allocators_mmap(const struct call *call)
{
    feed(call->thread,
         record_long(
             WIRE_MMAP, ticks, call->address, call->bytes,
             wire_detail(0, wire_mapping_of(MAPPING_ANONYMOUS, WIRE_MAPPING_ALLOCATORS), 0)));
    clear(call->first, call->count, call->thread, 0, false);
    make(call->first, call->count,
         (struct object){.born = ticks, .thread = call->thread, .is_allocators = true}, false);
}

/* Whether an allocator calls is said, of what it mapped before the recording too. Who unmaps what
 * is known as an allocator's is its allocator in any case, as in traces that do not say it. */
static void call_munmap(const struct call *call)
{
    uint32_t number = pages[call->first];
    bool says_so = rand() % 4 == 0;
    bool is_allocators = says_so || (number && objects[number - 1].is_allocators);
    feed(call->thread,
         record_long(WIRE_MUNMAP, ticks, call->address, call->bytes,
                     says_so ? WIRE_DETAIL_ALLOCATORS : wire_detail(call->node, 0, 0)));
    clear(call->first, call->count, call->thread, call->node, !is_allocators);
    if (!is_allocators)
        unmaps++;
}

/* What it moves is its own from now on. */
static void call_allocators_mremap(const struct call *call)
{
    size_t to = (size_t)rand() % PAGES, count = 1 + (size_t)rand() % 8;
    feed(call->thread, record_long(WIRE_MUNMAP, ticks, call->address, call->bytes,
                                   wire_detail_since(0, 1) | WIRE_DETAIL_ALLOCATORS));
    clear(call->first, call->count, call->thread, 0, false);
    if (to + count > PAGES)
        count = PAGES - to;
    see_levels();
    feed(call->thread,
         record_long(WIRE_MMAP, ticks, BASE + to * PAGE, count * PAGE,
                     wire_detail(0, WIRE_MAPPING_MOVED | WIRE_MAPPING_ALLOCATORS, 0)));
    clear(to, count, call->thread, 0, false);
    make(to, count, (struct object){.born = ticks, .thread = call->thread, .is_allocators = true},
         false);
}

/* To another place, with another size; the call took a tick. */
static void call_mremap(const struct call *call)
{
    size_t to = (size_t)rand() % PAGES, count = 1 + (size_t)rand() % 8;
    struct call moved = *call;
    uint32_t number = pages[call->first];
    moves += !number || !objects[number - 1].is_allocators;
    feed(call->thread, record_long(WIRE_MUNMAP, ticks, call->address, call->bytes,
                                   wire_detail_since(call->node, 1)));
    const struct object *old = clear(call->first, call->count, call->thread, call->node, false);
    bool is_reserved = old && old->is_reserved;
    if (to + count > PAGES)
        count = PAGES - to;
    moved.address = BASE + to * PAGE;
    moved.bytes = count * PAGE;
    see_levels();
    feed_call(&moved, WIRE_MMAP, wire_mapping_of(0, WIRE_MAPPING_MOVED));
    clear(to, count, call->thread, call->node, true);
    make(to, count,
         (struct object){
             .born = ticks, .node = call->node, .thread = call->thread, .is_reserved = is_reserved},
         true);
}

static void call_mprotect(const struct call *call)
{
    bool is_reserved = rand() % 2;
    feed_call(call, WIRE_MPROTECT, is_reserved);
    for (size_t i = call->first; i < call->first + call->count;) {
        uint32_t number = pages[i];
        size_t first = i;
        while (i < call->first + call->count && pages[i] == number)
            i++;
        if (!number || objects[number - 1].is_reserved == is_reserved ||
            objects[number - 1].is_chunk)
            continue;
        struct object made = objects[number - 1];
        clear(first, i - first, call->thread, call->node, true);
        made.is_reserved = is_reserved;
        if (!is_reserved) {
            made.born = ticks;
            made.node = call->node;
            made.thread = call->thread;
        }
        made.is_segment = false; /* it begins elsewhere, as a rule */
        make(first, i - first, made, false);
    }
}

static void call_madvise(const struct call *call)
{
    feed_call(call, WIRE_MADVISE, WIRE_ADVICE_DONTNEED);
    paths[call->node].discarded_bytes += call->count * PAGE;
    discards++;
    discarded += call->count * PAGE;
}

static void call_break(const struct call *call)
{
    bool grows = rand() % 2;
    uint64_t bytes = call->count * PAGE;
    feed(call->thread,
         record_long(grows ? WIRE_BRK : WIRE_BRK | WIRE_FAILED, ticks,
                     call->address + (grows ? bytes : 0), bytes, wire_detail(call->node, 0, 0)));
    clear(call->first, call->count, call->thread, call->node, true);
    if (grows)
        make(call->first, call->count,
             (struct object){.born = ticks, .node = call->node, .thread = call->thread}, false);
}

static void call_chunk(const struct call *call)
{
    uint32_t number = pages[call->first];
    feed(call->thread, record_short(WIRE_POOL_CHUNK, ticks, call->address));
    if (!number || objects[number - 1].is_reserved || objects[number - 1].is_chunk)
        return;
    struct object *object = &objects[number - 1];
    uint64_t bytes = object->bytes;
    object_loses(object, bytes, call->thread, 0, false);
    object->bytes = bytes;
    object->is_chunk = true;
}

static void call_block(const struct call *call)
{
    size_t i = (size_t)rand() % BLOCKS;
    uint64_t address = HEAP + i * 0x100000;
    if (block_bytes[i]) {
        feed(call->thread, record_short(WIRE_FREE, ticks, address));
        heap[block_node[i]] -= block_bytes[i];
        live -= block_bytes[i];
        block_bytes[i] = 0;
        return;
    }
    block_bytes[i] = 1 + (uint64_t)rand() % (1 << (rand() % 18));
    block_node[i] = call->node;
    feed(call->thread,
         record_long(WIRE_MALLOC, ticks, address, block_bytes[i], wire_detail(call->node, 0, 4)));
    heap[call->node] += block_bytes[i];
    live += block_bytes[i];
}

static void any_call(void)
{
    static void (*const calls[])(const struct call *call) = {
        call_mmap,
        call_mmap,
        call_munmap,
        call_munmap,
        call_mremap,
        call_mprotect,
        call_madvise,
        call_break,
        call_block,
        call_block,
        call_block,
        call_block,
        call_allocators_mmap,
        call_allocators_mremap,
    };
    struct call call = {.thread = (uint32_t)rand() % 2,
                        .node = 1 + (uint32_t)rand() % (NODES - 1),
                        .first = (size_t)rand() % PAGES,
                        .count = 1 + (size_t)rand() % (rand() % 20 ? 8 : PAGES)};
    if (call.first + call.count > PAGES)
        call.count = PAGES - call.first;
    call.address = BASE + call.first * PAGE;
    call.bytes = call.count * PAGE - (uint64_t)rand() % PAGE;
    ticks++;
    if (rand() % 200 == 0)
        call_chunk(&call);
    else
        calls[(size_t)rand() % (sizeof calls / sizeof *calls)](&call);
    see_levels();
}

/* ---- Comparisons --------------------------------------------------------------------------- */

static struct call_numbers got[NODES], got_heap[NODES];

static void take_sites(void *context, uint32_t first, struct replay_site *sites, size_t count)
{
    struct call_numbers *into = context;
    (void)first;
    for (size_t i = 0; i < count; i++)
        into[sites[i].node] = *call_numbers_of(&sites[i].metrics);
}

static void same_path(int node, const struct call_numbers *is, const struct call_numbers *should)
{
    for (size_t i = 0; i < METRICS; i++)
        if (((const uint64_t *)is)[i] != ((const uint64_t *)should)[i])
            fail_msg("at %llu path %d: %s is %llu, should be %llu", (unsigned long long)ticks, node,
                     metric_rows[i].column, ((const unsigned long long *)is)[i],
                     ((const unsigned long long *)should)[i]);
}

static void same_piece(void *context, const struct replay_mapping *mapping)
{
    uint64_t *at = context;
    assert_true(mapping->start >= *at);
    for (; *at < mapping->start; *at += PAGE)
        assert_int_equal(pages[(*at - BASE) / PAGE], 0);
    for (; *at < mapping->end; *at += PAGE) {
        uint32_t number = pages[(*at - BASE) / PAGE];
        assert_true(number);
        assert_int_equal(mapping->node, objects[number - 1].node);
        assert_int_equal(mapping->is_allocators, objects[number - 1].is_allocators);
        assert_int_equal(mapping->is_reserved, objects[number - 1].is_reserved);
        assert_int_equal(mapping->birth_ticks, objects[number - 1].born);
    }
}

static void same_everything(void)
{
    uint64_t at = BASE;
    struct program_numbers program;
    replay_changed_mapped_blocks(replay, take_sites, got);
    replay_changed_blocks(replay, take_sites, got_heap);
    for (int i = 1; i < NODES; i++) {
        same_path(i, &got[i], &paths[i]);
        assert_int_equal(got_heap[i].at_all_peak_bytes, heap_at_all[i]);
    }
    replay_mapped(replay, same_piece, &at);
    for (; at < BASE + (uint64_t)PAGES * PAGE; at += PAGE)
        assert_int_equal(pages[(at - BASE) / PAGE], 0);
    numbers_program(replay, &program);
    assert_int_equal(program.mapped.live_bytes, mapped);
    assert_int_equal(program.mapped.peak_bytes, mapped_peak);
    assert_int_equal(program.mapped.peak_ticks, mapped_peak_ticks);
    assert_int_equal(program.mapped.at_peak_bytes, mapped_peak);
    assert_int_equal(program.all_peak_bytes, all_peak);
    assert_int_equal(program.all_peak_ticks, all_peak_ticks);
    assert_int_equal(program.total.at_all_peak_bytes + program.mapped.at_all_peak_bytes, all_peak);
    assert_int_equal(program.unmap_count, unmaps + moves);
    assert_int_equal(program.discard_count, discards);
    assert_int_equal(program.discard_bytes, discarded);
}

static void same_timeline(void)
{
    size_t count;
    uint64_t bucket_ticks, highest_mapped = 0, highest = 0;
    const struct bucket_numbers *buckets = numbers_timeline(replay, &count, &bucket_ticks);
    for (size_t i = 0; i < count; i++) {
        highest_mapped = larger(highest_mapped, buckets[i].mapped.max);
        highest = larger(highest, buckets[i].all.max);
    }
    assert_int_equal(highest_mapped, mapped_peak);
    assert_int_equal(highest, all_peak);
    assert_in_range(mapped, buckets[count - 1].mapped.min, buckets[count - 1].mapped.max);
}

/* ---- Over time ----------------------------------------------------------------------------- */

/* Steps: no path changes more often than a curve that begins exact has points; and far more often. */
enum { EXACT_STEPS = CURVE_EXACT_POINTS, LONG_STEPS = 40000 };
static uint64_t levels_after[LONG_STEPS][NODES];
static unsigned curve_steps, bounded_curves;

static void note_kind(const struct curve *curve)
{
    bool exact = figure_equal(curve->threshold_bytes, figure_of(0)) && !curve->stretch_ticks;
    bounded_curves += !exact;
    assert_in_range(curve->count, 1, CURVE_EXACT_POINTS);
    assert_true(exact || curve_steps > EXACT_STEPS);
}

/* What the curve says of a stretch (of one moment, where there are none): from its lowest to its
 * highest level, that at its beginning too. */
static void within_stretch(const struct curve *curve, size_t at, uint64_t level, uint64_t step)
{
    uint64_t length = larger(curve->stretch_ticks, 1), stretch = (START + 1 + step) / length;
    uint64_t low = level, high = level, threshold = number_of(curve->threshold_bytes);
    for (; at < curve->count && curve->points[at].ticks / length == stretch; at++) {
        low = curve->points[at].bytes < low ? curve->points[at].bytes : low;
        high = larger(high, curve->points[at].bytes);
    }
    uint64_t truth = levels_after[step][curve->node];
    uint64_t error = larger(threshold, threshold ? high / CURVE_PART : 0);
    assert_in_range(truth, low > error ? low - error : 0, high + error);
}

static void same_curve(void *context, const struct curve *curve)
{
    size_t at = 0, begin = 0;
    uint64_t level = 0, at_begin = 0, length = larger(curve->stretch_ticks, 1);
    if (curve->level != MEMORY_MAPPED)
        return;
    note_kind(curve);
    for (uint64_t step = 0; step < curve_steps; step++) {
        if ((START + 1 + step) / length != (START + step) / length) {
            begin = at;
            at_begin = level;
        }
        for (; at < curve->count && curve->points[at].ticks <= START + 1 + step; at++)
            level = curve->points[at].bytes;
        if (length == 1)
            within_stretch(curve, curve->count, level, step);
        else
            within_stretch(curve, begin, at_begin, step);
        if ((START + 2 + step) / length != (START + 1 + step) / length)
            within_stretch(curve, curve->count, level, step);
    }
    assert_int_equal(at, curve->count);
    *(unsigned *)context |= 1u << curve->node;
}

static void begin_empty(void)
{
    replay = replay_new(START, 1.0);
    replay_thread_begin(replay, 11, START);
    replay_thread_begin(replay, 12, START);
    ticks = START;
    for (int i = 0; i < NODES; i++)
        paths[i] = (struct call_numbers){.size_min = UINT64_MAX,
                                         .lifetime_min = UINT64_MAX,
                                         .alloc_time = UINT64_MAX,
                                         .free_time = UINT64_MAX,
                                         .sample_count = UINT64_MAX,
                                         .alloc_variance = UINT64_MAX,
                                         .live_variance = UINT64_MAX,
                                         .at_peak_variance = UINT64_MAX,
                                         .resident_bytes = UINT64_MAX};
    memcpy(got, paths, sizeof got);
}

static void any_sequence_agrees_with_pages(void **state)
{
    (void)state;
    unsigned seed = (unsigned)time(NULL);
    print_message("seed %u\n", seed);
    srand(seed);
    begin_empty();
    for (unsigned step = 0; step < STEPS; step++) {
        any_call();
        if (step % 64 == 0 || step < 2000)
            same_everything();
    }
    same_everything();
    same_timeline();
    replay_free(replay);
}

/* Against what each path has mapped after each of so many calls. */
static void compare_curves(unsigned steps)
{
    unsigned found = 0, should = 0;
    memset(pages, 0, sizeof pages);
    object_count = 0;
    mapped = live = 0;
    memset(heap, 0, sizeof heap);
    memset(block_bytes, 0, sizeof block_bytes);
    begin_empty();
    curve_steps = steps;
    for (unsigned step = 0; step < steps; step++) {
        any_call();
        for (unsigned i = 0; i < NODES; i++) {
            levels_after[step][i] = paths[i].live_bytes;
            should |= (paths[i].live_bytes > 0) << i;
        }
    }
    replay_changed_curves(replay, same_curve, &found);
    assert_int_equal(found, should);
    replay_free(replay);
}

static void curves_of_few_calls_are_exact(void **state)
{
    (void)state;
    unsigned seed = (unsigned)time(NULL);
    print_message("seed %u\n", seed);
    for (unsigned round = 0; round < 300; round++) {
        srand(seed + round);
        compare_curves(100);
    }
    compare_curves(EXACT_STEPS);
    assert_int_equal(bounded_curves, 0);
}

/* Each curve is within its own bound at each moment, and the test is about some that have one. */
static void curves_of_many_calls_are_within_their_bound(void **state)
{
    (void)state;
    unsigned seed = (unsigned)time(NULL);
    print_message("seed %u\n", seed);
    for (unsigned round = 0; round < 5; round++) {
        srand(seed + round);
        compare_curves(LONG_STEPS);
    }
    assert_true(bounded_curves > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_sequence_agrees_with_pages),
        cmocka_unit_test(curves_of_few_calls_are_exact),
        cmocka_unit_test(curves_of_many_calls_are_within_their_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
