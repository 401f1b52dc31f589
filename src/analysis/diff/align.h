/* Puts the calls in a function before and after in line, as diff does with lines of text: order is
 * kept, line numbers may differ. Inside the room.
 *
 *   before   10 parse   12 malloc   20 malloc
 *   after    15 parse   17 malloc   21 malloc   25 malloc      +5 above, and a new one in between
 *            └ 10       └ 12        └ new       └ 20 */
#ifndef TIDEMARK_DIFF_ALIGN_H
#define TIDEMARK_DIFF_ALIGN_H

#include <stddef.h>
#include <stdint.h>

struct align_call {
    uint32_t line;
    uint32_t callee; /* only calls of the same callee are paired */
};

enum { ALIGN_NONE = -1, ALIGN_PAIRS_MAX = 2048 };

/* Both sorted by line, then callee. partner[i]: the index in `after` of before[i], or ALIGN_NONE.
 * Of all ways to pair calls of the same callee in order, the one that is worth most
 * (align_score()): many pairs, whose distances are kept. Beyond ALIGN_PAIRS_MAX possible pairs: the
 * k-th call of a callee is paired with its k-th. -ENOMEM: out of memory. */
int align_calls(const struct align_call *before, size_t before_count,
                const struct align_call *after, size_t after_count, int32_t *partner);

/* What a way is worth: the more the better. */
int64_t align_score(const struct align_call *before, size_t before_count,
                    const struct align_call *after, const int32_t *partner);

#endif
