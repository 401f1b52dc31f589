/* Gathers the owners of the look that has read the pages: call paths of one function, line and kind
 * become one row (content.h). */
#include "content/content.h"

#include <errno.h>
#include <stdlib.h>
#include "aggregate/facts.h"
#include "base/hash.h"
#include "base/map.h"

uint64_t content_sum_won(const struct content_sum *sum)
{
    return sum->zero + sum->copy + sum->compressible;
}

const char *content_missing(const struct profile *profile)
{
    const char *no_ledger = profile_get(profile, PROFILE_META_NO_LEDGER);
    if (facts_content_sample(profile))
        return NULL;
    if (!profile->owner_count && no_ledger)
        return no_ledger;
    if (!profile->owner_count)
        return "the recording has no look at the pages of the process";
    return "no look has read the pages: record with --page-content, or give the process while it "
           "is recorded";
}

/* ---- Rows ------------------------------------------------------------------------------------ */

struct content_gathering {
    struct content *content;
    struct map by_frame; /* of rows with a frame */
};

static struct content_row *content_row_new(struct content *content,
                                           const struct profile_owner *owner)
{
    struct content_row *row = &content->rows[content->row_count++];
    *row = (struct content_row){.kind = owner->kind, .named = owner};
    return row;
}

/* NULL: no memory. */
static struct content_row *content_row_of(struct content_gathering *gathering,
                                          const struct profile_owner *owner)
{
    struct content *content = gathering->content;
    struct frame_walk walk;
    if (!profile_owner_is_by_path(owner))
        return content_row_new(content, owner);
    struct frame frame = frame_walk_begin(&walk, content->profile, content->hidden, owner->path);
    uint64_t key = frame_key(content->profile, frame);
    uint64_t hash = hash_u64(key + (uint64_t)owner->kind);
    uint32_t number;
    for (struct map_probe probe = map_probe(&gathering->by_frame, hash);
         map_next(&probe, &number);) {
        struct content_row *row = &content->rows[number];
        if (row->kind == owner->kind && frame_key(content->profile, row->frame) == key)
            return row;
    }
    if (!map_try_add(&gathering->by_frame, hash, (uint32_t)content->row_count))
        return NULL;
    struct content_row *row = content_row_new(content, owner);
    row->frame = frame;
    return row;
}

static void content_sum_add(struct content_sum *sum, const struct profile_owner *owner)
{
    sum->resident += figure_or(owner->resident_bytes, 0);
    sum->zero += figure_or(owner->zero_bytes, 0);
    sum->copy += figure_or(owner->copy_bytes, 0);
    sum->compressible += figure_or(owner->compressible_bytes, 0);
}

static int content_add(struct content_gathering *gathering, const struct profile_owner *owner)
{
    struct content_row *row = content_row_of(gathering, owner);
    uint64_t bytes = figure_or(owner->resident_bytes, 0);
    if (!row)
        return -ENOMEM;
    content_sum_add(&row->sum, owner);
    content_sum_add(&gathering->content->all, owner);
    if (!row->node || bytes > row->node_bytes) {
        row->node = owner->path;
        row->node_bytes = bytes;
    }
    return 0;
}

static int content_compare_rows(const void *left, const void *right)
{
    const struct content_row *a = left, *b = right;
    uint64_t of_a = content_sum_won(&a->sum), of_b = content_sum_won(&b->sum);
    if (of_a != of_b)
        return of_a < of_b ? 1 : -1;
    if (a->sum.resident != b->sum.resident)
        return a->sum.resident < b->sum.resident ? 1 : -1;
    return (a->named > b->named) - (a->named < b->named);
}

static int content_gather(struct content *content)
{
    struct content_gathering gathering = {.content = content};
    const struct profile *profile = content->profile;
    content->rows = calloc(profile->owner_count + 1, sizeof *content->rows);
    int error = content->rows ? 0 : -ENOMEM;
    for (size_t i = 0; i < profile->owner_count && !error; i++)
        if (profile->owners[i].sample == content->sample->id &&
            figure_known(profile->owners[i].copy_bytes))
            error = content_add(&gathering, &profile->owners[i]);
    map_release(&gathering.by_frame);
    if (!error)
        qsort(content->rows, content->row_count, sizeof *content->rows, content_compare_rows);
    return error;
}

int content_find(struct content *content, const struct profile *profile)
{
    *content = (struct content){.profile = profile,
                                .sample = facts_content_sample(profile),
                                .hidden = frames_of_libraries(profile)};
    int error = content->hidden ? content_gather(content) : -ENOMEM;
    if (error)
        content_release(content);
    return error;
}

void content_release(struct content *content)
{
    free(content->hidden);
    free(content->rows);
    *content = (struct content){0};
}
