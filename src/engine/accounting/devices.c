/* Keeps what drivers of devices have handed out (devices.h). Blocks are in a hash table with linear
 * probing, call paths of each space in another one. A level over time has at most DEVICE_LEVELS_MAX
 * rows: when they are full, each two become one, which has the larger figure. */
#include "accounting/devices.h"

#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "blocks/arena.h"

enum { FIRST_BLOCKS = 64, FIRST_HEADS = 64 };

void devices_release(struct devices *devices)
{
    for (int i = 0; i < DEVICE_SPACES; i++)
        free(devices->spaces[i]);
    free(devices->blocks);
    free(devices->sites);
    free(devices->heads);
    free(devices->maps);
    *devices = (struct devices){0};
}

size_t devices_memory_bytes(const struct devices *devices)
{
    size_t bytes = devices->block_room * sizeof *devices->blocks +
                   devices->site_room * sizeof *devices->sites +
                   devices->head_room * sizeof *devices->heads +
                   devices->map_room * sizeof *devices->maps;
    for (int i = 0; i < DEVICE_SPACES; i++)
        bytes += devices->spaces[i] ? sizeof *devices->spaces[i] : 0;
    return bytes;
}

/* ---- Levels -------------------------------------------------------------------------------- */

static void devices_halve_levels(struct devices_space *space)
{
    for (uint32_t i = 0; i < DEVICE_LEVELS_MAX / 2; i++) {
        struct device_level *pair = &space->levels[2 * (size_t)i];
        uint64_t most = pair[0].bytes > pair[1].bytes ? pair[0].bytes : pair[1].bytes;
        space->levels[i] = (struct device_level){pair[0].space, pair[0].ticks, most};
    }
    space->level_count = DEVICE_LEVELS_MAX / 2;
    space->stride *= 2;
}

static void devices_see_level(struct devices_space *space, uint64_t ticks)
{
    uint64_t live = space->total.live_bytes;
    if (live > space->total.peak_bytes) {
        space->total.peak_bytes = live;
        space->total.peak_ticks = ticks;
        space->stamp++;
    }
    if (space->seen++ % space->stride) {
        struct device_level *last = &space->levels[space->level_count - 1];
        last->bytes = live > last->bytes ? live : last->bytes;
        return;
    }
    if (space->level_count == DEVICE_LEVELS_MAX)
        devices_halve_levels(space);
    space->levels[space->level_count++] = (struct device_level){space->total.space, ticks, live};
}

static struct devices_space *devices_space_of(struct devices *devices, enum device_space space)
{
    struct devices_space *found = devices->spaces[space];
    if (found)
        return found;
    found = arena_calloc(1, sizeof *found);
    found->total.space = space;
    found->stride = 1;
    return devices->spaces[space] = found;
}

/* ---- Call paths ---------------------------------------------------------------------------- */

static size_t devices_head_of(const struct devices *devices, uint32_t space, uint32_t node)
{
    return hash_u64((uint64_t)node << 8 | space) & (devices->head_room - 1);
}

static void devices_link_site(struct devices *devices, uint32_t index)
{
    struct devices_site *site = &devices->sites[index];
    size_t head = devices_head_of(devices, site->figures.space, site->figures.node);
    site->next = devices->heads[head];
    devices->heads[head] = index + 1;
}

static void devices_grow_sites(struct devices *devices)
{
    devices->site_room = devices->site_room ? devices->site_room * 2 : FIRST_HEADS;
    devices->sites = arena_realloc(devices->sites, devices->site_room * sizeof *devices->sites);
    free(devices->heads);
    devices->head_room = devices->site_room;
    devices->heads = arena_calloc(devices->head_room, sizeof *devices->heads);
    for (uint32_t i = 0; i < devices->site_count; i++)
        devices_link_site(devices, i);
}

static uint32_t devices_site_of(struct devices *devices, uint32_t space, uint32_t node)
{
    uint32_t at = devices->head_room ? devices->heads[devices_head_of(devices, space, node)] : 0;
    while (at && (devices->sites[at - 1].figures.node != node ||
                  devices->sites[at - 1].figures.space != space))
        at = devices->sites[at - 1].next;
    if (at)
        return at - 1;
    if (devices->site_count == devices->site_room)
        devices_grow_sites(devices);
    devices->sites[devices->site_count] =
        (struct devices_site){.figures = {.space = space, .node = node}};
    devices_link_site(devices, (uint32_t)devices->site_count);
    return (uint32_t)devices->site_count++;
}

/* Before a site's live bytes change: those that it had at the space's peak are kept. */
static struct devices_site *devices_touch_site(struct devices *devices, uint32_t index)
{
    struct devices_site *site = &devices->sites[index];
    const struct devices_space *space = devices->spaces[site->figures.space];
    if (site->stamp < space->stamp)
        site->figures.at_peak_bytes = site->figures.live_bytes;
    site->stamp = space->stamp;
    return site;
}

