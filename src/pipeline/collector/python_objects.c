/* Finds types of Python objects (python_objects.h). Each word at the place of a type's pointer is
 * followed once. Addresses of blocks that objects own are listed during the sweep, and looked up
 * among the blocks afterwards. */
#include "collector/python_objects.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/search.h"
#include "collector/kept_pages.h"
#include "model/interpreter.h"

enum {
    WORD = sizeof(uint64_t),
    MASK_BITS = 32,
    NAME_BYTES = 256,
    NO_PLAIN = 1 << 16,
    UNKNOWN = 0,
    MOST_TYPES = 1 << 16
};

/* Words of an object, and of a type object. */
enum { REFERENCES, TYPE, HEAD_WORDS };
enum { TEXT_LENGTH = HEAD_WORDS, TEXT_HASH, TEXT_STATE, TEXT_WORDS };
enum { TYPE_NAME = 3, TYPE_BASIC_BYTES = 4, TYPE_FLAGS = 21, TYPE_WEAK_LIST = 26 };
enum { TYPE_BASE = 32, TYPE_WORDS };
/* Words of the headers in front of an object. */
enum { PRE_HEADER_WORDS = 2, GC_HEADER_WORDS = 2, MOST_HEADER_WORDS = 4 };

#define FLAG_WEAK_REFERENCES (1u << 3) /* both in the pre-header */
#define FLAG_ATTRIBUTES      (1u << 4)
#define FLAG_MADE_AT_RUN     (1u << 9) /* not one of the interpreter's own */
#define FLAG_GC              (1u << 14)
#define FLAG_INTEGER         (1u << 24)
#define FLAG_LIST            (1u << 25)
#define FLAG_BYTES           (1u << 27)
#define FLAG_TEXT            (1u << 28)
#define FLAG_DICT            (1u << 29)
#define FLAG_TYPE            (1u << 31)

/* Immortal objects have as many references as fit into 32 bits. From 3.14 on flags of the object
 * lie above (static, immortal). */
#define REFERENCE_BITS (UINT32_MAX | UINT64_C(7) << 48)
/* A text without characters beyond ASCII is shorter than its type says. */
enum { LEAST_TEXT_BYTES = 40 };

struct python_type {
    uint64_t address, basic_bytes, flags;
    int64_t weak_list; /* where in an object its weak references are, in bytes; 0: nowhere */
    char *name;        /* NULL: it is no type */
    enum python_kind kind;
    bool is_set, is_weak, is_file;
};

/* An address in a block that an object owns, and the name of its contents. */
struct python_part {
    uint64_t address, used_bytes; /* of a list's items */
    uint32_t name;
};

enum {
    NAME_ITEMS = 1,
    NAME_KEYS,
    NAME_TABLE,
    NAME_ATTRIBUTES,
    NAME_BYTES_OF,
    NAME_BUFFERS,
    NAME_TYPES
};
static const char *const part_names[NAME_TYPES] = {
    [NAME_ITEMS] = "items of lists",         [NAME_KEYS] = "keys of dicts",
    [NAME_TABLE] = "tables of sets",         [NAME_ATTRIBUTES] = "attributes of instances",
    [NAME_BYTES_OF] = "bytes of bytearrays", [NAME_BUFFERS] = "buffers of files"};

struct python_objects {
    struct block_types_memory memory;
    struct kept_pages pages; /* of types */
    const struct live_list *blocks;
    uint32_t *names; /* of blocks: UNKNOWN, of a part, or NAME_TYPES + the type's number */
    struct python_type *types;
    size_t type_count, type_room;
    struct map type_map;
    struct python_part *parts;
    size_t part_count, part_room;
    struct python_tail *tails;
    size_t tail_count, tail_room;
    uint64_t root; /* the type of types; 0: not seen yet */
};

/* ---- Types ----------------------------------------------------------------------------------- */

