/* Addresses to functions, inlined calls and lines, from DWARF (dwarf_index.h). Units, functions and
 * inlined calls are sorted range maps that are built at the first address inside them. A unit's
 * nested functions are read only if no outer function holds the address. */
#include "symbols/dwarf_index.h"

#include <dwarf.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include "base/memory.h"
#include "base/search.h"

#include "symbols/aranges.h"
#include "symbols/dwarf_names.h"
#include "symbols/name_memory.h"

/* Trees of a broken file may be as deep as it is long. Real ones nest some tens of levels. */
#define MAX_DEPTH 400

/* ---- Units --------------------------------------------------------------------------------- */

/* Discarded functions keep debug information at address 0 (1 in range lists, -1 by lld). */
static bool dwarf_plausible(Dwarf_Addr low, Dwarf_Addr high)
{
    return low > 1 && low < high;
}

static bool dwarf_add_ranges(struct range_map *map, Dwarf_Die *die, uint32_t value,
                             uint64_t *ranges_left)
{
    Dwarf_Addr base, low, high;
    size_t before = map->count;
    for (ptrdiff_t at = 0; *ranges_left && (at = dwarf_ranges(die, at, &base, &low, &high)) > 0;) {
        --*ranges_left;
        if (dwarf_plausible(low, high))
            range_map_add(map, low, high, value);
    }
    return map->count > before;
}

static void dwarf_add_unit(struct dwarf_index *index, Dwarf_Die *die, Dwarf_Die *body)
{
    index->units = name_memory_grow(index->units, &index->unit_capacity, index->unit_count + 1,
                                    sizeof *index->units);
    index->units[index->unit_count++] =
        (struct unit){.die = *die, .body = *body, .ranges_left = &index->ranges_left};
}

/* From version 5 on a unit's header says what it is. Its first entry is not looked at: in files
 * that dwz has packed, finding what the entry looks like takes thousands of instructions. */
static bool dwarf_is_compiled(Dwarf_Half version, uint8_t type, Dwarf_Die *die)
{
    return type == DW_UT_skeleton ||
           (type == DW_UT_compile && (version >= 5 || dwarf_tag(die) == DW_TAG_compile_unit));
}

static void dwarf_add_units(struct dwarf_index *index)
{
    Dwarf_CU *cu = NULL;
    Dwarf_Die die, split;
    Dwarf_Half version;
    uint8_t type;
    while (dwarf_get_units(index->dwarf, cu, &cu, &version, &type, &die, &split) == 0) {
        bool is_split = type == DW_UT_skeleton && split.addr;
        if (dwarf_is_compiled(version, type, &die))
            dwarf_add_unit(index, &die, is_split ? &split : &die);
    }
}

/* Compilers write separate lists of ranges for each function, so each range takes more than a byte
 * of the file. A packed file has some more. */
static uint64_t dwarf_most_ranges(Dwarf *dwarf)
{
    enum { LEAST = 1 << 16, TIMES = 2 };
    size_t bytes = 0;
    elf_rawfile(dwarf_getelf(dwarf), &bytes);
    return LEAST + (uint64_t)bytes * TIMES;
}

bool dwarf_index_open(struct dwarf_index *index, Dwarf *dwarf, uint64_t bias, struct pool *pool)
{
    *index = (struct dwarf_index){
        .dwarf = dwarf, .bias = bias, .pool = pool, .ranges_left = dwarf_most_ranges(dwarf)};
    dwarf_add_units(index);
    return index->unit_count > 0;
}

int dwarf_unit_language(struct unit *unit)
{
    if (!unit->language_read)
        unit->language = dwarf_srclang(&unit->body);
    unit->language_read = true;
    return unit->language;
}

/* ---- The unit of an address ---------------------------------------------------------------- */

static Dwarf_Off dwarf_header_offset(Dwarf_Die *die)
{
    return dwarf_dieoffset(die) - dwarf_cuoffset(die);
}