struct device_site devices_site(const struct devices *devices, size_t index)
{
    const struct devices_site *site = &devices->sites[index];
    struct device_site figures = site->figures;
    if (site->stamp < devices->spaces[figures.space]->stamp)
        figures.at_peak_bytes = figures.live_bytes;
    return figures;
}

/* ---- Blocks -------------------------------------------------------------------------------- */

static uint64_t devices_key(uint64_t address, bool is_handle)
{
    return address << 1 | is_handle;
}

static size_t devices_home(const struct devices *devices, uint64_t key)
{
    return hash_u64(key) & (devices->block_room - 1);
}

static struct device_block *devices_slot(const struct devices *devices, uint64_t key)
{
    size_t at = devices_home(devices, key);
    while (devices->blocks[at].key && devices->blocks[at].key != key)
        at = (at + 1) & (devices->block_room - 1);
    return &devices->blocks[at];
}

static struct device_block *devices_find(const struct devices *devices, uint64_t key)
{
    struct device_block *slot = devices->block_room && key > 1 ? devices_slot(devices, key) : NULL;
    return slot && slot->key ? slot : NULL;
}

static void devices_grow_blocks(struct devices *devices)
{
    struct device_block *old = devices->blocks;
    size_t room = devices->block_room;
    devices->block_room = room ? room * 2 : FIRST_BLOCKS;
    devices->blocks = arena_calloc(devices->block_room, sizeof *devices->blocks);
    for (size_t i = 0; i < room; i++)
        if (old[i].key)
            *devices_slot(devices, old[i].key) = old[i];
    free(old);
}

/* Later slots whose home is at or before the hole move into it. */
static void devices_remove(struct devices *devices, struct device_block *block)
{
    size_t mask = devices->block_room - 1, hole = (size_t)(block - devices->blocks);
    for (size_t at = (hole + 1) & mask; devices->blocks[at].key; at = (at + 1) & mask) {
        size_t home = devices_home(devices, devices->blocks[at].key);
        if (((at - home) & mask) < ((at - hole) & mask))
            continue;
        devices->blocks[hole] = devices->blocks[at];
        hole = at;
    }
    devices->blocks[hole].key = 0;
    devices->block_count--;
}

/* The block lives from now on; `sign` -1: it does not any more. */
static void devices_count(struct devices *devices, const struct device_block *block, int sign,
                          uint64_t ticks)
{
    struct devices_site *site = devices_touch_site(devices, block->site);
    struct devices_space *space = devices->spaces[site->figures.space];
    uint64_t bytes = sign < 0 ? -block->bytes : block->bytes;
    site->figures.live_bytes += bytes;
    site->figures.live_count += (uint64_t)sign;
    space->total.live_bytes += bytes;
    space->total.live_count += (uint64_t)sign;
    if (site->figures.live_bytes > site->figures.peak_bytes)
        site->figures.peak_bytes = site->figures.live_bytes;
    devices_see_level(space, ticks);
}

static void devices_put(struct devices *devices, const struct device_block *block, uint64_t ticks)
{
    if (devices->block_count >= devices->block_room / 4 * 3)
        devices_grow_blocks(devices);
    struct device_block *slot = devices_slot(devices, block->key);
    *slot = *block;
    devices->block_count++;
    devices_count(devices, block, 1, ticks);
}

static void devices_take(struct devices *devices, struct device_block *block, uint64_t ticks)
{
    struct device_block taken = *block;
    devices_remove(devices, block);
    devices_count(devices, &taken, -1, ticks);
}

/* ---- Events -------------------------------------------------------------------------------- */

/* A block at an address that has one already: the end of that one was not seen. */
void devices_allocate(struct devices *devices, const struct device_event *event)
{
    struct devices_space *space = devices_space_of(devices, event->space);
    uint64_t key = devices_key(event->address, event->is_handle);
    struct device_block *old = devices_find(devices, key);
    if (old)
        devices_take(devices, old, event->ticks);
    uint32_t site = devices_site_of(devices, event->space, event->node);
    devices->sites[site].figures.alloc_count++;
    devices->sites[site].figures.alloc_bytes += event->bytes;
    space->total.alloc_count++;
    space->total.alloc_bytes += event->bytes;
    devices_put(devices, &(struct device_block){key, event->bytes, site, 1, 0}, event->ticks);
}

void devices_refuse(struct devices *devices, const struct device_event *event)
{
    struct device_total *total = &devices_space_of(devices, event->space)->total;
    total->refused_count++;
    if (event->bytes > total->refused_bytes)
        total->refused_bytes = event->bytes;
}

