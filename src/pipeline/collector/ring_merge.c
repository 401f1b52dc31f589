/* Merges all rings by time into one stream (ring_merge.h). A binary heap holds a cursor for each
 * ring that has records. The earliest ring gives its records until the next ring's first record is
 * earlier, and none beyond the watermark. */
#include "collector/ring_merge.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/now.h"
#include "base/ticks.h"
#include "collector/batch.h"
#include "wire/wire.h"

/* The most that one run may take, so that no ring is away from the merge for long. */
enum { RUN_BYTES = 32 << 10 };
enum { STUCK_NS = 1000 * 1000 * 1000 };
#define MAX_STACK_BYTES (1ull << 47) /* no address space is larger */

struct ring_merge_cursor {
    struct wire_ring *ring;
    char *data;
    uint64_t tail;       /* all before it has been given back */
    uint64_t at, head;   /* the next record to merge; the head as seen in this pass */
    uint64_t next_ticks; /* time of the record at `at`, if at < head */
    uint32_t thread;     /* the replay's number for this stream */
    bool known;          /* `thread` is valid */
    uint32_t waits;      /* of the ring, as the replay has them */
    uint64_t wait_ticks;
    bool damaged;
    uint64_t busy_head, busy_since_ns; /* busy ever since with nothing new */
};

struct ring_merge {
    struct view *view;
    struct event_sink *sink;
    struct ring_merge_cursor *cursors;
    uint32_t cursor_count;
    struct ring_merge_cursor **heap; /* rings with records, the earliest first */
    uint32_t heap_count;
    uint64_t reached; /* the watermark of the last pass */
    uint64_t damaged_rings;
    uint64_t cost_ticks; /* the sum of the threads' costs; */
    uint32_t cost_seen;  /* the sum of the rings' counters at that time, modulo 2^32 */
    bool crowded;        /* a ring was more than half full in the last pass */
    struct batch *batch;
};

struct ring_merge *ring_merge_new(struct view *view, struct event_sink *sink)
{
    struct ring_merge *merge = calloc(1, sizeof *merge);
    struct batch *batch = malloc(sizeof *batch); /* 100 KB of it need not be cleared */
    if (!merge || !batch) {
        free(merge);
        free(batch);
        return NULL;
    }
    batch->bytes = batch->run_count = 0;
    *merge = (struct ring_merge){.view = view, .sink = sink, .batch = batch};
    return merge;
}

void ring_merge_free(struct ring_merge *merge)
{
    if (!merge)
        return;
    free(merge->batch);
    free(merge->cursors);
    free(merge->heap);
    free(merge);
}

static const struct wire_record *ring_merge_record_at(const struct ring_merge *merge,
                                                      const struct ring_merge_cursor *cursor,
                                                      uint64_t position)
{
    return (const void *)(cursor->data + (position & (merge->view->ring_bytes - 1)));
}

/* ---- Rings come and grow ---- */

static bool ring_merge_cursors_grow(struct ring_merge *merge, uint32_t count)
{
    struct ring_merge_cursor *cursors = realloc(merge->cursors, count * sizeof *cursors);
    if (!cursors)
        return false;
    merge->cursors = cursors;
    struct ring_merge_cursor **heap =
        realloc(merge->heap, count * sizeof(struct ring_merge_cursor *));
    if (!heap)
        return false;
    merge->heap = heap;
    for (uint32_t i = merge->cursor_count; i < count; i++)
        cursors[i] = (struct ring_merge_cursor){.ring = shared_view_ring(merge->view, i),
                                                .data = shared_view_ring_data(merge->view, i)};
    merge->cursor_count = count;
    return true;
}

