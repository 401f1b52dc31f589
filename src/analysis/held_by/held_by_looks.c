/* All looks of one profile that say who holds what, side by side (held_by.h). A row is one in two
 * looks by the rule by which it is one in two profiles, so that two of the looks have what `held`
 * says of the snapshots that were taken then. */
#include "held_by/held_by_gather.h"

#include <errno.h>
#include <stdlib.h>

/* The samples that rows are of. malloc'd; NULL: no memory. */
static const struct profile_sample **held_by_looks_of(const struct profile *profile, size_t *count)
{
    const struct profile_sample **looks = calloc(profile->sample_count + 1, sizeof *looks);
    *count = 0;
    for (size_t i = 0; looks && i < profile->sample_count; i++) {
        size_t first = held_by_first_of(profile, profile->samples[i].id);
        if (first < profile->holder_count &&
            profile->holders[first].sample == profile->samples[i].id)
            looks[(*count)++] = &profile->samples[i];
    }
    return looks;
}

bool held_by_has_looks(const struct profile *profile)
{
    bool several = false;
    for (size_t i = 1; i < profile->holder_count && !several; i++)
        several = profile->holders[i].sample != profile->holders[0].sample;
    return several;
}

static void held_by_looks_keep_merged(struct held_by_row *row)
{
    if (row->most_merged < row->merged)
        row->most_merged = row->merged;
    row->merged = 0;
}

/* Of one look: what each row that there is so far keeps, and all. */
static int held_by_looks_add(struct held_by_looks *looks, struct gathering *gathering,
                             const struct profile_sample *sample)
{
    struct held_by *all = &looks->all;
    all->held = all->lost = (struct held_by_sum){0};
    for (size_t i = 0; i < all->count; i++) {
        all->rows[i].own = all->rows[i].retained = (struct held_by_sum){0};
        held_by_looks_keep_merged(&all->rows[i]);
    }
    all->now.sample = sample;
    int error = held_by_gather(gathering);
    struct held_by_look *look = &looks->list[looks->count];
    *look = (struct held_by_look){.sample = sample,
                                  .held = all->held,
                                  .lost = all->lost,
                                  .retained = calloc(all->count + 1, sizeof *look->retained),
                                  .count = all->count};
    looks->count++;
    if (!look->retained)
        return -ENOMEM;
    for (size_t i = 0; i < all->count; i++)
        look->retained[i] = all->rows[i].retained;
    return error;
}

int held_by_looks_find(struct held_by_looks *looks, const struct profile *profile,
                       const bool *hidden)
{
    size_t count;
    const struct profile_sample **samples = held_by_looks_of(profile, &count);
    *looks = (struct held_by_looks){.list = calloc(count + 1, sizeof *looks->list)};
    struct gathering gathering = {.holders = &looks->all, .side = &looks->all.now};
    bool there = samples && looks->list && held_by_begin_side(&looks->all.now, profile, hidden);
    int error = there ? 0 : -ENOMEM;
    for (size_t i = 0; i < count && !error; i++)
        error = held_by_looks_add(looks, &gathering, samples[i]);
    for (size_t i = 0; i < looks->all.count; i++)
        held_by_looks_keep_merged(&looks->all.rows[i]);
    map_release(&gathering.by_key);
    free(samples);
    if (error)
        held_by_looks_release(looks);
    return error;
}

void held_by_looks_release(struct held_by_looks *looks)
{
    for (size_t i = 0; i < looks->count; i++)
        free(looks->list[i].retained);
    free(looks->list);
    held_by_release(&looks->all);
    *looks = (struct held_by_looks){0};
}
