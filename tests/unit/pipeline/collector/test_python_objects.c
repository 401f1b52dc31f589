/* Types of Python objects, in memory that this test lays out as CPython does, whole and damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include "collector/python_objects.h"

enum { WORD = 8, WORDS = 4096, BLOCK_WORDS = 16, BLOCKS = 64, HEAP = 2048 };
enum { GC = 1 << 14, ATTRIBUTES = 1 << 4, LIST = 1 << 25, TEXT = 1 << 28, DICT = 1 << 29 };
#define TYPE_OF_TYPES ((uint64_t)1 << 31)
#define BASE          0x7f0000000000u

struct layout {
    uint64_t words[WORDS];
    struct live_entry blocks[BLOCKS];
    struct live_list list;
    struct smaps_mapping mappings[2];
    struct smaps smaps;
    struct block_types_memory memory;
    size_t next_word;
};

static uint64_t address_of(const struct layout *layout, const uint64_t *word)
{
    return BASE + (uint64_t)((const char *)word - (const char *)layout->words);
}

static size_t read_words(const void *context, uint64_t address, void *to, size_t bytes)
{
    const struct layout *layout = context;
    uint64_t at = address - BASE;
    if (at >= sizeof layout->words)
        return 0;
    bytes = bytes < sizeof layout->words - at ? bytes : sizeof layout->words - at;
    memcpy(to, (const char *)layout->words + at, bytes);
    return bytes;
}

/* A type object; `metatype` 0: it is its own. */
static uint64_t add_type(struct layout *layout, const char *name, uint64_t metatype,
                         uint64_t basic_bytes, uint64_t flags)
{
    uint64_t *type = layout->words + layout->next_word;
    uint64_t *text = type + 24;
    layout->next_word += 32;
    strcpy((char *)text, name);
    type[0] = 3;
    type[1] = metatype ? metatype : address_of(layout, type);
    type[3] = address_of(layout, text);
    type[4] = basic_bytes;
    type[21] = flags;
    return address_of(layout, type);
}

/* A live block of an object with `header` words in front; returns the block's words. */
static uint64_t *add_object(struct layout *layout, size_t header, uint64_t type, uint64_t bytes)
{
    size_t number = layout->list.count++;
    uint64_t *block = layout->words + HEAP + number * BLOCK_WORDS;
    block[header] = 1;
    block[header + 1] = type;
    layout->blocks[number] =
        (struct live_entry){.address = address_of(layout, block), .size_bytes = bytes};
    return block;
}

static struct layout *make_layout(void)
{
    struct layout *layout = calloc(1, sizeof *layout);
    assert_non_null(layout);
    layout->list.blocks = layout->blocks;
    layout->mappings[0] = (struct smaps_mapping){.start = 0x400000,
                                                 .end = 0x500000,
                                                 .readable = true,
                                                 .executable = true,
                                                 .path = "/usr/bin/python3.11"};
    layout->mappings[1] = (struct smaps_mapping){.start = BASE,
                                                 .end = BASE + sizeof layout->words,
                                                 .readable = true,
                                                 .writable = true,
                                                 .path = ""};
    layout->smaps = (struct smaps){.mappings = layout->mappings, .count = 2};
    layout->memory = (struct block_types_memory){read_words, layout, &layout->smaps};
    return layout;
}

static struct python_objects *see_all(struct layout *layout)
{
    struct python_objects *objects = python_objects_new(&layout->memory, &layout->list);
    assert_non_null(objects);
    for (size_t i = 0; i < layout->list.count; i++)
        python_objects_see(objects, i, layout->words + HEAP + i * BLOCK_WORDS,
                           layout->blocks[i].size_bytes / WORD);
    python_objects_settle(objects);
    return objects;
}

static void objects_with_each_header_have_their_type(void **state)
{
    (void)state;
    struct layout *layout = make_layout();
    uint64_t root = add_type(layout, "type", 0, 400, TYPE_OF_TYPES);
    uint64_t meta = add_type(layout, "Meta", root, 400, TYPE_OF_TYPES);
    uint64_t number = add_type(layout, "int", root, 24, 0);
    uint64_t plain = add_type(layout, "Plain", root, 16, GC | ATTRIBUTES);
    uint64_t made = add_type(layout, "Made", meta, 24, GC);
    uint64_t text = add_type(layout, "str", root, 64, TEXT);
    add_object(layout, 0, number, 32);
    add_object(layout, 4, plain, 48);
    add_object(layout, 2, made, 48);
    add_object(layout, 0, text, 48); /* shorter than the type says */
    struct python_objects *objects = see_all(layout);
    assert_string_equal(python_objects_name(objects, 0), "int");
    assert_string_equal(python_objects_name(objects, 1), "Plain");
    assert_string_equal(python_objects_name(objects, 2), "Made");
    assert_string_equal(python_objects_name(objects, 3), "str");
    python_objects_free(objects);
    free(layout);
}

