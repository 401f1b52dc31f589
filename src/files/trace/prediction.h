/* The prediction model: guesses about the next record. The encoder makes them, and the decoder
 * makes the same guesses from what it has decoded so far. A block of events begins with an empty
 * model, so blocks can be decoded in any order. doc/FORMAT-trace.md, "Events", describes the model.
 *
 * Addresses   Births are numbered within the block of events. A free is stored as the age of its
 *             block in births, or as the distance from the birth that was freed before it. A birth
 *             is expected where the thread last freed a block of this size, because allocators
 *             keep stacks of free blocks. The second guess is the address behind the thread's last
 *             birth, because allocators cut blocks from one piece.
 * Paths       The context is the last one, two or three paths of the same lane, and the number of
 *             records without a path since then. The guess is the path that followed that context
 *             last time. Lane 0 holds the paths of births, lane 1 all others.
 * Sizes       The guess is the size that the path asked for last.
 * Times       are not guessed. They are packed in separate columns by context: a call from a new
 *             path takes longer than a call from a known path, and a free takes less.
 *
 * Inside the room; inlined into encoder and decoder. */
#ifndef TIDEMARK_TRACE_PREDICTION_H
#define TIDEMARK_TRACE_PREDICTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "base/hash.h"
#include "trace/trace_format.h"
#include "trace/numbers.h"
#include "wire/record_kinds.h"
#include "wire/wire.h"

/* The columns of a body of events, in the order of the file. Those with _T are tokens whose rest is
 * in the next one (numbers.h). */
enum column {
    COLUMN_KINDS, /* the kinds that occur, from the number 1 on */
    COLUMN_RUNS,  /* varints: stream, zigzag against the run before; records; cut-off bytes */
    COLUMN_OPS,   /* kind number << 3 | flags */
    COLUMN_TIME_R,
    COLUMN_OFFS, /* varints: records since the last one off the grid; how far off */
    COLUMN_PATHS,
    COLUMN_FRESH_T,
    COLUMN_FRESH_R, /* nodes above all that the block has named */
    COLUMN_OLD_T,
    COLUMN_OLD_R, /* new in the block, but not above */
    COLUMN_KNOWN_T,
    COLUMN_KNOWN_R,
    COLUMN_SIZE_T,
    COLUMN_SIZE_R,
    COLUMN_SLACK_T,
    COLUMN_SLACK_R,
    COLUMN_ALIGN,
    COLUMN_AGE_T,
    COLUMN_AGE_R,
    COLUMN_STEP_T,
    COLUMN_STEP_R,
    COLUMN_ADDRESS_T,
    COLUMN_ADDRESS_R,
    COLUMN_VALUE_T,
    COLUMN_VALUE_R,
    COLUMN_RAW,
    COLUMN_NOTES,
    COLUMN_TIME_T,                   /* and five more: prediction_time_context() */
    COLUMN_BITS = COLUMN_TIME_T + 6, /* rests; those of times have their own */
    COLUMN_PLACES,                   /* of a birth whose address is not guessed: how it is told */
    COLUMNS
};
enum { TIME_COLUMNS = COLUMN_BITS - COLUMN_TIME_T };

/* Nothing comes again in them; nothing can be gained. */
#define MODEL_NOISE (0x3full << COLUMN_TIME_T)
#define MODEL_BITS  (1ull << COLUMN_TIME_R | 1ull << COLUMN_BITS)

/* Flags of an op. */
/* clang-format off */
enum {
    OP_SAME_SHAPE = 4, /* long: size, slack and alignment as the last time at this path */
    OP_WHERE = 3,      /* births, frees: how the address is told */
    BIRTH_TOLD = 0, BIRTH_STACK = 1, BIRTH_BEHIND = 2, BIRTH_LAST_FREED = 3,
    FREE_TOLD = 0, FREE_NEWEST = 1, FREE_AGE = 2, FREE_STEP = 3,
    OP_KINDS_MAX = 31,
};
/* clang-format on */