/* Its number, by the offset of its header; RANGE_NONE: there is none. */
static uint32_t dwarf_unit_at(const struct dwarf_index *index, Dwarf_Off offset)
{
    size_t first = 0;
    SEARCH_FIRST(first, index->unit_count, at, dwarf_header_offset(&index->units[at].die) < offset);
    return first < index->unit_count && dwarf_header_offset(&index->units[first].die) == offset
               ? (uint32_t)first
               : RANGE_NONE;
}

static int dwarf_compare_aranges(const void *left, const void *right)
{
    uint64_t a = ((const struct arange *)left)->unit, b = ((const struct arange *)right)->unit;
    return (a > b) - (a < b);
}

/* As units stand in the file: of two that list an address the later one has it, as below. */
static void dwarf_read_listed(struct dwarf_index *index)
{
    struct aranges aranges;
    uint32_t unit = RANGE_NONE;
    aranges_read(&aranges, dwarf_getelf(index->dwarf));
    if (aranges.count)
        qsort(aranges.list, aranges.count, sizeof *aranges.list, dwarf_compare_aranges);
    for (size_t i = 0; i < aranges.count; i++) {
        const struct arange *range = &aranges.list[i];
        if (!i || range[-1].unit != range->unit)
            unit = dwarf_unit_at(index, range->unit);
        if (unit != RANGE_NONE && dwarf_plausible(range->low, range->high))
            range_map_add(&index->listed, range->low, range->high, unit);
    }
    aranges_release(&aranges);
    index->listed_read = true;
}

/* False: it does not say. */
static bool dwarf_read_own(struct unit *unit)
{
    if (!unit->own_read)
        dwarf_add_ranges(&unit->own, &unit->die, 0, unit->ranges_left);
    unit->own_read = true;
    return unit->own.count > 0;
}

static void dwarf_add_all(struct range_map *to, const struct range_map *from, const uint32_t *value)
{
    for (size_t i = 0; i < from->count; i++)
        range_map_add(to, from->ranges[i].low, from->ranges[i].high,
                      value ? *value : from->ranges[i].value);
}

/* Units without ranges of their own (assembly, some old compilers) are listed only. */
static void dwarf_read_all(struct dwarf_index *index)
{
    bool complete = true;
    for (size_t i = 0; i < index->unit_count; i++)
        complete &= dwarf_read_own(&index->units[i]);
    if (!complete) /* first, so that a unit's own ranges cover these */
        dwarf_add_all(&index->unit_ranges, &index->listed, NULL);
    for (uint32_t i = 0; i < index->unit_count; i++)
        dwarf_add_all(&index->unit_ranges, &index->units[i].own, &i);
    index->all_read = true;
}

/* Is it in a table of jumps that the linker makes? No unit has any of these. */
static bool dwarf_is_linkers(const struct dwarf_index *index, uint64_t address)
{
    Elf *elf = dwarf_getelf(index->dwarf);
    size_t names;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return false;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || address < header.sh_addr ||
            address - header.sh_addr >= header.sh_size || !(header.sh_flags & SHF_EXECINSTR))
            continue;
        const char *name = elf_strptr(elf, names, header.sh_name);
        return name && strncmp(name, ".plt", strlen(".plt")) == 0;
    }
    return false;
}

/* What is listed is asked first for every address: so an address has one unit, whichever were
 * looked up before it. */
static struct unit *dwarf_find_unit(struct dwarf_index *index, uint64_t address)
{
    if (!index->listed_read)
        dwarf_read_listed(index);
    uint32_t found = range_map_find(&index->listed, address);
    if (found != RANGE_NONE && dwarf_read_own(&index->units[found]) &&
        range_map_find(&index->units[found].own, address) != RANGE_NONE)
        return &index->units[found];
    if (!index->all_read) {
        if (dwarf_is_linkers(index, address))
            return NULL;
        dwarf_read_all(index);
    }
    found = range_map_find(&index->unit_ranges, address);
    return found == RANGE_NONE ? NULL : &index->units[found];
}

/* ---- Release ------------------------------------------------------------------------------- */

