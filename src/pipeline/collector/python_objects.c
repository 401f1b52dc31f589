/* Finds types of Python objects (python_objects.h). Each address that stands where a type would is
 * followed once. Parts that objects keep beside themselves are listed while the objects are seen,
 * and looked up among the blocks afterwards. */
#include "collector/python_objects.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/hash.h"
#include "base/map.h"
#include "model/interpreter.h"

enum { WORD = sizeof(uint64_t), NAME_BYTES = 256, UNKNOWN = 0, MOST_TYPES = 1 << 16 };

/* Words of an object, and of a type object. */
enum { REFERENCES, TYPE, HEAD_WORDS };
enum { TYPE_NAME = 3, TYPE_BASIC_BYTES = 4, TYPE_FLAGS = 21, TYPE_WORDS = 22 };
/* Words of what stands in front of an object that has them. */
enum { PRE_HEADER_WORDS = 2, GC_HEADER_WORDS = PYTHON_LINKS, MOST_HEADER_WORDS = 4 };

#define FLAG_WEAK_REFERENCES (1u << 3) /* both in the pre-header */
#define FLAG_ATTRIBUTES      (1u << 4)
#define FLAG_GC              (1u << 14)
#define FLAG_LIST            (1u << 25)
#define FLAG_TEXT            (1u << 28)
#define FLAG_DICT            (1u << 29)
#define FLAG_TYPE            (1u << 31)

/* Objects that never end have as many references as fit into 32 bits. */
#define MOST_REFERENCES UINT32_MAX
/* A text without characters beyond ASCII is shorter than its type says. */
enum { LEAST_TEXT_BYTES = 40 };

struct python_type {
    uint64_t address, basic_bytes, flags;
    char *name; /* NULL: it is no type */
    bool is_set;
};

/* An address in a block that an object keeps, and what is kept there. */
struct python_part {
    uint64_t address;
    uint32_t name;
};

enum { NAME_ITEMS = 1, NAME_KEYS, NAME_TABLE, NAME_ATTRIBUTES, NAME_TYPES };
static const char *const part_names[NAME_TYPES] = {[NAME_ITEMS] = "items of lists",
                                                   [NAME_KEYS] = "keys of dicts",
                                                   [NAME_TABLE] = "tables of sets",
                                                   [NAME_ATTRIBUTES] = "attributes of instances"};

struct python_objects {
    struct block_types_memory memory;
    const struct live_list *blocks;
    uint32_t *names; /* of blocks: UNKNOWN, of a part, or NAME_TYPES + the type's number */
    struct python_type *types;
    size_t type_count, type_room;
    struct map type_map;
    struct python_part *parts;
    size_t part_count, part_room;
    uint64_t root; /* the type of types; 0: not seen yet */
};

/* ---- Types ----------------------------------------------------------------------------------- */

static bool python_objects_is_memory(const struct python_objects *objects, uint64_t address)
{
    const struct smaps_mapping *mapping =
        address % WORD ? NULL : smaps_find(objects->memory.smaps, address);
    return mapping && mapping->writable;
}

static bool python_objects_read(const struct python_objects *objects, uint64_t address,
                                uint64_t *words, size_t count)
{
    const struct block_types_memory *memory = &objects->memory;
    return python_objects_is_memory(objects, address) &&
           memory->read(memory->context, address, words, count * WORD) == count * WORD;
}

/* A name as Python's identifiers are, with dots; malloc'd. */
static char *python_objects_read_name(const struct python_objects *objects, uint64_t address)
{
    const struct block_types_memory *memory = &objects->memory;
    char name[NAME_BYTES];
    if (!smaps_find(memory->smaps, address))
        return NULL;
    size_t got = memory->read(memory->context, address, name, sizeof name);
    if (!got || !memchr(name, '\0', got) || !*name)
        return NULL;
    for (const unsigned char *at = (const unsigned char *)name; *at; at++)
        if (*at <= ' ' || *at == 0x7f)
            return NULL;
    return strdup(name);
}

