/* The ONE rule of a block's life: which block a record means, when a life begins and when it is
 * over. Traces (trace/live_set.c) and what-if (whatif/flow.c) walk over records with it. The
 * replay's hot path has the same rule inlined into its handlers (replay/life.h); test_walker.c
 * compares both on random streams.
 *
 *   1. A realloc is two records. Between them the old block is out of the address table, because
 *      another thread may be given its address, but the block is alive. A realloc whose end never
 *      comes keeps its block alive. A realloc that fails puts its block back. An end without a
 *      beginning is the realloc of a block that is not known.
 *   2. Two blocks at one address: the life of the block with the older birth is over, and one free
 *      of the address is *owed*. A free, or a beginning of a realloc, that is older than the birth
 *      of the younger block settles the debt and touches nothing else. Every other free means the
 *      block that lives at the address, however late the free comes.
 *   3. A block that becomes a pool's chunk is over. The next free or realloc of its address is the
 *      chunk's and touches nothing else. A pool's block ends by a pool's free only, or when its
 *      place is used again. Chunks are not followed in samples, because the recorder of a sample
 *      tells no free of them.
 *   4. A second WIRE_THREAD_START in a stream is another thread. The reallocs of the thread before
 *      are none of its reallocs.
 *
 *   live     address -> block; at most one at an address
 *   owed     address -> size_bytes: frees that must still come, or never will;
 *                       birth_ticks: the birth that showed the last of them missing
 *   chunks   address: a pool's chunk
 *
 * Each life ends by one call of `ended`, except for the blocks of reallocs without an end. Out of
 * memory ends the process (blocks/arena.h). One thread at a time. */
#ifndef TIDEMARK_BLOCKS_WALKER_H
#define TIDEMARK_BLOCKS_WALKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "blocks/live.h"
#include "wire/record_kinds.h"

struct walker_stream {
    bool announced; /* its WIRE_THREAD_START was seen */
    struct walker_realloc {
        bool is_live; /* the old block is known */
        struct live_block block;
    } * pending; /* reallocs under way, the innermost last */
    size_t pending_count, pending_room;
};

struct walker {
    struct live_table live, owed, chunks;
    struct walker_stream *streams;
    size_t stream_count;
    bool sampled; /* the records are of a sample */
};

void walker_init(struct walker *walker, bool sampled);
void walker_release(struct walker *walker);

/* The record under way. */
struct walker_step {
    const struct wire_record *record;
    enum record_class class;
    uint32_t stream;
};

enum walker_end {
    WALKER_FREED,     /* by a free, as a pool's chunk, or by a realloc that returned no block */
    WALKER_REALLOCED, /* `born` follows, with this block as `old` */
    WALKER_REPLACED,  /* another block is at its address; the free is owed */
};

enum walker_miss {
    WALKER_UNKNOWN, /* no block lives there */
    WALKER_SETTLED, /* the free was owed: its block's life is over already */
    WALKER_CHUNK,   /* the free of a pool's chunk */
    WALKER_NULL,    /* a free of NULL */
};

/* Called for what happens, in this order within a step; NULL: not called. */
struct walker_sink {
    /* The record has taken this block out of the table: `ended` follows, but not if it is the
     * beginning of a realloc. */
    void (*taken)(void *context, const struct walker_step *step, const struct live_block *block);
    void (*ended)(void *context, const struct walker_step *step, const struct live_block *block,
                  enum walker_end how);
    /* `old`: the block that this one is a realloc of, else NULL. The block's site is its node, and
     * its owner 0. Both, and the slack, are the sink's to set during the call. */
    void (*born)(void *context, const struct walker_step *step, const struct live_block *old,
                 struct live_block *block);
    /* A free, or a beginning of a realloc, that means no block that lives. */
    void (*missed)(void *context, const struct walker_step *step, enum walker_miss why);
    void (*failed)(void *context, const struct walker_step *step); /* a call returned NULL */
    void (*other)(void *context, const struct walker_step *step);  /* concerns no block */
};

/* The stream of that number, made if it is new. */
struct walker_stream *walker_stream(struct walker *walker, uint32_t number);
/* Room for one more realloc under way in the stream. */
struct walker_realloc *walker_push(struct walker_stream *stream);

