/* A thread's own state and the way of an event into its ring: the hot path.
 *
 *   hook begins   thread_hook_enter(): is the thread recording, and in no other hook?
 *     call path   unwind_capture(): for an allocation before the real function is called
 *     record      thread_record_begin(): room, busy flag, time
 *                 the words are written
 *   hook ends     thread_record_publish(): the collector sees the record
 *
 * A signal handler can interrupt the hook at any instruction and allocate too. `hook_frame` shows
 * that a hook runs inside a hook. The inner hook reserves its own place in the ring by one addition
 * that is atomic within this thread. The outer hook publishes both records.
 *
 * A handler can leave by longjmp, and then the frame in `hook_frame` is dead. The next hook detects
 * that because it runs further up the stack and not on an alternate stack. It continues as usual,
 * and the half-written record reads as WIRE_VOID. */
#ifndef TIDEMARK_RECORDER_THREAD_H
#define TIDEMARK_RECORDER_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/ticks.h"
#include "interpose/c_library.h"
#include "interpose/real.h"
#include "unwind/arch.h" /* likely() */
#include "unwind/unwind.h"
#include "wire/wire.h"

/* In private memory that is zero in the child of a fork. ring == NULL means "not recording yet",
 * for any reason, and makes hooks call thread_begin(). */
struct thread {
    _Alignas(128) struct wire_ring *ring; /* aligned, so that states share no cache lines */
    char *data;                           /* the ring's records */
    uint64_t mask;                        /* ring_bytes - 1 */
    uint64_t cursor;                      /* bytes reserved, ever growing */
    uint64_t limit;                       /* beyond this, thread_make_room() is called */
    uintptr_t hook_frame;                 /* frame of the running hook; 0: none */
    uintptr_t pool_frame;  /* frame of the running hook of a pool's function; 0: none */
    uintptr_t pool_return; /* its return address */
    uintptr_t device_frame, device_return; /* the same of a hook of a driver's function */
    uintptr_t inside;  /* frame of a hook whose real function calls hooked ones; 0: none */
    uintptr_t mapping; /* frame of a mapping hook whose real function runs; 0: none */
    struct unwind_memory *memory;
    /* The memory for call paths of frees. They come from other places than allocations, so with one
     * memory for both, the stack would never be as at the last capture. */
    struct unwind_memory *free_memory;
    uintptr_t deepest; /* stack pointer of the deepest event on the thread's own stack */
    uint64_t spent;    /* if calls are timed: ticks of the last real call */

    struct script_thread *script; /* caches of script_paths.c; NULL: no interpreter has run in this
                                   * thread */
    struct script_thread *used_script; /* those of the ring's last thread; NULL: it had none */
    uint32_t script_session;           /* the session of both, as script_paths.c counts */
    struct shadow *shadow;             /* its shadow stack, if function hooks run (instrument.h) */

    /* for samples */
    uint64_t until_sample; /* bytes; an allocation of at least so many is sampled */
    uint64_t random;       /* state of draw_random() */
    uintptr_t newest;      /* the block of the last sample … */
    uint64_t newest_until; /* … and until_sample then: if it is unchanged, nothing was allocated
                            * since */
    /* for adaptive samples (wire.h): the level of the sample being recorded, and that of
     * until_sample */
    uint8_t level, drawn_level;
    uint32_t cost_turn; /* counts calls, of which one in so many is timed */
    /* The id of the thread whose thread_current points here, if it still lives; 0: free. Outlives
     * the session. */
    _Atomic uint32_t owner;
    uint64_t cost_ticks; /* about what recording has cost */
};

extern __thread struct thread *thread_current;

/* Does the real malloc call functions that we hook? (glibc's does not.) Set once, when a session
 * begins. */
extern bool thread_real_nests;
/* Are calls timed? And is there more to do around a real call, for one of these two reasons? Set
 * once by session_begin(). */
extern bool thread_timed, thread_real_watched;
/* True if neither holds, a block's header tells its size (usable.h), and frees have no paths: the
 * hooks of malloc's family test only this. The second one: the same, but large blocks are noted
 * (last_writes.h). */
extern bool thread_plain, thread_plain_but_large;
/* True if calls are not timed, frees have no paths and no pools are followed: of the hooks of an
 * interpreter's allocators all that is rare but samples. */
extern bool thread_plain_inside;
void thread_see_plain(void);

/* unwind_capture(), or a function in front of it (unwind_check.h, script_paths.h, instrument.h). It
 * is a pointer and not a flag, because that costs the hot path no instruction. */
