/* Histograms of sizes, lifetimes and reallocs (distributions.h). Births are differences between two
 * states of one tally, taken whenever a column ends. Coarser histograms are summed from the finer
 * ones when they are listed. */
#include "accounting/distributions.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "blocks/arena.h"

struct distributions *distributions_new(uint64_t start_ticks, unsigned bucket_shift)
{
    struct arena memory = {0};
    arena_grow(&memory, sizeof(struct distributions));
    struct distributions *distributions = memory.base;

    distributions->memory = memory;
    distributions->start_ticks = start_ticks;
    distributions->shift = bucket_shift + DISTRIBUTIONS_COLUMN_SHIFT;
    return distributions;
}

/* As bits. */
static uint64_t distributions_lives_used(const struct distributions *distributions)
{
    uint64_t used = 0;

    for (unsigned size = 0; size < COARSE_SIZES; size++)
        used |= (uint64_t)distributions->lives_used[size] << size;
    return used;
}

/* Clears what was written. Columns were never merged, so only the first ones were written. */
static void distributions_clear(struct distributions *distributions)
{
    uint64_t lives = distributions_lives_used(distributions);
    uint64_t reallocs = distributions->reallocs_used;

    for (; lives; lives &= lives - 1)
        memset(distributions->lives[__builtin_ctzll(lives)], 0, sizeof *distributions->lives);
    for (; reallocs; reallocs &= reallocs - 1)
        memset(distributions->reallocs[__builtin_ctzll(reallocs)], 0,
               sizeof *distributions->reallocs);
    memset(distributions->columns, 0,
           (distributions->current + 1) * sizeof *distributions->columns);
    memset(distributions->large, 0, sizeof distributions->large);
    memset(distributions->lives_used, 0, sizeof distributions->lives_used);
    distributions->reallocs_used = 0;
    tally_clear(&distributions->sizes);
    tally_clear(&distributions->growths);
    tally_clear(&distributions->shrinks);
    memset(distributions->before, 0,
           sizeof *distributions - offsetof(struct distributions, before));
}

void distributions_free(struct distributions *distributions)
{
    tally_release(&distributions->sizes);
    tally_release(&distributions->growths);
    tally_release(&distributions->shrinks);
    struct arena memory = distributions->memory;
    if (distributions->merged) {
        arena_release(&memory);
        return;
    }
    distributions_clear(distributions);
    arena_release_used(&memory, 0);
}

size_t distributions_memory_bytes(const struct distributions *distributions)
{
    return sizeof *distributions + tally_memory_bytes(&distributions->sizes) +
           tally_memory_bytes(&distributions->growths) +
           tally_memory_bytes(&distributions->shrinks) - 3 * sizeof(struct tally);
}

static void distributions_add_bin(struct distribution_bin *into, struct distribution_bin bin)
{
    into->count += bin.count;
    into->bytes += bin.bytes;
}

/* ---- Births -------------------------------------------------------------------------------- */

static struct distribution_bin distributions_born_of_size(const struct distributions *distributions,
                                                          uint64_t size_bytes)
{
    uint64_t count = distributions->sizes.direct[size_bytes];

    return (struct distribution_bin){count, count * size_bytes};
}

static void distributions_born_coarse(const struct distributions *distributions,
                                      struct distribution_bin bins[COARSE_SIZES])
{
    memset(bins, 0, COARSE_SIZES * sizeof *bins);
    for (uint64_t size = 0; size < TALLY_GROUP; size++)
        distributions_add_bin(&bins[distributions_coarse_bin(size)],
                              distributions_born_of_size(distributions, size));
    for (uint64_t size = TALLY_GROUP; size < TALLY_DIRECT; size += TALLY_GROUP) {
        struct tally_sum sum;
        if (tally_is_group_empty(&distributions->sizes, size))
            continue;
        sum = tally_sum_group(&distributions->sizes, size); /* all in one bin */
        distributions_add_bin(&bins[distributions_coarse_bin(size)],
                              (struct distribution_bin){sum.count, sum.values});
    }
    for (unsigned fine = 0; fine < FINE_SIZES; fine++)
        if (distributions->large[fine].count)
            distributions_add_bin(&bins[distributions_coarse_bin(distributions_fine_bound(fine))],
                                  distributions->large[fine]);
}

static void distributions_born_fine(const struct distributions *distributions,
                                    struct distribution_bin bins[FINE_SIZES])
{
    memcpy(bins, distributions->large, sizeof distributions->large);
    for (uint64_t size = tally_next_direct(&distributions->sizes, 0); size < TALLY_DIRECT;
         size = tally_next_direct(&distributions->sizes, size + 1))
        distributions_add_bin(&bins[distributions_fine_bin(size)],
                              distributions_born_of_size(distributions, size));
}

