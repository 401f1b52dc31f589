/* The types of live blocks that are objects of CPython, 3.11 to 3.13, read from outside:
 *
 *   block │ pre-header │ GC header │ references │ type │ …
 *                                                 └──▶ │ references │ metatype │ size │ name │ … flags │
 *
 * A type's flags say which headers its objects have, so where its pointer has to lie. The types'
 * type is `type`, which is its own. A block counts only if all of that is so and the object has
 * references and fits. What an object keeps beside itself (a list's items, a dict's keys, a set's
 * table, the attributes of an instance) is found through the object.
 *
 * Not thread-safe. Reads types and their names, and of objects the words that are given. */
#ifndef TIDEMARK_COLLECTOR_PYTHON_OBJECTS_H
#define TIDEMARK_COLLECTOR_PYTHON_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/strbuf.h"
#include "collector/block_types.h"
#include "collector/live_list.h"

struct python_objects;

/* NULL: the process has no interpreter, or there is no memory. `memory` and what it leads to are
 * kept. */
struct python_objects *python_objects_new(const struct block_types_memory *memory,
                                          const struct live_list *blocks);

/* Words of an object that lead to others and hold none of them. Bit i is that of word i of
 * those given. */
struct python_borrowed {
    uint32_t links;  /* the garbage collector's list of all objects */
    uint32_t others; /* the object's type, whose instances do not keep it; weak references' objects
                        and lists; what is no pointer at all */
};

/* The first `count` words of block number `block`. */
struct python_borrowed python_objects_see(struct python_objects *objects, size_t block,
                                          const uint64_t *words, size_t count);

/* After the last block: what objects keep beside themselves. */
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
/* What the block is, and where in it the object begins, in bytes. */
enum python_kind python_objects_kind(const struct python_objects *objects, size_t block,
                                     uint64_t *offset);
/* The class that the block is, as in error messages; NULL: it is not read. `objects` keeps it. */
const char *python_objects_class_name(struct python_objects *objects, size_t block);
/* Adds a text's characters, if all of them are ASCII. False: it is no such text, or it is longer
 * than a name. */
bool python_objects_add_text(struct python_objects *objects, uint64_t address, struct strbuf *out);

void python_objects_free(struct python_objects *objects); /* NULL: nothing to do */

#endif
