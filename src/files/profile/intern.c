/* Numbers for byte strings (intern.h). The entries are an array in the order of their numbers, and
 * a map (base/map.h) finds them by hash. Each key is copied. */
#include "profile/intern.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/hash.h"

struct intern_entry {
    uint64_t hash;
    size_t bytes;
    void *key;
};

void intern_release(struct intern *intern)
{
    for (size_t i = 0; i < intern->count; i++)
        free(intern->entries[i].key);
    free(intern->entries);
    map_release(&intern->map);
    *intern = (struct intern){0};
}

uint32_t intern_number(struct intern *intern, const void *key, size_t bytes, bool *is_new)
{
    uint64_t hash = hash_bytes(key, bytes);
    uint32_t number;
    *is_new = false;
    for (struct map_probe probe = map_probe(&intern->map, hash); map_next(&probe, &number);) {
        const struct intern_entry *entry = &intern->entries[number];
        if (entry->hash == hash && entry->bytes == bytes && !memcmp(entry->key, key, bytes))
            return number + 1;
    }
    void *copy = malloc(bytes ? bytes : 1);
    if (!copy ||
        !array_make_room(&intern->entries, &intern->room, intern->count, sizeof *intern->entries) ||
        !map_try_add(&intern->map, hash, (uint32_t)intern->count)) {
        free(copy);
        return 0;
    }
    memcpy(copy, key, bytes);
    intern->entries[intern->count++] = (struct intern_entry){hash, bytes, copy};
    *is_new = true;
    return (uint32_t)intern->count;
}
