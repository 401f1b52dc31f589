/* Columns of sites (site_columns.h). A column begins as one number that all rows have. The first
 * other number gives it room, and a number that is too large for its width makes it wider: all that
 * is there is written again, at most seven times in a column's life. */
#include "profile/site_columns.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the lowest bytes come first");

enum { SLACK = sizeof(uint64_t) }; /* a number is read and written as a word */

static void site_columns_put(const struct profile_column *column, size_t at, uint64_t number)
{
    uint64_t word = number + 1;
    memcpy(column->numbers + at * column->bytes, &word, sizeof word);
}

/* How many bytes the numbers + 1 need. */
static size_t site_columns_bytes(const uint64_t *numbers, size_t rows)
{
    uint64_t all = 1;
    for (size_t i = 0; i < rows; i++)
        all |= numbers[i] + 1;
    return (71 - (size_t)__builtin_clzll(all)) / 8;
}

static bool site_columns_make_room(struct profile_column *column, size_t count)
{
    return array_make_bare_room(&column->numbers, &column->room, count * column->bytes + SLACK, 1);
}

/* The `count` numbers in another width. */
static bool site_columns_widen(struct profile_column *column, size_t count, size_t bytes)
{
    struct profile_column wide = {
        .bytes = bytes, .mask = UINT64_MAX >> (64 - 8 * bytes), .base = UINT64_MAX};
    if (!site_columns_make_room(&wide, count))
        return false;
    for (size_t i = 0; i < count; i++)
        site_columns_put(&wide, i, profile_column_raw(column, i));
    free(column->numbers);
    *column = wide;
    return true;
}

static bool site_columns_all_are(const uint64_t *numbers, size_t rows, uint64_t number)
{
    for (size_t i = 0; i < rows; i++)
        if (numbers[i] != number)
            return false;
    return true;
}

bool site_columns_add(struct profile_column *column, size_t count, const uint64_t *numbers,
                      size_t rows)
{
    if (!rows)
        return true;
    if (!count)
        column->base = numbers[0];
    if (!column->bytes && site_columns_all_are(numbers, rows, column->base))
        return true;
    size_t bytes = site_columns_bytes(numbers, rows);
    size_t before = column->bytes ? column->bytes : site_columns_bytes(&column->base, 1);
    bytes = bytes > before ? bytes : before;
    if (bytes != column->bytes && !site_columns_widen(column, count, bytes))
        return false;
    if (!site_columns_make_room(column, count + rows))
        return false;
    for (size_t i = 0; i < rows; i++)
        site_columns_put(column, count + i, numbers[i]);
    return true;
}

bool site_columns_add_same(struct profile_column *column, size_t count, uint64_t number,
                           size_t rows)
{
    bool is_same = !count || (!column->bytes && column->base == number);
    for (size_t i = 0; i < (is_same ? 1 : rows); i++)
        if (!site_columns_add(column, count + i, &number, 1))
            return false;
    return true;
}

bool site_columns_add_path(struct profile_columns *columns, size_t count, uint32_t path)
{
    if (!array_make_bare_room(&columns->paths, &columns->path_room, count, sizeof *columns->paths))
        return false;
    columns->paths[count] = path;
    return true;
}

/* A column of its own, exactly as large as needed. */
static bool site_columns_permute_one(struct profile_column *column, const uint32_t *order,
                                     size_t count)
{
    struct profile_column put = *column;
    if (!column->bytes)
        return true;
    put.room = count * column->bytes + SLACK;
    put.numbers = malloc(put.room);
    if (!put.numbers)
        return false;
    for (size_t i = 0; i < count; i++)
        site_columns_put(&put, i, profile_column_raw(column, order[i]));
    free(column->numbers);
    *column = put;
    return true;
}

bool site_columns_permute(struct profile_columns *columns, const uint32_t *order, size_t count)
{
    uint32_t *paths = malloc(count * sizeof *paths + 1);
    if (!paths)
        return false;
    for (size_t i = 0; i < count; i++)
        paths[i] = columns->paths[order[i]];
    free(columns->paths);
    columns->paths = paths;
    columns->path_room = count;
    for (size_t i = 0; i < METRICS; i++)
        if (!site_columns_permute_one(&columns->metrics[i], order, count))
            return false;
    return true;
}

bool site_columns_replace(struct profile_column *column, const struct figure *figures, size_t count)
{
    free(column->numbers);
    *column = (struct profile_column){0};
    return site_columns_add(column, 0, (const uint64_t *)figures, count);
}

void site_columns_free(struct profile_columns *columns)
{
    if (!columns)
        return;
    free(columns->paths);
    for (size_t i = 0; i < METRICS; i++)
        free(columns->metrics[i].numbers);
    free(columns);
}

/* ---- One of them --------------------------------------------------------------------------- */

const struct profile_site *profile_site_at(const struct profile *profile, size_t site,
                                           struct profile_site *room)
{
    if (profile->sites)
        return &profile->sites[site];
    room->path = profile->site_columns->paths[site];
    for (size_t i = 0; i < METRICS; i++) {
        struct figure figure = {profile_column_raw(&profile->site_columns->metrics[i], site)};
        memcpy((char *)&room->metrics + i * sizeof figure, &figure, sizeof figure);
    }
    return room;
}

void profile_set_sites(struct profile *profile, struct profile_site *sites, size_t count)
{
    free(profile->sites);
    site_columns_free(profile->site_columns);
    profile->site_columns = NULL;
    profile->sites = sites;
    profile->site_count = count;
}
