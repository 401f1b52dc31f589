/* The state of a replay, and the weight of an event. Inside the room.
 *
 *   life.h            what the beginning and the end of a block's life change
 *   cuts.c            the same for the regions in which the block was allocated
 *   levels.c          the rare part: a new peak, a new interval of the timeline
 *   steps.h           the two commonest records: a block is allocated, a block is freed
 *   mapped_life.c     what records of mappings change
 *   records.c         all other records, and the table from record kinds to functions
 *   replay_run.c      the loop over the records, which prefetches for the records ahead
 *   replay.c          makes and frees a replay, and sets how its records were made
 *   replay_adapting.c goes on by samples in the middle of a recording
 *   replay_window.c   a window begins: history is cleared, live blocks stay
 *   outcome.c         copies the results out
 *
 * Invariants, after each step
 *   live_bytes = sum of live_bytes over all sites = sum over `live` and pending reallocs
 *   live_bytes <= peak_bytes, and peak_ticks is the first time of that maximum
 *   quiet_bytes.low <= live_bytes <= quiet_bytes.high  =>  peaks, timeline and watchers are up to
 *                                                          date with this level
 *   last_ticks never decreases
 *   an address is in at most one slot of `live`; owed[address].size_bytes = frees still expected */
#ifndef TIDEMARK_REPLAY_REPLAY_STATE_H
#define TIDEMARK_REPLAY_REPLAY_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "accounting/path_curves.h"
#include "accounting/depths.h"
#include "accounting/devices.h"
#include "accounting/distributions.h"
#include "accounting/exchange.h"
#include "blocks/live.h"
#include "accounting/marks.h"
#include "accounting/separate_peaks.h"
#include "accounting/regions.h"
#include "replay/mapped_life.h"
#include "replay/replay.h"
#include "accounting/sites.h"
#include "accounting/replay_threads.h"
#include "accounting/timeline.h"
#include "accounting/weight.h"
#include "wire/wire.h"

/* Each handler exists twice: for recordings of every allocation and for sampled ones. The functions
 * that do the work have the mode as their last argument and are inlined into both handlers, so a
 * handler has no code for the other mode. */
#define EVENT static inline __attribute__((always_inline))
enum mode { EVERY, SAMPLED };

typedef void record_handler(struct replay *replay, const struct wire_record *record);
/* By mode and the first byte of a record; NULL: it makes no sense. */
extern record_handler *const replay_handlers[][256];

/* While a level is in [low, high], it is no new extreme of the timeline's interval, of the peaks or
 * of a watched peak. The level of the last step is in it, or low > high and the range is empty. So
 * a step that only raises the level compares with `high`, one that only lowers it with `low`. */
struct quiet {
    uint64_t low, high;
};
#define QUIET_NEVER ((struct quiet){UINT64_MAX, 0})

/* What events change of program_metrics: plain numbers, fields of the same names. */
struct program_counts {
    uint64_t live_peak_count; /* in the unit of live_count */
    uint64_t foreign_frees, replaced_blocks;
    uint64_t unmap_count, unmap_bytes, brk_count, brk_bytes;
    uint64_t events, late_events, lost_events, malformed_events;
};

/* What plain records change of the running thread and of the interval is kept here until something
 * else comes, and so are the limits of the levels that they must look at (plain_steps.h). */
enum { PLAIN_KINDS = WIRE_NEW_ARRAY - WIRE_MALLOC + 1 };
/* Frees first end the rises. PLAIN_OWES: frees are owed, so they are not plain. */
enum plain_rise { RISE_OF_PROGRAM = 1, RISE_OF_THREAD = 2, PLAIN_OWES = 4 };
struct plain_sums {
    bool is_on; /* else everything is settled */
    uint8_t rises;
    uint64_t frees_until;           /* the end of the interval; 0 while something rises, or frees
                                     * are owed */
    uint64_t low, high;             /* of live_bytes */
    uint64_t count_low, count_high; /* of live.count, which is live_count - pending_count */
    uint64_t pending_count;
    uint64_t newest_key; /* the slot's, of the running thread's newest block */
    /* program.events, live_bytes and live.count when all was settled */
    uint64_t first_events, first_bytes, first_count;
    uint64_t freed_bytes;
    uint64_t births[PLAIN_KINDS]; /* by kind, from WIRE_MALLOC on */
};

