/* Sums of consecutive blocks' digests and net deltas (delta_index.h). Each level adds its parts to
 * one sum, by a merge of sorted lists, and begins a new sum when it is full. */
#include "trace/delta_index.h"

void delta_index_release(struct delta_index *index)
{
    for (int i = 0; i < DELTA_INDEX_LEVELS; i++)
        net_deltas_release(&index->levels[i].deltas);
}

static void delta_index_join(struct trace_format_block *sum, const struct trace_format_block *part)
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

int delta_index_add(struct delta_index_level *level, const struct trace_format_block *part,
                    const struct net_deltas *deltas)
{
    if (delta_index_level_is_full(level)) {
        level->deltas.count = 0;
        level->parts = 0;
    }
    if (level->parts++) {
        delta_index_join(&level->digest, part);
    } else {
        level->digest = *part;
        level->digest.kind = FORMAT_SUMS;
    }
    return net_deltas_merge(&level->deltas, deltas->all, deltas->count);
}
