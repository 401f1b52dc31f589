#include "assembly/code_index.h"

#include <stdlib.h>
#include <string.h>
#include "base/hash.h"

struct code_index {
    const struct profile *profile;
    uint32_t *slots; /* open addressing, half full at most; 0: empty */
    size_t room;     /* a power of two */
};

static uint32_t *slot_of(const struct code_index *index, uint32_t module, uint64_t address)
{
    size_t at = hash_u64(address ^ (uint64_t)module << 48) & (index->room - 1);
    for (;; at = (at + 1) & (index->room - 1)) {
        const struct profile_code *code = &index->profile->codes[index->slots[at]];
        if (!index->slots[at] || (code->address == address && code->module == module))
            return &index->slots[at];
    }
}

struct code_index *code_index_new(const struct profile *profile)
{
    struct code_index *index = malloc(sizeof *index);
    size_t room = 64;
    while (room < 2 * profile->code_count)
        room *= 2;
    uint32_t *slots = calloc(room, sizeof *slots);
    if (!index || !slots) {
        free(index);
        free(slots);
        return NULL;
    }
    *index = (struct code_index){profile, slots, room};
    for (size_t i = 1; i < profile->code_count; i++)
        *slot_of(index, profile->codes[i].module, profile->codes[i].address) = (uint32_t)i;
    return index;
}

void code_index_free(struct code_index *index)
{
    if (!index)
        return;
    free(index->slots);
    free(index);
}

uint32_t code_index_find(const struct code_index *index, uint32_t module, uint64_t address)
{
    return *slot_of(index, module, address);
}

uint32_t code_index_module(const struct code_index *index, int64_t id)
{
    const struct profile *profile = index->profile;
    size_t low = 0, high = profile->module_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (profile->modules[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < profile->module_count && profile->modules[low].id == id ? (uint32_t)low
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
