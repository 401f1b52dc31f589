/* Follows the blocks that have whole pages (page_use.h). The walker knows when they begin and end;
 * heat's scans, when their pages were written. Births and ends go through a queue, because the
 * merge must not wait for a scan. */
#include "collector/page_use.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/ticks.h"
#include "blocks/walker.h"
#include "procfs/process.h"
#include "wire/write_watch.h"

enum { NOT_TOLD = 0, NOT_BEGUN_MOST = 1 << 20, LIVES_LOG2 = 8, KIB = 1024 };

enum event_kind { EVENT_BORN, EVENT_ENDED, EVENT_SHORT, EVENT_RESTART };
struct event {
    enum event_kind kind;
    uint32_t node;
    uint64_t address, bytes, birth_ticks, end_ticks;
    uint64_t told; /* of the end: write_watch_told(), or NOT_TOLD */
};

struct events {
    struct event *items;
    size_t count, room;
};

struct page_use_sums {
    struct profile_page_use *rows;
    size_t count, room;
    struct map by_node;
};

struct page_drag {
    uint32_t ms, error_ms;
};

/* A byte for each part of the addresses: 0 only if the walker has no block there, and is owed no
 * free. The bytes of blocks that have ended stay until all are made anew. */
enum { NEAR_PARTS = 1 << 13, NEAR_SHIFT = 4, NEAR_MORE = 512 };
enum { FIRST_BYTES = 256 };
struct near {
    size_t count, most; /* bytes that are set, and how many make it anew */
    unsigned char parts[NEAR_PARTS];
};

struct page_use {
    struct clock_reading start;
    struct heat *heat; /* NULL: none yet, or never */
    uint64_t page_bytes;
    struct walker walker; /* the merging thread's */
    struct near near;     /* of its tables */
    /* By the first byte of a record: with so many usable bytes it is not passed over. No number of
     * bytes is enough for a free; 0 for all that is neither a free nor a birth. */
    uint64_t least_bytes[FIRST_BYTES];
    pthread_mutex_t lock; /* of the queue, and of the next three */
    struct events queue;
    struct page_use_sums shorts; /* EVENT_SHORTs that were at the queue's end: only unseen_count */
    size_t restarted;            /* events of the queue until its last EVENT_RESTART */
    uint64_t drained_ticks;      /* when it was drained: the scan after that began later */

    /* for the thread that holds heat's lock */
    struct events drained;
    struct live_table lives; /* births in heat's milliseconds; slack 1: the stamps of its birth
                                are gone */
    struct page_use_sums sums, drained_shorts;
    double tick_ns;
    struct page_drag *drags; /* of the pages of one block */
    size_t drag_room;
};

static struct profile_page_use *page_use_row(struct page_use_sums *sums, uint32_t node)
{
    uint32_t at;
    for (struct map_probe probe = map_probe(&sums->by_node, hash_u64(node)); map_next(&probe, &at);)
        if (sums->rows[at].path == node)
            return &sums->rows[at];
    array_need_room(&sums->rows, &sums->room, sums->count + 1, sizeof *sums->rows);
    map_add(&sums->by_node, hash_u64(node), (uint32_t)sums->count);
    sums->rows[sums->count] = (struct profile_page_use){.path = node};
    return &sums->rows[sums->count++];
}

static void page_use_forget(struct page_use_sums *sums)
{
    sums->count = 0;
    map_empty(&sums->by_node);
}

/* ---- From records to the queue --------------------------------------------------------------- */

static uint64_t page_use_start_of(const struct page_use *use, uint64_t address)
{
    return (address + use->page_bytes - 1) & ~(use->page_bytes - 1);
}

static uint64_t page_use_end_of(const struct page_use *use, uint64_t address, uint64_t bytes)
{
    return (address + bytes) & ~(use->page_bytes - 1);
}

static bool page_use_has_pages(const struct page_use *use, uint64_t address, uint64_t bytes)
{
    return bytes >= use->page_bytes && bytes <= WIRE_ADDRESS_MASK - address &&
           page_use_start_of(use, address) < page_use_end_of(use, address, bytes);
}

