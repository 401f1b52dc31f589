/* Levels and net deltas of a block of events, from what the walker of a block's life says of each
 * record (blocks/walker.h). Inlined whole: each record that is written passes here. */
#include "trace/live_set.h"

#include <stdlib.h>
#include <string.h>
#include "blocks/arena.h"

void live_set_init(struct live_set *lives, uint64_t start_ticks, uint64_t sample_bytes)
{
    memset(lives, 0, sizeof *lives);
    walker_init(&lives->walker, sample_bytes != 0);
    lives->sample_bytes = sample_bytes;
    lives->now = start_ticks;
    node_map_init(&lives->map);
    live_set_begin_block(lives);
}

void live_set_release(struct live_set *lives)
{
    walker_release(&lives->walker);
    node_map_release(&lives->map);
    free(lives->net);
}

void live_set_begin_block(struct live_set *lives)
{
    node_map_begin_block(&lives->map);
    lives->net_count = 0;
    lives->alloc_count = lives->free_count = 0;
    lives->max_bytes = lives->bytes;
    lives->max_ticks = lives->now;
}

/* ---- Levels -------------------------------------------------------------------------------- */

static struct trace_net_delta *live_set_net_of(struct live_set *lives, uint32_t node)
{
    struct node_slot *slot = node_map_slot(&lives->map, node);

    if (slot->net_1)
        return &lives->net[slot->net_1 - 1];
    if (lives->net_count == lives->net_room) {
        lives->net_room = lives->net_room ? 2 * lives->net_room : 1024;
        lives->net = arena_realloc(lives->net, lives->net_room * sizeof *lives->net);
    }
    lives->net[lives->net_count] = (struct trace_net_delta){.node = node};
    slot->net_1 = (uint32_t)++lives->net_count;
    return &lives->net[lives->net_count - 1];
}

size_t live_set_index_of(struct live_set *lives, uint32_t node)
{
    return (size_t)(live_set_net_of(lives, node) - lives->net);
}

/* Slack counts for no level. */
struct weight live_set_weigh(uint64_t sample_bytes, uint64_t size_bytes)
{
    if (!sample_bytes)
        return (struct weight){1, size_bytes, 0, 0};
    return weight_of_sample(sample_bytes, size_bytes, 0);
}

static void live_set_see_level(struct live_set *lives)
{
    if (lives->bytes <= lives->max_bytes)
        return;
    lives->max_bytes = lives->bytes;
    lives->max_ticks = lives->now;
}

/* ---- What the walker says ------------------------------------------------------------------ */

static void live_set_born(void *context, const struct walker_step *step,
                          const struct live_block *old, struct live_block *block)
{
    struct live_set *lives = context;
    struct weight weight = live_set_weigh(lives->sample_bytes, block->size_bytes);
    struct trace_net_delta *net = live_set_net_of(lives, block->site);

    (void)step, (void)old;
    live_block_set_owner(block, lives->serial);
    lives->alloc_count++;
    lives->bytes += weight.bytes;
    lives->count += weight.count;
    net->bytes += weight.bytes;
    net->count += weight.count;
}

static void live_set_ended(void *context, const struct walker_step *step,
                           const struct live_block *block, enum walker_end how)
{
    struct live_set *lives = context;
    struct weight weight = live_set_weigh(lives->sample_bytes, block->size_bytes);
    struct trace_net_delta *net = live_set_net_of(lives, block->site);

    (void)step, (void)how;
    lives->free_count++;
    lives->ended[lives->ended_count++] = (struct live_set_life){block->site, block->size_bytes};
    lives->bytes -= weight.bytes;
    lives->count -= weight.count;
    net->bytes -= weight.bytes;
    net->count -= weight.count;
}

static void live_set_taken(void *context, const struct walker_step *step,
                           const struct live_block *block)
{
    struct live_set *lives = context;

    (void)step;
    lives->has_taken = true;
    lives->taken = (struct live_set_life){block->site, block->size_bytes};
    lives->met = live_block_owner(block);
}

static const struct walker_sink live_set_sink = {
    .taken = live_set_taken, .ended = live_set_ended, .born = live_set_born};

uint32_t live_set_record(struct live_set *lives, uint32_t stream, const struct wire_record *record,
                         uint32_t serial)
{
    enum record_class class = record_class_of(lives->walker.sampled, record->kind_address);

    lives->has_taken = false;
    lives->ended_count = 0;
    lives->met = LIVE_SET_NO_SERIAL;
    if (!record_moves_time(class))
        return LIVE_SET_NO_SERIAL;
    if (record->ticks > lives->now)
        lives->now = record->ticks;
    lives->serial = serial & 0xffffff;
    walker_record(&lives->walker, &live_set_sink, lives, class, stream, record);
    live_set_see_level(lives);
    return lives->met;
}