static bool python_objects_is_memory(const struct python_objects *objects, uint64_t address)
{
    const struct smaps_mapping *mapping =
        address % WORD ? NULL : smaps_find(objects->memory.smaps, address);
    return mapping && mapping->writable;
}

/* Of a type, which stays as it is. */
static bool python_objects_read(struct python_objects *objects, uint64_t address, uint64_t *words,
                                size_t count)
{
    return python_objects_is_memory(objects, address) &&
           kept_pages_read(&objects->pages, &objects->memory, address, words, count * WORD) ==
               count * WORD;
}

/* The name at the address if it has no blanks and no control characters; malloc'd, or NULL. */
static char *python_objects_read_name(struct python_objects *objects, uint64_t address)
{
    char name[NAME_BYTES];
    if (!smaps_find(objects->memory.smaps, address))
        return NULL;
    size_t got = kept_pages_read(&objects->pages, &objects->memory, address, name, sizeof name);
    if (!got || !memchr(name, '\0', got) || !*name)
        return NULL;
    for (const unsigned char *at = (const unsigned char *)name; *at; at++)
        if (*at <= ' ' || *at == 0x7f)
            return NULL;
    return strdup(name);
}

/* Whether the address is that of `type`, the type of types: it is its own type, and has that
 * name. */
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

/* A metatype's type is `type`, or another metatype. */
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

/* Whether the name of the type, or of one that it is derived from, begins with `start`. */
static bool python_objects_derives(struct python_objects *objects, uint64_t address,
                                   const char *start)
{
    enum { DEPTH = 16 };
    uint64_t words[TYPE_WORDS];
    bool found = false;
    for (unsigned depth = 0; depth < DEPTH && address && !found; depth++) {
        if (!python_objects_read(objects, address, words, TYPE_WORDS))
            break;
        char *name = python_objects_read_name(objects, words[TYPE_NAME]);
        found = name && !strncmp(name, start, strlen(start));
        address = words[TYPE_BASE];
        free(name);
    }
    return found;
}

static enum python_kind python_objects_kind_of(struct python_objects *objects,
                                               const struct python_type *type)
{
    if (type->flags & FLAG_TYPE)
        return PYTHON_CLASS;
    if (!strcmp(type->name, "function"))
        return PYTHON_FUNCTION;
    return python_objects_derives(objects, type->address, "module") ? PYTHON_MODULE : PYTHON_OTHER;
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
    type.weak_list = (int64_t)words[TYPE_WEAK_LIST];
    if (!type.name)
        return type;
    type.is_set = !strcmp(type.name, "set") || !strcmp(type.name, "frozenset");
    type.is_weak = python_objects_derives(objects, address, "weakref.");
    type.is_file = !strncmp(type.name, "_io.Buffered", strlen("_io.Buffered"));
    type.kind = python_objects_kind_of(objects, &type);
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
        (words[at + REFERENCES] & ~REFERENCE_BITS) ||
        !python_objects_is_memory(objects, words[at + TYPE]))
        return NULL;
    const struct python_type *type = python_objects_type(objects, words[at + TYPE]);
    return type && python_objects_header_words(type) == at &&
                   python_objects_fits(type, block_bytes - at * WORD)
               ? type
               : NULL;
}

static void python_objects_keep_used(struct python_objects *objects, uint64_t address,
                                     uint32_t name, uint64_t used_bytes)
{
    if (address && array_make_room(&objects->parts, &objects->part_room, objects->part_count,
                                   sizeof *objects->parts))
        objects->parts[objects->part_count++] = (struct python_part){address, used_bytes, name};
}

static void python_objects_keep(struct python_objects *objects, uint64_t address, uint32_t name)
{
    python_objects_keep_used(objects, address, name, 0);
}

static size_t python_objects_block_of(const struct live_list *list, uint64_t address)
{
    size_t first = 0;
    SEARCH_FIRST(first, list->count, at, live_entry_end(&list->blocks[at]) <= address);
    return first < list->count && list->blocks[first].address <= address ? first : list->count;
}