/* How a path is told: the number of a guess, or otherwise. */
enum { PATH_GUESSES = 5, PATH_FRESH = PATH_GUESSES, PATH_OLD, PATH_KNOWN };

enum op_class { OP_RAW, OP_BIRTH, OP_FREE, OP_PLAIN, OP_VALUE };

/* How the records of a kind are told. What has no row in records.def is told as well as can be. */
static inline enum op_class prediction_op_class_of(unsigned kind)
{
    const struct record_kind *row = record_kind_of(kind);

    RECORD_SWITCH_BEGIN
    switch (row ? (enum record_class)row->class : RECORD_NONSENSE) {
    case RECORD_VOID:
        return OP_RAW;
    case RECORD_BIRTH:
    case RECORD_POOL_BIRTH:
    case RECORD_REALLOC_END:
        return kind & WIRE_FAILED ? OP_PLAIN : OP_BIRTH;
    case RECORD_FREE:
    case RECORD_POOL_FREE:
    case RECORD_POOL_CHUNK:
    case RECORD_REALLOC_BEGIN:
        return OP_FREE;
    case RECORD_SPENT:
    case RECORD_LOST:
    case RECORD_THREAD_START:
    case RECORD_THREAD_END:
    case RECORD_SAID:
        return OP_VALUE;
    case RECORD_NONSENSE:
    case RECORD_MAPPING:
    case RECORD_STACK:
    case RECORD_DEVICE:
    case RECORD_FAILED: /* as RECORD_REALLOC_FAILED: of no row */
    case RECORD_REALLOC_FAILED:
    case RECORD_CLASSES:
        break;
    }
    RECORD_SWITCH_END
    return OP_PLAIN;
}

/* Where else a birth may be: 0 told by its way, or + 1 one of these, the newest first. */
enum {
    PLACES_LOG2 = 6,
    PLACES = 1 << PLACES_LOG2, /* of each sort */
    PLACE_RECYCLED = 0,        /* where the stream freed blocks of this size */
    PLACE_BEHIND = PLACES,     /* behind its births */
    PLACE_FREED = 2 * PLACES,  /* where it freed blocks */
    PLACES_END = 3 * PLACES,
};

enum {
    MODEL_HEADS = 1 << 12,
    MODEL_STREAMS = 64, /* with more, some share a place */
    MODEL_CONTEXTS = 1 << 14,
    MODEL_NONE = UINT32_MAX,
    MODEL_CHUNK_OVERHEAD = 8, /* glibc keeps so much beside each block */
};

/* Addresses, the newest last. The newest PLACES can be told; of twice as many the older half is
 * forgotten, so that they lie in a row. Lists are many and most stay empty: the counts lie
 * elsewhere, to be cleared without a look at the lists. */
struct prediction_places {
    uint64_t at[2 * PLACES];
};

struct prediction_birth {
    uint64_t address;
    uint32_t size_hash; /* of its usable size */
    uint32_t next;      /* below it there once it is freed */
};

/* As the path's last record had it. */
struct prediction_path {
    uint64_t size, detail; /* its two last words */
    uint32_t size_hash;    /* of its usable size */
};

/* Which paths came after which. Of two that came after the same ones the newer is the first. A path
 * is its number + `path_base` here, and what is less than the base is none. */
struct prediction_lane {
    uint32_t after_three[MODEL_CONTEXTS];
    uint32_t after_two[MODEL_CONTEXTS][2], after_one[MODEL_CONTEXTS][2];
};

/* What a thread did last: allocators keep what a thread frees for itself, and a thread comes the
 * same way again whatever the others do. */
struct prediction_stream {
    uint64_t last_freed, last_birth, behind;
    uint32_t last_paths[2][3]; /* of each lane: number + 1, the newest first */
    uint32_t gap;              /* records since the last one that named a path */
    uint32_t freed_count, behind_count;
    struct prediction_places *freed, *behinds;
};