static void distributions_close_column(struct distributions *distributions)
{
    struct distribution_bin *column = distributions->columns[distributions->current];
    struct distribution_bin now[COARSE_SIZES];

    distributions_born_coarse(distributions, now);
    for (unsigned i = 0; i < COARSE_SIZES; i++) {
        column[i].count += now[i].count - distributions->before[i].count;
        column[i].bytes += now[i].bytes - distributions->before[i].bytes;
    }
    memcpy(distributions->before, now, sizeof now);
}

static void distributions_merge_columns(struct distributions *distributions)
{
    struct distribution_bin(*columns)[COARSE_SIZES] = distributions->columns;

    for (size_t i = 0; i < DISTRIBUTIONS_COLUMNS; i++) {
        if (i % 2 == 0) {
            memmove(columns[i / 2], columns[i], sizeof *columns);
            continue;
        }
        for (unsigned bin = 0; bin < COARSE_SIZES; bin++)
            distributions_add_bin(&columns[i / 2][bin], columns[i][bin]);
    }
    memset(columns[DISTRIBUTIONS_COLUMNS / 2], 0, DISTRIBUTIONS_COLUMNS / 2 * sizeof *columns);
    distributions->shift++;
    distributions->merged = true;
}

void distributions_advance(struct distributions *distributions, uint64_t ticks)
{
    uint64_t offset = ticks - distributions->start_ticks;

    if (offset >> distributions->shift == distributions->current)
        return;
    distributions_close_column(distributions);
    while (offset >> distributions->shift >= DISTRIBUTIONS_COLUMNS)
        distributions_merge_columns(distributions);
    distributions->current = offset >> distributions->shift;
}

static void distributions_scale_bins(struct distribution_bin *bins, size_t count, unsigned shift)
{
    for (size_t i = 0; i < count; i++) {
        bins[i].count <<= shift;
        bins[i].bytes <<= shift;
    }
}

void distributions_scale(struct distributions *distributions, unsigned shift)
{
    tally_scale(&distributions->sizes, shift);
    tally_scale(&distributions->growths, shift);
    tally_scale(&distributions->shrinks, shift);
    distributions_scale_bins(distributions->large, FINE_SIZES, shift);
    distributions_scale_bins(distributions->before, COARSE_SIZES, shift);
    for (uint64_t left = distributions_lives_used(distributions); left; left &= left - 1)
        distributions_scale_bins(distributions->lives[__builtin_ctzll(left)], FINE_BINS, shift);
    for (uint64_t left = distributions->reallocs_used; left; left &= left - 1)
        distributions_scale_bins(distributions->reallocs[__builtin_ctzll(left)], COARSE_SIZES,
                                 shift);
    for (size_t i = 0; i <= distributions->current; i++)
        distributions_scale_bins(distributions->columns[i], COARSE_SIZES, shift);
}

/* ---- Listing -------------------------------------------------------------------------------- */

struct distributions_listing {
    void (*visit)(void *context, const struct distribution_row *row);
    void *context;
    enum distribution_kind kind;
};

static void distributions_list(const struct distributions_listing *listing, uint64_t x, uint64_t y,
                               struct distribution_bin bin)
{
    struct distribution_row row = {listing->kind, x, y, bin.count, bin.bytes};

    if (bin.count)
        listing->visit(listing->context, &row);
}

static void distributions_list_sizes(const struct distributions *distributions,
                                     const struct distributions_listing *listing)
{
    struct distribution_bin bins[FINE_SIZES];

    distributions_born_fine(distributions, bins);
    for (unsigned i = 0; i < FINE_SIZES; i++)
        distributions_list(listing, distributions_fine_bound(i), 0, bins[i]);
}

static void distributions_list_tally(const struct tally *tally,
                                     const struct distributions_listing *listing)
{
    struct tally_entry entries[DISTRIBUTION_COMMONEST];
    size_t count = tally_commonest(tally, entries, DISTRIBUTION_COMMONEST);

    for (size_t i = 0; i < count; i++)
        distributions_list(
            listing, entries[i].value, 0,
            (struct distribution_bin){entries[i].count, entries[i].count * entries[i].value});
    distributions_list(listing, DISTRIBUTION_OTHERS, 0,
                       (struct distribution_bin){tally->others, 0});
}

static unsigned distributions_lowest(uint64_t bits)
{
    return (unsigned)__builtin_ctzll(bits);
}

