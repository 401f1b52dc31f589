/* Writes the resources "look_owners" and "look_types": who had the resident memory, and of what
 * type live blocks were, at each look that found it out. The page compares two looks by them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/map.h"
#include "server/columns_strings.h"
#include "server/web_summary.h"

/* ---- Owners -------------------------------------------------------------------------------- */

static const char *look_owners_kind(const void *rows, size_t row)
{
    return profile_owner_names[((const struct profile_owner *)rows)[row].kind];
}
static const char *look_owners_name(const void *rows, size_t row)
{
    return ((const struct profile_owner *)rows)[row].name;
}
static const char *look_owners_module(const void *rows, size_t row)
{
    return ((const struct profile_owner *)rows)[row].module;
}

int resources_make_look_owners(const struct resources *resources, struct strbuf *out)
{
    const struct profile_owner *rows = resources->profile->owners;
    size_t count = resources->profile->owner_count;
    struct columns_document document = COLUMNS_DOCUMENT_INIT;
    struct columns_strings strings = COLUMNS_STRINGS_INIT;
    COLUMNS_ADD(&document, "sample", u32, rows, count, struct profile_owner, sample);
    COLUMNS_ADD(&document, "node", u32, rows, count, struct profile_owner, path);
    COLUMNS_ADD(&document, "thread", figures, rows, count, struct profile_owner, thread);
    COLUMNS_ADD(&document, "resident_bytes", figures, rows, count, struct profile_owner,
                resident_bytes);
    columns_strings_add_column(&document, &strings, "kind", rows, count, look_owners_kind);
    columns_strings_add_column(&document, &strings, "name", rows, count, look_owners_name);
    columns_strings_add_column(&document, &strings, "module", rows, count, look_owners_module);
    return columns_strings_finish(&document, &strings, out);
}

/* ---- Types --------------------------------------------------------------------------------- */

struct look_type {
    uint32_t sample;
    const char *name;
    uint64_t count, bytes;
};

/* The row of a look and a type; a new one if there is none. */
static struct look_type *look_types_row(struct look_type *rows, size_t *count, struct map *map,
                                        const struct profile_block_type *type)
{
    uint64_t hash = hash_bytes(type->name, strlen(type->name)) + type->sample;
    uint32_t row;
    for (struct map_probe probe = map_probe(map, hash); map_next(&probe, &row);)
        if (rows[row].sample == type->sample && !strcmp(rows[row].name, type->name))
            return &rows[row];
    map_add(map, hash, (uint32_t)*count);
    rows[*count] = (struct look_type){.sample = type->sample, .name = type->name};
    return &rows[(*count)++];
}

static const char *look_types_name(const void *rows, size_t row)
{
    return ((const struct look_type *)rows)[row].name;
}

int resources_make_look_types(const struct resources *resources, struct strbuf *out)
{
    const struct profile *profile = resources->profile;
    struct look_type *rows = calloc(profile->block_type_count + 1, sizeof *rows);
    size_t count = 0;
    struct map map = {0};
    if (!rows)
        return -ENOMEM;
    for (size_t i = 0; i < profile->block_type_count; i++) {
        const struct profile_block_type *type = &profile->block_types[i];
        struct look_type *row = look_types_row(rows, &count, &map, type);
        row->count += type->count;
        row->bytes += type->bytes;
    }
    map_release(&map);
    struct columns_document document = COLUMNS_DOCUMENT_INIT;
    struct columns_strings strings = COLUMNS_STRINGS_INIT;
    COLUMNS_ADD(&document, "sample", u32, rows, count, struct look_type, sample);
    COLUMNS_ADD(&document, "count", u64, rows, count, struct look_type, count);
    COLUMNS_ADD(&document, "bytes", u64, rows, count, struct look_type, bytes);
    columns_strings_add_column(&document, &strings, "name", rows, count, look_types_name);
    free(rows);
    return columns_strings_finish(&document, &strings, out);
}
