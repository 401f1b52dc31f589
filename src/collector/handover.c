#include "collector/handover.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

struct handover {
    char *aside;
    _Atomic bool complete;
    _Atomic int references;
};

struct handover *handover_new(char *aside)
{
    struct handover *handover = calloc(1, sizeof *handover);
    if (!handover) {
        free(aside);
        return NULL;
    }
    handover->aside = aside;
    handover->references = 2;
    return handover;
}

void handover_release(struct handover *handover)
{
    if (!handover || atomic_fetch_sub(&handover->references, 1) > 1)
        return;
    free(handover->aside);
    free(handover);
}

const char *handover_aside(const struct handover *handover)
{
    return handover->aside;
}

void handover_complete(struct handover *handover)
{
    atomic_store(&handover->complete, true);
}

bool handover_is_complete(const struct handover *handover)
{
    return atomic_load(&handover->complete);
}

void handover_wait(const struct handover *handover)
{
    const struct timespec pause = {0, 5 * 1000 * 1000};
    while (handover && !handover_is_complete(handover))
        nanosleep(&pause, NULL);
}