/* A file's buffer is the block to whose beginning one word points, and whose size is in another. */
static void python_objects_keep_buffer(struct python_objects *objects, const uint64_t *words,
                                       size_t count)
{
    const struct live_list *blocks = objects->blocks;
    for (size_t i = HEAD_WORDS; i < count; i++) {
        size_t block = python_objects_block_of(blocks, words[i]);
        if (block == blocks->count || blocks->blocks[block].address != words[i])
            continue;
        for (size_t size = HEAD_WORDS; size < count; size++)
            if (words[size] == blocks->blocks[block].size_bytes)
                python_objects_keep(objects, words[i], NAME_BUFFERS);
    }
}

/* The address of the attributes lies in front of the object: in the first word (3.11), or less 1 in
 * the second (3.12). Both are kept less 1, which lies inside the block of the attributes. */
static void python_objects_keep_parts(struct python_objects *objects,
                                      const struct python_type *type, const uint64_t *words,
                                      size_t count, size_t at)
{
    enum { LIST_COUNT = 2, LIST_ITEMS, DICT_KEYS, SET_TABLE, BYTES_START = 4 };
    if (type->flags & FLAG_LIST && count > at + LIST_ITEMS)
        python_objects_keep_used(objects, words[at + LIST_ITEMS], NAME_ITEMS,
                                 words[at + LIST_COUNT] * WORD);
    if (type->flags & FLAG_DICT && count > at + DICT_KEYS)
        python_objects_keep(objects, words[at + DICT_KEYS], NAME_KEYS);
    if (type->is_set && count > at + SET_TABLE)
        python_objects_keep(objects, words[at + SET_TABLE], NAME_TABLE);
    if (!strcmp(type->name, "bytearray") && count > at + BYTES_START)
        python_objects_keep(objects, words[at + BYTES_START], NAME_BYTES_OF);
    if (type->is_file)
        python_objects_keep_buffer(objects, words + at, count - at);
    if (type->flags & FLAG_ATTRIBUTES && at == MOST_HEADER_WORDS) {
        if (words[0])
            python_objects_keep(objects, words[0] - 1, NAME_ATTRIBUTES);
        if (words[1] & 1)
            python_objects_keep(objects, words[1], NAME_ATTRIBUTES);
    }
}

/* Where an object's last pointer may be, in words: numbers, bytes and instructions follow, which
 * may look like pointers. NO_PLAIN: up to its end. Only the interpreter's own types are known so
 * well. */
static size_t python_objects_plain_from(const struct python_type *type, const uint64_t *object,
                                        size_t count)
{
    enum { IS_ASCII = 0x60, BEFORE_3_12 = 80 };
    if (type->flags & FLAG_MADE_AT_RUN)
        return NO_PLAIN;
    if (type->flags & (FLAG_INTEGER | FLAG_BYTES) || !strcmp(type->name, "float"))
        return HEAD_WORDS;
    if (!strcmp(type->name, "code"))
        return type->basic_bytes / WORD;
    if (!(type->flags & FLAG_TEXT) || count <= TEXT_STATE || type->basic_bytes >= BEFORE_3_12)
        return NO_PLAIN;
    return (object[TEXT_STATE] & IS_ASCII) == IS_ASCII ? HEAD_WORDS : NO_PLAIN;
}

static void python_objects_keep_rest(struct python_objects *objects, size_t block,
                                     uint64_t used_bytes)
{
    if (used_bytes < objects->blocks->blocks[block].size_bytes &&
        array_make_room(&objects->tails, &objects->tail_room, objects->tail_count,
                        sizeof *objects->tails))
        objects->tails[objects->tail_count++] = (struct python_tail){(uint32_t)block, used_bytes};
}

