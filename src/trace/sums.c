/* See sums.h. */
#include "trace/sums.h"

void sums_release(struct sums *sums)
{
    for (int i = 0; i < SUMS_LEVELS; i++)
        nets_release(&sums->levels[i].nets);
}

size_t sums_memory_bytes(const struct sums *sums)
{
    size_t bytes = 0;

    for (int i = 0; i < SUMS_LEVELS; i++)
        bytes += sums->levels[i].nets.room * sizeof *sums->levels[i].nets.all;
    return bytes;
}

static void join(struct format_block *sum, const struct format_block *part)
{
    sum->count += part->count;
    sum->alloc_count += part->alloc_count;
    sum->free_count += part->free_count;
    if (part->first_ticks < sum->first_ticks)
        sum->first_ticks = part->first_ticks;
    if (part->last_ticks > sum->last_ticks)
        sum->last_ticks = part->last_ticks;
    sum->net_bytes += part->net_bytes;
    sum->net_count += part->net_count;
    if (part->max_bytes > sum->max_bytes) {
        sum->max_bytes = part->max_bytes;
        sum->max_ticks = part->max_ticks;
    }
}

int sums_add(struct sums_level *level, const struct format_block *part, const struct nets *nets)
{
    if (sums_is_full(level)) {
        level->nets.count = 0;
        level->parts = 0;
    }
    if (level->parts++) {
        join(&level->digest, part);
    } else {
        level->digest = *part;
        level->digest.kind = FORMAT_SUMS;
    }
    return nets_merge(&level->nets, nets->all, nets->count);
}
