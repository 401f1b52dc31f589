/* A reader of Python's pickles, as far as a snapshot of tracemalloc needs them: protocols 2 to 5,
 * numbers, text, tuples, lists, dictionaries, and objects of the few classes that the caller names.
 * Inside the room.
 *
 * Reading a pickle as Python does runs what it names. Here nothing runs: an opcode that calls
 * (REDUCE, INST, OBJ, EXT) and a class that is not in the caller's list are refused. There is no
 * recursion, each opcode makes at most one value, and a value takes 16 bytes, so that memory is in
 * proportion to what was read.
 *
 *   values by value: │ kind │ length │ number, text or place │   on the stack, in the memo, in items
 *   tuple:  length items from items[first] on
 *   list, dictionary, object: containers[place], which may still grow */
#ifndef TIDEMARK_IMPORT_PICKLE_H
#define TIDEMARK_IMPORT_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/strbuf.h"

enum pickle_kind {
    PICKLE_MARK,  /* on the stack alone: where a tuple, or what is added, begins */
    PICKLE_OTHER, /* None, a truth value or a floating point number: read, and not kept */
    PICKLE_NUMBER,
    PICKLE_TEXT,
    PICKLE_TUPLE,
    PICKLE_LIST,
    PICKLE_DICTIONARY,
    PICKLE_CLASS,
    PICKLE_OBJECT,
};

struct pickle_value {
    uint32_t kind, length; /* of text in bytes, of a tuple in items */
    union {
        int64_t number;
        const char *text; /* of the file's bytes, without an end mark */
        size_t first;     /* of a tuple: into items */
        size_t place;     /* of a container: into containers; of a class: into classes */
    };
};

/* A list's items, a dictionary's keys and values by turns, or an object's state, one item. */
struct pickle_container {
    struct pickle_value *values;
    size_t count, room;
    size_t class_place; /* of an object */
};

struct pickle {
    const char *begin, *at, *end;
    const char *const *classes; /* "module.name"; the last is NULL */
    struct strbuf *why;
    struct pickle_value *stack, *items, *memo;
    size_t depth, stack_room, item_count, item_room, memo_count, memo_room;
    struct pickle_container *containers;
    size_t container_count, container_room;
};

/* Reads one pickle. 0, or -EBADMSG with a sentence in `why`. To be released in any case. */
int pickle_read(struct pickle *pickle, const char *bytes, size_t count, const char *const *classes,
                struct strbuf *why, struct pickle_value *root);
void pickle_release(struct pickle *pickle);

static inline bool pickle_is_text(const struct pickle_value *value, const char *text)
{
    size_t length = __builtin_strlen(text);
    return value->kind == PICKLE_TEXT && value->length == length &&
           !__builtin_memcmp(value->text, text, length);
}

/* The value of `key` in the state of an object of the class: NULL: it is no such object, or has no
 * such attribute. */
const struct pickle_value *pickle_attribute(const struct pickle *pickle,
                                            const struct pickle_value *object, size_t class_place,
                                            const char *key);
/* The items of a tuple or a list; false: it is neither. */
bool pickle_items(const struct pickle *pickle, const struct pickle_value *value,
                  const struct pickle_value **items, size_t *count);

#endif
