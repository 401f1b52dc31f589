/* The layout of the counters: in the program's own memory, and under `tidemark count` in a file
 * that each process leaves, however it ends. The preloaded library writes it. The command reads it,
 * and checks every number.
 *
 *   state │ header │ level │ slots[0] slots[1] … slots[COUNT_SLOTS - 1] │
 *
 * A slot belongs to one thread, later to another: its figures add up over its owners. Figures of
 * the process are sums over slots, and
 *
 *   level.current + Σ slots.pending_bytes − Σ slots.reserve_bytes = bytes requested and not freed
 *                                                                 = current, exactly.
 *
 * The peak is the maximum of level.current. While a process has one thread, and as long as no slot
 * has a step, that is the maximum of current. A thread that moves its pending bytes to the level
 * often gets a *step*: as long as the absolute value of its pending bytes is within the step, they
 * stay in the slot, so that threads do not fight for the level's cache line at each call. After a
 * move to the level, the slot may keep up to a step of pending bytes too, of either sign. Hence
 *
 *   peak - peak_error_bytes ≤ maximum of current ≤ peak + peak_error_bytes,
 *   peak_error_bytes = Σ slots.step_bytes ≤ peak / 2048 + slots × COUNT_STEP_LEAST,
 *
 * and a step grows only while a thread's calls go on to exceed it (count_drain). Bytes of a slot's
 * reserve are in the level though no block has them (reserves.c). With them the level is never
 * above the peak, so they cannot hide a new peak, and they are taken back before the peak is
 * raised. */
#ifndef TIDEMARK_COUNTERS_COUNTER_STATE_H
#define TIDEMARK_COUNTERS_COUNTER_STATE_H

#include <stdbool.h>
#include <stdint.h>

#define COUNT_DIRECTORY_VARIABLE "TIDEMARK_COUNT_DIRECTORY" /* directory of the files DIR/PID-N */
#define COUNT_OUTPUT_VARIABLE    "TIDEMARK_COUNT_OUTPUT"    /* the line is appended to this file */
#define COUNT_PEAK_VARIABLE      "TIDEMARK_COUNT_PEAK"      /* "exact": step 0 */

#define COUNT_MAGIC 0x32544e4f434d4454ull /* "TDMCONT2" */

enum {
    COUNT_SLOTS = 65533,     /* threads at one time; calls of further threads are lost, and counted
                              * as lost */
    COUNT_STEP_SHIFT = 11,   /* the slots' steps share 1/2048 of the peak */
    COUNT_STEP_LEAST = 2048, /* bytes that a step may have even if the peak is low */
    COUNT_STEP_DRAINS = 16,  /* a step grows at every 16th move to the level */
    COUNT_NAME_BYTES = 64,
};

enum count_kind {
    COUNT_MALLOC, /* malloc, realloc(NULL, n), operator new */
    COUNT_CALLOC,
    COUNT_REALLOC, /* realloc and reallocarray of a block */
    COUNT_ALIGNED, /* with an alignment: rows of functions.def with ALIGNED */
    COUNT_FREE,    /* of blocks; free(NULL) is not counted */
    COUNT_FAILED,  /* of all allocations: NULL or an error was returned */
    COUNT_KINDS
};

/* A pair of cache lines, so that threads share none. Only its owner and signal handlers that
 * interrupt the owner write it, but for reserve_bytes. */
struct count_slot {
    int32_t thread;     /* the owner's id, alive or not; 0: never used */
    int8_t last_moved;  /* the sign of the last pending bytes that went to the level: 1, -1; 0:
                         * none */
    uint8_t most_shift; /* a reserve has less than 1 << most_shift bytes; 0: there is none */
    uint64_t calls[COUNT_KINDS];
    uint64_t requested_bytes; /* by all allocations, ever */
    int64_t pending_bytes;    /* part of current that is not in the level yet */
    const void *last;         /* the block that was counted last; only for the process itself */
    uint64_t adopted_count;   /* reallocs of unknown blocks, which count as allocations */
    /* The parts of requested_bytes and of allocations that earlier owners have counted. */
    uint64_t before_bytes, before_count;
    int64_t step_bytes; /* pending_bytes up to this stay in the slot */
    /* In the level, but of no block. Other threads may take it back, so all changes are atomic. */
    int64_t reserve_bytes;
    /* How often pending_bytes began and ended to move to the level. Between, the bytes are in
     * neither. */
    uint32_t drains_begun, drains_done;
};

enum count_reserving { RESERVING_OFF, RESERVING_ON, RESERVING_ENDS };

struct count_state {
    uint64_t magic; /* written last */
    uint64_t bytes; /* of the state */
    int32_t pid, parent;
    uint32_t serial; /* number of programs that this process was before, by exec */
    uint32_t forked; /* 1: the process began with a fork */
    char program[COUNT_NAME_BYTES];
    uint64_t lost;       /* calls that could not be counted */
    uint32_t threads;    /* that have called a counted function */
    uint32_t slots_used; /* slots[0 … slots_used - 1] */
    char to_line[16];

    /* a cache line that all threads share; the next one is left free, as processors fetch pairs */
    int64_t current_bytes;
    int64_t peak_bytes;
    int64_t peak_error_bytes;   /* 0: exact, and current_bytes is current */
    int64_t at_start_bytes;     /* of current: from the parent, at the fork */
    int64_t at_start_count;     /* blocks of these */
    int64_t earlier_peak_bytes; /* the highest peak before the program reset it (provide.c) */
    int64_t moving_bytes;       /* at most so many bytes are moving between level and reserves */
    int64_t peak_most_bytes;    /* the peak may be as high as this, because it was raised while
                                 * bytes moved */
    char in_front[COUNT_NAME_BYTES]; /* the module whose malloc the program calls; "": ours */

    /* a pair that is mostly read */
    uint64_t handed_on;     /* the module in front has called ours */
    uint32_t reserving;     /* enum count_reserving */
    uint32_t reserves_used; /* 1: there were reserves, so the level was not always current */
    int32_t reserves_wait;  /* changes of the level until reserves are tried again */
    uint32_t becomes;       /* 1: the process is executing another program */
    uint32_t reserved[26];

    struct count_slot slots[COUNT_SLOTS];
};

_Static_assert(sizeof(struct count_slot) == 128, "two cache lines");
_Static_assert(__builtin_offsetof(struct count_state, current_bytes) % 128 == 0,
               "a pair of lines of its own");
_Static_assert(__builtin_offsetof(struct count_state, slots) % 128 == 0, "slots begin on a pair");
/* counted_process.c replaces the state's pages by a mapping, so no other variable may be in the
 * last page */
_Static_assert(sizeof(struct count_state) % 65536 == 0, "whole pages, of any size");

/* The sums over slots. */
struct count_figures {
    uint64_t calls[COUNT_KINDS];
    uint64_t requested_bytes;
    int64_t current_bytes, peak_bytes, peak_error_bytes, at_start_bytes;
    int64_t live_count; /* blocks */
    uint64_t threads, lost;
};

/* The sum of all allocations and reallocations. */
uint64_t count_allocations(const uint64_t calls[COUNT_KINDS]);

/* Is another malloc in front of ours, and has it never called ours? Then the figures are not the
 * program's. */
bool count_nothing_came(const struct count_state *state);

/* Sums of a state that may change meanwhile. The peak is that of the whole run. False: bytes were
 * moving from a slot to the level, and current may lack them. */
bool count_figures_of(struct count_figures *figures, const struct count_state *state);

#endif
