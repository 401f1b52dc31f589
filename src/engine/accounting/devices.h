/* Memory of devices (model/device_space.h): blocks that a driver has handed out, their call paths,
 * and the level of each space over time. Apart from the live blocks of the heap, because an address
 * of a device may also be one of the host, and because nothing here is part of the heap's figures.
 *
 * Invariants
 *   a space's live bytes are the sum of its blocks', and of its sites'
 *   share at the peak = site.stamp < space.stamp ? live : at_peak (as in sites.h)
 *   a handle lives as long as it has references or is mapped */
#ifndef TIDEMARK_ACCOUNTING_DEVICES_H
#define TIDEMARK_ACCOUNTING_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "model/device_space.h"

enum { DEVICE_LEVELS_MAX = 256, DEVICE_FREED_KEPT = 16 };

struct device_block {
    uint64_t key; /* address << 1 | is a handle; 0: the slot is empty */
    uint64_t bytes;
    uint32_t site;             /* index into `sites` */
    uint32_t references, maps; /* an address has one reference */
};

struct devices_site {
    struct device_site figures;
    uint64_t stamp;
    uint32_t next; /* of the same hash, + 1; 0: none */
};

struct devices_space {
    struct device_total total;
    uint64_t stamp, seen, stride; /* each level covers `stride` changes */
    uint32_t level_count;
    struct device_level levels[DEVICE_LEVELS_MAX];
};

/* Where a handle is mapped. By address. */
struct device_map {
    uint64_t address, handle;
};

struct devices {
    struct devices_space *spaces[DEVICE_SPACES]; /* NULL: nothing was asked of it */
    struct device_block *blocks;
    size_t block_count, block_room; /* a power of two */
    struct devices_site *sites;
    size_t site_count, site_room;
    uint32_t *heads; /* by hash: index into sites, + 1 */
    size_t head_room;
    struct device_map *maps;
    size_t map_count, map_room;
    /* The last blocks that were freed. The driver may say afterwards that it has not. */
    struct device_block freed[DEVICE_FREED_KEPT];
    unsigned freed_at;
};

/* What happened, as a record tells it (wire/device_records.h). */
struct device_event {
    uint64_t ticks, address, bytes;
    uint32_t node;
    enum device_space space;
    bool is_handle;
};

void devices_release(struct devices *devices);
size_t devices_memory_bytes(const struct devices *devices);

void devices_allocate(struct devices *devices, const struct device_event *event);
void devices_refuse(struct devices *devices, const struct device_event *event);
void devices_free(struct devices *devices, const struct device_event *event);
/* The free of that address before was refused by the driver. */
void devices_undo_free(struct devices *devices, const struct device_event *event);
/* A handle is mapped at the address `bytes`; 0: somebody has another reference to it. */
void devices_hold(struct devices *devices, const struct device_event *event);
void devices_unmap(struct devices *devices, const struct device_event *event);
/* A context of that space's driver has ended. */
void devices_end(struct devices *devices, const struct device_event *event);

/* Begins a window: counts, peaks and levels begin anew, and what is live stays. */
void devices_restart(struct devices *devices, uint64_t start_ticks);

struct device_site devices_site(const struct devices *devices, size_t index);

#endif
