/* The parts that hook functions have in common: calling the real function, and recording around
 * it. */
#ifndef TIDEMARK_RECORDER_HOOKS_H
#define TIDEMARK_RECORDER_HOOKS_H

#include "recorder/followed.h"
#include "interpose/hooked.h"
#include "interpose/real.h"
#include "recorder/last_writes.h"
#include "recorder/pools.h"
#include "recorder/sampled.h"
#include "recorder/thread.h"
#include "recorder/usable.h"

/* Marks functions that the program calls. A capture starts at the function's frame pointer, so the
 * function may be neither inlined nor optimised into a jump. */
#define HOOK __attribute__((visibility("default"), noinline))

#define HOOK_FRAME() ((uintptr_t)__builtin_frame_address(0))

/* While the real function runs, hooked functions that it calls are not recorded: operator new calls
 * malloc, and a foreign malloc calls mmap. When operator new throws, the unwinder restores the
 * state. */
struct inside {
    struct thread *thread;
    uintptr_t before;
};

static inline struct inside hooks_inside_begin(struct thread *thread, uintptr_t frame)
{
    struct inside inside = {thread, thread->inside};
    thread->inside = frame;
    return inside;
}

/* The same for a real function that calls hooked ones as a rule. If a longjmp has left an earlier
 * one, its frame in `inside` is deeper in the stack than this one, and is dropped. */
static inline struct inside hooks_inside_begin_anew(struct thread *thread, uintptr_t frame)
{
    struct inside inside = hooks_inside_begin(thread, frame);
    if (!thread_frame_is_nested(inside.before, frame))
        inside.before = 0;
    return inside;
}

static inline void hooks_inside_end(struct inside *inside)
{
    inside->thread->inside = inside->before;
}

#define INSIDE(thread, frame)                                                                      \
    __attribute__((cleanup(hooks_inside_end))) struct inside inside_scope =                        \
        hooks_inside_begin(thread, frame)

/* ---- Times of calls ---- */

static inline uint64_t hooks_call_begins(void)
{
    return unlikely(thread_timed) && thread_current ? ticks_unfenced() : 0;
}
static inline uint64_t hooks_call_took(uint64_t since)
{
    return unlikely(thread_timed) && thread_current ? ticks_unfenced() - since : 0;
}

/* Calls a real function of the malloc family. */
#define CALL_REAL(thread, frame, call)                                                             \
    ({                                                                                             \
        __typeof__(call) result_;                                                                  \
        if (unlikely(thread_real_watched)) {                                                       \
            INSIDE(thread, frame);                                                                 \
            uint64_t since_ = hooks_call_begins();                                                 \
            result_ = call;                                                                        \
            (thread)->spent = hooks_call_took(since_);                                             \
        } else {                                                                                   \
            result_ = call;                                                                        \
        }                                                                                          \
        result_;                                                                                   \
    })

/* `inside` is set meanwhile, because tcmalloc's function allocates at its first call. */
static __attribute__((noinline, unused)) size_t hooks_usable_by_call(struct thread *thread,
                                                                     uintptr_t frame, void *block)
{
    if (!real.malloc_usable_size)
        return 0;
    size_t usable = CALL_REAL(thread, frame, real.malloc_usable_size(block));
    usable_learn(block, usable);
    return usable;
}

static inline __attribute__((always_inline)) uint64_t
hooks_slack_by(bool header, struct thread *thread, uintptr_t frame, void *block, size_t size)
{
    size_t usable = likely(header) ? usable_of_header(block) : 0;
    if (unlikely(!usable))
        usable = hooks_usable_by_call(thread, frame, block);
    return likely(usable > size) ? usable - size : 0;
}

static inline uint64_t hooks_slack_of(struct thread *thread, uintptr_t frame, void *block,
                                      size_t size)
{
    return hooks_slack_by(usable_by_header, thread, frame, block, size);
}

static inline unsigned hooks_log2_of(size_t alignment)
{
    return alignment > 1 ? (unsigned)__builtin_ctzl(alignment) : 0;
}

enum { HOOKS_PAGE = 4096 }; /* bytes of the smallest pages */

