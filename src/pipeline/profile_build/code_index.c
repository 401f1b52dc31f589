/* Finds a code location by module and address (code_index.h). The index is a table with open
 * addressing, built once and never changed. */
#include "profile_build/code_index.h"

#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/map.h"
#include "base/search.h"

struct code_index {
    const struct profile *profile;
    struct map map; /* of codes, without the first */
};

static uint64_t code_hash(uint32_t module, uint64_t address)
{
    return hash_u64(address ^ (uint64_t)module << 48);
}

/* 0: it is not there. */
uint32_t code_index_find(const struct code_index *index, uint32_t module, uint64_t address)
{
    uint32_t number;
    for (struct map_probe probe = map_probe(&index->map, code_hash(module, address));
         map_next(&probe, &number);) {
        const struct profile_code *code = &index->profile->codes[number];
        if (code->address == address && code->module == module)
            return number;
    }
    return 0;
}

struct code_index *code_index_new(const struct profile *profile)
{
    struct code_index *index = malloc(sizeof *index);
    if (!index)
        return NULL;
    *index = (struct code_index){profile, {0}};
    if (!map_reserve(&index->map, profile->code_count)) {
        code_index_free(index);
        return NULL;
    }
    for (uint32_t i = 1; i < profile->code_count; i++) {
        const struct profile_code *code = &profile->codes[i];
        if (!code_index_find(index, code->module, code->address))
            map_add(&index->map, code_hash(code->module, code->address), i);
    }
    return index;
}

void code_index_free(struct code_index *index)
{
    if (!index)
        return;
    map_release(&index->map);
    free(index);
}

uint32_t code_index_module(const struct code_index *index, int64_t id)
{
    const struct profile *profile = index->profile;
    size_t first = 0;
    SEARCH_FIRST(first, profile->module_count, at, profile->modules[at].id < id);
    return first < profile->module_count && profile->modules[first].id == id ? (uint32_t)first
                                                                             : UINT32_MAX;
}

size_t code_frames(const struct profile *profile, uint32_t number, struct profile_frame *frames,
                   size_t max)
{
    const struct profile_code *code = &profile->codes[number];
    size_t count = code->mark ? 0 : code->line_count; /* code has one frame at least */
    if (count > max)
        count = max;
    for (size_t i = 0; i < count; i++) {
        const struct profile_line *line = &profile->lines[code->first_line + i];
        const struct profile_function *function = &profile->functions[line->function];
        bool named = line->function && strcmp(function->name, "?") != 0;
        frames[i] = (struct profile_frame){named ? function->name : NULL, function->linkage,
                                           line->file, line->line};
    }
    return count;
}
