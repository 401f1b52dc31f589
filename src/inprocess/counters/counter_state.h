/* What is counted, as it lies in memory: of the program's own process, and under `tidemark count`
 * of a file that all of its processes leave, however they end. Written by the preloaded library,
 * read by the command, which believes nothing in it.
 *
 *   state │ header │ level │ slots[0] slots[1] … slots[COUNT_SLOTS - 1] │
 *
 * A slot is one thread's, then another's: its figures add up over its owners. Figures of the
 * process are sums over slots, and
 *
 *   level.current + Σ slots.pending_bytes − Σ slots.reserve_bytes = bytes requested and not freed
 *                                                                 = current, exactly.
 *
 * The peak is the maximum of level.current. While a process has one thread, and as long as no slot
 * has a step, that is the maximum of current. A thread that has moved its pending bytes to the
 * level often gets a step: fewer bytes than that, or more than minus that, it keeps to itself, so
 * that threads do not fight for the level's cache line at each call; what it keeps when it has to
 * go there is up to the step too, of either sign. Hence
 *
 *   peak - peak_error_bytes ≤ maximum of current ≤ peak + peak_error_bytes,
 *   peak_error_bytes = Σ slots.step_bytes ≤ peak / 2048 + slots × COUNT_STEP_LEAST,
 *
 * and a step grows only as a thread's calls go on to need it (count_drain). Bytes of a slot's
 * reserve are in the level though nobody has them (reserves.c): the level with them is never above
 * the peak, so that they cannot hide one, and they are taken back before the peak is raised. */
#ifndef TIDEMARK_COUNTERS_COUNTER_STATE_H
#define TIDEMARK_COUNTERS_COUNTER_STATE_H

#include <stdbool.h>
#include <stdint.h>

#define COUNT_DIRECTORY_VARIABLE "TIDEMARK_COUNT_DIRECTORY" /* where the files go: DIR/PID-N */
#define COUNT_OUTPUT_VARIABLE    "TIDEMARK_COUNT_OUTPUT"    /* the line is added to this file */
#define COUNT_PEAK_VARIABLE      "TIDEMARK_COUNT_PEAK"      /* "exact": step 0 */

#define COUNT_MAGIC 0x32544e4f434d4454ull /* "TDMCONT2" */

enum {
    COUNT_SLOTS = 65533,     /* threads at a time; of those beyond, calls are lost and counted */
    COUNT_STEP_SHIFT = 11,   /* of the peak a 2048th is shared among the slots' steps */
    COUNT_STEP_LEAST = 2048, /* bytes that a step may have however low the peak is */
    COUNT_STEP_DRAINS = 16,  /* a step grows once for so many times that it was too small */
    COUNT_NAME_BYTES = 64,
};

enum count_kind {
    COUNT_MALLOC, /* malloc, realloc(NULL, n), operator new */
    COUNT_CALLOC,
    COUNT_REALLOC, /* realloc and reallocarray of a block */
    COUNT_ALIGNED, /* with an alignment: rows of functions.def that say ALIGNED */
    COUNT_FREE,    /* of blocks; free(NULL) is nothing */
    COUNT_FAILED,  /* of all of these: answered with NULL or an error */
    COUNT_KINDS
};

/* A pair of cache lines, so that threads do not meet. Its owner writes it, and the signal handlers
 * that interrupt it. */
struct count_slot {
    int32_t thread;     /* the owner's, alive or gone; 0: never used */
    int8_t last_moved;  /* which way its pending bytes went to the level: 1, -1; 0: never */
    uint8_t most_shift; /* a reserve has less than 1 << most_shift bytes; 0: none */
    uint64_t calls[COUNT_KINDS];
    uint64_t requested_bytes; /* by all allocations, ever */
    int64_t pending_bytes;    /* of current: not in the level yet */
    const void *last;         /* the block that was counted last; of no meaning elsewhere */
    uint64_t adopted_count;   /* reallocs of blocks that were never seen: births all the same */
    /* What previous owners have counted here, of requested_bytes and of allocations. */
    uint64_t before_bytes, before_count;
    int64_t step_bytes; /* of pending_bytes: kept back below this */
    /* In the level, but nobody's. Others take it back: all changes are atomic. */
    int64_t reserve_bytes;
    /* Times that pending_bytes went to the level: in between the bytes are in neither. */
    uint32_t drains_begun, drains_done;
};

enum count_reserving { RESERVING_OFF, RESERVING_ON, RESERVING_ENDS };

struct count_state {
    uint64_t magic; /* written last */
    uint64_t bytes; /* of the state */
    int32_t pid, parent;
    uint32_t serial; /* of the images that this process has been, by exec */
    uint32_t forked; /* counts from a fork on */
    char program[COUNT_NAME_BYTES];
    uint64_t lost;       /* calls that could not be counted */
    uint32_t threads;    /* that have called any of it */
    uint32_t slots_used; /* slots[0 … slots_used - 1] */
    char to_line[16];

    /* a cache line that all threads share; the next one is left free, as processors fetch pairs */
    int64_t current_bytes;
    int64_t peak_bytes;
    int64_t peak_error_bytes;   /* 0: exact, and current_bytes is current */
    int64_t at_start_bytes;     /* of current: inherited at the fork */
    int64_t at_start_count;     /* blocks of these */
    int64_t earlier_peak_bytes; /* the most of peaks that the program has reset (provide.c) */
    int64_t moving_bytes;       /* at most so many are on their way between level and reserves */
    int64_t peak_most_bytes;    /* the peak may be that high: it was raised meanwhile */
    char in_front[COUNT_NAME_BYTES]; /* the module whose malloc the program calls; "": ours */

    /* a pair that is mostly read */
    uint64_t handed_on;     /* the module in front has called ours */
    uint32_t reserving;     /* enum count_reserving */
    uint32_t reserves_used; /* ever: the level has not been current at any time */
    int32_t reserves_wait;  /* visits of the level until reserves are tried again */
    uint32_t becomes;       /* another program, by an exec that has not failed (yet) */
    uint32_t reserved[26];

    struct count_slot slots[COUNT_SLOTS];
};

_Static_assert(sizeof(struct count_slot) == 128, "two cache lines");
_Static_assert(__builtin_offsetof(struct count_state, current_bytes) % 128 == 0,
               "a pair of lines of its own");
_Static_assert(__builtin_offsetof(struct count_state, slots) % 128 == 0, "slots begin on a pair");
/* Another mapping takes its place (counted_process.c): what would lie behind it in its last page,
 * too. */
_Static_assert(sizeof(struct count_state) % 65536 == 0, "whole pages, of any size");

/* The sums over slots. */
struct count_figures {
    uint64_t calls[COUNT_KINDS];
    uint64_t requested_bytes;
    int64_t current_bytes, peak_bytes, peak_error_bytes, at_start_bytes;
    int64_t live_count; /* blocks */
    uint64_t threads, lost;
};

/* Allocations and reallocations of a slot, over all of its owners. */
uint64_t count_allocations(const uint64_t calls[COUNT_KINDS]);

/* Another malloc is in front and calls none of ours: the figures say nothing of the program. */
bool count_nothing_came(const struct count_state *state);

/* Of a state that may be changing meanwhile. The peak is that of the whole run. False: bytes have
 * been on their way from a slot to the level, current may lack them. */
bool count_figures_of(struct count_figures *figures, const struct count_state *state);

#endif
