/* Sections of a file with debug information, and what is read of their bytes with each length
 * checked. Only files of this kind of machine: 64 bits, the lowest byte first. */
#ifndef TIDEMARK_SYMBOLS_DEBUG_SECTION_H
#define TIDEMARK_SYMBOLS_DEBUG_SECTION_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct section_bytes {
    const uint8_t *at;
    size_t left;
};

/* No bytes: there is no such section, or it is packed still. Files that are not linked have none
 * either, because their bytes are not what they will be. */
struct section_bytes debug_section_find(Elf *elf, const char *name);

/* A number of `count` bytes. False: there are not so many. */
static inline bool section_take(struct section_bytes *bytes, size_t count, uint64_t *number)
{
    if (bytes->left < count)
        return false;
    *number = 0;
    memcpy(number, bytes->at, count);
    bytes->at += count;
    bytes->left -= count;
    return true;
}

static inline bool section_skip(struct section_bytes *bytes, uint64_t count)
{
    if (bytes->left < count)
        return false;
    bytes->at += count;
    bytes->left -= (size_t)count;
    return true;
}

/* The length of what follows, and how many bytes an offset has in it. */
static inline bool section_take_length(struct section_bytes *bytes, uint64_t *length,
                                       size_t *offset_bytes)
{
    *offset_bytes = 4;
    if (!section_take(bytes, 4, length))
        return false;
    if (*length == UINT32_MAX) {
        *offset_bytes = 8;
        return section_take(bytes, 8, length) && *length <= bytes->left;
    }
    return *length <= bytes->left;
}

#endif