/* Begins with all zero. Only `path_base` and the lanes are kept from block to block: the base rises
 * so that no place of a lane has to be cleared. */
struct prediction {
    uint32_t path_base;
    uint32_t birth_count, path_count;
    uint32_t last_freed_birth;
    uint64_t last_told;
    uint64_t highest_node, last_old_node;
    bool after_birth, fresh; /* the last record; the path of this one */
    uint32_t heads[MODEL_HEADS];
    uint32_t stream;               /* of the run under way, */
    struct prediction_stream *own; /* and its place */
    struct prediction_stream streams[MODEL_STREAMS];
    struct prediction_places freed[MODEL_STREAMS], behinds[MODEL_STREAMS];
    struct prediction_lane lanes[2];
    uint32_t recycled_count[MODEL_HEADS];
    struct prediction_places recycled[MODEL_HEADS];
    struct prediction_birth births[FORMAT_BLOCK_EVENTS];
    struct prediction_path paths[FORMAT_BLOCK_EVENTS];
};

/* All zero; NULL: there is no memory. */
struct prediction *prediction_make(void);
void prediction_free(struct prediction *model);

static inline void prediction_set_stream(struct prediction *model, uint32_t stream)
{
    model->stream = stream;
    model->own = &model->streams[stream % MODEL_STREAMS];
}

static inline void prediction_forget_paths(struct prediction *model)
{
    model->path_base += model->path_count + 1;
    if (model->path_base > UINT32_MAX - 2 * (FORMAT_BLOCK_EVENTS + 1)) { /* would come round */
        memset(model->lanes, 0, sizeof model->lanes);
        model->path_base = 1;
    }
}

static inline void prediction_begin(struct prediction *model)
{
    size_t kept = offsetof(struct prediction, birth_count);

    prediction_forget_paths(model);
    memset((char *)model + kept, 0, offsetof(struct prediction, heads) - kept);
    memset(model->heads, 0xff, sizeof model->heads);
    prediction_set_stream(model, 0);
    memset(model->streams, 0, sizeof model->streams);
    for (int i = 0; i < MODEL_STREAMS; i++) {
        model->streams[i].freed = &model->freed[i];
        model->streams[i].behinds = &model->behinds[i];
    }
    memset(model->recycled_count, 0, sizeof model->recycled_count);
}

static inline void prediction_set_shape(struct prediction_path *path, uint64_t size,
                                        uint64_t detail)
{
    path->size = size;
    path->detail = detail;
    path->size_hash = (uint32_t)(hash_u64(size + wire_detail_slack(detail)) >> 32);
}

static inline uint32_t prediction_new_path(struct prediction *model, uint32_t node)
{
    model->paths[model->path_count] = (struct prediction_path){.detail = node};
    return model->path_count++;
}

/* The stack of a size in the stream under way. */
static inline uint32_t prediction_head(const struct prediction *model, uint32_t size_hash)
{
    return hash_u64((uint64_t)model->stream << 32 | size_hash) % MODEL_HEADS;
}

static inline void prediction_places_add(struct prediction_places *places, uint32_t *count,
                                         uint64_t address)
{
    if (*count == 2 * PLACES) {
        memcpy(places->at, places->at + PLACES, PLACES * sizeof *places->at);
        *count = PLACES;
    }
    places->at[(*count)++] = address;
}

/* 1 for the newest, 2 for the one before it …; 0: it is not among those that can be told. */
static inline unsigned prediction_places_find(const struct prediction_places *places,
                                              uint32_t count, uint64_t address)
{
    const uint64_t *end = places->at + count;
    uint32_t known = count < PLACES ? count : PLACES;

    for (uint32_t i = 1; i <= known; i++)
        if (end[-(ptrdiff_t)i] == address)
            return i;
    return 0;
}

/* The other way round; 0: there are not so many. */
static inline uint64_t prediction_places_at(const struct prediction_places *places, uint32_t count,
                                            unsigned back)
{
    return back <= count ? places->at[count - back] : 0;
}

