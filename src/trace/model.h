/* What the next record will probably look like: the same guesses made by the encoder and, from what
 * it has decoded so far, by the decoder. A block of events begins with an empty model, so that
 * blocks can be decoded in any order. (doc/FORMAT-trace.md, "Events", says it in words.)
 *
 * Addresses   births are numbered within the block. A free says how many births ago its block was
 *             born, or how far that is from the one freed before; the next birth of a size comes most
 *             likely where the thread last freed a block of that size (allocators keep such stacks),
 *             or behind its birth before (they cut them from one piece).
 * Paths       after the same three (or two, or one) paths of the same lane, with as many records
 *             between that name none, the same path came before. Lane 0 are paths that allocate,
 *             lane 1 all others.
 * Sizes       a path asks again for what it asked for last.
 * Times       are not guessed, but packed with those of their like: a call from a new path takes
 *             longer than one from a known path, a free less.
 *
 * Inside the room; inlined into both. */
#ifndef TIDEMARK_TRACE_MODEL_H
#define TIDEMARK_TRACE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "base/hash.h"
#include "trace/format.h"
#include "trace/numbers.h"
#include "wire/wire.h"

/* The columns of a body of events, in the order of the file. Those with _T are tokens whose rest is
 * in the next one (numbers.h). */
enum column {
    COLUMN_KINDS,  /* the kinds that occur, from the number 1 on */
    COLUMN_RUNS,   /* varints: stream, zigzag against the run before; records; cut-off bytes */
    COLUMN_OPS,    /* kind number << 3 | flags */
    COLUMN_TIME_R,
    COLUMN_OFFS,   /* varints: records since the last one off the grid; how far off */
    COLUMN_PATHS,
    COLUMN_FRESH_T, COLUMN_FRESH_R, /* nodes above all that the block has named */
    COLUMN_OLD_T, COLUMN_OLD_R,     /* new in the block, but not above */
    COLUMN_KNOWN_T, COLUMN_KNOWN_R,
    COLUMN_SIZE_T, COLUMN_SIZE_R,
    COLUMN_SLACK_T, COLUMN_SLACK_R,
    COLUMN_ALIGN,
    COLUMN_AGE_T, COLUMN_AGE_R,
    COLUMN_STEP_T, COLUMN_STEP_R,
    COLUMN_ADDRESS_T, COLUMN_ADDRESS_R,
    COLUMN_VALUE_T, COLUMN_VALUE_R,
    COLUMN_RAW,
    COLUMN_NOTES,
    COLUMN_TIME_T, /* and five more: model_time_context() */
    COLUMN_BITS = COLUMN_TIME_T + 6, /* rests; those of times have their own */
    COLUMN_PLACES, /* of a birth whose address is not guessed: how it is told */
    COLUMNS
};

/* Nothing comes again in them; nothing can be gained. */
#define MODEL_NOISE (0x3full << COLUMN_TIME_T)
#define MODEL_BITS  (1ull << COLUMN_TIME_R | 1ull << COLUMN_BITS)

/* Flags of an op. */
enum {
    OP_SAME_SHAPE = 4, /* long: size, slack and alignment as the last time at this path */
    OP_WHERE = 3,      /* births, frees: how the address is told */
    BIRTH_TOLD = 0, BIRTH_STACK = 1, BIRTH_BEHIND = 2, BIRTH_LAST_FREED = 3,
    FREE_TOLD = 0, FREE_NEWEST = 1, FREE_AGE = 2, FREE_STEP = 3,
    OP_KINDS_MAX = 31,
};

/* How a path is told: the number of a guess, or otherwise. */
enum { PATH_GUESSES = 5, PATH_FRESH = PATH_GUESSES, PATH_OLD, PATH_KNOWN };

enum op_class { OP_RAW, OP_BIRTH, OP_FREE, OP_PLAIN, OP_VALUE };

