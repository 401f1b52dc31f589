/* Reads .debug_aranges (aranges.h), set by set, with each length checked. libdw's own
 * dwarf_getaranges() looks up each set's unit, which costs more than all that is wanted here. */
#include "symbols/aranges.h"

#include <stdlib.h>

#include "symbols/debug_section.h"
#include "symbols/name_memory.h"

enum {
    VERSION = 2,
    ADDRESS_BYTES = 8,
    RANGE_BYTES = 2 * ADDRESS_BYTES,
};

/* ---- Sets ---------------------------------------------------------------------------------- */

static void aranges_add(struct aranges *aranges, struct arange range)
{
    aranges->list = name_memory_grow(aranges->list, &aranges->capacity, aranges->count + 1,
                                     sizeof *aranges->list);
    aranges->list[aranges->count++] = range;
}

/* Zeros end a set, and stand for discarded code within one: the set's length tells its end. */
static bool aranges_read_ranges(struct aranges *aranges, struct section_bytes set, uint64_t unit)
{
    uint64_t low, length;

    while (set.left) {
        if (!section_take(&set, ADDRESS_BYTES, &low) || !section_take(&set, ADDRESS_BYTES, &length))
            return false;
        if (length)
            aranges_add(aranges, (struct arange){low, low + length, unit});
    }
    return true;
}

static bool aranges_read_set(struct aranges *aranges, struct section_bytes *bytes)
{
    struct section_bytes set = *bytes;
    uint64_t length, version, unit, address_bytes, segment_bytes;
    size_t offset_bytes;

    if (!section_take_length(&set, &length, &offset_bytes))
        return false;
    size_t header = (size_t)(set.at - bytes->at) + 2 + offset_bytes + 1 + 1;
    set.left = (size_t)length;
    *bytes = (struct section_bytes){set.at + length,
                                    bytes->left - (size_t)(set.at - bytes->at) - (size_t)length};
    return section_take(&set, 2, &version) && version == VERSION &&
           section_take(&set, offset_bytes, &unit) && section_take(&set, 1, &address_bytes) &&
           address_bytes == ADDRESS_BYTES && section_take(&set, 1, &segment_bytes) &&
           segment_bytes == 0 && section_skip(&set, -header % RANGE_BYTES) &&
           aranges_read_ranges(aranges, set, unit);
}

bool aranges_read_sets(struct aranges *aranges, const void *bytes, size_t length)
{
    struct section_bytes left = {bytes, length};

    *aranges = (struct aranges){0};
    while (left.left)
        if (!aranges_read_set(aranges, &left)) {
            aranges_release(aranges);
            return false;
        }
    return true;
}

void aranges_release(struct aranges *aranges)
{
    free(aranges->list);
    *aranges = (struct aranges){0};
}

/* ---- The section --------------------------------------------------------------------------- */

bool aranges_read(struct aranges *aranges, Elf *elf)
{
    struct section_bytes bytes = debug_section_find(elf, ".debug_aranges");

    *aranges = (struct aranges){0};
    return bytes.at && aranges_read_sets(aranges, bytes.at, bytes.left);
}