extern uint32_t (*thread_capture)(struct unwind_memory *memory, const struct unwind_start *start);

/* Mean bytes from one sampled allocation to the next; 0: every one is recorded; WIRE_SAMPLE_ADAPTS.
 * Set once by session_begin(). */
extern uint64_t thread_sample_bytes;

/* Draws when this thread's next sample comes. */
void thread_draw(struct thread *thread);

/* Is an allocation of `size` bytes not sampled? If this is false, thread_samples() decides. */
static inline __attribute__((always_inline)) bool thread_passes(struct thread *thread, size_t size)
{
    uint64_t until = thread->until_sample;
    if (unlikely(until <= size))
        return false;
    thread->until_sample = until - size - 1;
    return true;
}

/* The program has paused the recording of new blocks (pause.h). */
extern bool thread_paused;

/* Is the allocation recorded? To be called once, before the real call, if not all allocations are
 * recorded. */
static inline bool thread_samples(struct thread *thread, size_t size)
{
    if (unlikely(!thread_sample_bytes)) /* paused, or it was until just now */
        return !__atomic_load_n(&thread_paused, __ATOMIC_RELAXED);
    if (thread_passes(thread, size))
        return false;
    thread_draw(thread);
    return !__atomic_load_n(&thread_paused, __ATOMIC_RELAXED);
}

/* The alignment for the record of a sampled allocation, with its level. A handler that allocates
 * between the draw and the record may make it a later level, only in the call in which the level
 * changes. */
static inline unsigned thread_aligned(const struct thread *thread, unsigned align_log2)
{
    return thread_sample_bytes == WIRE_SAMPLE_ADAPTS ? wire_level_align(align_log2, thread->level)
                                                     : align_log2;
}

/* Begins recording in this thread, and in the process if it is the first. NULL: not recording, for
 * good, or because this thread is in this function already. Keeps errno. */
struct thread *thread_begin(void);

/* Makes room for a record. False: the event is lost, and was counted. Keeps errno. */
bool thread_make_room(struct thread *thread, unsigned bytes);
/* Counts an event that is lost for another reason. */
void thread_count_lost(struct thread *thread);
/* Publishes records that signal handlers wrote while this hook ended. */
void thread_publish_again(struct thread *thread);
/* The same for a hook that got no room; drops the ring if the session is over. */
void thread_end_without_record(struct thread *thread);

static inline bool thread_frame_is_nested(uintptr_t outer, uintptr_t frame)
{
    return outer != 0 && frame < outer;
}

/* Whether the real function, under way at thread->inside, makes the call of the hook at `frame`. A
 * signal handler that interrupts the real function makes calls of its own, which come from other
 * code. */
static inline __attribute__((always_inline)) bool thread_is_in_real(const struct thread *thread,
                                                                    uintptr_t frame)
{
    return thread_frame_is_nested(thread->inside, frame) &&
           real_is_allocator(((uintptr_t *)frame)[1]);
}

/* The state of the calling thread if this call is to be recorded; else NULL. Calls that the real
 * function makes are not recorded. */
static inline __attribute__((always_inline)) struct thread *thread_hook_enter(uintptr_t frame)
{
    struct thread *thread = thread_current;
    if (unlikely(!thread || !thread->ring)) {
        thread = thread_begin();
        if (!thread)
            return NULL;
    }
    if (thread_is_in_real(thread, frame))
        return NULL;
    return thread;
}

/* Does the hook at `frame` interrupt the one at `outer`, which has a lower address? Either the
 * outer one is dead, or this one is a signal handler's, on an alternate stack at higher addresses.
 * Asks the kernel. */
bool thread_interrupts_from_above(uintptr_t outer, uintptr_t frame);

static inline __attribute__((always_inline)) bool thread_hook_is_nested(uintptr_t outer,
                                                                        uintptr_t frame)
{
    return unlikely(outer) && (frame < outer || thread_interrupts_from_above(outer, frame));
}

/* A hook's state while it records. */
struct recording {
    struct thread *thread;
    bool nested;
};

static inline __attribute__((always_inline)) struct recording
thread_recording_begin(struct thread *thread, uintptr_t frame)
{
    struct recording recording = {thread, thread_hook_is_nested(thread->hook_frame, frame)};
    if (likely(!recording.nested))
        *(volatile uintptr_t *)&thread->hook_frame = frame;
    return recording;
}