struct replay {
    /* the levels; live_bytes is the sum over all sites; live_count in the unit of weights */
    uint64_t live_bytes, live_count;
    uint64_t peak_bytes, peak_ticks; /* the first moment of the highest live_bytes */
    struct quiet quiet_bytes, quiet_count;
    uint64_t valley_least; /* down to here a fall only deepens the valley of separate_peaks.h */
    uint64_t last_ticks;
    struct plain_sums plain;
    struct replay_thread *running; /* the thread of the record that is replayed */
    uint64_t running_key;          /* live_code_key() of its blocks */
    uint64_t running_free;         /* the first word of a free ^ this: the key of such a block */
    uint32_t stream;
    struct live_table live;
    struct sites sites;
    struct timeline timeline;
    struct threads threads;
    struct peaks peaks;
    struct curves curves;
    struct exchanges exchanges;
    struct distributions *distributions;
    /* Frees that are missing, because their address was given out again. By address: size_bytes is
     * their number, and birth_ticks the birth of the block that showed the last one missing. */
    struct live_table owed;
    struct program_counts program;
    uint64_t sample_bytes; /* 0: every allocation is in the records */
    bool pages;            /* the sample is of pages */
    bool adapts;           /* each record has the level at which it was drawn */
    uint32_t owner_mask;   /* of a block's owner; above it lies the level where it
                                     * adapts */
    uint32_t alloc_rest,
        free_rest; /* of the timeline's counts, like those of struct replay_thread */
    struct depths depths;
    struct devices devices;
    struct regions regions;
    struct marks marks;
    struct live_table chunks; /* of pools, by address: their frees are no events */
    bool is_watched;          /* the program's level, or a thread's, is watched for its peak */
    bool watches_all;
    uint64_t watched_peak_bytes;
    struct mapped_state mapped;
};

/* From here on records are of the thread that the stream serves. */
static inline void replay_state_run(struct replay *replay, uint32_t stream)
{
    replay->stream = stream;
    replay->running = threads_of_stream(&replay->threads, stream);
    replay->running_key = live_code_key((uint32_t)(replay->running - replay->threads.all));
    replay->running_free = replay->running_key ^ (uint64_t)WIRE_FREE << 56;
}

static inline struct peaks_view replay_state_peaks_view(struct replay *replay)
{
    return (struct peaks_view){&replay->sites, &replay->curves};
}

/* ---- Clues ----------------------------------------------------------------------------------
 * What was looked up for a record before its turn. Only the hash is certainly still right. */

struct clue {
    uint64_t hash;   /* of its address */
    size_t slot;     /* where the live blocks may have it, or will */
    uint32_t number; /* of its call path + 1; 0: it has none, or is not known */
};

static inline struct clue replay_state_clue_of(const struct replay *replay, uint64_t address)
{
    uint64_t hash = live_hash(address);

    return (struct clue){hash, live_table_guess(&replay->live, hash), 0};
}

/* ---- Weights ------------------------------------------------------------------------------- */

EVENT struct weight replay_state_weigh(const struct replay *replay, uint64_t size_bytes,
                                       uint64_t slack_bytes, unsigned level, enum mode mode)
{
    if (mode == EVERY)
        return (struct weight){1, size_bytes, slack_bytes, 0};
    if (replay->pages)
        return weight_of_page_block(level, size_bytes, slack_bytes);
    return replay->adapts ? weight_of_level(level, size_bytes, slack_bytes)
                          : weight_of_sample(replay->sample_bytes, size_bytes, slack_bytes);
}

/* Where levels change, the highest three bits of a block's owner hold the block's level. */
enum { OWNER_LEVEL_SHIFT = 21 };
_Static_assert(WIRE_LEVELS <= 8 && 8u << OWNER_LEVEL_SHIFT == LIVE_NO_OWNER + 1,
               "the bits of an owner");

static inline bool replay_state_has_levels(const struct replay *replay)
{
    return replay->adapts || replay->pages;
}

static inline unsigned replay_state_level_of(const struct replay *replay,
                                             const struct live_block *block)
{
    return replay_state_has_levels(replay) ? live_block_owner(block) >> OWNER_LEVEL_SHIFT : 0;
}

EVENT struct weight replay_state_weigh_block(const struct replay *replay,
                                             const struct live_block *block, enum mode mode)
{
    return replay_state_weigh(replay, block->size_bytes, block->slack_bytes,
                              mode == EVERY ? 0 : replay_state_level_of(replay, block), mode);
}

/* How many whole blocks a weight adds to a count, with the rest from before. */
EVENT uint64_t replay_state_whole_blocks(struct weight weight, uint32_t *rest, enum mode mode)
{
    uint64_t parts = weight.count + (mode == SAMPLED ? *rest : 0);

    if (mode == EVERY)
        return parts;
    *rest = parts & ((1u << WEIGHT_SHIFT) - 1);
    return parts >> WEIGHT_SHIFT;
}

EVENT uint64_t replay_state_live_blocks(const struct replay *replay, enum mode mode)
{
    return mode == EVERY ? replay->live_count : weight_whole(replay->live_count);
}

static inline enum mode replay_state_mode_of(const struct replay *replay)
{
    return replay->sample_bytes ? SAMPLED : EVERY;
}

/* The sum of the lifetimes of all blocks that this one stands for, at most INT64_MAX. */
EVENT uint64_t replay_state_lifetimes_of(struct weight weight, uint64_t lifetime, enum mode mode)
{
    unsigned __int128 sum;

    if (mode == EVERY)
        return lifetime;
    sum = (unsigned __int128)lifetime * weight.count >> WEIGHT_SHIFT;
    return sum < INT64_MAX ? (uint64_t)sum : INT64_MAX;
}

#endif