/* With the lock. Returns the event's place in the queue. */
static size_t page_use_put(struct page_use *use, struct event event)
{
    size_t place = use->queue.count;
    if (use->heat || place < NOT_BEGUN_MOST) {
        array_need_room(&use->queue.items, &use->queue.room, place + 1, sizeof event);
        use->queue.items[use->queue.count++] = event;
    }
    if (event.kind == EVENT_RESTART) {
        use->restarted = use->queue.count;
        page_use_forget(&use->shorts);
    }
    return place;
}

/* Takes the short ones off the queue's end, and counts them. So the queue of a program that takes
 * and frees large blocks all the time stays short. */
static void page_use_pop_shorts(struct page_use *use)
{
    struct events *queue = &use->queue;
    while (queue->count > use->restarted && queue->items[queue->count - 1].kind == EVENT_SHORT)
        page_use_row(&use->shorts, queue->items[--queue->count].node)->unseen_count++;
}

/* With the lock. A block that was born after the last scan, and has ended: it is unseen, and its
 * two events become one. False: there may have been a scan meanwhile. */
static bool page_use_was_short(struct page_use *use, const struct live_block *block)
{
    size_t place = live_block_owner(block);
    struct event *birth = &use->queue.items[place];
    bool is_short = place >= use->restarted && place < use->queue.count &&
                    birth->kind == EVENT_BORN && birth->address == block->address &&
                    birth->birth_ticks == block->birth_ticks &&
                    block->birth_ticks > use->drained_ticks;
    if (is_short) {
        birth->kind = EVENT_SHORT;
        page_use_pop_shorts(use);
    }
    return is_short;
}

static void page_use_born(void *context, const struct walker_step *step,
                          const struct live_block *old, struct live_block *block)
{
    struct page_use *use = context;
    uint64_t bytes = block->size_bytes + block->slack_bytes;
    (void)step, (void)old;
    if (!page_use_has_pages(use, block->address, bytes))
        return;
    size_t place = page_use_put(use, (struct event){.kind = EVENT_BORN,
                                                    .node = block->site,
                                                    .address = block->address,
                                                    .bytes = bytes,
                                                    .birth_ticks = block->birth_ticks});
    live_block_set_owner(block, (uint32_t)(place < LIVE_NO_OWNER ? place : LIVE_NO_OWNER));
}

static void page_use_ended(void *context, const struct walker_step *step,
                           const struct live_block *block, enum walker_end how)
{
    struct page_use *use = context;
    bool tells = how == WALKER_FREED && step->class == RECORD_FREE;
    if (!page_use_has_pages(use, block->address, block->size_bytes + block->slack_bytes) ||
        page_use_was_short(use, block))
        return;
    page_use_put(use, (struct event){.kind = EVENT_ENDED,
                                     .address = block->address,
                                     .end_ticks = step->record->ticks,
                                     .told = tells ? step->record->size_bytes : NOT_TOLD});
}

static const struct walker_sink page_use_sink = {.ended = page_use_ended, .born = page_use_born};

static inline size_t page_use_near_part(uint64_t address)
{
    return address >> NEAR_SHIFT & (NEAR_PARTS - 1);
}

static void page_use_near_add(struct near *near, uint64_t address)
{
    near->count += !near->parts[page_use_near_part(address)];
    near->parts[page_use_near_part(address)] = 1;
}

static void page_use_near_add_table(struct near *near, const struct live_table *table)
{
    for (const struct live_slot *slot = table->slots; slot < live_table_end(table); slot++)
        if (slot->key)
            page_use_near_add(near, live_table_address(table, slot));
}

/* A realloc that fails puts its block back. */
static void page_use_near_add_reallocs(struct near *near, const struct walker_stream *stream)
{
    for (size_t i = 0; i < stream->pending_count; i++)
        if (stream->pending[i].is_live)
            page_use_near_add(near, stream->pending[i].block.address);
}