static inline __attribute__((always_inline)) uint32_t
thread_recording_path(const struct recording *recording, struct unwind_memory *memory,
                      const struct unwind_start *start)
{
    return thread_capture(likely(!recording->nested) ? memory : NULL, start);
}

/* One instruction, so that a signal handler either sees it done or not begun. */
static inline __attribute__((always_inline)) void thread_cursor_advance(struct thread *thread,
                                                                        unsigned bytes)
{
#if defined(__x86_64__)
    __asm__ volatile("addq %1, %0" : "+m"(thread->cursor) : "er"((uint64_t)bytes) : "memory", "cc");
#else
    __atomic_fetch_add(&thread->cursor, bytes, __ATOMIC_RELAXED);
#endif
}

/* To be called for an event deeper in the stack than any before, or on another stack: notes the
 * depth if sp is on the thread's own stack. */
void thread_deeper(struct thread *thread, uintptr_t sp, uint32_t node);

/* The same if it is known that `bytes` of the thread's own stack are in use at `sp`. */
void thread_stack_is(struct thread *thread, uintptr_t sp, uint64_t bytes, uint32_t node);
/* Enclose code that uses the session's memory and is no event (an event is shown by hook_frame):
 * between them the session cannot be renewed (session.h). */
void thread_use_begin(void);
void thread_use_end(void);
/* In the child of a fork, in thread_begin(): forgets the uses of the parent's other threads. */
void thread_use_forget(void);
/* Takes the rings from all threads, which then take new ones. Every other thread of the process has
 * to be stopped, outside of our code. False, and nothing has changed: a thread is recording an
 * event, or is between the two functions above. */
bool thread_renew(void);
/* While `hold` is set, hooked calls of this thread are passed on unrecorded. */
void thread_hold(bool hold);
/* Takes this thread's state from it, and holds it; the second function gives it back, and the third
 * lets the thread begin as a new one does. NULL, and nothing has changed: it is held already. */
struct thread *thread_suspend(void);
void thread_resume(struct thread *thread);
void thread_begins_anew(void);
/* The same for ever, and each call is counted as lost. Makes no system call and reads no clock. */
void thread_stop_recording(void);

/* Calls `visit` for all states with a ring, also those of ended threads. */
void thread_each(void (*visit)(struct thread *thread, void *context), void *context);

/* Reserves a record and reads the time. The record is void until its first word is written, because
 * the collector clears what it has read. Until thread_record_publish() the collector's merge waits
 * for this thread, so there may be no calls between. NULL: the event is lost. */
static inline __attribute__((always_inline)) struct wire_record *
thread_record_begin(const struct recording *recording, unsigned bytes, uint64_t *ticks)
{
    struct thread *thread = recording->thread;
    for (;;) {
        uint64_t at = *(volatile uint64_t *)&thread->cursor;
        if (unlikely(at + bytes > thread->limit)) {
            if (!thread_make_room(thread, bytes))
                return NULL;
            at = *(volatile uint64_t *)&thread->cursor;
        }
        atomic_store_explicit(&thread->ring->busy, 1, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst);
        thread_cursor_advance(thread, bytes);
        *ticks = likely(c_library_is_single_threaded()) ? ticks_unfenced() : ticks_now();
        atomic_signal_fence(memory_order_seq_cst);
        /* If a signal handler has recorded between these steps, its earlier times would stand
         * behind ours. Then the reserved place stays void, and another one is reserved behind the
         * handler's. */
        if (likely(*(volatile uint64_t *)&thread->cursor == at + bytes)) {
            struct wire_record *record = (struct wire_record *)(thread->data + (at & thread->mask));
            record->ticks = *ticks;
            return record;
        }
    }
}

static inline __attribute__((always_inline)) void
thread_record_publish(const struct recording *recording, uint64_t ticks)
{
    struct thread *thread = recording->thread;
    if (unlikely(recording->nested))
        return; /* the interrupted hook publishes, and clears busy */
    struct wire_ring *ring = thread->ring;
    uint64_t cursor = *(volatile uint64_t *)&thread->cursor;
    atomic_store_explicit(&ring->head, cursor, memory_order_release);
    atomic_store_explicit(&ring->last_ticks, ticks, memory_order_release);
    *(volatile uintptr_t *)&thread->hook_frame = 0;
    atomic_signal_fence(memory_order_seq_cst);
    if (unlikely(*(volatile uint64_t *)&thread->cursor != cursor))
        thread_publish_again(thread);
    else
        atomic_store_explicit(&ring->busy, 0, memory_order_release);
}

