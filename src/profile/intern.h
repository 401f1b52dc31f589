/* Numbers for strings: the same bytes always get the same number, counted from 1.
 *
 *   slots[hash & mask] → number → entries[number - 1] {hash, key}     open addressing, half full
 */
#ifndef TIDEMARK_PROFILE_INTERN_H
#define TIDEMARK_PROFILE_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct intern {
    struct intern_entry *entries;
    uint32_t *slots; /* 0: empty */
    size_t count, slot_count;
};

void intern_release(struct intern *intern);
/* The number of `key`; `*is_new` says whether it was not there before. 0: out of memory. */
uint32_t intern_number(struct intern *intern, const void *key, size_t bytes, bool *is_new);

#endif
