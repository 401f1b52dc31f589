/* How often each value occurred, for values of which few are common: sizes, differences of sizes.
 *
 *   value < 4096    direct   │ 0 │ 1 │ 2 │ … │      a counter each
 *   value >= 4096   slots    open addressing; doubles until it holds TALLY_VALUES values
 *
 * A value is added at its first occurrence or never, so each counter is exact. `others` counts the
 * occurrences of values that found no room.
 *
 * Invariants
 *   values <= TALLY_VALUES,   4 * values <= 3 * (mask + 1)
 *   occurrences of a value that is not in the table <= others */
#ifndef TIDEMARK_ACCOUNTING_TALLY_H
#define TIDEMARK_ACCOUNTING_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TALLY_DIRECT 4096u
#define TALLY_VALUES 65536u /* distinct values from TALLY_DIRECT on; 2 MiB of slots */

#define TALLY_GROUP 16u /* direct counters that are looked at together */

struct tally_entry {
    uint64_t value, count;
};

struct tally {
    uint64_t direct[TALLY_DIRECT];
    struct tally_entry *slots; /* value 0: empty */
    size_t mask, values;       /* values <= three quarters of the slots */
    uint64_t others;
};

void tally_release(struct tally *tally);
/* Makes a released tally empty again. */
void tally_clear(struct tally *tally);
size_t tally_memory_bytes(const struct tally *tally);

/* Multiplies all counts so far by 2^shift. */
void tally_scale(struct tally *tally, unsigned shift);

/* For values from TALLY_DIRECT on. */
void tally_add_large(struct tally *tally, uint64_t value, uint64_t count);

static inline void tally_add(struct tally *tally, uint64_t value, uint64_t count)
{
    if (value < TALLY_DIRECT)
        tally->direct[value] += count;
    else
        tally_add_large(tally, value, count);
}

/* The first value from `from` on that occurred and is counted directly; TALLY_DIRECT: none. */
uint64_t tally_next_direct(const struct tally *tally, uint64_t from);

/* Has none of the TALLY_GROUP values from `first` on occurred? */
static inline bool tally_is_group_empty(const struct tally *tally, uint64_t first)
{
    uint64_t any = 0;

    for (unsigned i = 0; i < TALLY_GROUP; i++)
        any |= tally->direct[first + i];
    return any == 0;
}

/* All their occurrences, and the sum of those values. */
struct tally_sum {
    uint64_t count, values;
};
struct tally_sum tally_sum_group(const struct tally *tally, uint64_t first);

/* The `room` commonest values, ascending; of two that are equally common the smaller is preferred.
 * Returns their number. */
size_t tally_commonest(const struct tally *tally, struct tally_entry *out, size_t room);

#endif