static void page_use_near_make(struct near *near, const struct walker *walker)
{
    *near = (struct near){0};
    page_use_near_add_table(near, &walker->live);
    page_use_near_add_table(near, &walker->owed);
    page_use_near_add_table(near, &walker->chunks);
    for (size_t i = 0; i < walker->stream_count; i++)
        page_use_near_add_reallocs(near, &walker->streams[i]);
    near->most = 2 * near->count + NEAR_MORE;
}

/* Whether the walker may have a block at the address: a quick test of its word in the table,
 * without a search. */
static inline bool page_use_may_know(const struct page_use *use, uint64_t address)
{
    const struct live_table *live = &use->walker.live;
    uint64_t hash = live_hash(address);
    size_t home = live_table_home(live, hash);
    return live_marked(live->words[home], live_mark(hash)) || live->passed[home];
}

static inline uint64_t page_use_word(const char *at, size_t number)
{
    uint64_t word;
    memcpy(&word, at + number * sizeof word, sizeof word);
    return word;
}

/* Whether a birth matters: the block has whole pages, or takes the address of a block that is
 * followed. Records of births and ends of reallocs are long ones. */
static inline bool page_use_keeps(const struct page_use *use, uint64_t address, const char *at)
{
    uint64_t bytes = page_use_word(at, 2) + wire_detail_slack(page_use_word(at, 3));
    return page_use_has_pages(use, address, bytes) ||
           (page_use_may_know(use, address) && live_table_find(&use->walker.live, address));
}

static void page_use_make_least(struct page_use *use)
{
    for (unsigned kind = 0; kind < FIRST_BYTES; kind++) {
        unsigned class = record_classes[false][kind];
        bool is_free = class == RECORD_FREE || class == RECORD_POOL_FREE;
        bool is_birth = class == RECORD_BIRTH || class == RECORD_POOL_BIRTH;
        use->least_bytes[kind] = is_free ? UINT64_MAX : is_birth ? use->page_bytes : 0;
    }
}

/* Nearly all records are passed over here: the free of no block that is followed, or the birth of a
 * small block that takes no place of one. Births and frees come in no order that a processor could
 * predict. So there is one branch for all: of a short record, the words of the next one are read
 * too, and mean nothing. Returns the first record that is not passed over, or the last one. */
static inline const char *page_use_pass(const struct page_use *use, const char *at, const char *end)
{
    enum { SHORT = 16, LONG = 32 };
    while ((size_t)(end - at) >= LONG) {
        uint64_t first = page_use_word(at, 0);
        uint64_t bytes = page_use_word(at, 2) + wire_detail_slack(page_use_word(at, 3));
        if (use->near.parts[page_use_near_part(first)] |
            (bytes >= use->least_bytes[wire_kind(first)]))
            break;
        at += SHORT << (first >> 63);
    }
    return at;
}

static inline bool page_use_wants(const struct page_use *use, enum record_class class,
                                  const char *at)
{
    uint64_t address = page_use_word(at, 0) & WIRE_ADDRESS_MASK;
    if (class == RECORD_FREE || class == RECORD_POOL_FREE)
        return page_use_may_know(use, address) || use->walker.owed.count ||
               use->walker.chunks.count;
    return (class != RECORD_BIRTH && class != RECORD_POOL_BIRTH) ||
           page_use_keeps(use, address, at);
}

/* A realloc whose new block is small ends the old block, as if it had returned NULL. */
static void page_use_walk(struct page_use *use, uint32_t thread, enum record_class class,
                          const char *at, size_t length)
{
    struct wire_record record = {0};
    memcpy(&record, at, length);
    if (class == RECORD_REALLOC_END && length == sizeof record &&
        !page_use_keeps(use, record.kind_address & WIRE_ADDRESS_MASK, at))
        record.kind_address &= ~WIRE_ADDRESS_MASK;
    page_use_near_add(&use->near, record.kind_address);
    walker_record(&use->walker, &page_use_sink, use, class, thread, &record);
    if (use->near.count > use->near.most)
        page_use_near_make(&use->near, &use->walker);
}

