/* Finds the variables of Python's modules and their classes (python_holders.h). Dicts of modules
 * are read as CPython 3.11 to 3.14 keep them: a table of indices, then entries in the order in
 * which they came. Dicts of another form are left out. Their objects have the holders that any
 * program's memory has. */
#include "collector/python_holders.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"

enum { WORD = sizeof(uint64_t), MOST_ENTRIES = 1 << 20 };
enum { MARK_NAMESPACE = 1, MARK_VALUE = 2 }; /* of blocks: a module's dict, or a module; a value */

/* A dict's entries, and where they lie. */
struct python_entries {
    uint64_t *words;
    uint64_t address;
    size_t count, stride; /* words of an entry: ends with key and value */
    uint32_t table;       /* block */
};
#define PYTHON_ENTRIES_INIT ((struct python_entries){0})

struct python_module {
    uint64_t dict;
    uint64_t birth_ticks;
    const char *name; /* NULL: not known */
    bool is_main;
};

struct python_variable {
    uint32_t block, module;
    uint64_t address; /* of the word that holds the value */
    const char *name;
};

struct python_holders {
    struct held *held;
    struct python_objects *objects;
    const struct live_list *blocks;
    uint8_t *marks; /* by block */
    struct python_module *modules;
    size_t module_count, module_room;
    struct python_variable *variables;
    size_t variable_count, variable_room;
};

/* ---- Reading --------------------------------------------------------------------------------- */

static bool python_holders_read(const struct python_holders *holders, uint64_t address,
                                uint64_t *words, size_t count)
{
    const struct graph_memory *memory = &holders->held->graph.memory;
    return address % WORD == 0 && memory->read(memory->context, address, words, count);
}

/* A text, kept by `held`; NULL: it is no name. */
static const char *python_holders_text(struct python_holders *holders, uint64_t address)
{
    struct strbuf text = STRBUF_INIT;
    const char *kept = NULL;
    if (python_objects_add_text(holders->objects, address, &text) && text.length)
        kept = held_keep_text(holders->held, text.data);
    strbuf_release(&text);
    return kept;
}

/* Reads the head of a table, which has its length. The whole table must lie in its block. */
static bool python_holders_find_entries(const struct python_holders *holders, uint64_t table,
                                        struct python_entries *entries)
{
    enum { SIZES = 1, USED = 3, HEAD, GENERAL = 0, WITH_TEXTS = 1, MOST_LOG2 = 24 };
    uint64_t head[HEAD];
    uint32_t block = graph_find(&holders->held->graph, table);
    if (block == GRAPH_NONE || !python_holders_read(holders, table, head, HEAD))
        return false;
    unsigned log2_index_bytes = head[SIZES] >> 8 & 0xff, kind = head[SIZES] >> 16 & 0xff;
    const struct live_entry *bounds = &holders->blocks->blocks[block];
    if (kind > WITH_TEXTS || log2_index_bytes > MOST_LOG2 || head[USED] > MOST_ENTRIES)
        return false;
    *entries =
        (struct python_entries){.address = table + HEAD * WORD + (UINT64_C(1) << log2_index_bytes),
                                .count = (size_t)head[USED],
                                .stride = kind == GENERAL ? 3 : 2,
                                .table = block};
    return entries->address + entries->count * entries->stride * WORD <=
           bounds->address + bounds->size_bytes;
}

/* The caller frees `words`. False: they cannot be read. */
static bool python_holders_read_entries(const struct python_holders *holders, uint64_t dict,
                                        struct python_entries *entries)
{
    enum { TABLE = 4, VALUES, DICT_WORDS };
    uint64_t words[DICT_WORDS];
    *entries = PYTHON_ENTRIES_INIT;
    if (!python_holders_read(holders, dict, words, DICT_WORDS) || words[VALUES] ||
        !python_holders_find_entries(holders, words[TABLE], entries))
        return false;
    size_t count = entries->count * entries->stride;
    entries->words = calloc(count + 1, WORD);
    return entries->words &&
           (!count || python_holders_read(holders, entries->address, entries->words, count));
}

static uint64_t python_holders_key(const struct python_entries *entries, size_t i)
{
    return entries->words[(i + 1) * entries->stride - 2];
}

static uint64_t python_holders_value(const struct python_entries *entries, size_t i)
{
    return entries->words[(i + 1) * entries->stride - 1];
}

/* ---- Modules --------------------------------------------------------------------------------- */

