/* Reads and copies lists of libraries, which blanks and colons separate as for ld.so (preloads.h).
 * What the user preloads stays as it is. */
#include "recorder/preloads.h"

#include <string.h>
#include "wire/wire.h"

#define PRELOAD            "LD_PRELOAD="
#define PRELOAD_SEPARATORS ": "
enum { PREFIX_BYTES = sizeof PRELOAD - 1 };

char *const *preloads_entry(char *const *environment)
{
    for (; environment && *environment; environment++)
        if (strncmp(*environment, PRELOAD, PREFIX_BYTES) == 0)
            return environment;
    return NULL;
}

bool preloads_has_us(const char *entry)
{
    const char *list = entry + PREFIX_BYTES;
    while (*list) {
        size_t bytes = strcspn(list, PRELOAD_SEPARATORS);
        if (wire_is_recorder_name(list, bytes))
            return true;
        list += bytes;
        list += strspn(list, PRELOAD_SEPARATORS);
    }
    return false;
}

/* A library goes with the separator behind it, the last one with the separator before it. Returns
 * the length. */
static size_t preloads_copy_list(char *to, const char *from)
{
    size_t length = 0;
    bool last_was_ours = false;
    while (*from) {
        size_t bytes = strcspn(from, PRELOAD_SEPARATORS);
        last_was_ours = wire_is_recorder_name(from, bytes);
        bytes += from[bytes] != '\0';
        if (!last_was_ours) {
            memcpy(to + length, from, bytes);
            length += bytes;
        }
        from += bytes;
    }
    if (last_was_ours && length)
        length--;
    to[length] = '\0';
    return length;
}

bool preloads_copy_others(char *to, const char *entry)
{
    return preloads_copy_list(stpcpy(to, PRELOAD), entry + PREFIX_BYTES) != 0;
}
