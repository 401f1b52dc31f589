/* What blocks of each type keep alive. The rows of a tree of holders become rows of types:
 *
 *   registry        variable
 *     Scene           keeps 100   counts for Scene
 *       Mesh          keeps  90   counts for Mesh
 *         Mesh        keeps  40   is in the 90 already
 *
 * The type of a row is that of its call path (path_types.h). Which rows of the tree are of a type
 * is kept: they lead to who holds its blocks. */
#include "held_by/held_by_gather.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/hash.h"
#include "base/search.h"

struct held_by_folding {
    const struct held_by *tree;
    struct held_by_row *rows; /* of types */
    size_t count, room;
    uint32_t *of_tree; /* by row of the tree; HELD_BY_NONE: the type is not known */
    struct map by_name;
};

/* NULL: not known. */
static const char *held_by_type_of(const struct held_by *tree, const struct held_by_row *row)
{
    const struct profile *profile = held_by_side_of(tree, row)->profile;
    const struct path_types *types = row->is_old ? &tree->before_types : &tree->now_types;
    size_t site = 0;
    if (row->of->kind != PROFILE_HOLDER_BLOCKS || !row->of->path)
        return NULL;
    SEARCH_FIRST(site, profile->site_count, at, profile_site_path(profile, at) < row->of->path);
    if (site == profile->site_count || profile_site_path(profile, site) != row->of->path ||
        types->of_site[site] == PATH_TYPE_NONE)
        return NULL;
    return types->rows[types->of_site[site]].name;
}

/* HELD_BY_NONE: no memory. */
static uint32_t held_by_type_row(struct held_by_folding *folding, const struct held_by_row *of,
                                 const char *type)
{
    uint64_t key = hash_bytes(type, strlen(type));
    uint32_t number;
    for (struct map_probe probe = map_probe(&folding->by_name, key); map_next(&probe, &number);)
        if (!strcmp(folding->rows[number].type, type))
            return number;
    if (!array_make_room(&folding->rows, &folding->room, folding->count, sizeof *folding->rows) ||
        !map_try_add(&folding->by_name, key, (uint32_t)folding->count))
        return HELD_BY_NONE;
    folding->rows[folding->count] = (struct held_by_row){.of = of->of,
                                                         .is_old = of->is_old,
                                                         .type = type,
                                                         .parent = HELD_BY_NONE,
                                                         .key = key,
                                                         .next = (uint32_t)folding->count + 2};
    return (uint32_t)folding->count++;
}

static bool held_by_has_type_above(const struct held_by_folding *folding, uint32_t row)
{
    const struct held_by_row *rows = folding->tree->rows;
    for (uint32_t at = rows[row].parent; at != HELD_BY_NONE; at = rows[at].parent)
        if (folding->of_tree[at] == folding->of_tree[row])
            return true;
    return false;
}

static void held_by_fold_row(struct held_by_folding *folding, uint32_t row)
{
    const struct held_by_row *of = &folding->tree->rows[row];
    struct held_by_row *to = &folding->rows[folding->of_tree[row]];
    if (to->is_old && !of->is_old) {
        to->of = of->of;
        to->is_old = false;
    }
    held_by_sum_add(&to->own, of->own);
    if (held_by_has_type_above(folding, row))
        return;
    to->merged += of->merged;
    held_by_sum_add(&to->retained, of->retained);
    held_by_sum_add(&to->old, of->old);
}

static int held_by_fold_tree(struct held_by_folding *folding, struct held_by_sum *untyped)
{
    const struct held_by *tree = folding->tree;
    for (uint32_t i = 0; i < tree->count; i++) {
        const struct held_by_row *row = &tree->rows[i];
        const char *type = row->is_left_out ? NULL : held_by_type_of(tree, row);
        folding->of_tree[i] = type ? held_by_type_row(folding, row, type) : HELD_BY_NONE;
        if (type && folding->of_tree[i] == HELD_BY_NONE)
            return -ENOMEM;
        if (type)
            held_by_fold_row(folding, i);
        else if (!row->is_left_out)
            held_by_sum_add(untyped,
                            row->of->kind == PROFILE_HOLDER_REST ? row->retained : row->own);
    }
    return 0;
}

static int held_by_find_types(struct held_by *holders)
{
    int error = path_types_init(&holders->now_types, holders->now.profile, NULL);
    if (!error && holders->before.profile)
        error = path_types_init(&holders->before_types, holders->before.profile, NULL);
    return error;
}

/* Rows of a type in their order. */
static int held_by_link_types(struct held_by *holders, struct held_by_folding *folding)
{
    uint32_t *next = calloc(holders->count + 1, sizeof *next);
    if (!next)
        return -ENOMEM;
    for (uint32_t i = (uint32_t)holders->count; i-- > 0;) {
        if (folding->of_tree[i] == HELD_BY_NONE)
            continue;
        struct held_by_row *type = &folding->rows[folding->of_tree[i]];
        next[i] = type->first_of_type;
        type->first_of_type = i + 1;
    }
    holders->next_of_type = next;
    return 0;
}

int held_by_fold_types(struct held_by *holders)
{
    struct held_by_folding folding = {.tree = holders};
    int error = held_by_find_types(holders);
    folding.of_tree = calloc(holders->count + 1, sizeof *folding.of_tree);
    if (!error)
        error = folding.of_tree ? held_by_fold_tree(&folding, &holders->untyped) : -ENOMEM;
    if (!error)
        error = held_by_link_types(holders, &folding);
    free(folding.of_tree);
    map_release(&folding.by_name);
    if (error) {
        free(folding.rows);
        return error;
    }
    free(holders->rows);
    holders->rows = folding.rows;
    holders->count = folding.count;
    holders->room = folding.room;
    holders->first = holders->count ? 1 : 0;
    holders->last = (uint32_t)holders->count;
    if (holders->count)
        holders->rows[holders->count - 1].next = 0;
    return 0;
}