static const char *page_use_run(struct page_use *use, uint32_t thread, const char *at, size_t bytes)
{
    const char *end = at + bytes;
    for (size_t length; at = page_use_pass(use, at, end), (size_t)(end - at) >= 16; at += length) {
        uint64_t first = page_use_word(at, 0);
        length = wire_record_bytes(first);
        if ((size_t)(end - at) < length)
            break;
        enum record_class class = record_class_of(false, first);
        if (page_use_wants(use, class, at))
            page_use_walk(use, thread, class, at, length);
    }
    return end;
}

void page_use_runs(void *follower, const struct replay_run *runs, size_t count, const void *records)
{
    struct page_use *use = follower;
    const char *at = records;
    pthread_mutex_lock(&use->lock);
    for (size_t i = 0; i < count; i++)
        at = page_use_run(use, runs[i].thread, at, runs[i].bytes);
    pthread_mutex_unlock(&use->lock);
}

void page_use_restart(struct page_use *use)
{
    pthread_mutex_lock(&use->lock);
    page_use_put(use, (struct event){.kind = EVENT_RESTART});
    pthread_mutex_unlock(&use->lock);
}

size_t page_use_block_count(const struct page_use *use)
{
    return use->walker.live.count;
}

/* ---- From the queue to sums ------------------------------------------------------------------ */

static uint32_t page_use_ms(const struct page_use *use, uint64_t ticks)
{
    double ns = ((double)ticks - (double)use->start.ticks) * use->tick_ns;
    uint64_t since_ns = ns > 0 ? (uint64_t)ns : 0;
    return heat_ms_at(use->heat, use->start.ns + since_ns);
}

/* What the pages of one life say, in milliseconds of pages. */
struct life {
    uint32_t birth_ms, end_ms, scan_ms; /* the last scan before the end began */
    uint64_t pages, written, unwritten; /* pages: seen written or not, by the last scan */
    uint64_t lag, lag_error, drag, drag_error;
};

/* Half of the time between two moments. Odd milliseconds: the half is rounded down, the error
 * up. */
static uint32_t page_use_half(uint32_t from_ms, uint32_t to_ms, uint64_t *error)
{
    uint32_t between = to_ms > from_ms ? to_ms - from_ms : 0;
    *error += between - between / 2;
    return between / 2;
}

static void page_use_add_page(struct page_use *use, struct life *life, struct heat_write first,
                              struct heat_write last)
{
    uint32_t from = first.after > life->birth_ms ? first.after : life->birth_ms;
    uint32_t to = first.until < life->end_ms ? first.until : life->end_ms;
    uint64_t error = 0;
    life->lag += from - life->birth_ms + page_use_half(from, to, &life->lag_error);
    from = last.after > life->birth_ms ? last.after : life->birth_ms;
    to = last.until < life->end_ms ? last.until : life->end_ms;
    uint32_t half = page_use_half(from, to, &error);
    array_need_room(&use->drags, &use->drag_room, life->written, sizeof *use->drags);
    use->drags[life->written++] = (struct page_drag){life->end_ms - to + half, (uint32_t)error};
}

static bool page_use_look_at_pages(struct page_use *use, const struct live_block *block,
                                   struct life *life)
{
    uint64_t start = page_use_start_of(use, block->address);
    uint64_t end = page_use_end_of(use, block->address, block->size_bytes);
    life->pages = (end - start) / use->page_bytes;
    for (uint64_t page = start; (page = heat_next_written(use->heat, page, end)) < end;
         page += use->page_bytes) {
        struct heat_write first, last;
        if (!heat_writes_of(use->heat, page, life->birth_ms, life->end_ms, &first, &last))
            return false;
        if (first.until)
            page_use_add_page(use, life, first, last);
    }
    life->unwritten = life->pages - life->written;
    return true;
}

/* Most drag first; of the same drag, the one that is known best. */
static int page_use_compare(const void *left, const void *right)
{
    const struct page_drag *a = left, *b = right;
    if (a->ms != b->ms)
        return a->ms < b->ms ? 1 : -1;
    return (a->error_ms > b->error_ms) - (a->error_ms < b->error_ms);
}

/* So many pages were written between the last scan and the end, but not which. They may be some
 * that no scan saw written, and those whose last write lay back furthest. */
