/* Reads variables from DWARF (variable_places.h). All entries of all units must be read, so the
 * time is limited. Most locals with a location are skipped by its first opcode, which differs for
 * variables in frames and for those that are in memory during the whole run. */
#include "symbols/variable_places.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/now.h"
#include "base/search.h"

#include "symbols/dwarf_index.h"
#include "symbols/dwarf_names.h"
#include "symbols/number_map.h"
#include "symbols/variable_symbols.h"

#define MAX_DEPTH         400
#define ENTRIES_PER_CLOCK 1024u

struct variable_places_walk {
    struct variables *variables;
    size_t sorted_count; /* found variables are appended behind */
    struct dwarf_index index;
    struct number_map unit_by_cu;
    struct number_map by_linkage; /* filled for the first COMMON block */
    struct unit *unit;
    bool in_functions;    /* second round: only what is inside functions */
    const char *furthest; /* see dwarf_names.h */
    uint64_t deadline_ns;
    uint32_t entries;
    bool late;
};

static bool variable_places_is_late(struct variable_places_walk *walk)
{
    if (!walk->late && walk->entries++ % ENTRIES_PER_CLOCK == 0)
        walk->late = now_monotonic_ns() >= walk->deadline_ns;
    return walk->late;
}

/* ---- Where a variable is ------------------------------------------------------------------- */

struct spot {
    bool tls;
    uint64_t address;
};

static bool variable_places_begins_static(uint8_t opcode)
{
    return opcode == DW_OP_addr || opcode == DW_OP_addrx || opcode == DW_OP_GNU_addr_index ||
           opcode == DW_OP_const4u || opcode == DW_OP_const8u || opcode == DW_OP_constu ||
           opcode == DW_OP_constx || opcode == DW_OP_GNU_const_index;
}

static bool variable_places_is_tls_operation(uint8_t opcode)
{
    return opcode == DW_OP_form_tls_address || opcode == DW_OP_GNU_push_tls_address;
}

/* The number that the expression begins with; split DWARF keeps it in .debug_addr. */
static bool variable_places_first_number(Dwarf_Attribute *location, const Dwarf_Op *op,
                                         uint64_t *number)
{
    Dwarf_Attribute indirect;
    Dwarf_Word found = op->number;
    if (op->atom == DW_OP_addrx || op->atom == DW_OP_GNU_addr_index || op->atom == DW_OP_constx ||
        op->atom == DW_OP_GNU_const_index) {
        if (dwarf_getlocation_attr(location, op, &indirect) != 0 ||
            (dwarf_formaddr(&indirect, &found) != 0 && dwarf_formudata(&indirect, &found) != 0))
            return false;
    }
    *number = found;
    return true;
}

static bool variable_places_is_address(uint8_t opcode)
{
    return opcode == DW_OP_addr || opcode == DW_OP_addrx || opcode == DW_OP_GNU_addr_index;
}

/* GCC's split DWARF (12) lists the address of the TLS segment's image instead of the place within
 * the segment. */
static uint64_t variable_places_tls(const struct variables_tls *tls, uint64_t number)
{
    bool is_image = number >= tls->bytes && number - tls->address < tls->bytes;
    return is_image ? number - tls->address : number;
}

/*  addr                      a variable
 *  addr, plus_uconst         a part of what compilers merged: clang's _MergedGlobals
 *  const, form_tls_address   a thread-local variable, by its place in the TLS segment */
static bool variable_places_read_location(struct variable_places_walk *walk,
                                          Dwarf_Attribute *location, struct spot *spot)
{
    Dwarf_Op *ops;
    size_t count;
    uint64_t number;
    if (dwarf_getlocation(location, &ops, &count) != 0 || count < 1 || count > 2 ||
        !variable_places_first_number(location, &ops[0], &number))
        return false;
    if (count == 2 && !variable_places_is_address(ops[0].atom) &&
        variable_places_is_tls_operation(ops[1].atom)) {
        *spot = (struct spot){true, variable_places_tls(&walk->variables->tls, number)};
        return true;
    }
    if (!variable_places_is_address(ops[0].atom) ||
        (count == 2 && ops[1].atom != DW_OP_plus_uconst))
        return false;
    *spot = (struct spot){false, number + walk->index.bias + (count == 2 ? ops[1].number : 0)};
    return true;
}

