/* Any bytes as a budget: what is accepted lies within the text, has keys, and is not said twice;
 * what is not is refused with a line that is there. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/toml.h"
#include "fuzz.h"

static unsigned count_lines(const uint8_t *data, size_t size)
{
    unsigned lines = 1;
    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n';
    return lines;
}

static void check_entry(const struct toml_entry *entry, size_t size, unsigned lines)
{
    must(entry->key_count > 0 && entry->key_count <= TOML_KEYS_MAX);
    must(entry->line >= 1 && entry->line <= lines);
    must(entry->length > 0 && entry->offset < size && entry->length <= size - entry->offset);
    must((entry->type == TOML_STRING) == (entry->string != NULL));
    must(entry->type == TOML_BOOLEAN || isfinite(entry->number));
}

static int is_same(const struct toml_entry *a, const struct toml_entry *b)
{
    if (a->key_count != b->key_count)
        return 0;
    for (size_t i = 0; i < a->key_count; i++)
        if (strcmp(a->keys[i], b->keys[i]))
            return 0;
    return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct toml toml;
    unsigned lines = count_lines(data, size), line;
    char *text = malloc(size + 1); /* no NUL behind it: reading on would be seen */
    memcpy(text, data, size);
    int error = toml_parse(&toml, text, size);
    must(error ? sscanf(toml.error, "line %u: ", &line) == 1 && line >= 1 && line <= lines
               : !*toml.error);
    for (size_t i = 0; i < toml.count && !error; i++) {
        check_entry(&toml.entries[i], size, lines);
        if (i && i < 64)
            for (size_t j = 0; j < i; j++)
                must(!is_same(&toml.entries[i], &toml.entries[j]));
    }
    toml_release(&toml);
    free(text);
    return 0;
}