static void page_use_take_late(struct page_use *use, struct life *life, uint64_t late)
{
    uint64_t fresh = late < life->unwritten ? late : life->unwritten;
    uint64_t again = late - fresh < life->written ? late - fresh : life->written;
    uint64_t error = 0;
    uint32_t half = page_use_half(life->scan_ms, life->end_ms, &error);
    if (again && again < life->written)
        qsort(use->drags, life->written, sizeof *use->drags, page_use_compare);
    life->drag = (fresh + again) * half;
    life->drag_error = (fresh + again) * error;
    for (uint64_t i = again; i < life->written; i++) {
        life->drag += use->drags[i].ms;
        life->drag_error += use->drags[i].error_ms;
    }
    life->lag += fresh * (life->scan_ms - life->birth_ms + half);
    life->lag_error += fresh * error;
    life->unwritten -= fresh;
}

static void page_use_add_life(const struct page_use *use, struct profile_page_use *row,
                              const struct life *life)
{
    uint64_t kib = use->page_bytes / KIB, ms = life->end_ms - life->birth_ms;
    row->count++;
    row->bytes += life->pages * use->page_bytes;
    row->unwritten_bytes += life->unwritten * use->page_bytes;
    row->life_kib_ms += life->pages * ms * kib;
    row->unwritten_kib_ms += life->unwritten * ms * kib;
    row->lag_kib_ms += life->lag * kib;
    row->drag_kib_ms += life->drag * kib;
    row->lag_error_kib_ms += life->lag_error * kib;
    row->drag_error_kib_ms += life->drag_error * kib;
}

/* False: the times of the block's writes are not known; it counts as unseen. */
static bool page_use_end_life(struct page_use *use, struct page_use_sums *sums,
                              const struct live_block *block, uint32_t end_ms, uint64_t told)
{
    struct profile_page_use *row = page_use_row(sums, block->site);
    uint64_t start = page_use_start_of(use, block->address);
    uint64_t end = page_use_end_of(use, block->address, block->size_bytes);
    struct life life = {.birth_ms = (uint32_t)block->birth_ticks,
                        .end_ms = end_ms,
                        .scan_ms =
                            end_ms ? heat_scan_before(use->heat, start, end, end_ms - 1) : 0};
    bool known = told != NOT_TOLD && !block->slack_bytes && life.scan_ms > life.birth_ms &&
                 page_use_look_at_pages(use, block, &life);
    if (!known) {
        row->unseen_count++;
        return false;
    }
    page_use_take_late(use, &life, told - write_watch_told(0));
    page_use_add_life(use, row, &life);
    return true;
}

static void page_use_begin_life(struct page_use *use, const struct event *event)
{
    uint32_t birth_ms = page_use_ms(use, event->birth_ticks);
    bool known = heat_pages_born(use->heat, page_use_start_of(use, event->address),
                                 page_use_end_of(use, event->address, event->bytes), birth_ms);
    live_table_write(&use->lives, live_table_place(&use->lives, event->address),
                     &(struct live_block){.address = event->address,
                                          .size_bytes = event->bytes,
                                          .birth_ticks = birth_ms,
                                          .site = event->node,
                                          .slack_bytes = !known});
}

static void page_use_drain_event(struct page_use *use, const struct event *event)
{
    struct live_slot *slot;
    switch (event->kind) {
    case EVENT_BORN:
        page_use_begin_life(use, event);
        break;
    case EVENT_ENDED:
        slot = live_table_find(&use->lives, event->address);
        if (slot) {
            struct live_block block = live_table_read(&use->lives, slot);
            page_use_end_life(use, &use->sums, &block, page_use_ms(use, event->end_ticks),
                              event->told);
            live_table_remove(&use->lives, slot);
        }
        break;
    case EVENT_SHORT:
        page_use_row(&use->sums, event->node)->unseen_count++;
        break;
    case EVENT_RESTART:
        page_use_forget(&use->sums);
    }
}