/* Ends a recording without a record, after thread_record_begin() returned NULL. */
static inline void thread_recording_abandon(const struct recording *recording)
{
    if (!recording->nested)
        thread_end_without_record(recording->thread);
}

static inline void thread_record_word0(struct wire_record *record, unsigned kind, uintptr_t address)
{
    atomic_signal_fence(memory_order_seq_cst);
    *(volatile uint64_t *)&record->kind_address =
        (uint64_t)kind << 56 | ((uint64_t)address & WIRE_ADDRESS_MASK);
}

/* ---- Whole events ---- */

static inline __attribute__((always_inline)) void
thread_record_short(struct thread *thread, uintptr_t frame, unsigned kind, uintptr_t address)
{
    struct recording recording = thread_recording_begin(thread, frame);
    uint64_t ticks;
    struct wire_record *record = thread_record_begin(&recording, 16, &ticks);
    if (unlikely(!record)) {
        thread_recording_abandon(&recording);
        return;
    }
    thread_record_word0(record, kind, address);
    thread_record_publish(&recording, ticks);
}

/* Captures the call path of an event before the real function runs; the event is recorded
 * afterwards. If the capture misses caches, the processor executes the real function meanwhile, but
 * reading the time for a record would wait. */
static inline __attribute__((always_inline)) uint32_t
thread_path_before(struct thread *thread, uintptr_t frame, const struct unwind_start *start)
{
    struct recording recording = thread_recording_begin(thread, frame);
    uint64_t cursor = *(volatile uint64_t *)&thread->cursor;
    uint32_t node = thread_recording_path(&recording, thread->memory, start);
    if (unlikely(start->sp < thread->deepest))
        thread_deeper(thread, start->sp, node);
    if (unlikely(recording.nested))
        return node;
    *(volatile uintptr_t *)&thread->hook_frame = 0;
    atomic_signal_fence(memory_order_seq_cst);
    /* If signal handlers have recorded, they left publishing to this hook. It is done now, because
     * the real function may take long. */
    if (unlikely(*(volatile uint64_t *)&thread->cursor != cursor))
        thread_end_without_record(thread);
    return node;
}

/* Records an event whose call path is known. */
static inline __attribute__((always_inline)) void
thread_record_known(const struct recording *recording, uint32_t node, unsigned kind,
                    uintptr_t address, uint64_t size_bytes, uint64_t slack_bytes,
                    unsigned align_log2)
{
    uint64_t ticks;
    struct wire_record *record = thread_record_begin(recording, 32, &ticks);
    if (unlikely(!record)) {
        thread_recording_abandon(recording);
        return;
    }
    record->size_bytes = size_bytes & WIRE_ADDRESS_MASK;
    record->detail = wire_detail(node, slack_bytes, align_log2);
    thread_record_word0(record, kind, address);
    thread_record_publish(recording, ticks);
}

static inline __attribute__((always_inline)) void
thread_record_long_at(struct thread *thread, uintptr_t frame, uint32_t node, unsigned kind,
                      uintptr_t address, uint64_t size_bytes, uint64_t slack_bytes,
                      unsigned align_log2)
{
    struct recording recording = thread_recording_begin(thread, frame);
    thread_record_known(&recording, node, kind, address, size_bytes, slack_bytes, align_log2);
}

/* Records an event with its call path, which is captured with the given memory. */
static inline __attribute__((always_inline)) void
thread_record_remembering(struct thread *thread, uintptr_t frame, struct unwind_memory *memory,
                          const struct unwind_start *start, unsigned kind, uintptr_t address,
                          uint64_t size_bytes, uint64_t slack_bytes, unsigned align_log2)
{
    struct recording recording = thread_recording_begin(thread, frame);
    uint32_t node = thread_recording_path(&recording, memory, start);
    if (unlikely(start->sp < thread->deepest))
        thread_deeper(thread, start->sp, node);
    thread_record_known(&recording, node, kind, address, size_bytes, slack_bytes, align_log2);
}

static inline __attribute__((always_inline)) void
thread_record_long(struct thread *thread, uintptr_t frame, const struct unwind_start *start,
                   unsigned kind, uintptr_t address, uint64_t size_bytes, uint64_t slack_bytes,
                   unsigned align_log2)
{
    thread_record_remembering(thread, frame, thread->memory, start, kind, address, size_bytes,
                              slack_bytes, align_log2);
}

#endif
