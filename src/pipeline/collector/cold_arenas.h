/* Arenas of a replay that rest, packed. The ranks of a node have their tables in one collector, and
 * most ranks change few of them most of the time. What a rank's thread has not used for a while is
 * packed (zstd, a sixth of it is left) and comes back by itself when it is touched.
 *
 *   arena   │ 64 KiB │ 64 KiB │ 64 KiB │ 64 KiB │ …      pieces
 *             in use   packed   packed   in use
 *                      no access: a touch is a fault, whose handler unpacks
 *
 * Invariant: at any moment any thread reads of a piece what was written to it last. A piece is
 * taken away and comes back by one change of the mapping, and nobody can write to it while it is
 * packed. The kernel does not unpack: an arena must not be passed to a system call.
 *
 * The arenas of a thread are those that grow (blocks/arena.h) between cold_arenas_begin() and
 * cold_arenas_end(). Arenas of 4 MiB and more have huge pages, and are not packed. */
#ifndef TIDEMARK_COLLECTOR_COLD_ARENAS_H
#define TIDEMARK_COLLECTOR_COLD_ARENAS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cold_range;

struct cold_arenas {
    pthread_mutex_t lock; /* of all that is in the ranges */
    struct cold_range *ranges;
    struct cold_arenas *next, *previous;
    size_t packed_bytes, packed_pieces; /* what packed pieces take; their number */
};

/* Sets the handler of faults. Once, before there are threads. 0 or -errno; then nothing is ever
 * packed. */
int cold_arenas_prepare(void);

/* From now on the arenas of the calling thread belong to `arenas`, which must not move. Without
 * cold_arenas_prepare() it does nothing. */
void cold_arenas_begin(struct cold_arenas *arenas);
/* By the same thread. What is left of them is unpacked. */
void cold_arenas_end(struct cold_arenas *arenas);

/* Packs some of the calling thread's pieces that have not been unpacked for half a second. A piece
 * that came back within eight seconds is given twice as long the next time. All threads together
 * take a seventeenth of the processors for it; a call that may not pack does nothing. `is_idle`: no
 * records wait. */
void cold_arenas_pack(uint64_t now_ns, bool is_idle);
/* Packs all of the calling thread's pieces now. */
void cold_arenas_pack_all(void);

#endif
