/* The classes of live blocks, by what C++ writes into them itself (Itanium C++ ABI, 2.9):
 *
 *   block │ vptr │ …      table of virtual functions, in a module
 *            └──▶ │ offset to top │ type_info │▶ function │ …
 *                                      └──▶ │ vptr │ name │ ──▶ "N2ns6WidgetE"
 *
 * So the class of a block that begins with an object with virtual functions can be read, also in
 * programs without symbols. Of each block only the first word is read; of modules, tables and
 * names. A first word counts only if the whole chain is as above and lies in files. */
#ifndef TIDEMARK_COLLECTOR_BLOCK_TYPES_H
#define TIDEMARK_COLLECTOR_BLOCK_TYPES_H

#include <stddef.h>
#include <stdint.h>
#include "collector/live_list.h"
#include "procfs/smaps.h"
#include "profile/profile.h"

/* `read` returns how many bytes it could read from `address` on. */
struct block_types_memory {
    size_t (*read)(const void *context, uint64_t address, void *to, size_t bytes);
    const void *context;
    const struct smaps *smaps;
};

/* Rows by call path and name; `sample` is 0. They point to `names`. */
struct block_types {
    struct profile_block_type *rows;
    size_t row_count;
    char **names;
    size_t name_count;
};

struct python_objects;

/* `first_words`: one for each block; 0: the block has none, or was not read. `python`
 * (python_objects.h): Python's objects among the blocks; NULL: no interpreter. 0 or -ENOMEM. */
int block_types_find(struct block_types *types, const struct live_list *blocks,
                     const uint64_t *first_words, const struct python_objects *python,
                     const struct block_types_memory *memory);
/* Blocks with a class, or a type. */
struct figure block_types_count(const struct block_types *types);
void block_types_release(struct block_types *types);

#endif
