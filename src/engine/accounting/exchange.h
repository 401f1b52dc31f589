/* Which thread frees the blocks of which: a table of at most EXCHANGE_MAX pairs of threads. Pairs
 * beyond that share one row, `others`. Threads are indices of replay_thread(). */
#ifndef TIDEMARK_ACCOUNTING_EXCHANGE_H
#define TIDEMARK_ACCOUNTING_EXCHANGE_H

#include <stddef.h>
#include <stdint.h>
#include "base/hash.h"
#include "model/detail.h"

struct exchanges {
    struct exchange *slots; /* open addressing; count 0: empty */
    size_t mask, pairs;     /* pairs <= half of the slots */
    struct exchange others; /* beyond EXCHANGE_MAX pairs */
};

void exchanges_init(struct exchanges *exchanges);
void exchanges_release(struct exchanges *exchanges);
size_t exchanges_memory_bytes(const struct exchanges *exchanges);

/* The slot where the search for a pair begins. */
static inline size_t exchanges_home(const struct exchanges *exchanges, uint32_t owner,
                                    uint32_t freer)
{
    return hash_u64((uint64_t)owner << 32 | freer) & exchanges->mask;
}

/* The row of a pair; a new one has no count yet. */
struct exchange *exchanges_find(struct exchanges *exchanges, uint32_t owner, uint32_t freer);

/* `freer` has freed `count` blocks of `owner`'s (or 1024ths of blocks: weight.h). */
static inline void exchanges_add(struct exchanges *exchanges, uint32_t owner, uint32_t freer,
                                 uint64_t count, uint64_t bytes)
{
    struct exchange *row = &exchanges->slots[exchanges_home(exchanges, owner, freer)];

    if (row->owner != owner || row->freer != freer || !row->count)
        row = exchanges_find(exchanges, owner, freer);
    row->count += count;
    row->bytes += bytes;
}

/* Multiplies all counts so far by 2^shift, because later ones come in that smaller unit. */
void exchanges_scale(struct exchanges *exchanges, unsigned shift);

/* Each pair, in no order, and last the row of all pairs beyond EXCHANGE_MAX, if there are any. */
void exchanges_visit(const struct exchanges *exchanges,
                     void (*visit)(void *context, const struct exchange *exchange), void *context);

#endif