static const char *python_holders_module_name(struct python_holders *holders,
                                              const struct python_entries *entries)
{
    for (size_t i = 0; i < entries->count; i++) {
        struct strbuf key = STRBUF_INIT;
        bool is_name =
            python_objects_add_text(holders->objects, python_holders_key(entries, i), &key) &&
            !strcmp(key.data, "__name__");
        strbuf_release(&key);
        if (is_name)
            return python_holders_text(holders, python_holders_value(entries, i));
    }
    return NULL;
}

static int python_holders_add_module(struct python_holders *holders, size_t block, uint64_t offset)
{
    enum { DICT = 2 };
    struct python_entries entries;
    uint64_t dict;
    const struct live_entry *self = &holders->blocks->blocks[block];
    holders->marks[block] |= MARK_NAMESPACE;
    if (!python_holders_read(holders, self->address + offset + DICT * WORD, &dict, 1))
        return 0;
    uint32_t dict_block = graph_find(&holders->held->graph, dict);
    if (dict_block == GRAPH_NONE ||
        !array_make_room(&holders->modules, &holders->module_room, holders->module_count,
                         sizeof *holders->modules))
        return dict_block == GRAPH_NONE ? 0 : -ENOMEM;
    holders->marks[dict_block] |= MARK_NAMESPACE;
    const char *name = python_holders_read_entries(holders, dict, &entries)
                           ? python_holders_module_name(holders, &entries)
                           : NULL;
    free(entries.words);
    holders->modules[holders->module_count++] =
        (struct python_module){dict, self->birth_ticks, name, name && !strcmp(name, "__main__")};
    return 0;
}

static int python_holders_find_modules(struct python_holders *holders)
{
    int error = 0;
    uint64_t offset = 0;
    for (size_t i = 0; i < holders->blocks->count && !error; i++)
        if (python_objects_kind(holders->objects, i, &offset) == PYTHON_MODULE)
            error = python_holders_add_module(holders, i, offset);
    return error;
}

/* ---- Variables ------------------------------------------------------------------------------- */

static int python_holders_add_variable(struct python_holders *holders, uint32_t module,
                                       const struct python_entries *entries, size_t i)
{
    uint32_t block = graph_find(&holders->held->graph, python_holders_value(entries, i));
    if (block == GRAPH_NONE || holders->marks[block] & MARK_NAMESPACE)
        return 0;
    if (!array_make_room(&holders->variables, &holders->variable_room, holders->variable_count,
                         sizeof *holders->variables))
        return -ENOMEM;
    holders->marks[block] |= MARK_VALUE;
    holders->variables[holders->variable_count++] = (struct python_variable){
        block, module, entries->address + ((i + 1) * entries->stride - 1) * WORD,
        python_holders_text(holders, python_holders_key(entries, i))};
    return 0;
}

/* The values in a module's table are held by the variables, and not by the table. */
static int python_holders_find_variables(struct python_holders *holders, uint32_t module,
                                         uint32_t *table)
{
    struct python_entries entries;
    int error = 0;
    *table = GRAPH_NONE;
    if (python_holders_read_entries(holders, holders->modules[module].dict, &entries)) {
        *table = entries.table;
        for (size_t i = 0; i < entries.count && !error; i++)
            error = python_holders_add_variable(holders, module, &entries, i);
    }
    free(entries.words);
    return error;
}

static int python_holders_find_all_variables(struct python_holders *holders)
{
    uint32_t *tables = calloc(holders->module_count + 1, sizeof *tables);
    int error = tables ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < holders->module_count && !error; i++)
        error = python_holders_find_variables(holders, i, &tables[i]);
    for (uint32_t i = 0; i < holders->module_count && !error; i++)
        if (tables[i] != GRAPH_NONE)
            graph_borrow(&holders->held->graph, tables[i], holders->marks, MARK_VALUE);
    free(tables);
    return error;
}

/* ---- Names ----------------------------------------------------------------------------------- */

static int python_holders_compare(const void *left, const void *right)
{
    const struct python_variable *a = left, *b = right;
    if (a->block != b->block)
        return a->block < b->block ? -1 : 1;
    return a->address < b->address ? -1 : a->address > b->address;
}

