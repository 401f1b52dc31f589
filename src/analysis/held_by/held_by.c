/* Gathers the rows of one or two profiles (held_by.h). Rows of two profiles are one if their keys
 * are equal: numbers of call paths differ from one recording to the next, names do not. */
#include "held_by/held_by_gather.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "aggregate/facts.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/search.h"

static const struct profile_sample *held_by_sample_of(const struct profile *profile, uint32_t id)
{
    for (size_t i = profile->sample_count; i-- > 0;)
        if (profile->samples[i].id == id)
            return &profile->samples[i];
    return NULL;
}

/* The newest look. Of an interpreter it is the look before its end, since little is left at the
 * end. */
const struct profile_sample *held_by_sample(const struct profile *profile)
{
    const struct profile_sample *sample = NULL;
    for (size_t i = profile->holder_count; i-- > 0;) {
        if (sample && sample->id == profile->holders[i].sample)
            continue;
        const struct profile_sample *before =
            held_by_sample_of(profile, profile->holders[i].sample);
        if (before && before->why == PROFILE_SAMPLE_BEFORE_END)
            return before;
        sample = sample ? sample : before;
        if (sample && before != sample)
            break;
    }
    return sample;
}

const char *held_by_missing(const struct profile *profile)
{
    const char *no_graph = profile_get(profile, PROFILE_META_NO_GRAPH);
    const char *no_ledger = profile_get(profile, PROFILE_META_NO_LEDGER);
    if (held_by_sample(profile))
        return NULL;
    if (no_graph || no_ledger)
        return no_graph ? no_graph : no_ledger;
    const struct profile_sample *graph = facts_graph_sample(profile);
    if (graph && figure_equal(graph->live_count, figure_of(0)))
        return "no block was alive";
    if (graph)
        return "nobody asked for it (tidemark record --held, or tidemark held PID while it runs), "
               "or the recording is of an older version";
    if (!profile->complete)
        return "the program still runs, and no snapshot was taken: tidemark held PID takes one";
    return "the recording has no look at the live blocks at the program's end: it was killed, or "
           "recorded by an older version (tidemark held PID looks while it runs)";
}

/* ---- Keys ------------------------------------------------------------------------------------ */

const char *held_by_library(const struct profile_holder *holder)
{
    if (holder->module) {
        const char *slash = strrchr(holder->module, '/');
        return slash ? slash + 1 : holder->module;
    }
    return profile_holder_names[holder->kind];
}

const char *held_by_library_of(const struct held_by_side *side, const struct profile_holder *holder)
{
    struct held_by_together together = held_by_together_of(side->profile, holder);
    return holder->kind == PROFILE_HOLDER_SEVERAL && together.count
               ? held_by_together_library(&together)
               : held_by_library(holder);
}

static uint64_t held_by_hash_text(uint64_t hash, const char *text)
{
    return hash_u64(hash ^ (text ? hash_bytes(text, strlen(text)) : 0));
}

/* Of all frames, hidden ones too, so that a map's own blocks and its values' have different
 * keys. */
static uint64_t held_by_hash_path(uint64_t hash, const struct held_by_side *side, uint32_t node)
{
    struct frame_walk walk = {side->profile, side->none_hidden, node, 0};
    struct frame frame;
    struct strbuf name = STRBUF_INIT;
    while (frame_walk_next(&walk, &frame)) {
        uint32_t line = 0;
        strbuf_reset(&name);
        frame_add_name(&name, side->profile, frame);
        frame_file(side->profile, frame, &line);
        hash = held_by_hash_text(hash + line, name.data);
    }
    strbuf_release(&name);
    return hash;
}

