/* The names of the levels of memory, in one list by the level's number. A name is found by a
 * walk over the list; a word that is no level is refused. */
#include "model/level.h"

#include <string.h>

static const char *const names[MEMORY_LEVELS] = {"heap", "mapped", "all", "resident"};

const char *memory_level_name(enum memory_level level)
{
    return names[level];
}

const char *memory_level_sentence(enum memory_level level)
{
    static const char *const said[MEMORY_LEVELS] = {
        [MEMORY_MAPPED] = "what the program maps itself, without blocks of the heap",
        [MEMORY_ALL] = "blocks of the heap and what the program maps itself, together",
        [MEMORY_RESIDENT] = "resident memory by owner, where most of it was looked at; functions "
                            "in brackets are owners without a call path",
    };
    return said[level];
}

bool memory_level_find(const char *name, enum memory_level *level)
{
    for (int i = 0; i < MEMORY_LEVELS; i++) {
        if (strcmp(names[i], name) != 0)
            continue;
        *level = (enum memory_level)i;
        return true;
    }
    return false;
}
