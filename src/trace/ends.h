/* Which lives the records of one block of events end, for a reader that has this block and nothing
 * before it (doc/FORMAT-trace.md, "Ends"). Most ends follow from the records:
 *
 *   a free told by its birth        ends that birth's life
 *   any other free                  ends a life from before the block, or none: an entry says which
 *   the beginning of a realloc      takes a life in the same way, its end ends that
 *
 * What comes out otherwise (two blocks at one address, frees that come late, reallocs that began
 * before the block) is told record by record. So a sum of these ends is always that of the digests,
 * whatever the records are. `ends_guess()` is the rule, the same for writer and reader.
 *
 * Inside the room. Out of memory ends the process, as in the tables of the replay, but where -ENOMEM
 * is said. */
#ifndef TIDEMARK_TRACE_ENDS_H
#define TIDEMARK_TRACE_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "trace/lives.h"
#include "trace/model.h"
#include "trace/numbers.h"

/* Behind the columns of the nets, in the paths of a block. */
enum ends_column {
    ENDS_HOW, /* an entry: 0 none, else how its path is told + 1; ENDS_SAME_SIZE */
    ENDS_NODE_T, ENDS_NODE_R,
    ENDS_SIZE_T, ENDS_SIZE_R,
    ENDS_ODD, /* a byte that is 1; varints: records since the last one; ends; node, size of each */
    ENDS_COLUMNS,
    ENDS_SAME_SIZE = 8,
};

/* ---- The rule ------------------------------------------------------------------------------ */

struct ends_pending {
    enum { ENDS_PENDING_NONE, ENDS_PENDING_LIFE } what;
    struct lives_life life;
};

/* Reallocs that have begun within the block, by stream. Those deeper than that are not kept, nor
 * those of later streams: their ends are told. */
enum { ENDS_DEPTH = 8, ENDS_STREAMS = 1 << 12 };
struct ends_stream {
    uint32_t depth;
    struct ends_pending pending[ENDS_DEPTH];
};
struct ends_reallocs {
    struct ends_stream *streams;
    size_t count;
};

/* Empties, and keeps the memory. */
void ends_reallocs_begin(struct ends_reallocs *reallocs);
void ends_reallocs_release(struct ends_reallocs *reallocs);

/* The kind of a record as levels see it. */
static inline unsigned ends_kind(uint64_t kind_address, bool sampled)
{
    unsigned kind = wire_kind(kind_address);

    return sampled ? lives_kind_of_sample(kind) : kind;
}

/* What a kind of records does to lives. Looked up: kinds come in no order that branches could learn. */
enum ends_role {
    ENDS_NOTHING, /* or begins one */
    ENDS_FREES,
    ENDS_BEGINS_REALLOC,
    ENDS_ENDS_REALLOC,
    ENDS_FAILS_REALLOC,
};
extern const unsigned char ends_roles[256];

/* Does a record of that kind end or take the life at its address? */
static inline bool ends_takes(unsigned kind, uint64_t address)
{
    return address && (ends_roles[kind] == ENDS_FREES || ends_roles[kind] == ENDS_BEGINS_REALLOC);
}

/* True: the record ends `*life`. `taken`: what it takes as far as entries and births tell, NULL:
 * nothing. */
bool ends_guess(struct ends_reallocs *reallocs, uint32_t stream, unsigned kind,
                const struct lives_life *taken, struct lives_life *life);

static inline bool ends_is_same(const struct lives_life *a, const struct lives_life *b)
{
    return a->node == b->node && a->size_bytes == b->size_bytes;
}

/* ---- Writing ------------------------------------------------------------------------------- */

struct ends_dictionary;

struct ends {
    struct ends_reallocs reallocs;
    struct lives_life *births;  /* by number in the block */
    struct lives_life *entries; /* node LIVES_NO_SERIAL: none lived there */
    uint32_t entry_count;
    uint32_t since_odd;
    struct byte_sink columns[ENDS_COLUMNS];
    struct ends_dictionary *dictionary;
};

int ends_init(struct ends *ends); /* -ENOMEM */
void ends_release(struct ends *ends);
void ends_begin_block(struct ends *ends);

/* After each record. `lives`: what it did; `freed`: the birth that told it, MODEL_NONE: none did;
 * `born`: its number if it is a birth that has one, else MODEL_NONE. */
void ends_record(struct ends *ends, const struct lives *lives, uint32_t stream,
                 const struct wire_record *record, uint32_t freed, uint32_t born);

/* The columns, until the next block begins. */
const struct byte_sink *ends_end_block(struct ends *ends, struct lives *lives);

/* ---- Reading ------------------------------------------------------------------------------- */

struct ends_reader {
    struct byte_source *columns; /* ENDS_COLUMNS */
    struct ends_reallocs reallocs;
    struct ends_dictionary *dictionary;
    uint64_t until_odd;
    bool has_odd;
};

/* Begin with all zero. -EBADMSG: the block does not tell ends; -ENOMEM. */
int ends_reader_begin(struct ends_reader *reader, struct byte_source columns[ENDS_COLUMNS]);
void ends_reader_release(struct ends_reader *reader);
/* What a record ends: how many, or -EBADMSG. Of a free told by a birth `freed` is the life that it
 * began, else NULL. */
int ends_read(struct ends_reader *reader, uint32_t stream, unsigned kind, uint64_t address,
              const struct lives_life *freed, struct lives_life ended[2]);

#endif
