/* Decides which containers' fill is sure (path_fills.h). The frames of a path are asked from the
 * innermost one outwards, up to the first that is no library's. */
#include "aggregate/path_fills.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_BLOCKS = 16, PARTS = 10, NO_SHAPE = -1 };

/* ---- By name --------------------------------------------------------------------------------- */

static const struct {
    const char *part; /* of a function's name */
    int shape;
} containers[] = {
    {"std::_Vector_base<", PROFILE_FILL_VECTOR},
    {"std::vector<", PROFILE_FILL_VECTOR},
    {"std::__1::vector<", PROFILE_FILL_VECTOR},
    {"std::__cxx11::basic_string<", PROFILE_FILL_STRING},
    {"_M_allocate_buckets", PROFILE_FILL_HASH},
    {"hashbrown::raw::", PROFILE_FILL_RUST_HASH},
    {"alloc::raw_vec::RawVec", PROFILE_FILL_RUST_VEC},
    {"alloc::vec::Vec<", PROFILE_FILL_RUST_VEC},
    {"alloc::string::String", PROFILE_FILL_RUST_VEC},
};

/* How many "<" are open at `end`; a template's argument says nothing of who allocates. Rust's names
 * may stand in one pair as a whole. SIZE_MAX: `end` is behind the name, among the arguments of the
 * function. */
static size_t path_fills_depth(const char *name, const char *end)
{
    size_t depth = 0;
    for (const char *at = name; at < end; at++) {
        if (*at == '(' && !depth)
            return SIZE_MAX;
        depth += *at == '<';
        depth -= *at == '>' && depth;
    }
    return depth - (*name == '<' && depth == 1);
}

static int path_fills_shape_of(const char *name)
{
    for (size_t i = 0; i < sizeof containers / sizeof *containers; i++) {
        const char *found = strstr(name, containers[i].part);
        if (found && path_fills_depth(name, found) == 0)
            return containers[i].shape;
    }
    return NO_SHAPE;
}

static int path_fills_by_name(const struct profile *profile, const bool *hidden, uint32_t node)
{
    for (; node; node = profile->nodes[node].parent) {
        const struct profile_code *code = &profile->codes[profile->nodes[node].location];
        for (uint32_t i = 0; i < code->line_count; i++) {
            const struct profile_line *line = &profile->lines[code->first_line + i];
            const char *name = line->function ? profile->functions[line->function].name : NULL;
            int shape = name ? path_fills_shape_of(name) : NO_SHAPE;
            if (shape != NO_SHAPE || !hidden[code->first_line + i])
                return shape;
        }
    }
    return NO_SHAPE;
}

/* ---- What is sure ---------------------------------------------------------------------------- */

static const struct profile_sample *path_fills_sample(const struct profile *profile)
{
    for (size_t i = profile->sample_count; i-- > 0;)
        if (figure_known(profile->samples[i].fill_count))
            return &profile->samples[i];
    return NULL;
}

/* 9 of 10 of them, at least. */
static bool path_fills_is_most(uint64_t count, uint64_t of)
{
    return count >= of || of - count <= of / PARTS;
}

/* Rows [first, end) have one path and shape; those of one size of elements count, if they are
 * nearly all. The others then have the shape by chance. */
static void path_fills_add(struct path_fills *fills, const struct profile_block_fill *first,
                           const struct profile_block_fill *end, int shape_by_name)
{
    const struct profile_block_fill *most = first;
    uint64_t all = 0;
    for (const struct profile_block_fill *at = first; at < end; at++) {
        all += at->count;
        most = at->count > most->count ? at : most;
    }
    bool by_name = shape_by_name == first->shape;
    bool by_shape = first->shape != PROFILE_FILL_RUST_VEC && most->count >= LEAST_BLOCKS &&
                    path_fills_is_most(most->count, most->live_count);
    if (!(by_name ? path_fills_is_most(most->count, all) : by_shape) ||
        most->used_bytes > most->bytes)
        return;
    fills->rows[fills->count++] = (struct path_fill){.path = most->path,
                                                     .shape = most->shape,
                                                     .by_name = by_name,
                                                     .count = most->count,
                                                     .bytes = most->bytes,
                                                     .used_bytes = most->used_bytes,
                                                     .live_count = most->live_count};
    fills->blocks += most->count;
    fills->bytes += most->bytes;
    fills->used_bytes += most->used_bytes;
}

static int path_fills_compare(const void *left, const void *right)
{
    const struct path_fill *a = left, *b = right;
    uint64_t free_of_a = a->bytes - a->used_bytes, free_of_b = b->bytes - b->used_bytes;
    if (free_of_a != free_of_b)
        return free_of_a < free_of_b ? 1 : -1;
    if (a->path != b->path)
        return a->path < b->path ? -1 : 1;
    return a->shape - b->shape;
}

int path_fills_init(struct path_fills *fills, const struct profile *profile, const bool *hidden,
                    const bool *wanted)
{
    const struct profile_block_fill *rows = profile->block_fills;
    size_t first = 0, end;
    *fills = (struct path_fills){.sample = path_fills_sample(profile)};
    fills->rows = calloc(profile->block_fill_count + 1, sizeof *fills->rows);
    if (!fills->rows)
        return -ENOMEM;
    while (fills->sample && first < profile->block_fill_count &&
           rows[first].sample != fills->sample->id)
        first++;
    for (; fills->sample && first < profile->block_fill_count &&
           rows[first].sample == fills->sample->id;
         first = end) {
        for (end = first + 1;
             end < profile->block_fill_count && rows[end].sample == rows[first].sample &&
             rows[end].path == rows[first].path && rows[end].shape == rows[first].shape;)
            end++;
        if (!wanted || wanted[rows[first].path])
            path_fills_add(fills, rows + first, rows + end,
                           path_fills_by_name(profile, hidden, rows[first].path));
    }
    qsort(fills->rows, fills->count, sizeof *fills->rows, path_fills_compare);
    return 0;
}

void path_fills_release(struct path_fills *fills)
{
    free(fills->rows);
    *fills = (struct path_fills){0};
}