/* How a birth of a stack at an address is told; 0: by its way. */
static inline unsigned prediction_find_place(const struct prediction *model, uint32_t head,
                                             uint64_t address)
{
    const struct prediction_stream *own = model->own;
    unsigned back =
        prediction_places_find(&model->recycled[head], model->recycled_count[head], address);

    if (back)
        return PLACE_RECYCLED + back;
    back = prediction_places_find(own->behinds, own->behind_count, address);
    if (back)
        return PLACE_BEHIND + back;
    back = prediction_places_find(own->freed, own->freed_count, address);
    return back ? PLACE_FREED + back : 0;
}

/* The address that is told so, 1 to PLACES_END; 0: that makes no sense. */
static inline uint64_t prediction_at_place(const struct prediction *model, uint32_t head,
                                           unsigned place)
{
    const struct prediction_stream *own = model->own;
    unsigned back = (place - 1) % PLACES + 1;

    switch ((place - 1) / PLACES) {
    case PLACE_RECYCLED / PLACES:
        return prediction_places_at(&model->recycled[head], model->recycled_count[head], back);
    case PLACE_BEHIND / PLACES:
        return prediction_places_at(own->behinds, own->behind_count, back);
    default:
        return prediction_places_at(own->freed, own->freed_count, back);
    }
}

/* What glibc adds to a request: most often the slack. */
static inline uint64_t prediction_slack(uint64_t size)
{
    return size < 24 ? 24 - size : (0 - size - 8) & 15;
}

/* Addresses are told by the way from another, in steps of 16 where that goes. Fits 60 bits. */
static inline uint64_t prediction_way(uint64_t from, uint64_t to)
{
    int64_t way = (int64_t)(to - from);

    return way % 16 ? varint_zigzag((uint64_t)way) << 1 | 1
                    : varint_zigzag((uint64_t)(way / 16)) << 1;
}
static inline uint64_t prediction_at_way(uint64_t from, uint64_t way)
{
    uint64_t steps = varint_unzigzag(way >> 1);

    return (from + (way & 1 ? steps : steps * 16)) & WIRE_ADDRESS_MASK;
}

/* Where the stream last freed a block of such a size; 0: it has not. */
static inline uint64_t prediction_top(const struct prediction *model, uint32_t head)
{
    uint32_t top = model->heads[head];

    return top == MODEL_NONE ? 0 : model->births[top].address;
}

/* A birth took the top of its stack: the newest place, if it still is there. */
static inline void prediction_took_top(struct prediction *model, uint32_t head, uint64_t address)
{
    uint32_t *count = &model->recycled_count[head];

    *count -= *count && prediction_places_at(&model->recycled[head], *count, 1) == address;
}

/* A place that was told: if it is one of the stack's it is taken, and the newer ones move up. */
static inline void prediction_took_place(struct prediction *model, uint32_t head, unsigned place)
{
    uint32_t *count = &model->recycled_count[head];
    uint64_t *taken;

    if (place > PLACES || place > *count)
        return;
    taken = model->recycled[head].at + *count - place;
    memmove(taken, taken + 1, (place - 1) * sizeof *taken);
    --*count;
}

/* prediction_top() of a birth that is there. */
static inline uint64_t prediction_take_top(struct prediction *model, uint32_t head)
{
    uint32_t top = model->heads[head];

    if (top == MODEL_NONE)
        return 0;
    model->heads[head] = model->births[top].next;
    prediction_took_top(model, head, model->births[top].address);
    return model->births[top].address;
}

static inline void prediction_leaves_stack(struct prediction *model, uint32_t head,
                                           uint64_t address)
{
    uint32_t *top = &model->heads[head];

    if (*top == MODEL_NONE || model->births[*top].address != address)
        return;
    *top = model->births[*top].next;
    prediction_took_top(model, head, address);
}

