/* Adds up by call path the live blocks that are younger than a moment. A block says when its life
 * began, so no event is looked at again. */
#include <errno.h>
#include <stdlib.h>
#include "base/error.h"
#include "offline/born.h"

struct born_sums {
    struct offline_born *by_node;
    size_t node_count;
    uint64_t since_ticks;
};

static void born_add(void *context, const struct replay_block *block)
{
    struct born_sums *sums = context;
    if (block->birth_ticks <= sums->since_ticks)
        return;
    struct offline_born *born = &sums->by_node[block->node < sums->node_count ? block->node : 0];
    born->bytes += block->size_bytes;
    born->count++;
}

int born_take(const struct replay *replay, uint64_t since_ticks, size_t node_count,
              struct offline_result *result)
{
    struct born_sums sums = {.node_count = node_count, .since_ticks = since_ticks};
    size_t kept = 0;
    sums.by_node = calloc(node_count + 1, sizeof *sums.by_node);
    if (!sums.by_node)
        return error_set(-ENOMEM, "out of memory while replaying a trace");
    replay_live_blocks(replay, born_add, &sums);
    for (size_t node = 0; node < (node_count ? node_count : 1); node++)
        if (sums.by_node[node].count) {
            sums.by_node[kept] = sums.by_node[node];
            sums.by_node[kept++].node = (uint32_t)node;
        }
    result->born = sums.by_node;
    result->born_count = kept;
    return 0;
}
