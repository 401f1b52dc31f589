/* Finds glibc's main arena among the C library's variables (graph_arena.h). The last of its bins is
 * looked for from behind, and the others are counted from there. */
#include "collector/graph_arena.h"

#include <stdbool.h>
#include <string.h>

enum {
    WORD = sizeof(uint64_t),
    HEADER = 2 * WORD, /* a bin is addressed as if it were a chunk */
    PAIRS = 127,
    IN_FRONT = 2 /* top, last_remainder */
};

static bool graph_arena_is_empty_bin(uint64_t address, const uint64_t *pair)
{
    return pair[0] == address - HEADER && pair[1] == pair[0];
}

/* The index of the first bin's first word, when the last empty bin is at words[last]. It is the
 * last bin only if other words follow. */
static bool graph_arena_first_bin(const uint64_t *words, size_t count, size_t last, size_t *first)
{
    const size_t before = 2 * (PAIRS - 1);
    if (last < before + IN_FRONT || count - last < 4)
        return false;
    *first = last - before;
    for (size_t i = *first; i < last; i++)
        if (!words[i])
            return false;
    return true;
}

void graph_arena_forget(uint64_t address, uint64_t *words, size_t count)
{
    size_t first;
    for (size_t i = count; i-- > 1;) {
        uint64_t *pair = &words[i - 1];
        if (!graph_arena_is_empty_bin(address + (i - 1) * WORD, pair))
            continue;
        if (graph_arena_first_bin(words, count, i - 1, &first))
            memset(&words[first - IN_FRONT], 0, (IN_FRONT + 2 * PAIRS) * WORD);
        return;
    }
}