/* `at`: words of headers. The words that were read are in the answer; a longer rest is kept. */
static uint32_t python_objects_plain(struct python_objects *objects, const struct python_type *type,
                                     size_t block, const uint64_t *words, size_t count, size_t at)
{
    size_t from = at + python_objects_plain_from(type, words + at, count - at);
    size_t masked = count < MASK_BITS ? count : MASK_BITS;
    if (from >= NO_PLAIN)
        return 0;
    if (objects->blocks->blocks[block].size_bytes >= (masked + 1) * WORD)
        python_objects_keep_rest(objects, block, (from > masked ? from : masked) * WORD);
    return from < MASK_BITS ? UINT32_MAX << from : 0;
}

/* `at`: words of headers. */
static struct python_borrowed python_objects_borrowed(const struct python_type *type, size_t at)
{
    enum { WEAK_OBJECT = 2, WEAK_BEFORE = 5, WEAK_NEXT = 6 };
    uint32_t object = 1u << TYPE, links = (1u << GC_HEADER_WORDS) - 1;
    int64_t list = (int64_t)at + type->weak_list / WORD;
    if (type->is_weak)
        object |= 1u << WEAK_OBJECT | 1u << WEAK_BEFORE | 1u << WEAK_NEXT;
    if (type->flags & FLAG_TEXT) /* length, hash, and bits that leave half a word as it was */
        object |= 1u << TEXT_LENGTH | 1u << TEXT_HASH | 1u << TEXT_STATE;
    object <<= at;
    if (type->weak_list && list >= 0 && list < MASK_BITS)
        object |= 1u << list;
    return (struct python_borrowed){
        .links = type->flags & FLAG_GC ? links << (at - GC_HEADER_WORDS) : 0, .others = object};
}

/* Freed tuples, lists and dicts are kept for reuse, with their old contents. */
static bool python_objects_is_kept_for_reuse(struct python_objects *objects, const uint64_t *words,
                                             size_t count)
{
    enum { AT = GC_HEADER_WORDS };
    if (count < AT + HEAD_WORDS || words[AT + REFERENCES] ||
        !python_objects_is_memory(objects, words[AT + TYPE]))
        return false;
    const struct python_type *type = python_objects_type(objects, words[AT + TYPE]);
    return type && type->flags & FLAG_GC && python_objects_header_words(type) == AT;
}

/* The attributes of 3.11 and 3.12 begin with one byte for each place and two more, rounded up to
 * words. The last of these bytes is their number. The others may still have old contents of the
 * memory: the address of a free block. */
static struct python_borrowed python_objects_borrowed_of_part(const uint64_t *words, size_t count,
                                                              uint64_t bytes)
{
    enum { LEAST = 2, MOST = 4, LAST_BYTE_SHIFT = 56, BYTES_BESIDE = 2 };
    for (size_t head = LEAST; head <= MOST && head < count; head++) {
        size_t places = bytes / WORD - head;
        if (words[head - 1] >> LAST_BYTE_SHIFT == head * WORD &&
            (places + BYTES_BESIDE + WORD - 1) / WORD == head)
            return (struct python_borrowed){.others = (1u << (head - 1)) - 1};
    }
    return (struct python_borrowed){0, 0};
}

static struct python_borrowed python_objects_look(struct python_objects *objects, size_t block,
                                                  const uint64_t *words, size_t count)
{
    uint64_t bytes = objects->blocks->blocks[block].size_bytes;
    for (size_t at = 0; at <= MOST_HEADER_WORDS && at * WORD < bytes; at += GC_HEADER_WORDS) {
        const struct python_type *type = python_objects_at(objects, words, count, at, bytes);
        if (!type)
            continue;
        objects->names[block] = NAME_TYPES + (uint32_t)(type - objects->types);
        python_objects_keep_parts(objects, type, words, count, at);
        struct python_borrowed borrowed = python_objects_borrowed(type, at);
        borrowed.others |= python_objects_plain(objects, type, block, words, count, at);
        return borrowed;
    }
    return python_objects_is_kept_for_reuse(objects, words, count)
               ? (struct python_borrowed){.others = UINT32_MAX}
               : python_objects_borrowed_of_part(words, count, bytes);
}

