/* The types of live blocks that are objects of CPython, 3.11 to 3.14, read from outside:
 *
 *   block │ pre-header │ GC header │ references │ type │ …
 *                                                 └──▶ │ references │ metatype │ size │ name │ … flags │
 *
 * A type's flags give the headers of its objects, and so the place of the type's pointer in a
 * block. The type of types is `type`, which is its own type. A block counts only if all of that
 * holds and the object has references and fits into the block. Blocks that an object owns (a list's
 * items, a dict's keys, a set's table, the attributes of an instance) are found through the object.
 *
 * Not thread-safe. Only types, their names and the given words of objects are read. */
#ifndef TIDEMARK_COLLECTOR_PYTHON_OBJECTS_H
#define TIDEMARK_COLLECTOR_PYTHON_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/strbuf.h"
#include "collector/block_types.h"
#include "collector/live_list.h"

struct python_objects;

/* NULL: the process has no interpreter, or there is no memory. `memory` is copied; its context, its
 * smaps and `blocks` must live as long. */
struct python_objects *python_objects_new(const struct block_types_memory *memory,
                                          const struct live_list *blocks);

/* Words of an object whose pointers hold nothing. Bit i stands for word i. */
struct python_borrowed {
    uint32_t links;  /* the garbage collector's list of all objects */
    uint32_t others; /* the object's type, whose instances do not keep it; weak references' objects
                        and lists; what is no pointer at all */
};

/* The first `count` words of block number `block`. */
struct python_borrowed python_objects_see(struct python_objects *objects, size_t block,
                                          const uint64_t *words, size_t count);

/* After the last block: names the blocks that objects own. */
void python_objects_settle(struct python_objects *objects);

/* A block whose words from `used_bytes` on hold nothing. */
struct python_tail {
    uint32_t block;
    uint64_t used_bytes;
};
/* Returns how many there are, after python_objects_settle(). `objects` keeps them. */
size_t python_objects_tails(const struct python_objects *objects, const struct python_tail **tails);

/* "dict", "keys of dicts", "Node"; NULL: not known. Lives as long as `objects`. */
const char *python_objects_name(const struct python_objects *objects, size_t block);

enum python_kind {
    PYTHON_NO_OBJECT,
    PYTHON_OTHER,
    PYTHON_MODULE,
    PYTHON_FUNCTION,
    PYTHON_CLASS,
};
/* The kind of the block's object. `offset`: where the object begins in the block, in bytes. */
enum python_kind python_objects_kind(const struct python_objects *objects, size_t block,
                                     uint64_t *offset);
/* The name of the class whose object the block is; NULL: it is not a class, or its name cannot be
 * read. `objects` keeps it. */
const char *python_objects_class_name(struct python_objects *objects, size_t block);
/* Adds the characters of the `str` at the address, if all are ASCII. False: it is no such text, or
 * it is too long for a name. */
bool python_objects_add_text(struct python_objects *objects, uint64_t address, struct strbuf *out);

void python_objects_free(struct python_objects *objects); /* NULL: nothing to do */

#endif
