/* A linkage name is complete (namespace, class, parameters). Without one, DW_AT_name is qualified
 * with the namespaces, modules and classes around the declaration. DWARF's entries have no link to
 * their parents, so the scopes of a unit are listed once, for the first such name. For Fortran,
 * DW_AT_name is the name in the source, and the linkage name only its translation.
 *
 * Outlined functions (outlined.h): gcc puts their linkage name into DW_AT_name. clang before 17
 * does not name the parent; it is the last function of the same file that begins before the
 * outlined one. */
#include "symbols/dwarf_names.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/name_memory.h"
#include "symbols/outlined.h"

#define MAX_ORIGINS 16
#define MAX_DEPTH   100

/* ---- Attributes ---------------------------------------------------------------------------- */

static const char *dwarf_names_linkage_of(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    if (!dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) &&
        !dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
        return NULL;
    return dwarf_formstring(&attribute);
}

/* The DIE that has the name of `die`: along abstract origins, then specifications. */
static Dwarf_Die dwarf_names_declaration_of(Dwarf_Die die)
{
    static const unsigned links[] = {DW_AT_abstract_origin, DW_AT_specification};
    for (int hops = 0; hops < MAX_ORIGINS; hops++) {
        Dwarf_Attribute attribute;
        Dwarf_Die next;
        bool moved = false;
        for (size_t i = 0; i < 2 && !moved; i++)
            moved = dwarf_formref_die(dwarf_attr(&die, links[i], &attribute), &next);
        if (!moved)
            break;
        die = next;
    }
    return die;
}

static bool dwarf_names_is_fortran(int language)
{
    return language == DW_LANG_Fortran77 || language == DW_LANG_Fortran90 ||
           language == DW_LANG_Fortran95 || language == DW_LANG_Fortran03 ||
           language == DW_LANG_Fortran08;
}

bool dwarf_names_is_c(int language)
{
    return language == DW_LANG_C || language == DW_LANG_C89 || language == DW_LANG_C99 ||
           language == DW_LANG_C11;
}

/* A linkage name in C comes from an asm label: glibc's "__GI___strtod". */
static bool dwarf_names_has_plain(int language)
{
    return dwarf_names_is_fortran(language) || dwarf_names_is_c(language);
}

static bool dwarf_names_has_scopes(int language)
{
    return !dwarf_names_is_c(language) && language != DW_LANG_Mips_Assembler && language != -1;
}

/* ---- Scopes -------------------------------------------------------------------------------- */

static bool dwarf_names_is_scope(int tag)
{
    return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
           tag == DW_TAG_structure_type || tag == DW_TAG_union_type || tag == DW_TAG_interface_type;
}

static const char *dwarf_names_scope(Dwarf_Die *die)
{
    const char *name = dwarf_diename(die);
    if (name)
        return name;
    return dwarf_tag(die) == DW_TAG_namespace ? "(anonymous namespace)" : NULL;
}

static void dwarf_names_add_scopes(struct unit *unit, Dwarf_Die *parent, Dwarf_Off parent_end,
                                   int depth, const char **furthest)
{
    Dwarf_Die child, next;
    if (depth > MAX_DEPTH || !dwarf_walk_child(furthest, parent, &child))
        return;
    do {
        if (!dwarf_names_is_scope(dwarf_tag(&child)) || !dwarf_haschildren(&child))
            continue;
        Dwarf_Off end = dwarf_siblingof(&child, &next) == 0 ? dwarf_dieoffset(&next) : parent_end;
        unit->scopes = name_memory_grow(unit->scopes, &unit->scope_capacity, unit->scope_count + 1,
                                        sizeof *unit->scopes);
        unit->scopes[unit->scope_count++] =
            (struct scope){dwarf_dieoffset(&child), end, dwarf_names_scope(&child)};
        dwarf_names_add_scopes(unit, &child, end, depth + 1, furthest);
    } while (dwarf_walk_sibling(furthest, &child));
}

/* "mod::" + "proc". Only for declarations in the unit itself: for those of another unit (LTO, dwz)
 * that unit's scopes would have to be listed. */
static const char *dwarf_names_qualified(struct dwarf_index *index, struct unit *unit,
                                         Dwarf_Die *declaration, const char *name)
{
    Dwarf_Die home;
    if (!dwarf_diecu(declaration, &home, NULL, NULL) || home.addr != unit->body.addr)
        return pool_intern(index->pool, name);
    const char *furthest = NULL;
    if (!unit->scopes_read)
        dwarf_names_add_scopes(unit, &unit->body, UINT64_MAX, 0, &furthest);
    unit->scopes_read = true;

    char *text = NULL;
    size_t capacity = 0, length = 0;
    Dwarf_Off offset = dwarf_dieoffset(declaration);
    for (size_t i = 0; i < unit->scope_count && unit->scopes[i].begin < offset; i++) {
        const struct scope *scope = &unit->scopes[i];
        if (offset >= scope->end || !scope->name)
            continue;
        size_t bytes = strlen(scope->name);
        text = name_memory_grow(text, &capacity, length + bytes + 2, 1);
        memcpy(text + length, scope->name, bytes);
        memcpy(text + length + bytes, "::", 2);
        length += bytes + 2;
    }
    size_t bytes = strlen(name);
    text = name_memory_grow(text, &capacity, length + bytes, 1);
    memcpy(text + length, name, bytes);
    const char *interned = pool_intern_n(index->pool, text, length + bytes);
    free(text);
    return interned;
}

/* ---- Names --------------------------------------------------------------------------------- */

static struct name dwarf_names_read(struct dwarf_index *index, struct unit *unit, Dwarf_Die *die);