/* `type` is the type of types: it is its own, and says so. */
static bool python_objects_is_root(struct python_objects *objects, uint64_t address)
{
    uint64_t words[TYPE_WORDS];
    if (objects->root || !python_objects_read(objects, address, words, TYPE_WORDS))
        return address && address == objects->root;
    char *name = words[TYPE] == address && (words[TYPE_FLAGS] & FLAG_TYPE)
                     ? python_objects_read_name(objects, words[TYPE_NAME])
                     : NULL;
    if (name && !strcmp(name, "type"))
        objects->root = address;
    free(name);
    return address == objects->root;
}

/* Types of types are derived from `type`, whose type each of them has, or one of its kind. */
static bool python_objects_is_metatype(struct python_objects *objects, uint64_t address)
{
    enum { DEPTH = 4 };
    uint64_t words[TYPE_WORDS];
    for (unsigned depth = 0; depth < DEPTH; depth++) {
        if (python_objects_is_root(objects, address))
            return true;
        if (!python_objects_read(objects, address, words, TYPE_WORDS) ||
            !(words[TYPE_FLAGS] & FLAG_TYPE))
            return false;
        address = words[TYPE];
    }
    return false;
}

static struct python_type python_objects_follow(struct python_objects *objects, uint64_t address)
{
    struct python_type type = {.address = address};
    uint64_t words[TYPE_WORDS];
    if (!python_objects_read(objects, address, words, TYPE_WORDS) || !words[REFERENCES] ||
        !python_objects_is_metatype(objects, words[TYPE]))
        return type;
    type.name = python_objects_read_name(objects, words[TYPE_NAME]);
    type.basic_bytes = words[TYPE_BASIC_BYTES];
    type.flags = words[TYPE_FLAGS];
    type.is_set = type.name && (!strcmp(type.name, "set") || !strcmp(type.name, "frozenset"));
    return type;
}

/* NULL: it is no type, or no more can be remembered. */
static const struct python_type *python_objects_type(struct python_objects *objects,
                                                     uint64_t address)
{
    uint64_t key = hash_u64(address);
    uint32_t number;
    for (struct map_probe probe = map_probe(&objects->type_map, key); map_next(&probe, &number);)
        if (objects->types[number].address == address)
            return objects->types[number].name ? &objects->types[number] : NULL;
    number = (uint32_t)objects->type_count;
    if (number == MOST_TYPES ||
        !array_make_room(&objects->types, &objects->type_room, number, sizeof *objects->types) ||
        !map_try_add(&objects->type_map, key, number))
        return NULL;
    objects->types[number] = python_objects_follow(objects, address);
    objects->type_count++;
    return objects->types[number].name ? &objects->types[number] : NULL;
}

/* ---- Objects --------------------------------------------------------------------------------- */

static size_t python_objects_header_words(const struct python_type *type)
{
    size_t words = type->flags & FLAG_GC ? GC_HEADER_WORDS : 0;
    return type->flags & (FLAG_WEAK_REFERENCES | FLAG_ATTRIBUTES) ? words + PRE_HEADER_WORDS
                                                                  : words;
}

static bool python_objects_fits(const struct python_type *type, uint64_t bytes)
{
    uint64_t least = type->flags & FLAG_TEXT ? LEAST_TEXT_BYTES : type->basic_bytes;
    return least >= HEAD_WORDS * WORD && least <= bytes;
}

/* The type of an object with `at` words of headers; NULL: there is no such object. */
static const struct python_type *python_objects_at(struct python_objects *objects,
                                                   const uint64_t *words, size_t count, size_t at,
                                                   uint64_t block_bytes)
{
    if (count < at + HEAD_WORDS || !words[at + REFERENCES] ||
        words[at + REFERENCES] > MOST_REFERENCES ||
        !python_objects_is_memory(objects, words[at + TYPE]))
        return NULL;
    const struct python_type *type = python_objects_type(objects, words[at + TYPE]);
    return type && python_objects_header_words(type) == at &&
                   python_objects_fits(type, block_bytes - at * WORD)
               ? type
               : NULL;
}

static void python_objects_keep(struct python_objects *objects, uint64_t address, uint32_t name)
{
    if (address && array_make_room(&objects->parts, &objects->part_room, objects->part_count,
                                   sizeof *objects->parts))
        objects->parts[objects->part_count++] = (struct python_part){address, name};
}