static void distributions_list_lifetimes(const struct distributions *distributions,
                                         const struct distributions_listing *listing)
{
    uint64_t used = distributions_lives_used(distributions);

    for (unsigned lifetime = 0; used && lifetime < FINE_BINS; lifetime++) {
        struct distribution_bin bin = {0, 0};
        for (uint64_t left = used; left; left &= left - 1)
            distributions_add_bin(&bin, distributions->lives[distributions_lowest(left)][lifetime]);
        distributions_list(listing, distributions_fine_bound(lifetime), 0, bin);
    }
}

static struct distribution_bin distributions_life_bin(const struct distributions *distributions,
                                                      unsigned size, unsigned coarse)
{
    struct distribution_bin bin = {0, 0};
    unsigned first = distributions_fine_bin(distributions_coarse_bound(coarse));

    for (unsigned fine = first;
         fine < FINE_BINS && distributions_coarse_bin(distributions_fine_bound(fine)) == coarse;
         fine++)
        distributions_add_bin(&bin, distributions->lives[size][fine]);
    return bin;
}

static void distributions_list_lives(const struct distributions *distributions,
                                     const struct distributions_listing *listing)
{
    uint64_t used = distributions_lives_used(distributions);

    for (unsigned lifetime = 0; lifetime < COARSE_BINS; lifetime++)
        for (uint64_t left = used; left; left &= left - 1) {
            unsigned size = distributions_lowest(left);
            distributions_list(listing, distributions_coarse_bound(lifetime),
                               distributions_coarse_bound(size),
                               distributions_life_bin(distributions, size, lifetime));
        }
}

static struct distribution_bin
distributions_column_bin(const struct distributions *distributions,
                         const struct distribution_bin now[COARSE_SIZES], size_t column,
                         unsigned size)
{
    struct distribution_bin bin = distributions->columns[column][size];

    if (column == distributions->current) {
        bin.count += now[size].count - distributions->before[size].count;
        bin.bytes += now[size].bytes - distributions->before[size].bytes;
    }
    return bin;
}

/* A reading of /proc may have run ahead of the events, so that the timeline has halved its
 * resolution already and these columns have not. */
static void distributions_list_columns(const struct distributions *distributions,
                                       unsigned bucket_shift,
                                       const struct distributions_listing *listing)
{
    unsigned shift = bucket_shift + DISTRIBUTIONS_COLUMN_SHIFT;
    unsigned behind = shift - distributions->shift;
    size_t width = behind < 8 ? (size_t)1 << behind : DISTRIBUTIONS_COLUMNS;
    struct distribution_bin now[COARSE_SIZES];

    distributions_born_coarse(distributions, now);
    for (size_t first = 0; first <= distributions->current; first += width)
        for (unsigned size = 0; size < COARSE_SIZES; size++) {
            struct distribution_bin bin = {0, 0};
            if (!now[size].count)
                continue; /* in no column */
            for (size_t i = first; i < first + width; i++)
                distributions_add_bin(&bin, distributions_column_bin(distributions, now, i, size));
            distributions_list(
                listing, distributions->start_ticks + ((uint64_t)first << distributions->shift),
                distributions_coarse_bound(size), bin);
        }
}

static void distributions_list_reallocs(const struct distributions *distributions,
                                        const struct distributions_listing *listing)
{
    for (uint64_t left = distributions->reallocs_used; left; left &= left - 1) {
        unsigned from = distributions_lowest(left);
        for (unsigned to = 0; to < COARSE_SIZES; to++)
            distributions_list(listing, distributions_coarse_bound(from),
                               distributions_coarse_bound(to), distributions->reallocs[from][to]);
    }
}

void distributions_visit(const struct distributions *distributions, unsigned bucket_shift,
                         void (*visit)(void *context, const struct distribution_row *row),
                         void *context)
{
    struct distributions_listing listings[DISTRIBUTION_KINDS];

    for (unsigned kind = 0; kind < DISTRIBUTION_KINDS; kind++)
        listings[kind] = (struct distributions_listing){visit, context, kind};
    distributions_list_sizes(distributions, &listings[DISTRIBUTION_SIZE]);
    distributions_list_tally(&distributions->sizes, &listings[DISTRIBUTION_SIZE_EXACT]);
    distributions_list_lifetimes(distributions, &listings[DISTRIBUTION_LIFETIME]);
    distributions_list_lives(distributions, &listings[DISTRIBUTION_LIFETIME_SIZE]);
    distributions_list_columns(distributions, bucket_shift, &listings[DISTRIBUTION_TIME_SIZE]);
    distributions_list_reallocs(distributions, &listings[DISTRIBUTION_REALLOC]);
    distributions_list_tally(&distributions->growths, &listings[DISTRIBUTION_REALLOC_GROW]);
    distributions_list_tally(&distributions->shrinks, &listings[DISTRIBUTION_REALLOC_SHRINK]);
}