static const char *dwarf_names_readable(struct pool *pool, const char *linkage)
{
    char *text = symbols_demangle(linkage);
    const char *interned = pool_intern(pool, text ? text : linkage);
    free(text);
    return interned;
}

/* ---- Outlined functions ---------------------------------------------------------------------- */

/* The number of the file in the unit's line table, which is 0 for the first one. */
static bool dwarf_names_is_at(Dwarf_Die *die, int *line, Dwarf_Word *file)
{
    Dwarf_Attribute attribute;
    return dwarf_decl_line(die, line) == 0 &&
           !dwarf_formudata(dwarf_attr_integrate(die, DW_AT_decl_file, &attribute), file);
}

/* A search for the function that begins last, but not behind the outlined one's line. */
struct parent_search {
    int until, line; /* line 0: none found yet */
    Dwarf_Word file;
    const char *furthest;
    Dwarf_Die found;
};

static void dwarf_names_consider(struct parent_search *search, Dwarf_Die *die)
{
    const char *name = dwarf_diename(die);
    Dwarf_Word file;
    struct outlined other;
    int line;
    if (name && !outlined_find(name, &other) && !dwarf_hasattr(die, DW_AT_artificial) &&
        dwarf_names_is_at(die, &line, &file) && line > search->line && line <= search->until &&
        file == search->file) {
        search->line = line;
        search->found = *die;
    }
}

static void dwarf_names_search(struct parent_search *search, Dwarf_Die *within, int depth)
{
    Dwarf_Die child;
    if (depth > MAX_DEPTH || !dwarf_walk_child(&search->furthest, within, &child))
        return;
    do {
        int tag = dwarf_tag(&child);
        if (tag == DW_TAG_subprogram)
            dwarf_names_consider(search, &child);
        if (tag == DW_TAG_namespace)
            dwarf_names_search(search, &child, depth + 1);
    } while (dwarf_walk_sibling(&search->furthest, &child));
}

static const char *dwarf_names_of_outlined(struct dwarf_index *index, struct unit *unit,
                                           Dwarf_Die *die, const struct outlined *outlined)
{
    struct parent_search search = {0};
    struct strbuf out = STRBUF_INIT;
    struct name name = {0};
    if (dwarf_names_is_at(die, &search.until, &search.file))
        dwarf_names_search(&search, &unit->body, 0);
    if (search.line)
        name = dwarf_names_read(index, unit, &search.found);
    outlined_add(&out, name.function ? name.function : "", outlined);
    const char *text = pool_intern(index->pool, out.data);
    strbuf_release(&out);
    return text;
}

/* NULL: it is no outlined function. */
static const char *dwarf_names_outlined(struct dwarf_index *index, struct unit *unit,
                                        Dwarf_Die *die, const char *name)
{
    struct outlined outlined;
    if (!name || !outlined_find(name, &outlined))
        return NULL;
    if (!outlined.parent_length)
        return dwarf_names_of_outlined(index, unit, die, &outlined);
    if (!dwarf_names_is_fortran(dwarf_unit_language(unit)) || strstr(name, "_MOD_") ||
        name[outlined.parent_length - 1] != '_' || !strncmp(name, "MAIN__", 6))
        return dwarf_names_readable(index->pool, name);
    char *plain = strndup(name, outlined.parent_length - 1); /* "solve_" of the object file */
    struct strbuf out = STRBUF_INIT;
    outlined_add(&out, plain ? plain : "", &outlined);
    const char *text = pool_intern(index->pool, out.data);
    strbuf_release(&out);
    free(plain);
    return text;
}

static struct name dwarf_names_read(struct dwarf_index *index, struct unit *unit, Dwarf_Die *die)
{
    struct name name = {0};
    Dwarf_Die declaration = dwarf_names_declaration_of(*die);
    const char *linkage = dwarf_names_linkage_of(die), *plain = dwarf_diename(&declaration);
    if (linkage && *linkage)
        name.linkage = pool_intern(index->pool, linkage);
    name.function = dwarf_names_outlined(index, unit, die, name.linkage ? name.linkage : plain);
    if (name.function)
        return name;
    if (name.linkage && !(plain && dwarf_names_has_plain(dwarf_unit_language(unit))))
        name.function = dwarf_names_readable(index->pool, name.linkage);
    else if (plain && *plain)
        name.function = dwarf_names_has_scopes(dwarf_unit_language(unit))
                            ? dwarf_names_qualified(index, unit, &declaration, plain)
                            : pool_intern(index->pool, plain);
    return name;
}

/* All inlined copies of a function share the name of their origin. */
static Dwarf_Die dwarf_names_named_die(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    Dwarf_Die origin;
    if (dwarf_tag(die) == DW_TAG_inlined_subroutine &&
        dwarf_formref_die(dwarf_attr(die, DW_AT_abstract_origin, &attribute), &origin))
        return origin;
    return *die;
}

const struct name *dwarf_name(struct dwarf_index *index, struct unit *unit, Dwarf_Die *die)
{
    Dwarf_Die named = dwarf_names_named_die(die);
    uint64_t key = (uint64_t)(uintptr_t)named.addr;
    uint32_t number = number_map_get(&index->name_numbers, key);
    if (number == NUMBER_NONE) {
        number = (uint32_t)index->name_count;
        index->names = name_memory_grow(index->names, &index->name_capacity, index->name_count + 1,
                                        sizeof *index->names);
        index->names[index->name_count++] = dwarf_names_read(index, unit, &named);
        number_map_put(&index->name_numbers, key, number);
    }
    return &index->names[number];
}
