/* Who keeps the live blocks: the rows that a look has left in a profile
 * (engine/graph/holder_tree.h), as a tree of one profile, or of two side by side.
 *
 *   row     a holder (variable, stack, mapping), or the blocks of a call path below one
 *   key     says what a row is and what it hangs below, alike in every profile of the program
 *
 * held_by.c gathers (held_by_looks.c all looks of one profile, held_by_types.c by type).
 * held_by_text.c, held_by_chain.c and held_by_json.c show. held_by_together.c says who holds
 * together what none of them holds alone.
 * Reads struct profile and nothing else. */
#ifndef TIDEMARK_HELD_BY_HELD_BY_H
#define TIDEMARK_HELD_BY_HELD_BY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "aggregate/frames.h"
#include "aggregate/path_types.h"
#include "base/json.h"
#include "format/style.h"
#include "profile/profile.h"

#define HELD_BY_CHOICE "holder|path|library|type"
enum held_by_what { HELD_BY_HOLDER, HELD_BY_PATH, HELD_BY_LIBRARY, HELD_BY_TYPE };

struct held_by_sum {
    uint64_t count, bytes;
};

struct held_by_row {
    const struct profile_holder *of; /* of the newer profile, or of the older where it is gone */
    bool is_old;                     /* it is of the older */
    uint32_t parent;                 /* index; HELD_BY_NONE: none */
    const char *type; /* of a row of HELD_BY_TYPE; NULL: of others, and of what is not shown */
    uint32_t depth;
    uint64_t key;
    struct held_by_sum own, retained, old; /* old: retained in the older profile */
    uint64_t merged;
    uint64_t most_merged;   /* the most at one of the looks before (held_by_looks.c) */
    uint32_t first_of_type; /* of HELD_BY_TYPE: its first row of the tree, + 1 */
    uint32_t first_below, last_below,
        next;         /* numbers of rows, + 1; 0: none. next: of its siblings */
    bool is_left_out; /* neither its call path nor one below it passes the filter */
};
#define HELD_BY_NONE UINT32_MAX

struct held_by_side {
    const struct profile *profile;
    const struct profile_sample *sample;
    bool *hidden, *none_hidden; /* by index of profile->lines */
};

struct held_by {
    struct held_by_side now, before; /* before.profile NULL: there is one profile */
    enum held_by_what by;
    const char *filter;       /* for people; NULL: all rows are shown */
    struct held_by_row *rows; /* a parent comes before its children */
    size_t count, room;
    uint32_t first, last; /* of the rows without a parent; as in them */
    struct held_by_sum held, lost, old_held, old_lost;
    struct path_types now_types, before_types; /* of HELD_BY_TYPE */
    uint32_t *next_of_type;     /* by row of the tree: the next of its type, + 1; 0: none */
    struct held_by_sum untyped; /* blocks that are held and of which the type is not known */
};

struct held_by_options {
    struct style style;
    size_t top;   /* rows below each */
    size_t depth; /* levels */
};

/* The last look that says who holds what; NULL: there is none. */
const struct profile_sample *held_by_sample(const struct profile *profile);
/* A sentence why it is not known; NULL: it is. */
const char *held_by_missing(const struct profile *profile);
/* Which call paths pass, by node of the profiles. */
struct held_by_passing {
    const char *filter; /* for people */
    const bool *now, *before;
};
/* Only where nothing is missing. `before` may be NULL. `passing`: leaves out rows whose blocks'
 * call paths, and those below them, do not pass; of HELD_BY_TYPE rows are of the blocks that pass.
 * What is held in all stays. NULL: all pass. 0 or -ENOMEM. */
int held_by_find(struct held_by *holders, const struct profile *now, const struct profile *before,
                 enum held_by_what by, const struct held_by_passing *passing);
/* The same of one profile and all call paths, where frames_of_libraries(profile) is known already;
 * it stays the caller's. NULL: it is not known. */
int held_by_find_hiding(struct held_by *holders, const struct profile *profile, const bool *hidden,
                        enum held_by_what by);
void held_by_release(struct held_by *holders);

/* ---- All looks of one profile ---------------------------------------------------------------- */

struct held_by_look {
    const struct profile_sample *sample;
    struct held_by_sum held, lost;
    struct held_by_sum *retained; /* by row */
    size_t count;                 /* later rows are not in this look */
};
struct held_by_looks {
    struct held_by all; /* rows of all looks; what they keep is by look */
    struct held_by_look *list;
    size_t count;
};
/* Is there more than one? */
bool held_by_has_looks(const struct profile *profile);
/* `hidden`: as of held_by_find_hiding(). 0 or -ENOMEM. */
int held_by_looks_find(struct held_by_looks *looks, const struct profile *profile,
                       const bool *hidden);
void held_by_looks_release(struct held_by_looks *looks);
/* Members of an object that is open. */
void held_by_looks_write(struct json *json, const struct held_by_looks *looks);

/* ---- Showing --------------------------------------------------------------------------------- */

static inline const struct held_by_side *held_by_side_of(const struct held_by *holders,
                                                         const struct held_by_row *row)
{
    return row->is_old ? &holders->before : &holders->now;
}
/* The library of a holder, without its folders; what it is where it has none. */
const char *held_by_library(const struct profile_holder *holder);
/* The same of several: the one of all of them, or "several". */
const char *held_by_library_of(const struct held_by_side *side,
                               const struct profile_holder *holder);
/* "variable of libx.so", "stack of a thread" … Safe. */
void held_by_add_what(struct strbuf *out, const struct profile_holder *holder);
/* Name and what it is, in a few words. Safe. */
void held_by_add_short(struct strbuf *out, const struct held_by_side *side,
                       const struct profile_holder *holder);
/* What follows name and call path of a holder on its line. `used`: columns before it. */
void held_by_add_line(struct strbuf *out, const struct style *style,
                      const struct held_by_side *side, const struct profile_holder *holder,
                      size_t used, bool strong);

/* The holders of what is several's. */
struct held_by_together {
    const struct profile_sharer *list; /* the nearest, then by what they reach */
    size_t count;                      /* 0: not known, as in older recordings */
    struct figure more; /* holders beside the list; unknown: there may be any number */
};
struct held_by_together held_by_together_of(const struct profile *profile,
                                            const struct profile_holder *of);
/* The library that all of them are of, as held_by_library(); "several": there is none. */
const char *held_by_together_library(const struct held_by_together *together);

/* Indices of the children of `parent`, those that matter most first. malloc'd; NULL: no memory. */
uint32_t *held_by_children(const struct held_by *holders, uint32_t parent, size_t *count);

/* 0 or -errno of the stream. */
int held_by_text(FILE *out, const struct held_by *holders, const struct held_by_options *options);
int held_by_json(FILE *out, const struct held_by *holders);
/* The same as members of an object that is open. */
void held_by_write(struct json *json, const struct held_by *holders);
/* How the block that was asked for is held. */
bool held_by_has_chain(const struct profile *profile);
int held_by_chain_text(FILE *out, const struct held_by *holders, const struct style *style);
int held_by_chain_json(FILE *out, const struct held_by *holders);

#endif
