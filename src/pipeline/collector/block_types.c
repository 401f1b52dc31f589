/* Finds classes by tables of virtual functions (block_types.h). Each first word that points into a
 * file is followed once. */
#include "collector/block_types.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/hash.h"
#include "base/map.h"
#include "collector/python_objects.h"
#include "symbols/symbols.h"

enum { WORD = sizeof(uint64_t), NAME_BYTES = 2048, NO_CLASS = 0 };

/* A first word, and its class: its place in names + 1, or NO_CLASS. */
struct known_table {
    uint64_t address;
    uint32_t class;
};

struct block_types_finding {
    const struct block_types_memory *memory;
    struct block_types *types;
    struct known_table *tables;
    size_t table_count, table_room, name_room, row_room;
    struct map table_map, row_map, python_map;
    const struct smaps_mapping *last; /* in which an address was found */
    bool no_memory;
};

/* False: no memory. */
static bool block_types_make_room(struct block_types_finding *finding, void *array, size_t *room,
                                  size_t count, size_t bytes)
{
    bool has_room = array_make_bare_room(array, room, count, bytes);
    finding->no_memory |= !has_room;
    return has_room;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* The first words of neighbouring blocks mostly point into the same mapping. */
static const struct smaps_mapping *block_types_mapping(struct block_types_finding *finding,
                                                       uint64_t address)
{
    const struct smaps_mapping *last = finding->last;
    if (!last || address < last->start || address >= last->end)
        last = smaps_find(finding->memory->smaps, address);
    if (last)
        finding->last = last;
    return last;
}

static bool block_types_is_in_file(struct block_types_finding *finding, uint64_t address,
                                   bool as_code)
{
    const struct smaps_mapping *mapping = block_types_mapping(finding, address);
    return mapping && mapping->path[0] == '/' && (!as_code || mapping->executable);
}

static bool block_types_read_words(struct block_types_finding *finding, uint64_t address,
                                   uint64_t *words, size_t count)
{
    const struct block_types_memory *memory = finding->memory;
    return address % WORD == 0 && block_types_is_in_file(finding, address, false) &&
           memory->read(memory->context, address, words, count * WORD) == count * WORD;
}

static bool block_types_points_to_code(struct block_types_finding *finding, uint64_t address)
{
    uint64_t function;
    return block_types_read_words(finding, address, &function, 1) &&
           block_types_is_in_file(finding, function, true);
}

/* The name as the ABI mangles it, without the '*' that a type_info may have in front. */
static bool block_types_is_name(const char *name)
{
    if (!isdigit((unsigned char)*name) && !strchr("NSZ", *name))
        return false;
    for (const char *at = name; *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr("_.$", *at))
            return false;
    return *name != '\0';
}

/* "N2ns6WidgetE" → "ns::Widget", malloc'd; NULL: it is no name. */
static char *block_types_demangle(const char *name)
{
    static const char before[] = "typeinfo name for ";
    char linkage[NAME_BYTES + 8] = "_ZTS";
    strcat(linkage, name);
    char *readable = symbols_demangle(linkage);
    if (!readable || strncmp(readable, before, strlen(before))) {
        free(readable);
        return NULL;
    }
    memmove(readable, readable + strlen(before), strlen(readable) - strlen(before) + 1);
    return readable;
}

static char *block_types_read_name(struct block_types_finding *finding, uint64_t address)
{
    const struct block_types_memory *memory = finding->memory;
    char name[NAME_BYTES];
    const struct smaps_mapping *mapping = smaps_find(memory->smaps, address);
    if (!mapping || mapping->path[0] != '/' || mapping->writable) /* nothing that was written */
        return NULL;
    size_t got = memory->read(memory->context, address, name, sizeof name);
    const char *at = got && *name == '*' ? name + 1 : name;
    return memchr(name, '\0', got) && block_types_is_name(at) ? block_types_demangle(at) : NULL;
}

/* The name of the class whose table of virtual functions this is, malloc'd; NULL: it is none. */
static char *block_types_follow(struct block_types_finding *finding, uint64_t table)
{
    enum { TOP, TYPE, FUNCTION, TABLE_WORDS };
    enum { KIND, NAME, INFO_WORDS };
    uint64_t words[TABLE_WORDS], info[INFO_WORDS];
    if (!block_types_read_words(finding, table - FUNCTION * WORD, words, TABLE_WORDS) ||
        words[TOP] || !block_types_is_in_file(finding, words[FUNCTION], true) ||
        !block_types_read_words(finding, words[TYPE], info, INFO_WORDS) ||
        !block_types_points_to_code(finding, info[KIND]))
        return NULL;
    return block_types_read_name(finding, info[NAME]);
}

/* ---- Classes --------------------------------------------------------------------------------- */

/* Several modules can have one class. Takes the name. */
static uint32_t block_types_number(struct block_types_finding *finding, char *name)
{
    struct block_types *types = finding->types;
    for (size_t i = 0; i < types->name_count; i++)
        if (!strcmp(types->names[i], name)) {
            free(name);
            return (uint32_t)i + 1;
        }
    if (!block_types_make_room(finding, &types->names, &finding->name_room, types->name_count,
                               sizeof *types->names)) {
        free(name);
        return NO_CLASS;
    }
    types->names[types->name_count++] = name;
    return (uint32_t)types->name_count;
}

static uint32_t block_types_class(struct block_types_finding *finding, uint64_t word)
{
    uint32_t number;
    if (word % WORD || !block_types_is_in_file(finding, word, false))
        return NO_CLASS;
    for (struct map_probe probe = map_probe(&finding->table_map, word); map_next(&probe, &number);)
        if (finding->tables[number].address == word)
            return finding->tables[number].class;
    if (!block_types_make_room(finding, &finding->tables, &finding->table_room,
                               finding->table_count, sizeof *finding->tables))
        return NO_CLASS;
    char *name = block_types_follow(finding, word);
    uint32_t class = name ? block_types_number(finding, name) : NO_CLASS;
    number = (uint32_t)finding->table_count++;
    finding->tables[number] = (struct known_table){word, class};
    if (!map_try_add(&finding->table_map, word, number))
        finding->no_memory = true;
    return class;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static struct profile_block_type *block_types_row(struct block_types_finding *finding,
                                                  uint32_t path, uint32_t class)
{
    struct block_types *types = finding->types;
    uint64_t key = (uint64_t)path << 32 | class;
    const char *name = types->names[class - 1];
    uint32_t number;
    for (struct map_probe probe = map_probe(&finding->row_map, key); map_next(&probe, &number);)
        if (types->rows[number].path == path && types->rows[number].name == name)
            return &types->rows[number];
    if (!block_types_make_room(finding, &types->rows, &finding->row_room, types->row_count,
                               sizeof *types->rows))
        return NULL;
    number = (uint32_t)types->row_count;
    if (!map_try_add(&finding->row_map, key, number)) {
        finding->no_memory = true;
        return NULL;
    }
    types->rows[types->row_count++] = (struct profile_block_type){.path = path, .name = name};
    return &types->rows[number];
}

static int block_types_compare(const void *left, const void *right)
{
    const struct profile_block_type *a = left, *b = right;
    return a->path != b->path ? (a->path < b->path ? -1 : 1) : strcmp(a->name, b->name);
}

/* A name of python_objects.h, which has one pointer. */
static uint32_t block_types_python_class(struct block_types_finding *finding, const char *name)
{
    uint64_t key = hash_u64((uintptr_t)name);
    uint32_t class;
    if (!name)
        return NO_CLASS;
    for (struct map_probe probe = map_probe(&finding->python_map, key); map_next(&probe, &class);)
        if (!strcmp(finding->types->names[class - 1], name))
            return class;
    char *copy = strdup(name);
    class = copy ? block_types_number(finding, copy) : NO_CLASS;
    if (!class || !map_try_add(&finding->python_map, key, class))
        finding->no_memory = true;
    return class;
}

int block_types_find(struct block_types *types, const struct live_list *blocks,
                     const uint64_t *first_words, const struct python_objects *python,
                     const struct block_types_memory *memory)
{
    struct block_types_finding finding = {.memory = memory, .types = types};
    *types = (struct block_types){0};
    for (size_t i = 0; i < blocks->count && !finding.no_memory; i++) {
        uint32_t class = first_words[i] ? block_types_class(&finding, first_words[i]) : NO_CLASS;
        if (!class && python)
            class = block_types_python_class(&finding, python_objects_name(python, i));
        struct profile_block_type *row =
            class ? block_types_row(&finding, blocks->blocks[i].node, class) : NULL;
        if (row) {
            row->count++;
            row->bytes += blocks->blocks[i].size_bytes;
        }
    }
    if (types->row_count)
        qsort(types->rows, types->row_count, sizeof *types->rows, block_types_compare);
    free(finding.tables);
    map_release(&finding.table_map);
    map_release(&finding.row_map);
    map_release(&finding.python_map);
    if (finding.no_memory)
        block_types_release(types);
    return finding.no_memory ? -ENOMEM : 0;
}

struct figure block_types_count(const struct block_types *types)
{
    uint64_t count = 0;
    for (size_t i = 0; i < types->row_count; i++)
        count += types->rows[i].count;
    return figure_of(count);
}

void block_types_release(struct block_types *types)
{
    for (size_t i = 0; i < types->name_count; i++)
        free(types->names[i]);
    free(types->names);
    free(types->rows);
    *types = (struct block_types){0};
}
