/* Blocks that began in a window and are alive at its end, by call path. Inside the room. */
#ifndef TIDEMARK_OFFLINE_BORN_H
#define TIDEMARK_OFFLINE_BORN_H

#include "offline/offline.h"
#include "replay/replay.h"

/* Blocks that began later than `since_ticks`. 0 or -ENOMEM, with a sentence. */
int born_take(const struct replay *replay, uint64_t since_ticks, size_t node_count,
              struct offline_result *result);

#endif
