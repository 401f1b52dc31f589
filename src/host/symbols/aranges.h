/* .debug_aranges: which unit of the debug information has which addresses, as compilers list it
 * beside the units. GCC writes the list, clang does not, and a linker may leave a part of it out.
 * So what the list says is looked up first and then compared with the unit (dwarf_index.h).
 *
 *   set   length, version, offset of the unit's header, bytes of an address │ padding
 *         │ address, length │ address, length │ … │ 0, 0
 */
#ifndef TIDEMARK_SYMBOLS_ARANGES_H
#define TIDEMARK_SYMBOLS_ARANGES_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arange {
    uint64_t low, high; /* [low, high), or nothing where high is no more than low */
    uint64_t unit;      /* the offset of its header in .debug_info */
};

struct aranges {
    struct arange *list;
    size_t count, capacity;
};

/* False, and no range: the file has no such list, or a part of it is damaged. Sections that are
 * packed still are not unpacked. */
bool aranges_read(struct aranges *aranges, Elf *elf);

/* The sets of `length` bytes, as they lie in a file. */
bool aranges_read_sets(struct aranges *aranges, const void *bytes, size_t length);

void aranges_release(struct aranges *aranges);

#endif
