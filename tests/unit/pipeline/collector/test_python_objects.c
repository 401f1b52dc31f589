/* Types of Python objects, and who holds them, in memory that this test lays out as CPython does, whole
 * and damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include "collector/python_holders.h"
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

static unsigned reads; /* of memory */

static size_t read_words(const void *context, uint64_t address, void *to, size_t bytes)
{
    const struct layout *layout = context;
    uint64_t at = address - BASE;
    reads++;
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
    uint64_t *text = type + 34;
    layout->next_word += 40;
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

/* A type names its base, which names its own … */
static void pages_of_types_are_read_once(void **state)
{
    (void)state;
    enum { TYPES = 24, PAGE_WORDS = 512, BASE_TYPE = 32 };
    struct layout *layout = make_layout();
    uint64_t root = add_type(layout, "type", 0, 400, TYPE_OF_TYPES), last = 0;
    for (size_t i = 0; i < TYPES; i++) {
        uint64_t base = last;
        last = add_type(layout, "Derived", root, 24, 0);
        layout->words[(last - BASE) / WORD + BASE_TYPE] = base;
        add_object(layout, 0, last, 32);
    }
    reads = 0;
    struct python_objects *objects = see_all(layout);
    assert_in_range(reads, 1, WORDS / PAGE_WORDS);
    for (size_t i = 0; i < TYPES; i++)
        assert_string_equal(python_objects_name(objects, i), "Derived");
    python_objects_free(objects);
    free(layout);
}

static void words_that_are_not_there_are_not_borrowed(void **state)
{
    (void)state;
    struct layout *layout = make_layout();
    uint64_t root = add_type(layout, "type", 0, 400, TYPE_OF_TYPES);
    uint64_t *text = add_object(layout, 0, add_type(layout, "str", root, 64, TEXT), 48);
    struct python_objects *objects = python_objects_new(&layout->memory, &layout->list);
    for (size_t count = 0; count <= 6; count++) {
        struct python_borrowed borrowed = python_objects_see(objects, 0, text, count);
        assert_int_equal((borrowed.links | borrowed.others) >> count, 0);
    }
    assert_int_equal(python_objects_see(objects, 0, text, 6).others, 0x1e);
    python_objects_free(objects);
    free(layout);
}

/* From 3.14 on the object's flags lie above its references. */
static void objects_that_live_for_ever_have_their_type(void **state)
{
    (void)state;
    struct layout *layout = make_layout();
    uint64_t root = add_type(layout, "type", 0, 400, TYPE_OF_TYPES);
    uint64_t number = add_type(layout, "int", root, 24, 0);
    add_object(layout, 0, number, 32)[0] = 3u << 30 | (uint64_t)5 << 48;
    add_object(layout, 0, number, 32)[0] = UINT32_MAX;
    add_object(layout, 0, number, 32)[0] = 3u << 30 | (uint64_t)1 << 32;
    struct python_objects *objects = see_all(layout);
    assert_string_equal(python_objects_name(objects, 0), "int");
    assert_string_equal(python_objects_name(objects, 1), "int");
    assert_null(python_objects_name(objects, 2));
    python_objects_free(objects);
    free(layout);
}

/* Which words of a block of `bytes` hold nothing. */
static uint32_t borrowed_of(struct layout *layout, uint64_t type, uint64_t bytes)
{
    uint64_t *block = add_object(layout, 0, type, bytes);
    block[4] = 0x64; /* of a text: compact, ASCII, one byte a character */
    struct python_objects *objects = python_objects_new(&layout->memory, &layout->list);
    struct python_borrowed borrowed =
        python_objects_see(objects, layout->list.count - 1, block, bytes / WORD);
    python_objects_free(objects);
    return borrowed.others;
}

static void numbers_and_instructions_are_no_pointers(void **state)
{
    (void)state;
    enum { OWN = 1 << 9, INTEGER = 1 << 24, BYTES = 1 << 27 };
    struct layout *layout = make_layout();
    uint64_t root = add_type(layout, "type", 0, 400, TYPE_OF_TYPES);
    assert_int_equal(borrowed_of(layout, add_type(layout, "code", root, 64, 0), 96), 0xf02);
    assert_int_equal(borrowed_of(layout, add_type(layout, "int", root, 24, INTEGER), 32), 0xe);
    assert_int_equal(borrowed_of(layout, add_type(layout, "bytes", root, 33, BYTES), 48), 0x3e);
    assert_int_equal(borrowed_of(layout, add_type(layout, "str", root, 64, TEXT), 48), 0x3e);
    assert_int_equal(borrowed_of(layout, add_type(layout, "float", root, 24, 0), 24), 0x6);
    /* A class of the program's may have pointers behind. */
    assert_int_equal(borrowed_of(layout, add_type(layout, "Mine", root, 24, INTEGER | OWN), 32), 2);
    assert_int_equal(borrowed_of(layout, add_type(layout, "code", root, 64, OWN), 96), 2);
    free(layout);
}

/* Words behind those that are looked at one by one. */
static void a_long_rest_is_told(void **state)
{
    (void)state;
    enum { WORDS_THERE = 2 * BLOCK_WORDS + 8, BYTES = 1 << 27 };
    struct layout *layout = make_layout();
    const struct python_tail *tails;
    uint64_t root = add_type(layout, "type", 0, 400, TYPE_OF_TYPES);
    add_object(layout, 0, add_type(layout, "bytes", root, 33, BYTES), WORDS_THERE * WORD);
    struct python_objects *objects = see_all(layout);
    assert_int_equal(python_objects_tails(objects, &tails), 1);
    assert_int_equal(tails[0].block, 0);
    assert_int_equal(tails[0].used_bytes, 32 * WORD);
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

/* Their contents are no pointers; a block of another size is not the file's buffer. */
static void buffers_of_files_and_bytearrays_hold_nothing(void **state)
{
    (void)state;
    enum { BUFFER = 7, BUFFER_SIZE = 12 };
    struct layout *layout = make_layout();
    const struct python_tail *tails;
    uint64_t root = add_type(layout, "type", 0, 400, TYPE_OF_TYPES);
    uint64_t reader = add_type(layout, "_io.BufferedReader", root, 104, 0);
    uint64_t *files[] = {add_object(layout, 0, reader, 104), add_object(layout, 0, reader, 104)};
    uint64_t *array = add_object(layout, 0, add_type(layout, "bytearray", root, 56, 0), 56);
    uint64_t *parts[3];
    for (size_t i = 0; i < 3; i++)
        parts[i] = add_object(layout, 0, 0, 64);
    for (size_t i = 0; i < 2; i++) {
        files[i][BUFFER] = address_of(layout, parts[i]);
        files[i][BUFFER_SIZE] = i ? 128 : 64;
    }
    array[4] = array[5] = address_of(layout, parts[2]);
    struct python_objects *objects = see_all(layout);
    assert_string_equal(python_objects_name(objects, 3), "buffers of files");
    assert_null(python_objects_name(objects, 4));
    assert_string_equal(python_objects_name(objects, 5), "bytes of bytearrays");
    assert_int_equal(python_objects_tails(objects, &tails), 2);
    assert_int_equal(tails[0].block + tails[1].block, 3 + 5);
    assert_int_equal(tails[0].used_bytes + tails[1].used_bytes, 0);
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

/* ---- Who holds them ---- */

struct types {
    uint64_t root, text, dict, list, module, function;
};

static struct types add_types(struct layout *layout)
{
    uint64_t root = add_type(layout, "type", 0, 400, TYPE_OF_TYPES);
    return (struct types){.root = root,
                          .text = add_type(layout, "str", root, 64, TEXT),
                          .dict = add_type(layout, "dict", root, 48, GC | DICT),
                          .list = add_type(layout, "list", root, 40, GC | LIST),
                          .module = add_type(layout, "module", root, 56, GC),
                          .function = add_type(layout, "function", root, 100, GC)};
}

static uint64_t add_text(struct layout *layout, const struct types *types, const char *text)
{
    enum { LENGTH = 2, STATE = 4, HEAD, COMPACT_ASCII = 0x64 };
    uint64_t *block = add_object(layout, 0, types->text, 48 + strlen(text));
    block[LENGTH] = strlen(text);
    block[STATE] = COMPACT_ASCII;
    strcpy((char *)(block + HEAD), text);
    return address_of(layout, block);
}

/* Behind the links of the garbage collector. */
static uint64_t add_collected(struct layout *layout, uint64_t type)
{
    return address_of(layout, add_object(layout, 2, type, 120) + 2);
}

static uint64_t *words_at(struct layout *layout, uint64_t address)
{
    return layout->words + (address - BASE) / WORD;
}

/* Room for five variables: the first is the module's name. Returns the module. */
static uint64_t add_module(struct layout *layout, const struct types *types, const char *name,
                           uint64_t birth)
{
    enum { DICT_OF_MODULE = 2, TABLE = 4 };
    uint64_t module = add_collected(layout, types->module);
    layout->blocks[layout->list.count - 1].birth_ticks = birth;
    uint64_t dict = add_collected(layout, types->dict);
    uint64_t *table = add_object(layout, 0, 0, 128);
    table[0] = 1;
    table[1] = 3 | 3 << 8 | 1 << 16; /* eight places, of a byte each; keys are texts */
    table[3] = 1;
    words_at(layout, module)[DICT_OF_MODULE] = dict;
    words_at(layout, dict)[TABLE] = address_of(layout, table);
    table[5] = add_text(layout, types, "__name__");
    table[6] = add_text(layout, types, name);
    return module;
}

static void add_variable(struct layout *layout, const struct types *types, uint64_t module,
                         const char *name, uint64_t value)
{
    uint64_t dict = words_at(layout, module)[2];
    uint64_t *table = words_at(layout, words_at(layout, dict)[4]);
    size_t count = table[3]++;
    table[5 + 2 * count] = add_text(layout, types, name);
    table[6 + 2 * count] = value;
}

static bool read_for_graph(void *context, uint64_t address, uint64_t *words, size_t count)
{
    return read_words(context, address, words, count * WORD) == count * WORD;
}

static bool no_vtable(void *context, uint64_t address)
{
    (void)context;
    (void)address;
    return false;
}

static bool no_module(void *context, uint64_t address, struct variable_module *module)
{
    (void)context;
    (void)address;
    (void)module;
    return false;
}

static void add_to_graph(struct layout *layout, struct graph *graph, struct python_objects *objects,
                         uint32_t block)
{
    const uint64_t *words = layout->words + HEAP + (size_t)block * BLOCK_WORDS;
    size_t count = layout->blocks[block].size_bytes / WORD;
    struct python_borrowed borrowed = python_objects_see(objects, block, words, count);
    for (size_t i = 0; i < count; i++)
        if ((borrowed.links | borrowed.others) >> i & 1)
            graph_add_borrowed_words(graph, block, words + i, 1);
        else
            graph_add_words(graph, block, words + i, 1);
}

/* `kept`: all that a variable of the interpreter points to. */
static struct held *find_holders(struct layout *layout, uint64_t kept, struct held_rows *rows)
{
    struct held *held = calloc(1, sizeof *held);
    struct graph_memory memory = {read_for_graph, no_vtable, NULL, layout};
    assert_non_null(held);
    size_t count = layout->list.count;
    held->blocks = calloc(count, sizeof *held->blocks);
    held->paths = calloc(count, sizeof *held->paths);
    assert_true(held->blocks && held->paths);
    for (size_t i = 0; i < count; i++)
        held->blocks[i] =
            (struct graph_block){layout->blocks[i].address, layout->blocks[i].size_bytes};
    assert_int_equal(graph_begin(&held->graph, held->blocks, count, &memory), 0);
    assert_int_equal(graph_keep_holders(&held->graph, NULL, 0), 0);
    struct python_objects *objects = python_objects_new(&layout->memory, &layout->list);
    graph_add_roots(&held->graph, BASE, &kept, 1);
    for (uint32_t i = 0; i < count; i++)
        add_to_graph(layout, &held->graph, objects, i);
    assert_int_equal(python_holders_find(held, objects, &layout->list), 0);
    python_objects_free(objects);
    graph_forget_borrowed(&held->graph);
    assert_int_equal(held_solve(held, no_module, NULL, rows), 0);
    return held;
}

static const struct profile_holder *row_of(const struct held_rows *rows, int kind, const char *name)
{
    for (size_t i = 0; i < rows->count; i++)
        if (rows->rows[i].kind == kind && rows->rows[i].name && !strcmp(rows->rows[i].name, name))
            return &rows->rows[i];
    return NULL;
}

/* app has CACHE, a list of 120 bytes with items of 128, and a function; lib has DATA, which app has
 * imported. All objects are on the collector's list, and the function leads to app's dict. */
static void variables_of_modules_hold_what_they_lead_to(void **state)
{
    (void)state;
    enum { ITEMS = 3, GLOBALS = 2 };
    struct layout *layout = make_layout();
    struct types types = add_types(layout);
    uint64_t app = add_module(layout, &types, "app", 10);
    uint64_t lib = add_module(layout, &types, "lib", 20);
    uint64_t cache = add_collected(layout, types.list);
    uint64_t items = address_of(layout, add_object(layout, 0, 0, 128));
    words_at(layout, cache)[ITEMS] = items;
    uint64_t data = add_collected(layout, types.list);
    layout->blocks[layout->list.count - 1].birth_ticks = 30;
    uint64_t function = add_collected(layout, types.function);
    words_at(layout, function)[GLOBALS] = words_at(layout, app)[2];
    add_variable(layout, &types, app, "CACHE", cache);
    add_variable(layout, &types, app, "DATA", data);
    add_variable(layout, &types, app, "run", function);
    add_variable(layout, &types, lib, "DATA", data);
    words_at(layout, app)[-1] = lib - 16; /* links */
    words_at(layout, lib)[-1] = cache - 16;
    words_at(layout, cache)[-1] = data - 16;
    struct held_rows rows;
    struct held *held = find_holders(layout, app, &rows);
    const struct profile_holder *row = row_of(&rows, PROFILE_HOLDER_MODULE_VARIABLE, "CACHE");
    assert_non_null(row);
    assert_string_equal(row->module, "app");
    assert_int_equal(row->retained_bytes, 120 + 128);
    row = row_of(&rows, PROFILE_HOLDER_MODULE_VARIABLE, "DATA");
    assert_non_null(row);
    assert_string_equal(row->module, "lib");
    assert_int_equal(row->retained_bytes, 120);
    row = row_of(&rows, PROFILE_HOLDER_MODULE_VARIABLE, "run");
    assert_int_equal(row->retained_bytes, 120);
    held_rows_release(&rows);
    held_free(held);
    free(layout);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_with_each_header_have_their_type),
        cmocka_unit_test(what_is_no_object_has_no_type),
        cmocka_unit_test(pages_of_types_are_read_once),
        cmocka_unit_test(words_that_are_not_there_are_not_borrowed),
        cmocka_unit_test(objects_that_live_for_ever_have_their_type),
        cmocka_unit_test(numbers_and_instructions_are_no_pointers),
        cmocka_unit_test(a_long_rest_is_told),
        cmocka_unit_test(parts_are_named_by_who_keeps_them),
        cmocka_unit_test(buffers_of_files_and_bytearrays_hold_nothing),
        cmocka_unit_test(without_an_interpreter_nothing_is_asked),
        cmocka_unit_test(damaged_memory_harms_nobody),
        cmocka_unit_test(variables_of_modules_hold_what_they_lead_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
