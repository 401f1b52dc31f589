/* What a replay keeps, and what an event of it weighs. Inside the room.
 *
 *   life.h      what a block's beginning and end change, whatever record told of them
 *   cuts.c      the same for the regions that the block was born in
 *   levels.c    what is seldom done about a level, or about time
 *   steps.h     the two records that nearly all are: a block is made, a block is freed
 *   records.c   all others, and the table of which record does what
 *   run.c       the way through the records, ahead of itself for memory's latency
 *   replay.c    a replay begins, is told what its records are like, and ends
 *   window.c    a replay forgets what has happened
 *   outcome.c   what came out */
#ifndef TIDEMARK_REPLAY_STATE_H
#define TIDEMARK_REPLAY_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "replay/curves.h"
#include "replay/depths.h"
#include "replay/distributions.h"
#include "replay/exchange.h"
#include "replay/live.h"
#include "replay/mapped.h"
#include "replay/marks.h"
#include "replay/peaks.h"
#include "replay/regions.h"
#include "replay/replay.h"
#include "replay/sites.h"
#include "replay/threads.h"
#include "replay/timeline.h"
#include "replay/weight.h"
#include "wire/wire.h"

/* The handlers exist twice, for recordings of every allocation and for samples: the functions that
 * do the work are inlined into both with this as their last argument, so that neither pays for the
 * other. */
#define EVENT static inline __attribute__((always_inline))
enum mode { EVERY, SAMPLED };

typedef void record_handler(struct replay *replay, const struct wire_record *record);
/* By mode and the first byte of a record; NULL: it makes no sense. */
extern record_handler *const replay_handlers[][256];

/* A level in [low, low + width) has been there before: nobody wants to know. */
struct quiet {
    uint64_t low, width;
};

struct replay {
    /* the levels; live_bytes is the sum over all sites; live_count in the unit of weights */
    uint64_t live_bytes, live_count;
    uint64_t peak_bytes, peak_ticks; /* the first moment of the highest live_bytes */
    struct quiet quiet_bytes, quiet_count;
    uint64_t last_ticks;
    struct thread *running; /* whose record is being replayed */
    uint32_t stream;
    struct live_table live;
    struct sites sites;
    struct timeline timeline;
    struct threads threads;
    struct peaks peaks;
    struct curves curves;
    struct exchanges exchanges;
    struct distributions *distributions;
    /* Frees that must still come, or never will: by address, the number of them in size_bytes, the
     * birth of the block that showed the last of them missing in birth_ticks. */
    struct live_table owed;
    struct program_metrics program; /* but for `total`; live_peak_count as live_count */
    uint64_t sample_bytes;          /* 0: every allocation is in the records */
    bool pages;                     /* the sample is of pages */
    bool adapts;                    /* and each record says with which interval it was drawn */
    uint32_t owner_mask;            /* of a block's owner; above it lies the level where it adapts */
    uint32_t alloc_rest, free_rest; /* of the timeline, as a thread's */
    struct mapped mapped;
    struct depths depths;
    struct regions regions;
    struct marks marks;
    struct live_table chunks; /* of pools, by address: their frees are no events */
    bool is_watched;          /* the program's level, or a thread's, is watched for its peak */
    bool watches_all;
    uint64_t watched_peak_bytes;
};

static inline struct peaks_view peaks_view(struct replay *replay)
{
    return (struct peaks_view){&replay->sites, &replay->curves};
}

/* ---- Clues ----------------------------------------------------------------------------------
 * What was found out about a record before its turn. All of it may be outdated but the hash. */

struct clue {
    uint64_t hash;   /* of its address */
    size_t slot;     /* where the live blocks may have it */
    uint32_t number; /* of its call path + 1; 0: it has none, or is not known */
};

static inline struct clue clue_of(const struct replay *replay, uint64_t address)
{
    uint64_t hash = live_hash(address);

    return (struct clue){hash, live_table_guess(&replay->live, hash), 0};
}

/* ---- Weights ------------------------------------------------------------------------------- */

EVENT struct weight weigh(const struct replay *replay, uint64_t size_bytes, uint64_t slack_bytes,
                          unsigned level, enum mode mode)
{
    if (mode == EVERY)
        return (struct weight){1, size_bytes, slack_bytes, 0};
    if (replay->pages)
        return weight_of_page_block(size_bytes, slack_bytes);
    return replay->adapts ? weight_of_level(level, size_bytes, slack_bytes)
                          : weight_of_sample(replay->sample_bytes, size_bytes, slack_bytes);
}

/* Where levels change an owner has three bits less, and they hold the block's. */
enum { OWNER_LEVEL_SHIFT = 21 };
_Static_assert(WIRE_LEVELS <= 8 && 8u << OWNER_LEVEL_SHIFT == LIVE_NO_OWNER + 1,
               "the bits of an owner");

static inline unsigned level_of(const struct replay *replay, const struct live_block *block)
{
    return replay->adapts ? live_block_owner(block) >> OWNER_LEVEL_SHIFT : 0;
}

EVENT struct weight weigh_block(const struct replay *replay, const struct live_block *block,
                                enum mode mode)
{
    return weigh(replay, block->size_bytes, block->slack_bytes,
                 mode == EVERY ? 0 : level_of(replay, block), mode);
}

/* How many whole blocks a weight adds to a count, with the rest from before. */
EVENT uint64_t whole_blocks(struct weight weight, uint32_t *rest, enum mode mode)
{
    uint64_t parts = weight.count + (mode == SAMPLED ? *rest : 0);

    if (mode == EVERY)
        return parts;
    *rest = parts & ((1u << WEIGHT_SHIFT) - 1);
    return parts >> WEIGHT_SHIFT;
}

EVENT uint64_t live_blocks(const struct replay *replay, enum mode mode)
{
    return mode == EVERY ? replay->live_count : weight_whole(replay->live_count);
}

static inline enum mode mode_of(const struct replay *replay)
{
    return replay->sample_bytes ? SAMPLED : EVERY;
}

/* Of as many blocks as it stands for; what 63 bits do not hold is cut off. */
EVENT uint64_t lifetimes_of(struct weight weight, uint64_t lifetime, enum mode mode)
{
    unsigned __int128 sum;

    if (mode == EVERY)
        return lifetime;
    sum = (unsigned __int128)lifetime * weight.count >> WEIGHT_SHIFT;
    return sum < INT64_MAX ? (uint64_t)sum : INT64_MAX;
}

#endif