/* A birth that has left its stack, if it lay there. */
static inline void prediction_born(struct prediction *model, uint64_t address,
                                   const struct prediction_path *path)
{
    struct prediction_stream *own = model->own;

    model->births[model->birth_count++] =
        (struct prediction_birth){address, path->size_hash, MODEL_NONE};
    own->behind = address + path->size + wire_detail_slack(path->detail) + MODEL_CHUNK_OVERHEAD;
    own->last_birth = address;
    prediction_places_add(own->behinds, &own->behind_count, own->behind & WIRE_ADDRESS_MASK);
}

static inline void prediction_freed(struct prediction *model, uint64_t address)
{
    struct prediction_stream *own = model->own;

    own->last_freed = address;
    prediction_places_add(own->freed, &own->freed_count, address);
}

/* A free told by its birth. A birth can be named twice (by damage, or by frees that come late): it
 * then lies on its stack once, at its second place, and what was below it first is forgotten.
 * Returns its address. */
static inline uint64_t prediction_freed_birth(struct prediction *model, uint32_t birth)
{
    struct prediction_birth *freed = &model->births[birth];
    uint32_t head = prediction_head(model, freed->size_hash);

    freed->next = model->heads[head];
    model->heads[head] = birth;
    model->last_freed_birth = birth;
    prediction_places_add(&model->recycled[head], &model->recycled_count[head], freed->address);
    prediction_freed(model, freed->address);
    return freed->address;
}

/* The birth that the record just told names, a free; MODEL_NONE: it is no free, or told in another
 * way. */
static inline uint32_t prediction_met(const struct prediction *model, enum op_class class,
                                      unsigned flags)
{
    return class == OP_FREE && (flags & OP_WHERE) != FREE_TOLD ? model->last_freed_birth
                                                               : MODEL_NONE;
}

static inline uint32_t prediction_context(uint64_t key)
{
    return (uint32_t)(hash_u64(key) >> 50);
}

/* Where the guesses of the next path of a lane stand, the likeliest first. */
struct prediction_guesses {
    uint32_t *three, *two, *one;
};

static inline struct prediction_guesses prediction_guess(struct prediction *model,
                                                         unsigned lane_number)
{
    struct prediction_lane *lane = &model->lanes[lane_number];
    const struct prediction_stream *own = model->own;
    const uint32_t *last = own->last_paths[lane_number];
    uint64_t one = (uint64_t)own->gap << 32 | last[0];
    uint64_t two = hash_u64(one) + last[1];

    return (struct prediction_guesses){
        &lane->after_three[prediction_context(hash_u64(two) + last[2])],
        lane->after_two[prediction_context(two)], lane->after_one[prediction_context(one)]};
}

/* The number of the path that is guessed; not below path_count: none. */
static inline uint32_t prediction_guessed(const struct prediction *model,
                                          const struct prediction_guesses *guesses, unsigned which)
{
    const uint32_t *two_or_one = which % 2 ? guesses->two : guesses->one;

    return (which ? two_or_one[which > 2] : *guesses->three) - model->path_base;
}

static inline void prediction_prefer(uint32_t guesses[2], uint32_t path)
{
    guesses[1] = guesses[0] == path ? guesses[1] : guesses[0];
    guesses[0] = path;
}

static inline void prediction_saw_path(struct prediction *model, unsigned lane,
                                       const struct prediction_guesses *guesses, uint32_t path)
{
    struct prediction_stream *own = model->own;
    uint32_t *last = own->last_paths[lane];

    *guesses->three = path + model->path_base;
    prediction_prefer(guesses->two, path + model->path_base);
    prediction_prefer(guesses->one, path + model->path_base);
    last[2] = last[1];
    last[1] = last[0];
    last[0] = path + 1;
    own->gap = 0;
}

/* Which column has the time of this record: by what it is and what the one before was. */
static inline unsigned prediction_time_context(struct prediction *model, enum op_class class)
{
    bool birth = class == OP_BIRTH;
    unsigned context = (birth ? 2u + 2u * model->fresh : 0u) + model->after_birth;

    model->after_birth = birth;
    return context;
}

#endif
