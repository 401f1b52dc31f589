/* See intern.h. */
#include "profile/intern.h"

#include <stdlib.h>
#include <string.h>
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
    free(intern->slots);
    *intern = (struct intern){0};
}

static bool grow(struct intern *intern)
{
    size_t slot_count = intern->slot_count ? intern->slot_count * 2 : 1024;
    uint32_t *slots = calloc(slot_count, sizeof *slots);
    struct intern_entry *entries =
        realloc(intern->entries, slot_count / 2 * sizeof *intern->entries);
    if (entries)
        intern->entries = entries;
    if (!slots || !entries) {
        free(slots);
        return false;
    }
    for (size_t i = 0; i < intern->count; i++) {
        size_t slot = entries[i].hash & (slot_count - 1);
        while (slots[slot])
            slot = (slot + 1) & (slot_count - 1);
        slots[slot] = (uint32_t)i + 1;
    }
    free(intern->slots);
    intern->slots = slots;
    intern->slot_count = slot_count;
    return true;
}

uint32_t intern_number(struct intern *intern, const void *key, size_t bytes, bool *is_new)
{
    *is_new = false;
    if (intern->count >= intern->slot_count / 2 && !grow(intern))
        return 0;
    uint64_t hash = hash_bytes(key, bytes);
    size_t slot = hash & (intern->slot_count - 1);
    for (; intern->slots[slot]; slot = (slot + 1) & (intern->slot_count - 1)) {
        struct intern_entry *entry = &intern->entries[intern->slots[slot] - 1];
        if (entry->hash == hash && entry->bytes == bytes && !memcmp(entry->key, key, bytes))
            return intern->slots[slot];
    }
    void *copy = malloc(bytes ? bytes : 1);
    if (!copy)
        return 0;
    memcpy(copy, key, bytes);
    intern->entries[intern->count++] = (struct intern_entry){hash, bytes, copy};
    intern->slots[slot] = (uint32_t)intern->count;
    *is_new = true;
    return (uint32_t)intern->count;
}
