/* Call-stack capture inside the profiled program: "remember, then verify" (doc/UNWIND.md).
 *
 * Runs in malloc's callers: no malloc, no stdio, no locks that a signal handler could meet
 * (only a spin lock of our own with signals blocked, for what is rare; map_private and map_nodes
 * may be called with it held), errno untouched.
 *
 * Nodes and private memory come from the host (the recorder), so that this room can be tested
 * without one. */
#ifndef TIDEMARK_UNWIND_UNWIND_H
#define TIDEMARK_UNWIND_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "wire/wire.h"

enum unwind_mode { UNWIND_CFI = 0, UNWIND_FP = 1, UNWIND_NONE = 2 };

/* What the unwinder needs from around it. */
/* How far a frame reaches where an address is in it. */
struct unwind_frame {
    bool ends;    /* it has no caller */
    bool from_bp; /* the offset counts from the frame pointer, else from the stack pointer */
    bool bp_saved;
    int64_t cfa_offset,
        bp_offset; /* of the place where the caller's frame pointer is saved, from the CFA */
};

struct unwind_host {
    /* Zeroed memory for good, page-granular, without malloc; NULL when there is none. Contents
     * read as zero in the child of a fork (MADV_WIPEONFORK). */
    void *(*map_private)(size_t bytes);
    /* Whole pages of such memory that are not needed any more; a late reader reads zeros there. */
    void (*give_back)(void *memory, size_t bytes);
    /* Memory of nodes [index × WIRE_NODES_PER_CHUNK, …), shared with the collector; NULL: no
     * more. */
    struct wire_node *(*map_nodes)(uint32_t index);
    /* Nodes below `count` are complete: make them visible. Threads and signal handlers call it at
     * once and in any order; the highest count holds. */
    void (*publish_nodes)(uint32_t count);
    /* An address in code that was not seen before is about to become a node: tells the module log.
     * Called before the address is cached and without locks held; so two threads that meet a new
     * address at the same time may both call it, and a signal handler may call it inside a call. */
    void (*saw_code)(uintptr_t ip);
    /* Where the module begins that holds an address which saw_code was told of; 0: not known. */
    uintptr_t (*module_of)(uintptr_t ip);
    /* As map_private, but the child of a fork has it as it was. */
    void *(*map_kept)(size_t bytes);
    /* Of code without call frame information, by its instructions. False: not known. NULL: nobody
     * reads instructions. */
    bool (*frame_of_code)(uintptr_t ip, struct unwind_frame *frame);
};

/* Once per process image, before any capture; again in the child of a fork, with everything that
 * came from map_private gone: paths are numbered from 1 again. The rule cache is kept. */
void unwind_init(const struct unwind_host *host, enum unwind_mode mode, uint32_t max_depth);

/* Registers of the frame to start from: the state "just after the call returns" in the function
 * that called the hook. */
struct unwind_start {
    uintptr_t ip, sp, bp;
};

/* In a hook function itself (must be compiled with -fno-omit-frame-pointer): its caller's state. */
#if defined(__x86_64__) || defined(__aarch64__)
#define UNWIND_START_HERE()                                                                        \
    ((struct unwind_start){((uintptr_t *)__builtin_frame_address(0))[1],                           \
                           (uintptr_t)((uintptr_t *)__builtin_frame_address(0) + 2),               \
                           ((uintptr_t *)__builtin_frame_address(0))[0]})
#endif

/* A thread's memory of its last capture. Opaque; from map_private; one thread at a time. */
struct unwind_memory;
struct unwind_memory *unwind_memory_new(void); /* NULL: none to be had; capture works without */
void unwind_memory_forget(struct unwind_memory *memory); /* at reuse by another thread */

/* The node of the call path that starts at `start`. memory NULL: walk in full (nested hooks, signal
 * handlers that interrupted a capture). 0: no node could be had. */
uint32_t unwind_capture(struct unwind_memory *memory, const struct unwind_start *start);

/* The same where a path is its innermost frame (UNWIND_NONE), faster. */
uint32_t unwind_capture_caller(struct unwind_memory *memory, const struct unwind_start *start);

/* Where the stack that sp lies on begins (its highest address), if that is the thread's own; 0: it
 * is another one, or no capture has looked at it yet. */
uintptr_t unwind_own_stack(const struct unwind_memory *memory, uintptr_t sp);

/* Captures with this memory so far that could not be walked to the end. */
uint64_t unwind_failures(const struct unwind_memory *memory);

/* A caller at the moment of its call: what is below `sp` belongs to whom it called. `kept`: the
 * registers that a callee saves for it; 0 where one is not known, as all are on aarch64. */
struct unwind_caller {
    uintptr_t sp; /* 0: no such caller is known */
    uintptr_t kept[WIRE_KEPT_REGISTERS];
};

/* The first caller whose code lies neither in the module of `start` nor in that of the address
 * `inside`. Slow; takes no memory. */
struct unwind_caller unwind_caller_beyond(const struct unwind_start *start, uintptr_t inside);

/* The frames of a path, innermost first, a mark possibly last; returns how many, `max` at most. For
 * checks and tests. */
size_t unwind_path_ips(uint32_t node, uintptr_t *ips, size_t max);

/* The path without its innermost frame; 0: there was no other. */
uint32_t unwind_path_caller(uint32_t node);

/* Code in [lo, hi) has been unloaded: drops rules and remembered frames, retires the path nodes
 * that lead through it (their numbers stay valid, new captures get new numbers). */
void unwind_code_gone(uintptr_t lo, uintptr_t hi);

/* The program has registered call frame information for code of its own, as __register_frame()
 * takes it: entries up to one of length 0. Before it goes. */
void unwind_frames_added(const void *frames);
void unwind_frames_removed(const void *frames);

struct unwind_counters {
    uint64_t unwalkable; /* captures that ended in WIRE_MARK_UNWALKABLE */
    uint64_t cut;        /* captures that ended in WIRE_MARK_MAX_DEPTH */
};
struct unwind_counters unwind_counters_read(void);

#endif