static bool variable_places_find_spot(struct variable_places_walk *walk, Dwarf_Die *die,
                                      struct spot *spot)
{
    Dwarf_Attribute location;
    Dwarf_Block block;
    return dwarf_attr(die, DW_AT_location, &location) && dwarf_formblock(&location, &block) == 0 &&
           block.length > 0 && variable_places_begins_static(block.data[0]) &&
           variable_places_read_location(walk, &location, spot);
}

/* ---- What it says -------------------------------------------------------------------------- */

static bool variable_places_read_number(Dwarf_Die *die, unsigned name, Dwarf_Attribute *attribute,
                                        uint32_t *value)
{
    Dwarf_Word number;
    if (!dwarf_attr_integrate(die, name, attribute) || dwarf_formudata(attribute, &number) != 0 ||
        number > UINT32_MAX)
        return false;
    *value = (uint32_t)number;
    return true;
}

/* The file's number counts in the line table of the unit that it stands in, which for link-time
 * optimised programs is another than the variable's. */
static void variable_places_set(struct variable_places_walk *walk, struct variable *variable,
                                Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    uint32_t file, line;
    if (!variable_places_read_number(die, DW_AT_decl_file, &attribute, &file))
        return;
    uint32_t number = number_map_get(&walk->unit_by_cu, (uintptr_t)attribute.cu);
    if (number == NUMBER_NONE)
        return;
    const char *path = dwarf_index_file(&walk->index, &walk->index.units[number], file);
    if (!path)
        return;
    variable->file = path;
    if (variable_places_read_number(die, DW_AT_decl_line, &attribute, &line))
        variable->line = line;
}

static const char *variable_places_join_name(struct variable_places_walk *walk, const char *first,
                                             const char *second, const char *third)
{
    char *text = NULL;
    if (asprintf(&text, "%s%s%s", first, second, third) < 0)
        return NULL;
    const char *name = pool_intern(&walk->variables->pool, text);
    free(text);
    return name;
}

/* As in Fortran: COMMON /block/, and COMMON // for the one without a name. */
static const char *variable_places_common_name(struct variable_places_walk *walk, const char *plain)
{
    return variable_places_join_name(walk, "COMMON /", strcmp(plain, "__BLNK__") == 0 ? "" : plain,
                                     "/");
}

static const char *variable_places_name_of(struct variable_places_walk *walk, Dwarf_Die *die,
                                           Dwarf_Die *function)
{
    const char *plain = dwarf_diename(die);
    if (plain && dwarf_tag(die) == DW_TAG_common_block)
        return variable_places_common_name(walk, plain);
    const char *outer = function ? dwarf_name(&walk->index, walk->unit, function)->function : NULL;
    if (plain && outer)
        return variable_places_join_name(walk, outer, "::", plain);
    return dwarf_name(&walk->index, walk->unit, die)->function;
}

/* Whether the name must come from DWARF. A mangled name is complete. A dot is in names that
 * compilers make up: "calls.0" for statics of C. */
static bool variable_places_wants_name(const char *linkage, Dwarf_Die *die, Dwarf_Die *function)
{
    if (dwarf_tag(die) == DW_TAG_common_block)
        return true;
    char *readable = function || strchr(linkage, '.') ? symbols_demangle(linkage) : NULL;
    bool wants = (function || strchr(linkage, '.')) && !readable;
    free(readable);
    return wants;
}