/* `count` words of the block were read, and only these count. */
struct python_borrowed python_objects_see(struct python_objects *objects, size_t block,
                                          const uint64_t *words, size_t count)
{
    struct python_borrowed borrowed = python_objects_look(objects, block, words, count);
    uint32_t there = count < MASK_BITS ? (1u << count) - 1 : UINT32_MAX;
    return (struct python_borrowed){borrowed.links & there, borrowed.others & there};
}

/* ---- What objects keep ----------------------------------------------------------------------- */

size_t python_objects_tails(const struct python_objects *objects, const struct python_tail **tails)
{
    *tails = objects->tails;
    return objects->tail_count;
}

void python_objects_settle(struct python_objects *objects)
{
    for (size_t i = 0; i < objects->part_count; i++) {
        const struct python_part *part = &objects->parts[i];
        size_t block = python_objects_block_of(objects->blocks, part->address);
        bool inside = part->name == NAME_ATTRIBUTES;
        if (block < objects->blocks->count && !objects->names[block] &&
            (inside || objects->blocks->blocks[block].address == part->address)) {
            objects->names[block] = part->name;
            /* Room for more items than there are has old contents, and so have buffers. */
            if (part->name == NAME_ITEMS || part->name >= NAME_BYTES_OF)
                python_objects_keep_rest(objects, block, part->used_bytes);
        }
    }
    objects->part_count = 0;
}

/* ---- All of it ------------------------------------------------------------------------------- */

const char *python_objects_name(const struct python_objects *objects, size_t block)
{
    uint32_t name = objects->names[block];
    return name < NAME_TYPES ? part_names[name] : objects->types[name - NAME_TYPES].name;
}

enum python_kind python_objects_kind(const struct python_objects *objects, size_t block,
                                     uint64_t *offset)
{
    uint32_t name = objects->names[block];
    if (name < NAME_TYPES)
        return PYTHON_NO_OBJECT;
    const struct python_type *type = &objects->types[name - NAME_TYPES];
    *offset = python_objects_header_words(type) * WORD;
    return type->kind;
}

const char *python_objects_class_name(struct python_objects *objects, size_t block)
{
    uint64_t offset = 0;
    if (python_objects_kind(objects, block, &offset) != PYTHON_CLASS)
        return NULL;
    const struct python_type *type =
        python_objects_type(objects, objects->blocks->blocks[block].address + offset);
    return type ? type->name : NULL;
}

/* The characters follow the head of a text, which was a word longer before 3.12. basic_bytes tells
 * which. */
static uint64_t python_objects_text_head(const struct python_type *type)
{
    enum { BEFORE_3_12 = 80, LONG_HEAD = 48, HEAD = 40 };
    return type->basic_bytes >= BEFORE_3_12 ? LONG_HEAD : HEAD;
}

bool python_objects_add_text(struct python_objects *objects, uint64_t address, struct strbuf *out)
{
    enum { IS_ASCII = 0x60 }; /* compact, too */
    const struct block_types_memory *memory = &objects->memory;
    uint64_t words[TEXT_WORDS];
    if (!python_objects_is_memory(objects, address) ||
        memory->read(memory->context, address, words, sizeof words) != sizeof words)
        return false;
    const struct python_type *type = python_objects_type(objects, words[TYPE]);
    if (!type || !(type->flags & FLAG_TEXT) || strcmp(type->name, "str") != 0 ||
        (words[TEXT_STATE] & IS_ASCII) != IS_ASCII || words[TEXT_LENGTH] > NAME_BYTES)
        return false;
    char *to = strbuf_extend(out, words[TEXT_LENGTH]);
    size_t got = memory->read(memory->context, address + python_objects_text_head(type), to,
                              words[TEXT_LENGTH]);
    if (got == words[TEXT_LENGTH] && !memchr(to, '\0', got))
        return true;
    strbuf_truncate(out, out->length - words[TEXT_LENGTH]);
    return false;
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
    kept_pages_release(&objects->pages);
    free(objects->parts);
    free(objects->tails);
    free(objects->names);
    free(objects);
}
