/* Reads .debug_aranges (aranges.h), set by set, with each length checked. libdw's own
 * dwarf_getaranges() looks up each set's unit, which costs more than all that is wanted here. */
#include "symbols/aranges.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/name_memory.h"

enum {
    VERSION = 2,
    ADDRESS_BYTES = 8,
    RANGE_BYTES = 2 * ADDRESS_BYTES,
};

#define LENGTH_IS_LONG UINT32_MAX /* the length itself follows, and offsets have 8 bytes */

/* ---- Bytes --------------------------------------------------------------------------------- */

struct aranges_bytes {
    const uint8_t *at;
    size_t left;
};

/* False: there are not so many. */
static bool aranges_take(struct aranges_bytes *bytes, size_t count, uint64_t *number)
{
    if (bytes->left < count)
        return false;
    *number = 0;
    memcpy(number, bytes->at, count); /* the lowest byte first (aranges_are_ours()) */
    bytes->at += count;
    bytes->left -= count;
    return true;
}

static bool aranges_skip(struct aranges_bytes *bytes, size_t count)
{
    if (bytes->left < count)
        return false;
    bytes->at += count;
    bytes->left -= count;
    return true;
}

/* ---- Sets ---------------------------------------------------------------------------------- */

static void aranges_add(struct aranges *aranges, struct arange range)
{
    aranges->list = name_memory_grow(aranges->list, &aranges->capacity, aranges->count + 1,
                                     sizeof *aranges->list);
    aranges->list[aranges->count++] = range;
}

/* Zeros end a set, and stand for discarded code within one: the set's length tells its end. */
static bool aranges_read_ranges(struct aranges *aranges, struct aranges_bytes set, uint64_t unit)
{
    uint64_t low, length;

    while (set.left) {
        if (!aranges_take(&set, ADDRESS_BYTES, &low) || !aranges_take(&set, ADDRESS_BYTES, &length))
            return false;
        if (length)
            aranges_add(aranges, (struct arange){low, low + length, unit});
    }
    return true;
}

static bool aranges_read_set(struct aranges *aranges, struct aranges_bytes *bytes)
{
    struct aranges_bytes set = *bytes;
    uint64_t length, version, unit, address_bytes, segment_bytes;
    size_t offset_bytes = 4;

    if (!aranges_take(&set, 4, &length))
        return false;
    if (length == LENGTH_IS_LONG) {
        offset_bytes = 8;
        if (!aranges_take(&set, 8, &length))
            return false;
    }
    if (length > set.left)
        return false;
    size_t header = (size_t)(set.at - bytes->at) + 2 + offset_bytes + 1 + 1;
    set.left = (size_t)length;
    *bytes = (struct aranges_bytes){set.at + length,
                                    bytes->left - (size_t)(set.at - bytes->at) - (size_t)length};
    return aranges_take(&set, 2, &version) && version == VERSION &&
           aranges_take(&set, offset_bytes, &unit) && aranges_take(&set, 1, &address_bytes) &&
           address_bytes == ADDRESS_BYTES && aranges_take(&set, 1, &segment_bytes) &&
           segment_bytes == 0 && aranges_skip(&set, -header % RANGE_BYTES) &&
           aranges_read_ranges(aranges, set, unit);
}

bool aranges_read_sets(struct aranges *aranges, const void *bytes, size_t length)
{
    struct aranges_bytes left = {bytes, length};

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

static bool aranges_are_ours(Elf *elf)
{
    GElf_Ehdr header;

    return gelf_getehdr(elf, &header) && header.e_ident[EI_DATA] == ELFDATA2LSB &&
           header.e_ident[EI_CLASS] == ELFCLASS64;
}

static Elf_Data *aranges_find_section(Elf *elf)
{
    size_t names;

    if (elf_getshdrstrndx(elf, &names) != 0)
        return NULL;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_PROGBITS ||
            header.sh_flags & SHF_COMPRESSED)
            continue;
        const char *name = elf_strptr(elf, names, header.sh_name);
        if (name && strcmp(name, ".debug_aranges") == 0)
            return elf_rawdata(section, NULL);
    }
    return NULL;
}

bool aranges_read(struct aranges *aranges, Elf *elf)
{
    Elf_Data *data = elf && aranges_are_ours(elf) ? aranges_find_section(elf) : NULL;

    *aranges = (struct aranges){0};
    return data && data->d_buf && aranges_read_sets(aranges, data->d_buf, data->d_size);
}