static uint64_t variable_places_size_of(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    Dwarf_Die type;
    Dwarf_Word bytes;
    if (!dwarf_attr_integrate(die, DW_AT_type, &attribute) ||
        !dwarf_formref_die(&attribute, &type) || dwarf_aggregate_size(&type, &bytes) != 0)
        return 0;
    return bytes;
}

/* ---- Joining ------------------------------------------------------------------------------- */

static bool variable_places_lies_before(const struct variable *variable, uint32_t section,
                                        uint64_t address)
{
    return variable->section != section ? variable->section < section : variable->address < address;
}

/* The first at this address, or `sorted_count`. */
static size_t variable_places_first_at(const struct variable_places_walk *walk, uint32_t section,
                                       uint64_t address)
{
    const struct variable *list = walk->variables->list;
    size_t first = 0;
    SEARCH_FIRST(first, walk->sorted_count, at,
                 variable_places_lies_before(&list[at], section, address));
    return first < walk->sorted_count && list[first].section == section &&
                   list[first].address == address
               ? first
               : walk->sorted_count;
}

static void variable_places_describe(struct variable_places_walk *walk, struct variable *variable,
                                     Dwarf_Die *die, Dwarf_Die *function)
{
    if (variable->file || variable->name)
        return;
    variable_places_set(walk, variable, die);
    if (variable_places_wants_name(variable->linkage, die, function))
        variable->name = variable_places_name_of(walk, die, function);
}

static void variable_places_add(struct variable_places_walk *walk, Dwarf_Die *die,
                                Dwarf_Die *function, struct spot spot)
{
    uint64_t bytes = variable_places_size_of(die);
    uint64_t base = spot.tls ? walk->variables->tls.address : 0;
    uint32_t section =
        bytes ? variable_section_at(walk->variables, spot.tls, spot.address + base, bytes)
              : SECTION_NONE;
    const char *name =
        section == SECTION_NONE ? NULL : variable_places_name_of(walk, die, function);
    if (!name)
        return;
    struct variable variable = {
        .name = name, .section = section, .address = spot.address, .bytes = bytes};
    variable_places_set(walk, &variable, die);
    variable_append(walk->variables, variable);
}

/* Discarded variables have the address 0, which is also a valid place of a thread-local variable.
 * There only an entry with the variable's own name counts. */
static bool variable_places_may_be_discarded(const struct variable *variable, Dwarf_Die *die,
                                             struct spot spot)
{
    const char *plain = dwarf_diename(die);
    return spot.tls && spot.address == 0 &&
           !(variable && plain && strstr(variable->linkage, plain));
}

/* Linkage names are interned in the pool, so equal ones have equal addresses. */
static void variable_places_map_names(struct variable_places_walk *walk)
{
    for (size_t i = 0; i < walk->sorted_count; i++)
        number_map_put(&walk->by_linkage, (uintptr_t)walk->variables->list[i].linkage, (uint32_t)i);
}

/* gfortran gives no address for most COMMON blocks, so they are found by the name of their symbol:
 * "block_", which in C could be any name. */
static void variable_places_join_common(struct variable_places_walk *walk, Dwarf_Die *die,
                                        Dwarf_Die *function)
{
    Dwarf_Attribute attribute;
    const char *linkage = dwarf_attr(die, DW_AT_linkage_name, &attribute)
                              ? dwarf_formstring(&attribute)
                              : dwarf_diename(die);
    if (!linkage)
        return;
    if (!walk->by_linkage.count)
        variable_places_map_names(walk);
    linkage = pool_intern(&walk->variables->pool, linkage);
    uint32_t found = number_map_get(&walk->by_linkage, (uintptr_t)linkage);
    if (found != NUMBER_NONE)
        variable_places_describe(walk, &walk->variables->list[found], die, function);
}

