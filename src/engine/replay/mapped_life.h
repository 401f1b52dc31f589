/* The lives of mappings: what the records of mmap, munmap, mprotect, brk and the like change. A
 * mapping is a block of a second struct sites, by the rules of metrics.def, with three differences:
 * a part of it can end, what is reserved counts as reserved_bytes alone, and none is sampled.
 *
 * Sizes are whole pages, as the kernel maps them; of the break they are bytes.
 *
 * Invariants, after each step
 *   timeline.mapped_bytes = sum of live_bytes over mapped.sites
 *                         = sum of bytes over the mappings that are neither reserved, nor chunks,
 *                           nor an allocator's
 *   a site's reserved_bytes = sum of bytes over its mappings that are reserved
 *   live_bytes + mapped_bytes <= all_peak_bytes; before the first mapping that is peak_bytes */
#ifndef TIDEMARK_REPLAY_MAPPED_LIFE_H
#define TIDEMARK_REPLAY_MAPPED_LIFE_H

#include <stdbool.h>
#include <stdint.h>
#include "accounting/mappings.h"
#include "accounting/path_curves.h"
#include "accounting/sites.h"
#include "wire/wire.h"

struct replay;

struct mapped_state {
    struct mappings mappings;
    struct sites sites;
    struct curves curves;
    uint64_t peak_bytes, peak_ticks;         /* of mapped bytes */
    uint64_t all_peak_bytes, all_peak_ticks; /* of mapped and live bytes together */
    uint64_t discard_count, discard_bytes;
    bool has_allocators; /* a mapping was ever an allocator's */
};

void mapped_init(struct mapped_state *mapped);
void mapped_release(struct mapped_state *mapped);
size_t mapped_memory_bytes(const struct mapped_state *mapped);

/* The record's time has been taken. */
void mapped_on_mmap(struct replay *replay, const struct wire_record *record);
void mapped_on_munmap(struct replay *replay, const struct wire_record *record, bool is_allocators);
void mapped_on_mprotect(struct replay *replay, const struct wire_record *record);
void mapped_on_madvise(struct replay *replay, const struct wire_record *record);
void mapped_on_break(struct replay *replay, const struct wire_record *record, bool has_grown);
/* The memory at the address is a pool's chunk: the mapping around it is not counted any more. */
void mapped_on_chunk(struct replay *replay, const struct wire_record *record);

/* Is the mapping at the address known to be an allocator's? */
bool mapped_is_allocators(const struct mapped_state *mapped, uint64_t address);

/* A window begins: forgets what has happened, and keeps the mappings. */
void mapped_restart(struct replay *replay, uint64_t start_ticks);

/* The level of blocks and mappings together has changed. */
void mapped_see_all(struct replay *replay);

#endif