/* Records the time of the real call that was recorded just now. */
static inline __attribute__((always_inline)) void
hooks_record_spent(struct thread *thread, uintptr_t frame, uint64_t spent)
{
    if (unlikely(thread_timed))
        thread_record_short(thread, frame, WIRE_SPENT, (uintptr_t)(spent & WIRE_ADDRESS_MASK));
}

/* To be called for a new block of a page or more after its record, which may have been the last:
 * where recording has ended the thread has no ring any more. */
static __attribute__((noinline, unused)) void hooks_large_born(struct thread *thread,
                                                               const void *block)
{
    struct wire_ring *ring = thread->ring;
    if (ring)
        last_writes_born((uintptr_t)block,
                         atomic_load_explicit(&ring->last_ticks, memory_order_relaxed));
}

/* To be called for a new block after its record. */
static inline __attribute__((always_inline)) void hooks_note_large(struct thread *thread,
                                                                   const void *block, size_t usable)
{
    if (unlikely(last_writes_are_asked && usable >= HOOKS_PAGE))
        hooks_large_born(thread, block);
}

/* Records the result of an allocation, with the path that was captured before the call; NULL is a
 * failure. Returns the block's usable size. */
static inline __attribute__((always_inline)) size_t
hooks_record_returned(bool header, struct thread *thread, uintptr_t frame, uint32_t node,
                      unsigned kind, void *block, size_t size, unsigned align_log2)
{
    if (unlikely(!block)) {
        thread_record_long_at(thread, frame, node, kind | WIRE_FAILED, 0, size, 0, align_log2);
        return 0;
    }
    size_t slack = hooks_slack_by(header, thread, frame, block, size);
    thread_record_long_at(thread, frame, node, kind, (uintptr_t)block, size, slack, align_log2);
    return size + slack;
}

/* The same if thread_plain. */
static inline __attribute__((always_inline)) void
hooks_record_plain(struct thread *thread, uintptr_t frame, uint32_t node, unsigned kind,
                   void *block, size_t size, unsigned align_log2)
{
    hooks_record_returned(true, thread, frame, node, kind, block, size, align_log2);
}

/* The same if thread_plain_but_large. */
static inline __attribute__((always_inline)) void
hooks_record_but_large(struct thread *thread, uintptr_t frame, uint32_t node, unsigned kind,
                       void *block, size_t size, unsigned align_log2)
{
    size_t usable = hooks_record_returned(true, thread, frame, node, kind, block, size, align_log2);
    if (unlikely(usable >= HOOKS_PAGE))
        hooks_large_born(thread, block);
}

/* The same in all cases, with the time of the call. */
static inline __attribute__((always_inline)) void
hooks_record_allocation(struct thread *thread, uintptr_t frame, uint32_t node, unsigned kind,
                        void *block, size_t size, unsigned align_log2)
{
    uint64_t spent = thread->spent; /* before hooks_slack_by() makes a call of its own */
    size_t usable =
        hooks_record_returned(usable_by_header, thread, frame, node, kind, block, size, align_log2);
    hooks_note_large(thread, block, usable);
    if (unlikely(pools_are_followed))
        pools_memory_begins(thread, (uintptr_t)block, size);
    hooks_record_spent(thread, frame, spent);
}

extern bool hooks_free_stacks;

/* The block's written pages, for the record of its free (last_writes.h); 0: nothing is told. */
static __attribute__((noinline, unused)) uint64_t
hooks_ask_last_writes(struct thread *thread, uintptr_t frame, void *block)
{
    size_t usable = usable_by_header ? usable_of_header(block) : 0;
    return last_writes_of((uintptr_t)block,
                          usable ? usable : hooks_usable_by_call(thread, frame, block));
}

/* Records a free: as `kind` without its path, or as `kind_at` with its path and `told`. */
static inline __attribute__((always_inline)) void
hooks_record_free_as(struct thread *thread, uintptr_t frame, const struct unwind_start *start,
                     void *block, unsigned kind, unsigned kind_at, uint64_t told)
{
    if (unlikely(hooks_free_stacks))
        thread_record_remembering(thread, frame, thread->free_memory, start, kind_at,
                                  (uintptr_t)block, told, 0, 0);
    else
        thread_record_short(thread, frame, kind, (uintptr_t)block);
}