static uint64_t held_by_key(const struct held_by *holders, const struct held_by_side *side,
                            const struct profile_holder *of, uint64_t above)
{
    uint64_t hash = hash_u64(above + (uint64_t)of->kind + 1);
    if (holders->by == HELD_BY_LIBRARY)
        return held_by_hash_text(1, held_by_library_of(side, of));
    hash = held_by_hash_text(hash, of->name);
    hash = of->module ? held_by_hash_text(hash, held_by_library(of)) : hash;
    return of->path ? held_by_hash_path(hash, side, of->path) : hash;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* The last row becomes its parent's last. */
static void held_by_link(struct held_by *holders)
{
    uint32_t number = (uint32_t)holders->count, parent = holders->rows[number - 1].parent;
    struct held_by_row *above = parent == HELD_BY_NONE ? NULL : &holders->rows[parent];
    uint32_t *first = above ? &above->first_below : &holders->first;
    uint32_t *last = above ? &above->last_below : &holders->last;
    if (*last)
        holders->rows[*last - 1].next = number;
    else
        *first = number;
    *last = number;
}

static uint32_t held_by_row(struct gathering *gathering, const struct profile_holder *of,
                            uint32_t parent)
{
    struct held_by *holders = gathering->holders;
    uint64_t above = parent == HELD_BY_NONE ? 0 : holders->rows[parent].key;
    uint64_t key = held_by_key(holders, gathering->side, of, above);
    uint32_t row;
    for (struct map_probe probe = map_probe(&gathering->by_key, key); map_next(&probe, &row);)
        if (holders->rows[row].key == key)
            return row;
    if (!array_make_room(&holders->rows, &holders->room, holders->count, sizeof *holders->rows) ||
        !map_try_add(&gathering->by_key, key, (uint32_t)holders->count))
        return HELD_BY_NONE;
    holders->rows[holders->count] =
        (struct held_by_row){.of = of,
                             .is_old = gathering->is_old,
                             .parent = parent,
                             .depth = parent == HELD_BY_NONE ? 0 : holders->rows[parent].depth + 1,
                             .key = key};
    holders->count++;
    held_by_link(holders);
    return (uint32_t)holders->count - 1;
}

static struct held_by_sum held_by_retained_of(const struct profile_holder *of)
{
    return (struct held_by_sum){of->retained_count, of->retained_bytes};
}

static void held_by_count_in(struct gathering *gathering, uint32_t row,
                             const struct profile_holder *of)
{
    struct held_by_row *to = &gathering->holders->rows[row];
    if (gathering->is_old) {
        held_by_sum_add(&to->old, held_by_retained_of(of));
        return;
    }
    to->merged += of->merged;
    held_by_sum_add(&to->own, (struct held_by_sum){of->own_count, of->own_bytes});
    held_by_sum_add(&to->retained, held_by_retained_of(of));
}

static void held_by_count_all(struct gathering *gathering, const struct profile_holder *of)
{
    struct held_by *holders = gathering->holders;
    bool is_lost = of->kind == PROFILE_HOLDER_LOST, is_old = gathering->is_old;
    if (of->parent || of->kind == PROFILE_HOLDER_PATH)
        return;
    struct held_by_sum *now = is_lost ? &holders->lost : &holders->held;
    struct held_by_sum *old = is_lost ? &holders->old_lost : &holders->old_held;
    held_by_sum_add(is_old ? old : now, held_by_retained_of(of));
}

static bool held_by_is_shown(enum held_by_what by, const struct profile_holder *of)
{
    if (of->kind == PROFILE_HOLDER_LOST)
        return false; /* it has a line of its own */
    if (by == HELD_BY_PATH || of->kind == PROFILE_HOLDER_PATH)
        return by == HELD_BY_PATH && of->kind == PROFILE_HOLDER_PATH;
    return by == HELD_BY_HOLDER || by == HELD_BY_TYPE || !of->parent;
}

/* The row of a holder that is in front of the one at `at`. */
static uint32_t held_by_row_of(const struct gathering *gathering,
                               const struct profile_holder *holders, size_t at, uint32_t id)
{
    size_t found = 0;
    SEARCH_FIRST(found, at, i, holders[i].id < id);
    return found < at && holders[found].id == id ? gathering->rows[found] : HELD_BY_NONE;
}

static int held_by_add(struct gathering *gathering, const struct profile_holder *holders, size_t at)
{
    const struct profile_holder *of = &holders[at];
    held_by_count_all(gathering, of);
    if (!held_by_is_shown(gathering->holders->by, of))
        return 0;
    uint32_t parent =
        of->parent ? held_by_row_of(gathering, holders, at, of->parent) : HELD_BY_NONE;
    uint32_t row = held_by_row(gathering, of, parent);
    if (row == HELD_BY_NONE)
        return -ENOMEM;
    gathering->rows[at] = row;
    held_by_count_in(gathering, row, of);
    return 0;
}

size_t held_by_first_of(const struct profile *profile, uint32_t sample)
{
    size_t first = 0;
    SEARCH_FIRST(first, profile->holder_count, at, profile->holders[at].sample < sample);
    return first;
}

/* The numbers of a sample's rows rise. Some may be missing, because the profile's reader leaves out
 * rows of kinds that only newer versions know. */
int held_by_gather(struct gathering *gathering)
{
    const struct profile *profile = gathering->side->profile;
    uint32_t sample = gathering->side->sample->id;
    size_t from = held_by_first_of(profile, sample), count = 0;
    const struct profile_holder *holders = profile->holders + from;
    int error = 0;
    while (from + count < profile->holder_count && holders[count].sample == sample)
        count++;
    gathering->rows = malloc((count + 1) * sizeof *gathering->rows);
    if (!gathering->rows)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        gathering->rows[i] = HELD_BY_NONE;
    for (size_t i = 0; i < count && !error; i++)
        error = held_by_add(gathering, holders, i);
    free(gathering->rows);
    return error;
}

/* ---- All of it ------------------------------------------------------------------------------- */

static bool *held_by_hidden(const struct profile *profile, const bool *known)
{
    size_t count = 3 * (profile->line_count + 1);
    bool *hidden = known ? malloc(count * sizeof *hidden) : frames_of_libraries(profile);
    if (known && hidden)
        memcpy(hidden, known, count * sizeof *hidden);
    return hidden;
}

bool held_by_begin_side(struct held_by_side *side, const struct profile *profile,
                        const bool *hidden)
{
    *side = (struct held_by_side){profile, held_by_sample(profile), held_by_hidden(profile, hidden),
                                  calloc(profile->line_count + 1, sizeof(bool))};
    return side->hidden && side->none_hidden;
}

/* Children come behind their parents, which are kept for what passes below them. A type has rows
 * without a tree. */
static void held_by_filter(struct held_by *holders, const struct held_by_passing *passing)
{
    holders->filter = passing->filter;
    for (size_t i = 0; i < holders->count; i++) {
        struct held_by_row *row = &holders->rows[i];
        const bool *passes = row->is_old ? passing->before : passing->now;
        row->is_left_out = !row->of->path || !passes[row->of->path];
    }
    for (size_t i = holders->count; i-- > 0 && holders->by != HELD_BY_TYPE;)
        if (!holders->rows[i].is_left_out && holders->rows[i].parent != HELD_BY_NONE)
            holders->rows[holders->rows[i].parent].is_left_out = false;
}

static int held_by_gather_both(struct held_by *holders)
{
    struct gathering gathering = {.holders = holders, .side = &holders->now};
    int error = held_by_gather(&gathering);
    gathering.side = &holders->before;
    gathering.is_old = true;
    if (!error && holders->before.profile)
        error = held_by_gather(&gathering);
    map_release(&gathering.by_key);
    return error;
}

static int held_by_find_in(struct held_by *holders, bool there,
                           const struct held_by_passing *passing)
{
    int error = there ? held_by_gather_both(holders) : -ENOMEM;
    if (!error && passing)
        held_by_filter(holders, passing);
    if (!error && holders->by == HELD_BY_TYPE)
        error = held_by_fold_types(holders);
    if (error)
        held_by_release(holders);
    return error;
}

int held_by_find(struct held_by *holders, const struct profile *now, const struct profile *before,
                 enum held_by_what by, const struct held_by_passing *passing)
{
    *holders = (struct held_by){.by = by};
    bool there = held_by_begin_side(&holders->now, now, NULL) &&
                 (!before || held_by_begin_side(&holders->before, before, NULL));
    return held_by_find_in(holders, there, passing);
}

int held_by_find_hiding(struct held_by *holders, const struct profile *profile, const bool *hidden,
                        enum held_by_what by)
{
    *holders = (struct held_by){.by = by};
    return held_by_find_in(holders, held_by_begin_side(&holders->now, profile, hidden), NULL);
}

void held_by_release(struct held_by *holders)
{
    free(holders->now.hidden);
    free(holders->now.none_hidden);
    free(holders->before.hidden);
    free(holders->before.none_hidden);
    free(holders->rows);
    free(holders->next_of_type);
    path_types_release(&holders->now_types);
    path_types_release(&holders->before_types);
    *holders = (struct held_by){0};
}

/* ---- Order ----------------------------------------------------------------------------------- */

/* What matters: how much it is, of two profiles how much it has grown. The rest comes last. */
static int held_by_compare(const void *left, const void *right, void *context)
{
    const struct held_by *holders = context;
    const struct held_by_row *a = &holders->rows[*(const uint32_t *)left];
    const struct held_by_row *b = &holders->rows[*(const uint32_t *)right];
    bool a_is_rest = a->of->kind == PROFILE_HOLDER_REST,
         b_is_rest = b->of->kind == PROFILE_HOLDER_REST;
    int64_t of_a = (int64_t)(a->retained.bytes - a->old.bytes);
    int64_t of_b = (int64_t)(b->retained.bytes - b->old.bytes);
    if (a_is_rest != b_is_rest)
        return a_is_rest ? 1 : -1;
    if (of_a != of_b)
        return of_a < of_b ? 1 : -1;
    return (a->key > b->key) - (a->key < b->key);
}

uint32_t *held_by_children(const struct held_by *holders, uint32_t parent, size_t *count)
{
    uint32_t first = parent == HELD_BY_NONE ? holders->first : holders->rows[parent].first_below;
    *count = 0;
    for (uint32_t row = first; row; row = holders->rows[row - 1].next)
        ++*count;
    uint32_t *children = calloc(*count + 1, sizeof *children);
    *count = 0;
    for (uint32_t row = first; children && row; row = holders->rows[row - 1].next)
        if (!holders->rows[row - 1].is_left_out)
            children[(*count)++] = row - 1;
    if (*count)
        qsort_r(children, *count, sizeof *children, held_by_compare, (void *)holders);
    return children;
}
