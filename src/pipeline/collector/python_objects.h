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

#include <stddef.h>
#include <stdint.h>
#include "collector/block_types.h"
#include "collector/live_list.h"

struct python_objects;

/* NULL: the process has no interpreter, or there is no memory. `memory` and what it leads to are
 * kept. */
struct python_objects *python_objects_new(const struct block_types_memory *memory,
                                          const struct live_list *blocks);

enum { PYTHON_LINKS = 2 }; /* words of the collector's list of objects */

/* The first `count` words of block number `block`. Returns where among them the links are by which
 * the garbage collector finds the object, PYTHON_LINKS words; NULL: there are none. */
uint64_t *python_objects_see(struct python_objects *objects, size_t block, uint64_t *words,
                             size_t count);

/* After the last block: what objects keep beside themselves. */
void python_objects_settle(struct python_objects *objects);

/* "dict", "keys of dicts", "Node"; NULL: not known. Lives as long as `objects`. */
const char *python_objects_name(const struct python_objects *objects, size_t block);

void python_objects_free(struct python_objects *objects); /* NULL: nothing to do */

#endif