/* Attributes lie at an address in front of the object (3.11), or at that + 1 (3.12). */
static void python_objects_keep_parts(struct python_objects *objects,
                                      const struct python_type *type, const uint64_t *words,
                                      size_t count, size_t at)
{
    enum { LIST_ITEMS = 3, DICT_KEYS = 4, SET_TABLE = 5 };
    if (type->flags & FLAG_LIST && count > at + LIST_ITEMS)
        python_objects_keep(objects, words[at + LIST_ITEMS], NAME_ITEMS);
    if (type->flags & FLAG_DICT && count > at + DICT_KEYS)
        python_objects_keep(objects, words[at + DICT_KEYS], NAME_KEYS);
    if (type->is_set && count > at + SET_TABLE)
        python_objects_keep(objects, words[at + SET_TABLE], NAME_TABLE);
    if (type->flags & FLAG_ATTRIBUTES && at == MOST_HEADER_WORDS) {
        if (words[0])
            python_objects_keep(objects, words[0] - 1, NAME_ATTRIBUTES);
        if (words[1] & 1)
            python_objects_keep(objects, words[1], NAME_ATTRIBUTES);
    }
}

uint64_t *python_objects_see(struct python_objects *objects, size_t block, uint64_t *words,
                             size_t count)
{
    uint64_t bytes = objects->blocks->blocks[block].size_bytes;
    for (size_t at = 0; at <= MOST_HEADER_WORDS && at * WORD < bytes; at += GC_HEADER_WORDS) {
        const struct python_type *type = python_objects_at(objects, words, count, at, bytes);
        if (!type)
            continue;
        objects->names[block] = NAME_TYPES + (uint32_t)(type - objects->types);
        python_objects_keep_parts(objects, type, words, count, at);
        return type->flags & FLAG_GC ? words + at - GC_HEADER_WORDS : NULL;
    }
    return NULL;
}

/* ---- What objects keep ----------------------------------------------------------------------- */

static size_t python_objects_block_of(const struct live_list *list, uint64_t address)
{
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (live_entry_end(&list->blocks[middle]) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < list->count && list->blocks[low].address <= address ? low : list->count;
}

void python_objects_settle(struct python_objects *objects)
{
    for (size_t i = 0; i < objects->part_count; i++) {
        const struct python_part *part = &objects->parts[i];
        size_t block = python_objects_block_of(objects->blocks, part->address);
        bool inside = part->name == NAME_ATTRIBUTES;
        if (block < objects->blocks->count && !objects->names[block] &&
            (inside || objects->blocks->blocks[block].address == part->address))
            objects->names[block] = part->name;
    }
    objects->part_count = 0;
}

/* ---- All of it ------------------------------------------------------------------------------- */

const char *python_objects_name(const struct python_objects *objects, size_t block)
{
    uint32_t name = objects->names[block];
    return name < NAME_TYPES ? part_names[name] : objects->types[name - NAME_TYPES].name;
}

static bool python_objects_has_interpreter(const struct smaps *smaps)
{
    for (size_t i = 0; i < smaps->count; i++)
        if (smaps->mappings[i].executable && interpreter_is_python(smaps->mappings[i].path))
            return true;
    return false;
}

struct python_objects *python_objects_new(const struct block_types_memory *memory,
                                          const struct live_list *blocks)
{
    if (!python_objects_has_interpreter(memory->smaps))
        return NULL;
    struct python_objects *objects = calloc(1, sizeof *objects);
    if (!objects)
        return NULL;
    *objects = (struct python_objects){.memory = *memory, .blocks = blocks};
    objects->names = calloc(blocks->count + 1, sizeof *objects->names);
    if (objects->names)
        return objects;
    free(objects);
    return NULL;
}

void python_objects_free(struct python_objects *objects)
{
    if (!objects)
        return;
    for (size_t i = 0; i < objects->type_count; i++)
        free(objects->types[i].name);
    free(objects->types);
    map_release(&objects->type_map);
    free(objects->parts);
    free(objects->names);
    free(objects);
}
