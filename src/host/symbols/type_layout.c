/* Walks a structure's members (type_layout.h). Debug information lists them in the order of
 * declaration, which is the order of their places. But bases may share bytes with later members, so
 * the furthest end so far counts. */
#include "symbols/type_layout.h"

#include <dwarf.h>

#include "symbols/dwarf_names.h"

enum { BITS = 8, MOST_LINKS = 16 };
#define MOST_BYTES (UINT64_MAX / BITS / 2)

struct type_layout_span {
    uint64_t start_bit, end_bit;
};

static bool type_layout_number(Dwarf_Die *die, unsigned name, uint64_t *number)
{
    Dwarf_Attribute attribute;
    Dwarf_Word found;
    if (dwarf_formudata(dwarf_attr_integrate(die, name, &attribute), &found))
        return false;
    *number = found;
    return true;
}

/* The place of a member: a number, or in DWARF 2 an expression that adds a number to the
 * structure's address. */
static bool type_layout_place(Dwarf_Die *member, uint64_t *at)
{
    Dwarf_Attribute attribute;
    Dwarf_Op *operations;
    size_t count;
    if (type_layout_number(member, DW_AT_data_member_location, at))
        return true;
    if (dwarf_getlocation(dwarf_attr_integrate(member, DW_AT_data_member_location, &attribute),
                          &operations, &count) ||
        count != 1 || operations->atom != DW_OP_plus_uconst)
        return false;
    *at = operations->number;
    return true;
}

static bool type_layout_type(Dwarf_Die *die, Dwarf_Die *type)
{
    Dwarf_Attribute attribute;
    return dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attribute), type) != NULL;
}

static bool type_layout_peel(Dwarf_Die *type)
{
    for (int i = 0; i < MOST_LINKS; i++) {
        int tag = dwarf_tag(type);
        if (tag != DW_TAG_typedef && tag != DW_TAG_const_type && tag != DW_TAG_volatile_type &&
            tag != DW_TAG_atomic_type)
            return true;
        if (!type_layout_type(type, type))
            return false;
    }
    return false;
}

/* A base without members takes no room, though its size is 1. */
static bool type_layout_is_empty(Dwarf_Die *structure)
{
    const char *furthest = NULL;
    Dwarf_Die child;
    if (!dwarf_walk_child(&furthest, structure, &child))
        return true;
    do {
        uint64_t at;
        if ((dwarf_tag(&child) == DW_TAG_member || dwarf_tag(&child) == DW_TAG_inheritance) &&
            type_layout_place(&child, &at))
            return false;
    } while (dwarf_walk_sibling(&furthest, &child));
    return true;
}

static bool type_layout_bytes(Dwarf_Die *member, uint64_t *bytes)
{
    Dwarf_Die type;
    Dwarf_Word found;
    if (!type_layout_type(member, &type) || !type_layout_peel(&type))
        return false;
    if (dwarf_tag(member) == DW_TAG_inheritance && type_layout_is_empty(&type))
        return *bytes = 0, true;
    if (dwarf_aggregate_size(&type, &found)) /* an array without an end has no size */
        found = 0;
    *bytes = found;
    return found <= MOST_BYTES;
}

/* Since DWARF 4 a bit field's place is counted from the structure's beginning; before, from the end
 * of its storage unit (on little-endian machines, which all of ours are). */
static bool type_layout_bit_field(Dwarf_Die *member, uint64_t at, uint64_t bytes, uint64_t bits,
                                  struct type_layout_span *span)
{
    uint64_t from, unit = bytes;
    if (!type_layout_number(member, DW_AT_data_bit_offset, &span->start_bit)) {
        type_layout_number(member, DW_AT_byte_size, &unit);
        if (!type_layout_number(member, DW_AT_bit_offset, &from) || unit > MOST_BYTES ||
            from > unit * BITS || bits > unit * BITS - from)
            return false;
        span->start_bit = (at + unit) * BITS - from - bits;
    }
    span->end_bit = span->start_bit + bits;
    return span->end_bit >= span->start_bit;
}

static bool type_layout_span(Dwarf_Die *member, struct type_layout_span *span)
{
    uint64_t at = 0, bits = 0, bytes;
    bool has_place = type_layout_place(member, &at);
    bool has_bits = type_layout_number(member, DW_AT_bit_size, &bits);
    if (!type_layout_bytes(member, &bytes) || at > MOST_BYTES)
        return false;
    if (has_bits)
        return type_layout_bit_field(member, at, bytes, bits, span);
    *span = (struct type_layout_span){at * BITS, (at + bytes) * BITS};
    return has_place;
}

/* Static members have no place, and take none. */
static bool type_layout_counts(Dwarf_Die *child)
{
    int tag = dwarf_tag(child);
    return tag == DW_TAG_inheritance ||
           (tag == DW_TAG_member && !dwarf_hasattr(child, DW_AT_external) &&
            !dwarf_hasattr(child, DW_AT_declaration));
}

static void type_layout_add(struct symbols_type_layout *layout, uint64_t end_bit,
                            uint64_t start_bit)
{
    uint64_t from = (end_bit + BITS - 1) / BITS, to = start_bit / BITS;
    if (to <= from)
        return;
    layout->hole_count++;
    layout->hole_bytes += to - from;
}

bool type_layout_find(Dwarf_Die *structure, struct symbols_type_layout *layout)
{
    const char *furthest = NULL;
    struct type_layout_span span;
    uint64_t end_bit = 0, bytes;
    Dwarf_Die child;
    int tag = dwarf_tag(structure);
    *layout = (struct symbols_type_layout){0};
    if ((tag != DW_TAG_structure_type && tag != DW_TAG_class_type) ||
        !type_layout_number(structure, DW_AT_byte_size, &bytes) || bytes > MOST_BYTES ||
        !dwarf_walk_child(&furthest, structure, &child))
        return false;
    do {
        if (!type_layout_counts(&child))
            continue;
        if (!type_layout_span(&child, &span) || span.end_bit > bytes * BITS)
            return false;
        type_layout_add(layout, end_bit, span.start_bit);
        end_bit = span.end_bit > end_bit ? span.end_bit : end_bit;
    } while (dwarf_walk_sibling(&furthest, &child));
    layout->padding_bytes = bytes - (end_bit + BITS - 1) / BITS;
    return end_bit != 0;
}