static void devices_end_if_unused(struct devices *devices, struct device_block *block,
                                  uint64_t ticks)
{
    if (block->references || block->maps)
        return;
    devices->spaces[devices->sites[block->site].figures.space]->total.free_count++;
    devices_take(devices, block, ticks);
}

/* A handle that is not known may be one of another process. */
void devices_free(struct devices *devices, const struct device_event *event)
{
    uint64_t key = devices_key(event->address, event->is_handle);
    struct device_block *block = devices_find(devices, key);
    if (!block) {
        devices_space_of(devices, event->space)->total.unknown_count += !event->is_handle;
        return;
    }
    if (!block->references)
        return;
    devices->freed[devices->freed_at++ % DEVICE_FREED_KEPT] = *block;
    block->references--;
    devices_end_if_unused(devices, block, event->ticks);
}

void devices_undo_free(struct devices *devices, const struct device_event *event)
{
    uint64_t key = devices_key(event->address, event->is_handle);
    struct device_block *block = devices_find(devices, key);
    if (block) {
        block->references += event->is_handle;
        return;
    }
    for (unsigned i = 1; key > 1 && i <= DEVICE_FREED_KEPT; i++) {
        struct device_block *freed = &devices->freed[(devices->freed_at - i) % DEVICE_FREED_KEPT];
        if (freed->key != key)
            continue;
        devices->spaces[devices->sites[freed->site].figures.space]->total.free_count--;
        devices_put(devices, freed, event->ticks);
        freed->key = 0;
        return;
    }
    /* Neither the block nor its free is known: the driver has said the same. */
    struct device_total *total = &devices_space_of(devices, event->space)->total;
    total->unknown_count -= total->unknown_count && !event->is_handle;
}

/* The first mapping at or above the address. */
static size_t devices_map_at(const struct devices *devices, uint64_t address)
{
    size_t from = 0, to = devices->map_count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (devices->maps[middle].address < address)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static void devices_add_map(struct devices *devices, uint64_t address, uint64_t handle)
{
    if (devices->map_count == devices->map_room) {
        devices->map_room = devices->map_room ? devices->map_room * 2 : 16;
        devices->maps = arena_realloc(devices->maps, devices->map_room * sizeof *devices->maps);
    }
    size_t at = devices_map_at(devices, address);
    memmove(&devices->maps[at + 1], &devices->maps[at],
            (devices->map_count - at) * sizeof *devices->maps);
    devices->maps[at] = (struct device_map){address, handle};
    devices->map_count++;
}

void devices_hold(struct devices *devices, const struct device_event *event)
{
    struct device_block *block = devices_find(devices, devices_key(event->address, true));
    if (!block)
        return;
    if (event->bytes) {
        block->maps++;
        devices_add_map(devices, event->bytes, event->address);
    } else {
        block->references++;
    }
}

void devices_unmap(struct devices *devices, const struct device_event *event)
{
    size_t first = devices_map_at(devices, event->address), end = first;
    while (end < devices->map_count && devices->maps[end].address - event->address < event->bytes) {
        struct device_block *block =
            devices_find(devices, devices_key(devices->maps[end++].handle, true));
        if (!block || !block->maps)
            continue;
        block->maps--;
        devices_end_if_unused(devices, block, event->ticks);
    }
    memmove(&devices->maps[first], &devices->maps[end],
            (devices->map_count - end) * sizeof *devices->maps);
    devices->map_count -= end - first;
}

/* Memory that was live then, and is not told to be free. */
void devices_end(struct devices *devices, const struct device_event *event)
{
    for (int i = 0; i < DEVICE_SPACES; i++)
        if (devices->spaces[i] && devices->spaces[i]->total.live_count &&
            device_space_interface(i) == device_space_interface(event->space))
            devices->spaces[i]->total.ended_count++;
}

/* ---- Windows ------------------------------------------------------------------------------- */

static void devices_restart_space(struct devices_space *space, uint64_t start_ticks)
{
    struct device_total *total = &space->total;
    *total = (struct device_total){.space = total->space,
                                   .live_bytes = total->live_bytes,
                                   .live_count = total->live_count,
                                   .peak_bytes = total->live_bytes,
                                   .peak_ticks = start_ticks,
                                   .ended_count = total->ended_count};
    space->stamp++;
    space->seen = space->level_count = 0;
    space->stride = 1;
    devices_see_level(space, start_ticks);
}

void devices_restart(struct devices *devices, uint64_t start_ticks)
{
    for (int i = 0; i < DEVICE_SPACES; i++)
        if (devices->spaces[i])
            devices_restart_space(devices->spaces[i], start_ticks);
    for (size_t i = 0; i < devices->site_count; i++) {
        struct device_site *figures = &devices->sites[i].figures;
        figures->alloc_count = figures->alloc_bytes = 0;
        figures->peak_bytes = figures->live_bytes;
    }
}
