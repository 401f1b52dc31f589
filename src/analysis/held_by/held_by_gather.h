/* How rows are gathered (held_by.c): for held_by_looks.c, which does it once for each look. */
#ifndef TIDEMARK_HELD_BY_HELD_BY_GATHER_H
#define TIDEMARK_HELD_BY_HELD_BY_GATHER_H

#include "base/map.h"
#include "held_by/held_by.h"

struct gathering {
    struct held_by *holders;
    const struct held_by_side *side;
    bool is_old;
    uint32_t *rows; /* of the sample's holders, in their order; HELD_BY_NONE: it has none */
    struct map by_key;
};

/* The index of the sample's first row, if it has any: rows are in the order of samples and of their
 * numbers. */
size_t held_by_first_of(const struct profile *profile, uint32_t sample);
/* What the side's sample has is added to the rows. 0 or -ENOMEM. */
int held_by_gather(struct gathering *gathering);
/* Makes rows of types of the rows of a tree. 0 or -ENOMEM. */
int held_by_fold_types(struct held_by *holders);

static inline void held_by_sum_add(struct held_by_sum *to, struct held_by_sum sum)
{
    to->count += sum.count;
    to->bytes += sum.bytes;
}
/* A line with the caller that tells the row from those of the others that would be shown by the
 * same words; nothing where there are none. */
void held_by_add_apart(struct strbuf *out, const struct style *style, const struct held_by *holders,
                       const uint32_t *siblings, size_t count, uint32_t number, size_t used);
/* A holder's name, or what it is where it has none. */
void held_by_add_name(struct strbuf *out, const struct profile_holder *holder);
/* "a, b and 28 more", in about so many columns. Safe. There is one at least. */
void held_by_add_together(struct strbuf *out, const struct held_by_side *side,
                          const struct held_by_together *together, size_t columns);
/* A line, or more, with what they have in common and what each of them reaches of `of`. */
void held_by_add_reach(struct strbuf *out, const struct style *style,
                       const struct held_by_together *together, const struct profile_holder *of,
                       size_t used);
/* `hidden`: frames_of_libraries(profile), if it is known already; it is copied. false: no
 * memory. */
bool held_by_begin_side(struct held_by_side *side, const struct profile *profile,
                        const bool *hidden);

#endif