static void dwarf_release_unit(struct unit *unit)
{
    for (size_t i = 0; i < unit->function_count; i++) {
        free(unit->functions[i].inlines);
        range_map_release(&unit->functions[i].inline_ranges);
    }
    free(unit->functions);
    range_map_release(&unit->function_ranges);
    range_map_release(&unit->own);
    line_table_release(&unit->lines);
    free(unit->paths);
    free(unit->scopes);
}

void dwarf_index_release(struct dwarf_index *index)
{
    for (size_t i = 0; i < index->unit_count; i++)
        dwarf_release_unit(&index->units[i]);
    free(index->units);
    range_map_release(&index->listed);
    range_map_release(&index->unit_ranges);
    number_map_release(&index->name_numbers);
    free(index->names);
    *index = (struct dwarf_index){0};
}

/* ---- Functions of a unit ------------------------------------------------------------------- */

static bool dwarf_gone_on(const char **furthest, const Dwarf_Die *die)
{
    const char *at = die->addr;
    if (at <= *furthest)
        return false;
    *furthest = at;
    return true;
}

bool dwarf_walk_child(const char **furthest, Dwarf_Die *parent, Dwarf_Die *child)
{
    return dwarf_child(parent, child) == 0 && dwarf_gone_on(furthest, child);
}

bool dwarf_walk_sibling(const char **furthest, Dwarf_Die *die)
{
    return dwarf_siblingof(die, die) == 0 && dwarf_gone_on(furthest, die);
}

static void dwarf_add_function(struct unit *unit, Dwarf_Die *die)
{
    if (!dwarf_add_ranges(&unit->function_ranges, die, (uint32_t)unit->function_count,
                          unit->ranges_left))
        return;
    unit->functions = name_memory_grow(unit->functions, &unit->function_capacity,
                                       unit->function_count + 1, sizeof *unit->functions);
    unit->functions[unit->function_count++] =
        (struct function){.die = *die, .ranges_left = unit->ranges_left};
}

/* Scopes of functions that are not nested in others: C, C++ and Fortran put none into classes. */
static bool dwarf_is_outer_scope(int tag)
{
    return tag == DW_TAG_namespace || tag == DW_TAG_module;
}

static void dwarf_add_functions(struct unit *unit, Dwarf_Die *parent, bool nested, int depth,
                                const char **furthest)
{
    Dwarf_Die child;
    if (depth > MAX_DEPTH || !dwarf_walk_child(furthest, parent, &child))
        return;
    do {
        int tag = dwarf_tag(&child);
        if (tag == DW_TAG_subprogram)
            dwarf_add_function(unit, &child);
        if (dwarf_is_outer_scope(tag) || (nested && dwarf_haschildren(&child)))
            dwarf_add_functions(unit, &child, nested, depth + 1, furthest);
    } while (dwarf_walk_sibling(furthest, &child));
}

static void dwarf_forget_functions(struct unit *unit)
{
    for (size_t i = 0; i < unit->function_count; i++) {
        free(unit->functions[i].inlines);
        range_map_release(&unit->functions[i].inline_ranges);
    }
    unit->function_count = 0;
    range_map_release(&unit->function_ranges);
}

/* Function bodies are skipped at first, which is fast where DW_AT_sibling exists. If no outer
 * function has the address, the whole unit is read: Fortran's contained procedures, Rust's methods,
 * lambdas of local classes. */
static struct function *dwarf_find_function(struct unit *unit, uint64_t address)
{
    uint32_t found = range_map_find(&unit->function_ranges, address);
    while (found == RANGE_NONE && unit->functions_read < UNIT_ALL) {
        const char *furthest = NULL;
        dwarf_forget_functions(unit);
        unit->functions_read++;
        dwarf_add_functions(unit, &unit->body, unit->functions_read == UNIT_ALL, 0, &furthest);
        found = range_map_find(&unit->function_ranges, address);
    }
    return found == RANGE_NONE ? NULL : &unit->functions[found];
}

/* ---- Inlined calls of a function ----------------------------------------------------------- */