static void what_is_no_object_has_no_type(void **state)
{
    (void)state;
    struct layout *layout = make_layout();
    uint64_t root = add_type(layout, "type", 0, 400, TYPE_OF_TYPES);
    uint64_t number = add_type(layout, "int", root, 24, 0);
    uint64_t collected = add_type(layout, "Node", root, 24, GC);
    uint64_t stranger = add_type(layout, "Stranger", number, 24, 0); /* its type is no metatype */
    uint64_t broken = add_type(layout, "two words", root, 24, 0);
    add_object(layout, 0, number, 32)[0] = 0; /* on a list of free ones */
    add_object(layout, 0, collected, 48);     /* its headers are missing */
    add_object(layout, 0, number, 16);        /* too small */
    add_object(layout, 0, stranger, 32);
    add_object(layout, 0, broken, 32);
    add_object(layout, 0, number, 32)[0] = BASE; /* an array: a pointer in place of a count */
    add_object(layout, 0, BASE + sizeof layout->words, 32);
    struct python_objects *objects = see_all(layout);
    for (size_t i = 0; i < layout->list.count; i++)
        assert_null(python_objects_name(objects, i));
    python_objects_free(objects);
    free(layout);
}

static void parts_are_named_by_who_keeps_them(void **state)
{
    (void)state;
    struct layout *layout = make_layout();
    uint64_t root = add_type(layout, "type", 0, 400, TYPE_OF_TYPES);
    uint64_t list = add_type(layout, "list", root, 40, GC | LIST);
    uint64_t dict = add_type(layout, "Words", root, 48, GC | DICT);
    uint64_t set = add_type(layout, "set", root, 56, GC);
    uint64_t plain = add_type(layout, "Plain", root, 16, GC | ATTRIBUTES);
    uint64_t *keepers[] = {add_object(layout, 2, list, 56), add_object(layout, 2, dict, 64),
                           add_object(layout, 2, set, 72), add_object(layout, 4, plain, 48)};
    uint64_t *parts[4];
    for (size_t i = 0; i < 4; i++)
        parts[i] = add_object(layout, 0, 0, 64);
    keepers[0][5] = address_of(layout, parts[0]);
    keepers[1][6] = address_of(layout, parts[1]);
    keepers[2][7] = address_of(layout, parts[2]);
    keepers[3][0] = address_of(layout, parts[3]) + 16; /* behind its own header */
    struct python_objects *objects = see_all(layout);
    assert_string_equal(python_objects_name(objects, 4), "items of lists");
    assert_string_equal(python_objects_name(objects, 5), "keys of dicts");
    assert_string_equal(python_objects_name(objects, 6), "tables of sets");
    assert_string_equal(python_objects_name(objects, 7), "attributes of instances");
    python_objects_free(objects);
    free(layout);
}

static void without_an_interpreter_nothing_is_asked(void **state)
{
    (void)state;
    struct layout *layout = make_layout();
    layout->mappings[0].path = "/usr/bin/mypython3";
    assert_null(python_objects_new(&layout->memory, &layout->list));
    python_objects_free(NULL);
    free(layout);
}

/* Words are swapped, cleared and made to point anywhere. Sanitizers watch. */
static void damaged_memory_harms_nobody(void **state)
{
    (void)state;
    srand(25);
    for (unsigned round = 0; round < 400; round++) {
        struct layout *layout = make_layout();
        uint64_t root = add_type(layout, "type", 0, 400, TYPE_OF_TYPES);
        uint64_t types[] = {root, add_type(layout, "list", root, 40, GC | LIST),
                            add_type(layout, "Plain", root, 16, GC | ATTRIBUTES),
                            add_type(layout, "Meta", root, 400, TYPE_OF_TYPES)};
        for (size_t i = 0; i < BLOCKS; i++)
            add_object(layout, 2 * (i % 3), types[i % 4], WORD * (1 + (uint64_t)rand() % 15));
        for (unsigned i = 0; i < 60; i++) {
            uint64_t *word = &layout->words[rand() % WORDS];
            *word = rand() % 3 ? BASE + (uint64_t)rand() % (sizeof layout->words + 64)
                               : (uint64_t)rand() << 17;
        }
        struct python_objects *objects = see_all(layout);
        for (size_t i = 0; i < BLOCKS; i++) {
            const char *name = python_objects_name(objects, i);
            assert_true(!name || (*name && strlen(name) < 256));
        }
        python_objects_free(objects);
        free(layout);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_with_each_header_have_their_type),
        cmocka_unit_test(what_is_no_object_has_no_type),
        cmocka_unit_test(parts_are_named_by_who_keeps_them),
        cmocka_unit_test(without_an_interpreter_nothing_is_asked),
        cmocka_unit_test(damaged_memory_harms_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
