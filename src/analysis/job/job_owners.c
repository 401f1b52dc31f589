/* Adds up the resident memory of a job's ranks by owner (job_owners.h). A row is found by its kind,
 * node, name and module. All figures of a row are sums, and stand side by side at its end. */
#include "job/job_owners.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/hash.h"
#include "base/memory.h"

#define FIRST_FIGURE  offsetof(struct profile_owner, count)
#define OWNER_FIGURES ((sizeof(struct profile_owner) - FIRST_FIGURE) / sizeof(struct figure))
_Static_assert(FIRST_FIGURE + OWNER_FIGURES * sizeof(struct figure) == sizeof(struct profile_owner),
               "figures, and nothing between or behind them");

static struct figure *job_owners_figures(struct profile_owner *row)
{
    return (struct figure *)(void *)((char *)row + FIRST_FIGURE);
}

static const struct figure *job_owners_figures_of(const struct profile_owner *row)
{
    return (const struct figure *)(const void *)((const char *)row + FIRST_FIGURE);
}

static const char *job_owners_text(const char *text)
{
    return text ? text : "";
}

/* NULL and "" are told apart nowhere. */
static int job_owners_compare(const struct profile_owner *a, const struct profile_owner *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->path != b->path)
        return a->path < b->path ? -1 : 1;
    int order = strcmp(job_owners_text(a->name), job_owners_text(b->name));
    return order ? order : strcmp(job_owners_text(a->module), job_owners_text(b->module));
}

static bool job_owners_is_row(const void *array, uint32_t number, const void *key)
{
    return job_owners_compare((const struct profile_owner *)array + number, key) == 0;
}

static uint64_t job_owners_hash(const struct profile_owner *row)
{
    const char *name = job_owners_text(row->name), *module = job_owners_text(row->module);
    return hash_u64((uint64_t)row->path << 8 | (unsigned)row->kind) ^
           hash_bytes(name, strlen(name)) * 3 ^ hash_bytes(module, strlen(module)) * 5;
}

static char *job_owners_copy(const char *text)
{
    return text && *text ? memory_copy_string(text) : NULL;
}

/* `at`: the node of its path. */
static void job_owners_add(struct job_owners *owners, const struct profile_owner *from, uint32_t at)
{
    struct profile_owner like = *from;
    bool is_new;
    like.sample = 0;
    like.path = at;
    like.thread = FIGURE_UNKNOWN;
    uint32_t number = map_number(&owners->map, job_owners_hash(&like), job_owners_is_row,
                                 owners->rows, &like, (uint32_t)owners->count, &is_new);
    if (is_new) {
        like.name = job_owners_copy(from->name);
        like.module = job_owners_copy(from->module);
        array_need_room(&owners->rows, &owners->room, owners->count, sizeof *owners->rows);
        owners->rows[owners->count++] = like;
        return;
    }
    struct figure *sums = job_owners_figures(&owners->rows[number]);
    for (size_t i = 0; i < OWNER_FIGURES; i++)
        sums[i] = figure_add(sums[i], job_owners_figures_of(from)[i]);
}

static void job_owners_free_row(struct profile_owner *row)
{
    free((char *)row->name);
    free((char *)row->module);
}

void job_owners_release(struct job_owners *owners)
{
    for (size_t i = 0; i < owners->count; i++)
        job_owners_free_row(&owners->rows[i]);
    free(owners->rows);
    map_release(&owners->map);
    *owners = (struct job_owners){0};
}

const struct profile_owner *job_owners_of(const struct profile *profile, size_t *count)
{
    size_t first;
    *count = 0;
    if (profile_get(profile, PROFILE_META_LEVEL) || !profile_owners_sample(profile, &first, count))
        return NULL;
    return profile->owners + first;
}

void job_owners_add_profile(struct job_owners *owners, const struct profile *profile,
                            const uint32_t *nodes)
{
    size_t count;
    const struct profile_owner *rows = job_owners_of(profile, &count);
    for (size_t i = 0; rows && i < count; i++)
        job_owners_add(owners, &rows[i], nodes[rows[i].path]);
    owners->ranks += rows != NULL;
}

void job_owners_merge(struct job_owners *into, const struct job_owners *from, const uint32_t *nodes)
{
    for (size_t i = 0; i < from->count; i++)
        job_owners_add(into, &from->rows[i], nodes[from->rows[i].path]);
    into->ranks += from->ranks;
}

static int job_owners_compare_rows(const void *left, const void *right)
{
    return job_owners_compare(left, right);
}

void job_owners_settle(struct job_owners *owners, const uint32_t *nodes)
{
    for (size_t i = 0; i < owners->count; i++)
        owners->rows[i].path = nodes[owners->rows[i].path];
    if (owners->count)
        qsort(owners->rows, owners->count, sizeof *owners->rows, job_owners_compare_rows);
    map_release(&owners->map);
}

/* ---- As bytes ------------------------------------------------------------------------------ */

/* "Not known" is 0. */
static void job_owners_put_figure(struct strbuf *out, struct figure figure)
{
    uint64_t number;
    bytes_put(out, figure_get(figure, &number) ? number + 1 : 0);
}

static struct figure job_owners_get_figure(struct bytes_reader *reader)
{
    uint64_t number = bytes_get(reader);
    return number ? figure_of(number - 1) : FIGURE_UNKNOWN;
}

void job_owners_write(struct strbuf *out, const struct job_owners *owners)
{
    bytes_put(out, owners->ranks);
    bytes_put(out, owners->count);
    for (size_t i = 0; i < owners->count; i++) {
        const struct profile_owner *row = &owners->rows[i];
        bytes_put(out, (uint64_t)row->kind);
        bytes_put(out, row->path);
        bytes_put_string(out, row->name);
        bytes_put_string(out, row->module);
        for (size_t j = 0; j < OWNER_FIGURES; j++)
            job_owners_put_figure(out, job_owners_figures_of(row)[j]);
    }
}

static void job_owners_read_row(struct bytes_reader *reader, struct job_owners *owners,
                                size_t nodes)
{
    struct profile_owner row = {0};
    size_t before = owners->count;
    row.kind = (int)bytes_get_below(reader, PROFILE_OWNER_KINDS - 1);
    row.path = (uint32_t)bytes_get_below(reader, nodes ? nodes - 1 : 0);
    row.name = bytes_get_string(reader);
    row.module = bytes_get_string(reader);
    for (size_t i = 0; i < OWNER_FIGURES; i++)
        job_owners_figures(&row)[i] = job_owners_get_figure(reader);
    if (!reader->failed) {
        job_owners_add(owners, &row, row.path);
        reader->failed |= owners->count == before; /* it is there already */
    }
    job_owners_free_row(&row);
}

void job_owners_read(struct bytes_reader *reader, struct job_owners *owners, size_t nodes)
{
    owners->ranks = bytes_get(reader);
    for (size_t left = bytes_get_count(reader, 4 + OWNER_FIGURES); left && !reader->failed; left--)
        job_owners_read_row(reader, owners, nodes);
}
