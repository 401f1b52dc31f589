/* Which lives the records of one block of events end (doc/FORMAT-trace.md, "Ends"). A life is the
 * time of a block of memory from its birth to its end. A reader needs this when it has this block
 * of events and no earlier one. Most ends follow from the records:
 *
 *   a free told by its birth        ends that birth's life
 *   any other free                  ends a life from before the block, or none: an entry says which
 *   the beginning of a realloc      takes a life in the same way, its end ends that
 *
 * All other ends are told record by record: two blocks at one address, late frees, reallocs that
 * began before the block. So a sum of these ends always equals the sum of the digests, whatever the
 * records are. The rule is block_ends_guess(), the same for writer and reader.
 *
 * Inside the room. Out of memory ends the process, as in the tables of the replay, but where
 * -ENOMEM is said. */
#ifndef TIDEMARK_TRACE_BLOCK_ENDS_H
#define TIDEMARK_TRACE_BLOCK_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "trace/live_set.h"
#include "trace/prediction.h"
#include "trace/numbers.h"

/* Behind the columns of the net deltas, in the paths of a block. */
enum block_ends_column {
    ENDS_HOW, /* an entry: 0 none, else how its path is told + 1; ENDS_SAME_SIZE */
    ENDS_NODE_T,
    ENDS_NODE_R,
    ENDS_SIZE_T,
    ENDS_SIZE_R,
    ENDS_ODD, /* a byte that is 1; varints: records since the last one; ends; node, size of each */
    ENDS_COLUMNS,
    ENDS_SAME_SIZE = 8,
};

/* ---- The rule ------------------------------------------------------------------------------ */

struct block_ends_pending {
    enum { ENDS_PENDING_NONE, ENDS_PENDING_LIFE } what;
    struct live_set_life life;
};

/* Reallocs that have begun within the block, by stream. Those deeper than that are not kept, nor
 * those of later streams: their ends are told. */
enum { ENDS_DEPTH = 8, ENDS_STREAMS = 1 << 12 };
struct block_ends_stream {
    uint32_t depth;
    struct block_ends_pending pending[ENDS_DEPTH];
};
struct block_ends_reallocs {
    struct block_ends_stream *streams;
    size_t count;
};

/* Empties, and keeps the memory. */
void block_ends_reallocs_begin(struct block_ends_reallocs *reallocs);
void block_ends_reallocs_release(struct block_ends_reallocs *reallocs);

/* The class of a record as levels see it. */
static inline enum record_class block_ends_class(uint64_t kind_address, bool sampled)
{
    return (enum record_class)record_classes[sampled][wire_kind(kind_address)];
}

/* Can a record of the class end a life, or take one? The classes follow each other, so that this is
 * one comparison: kinds come in no order that branches could learn. */
static inline bool block_ends_concerns(enum record_class class)
{
    return class >= RECORD_FREE && class <= RECORD_REALLOC_FAILED;
}

/* Does a record end or take the life at its address? */
static inline bool block_ends_takes(enum record_class class, uint64_t address)
{
    return address && class >= RECORD_FREE && class <= RECORD_REALLOC_BEGIN;
}

/* True: the record ends `*life`. `taken`: what it takes as far as entries and births tell, NULL:
 * nothing. */
bool block_ends_guess(struct block_ends_reallocs *reallocs, uint32_t stream,
                      enum record_class class, const struct live_set_life *taken,
                      struct live_set_life *life);

static inline bool block_ends_is_same(const struct live_set_life *a, const struct live_set_life *b)
{
    return a->node == b->node && a->size_bytes == b->size_bytes;
}

/* ---- Writing ------------------------------------------------------------------------------- */

struct block_ends_dictionary;

struct block_ends {
    struct block_ends_reallocs reallocs;
    struct live_set_life *births;  /* by number in the block */
    struct live_set_life *entries; /* node LIVE_SET_NO_SERIAL: none lived there */
    uint32_t entry_count;
    uint32_t since_odd;
    struct byte_sink columns[ENDS_COLUMNS];
    struct block_ends_dictionary *dictionary;
};

int block_ends_init(struct block_ends *ends); /* -ENOMEM */
void block_ends_release(struct block_ends *ends);
void block_ends_begin_block(struct block_ends *ends);

/* After each record. `lives`: what it did; `freed`: the birth that told it, MODEL_NONE: none did;
 * `born`: its number if it is a birth that has one, else MODEL_NONE. */
void block_ends_record(struct block_ends *ends, const struct live_set *lives, uint32_t stream,
                       const struct wire_record *record, uint32_t freed, uint32_t born);

/* The columns, until the next block begins. */
const struct byte_sink *block_ends_end_block(struct block_ends *ends, struct live_set *lives);

/* ---- Reading ------------------------------------------------------------------------------- */

struct block_ends_reader {
    struct byte_source *columns; /* ENDS_COLUMNS */
    struct block_ends_reallocs reallocs;
    struct block_ends_dictionary *dictionary;
    uint64_t until_odd;
    bool has_odd;
};

/* Begin with all zero. -EBADMSG: the block does not tell ends; -ENOMEM. */
int block_ends_reader_begin(struct block_ends_reader *reader,
                            struct byte_source columns[ENDS_COLUMNS]);
void block_ends_reader_release(struct block_ends_reader *reader);
/* What a record ends: how many, or -EBADMSG. Of a free told by a birth `freed` is the life that it
 * began, else NULL. */
int block_ends_read(struct block_ends_reader *reader, uint32_t stream, enum record_class class,
                    uint64_t address, const struct live_set_life *freed,
                    struct live_set_life ended[2]);

#endif