static void variable_places_join(struct variable_places_walk *walk, Dwarf_Die *die,
                                 Dwarf_Die *function)
{
    struct spot spot;
    if (!variable_places_find_spot(walk, die, &spot))
        return;
    struct variables *variables = walk->variables;
    uint64_t base = spot.tls ? variables->tls.address : 0;
    uint32_t section = variable_section_at(variables, spot.tls, spot.address + base, 1);
    if (section == SECTION_NONE)
        return;
    size_t at = variable_places_first_at(walk, section, spot.address);
    bool known = at < walk->sorted_count;
    if (variable_places_may_be_discarded(known ? &variables->list[at] : NULL, die, spot))
        return;
    if (!known)
        variable_places_add(walk, die, function, spot);
    for (; at < walk->sorted_count && variables->list[at].section == section &&
           variables->list[at].address == spot.address;
         at++)
        variable_places_describe(walk, &variables->list[at], die, function);
}

/* ---- Walking ------------------------------------------------------------------------------- */

static bool variable_places_is_function(int tag)
{
    return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

static bool variable_places_is_outer_scope(int tag)
{
    return tag == DW_TAG_namespace || tag == DW_TAG_module;
}

/* Types whose children are no scopes. Classes are: Rust's methods stand in them. */
static bool variable_places_is_plain_type(int tag)
{
    return tag == DW_TAG_enumeration_type || tag == DW_TAG_array_type ||
           tag == DW_TAG_subroutine_type;
}

static void variable_places_walk_children(struct variable_places_walk *walk, Dwarf_Die *parent,
                                          Dwarf_Die *function, int depth)
{
    Dwarf_Die child;
    if (depth > MAX_DEPTH || !dwarf_walk_child(&walk->furthest, parent, &child))
        return;
    do {
        int tag = dwarf_tag(&child);
        if (tag == DW_TAG_variable || tag == DW_TAG_common_block) {
            if (walk->in_functions == (function != NULL))
                (tag == DW_TAG_variable ? variable_places_join
                                        : variable_places_join_common)(walk, &child, function);
        } else if (variable_places_is_outer_scope(tag) ||
                   (walk->in_functions && !variable_places_is_plain_type(tag) &&
                    dwarf_haschildren(&child))) {
            variable_places_walk_children(
                walk, &child, variable_places_is_function(tag) ? &child : function, depth + 1);
        }
    } while (!variable_places_is_late(walk) && dwarf_walk_sibling(&walk->furthest, &child));
}

static void variable_places_walk_units(struct variable_places_walk *walk)
{
    walk->variables->units_read = 0;
    for (size_t i = 0; i < walk->index.unit_count && !variable_places_is_late(walk); i++) {
        walk->unit = &walk->index.units[i];
        walk->furthest = NULL;
        walk->entries = 0; /* so that the clock is asked for each unit */
        variable_places_walk_children(walk, &walk->unit->body, NULL, 0);
        walk->variables->units_read += !walk->late;
    }
}

static void variable_places_map_units(struct variable_places_walk *walk)
{
    for (size_t i = 0; i < walk->index.unit_count; i++) {
        struct unit *unit = &walk->index.units[i];
        number_map_put(&walk->unit_by_cu, (uintptr_t)unit->die.cu, (uint32_t)i);
        number_map_put(&walk->unit_by_cu, (uintptr_t)unit->body.cu, (uint32_t)i);
    }
}

void variable_places_read(struct variables *variables, Dwarf *dwarf, uint64_t bias,
                          uint64_t deadline_ns)
{
    struct variable_places_walk walk = {
        .variables = variables, .sorted_count = variables->count, .deadline_ns = deadline_ns};
    if (dwarf_index_open(&walk.index, dwarf, bias, &variables->pool)) {
        variables->unit_count = walk.index.unit_count;
        variable_places_map_units(&walk);
        variable_places_walk_units(&walk);
        walk.in_functions = true;
        variable_places_walk_units(&walk);
        variables->places = walk.late ? VARIABLES_PLACES_PARTLY : VARIABLES_PLACES_ALL;
    }
    number_map_release(&walk.by_linkage);
    number_map_release(&walk.unit_by_cu);
    dwarf_index_release(&walk.index);
}