/* ---- The rule. Inlined into each of its users, whose sinks are constants. ---- */

#define WALKER_INLINE static inline __attribute__((always_inline))

#define WALKER_TELL(sink, what, ...)                                                               \
    do {                                                                                           \
        if ((sink)->what)                                                                          \
            (sink)->what(__VA_ARGS__);                                                             \
    } while (0)

static inline uint64_t walker_address(const struct walker_step *step)
{
    return step->record->kind_address & WIRE_ADDRESS_MASK;
}

static inline struct live_block walker_block(const struct walker_step *step)
{
    const struct wire_record *record = step->record;
    return (struct live_block){
        .address = walker_address(step),
        .size_bytes = record->size_bytes < LIVE_MAX_SIZE ? record->size_bytes : LIVE_MAX_SIZE,
        .birth_ticks = record->ticks,
        .site = wire_detail_node(record->detail),
        .slack_bytes = wire_detail_slack(record->detail),
    };
}

static inline void walker_owe(struct walker *walker, uint64_t address, uint64_t until_ticks)
{
    live_table_owe(&walker->owed, address, until_ticks);
}

/* Is the step the free that was missing? */
static inline bool walker_settle(struct walker *walker, const struct walker_step *step)
{
    return walker->owed.count &&
           live_table_settle_debt(&walker->owed, walker_address(step), step->record->ticks);
}

/* True: the address was a pool's chunk, which has ended. */
static inline bool walker_ends_chunk(struct walker *walker, uint64_t address)
{
    return __builtin_expect(walker->chunks.count, 0) && live_table_drop(&walker->chunks, address);
}

/* Puts a block into the table. `is_birth`: the block is new; else a failed realloc puts it back. */
WALKER_INLINE void walker_place(struct walker *walker, const struct walker_sink *sink,
                                void *context, const struct walker_step *step,
                                const struct live_block *old, struct live_block block,
                                bool is_birth)
{
    struct live_slot *slot = live_table_place(&walker->live, block.address);
    bool is_over = false;

    if (slot->key) {
        struct live_block before = live_table_read(&walker->live, slot);
        is_over = before.birth_ticks > block.birth_ticks;
        walker_owe(walker, block.address, is_over ? before.birth_ticks : block.birth_ticks);
        if (!is_over)
            WALKER_TELL(sink, ended, context, step, &before, WALKER_REPLACED);
    }
    if (is_birth)
        WALKER_TELL(sink, born, context, step, old, &block);
    if (!is_over)
        live_table_write(&walker->live, slot, &block);
    else
        WALKER_TELL(sink, ended, context, step, &block, WALKER_REPLACED);
}

/* Takes the block at the step's address out of the table. */
WALKER_INLINE bool walker_take(struct walker *walker, const struct walker_sink *sink, void *context,
                               const struct walker_step *step, struct live_block *out)
{
    uint64_t address = walker_address(step);
    bool settled = address && walker_settle(walker, step);
    struct live_slot *slot = address && !settled ? live_table_find(&walker->live, address) : NULL;

    if (!slot) {
        WALKER_TELL(sink, missed, context, step,
                    settled   ? WALKER_SETTLED
                    : address ? WALKER_UNKNOWN
                              : WALKER_NULL);
        return false;
    }
    *out = live_table_read(&walker->live, slot);
    live_table_remove(&walker->live, slot);
    WALKER_TELL(sink, taken, context, step, out);
    return true;
}

WALKER_INLINE bool walker_free(struct walker *walker, const struct walker_sink *sink, void *context,
                               const struct walker_step *step)
{
    struct live_block block;

    if (!walker_take(walker, sink, context, step, &block))
        return false;
    WALKER_TELL(sink, ended, context, step, &block, WALKER_FREED);
    return true;
}

/* A chunk that is no block (but part of a mapping) is not followed here. */
WALKER_INLINE void walker_begin_chunk(struct walker *walker, const struct walker_sink *sink,
                                      void *context, const struct walker_step *step)
{
    uint64_t address = walker_address(step);

    if (!address || !live_table_find(&walker->live, address))
        WALKER_TELL(sink, other, context, step);
    else if (walker_free(walker, sink, context, step) && !walker->sampled)
        live_table_note(&walker->chunks, address);
}

