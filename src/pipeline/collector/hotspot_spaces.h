/* What the Java virtual machine HotSpot has in its memory: the generations of the Java heap, the
 * code cache, the card table, the archive of classes, as ranges of addresses with a name. All of it
 * is read from outside, through the tables by which HotSpot describes itself (hotspot_tables.h).
 *
 *   mapping   ┊                        Java heap                             ┊
 *   G1        ┊ old │ old │ humongous │ free │ free │ survivors │ eden │ eden ┊
 *   Serial    ┊     eden     │ free │ survivors │ free │    old    │   free   ┊
 *
 * Of collectors whose generations are not read (ZGC, Shenandoah) the heap is one range. What lies
 * outside of the heap's reserved range is no part of it, whatever the tables say. */
#ifndef TIDEMARK_COLLECTOR_HOTSPOT_SPACES_H
#define TIDEMARK_COLLECTOR_HOTSPOT_SPACES_H

#include <stddef.h>
#include "collector/areas.h"
#include "collector/hotspot_tables.h"

/* Sorted by address, disjoint. Names are constants: "Java heap, old". */
struct hotspot_spaces {
    struct area_label *list;
    size_t count, capacity;
};
#define HOTSPOT_SPACES_INIT ((struct hotspot_spaces){0})

/* The name of memory of the Java heap of which no more is known. */
extern const char hotspot_heap_name[];

/* 0 or -ENOMEM. No spaces where there are no tables. */
int hotspot_spaces_find(struct hotspot_spaces *spaces, const struct hotspot_memory *memory);
/* The same of process `pid`, if libjvm.so is among its mappings; else there are no spaces. */
int hotspot_spaces_look(struct hotspot_spaces *spaces, pid_t pid, const struct smaps *smaps);
void hotspot_spaces_release(struct hotspot_spaces *spaces);

#endif