static void ring_merge_wake_waiter(struct wire_ring *ring)
{
    /* Pairs with the waiter's setting of WANTED before it looks at tail again. */
    atomic_thread_fence(memory_order_seq_cst);
    uint32_t space = atomic_load_explicit(&ring->space, memory_order_relaxed);
    if (!(space & WIRE_SPACE_WANTED))
        return;
    atomic_store(&ring->space, (space & ~(uint32_t)WIRE_SPACE_WANTED) + WIRE_SPACE_STEP);
    syscall(SYS_futex, &ring->space, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Gives a damaged ring up. Its tail is set so high that the thread always finds the ring empty and
 * never waits for the collector. */
static void ring_merge_give_up(struct ring_merge *merge, struct ring_merge_cursor *cursor)
{
    cursor->damaged = true;
    cursor->head = cursor->at;
    merge->damaged_rings++;
    atomic_store_explicit(&cursor->ring->tail, UINT64_MAX / 2, memory_order_release);
    ring_merge_wake_waiter(cursor->ring);
}

/* A signal handler can leave a hook by siglongjmp. Then the thread stays busy until its next
 * record. If the thread sleeps, the watermark would stand still. So after a second, and only if a
 * ring runs full, the thread counts as idle. If its record comes after all, the record is late. */
static bool ring_merge_is_stuck(const struct ring_merge *merge, struct ring_merge_cursor *cursor)
{
    uint64_t at_ns = now_ns(CLOCK_MONOTONIC_COARSE);
    if (!cursor->busy_since_ns || cursor->busy_head != cursor->head) {
        cursor->busy_head = cursor->head;
        cursor->busy_since_ns = at_ns;
    }
    return merge->crowded && at_ns - cursor->busy_since_ns > STUCK_NS;
}

/* Reads how far a ring has got; see ring_merge.h for why in this order. */
static uint64_t ring_merge_look_at_ring(struct ring_merge *merge, struct ring_merge_cursor *cursor,
                                        uint64_t now)
{
    struct wire_ring *ring = cursor->ring;
    if (cursor->damaged)
        return UINT64_MAX; /* nothing more comes from it, so it does not bound the watermark */
    uint64_t last_ticks = atomic_load_explicit(&ring->last_ticks, memory_order_acquire);
    bool busy = atomic_load_explicit(&ring->busy, memory_order_acquire);
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    if (head - cursor->tail > merge->view->ring_bytes || head % 16 != 0)
        ring_merge_give_up(merge, cursor);
    else
        cursor->head = head;
    if (!busy)
        cursor->busy_since_ns = 0;
    return busy && !ring_merge_is_stuck(merge, cursor) ? last_ticks : now;
}

/* ---- A heap of cursors by time ---- */

static void ring_merge_heap_sink(struct ring_merge *merge, uint32_t at)
{
    struct ring_merge_cursor **heap = merge->heap, *moving = heap[at];
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= merge->heap_count)
            break;
        if (child + 1 < merge->heap_count && heap[child + 1]->next_ticks < heap[child]->next_ticks)
            child++;
        if (heap[child]->next_ticks >= moving->next_ticks)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moving;
}

static uint64_t ring_merge_heap_second(const struct ring_merge *merge)
{
    uint64_t second = UINT64_MAX;
    for (uint32_t i = 1; i <= 2 && i < merge->heap_count; i++)
        if (merge->heap[i]->next_ticks < second)
            second = merge->heap[i]->next_ticks;
    return second;
}

/* Skips void records, which have no time of their own. */
static void ring_merge_skip_void(const struct ring_merge *merge, struct ring_merge_cursor *cursor)
{
    while (cursor->at < cursor->head &&
           wire_kind(ring_merge_record_at(merge, cursor, cursor->at)->kind_address) == WIRE_VOID)
        cursor->at += 16;
    if (cursor->at < cursor->head)
        cursor->next_ticks = ring_merge_record_at(merge, cursor, cursor->at)->ticks;
}

static void ring_merge_heap_fill(struct ring_merge *merge)
{
    merge->heap_count = 0;
    for (uint32_t i = 0; i < merge->cursor_count; i++) {
        struct ring_merge_cursor *cursor = &merge->cursors[i];
        ring_merge_skip_void(merge, cursor);
        if (cursor->at < cursor->head)
            merge->heap[merge->heap_count++] = cursor;
    }
    for (uint32_t i = merge->heap_count / 2; i-- > 0;)
        ring_merge_heap_sink(merge, i);
}

/* ---- Replaying runs ---- */

/* Clears the bytes that have been merged and gives them back, in large pieces. In small pieces a
 * thread that waits for room would be woken for each record and would have to wait again. */
static void ring_merge_give_space(const struct ring_merge *merge, struct ring_merge_cursor *cursor)
{
    struct wire_ring *ring = cursor->ring;
    uint64_t ring_bytes = merge->view->ring_bytes;
    if (cursor->damaged || cursor->tail == cursor->at)
        return;
    while (cursor->tail < cursor->at) {
        uint64_t lap_end = (cursor->tail | (ring_bytes - 1)) + 1;
        uint64_t end = cursor->at < lap_end ? cursor->at : lap_end;
        /* A record that spills over the end of the ring was counted in the lap that it began in. */
        uint64_t spill = end == lap_end ? WIRE_RING_SPILL : 0;
        memset(cursor->data + (cursor->tail & (ring_bytes - 1)), 0, end - cursor->tail + spill);
        cursor->tail = end;
    }
    atomic_store_explicit(&ring->tail, cursor->tail, memory_order_release);
    ring_merge_wake_waiter(ring);
}

static void ring_merge_give_all_space(const struct ring_merge *merge)
{
    for (uint32_t i = 0; i < merge->cursor_count; i++)
        ring_merge_give_space(merge, &merge->cursors[i]);
}

/* A ring is one stream for the replay. Its records tell which thread writes it. */
static void ring_merge_begin_stream(struct ring_merge *merge, struct ring_merge_cursor *cursor)
{
    uint32_t tid = atomic_load_explicit(&cursor->ring->tid, memory_order_relaxed);
    cursor->thread = event_sink_thread_begin(merge->sink, tid, cursor->next_ticks);
    cursor->known = true;
}

/* How far a run reaches: records up to `limit`, in one piece of memory. */
static uint64_t ring_merge_run_end(const struct ring_merge *merge,
                                   const struct ring_merge_cursor *cursor, uint64_t limit)
{
    uint64_t lap_end = (cursor->at | (merge->view->ring_bytes - 1)) + 1;
    uint64_t stop = cursor->head < lap_end ? cursor->head : lap_end;
    uint64_t at = cursor->at;
    if (stop - at > RUN_BYTES)
        stop = at + RUN_BYTES;
    while (at < stop) {
        const struct wire_record *record = ring_merge_record_at(merge, cursor, at);
        unsigned kind = wire_kind(record->kind_address);
        if (kind != WIRE_VOID && record->ticks > limit && at != cursor->at)
            break;
        at += kind == WIRE_VOID ? 16 : wire_record_bytes(record->kind_address);
    }
    return at;
}

/* Tells the replay how long each ring's thread has waited since the last pass. */
static void ring_merge_pass_waits(struct ring_merge *merge)
{
    for (uint32_t i = 0; i < merge->cursor_count; i++) {
        struct ring_merge_cursor *cursor = &merge->cursors[i];
        uint32_t waits = atomic_load_explicit(&cursor->ring->waits, memory_order_relaxed);
        uint64_t ticks = atomic_load_explicit(&cursor->ring->wait_ticks, memory_order_relaxed);
        if (!cursor->known || waits == cursor->waits)
            continue;
        event_sink_thread_waited(merge->sink, cursor->thread, waits - cursor->waits,
                                 ticks - cursor->wait_ticks);
        cursor->waits = waits;
        cursor->wait_ticks = ticks;
    }
}

/* The length of a stretch. Every record that begins within it ends before the head and lies in one
 * piece of memory, so the records' lengths need not be read here. At most a quarter of the ring, so
 * that room is given back soon. */
static uint64_t ring_merge_stretch_bytes(const struct ring_merge *merge,
                                         const struct ring_merge_cursor *cursor)
{
    uint64_t lap_end = (cursor->at | (merge->view->ring_bytes - 1)) + 1;
    uint64_t most = merge->view->ring_bytes / 4;
    uint64_t left = cursor->head - cursor->at;
    uint64_t bytes = left < 32 ? 0 : left - 16;
    bytes = bytes < lap_end - cursor->at ? bytes : lap_end - cursor->at;
    return bytes < most ? bytes : most;
}

/* For a ring whose records need no merging: they are read once, by the replay. */
static uint64_t ring_merge_take_stretch(const struct ring_merge *merge,
                                        const struct ring_merge_cursor *cursor, uint64_t bytes)
{
    const struct wire_record *records = ring_merge_record_at(merge, cursor, cursor->at);
    batch_flush(merge->batch, merge->sink);
    return cursor->at + event_sink_stretch(merge->sink, cursor->thread, records, bytes);
}

static uint64_t ring_merge_take_in_order(struct ring_merge *merge,
                                         const struct ring_merge_cursor *cursor, uint64_t limit)
{
    uint64_t end = ring_merge_run_end(merge, cursor, limit);
    if (end <= cursor->head)
        batch_add(merge->batch, merge->sink, cursor->thread,
                  ring_merge_record_at(merge, cursor, cursor->at), end - cursor->at);
    return end;
}

static void ring_merge_take_run(struct ring_merge *merge, struct ring_merge_cursor *cursor,
                                uint64_t limit)
{
    if (!cursor->known)
        ring_merge_begin_stream(merge, cursor);
    bool alone = limit == UINT64_MAX && event_sink_takes_stretches(merge->sink);
    uint64_t stretch = alone ? ring_merge_stretch_bytes(merge, cursor) : 0;
    event_sink_expect(merge->sink, stretch);
    if (!event_sink_takes_stretches(merge->sink))
        stretch = 0;
    uint64_t end = stretch ? ring_merge_take_stretch(merge, cursor, stretch)
                           : ring_merge_take_in_order(merge, cursor, limit);
    if (end > cursor->head) { /* a long record that its thread never published whole */
        ring_merge_give_up(merge, cursor);
        return;
    }
    cursor->at = end;
    if (cursor->at - cursor->tail >= merge->view->ring_bytes / 4)
        ring_merge_give_space(merge, cursor);
    ring_merge_skip_void(merge, cursor);
}

static size_t ring_merge_replay_until(struct ring_merge *merge, uint64_t watermark)
{
    size_t bytes = 0;
    ring_merge_heap_fill(merge);
    while (merge->heap_count > 0) {
        struct ring_merge_cursor *cursor = merge->heap[0];
        if (cursor->next_ticks > watermark)
            break;
        uint64_t second = ring_merge_heap_second(merge), before = cursor->at;
        ring_merge_take_run(merge, cursor, second < watermark ? second : watermark);
        bytes += cursor->at - before;
        if (cursor->at >= cursor->head)
            merge->heap[0] = merge->heap[--merge->heap_count];
        if (merge->heap_count > 0)
            ring_merge_heap_sink(merge, 0);
    }
    batch_flush(merge->batch, merge->sink);
    ring_merge_give_all_space(merge);
    ring_merge_pass_waits(merge);
    return bytes;
}

static void ring_merge_barrier_in_program(void)
{
    /* Without the command (before Linux 4.16) records may come late; the replay counts them. */
    syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}

static bool ring_merge_adopt_rings(struct ring_merge *merge)
{
    shared_view_refresh(merge->view);
    uint32_t rings = shared_view_ring_count(merge->view);
    return rings <= merge->cursor_count || ring_merge_cursors_grow(merge, rings);
}

/* Whether new rings have come. A header that claims more rings than can be mapped is wrong, and
 * such rings are ignored. */
static bool ring_merge_have_come(struct ring_merge *merge)
{
    if (atomic_load(&merge->view->header->ring_count) <= merge->cursor_count)
        return false;
    shared_view_refresh(merge->view);
    return shared_view_ring_count(merge->view) > merge->cursor_count;
}

/* The watermark: all records before this time are visible now; 0: it is not known yet. */
static uint64_t ring_merge_look_at_rings(struct ring_merge *merge)
{
    uint64_t now = ticks_now(), watermark = now;
    if (merge->cursor_count > 1)
        ring_merge_barrier_in_program();
    bool crowded = false;
    for (uint32_t i = 0; i < merge->cursor_count; i++) {
        struct ring_merge_cursor *cursor = &merge->cursors[i];
        uint64_t bound = ring_merge_look_at_ring(merge, cursor, now);
        watermark = bound < watermark ? bound : watermark;
        crowded |= cursor->head - cursor->tail > merge->view->ring_bytes / 2;
    }
    merge->crowded = crowded;
    /* A ring that was made while we looked may hold records from before `now`. One made after this
     * holds only later ones: later than `now`, and later than all that a single ring has shown. */
    if (ring_merge_have_come(merge))
        return 0;
    return merge->cursor_count == 1 ? UINT64_MAX : watermark;
}

bool ring_merge_is_asked(const struct ring_merge *merge)
{
    for (uint32_t i = 0; i < merge->cursor_count; i++) {
        const struct ring_merge_cursor *cursor = &merge->cursors[i];
        uint64_t head = atomic_load_explicit(&cursor->ring->head, memory_order_relaxed);
        if (!cursor->damaged && head - cursor->tail > merge->view->ring_bytes / 2)
            return true;
    }
    return false;
}

size_t ring_merge_pass(struct ring_merge *merge, bool final)
{
    if (!ring_merge_adopt_rings(merge))
        return 0;
    uint64_t watermark = ring_merge_look_at_rings(merge);
    merge->reached = watermark;
    return ring_merge_replay_until(merge, final ? UINT64_MAX : watermark);
}

uint64_t ring_merge_reached(const struct ring_merge *merge)
{
    return merge->reached;
}

uint64_t ring_merge_damaged_rings(const struct ring_merge *merge)
{
    return merge->damaged_rings;
}

void ring_merge_tell_waits(struct ring_merge *merge, uint64_t *waits, uint64_t *wait_ticks)
{
    *waits = *wait_ticks = 0;
    for (uint32_t i = 0; i < merge->cursor_count; i++) {
        struct wire_ring *ring = merge->cursors[i].ring;
        *waits += atomic_load_explicit(&ring->waits, memory_order_relaxed);
        *wait_ticks += atomic_load_explicit(&ring->wait_ticks, memory_order_relaxed);
    }
}

uint64_t ring_merge_untold_events(const struct ring_merge *merge)
{
    uint64_t events = 0;
    for (uint32_t i = 0; i < merge->cursor_count; i++)
        events +=
            atomic_load_explicit(&merge->cursors[i].ring->untold_events, memory_order_relaxed);
    return events;
}

uint64_t ring_merge_cost_ticks(struct ring_merge *merge)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < merge->cursor_count; i++)
        sum += atomic_load_explicit(&merge->cursors[i].ring->cost, memory_order_relaxed);
    merge->cost_ticks += (uint64_t)(sum - merge->cost_seen) << 10;
    merge->cost_seen = sum;
    return merge->cost_ticks;
}

