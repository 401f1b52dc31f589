/* Numbers for strings: the same bytes always get the same number, counted from 1.
 *
 *   map: hash → number - 1 → entries[number - 1] {hash, key}
 */
#ifndef TIDEMARK_PROFILE_INTERN_H
#define TIDEMARK_PROFILE_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/map.h"

struct intern {
    struct intern_entry *entries;
    size_t count, room;
    struct map map;
};

void intern_release(struct intern *intern);
/* The number of `key`; `*is_new` says whether it was not there before. 0: out of memory. */
uint32_t intern_number(struct intern *intern, const void *key, size_t bytes, bool *is_new);

#endif