WALKER_INLINE void walker_begin_realloc(struct walker *walker, const struct walker_sink *sink,
                                        void *context, const struct walker_step *step)
{
    struct walker_realloc *pending = walker_push(walker_stream(walker, step->stream));
    uint64_t address = walker_address(step);

    pending->is_live = false;
    if (address && walker_ends_chunk(walker, address))
        WALKER_TELL(sink, missed, context, step, WALKER_CHUNK);
    else if (address)
        pending->is_live = walker_take(walker, sink, context, step, &pending->block);
}

/* The innermost realloc under way; without a beginning, one of a block that is not known. */
static inline struct walker_realloc walker_pop(struct walker *walker,
                                               const struct walker_step *step)
{
    struct walker_stream *stream = walker_stream(walker, step->stream);

    return stream->pending_count ? stream->pending[--stream->pending_count]
                                 : (struct walker_realloc){.is_live = false};
}

WALKER_INLINE void walker_end_realloc(struct walker *walker, const struct walker_sink *sink,
                                      void *context, const struct walker_step *step)
{
    struct walker_realloc old = walker_pop(walker, step);
    bool is_birth = walker_address(step) != 0;

    if (old.is_live)
        WALKER_TELL(sink, ended, context, step, &old.block,
                    is_birth ? WALKER_REALLOCED : WALKER_FREED);
    if (is_birth)
        walker_place(walker, sink, context, step, old.is_live ? &old.block : NULL,
                     walker_block(step), true);
}

WALKER_INLINE void walker_fail_realloc(struct walker *walker, const struct walker_sink *sink,
                                       void *context, const struct walker_step *step)
{
    struct walker_realloc old = walker_pop(walker, step);

    WALKER_TELL(sink, failed, context, step);
    if (old.is_live)
        walker_place(walker, sink, context, step, NULL, old.block, false);
}

static inline void walker_announce(struct walker_stream *stream)
{
    if (stream->announced)
        stream->pending_count = 0;
    stream->announced = true;
}

/* One record; `class` is record_class_of() of it. */
WALKER_INLINE void walker_record(struct walker *walker, const struct walker_sink *sink,
                                 void *context, enum record_class class, uint32_t stream,
                                 const struct wire_record *record)
{
    struct walker_step now = {record, class, stream}, *step = &now;

    RECORD_SWITCH_BEGIN
    switch (class) {
    case RECORD_BIRTH:
        walker_ends_chunk(walker, walker_address(step)); /* its free was missed */
        /* fallthrough */
    case RECORD_POOL_BIRTH:
        walker_place(walker, sink, context, step, NULL, walker_block(step), true);
        break;
    case RECORD_FREE:
        if (walker_address(step) && walker_ends_chunk(walker, walker_address(step))) {
            WALKER_TELL(sink, missed, context, step, WALKER_CHUNK);
            break;
        }
        /* fallthrough */
    case RECORD_POOL_FREE:
        walker_free(walker, sink, context, step);
        break;
    case RECORD_POOL_CHUNK:
        walker_begin_chunk(walker, sink, context, step);
        break;
    case RECORD_REALLOC_BEGIN:
        walker_begin_realloc(walker, sink, context, step);
        break;
    case RECORD_REALLOC_END:
        walker_end_realloc(walker, sink, context, step);
        break;
    case RECORD_REALLOC_FAILED:
        walker_fail_realloc(walker, sink, context, step);
        break;
    case RECORD_FAILED:
        WALKER_TELL(sink, failed, context, step);
        break;
    case RECORD_THREAD_START:
        walker_announce(walker_stream(walker, stream));
        WALKER_TELL(sink, other, context, step);
        break;
    case RECORD_NONSENSE:
    case RECORD_VOID:
    case RECORD_SPENT:
    case RECORD_THREAD_END:
    case RECORD_LOST:
    case RECORD_SAID:
    case RECORD_MAPPING:
    case RECORD_STACK:
    case RECORD_DEVICE:
    case RECORD_CLASSES:
        WALKER_TELL(sink, other, context, step);
    }
    RECORD_SWITCH_END
}

#endif