/* The deepest stack of a ring's thread, in bytes; 0: the thread has ended, or the depth is not
 * known. */
static uint64_t ring_merge_depth(const struct wire_ring *ring)
{
    uint64_t bytes = atomic_load_explicit(&ring->deepest_bytes, memory_order_relaxed);
    bool runs = atomic_load_explicit(&ring->state, memory_order_relaxed) == WIRE_RING_ACTIVE;
    return runs && bytes < MAX_STACK_BYTES ? bytes : 0;
}

void ring_merge_tell_stacks(struct ring_merge *merge)
{
    for (uint32_t i = 0; i < merge->cursor_count; i++) {
        struct wire_ring *ring = merge->cursors[i].ring;
        uint64_t bytes = ring_merge_depth(ring);
        uint32_t node = atomic_load_explicit(&ring->deepest_node, memory_order_relaxed);
        uint32_t tid = atomic_load_explicit(&ring->tid, memory_order_relaxed);
        if (bytes)
            event_sink_thread_stack(merge->sink, tid, bytes, 0, node);
    }
}

struct figure ring_merge_deepest_stack(const struct ring_merge *merge)
{
    uint64_t deepest = 0;
    for (uint32_t i = 0; i < merge->cursor_count; i++) {
        uint64_t bytes = ring_merge_depth(merge->cursors[i].ring);
        deepest = bytes > deepest ? bytes : deepest;
    }
    return deepest ? figure_of(deepest) : FIGURE_UNKNOWN;
}