/* Records the free of a block that real.malloc or its family made. */
static inline __attribute__((always_inline)) void
hooks_record_free(struct thread *thread, uintptr_t frame, const struct unwind_start *start,
                  void *block, unsigned newest)
{
    uint64_t told = 0;
    if (unlikely(pools_are_followed))
        pools_memory_ends(thread, frame, start, (uintptr_t)block);
    if (unlikely(last_writes_are_asked && last_writes_may_know((uintptr_t)block)))
        told = hooks_ask_last_writes(thread, frame, block);
    if (unlikely(told && !hooks_free_stacks))
        thread_record_long_at(thread, frame, 0, WIRE_FREE_AT | newest, (uintptr_t)block, told, 0,
                              0);
    else
        hooks_record_free_as(thread, frame, start, block, WIRE_FREE | newest, WIRE_FREE_AT | newest,
                             told);
}

/* ---- Sampling ----
 * If allocations are sampled, there is a filter (sampled.h). If all are recorded, there is none,
 * except while the program has paused the recording (pause.h): then a filter lets nothing pass. A
 * hook branches on the filter. A call that is not sampled goes on to the real function at once.
 * Otherwise the hook jumps to one of two functions, one for each case. These are tail calls, so
 * that the frame of such a function is where the hook's would be, and its caller is the program.
 * (One function for all would save and restore all the registers that recording needs, on the quick
 * way too: 12 instructions.) */
#define HOOK_BODY static __attribute__((noinline))

/* Is there nothing to do for an allocation of `size` bytes but the real call? */
static inline __attribute__((always_inline)) bool sampled_passes(size_t size)
{
    struct thread *thread = thread_current;
    return likely(thread && !thread->inside) && thread_passes(thread, size);
}

/* NULL: everything is recorded. */
static inline __attribute__((always_inline)) const uint8_t *hooks_sampling_filter(void)
{
    return __atomic_load_n(&sampled_filter, __ATOMIC_RELAXED);
}

/* The same for the release of a block. */
static inline __attribute__((always_inline)) bool sampled_passes_free(const uint8_t *filter,
                                                                      const void *block)
{
    return likely(!sampled_maybe(filter, block));
}

/* May the real function be called without INSIDE? */
static inline __attribute__((always_inline)) bool hooks_sampling_is_direct(void)
{
    return likely(!thread_real_nests) || !thread_current;
}

/* With the set of followed.h every free comes here, and most blocks are not in the set. Is this
 * free one of those, and its real call direct? */
static inline __attribute__((always_inline)) bool sampled_leaves(const void *block)
{
    return followed_root && !followed_has((uintptr_t)block) && hooks_sampling_is_direct();
}

/* For a function that makes only the real call, which may call functions that we hook. The thread
 * has a state. */
#define INSIDE_ONLY()                                                                              \
    struct thread *thread_ = thread_current;                                                       \
    INSIDE(thread_, HOOK_FRAME())

/* Adds a sampled block to the set, before any thread can free it. True also if all blocks are
 * recorded. False: no memory; the block is counted as lost. */
bool sampled_remember(struct thread *thread, void *block);
/* Records a sampled allocation that returned `block`. */
void sampled_allocation(struct thread *thread, uintptr_t frame, const struct unwind_start *start,
                        unsigned kind, void *block, size_t size, unsigned align_log2);
/* Removes the block from the set. True: it was recorded. *newest: WIRE_NEWEST or 0. */
bool sampled_forget(struct thread *thread, void *block, unsigned *newest);
/* To be called before the real free of a block that may be sampled. */
void sampled_free(struct thread *thread, uintptr_t frame, const struct unwind_start *start,
                  void *block);
/* realloc of `old`, which is not NULL. */
void *sampled_realloc(struct thread *thread, uintptr_t frame, const struct unwind_start *start,
                      void *old, size_t size);

/* The C++ operators are looked up again at their next calls. */
void hooks_new_forget(void);

#endif
