/* An index of DWARF, built as addresses are looked up. It has one sorted map of the units of a
 * module; for each unit with such an address, a map of its functions, and its line table; for each
 * function, a map of the calls inlined into it. (dwarf_getscopes() would walk a unit from its start
 * for each address.)
 *
 * The unit of an address is the one that .debug_aranges lists, if the unit says the same of itself.
 * For any other address all units are asked which addresses they have, but not for those of the
 * linker's tables of jumps (.plt), of which no unit has any. In a file that lists some
 * units only, another unit may say the same of an address that is listed: where code was folded,
 * either one is right. */
#ifndef TIDEMARK_SYMBOLS_DWARF_INDEX_H
#define TIDEMARK_SYMBOLS_DWARF_INDEX_H

#include <elfutils/libdw.h>

#include "symbols/line_table.h"
#include "symbols/number_map.h"
#include "symbols/string_pool.h"
#include "symbols/range_map.h"
#include "symbols/symbols.h"

/*  module   units      |  main.c        |  heap.cc                        |
 *  unit     functions  |  main   | init |  grow()          | shrink()     |
 *  function inlines    |                |     | max | copy |              |
 *                                                 ^ addresses inlined into grow()             */
struct inlined {
    Dwarf_Die die;
    uint32_t parent; /* index of the inlined call around it, or RANGE_NONE */
};

struct function {
    Dwarf_Die die;
    uint64_t *ranges_left; /* the index's */
    bool inlines_read;
    struct inlined *inlines; /* parents before children */
    size_t inline_count, inline_capacity;
    struct range_map inline_ranges;
};

/* A namespace, module or class, with the range of offsets inside it. */
struct scope {
    Dwarf_Off begin, end;
    const char *name;
};

enum unit_progress { UNIT_UNREAD, UNIT_OUTER, UNIT_ALL };

struct unit {
    Dwarf_Die die;  /* has the ranges and the line table */
    Dwarf_Die body; /* has the functions: the same, but for split DWARF */
    bool language_read;
    int language;          /* see dwarf_unit_language() */
    uint64_t *ranges_left; /* the index's */
    bool own_read;
    struct range_map own;              /* what the unit says that it has; the value means nothing */
    enum unit_progress functions_read; /* UNIT_OUTER: without functions nested in others */
    struct function *functions;
    size_t function_count, function_capacity;
    struct range_map function_ranges;
    bool lines_read, has_lines;
    struct line_table lines;
    Dwarf_Files *files; /* without `lines` */
    const char **paths; /* of files, once asked for */
    size_t file_count;
    bool scopes_read;
    struct scope *scopes; /* by begin: outer before inner */
    size_t scope_count, scope_capacity;
};

struct name {
    const char *function, *linkage;
};

struct dwarf_index {
    Dwarf *dwarf;
    uint64_t bias; /* address - address in DWARF */
    struct pool *pool;
    struct unit *units;
    size_t unit_count, unit_capacity;
    bool listed_read, all_read;
    struct range_map listed; /* units by .debug_aranges */
    struct line_sections line_sections;
    struct range_map unit_ranges; /* by what all of them say; empty until that is needed */
    uint64_t ranges_left; /* how many ranges may still be read: a corrupt file may have a million
                             functions that share a list */
    struct number_map name_numbers; /* address of a DIE → index in names */
    struct name *names;
    size_t name_count, name_capacity;
};

/* False if there is no unit in it. */
bool dwarf_index_open(struct dwarf_index *index, Dwarf *dwarf, uint64_t bias, struct pool *pool);
void dwarf_index_release(struct dwarf_index *index);

/* As symbols_resolve(), but returns 0 if DWARF has nothing for the address. The last frame's
 * function is NULL if only its line is known. */
size_t dwarf_index_resolve(struct dwarf_index *index, uint64_t address,
                           struct symbols_frame *frames, size_t max);

/* The function at an address, and its unit (NULL: not wanted); NULL: none is known. */
struct function *dwarf_index_function(struct dwarf_index *index, uint64_t address,
                                      struct unit **unit);

/* DW_LANG_*; -1: unknown. */
int dwarf_unit_language(struct unit *unit);

/* File `number` of the unit's line table, without "." and ".."; NULL: there is none. */
const char *dwarf_index_file(struct dwarf_index *index, struct unit *unit, size_t number);

#endif