static void page_use_drain(void *context)
{
    struct page_use *use = context;
    struct events taken = use->drained;
    struct page_use_sums shorts = use->drained_shorts;
    pthread_mutex_lock(&use->lock);
    use->drained = use->queue;
    use->queue = taken;
    use->drained_shorts = use->shorts;
    use->shorts = shorts;
    use->restarted = 0;
    use->drained_ticks = UINT64_MAX;
    pthread_mutex_unlock(&use->lock);
    use->tick_ns = clock_tick_ns(use->start, clock_read());
    for (size_t i = 0; i < use->drained.count; i++)
        page_use_drain_event(use, &use->drained.items[i]);
    use->drained.count = 0;
    for (size_t i = 0; i < use->drained_shorts.count; i++)
        page_use_row(&use->sums, use->drained_shorts.rows[i].path)->unseen_count +=
            use->drained_shorts.rows[i].unseen_count;
    page_use_forget(&use->drained_shorts);
    pthread_mutex_lock(&use->lock);
    use->drained_ticks = ticks_now();
    pthread_mutex_unlock(&use->lock);
}

/* ---- What came out --------------------------------------------------------------------------- */

static void page_use_copy(struct page_use_sums *to, const struct page_use_sums *from)
{
    for (size_t i = 0; i < from->count; i++)
        *page_use_row(to, from->rows[i].path) = from->rows[i];
}

static void page_use_add_alive(struct page_use *use, struct page_use_sums *sums, uint32_t now_ms)
{
    for (const struct live_slot *slot = use->lives.slots; slot < live_table_end(&use->lives);
         slot++) {
        if (!slot->key)
            continue;
        struct live_block block = live_table_read(&use->lives, slot);
        uint64_t start = page_use_start_of(use, block.address);
        uint64_t end = page_use_end_of(use, block.address, block.size_bytes);
        uint32_t end_ms = heat_scan_around(use->heat, start, end, now_ms);
        if (page_use_end_life(use, sums, &block, end_ms, write_watch_told(0)))
            page_use_row(sums, block.site)->alive_count++;
    }
}

static int page_use_by_path(const void *left, const void *right)
{
    const struct profile_page_use *a = left, *b = right;
    return (a->path > b->path) - (a->path < b->path);
}

struct profile_page_use *page_use_take(struct page_use *use, uint64_t now_ticks, size_t *count)
{
    struct page_use_sums sums = {0};
    *count = 0;
    if (!use->heat)
        return NULL;
    heat_hold(use->heat);
    page_use_drain(use);
    page_use_copy(&sums, &use->sums);
    page_use_add_alive(use, &sums, page_use_ms(use, now_ticks));
    heat_unlock(use->heat);
    if (sums.count)
        qsort(sums.rows, sums.count, sizeof *sums.rows, page_use_by_path);
    map_release(&sums.by_node);
    *count = sums.count;
    return sums.rows;
}

/* ---- Life ------------------------------------------------------------------------------------ */

struct page_use *page_use_new(struct clock_reading start)
{
    struct page_use *use = calloc(1, sizeof *use);
    if (!use)
        return NULL;
    use->start = start;
    use->page_bytes = process_page_bytes();
    walker_init(&use->walker, false);
    page_use_near_make(&use->near, &use->walker);
    page_use_make_least(use);
    live_table_init(&use->lives, LIVES_LOG2);
    pthread_mutex_init(&use->lock, NULL);
    return use;
}

void page_use_begin(struct page_use *use, struct heat *heat)
{
    pthread_mutex_lock(&use->lock);
    use->heat = heat;
    pthread_mutex_unlock(&use->lock);
    heat_before_scans(heat, page_use_drain, use);
}

void page_use_free(struct page_use *use)
{
    if (!use)
        return;
    walker_release(&use->walker);
    live_table_release(&use->lives);
    pthread_mutex_destroy(&use->lock);
    free(use->queue.items);
    free(use->drained.items);
    struct page_use_sums *all[] = {&use->sums, &use->shorts, &use->drained_shorts};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        free(all[i]->rows);
        map_release(&all[i]->by_node);
    }
    free(use->drags);
    free(use);
}
