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

/* The functions of the host that the unwinder calls. */
/* The frame at an address of code. */
struct unwind_frame {
    bool ends;    /* it has no caller */
    bool from_bp; /* the offset counts from the frame pointer, else from the stack pointer */
    bool bp_saved;
    int64_t cfa_offset,
        bp_offset; /* of the place where the caller's frame pointer is saved, from the CFA */
};

struct unwind_host {
    /* Zeroed memory of whole pages, without malloc, which is never unmapped; NULL: there is none.
     * Its contents are zero in the child of a fork (MADV_WIPEONFORK). */
    void *(*map_private)(size_t bytes);
    /* Gives back whole pages of such memory; a late reader reads zeros there. */
    void (*give_back)(void *memory, size_t bytes);
    /* Memory of nodes [index × WIRE_NODES_PER_CHUNK, …), shared with the collector; NULL: no
     * more. */
    struct wire_node *(*map_nodes)(uint32_t index);
    /* Nodes below `count` are complete: make them visible. Threads and signal handlers call it at
     * once and in any order; the highest count holds. */
    void (*publish_nodes)(uint32_t count);
    /* Called when a new address of code is about to become a node, for the module log. It is called
     * before the address is cached and without locks held. So two threads may both call it for one
     * address, and a signal handler may call it inside a call. */
    void (*saw_code)(uintptr_t ip);
    /* The beginning of the module of an address that saw_code() was called with; 0: not known. */
    uintptr_t (*module_of)(uintptr_t ip);
    /* As map_private, but a fork copies the memory to the child. */
    void *(*map_kept)(size_t bytes);
    /* Finds the frame of code without call frame information by its instructions. False: not known.
     * The pointer may be NULL. */
    bool (*frame_of_code)(uintptr_t ip, struct unwind_frame *frame);
};

/* Once for each process image, before any capture. Again in the child of a fork, where memory of
 * map_private is empty: paths are numbered from 1 again, and the rule cache is kept. max_depth 0:
 * no limit. */
void unwind_init(const struct unwind_host *host, enum unwind_mode mode, uint32_t max_depth);

/* The registers of the frame to start from: the state of the function that called the hook, just
 * after that call returns. */
struct unwind_start {
    uintptr_t ip, sp, bp;
};

/* In a hook function: its caller's state. The hook must be compiled with
 * -fno-omit-frame-pointer. */
#if defined(__x86_64__) || defined(__aarch64__)
#define UNWIND_START_HERE()                                                                        \
    ((struct unwind_start){((uintptr_t *)__builtin_frame_address(0))[1],                           \
                           (uintptr_t)((uintptr_t *)__builtin_frame_address(0) + 2),               \
                           ((uintptr_t *)__builtin_frame_address(0))[0]})
#endif

/* A thread's memory of its last capture. Opaque; from map_private; one thread at a time. */
struct unwind_memory;
struct unwind_memory *unwind_memory_new(void); /* NULL: no memory; captures work without one */
void unwind_memory_forget(struct unwind_memory *memory); /* before another thread uses it */

/* The node of the call path that starts at `start`. memory NULL: the whole stack is walked (nested
 * hooks, signal handlers that interrupted a capture). 0: no memory for a node. */
uint32_t unwind_capture(struct unwind_memory *memory, const struct unwind_start *start);

/* The same for UNWIND_NONE, where a path is its innermost frame; faster. */
uint32_t unwind_capture_caller(struct unwind_memory *memory, const struct unwind_start *start);

/* The highest address of the thread's own stack, if sp is on it. 0: sp is on another stack, or no
 * capture has used the stack yet. */
uintptr_t unwind_own_stack(const struct unwind_memory *memory, uintptr_t sp);

/* How many captures with this memory could not be walked to the end. */
uint64_t unwind_failures(const struct unwind_memory *memory);

/* A caller at the moment of its call. Memory below `sp` belongs to the functions that it called.
 * `kept`: its callee-saved registers; 0: not known, as always on aarch64. */
struct unwind_caller {
    uintptr_t sp; /* 0: there is no such caller */
    uintptr_t kept[WIRE_KEPT_REGISTERS];
};

/* Who called one of the functions that begin at `exits`, exit() and quick_exit(). The C library
 * calls exit() itself in argp, errx(), error(): its frames above exit() count then. They do not
 * where main() has returned, where no function of `exits` has a frame, and on aarch64: there it is
 * the first caller whose code is neither in the module of `start` nor in that of `exits`. Slow;
 * allocates nothing. */
enum { UNWIND_EXITS = 2 };
struct unwind_caller unwind_caller_of_exit(const struct unwind_start *start,
                                           const uintptr_t exits[UNWIND_EXITS]);

/* Has a function of ours not ended yet that is further out than `start`, beyond other code? With
 * `by_signal` only if a signal has interrupted it, or what it calls. Makes no node. */
enum unwind_answer { UNWIND_NO, UNWIND_YES, UNWIND_NOT_KNOWN };
enum unwind_answer unwind_is_inside(const struct unwind_start *start, bool by_signal);

/* Copies the frames of a path, innermost first, with a mark last if it has one. Returns how many,
 * at most `max`. For checks and tests. */
size_t unwind_path_ips(uint32_t node, uintptr_t *ips, size_t max);

/* The path without its innermost frame; 0: it had no other. */
uint32_t unwind_path_caller(uint32_t node);

/* To be called when code in [lo, hi) was unloaded. Drops its rules and remembered frames, and
 * retires the nodes of paths through it: their numbers stay valid, but new captures get new
 * numbers. */
void unwind_code_gone(uintptr_t lo, uintptr_t hi);

/* The program has registered call frame information for code of its own, in the form of
 * __register_frame(): entries up to one of length 0. unwind_frames_removed() has to be called
 * before that memory is freed. */
void unwind_frames_added(const void *frames);
void unwind_frames_removed(const void *frames);

struct unwind_counters {
    uint64_t unwalkable; /* captures that ended in WIRE_MARK_UNWALKABLE */
    uint64_t cut;        /* captures that ended in WIRE_MARK_MAX_DEPTH */
};
struct unwind_counters unwind_counters_read(void);

#endif