static uint32_t dwarf_add_inlined(struct function *function, Dwarf_Die *die, uint32_t parent)
{
    uint32_t number = (uint32_t)function->inline_count;
    if (!dwarf_add_ranges(&function->inline_ranges, die, number, function->ranges_left))
        return parent;
    function->inlines = name_memory_grow(function->inlines, &function->inline_capacity,
                                         function->inline_count + 1, sizeof *function->inlines);
    function->inlines[function->inline_count++] = (struct inlined){*die, parent};
    return number;
}

static bool dwarf_is_block(int tag)
{
    return tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block ||
           tag == DW_TAG_with_stmt;
}

static void dwarf_add_inlines(struct function *function, Dwarf_Die *parent_die, uint32_t parent,
                              int depth, const char **furthest)
{
    Dwarf_Die child;
    if (depth > MAX_DEPTH || !dwarf_walk_child(furthest, parent_die, &child))
        return;
    do {
        int tag = dwarf_tag(&child);
        if (tag == DW_TAG_inlined_subroutine)
            dwarf_add_inlines(function, &child, dwarf_add_inlined(function, &child, parent),
                              depth + 1, furthest);
        else if (dwarf_is_block(tag))
            dwarf_add_inlines(function, &child, parent, depth + 1, furthest);
    } while (dwarf_walk_sibling(furthest, &child));
}

static uint32_t dwarf_find_inlined(struct function *function, uint64_t address)
{
    const char *furthest = NULL;
    if (!function->inlines_read)
        dwarf_add_inlines(function, &function->die, RANGE_NONE, 0, &furthest);
    function->inlines_read = true;
    return range_map_find(&function->inline_ranges, address);
}

/* ---- Files and lines ----------------------------------------------------------------------- */

/* "/a/./b//../c" → "/a/c": compilers write paths as the build system gave them. */
static const char *dwarf_tidy_path(struct pool *pool, const char *path)
{
    size_t length = strlen(path), kept = 0;
    char *tidy = memory_zeroed(length + 2, 1);
    bool absolute = *path == '/';
    while (*path) {
        size_t part = strcspn(path, "/");
        bool up = part == 2 && memcmp(path, "..", 2) == 0;
        char *last = memrchr(tidy, '/', kept);
        const char *last_part = last ? last + 1 : tidy;
        if (part == 0 || (part == 1 && *path == '.')) {
            /* says nothing */
        } else if (up && kept && strcmp(last_part, "..") != 0) {
            kept = last ? (size_t)(last - tidy) : 0;
        } else if (!(up && absolute && !kept)) {
            if (kept || absolute)
                tidy[kept++] = '/';
            memcpy(tidy + kept, path, part);
            kept += part;
        }
        tidy[kept] = '\0';
        path += part + (path[part] == '/');
    }
    const char *interned = pool_intern(pool, tidy);
    free(tidy);
    return interned;
}

/* Of units whose table line_table.h does not read, libdw tells it. */
static void dwarf_read_lines(struct dwarf_index *index, struct unit *unit)
{
    if (unit->lines_read)
        return;
    unit->lines_read = true;
    unit->has_lines = line_table_read(&unit->lines, &index->line_sections, &unit->die);
    if (unit->has_lines)
        unit->file_count = unit->lines.file_count;
    else if (dwarf_getsrcfiles(&unit->die, &unit->files, &unit->file_count) != 0)
        unit->file_count = 0;
    unit->paths = memory_zeroed(unit->file_count, sizeof *unit->paths);
}

static const char *dwarf_file_path(struct dwarf_index *index, struct unit *unit, size_t number)
{
    struct strbuf text = STRBUF_INIT;
    const char *path = NULL;
    if (!unit->has_lines)
        path = dwarf_filesrc(unit->files, number, NULL, NULL);
    else if (line_table_path(&unit->lines, number, &text))
        path = text.data;
    path = path ? dwarf_tidy_path(index->pool, path) : "";
    strbuf_release(&text);
    return path;
}

const char *dwarf_index_file(struct dwarf_index *index, struct unit *unit, size_t number)
{
    dwarf_read_lines(index, unit);
    if (number >= unit->file_count)
        return NULL;
    if (!unit->paths[number])
        unit->paths[number] = dwarf_file_path(index, unit, number);
    const char *path = unit->paths[number];
    return *path && strcmp(path, "???") != 0 ? path : NULL;
}