static inline enum op_class op_class_of(unsigned kind)
{
    switch (kind & ~(unsigned)WIRE_FAILED) {
    case WIRE_MALLOC:
    case WIRE_CALLOC:
    case WIRE_ALIGNED:
    case WIRE_NEW:
    case WIRE_NEW_ARRAY:
    case WIRE_POOL:
    case WIRE_REALLOC_END:
        return kind & WIRE_FAILED ? OP_PLAIN : OP_BIRTH;
    case WIRE_FREE:
    case WIRE_REALLOC_BEGIN:
    case WIRE_FREE_AT:
    case WIRE_POOL_CHUNK:
    case WIRE_POOL_FREE:
    case WIRE_POOL_FREE_AT:
        return OP_FREE;
    case WIRE_SPENT:
    case WIRE_LOST:
    case WIRE_THREAD_START:
    case WIRE_THREAD_END:
    case WIRE_MARK:
    case WIRE_REGION_BEGIN:
    case WIRE_REGION_END:
        return OP_VALUE;
    case WIRE_VOID:
        return OP_RAW;
    default:
        return OP_PLAIN;
    }
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
 * forgotten, so that they lie in a row. Lists are many and most stay empty: the counts lie elsewhere,
 * to be cleared without a look at the lists. */
struct model_places {
    uint64_t at[2 * PLACES];
};

struct model_birth {
    uint64_t address;
    uint32_t size_hash; /* of its usable size */
    uint32_t next; /* below it there once it is freed */
};

struct model_path {
    uint32_t node;
    uint64_t size;
    uint64_t slack_align; /* a record's last word without the node */
};

/* Path numbers + 1; 0: none. Of two paths that came after the same ones the newer is the first. */
struct model_lane {
    uint32_t after_three[MODEL_CONTEXTS];
    uint32_t after_two[MODEL_CONTEXTS][2], after_one[MODEL_CONTEXTS][2];
};

/* What a thread did last: allocators keep what a thread frees for itself, and a thread comes the same
 * way again whatever the others do. */
struct model_stream {
    uint64_t last_freed, last_birth, behind;
    uint32_t last_paths[2][3]; /* of each lane: number + 1, the newest first */
    uint32_t gap;              /* records since the last one that named a path */
    uint32_t freed_count, behind_count;
    struct model_places *freed, *behinds;
};

struct model {
    uint32_t birth_count, path_count;
    uint32_t last_freed_birth;
    uint64_t last_told;
    uint64_t highest_node, last_old_node;
    bool after_birth, fresh; /* the last record; the path of this one */
    uint32_t heads[MODEL_HEADS];
    uint32_t stream; /* of the run under way, */
    struct model_stream *own; /* and its place */
    struct model_stream streams[MODEL_STREAMS];
    struct model_places freed[MODEL_STREAMS], behinds[MODEL_STREAMS];
    struct model_lane lanes[2];
    uint32_t recycled_count[MODEL_HEADS];
    struct model_places recycled[MODEL_HEADS];
    struct model_birth births[FORMAT_BLOCK_EVENTS];
    struct model_path paths[FORMAT_BLOCK_EVENTS];
};

static inline void model_set_stream(struct model *model, uint32_t stream)
{
    model->stream = stream;
    model->own = &model->streams[stream % MODEL_STREAMS];
}

static inline void model_begin(struct model *model)
{
    memset(model, 0, offsetof(struct model, heads));
    memset(model->heads, 0xff, sizeof model->heads);
    model_set_stream(model, 0);
    memset(model->streams, 0, sizeof model->streams);
    for (int i = 0; i < MODEL_STREAMS; i++) {
        model->streams[i].freed = &model->freed[i];
        model->streams[i].behinds = &model->behinds[i];
    }
    memset(model->lanes, 0, sizeof model->lanes);
    memset(model->recycled_count, 0, sizeof model->recycled_count);
}

static inline uint32_t model_size_hash(uint64_t size, uint64_t detail)
{
    return (uint32_t)(hash_u64(size + wire_detail_slack(detail)) >> 32);
}

/* The stack of a size in the stream under way. */
static inline uint32_t model_head(const struct model *model, uint32_t size_hash)
{
    return hash_u64((uint64_t)model->stream << 32 | size_hash) % MODEL_HEADS;
}

static inline void model_places_add(struct model_places *places, uint32_t *count, uint64_t address)
{
    if (*count == 2 * PLACES) {
        memcpy(places->at, places->at + PLACES, PLACES * sizeof *places->at);
        *count = PLACES;
    }
    places->at[(*count)++] = address;
}

/* 1 for the newest, 2 for the one before it …; 0: it is not among those that can be told. */
static inline unsigned model_places_find(const struct model_places *places, uint32_t count,
                                         uint64_t address)
{
    const uint64_t *end = places->at + count;
    uint32_t known = count < PLACES ? count : PLACES;

    for (uint32_t i = 1; i <= known; i++)
        if (end[-(ptrdiff_t)i] == address)
            return i;
    return 0;
}

/* The other way round; 0: there are not so many. */
static inline uint64_t model_places_at(const struct model_places *places, uint32_t count,
                                       unsigned back)
{
    return back <= count ? places->at[count - back] : 0;
}

/* How a birth of a stack at an address is told; 0: by its way. */
static inline unsigned model_find_place(const struct model *model, uint32_t head, uint64_t address)
{
    const struct model_stream *own = model->own;
    unsigned back = model_places_find(&model->recycled[head], model->recycled_count[head], address);

    if (back)
        return PLACE_RECYCLED + back;
    back = model_places_find(own->behinds, own->behind_count, address);
    if (back)
        return PLACE_BEHIND + back;
    back = model_places_find(own->freed, own->freed_count, address);
    return back ? PLACE_FREED + back : 0;
}

/* The address that is told so, 1 to PLACES_END; 0: that makes no sense. */
static inline uint64_t model_at_place(const struct model *model, uint32_t head, unsigned place)
{
    const struct model_stream *own = model->own;
    unsigned back = (place - 1) % PLACES + 1;

    switch ((place - 1) / PLACES) {
    case PLACE_RECYCLED / PLACES:
        return model_places_at(&model->recycled[head], model->recycled_count[head], back);
    case PLACE_BEHIND / PLACES:
        return model_places_at(own->behinds, own->behind_count, back);
    default:
        return model_places_at(own->freed, own->freed_count, back);
    }
}

/* What glibc adds to a request: most often the slack. */
static inline uint64_t model_slack(uint64_t size)
{
    return size < 24 ? 24 - size : (0 - size - 8) & 15;
}

/* Addresses are told by the way from another, in steps of 16 where that goes. Fits 60 bits. */
static inline uint64_t model_way(uint64_t from, uint64_t to)
{
    int64_t way = (int64_t)(to - from);

    return way % 16 ? number_zigzag((uint64_t)way) << 1 | 1
                    : number_zigzag((uint64_t)(way / 16)) << 1;
}
static inline uint64_t model_at_way(uint64_t from, uint64_t way)
{
    uint64_t steps = number_unzigzag(way >> 1);

    return (from + (way & 1 ? steps : steps * 16)) & WIRE_ADDRESS_MASK;
}

/* Where the stream last freed a block of such a size; 0: it has not. */
static inline uint64_t model_top(const struct model *model, uint32_t head)
{
    uint32_t top = model->heads[head];

    return top == MODEL_NONE ? 0 : model->births[top].address;
}

/* A birth took the top of its stack: the newest place, if it still is there. */
static inline void model_took_top(struct model *model, uint32_t head, uint64_t address)
{
    uint32_t *count = &model->recycled_count[head];

    *count -= *count && model_places_at(&model->recycled[head], *count, 1) == address;
}

/* A place that was told: if it is one of the stack's it is taken, and the newer ones move up. */
static inline void model_took_place(struct model *model, uint32_t head, unsigned place)
{
    uint32_t *count = &model->recycled_count[head];
    uint64_t *taken;

    if (place > PLACES || place > *count)
        return;
    taken = model->recycled[head].at + *count - place;
    memmove(taken, taken + 1, (place - 1) * sizeof *taken);
    --*count;
}

/* `head`: model_head() of its size. */
static inline void model_born(struct model *model, uint64_t address, uint64_t size, uint64_t detail,
                              uint32_t head)
{
    uint32_t *top = &model->heads[head];
    struct model_stream *own = model->own;

    if (*top != MODEL_NONE && model->births[*top].address == address) {
        *top = model->births[*top].next;
        model_took_top(model, head, address);
    }
    model->births[model->birth_count++] =
        (struct model_birth){address, model_size_hash(size, detail), MODEL_NONE};
    own->behind = address + size + wire_detail_slack(detail) + MODEL_CHUNK_OVERHEAD;
    own->last_birth = address;
    model_places_add(own->behinds, &own->behind_count, own->behind & WIRE_ADDRESS_MASK);
}

static inline void model_freed(struct model *model, uint64_t address)
{
    struct model_stream *own = model->own;

    own->last_freed = address;
    model_places_add(own->freed, &own->freed_count, address);
}

/* A free told by its birth. A birth can be named twice (by damage, or by frees that come late): it
 * then lies on its stack once, at its second place, and what was below it first is forgotten. */
static inline void model_freed_birth(struct model *model, uint32_t birth)
{
    struct model_birth *freed = &model->births[birth];
    uint32_t head = model_head(model, freed->size_hash);

    freed->next = model->heads[head];
    model->heads[head] = birth;
    model->last_freed_birth = birth;
    model_places_add(&model->recycled[head], &model->recycled_count[head], freed->address);
    model_freed(model, freed->address);
}

/* The birth that the record just told names, a free; MODEL_NONE: it is no free, or told in another way. */
static inline uint32_t model_met(const struct model *model, enum op_class class, unsigned flags)
{
    return class == OP_FREE && (flags & OP_WHERE) != FREE_TOLD ? model->last_freed_birth
                                                               : MODEL_NONE;
}

static inline uint32_t model_context(uint64_t key)
{
    return (uint32_t)(hash_u64(key) >> 50);
}

/* Where the guesses of the next path of a lane stand, the likeliest first. */
struct model_guesses {
    uint32_t *three, *two, *one;
};

static inline struct model_guesses model_guess(struct model *model, unsigned lane_number)
{
    struct model_lane *lane = &model->lanes[lane_number];
    const struct model_stream *own = model->own;
    const uint32_t *last = own->last_paths[lane_number];
    uint64_t one = (uint64_t)own->gap << 32 | last[0];
    uint64_t two = hash_u64(one) + last[1];

    return (struct model_guesses){&lane->after_three[model_context(hash_u64(two) + last[2])],
                                  lane->after_two[model_context(two)],
                                  lane->after_one[model_context(one)]};
}

/* The path number + 1 of a guess. */
static inline uint32_t model_guessed(const struct model_guesses *guesses, unsigned which)
{
    switch (which) {
    case 0:
        return *guesses->three;
    case 1:
        return guesses->two[0];
    case 2:
        return guesses->one[0];
    case 3:
        return guesses->two[1];
    default:
        return guesses->one[1];
    }
}

static inline void model_prefer(uint32_t guesses[2], uint32_t path_1)
{
    if (guesses[0] == path_1)
        return;
    guesses[1] = guesses[0];
    guesses[0] = path_1;
}

static inline void model_saw_path(struct model *model, unsigned lane,
                                  const struct model_guesses *guesses, uint32_t path)
{
    struct model_stream *own = model->own;
    uint32_t *last = own->last_paths[lane];

    *guesses->three = path + 1;
    model_prefer(guesses->two, path + 1);
    model_prefer(guesses->one, path + 1);
    last[2] = last[1];
    last[1] = last[0];
    last[0] = path + 1;
    own->gap = 0;
}

/* Which column has the time of this record: by what it is and what the one before was. */
static inline unsigned model_time_context(struct model *model, enum op_class class)
{
    bool birth = class == OP_BIRTH;
    unsigned context = (birth ? 2u + 2u * model->fresh : 0u) + model->after_birth;

    model->after_birth = birth;
    return context;
}

#endif