/* Whether the module of `a` is more likely to have made the value than the module of `b`. */
static bool python_holders_is_nearer(const struct python_holders *holders,
                                     const struct python_variable *a,
                                     const struct python_variable *b)
{
    uint64_t birth = holders->blocks->blocks[a->block].birth_ticks;
    uint64_t of_a = holders->modules[a->module].birth_ticks;
    uint64_t of_b = holders->modules[b->module].birth_ticks;
    if (holders->modules[a->module].is_main != holders->modules[b->module].is_main)
        return holders->modules[b->module].is_main;
    if ((of_a <= birth) != (of_b <= birth))
        return of_a <= birth;
    return of_a <= birth ? of_a > of_b : of_a < of_b;
}

static int python_holders_name_variables(struct python_holders *holders)
{
    size_t count = holders->variable_count;
    const struct python_variable *variables = holders->variables;
    if (count)
        qsort(holders->variables, count, sizeof *variables, python_holders_compare);
    for (size_t i = 0, next; i < count; i = next) {
        const struct python_variable *owner = &variables[i];
        for (next = i + 1; next < count && variables[next].block == owner->block; next++)
            if (python_holders_is_nearer(holders, &variables[next], owner))
                owner = &variables[next];
        int error = held_add_name(holders->held, owner->address, owner->block,
                                  PROFILE_HOLDER_MODULE_VARIABLE, owner->name,
                                  holders->modules[owner->module].name);
        if (error)
            return error;
    }
    return 0;
}

static int python_holders_name_classes(struct python_holders *holders)
{
    uint64_t offset = 0;
    int error = 0;
    for (size_t i = 0; i < holders->blocks->count && !error; i++) {
        if (python_objects_kind(holders->objects, i, &offset) != PYTHON_CLASS)
            continue;
        const char *name = python_objects_class_name(holders->objects, i);
        error = held_add_name(holders->held, 0, (uint32_t)i, PROFILE_HOLDER_CLASS,
                              name ? held_keep_text(holders->held, name) : NULL, NULL);
    }
    return error;
}

/* A module holds its functions. So a function's pointer to the module's dict holds nothing. */
static void python_holders_borrow_namespaces(const struct python_holders *holders)
{
    uint64_t offset = 0;
    for (size_t i = 0; i < holders->blocks->count; i++)
        if (python_objects_kind(holders->objects, i, &offset) == PYTHON_FUNCTION)
            graph_borrow(&holders->held->graph, (uint32_t)i, holders->marks, MARK_NAMESPACE);
}

/* Pointers to items that were removed from a list stay in its spare room until they are
 * overwritten. They hold nothing, nor do instructions and numbers that look like pointers. The
 * shorter part of the block is read. */
static void python_holders_borrow_tail(const struct python_holders *holders,
                                       const struct python_tail *tail)
{
    const struct live_entry *block = &holders->blocks->blocks[tail->block];
    size_t used = (size_t)(tail->used_bytes / WORD);
    size_t rest = (size_t)((block->size_bytes - tail->used_bytes) / WORD);
    bool is_rest = rest <= used;
    size_t words = is_rest ? rest : used;
    uint64_t *copy = rest ? calloc(words + 1, WORD) : NULL;
    if (copy && python_holders_read(holders, block->address + (is_rest ? tail->used_bytes : 0),
                                    copy, words))
        (is_rest ? graph_borrow_last : graph_borrow_after)(&holders->held->graph, tail->block, copy,
                                                           words);
    free(copy);
}

static void python_holders_borrow_tails(const struct python_holders *holders)
{
    const struct python_tail *tails;
    size_t count = python_objects_tails(holders->objects, &tails);
    for (size_t i = 0; i < count; i++)
        python_holders_borrow_tail(holders, &tails[i]);
}

/* ---- All of it ------------------------------------------------------------------------------- */

static int python_holders_run(struct python_holders *holders)
{
    int error = python_holders_find_modules(holders);
    if (!error)
        error = python_holders_find_all_variables(holders);
    if (!error)
        error = python_holders_name_variables(holders);
    if (!error)
        error = python_holders_name_classes(holders);
    if (!error)
        python_holders_borrow_namespaces(holders);
    if (!error)
        python_holders_borrow_tails(holders);
    return error;
}

int python_holders_find(struct held *held, struct python_objects *objects,
                        const struct live_list *blocks)
{
    struct python_holders holders = {.held = held, .objects = objects, .blocks = blocks};
    holders.marks = calloc(blocks->count + 1, sizeof *holders.marks);
    int error = holders.marks ? python_holders_run(&holders) : -ENOMEM;
    free(holders.marks);
    free(holders.modules);
    free(holders.variables);
    return error;
}