static void dwarf_set_line_by_libdw(struct dwarf_index *index, struct unit *unit, uint64_t address,
                                    struct symbols_frame *frame)
{
    Dwarf_Line *line = dwarf_getsrc_die(&unit->die, address);
    Dwarf_Files *files;
    size_t file;
    int number;
    if (!line)
        return;
    if (dwarf_line_file(line, &files, &file) == 0)
        frame->file = dwarf_index_file(index, unit, file);
    if (dwarf_lineno(line, &number) == 0 && number > 0)
        frame->line = (uint32_t)number;
}

static void dwarf_set_line(struct dwarf_index *index, struct unit *unit, uint64_t address,
                           struct symbols_frame *frame)
{
    dwarf_read_lines(index, unit);
    if (!unit->has_lines) {
        dwarf_set_line_by_libdw(index, unit, address, frame);
        return;
    }
    const struct line_row *row = line_table_find(&unit->lines, address);
    if (!row)
        return;
    frame->file = dwarf_index_file(index, unit, row->file);
    if (row->line <= INT32_MAX)
        frame->line = row->line;
}

static uint32_t dwarf_small_attribute(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    if (dwarf_formudata(dwarf_attr(die, name, &attribute), &value) != 0 || value > UINT32_MAX)
        return 0;
    return (uint32_t)value;
}

static void dwarf_set_call_line(struct dwarf_index *index, struct unit *unit, Dwarf_Die *call,
                                struct symbols_frame *frame)
{
    if (dwarf_hasattr(call, DW_AT_call_file))
        frame->file = dwarf_index_file(index, unit, dwarf_small_attribute(call, DW_AT_call_file));
    frame->line = dwarf_small_attribute(call, DW_AT_call_line);
}

/* ---- Resolving ----------------------------------------------------------------------------- */

static void dwarf_set_name(struct dwarf_index *index, struct unit *unit, Dwarf_Die *die,
                           struct symbols_frame *frame)
{
    const struct name *name = dwarf_name(index, unit, die);
    frame->function = name->function;
    frame->linkage = name->linkage;
}

/* The line table says where the innermost frame is; each call that was inlined says where it
 * stands in the frame around it. */
static size_t dwarf_resolve_in(struct dwarf_index *index, struct unit *unit,
                               struct function *function, uint64_t address,
                               struct symbols_frame *frames, size_t max)
{
    size_t count = 0;
    struct symbols_frame frame = {0};
    dwarf_set_line(index, unit, address, &frame);
    for (uint32_t at = dwarf_find_inlined(function, address); at != RANGE_NONE && count < max;
         at = function->inlines[at].parent) {
        struct inlined *call = &function->inlines[at];
        frame.inlined = true;
        dwarf_set_name(index, unit, &call->die, &frame);
        frames[count++] = frame;
        frame = (struct symbols_frame){0};
        dwarf_set_call_line(index, unit, &call->die, &frame);
    }
    if (count < max) {
        dwarf_set_name(index, unit, &function->die, &frame);
        frames[count++] = frame;
    }
    return count;
}

struct function *dwarf_index_function(struct dwarf_index *index, uint64_t address,
                                      struct unit **unit)
{
    struct unit *found = dwarf_find_unit(index, address - index->bias);
    if (!found)
        return NULL;
    if (unit)
        *unit = found;
    return dwarf_find_function(found, address - index->bias);
}

size_t dwarf_index_resolve(struct dwarf_index *index, uint64_t address,
                           struct symbols_frame *frames, size_t max)
{
    address -= index->bias;
    struct unit *unit = max ? dwarf_find_unit(index, address) : NULL;
    if (!unit)
        return 0;
    struct function *function = dwarf_find_function(unit, address);
    if (function)
        return dwarf_resolve_in(index, unit, function, address, frames, max);
    frames[0] = (struct symbols_frame){0};
    dwarf_set_line(index, unit, address, &frames[0]);
    return frames[0].file ? 1 : 0;
}
