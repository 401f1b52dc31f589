/* Sums the types of live blocks of one look (live_types.h). Rows of the profile are by call path
 * and name: sorted by name, those of one name lie together. */
#include "aggregate/live_types.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Which look ------------------------------------------------------------------------------ */

static uint64_t live_types_bytes_at(const struct profile *profile, uint32_t sample)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < profile->block_type_count; i++)
        if (profile->block_types[i].sample == sample)
            bytes += profile->block_types[i].bytes;
    return bytes;
}

static const struct profile_sample *live_types_sample(const struct profile *profile)
{
    const struct profile_sample *best = NULL;
    uint64_t most = 0;
    for (size_t i = 0; i < profile->sample_count; i++) {
        const struct profile_sample *sample = &profile->samples[i];
        uint64_t bytes =
            figure_or(sample->class_count, 0) ? live_types_bytes_at(profile, sample->id) : 0;
        if (figure_known(sample->class_count) && (!best || bytes >= most)) {
            best = sample;
            most = bytes;
        }
    }
    return best;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static int live_types_compare_names(const void *left, const void *right)
{
    const struct live_type *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    return order ? order : (a->path > b->path) - (a->path < b->path);
}

static int live_types_compare(const void *left, const void *right)
{
    const struct live_type *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return strcmp(a->name, b->name);
}

static void live_types_gather(struct live_types *types, const struct profile *profile,
                              const bool *wanted)
{
    for (size_t i = 0; i < profile->block_type_count; i++) {
        const struct profile_block_type *row = &profile->block_types[i];
        if (row->sample != types->sample->id || (wanted && !wanted[row->path]))
            continue;
        types->rows[types->count++] =
            (struct live_type){row->name, row->count, row->bytes, row->path, row->bytes};
        types->blocks += row->count;
        types->bytes += row->bytes;
    }
}

static void live_types_join(struct live_types *types)
{
    size_t kept = 0;
    qsort(types->rows, types->count, sizeof *types->rows, live_types_compare_names);
    for (size_t i = 0; i < types->count; i++) {
        struct live_type *last = kept ? &types->rows[kept - 1] : NULL;
        if (!last || strcmp(last->name, types->rows[i].name)) {
            types->rows[kept++] = types->rows[i];
            continue;
        }
        last->count += types->rows[i].count;
        last->bytes += types->rows[i].bytes;
        if (types->rows[i].path_bytes > last->path_bytes) {
            last->path_bytes = types->rows[i].path_bytes;
            last->path = types->rows[i].path;
        }
    }
    types->count = kept;
    qsort(types->rows, kept, sizeof *types->rows, live_types_compare);
}

int live_types_init(struct live_types *types, const struct profile *profile, const bool *wanted)
{
    *types = (struct live_types){.sample = live_types_sample(profile),
                                 .unknown_count = FIGURE_UNKNOWN,
                                 .unknown_bytes = FIGURE_UNKNOWN};
    if (!types->sample)
        return 0;
    types->rows = calloc(profile->block_type_count + 1, sizeof *types->rows);
    if (!types->rows)
        return -ENOMEM;
    live_types_gather(types, profile, wanted);
    live_types_join(types);
    if (!wanted) {
        types->unknown_count = figure_sub(types->sample->live_count, figure_of(types->blocks));
        types->unknown_bytes = figure_sub(types->sample->requested_bytes, figure_of(types->bytes));
    }
    return 0;
}

void live_types_release(struct live_types *types)
{
    free(types->rows);
    *types = (struct live_types){0};
}
