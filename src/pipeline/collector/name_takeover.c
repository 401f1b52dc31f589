/* Passes a profile's name from one process image to its successor (name_takeover.h). An atomic flag
 * says that the old image has finished. The new one polls the flag every 5 ms. */
#include "collector/name_takeover.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

struct name_takeover {
    char *aside;
    _Atomic bool complete;
    _Atomic int references;
};

struct name_takeover *name_takeover_new(char *aside)
{
    struct name_takeover *takeover = calloc(1, sizeof *takeover);
    if (!takeover) {
        free(aside);
        return NULL;
    }
    takeover->aside = aside;
    takeover->references = 2;
    return takeover;
}

void name_takeover_release(struct name_takeover *takeover)
{
    if (!takeover || atomic_fetch_sub(&takeover->references, 1) > 1)
        return;
    free(takeover->aside);
    free(takeover);
}

const char *name_takeover_aside(const struct name_takeover *takeover)
{
    return takeover->aside;
}

void name_takeover_complete(struct name_takeover *takeover)
{
    atomic_store(&takeover->complete, true);
}

bool name_takeover_is_complete(const struct name_takeover *takeover)
{
    return atomic_load(&takeover->complete);
}

void name_takeover_wait(const struct name_takeover *takeover)
{
    const struct timespec pause = {0, 5 * 1000 * 1000};
    while (takeover && !name_takeover_is_complete(takeover))
        nanosleep(&pause, NULL);
}
