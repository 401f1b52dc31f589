/* Threads of the profiled program: their rings, and what happens when a ring is full. Runs inside
 * the program: no malloc, no stdio, errno kept. */
#include "recorder/inherited.h"
#include "recorder/thread.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/hash.h"
#include "base/probe.h"
#include "recorder/draw.h"
#include "recorder/forked.h"
#include "recorder/instrument.h"
#include "recorder/patch.h"
#include "recorder/session.h"
#include "recorder/shared.h"
#include "unwind/signal_lock.h"

__thread struct thread *thread_current;
bool thread_real_nests;
bool thread_timed, thread_real_watched;
uint64_t thread_sample_bytes;
bool thread_paused;
uint32_t (*thread_capture)(struct unwind_memory *, const struct unwind_start *) = unwind_capture;

/* Set while this thread is in thread_begin(), whose calls must not be recorded. */
static __thread bool thread_beginning, thread_has_stopped;
/* So many events more do not ask for a ring, because there was none when the thread asked last, and
 * asking takes system calls. */
static __thread uint32_t thread_unasked;
#define REFUSED_EVENTS 63

static _Atomic uint64_t thread_key; /* the key of pthread_setspecific() plus 1; 0: not made yet */

/* Bytes beyond `limit` that stay free for records of signal handlers that interrupt a hook between
 * its test of `limit` and its reservation. */
enum { RESERVE_BYTES = 4096 };

static void thread_record(struct thread *thread, enum wire_kind kind)
{
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    uint32_t tid = atomic_load_explicit(&thread->ring->tid, memory_order_relaxed);
    thread_record_short(thread, frame, kind, tid);
}

/* Without this test a handler on an alternate stack would be taken for a hook after a dead one. It
 * would then publish the record that it interrupted, which is still void, and the collector would
 * skip that. */
bool __attribute__((noinline)) thread_interrupts_from_above(uintptr_t outer, uintptr_t frame)
{
    stack_t now = {0};
    int saved_errno = errno;
    if (permitted_calls_is_forbidden(CALL_ALTSTACK))
        return false;
    long status = syscall(SYS_sigaltstack, NULL, &now);
    errno = saved_errno;
    uintptr_t lo = (uintptr_t)now.ss_sp;
    return status == 0 && now.ss_flags & SS_ONSTACK && frame - lo < now.ss_size &&
           outer - lo >= now.ss_size;
}

/* ---- The stack ---- */

void thread_deeper(struct thread *thread, uintptr_t sp, uint32_t node)
{
    uintptr_t base = thread->memory ? unwind_own_stack(thread->memory, sp) : 0;
    if (!base)
        base = instrument_own_stack(sp);
    if (base)
        thread_stack_is(thread, sp, base - sp, node);
    /* else sp is on another stack, or the thread's own is not known */
}

void thread_stack_is(struct thread *thread, uintptr_t sp, uint64_t bytes, uint32_t node)
{
    thread->deepest = sp;
    atomic_store_explicit(&thread->ring->deepest_bytes, bytes, memory_order_relaxed);
    atomic_store_explicit(&thread->ring->deepest_node, node, memory_order_relaxed);
}

/* Records the deepest extent, which the collector otherwise reads in the ring, because another
 * thread may take the ring. */
static void thread_record_stack(struct thread *thread)
{
    uint64_t deepest = atomic_load_explicit(&thread->ring->deepest_bytes, memory_order_relaxed);
    struct recording recording =
        thread_recording_begin(thread, (uintptr_t)__builtin_frame_address(0));
    uint64_t ticks;
    struct wire_record *record = deepest ? thread_record_begin(&recording, 32, &ticks) : NULL;
    if (!record) {
        thread_recording_abandon(&recording);
        return;
    }
    record->size_bytes = 0; /* how many of its pages were touched only the kernel could say */
    record->detail =
        wire_detail(atomic_load_explicit(&thread->ring->deepest_node, memory_order_relaxed), 0, 0);
    thread_record_word0(record, WIRE_STACK, deepest);
    thread_record_publish(&recording, ticks);
}

/* TLS destructor. Other destructors may run after it, and free blocks; the ring stays this thread's
 * until the kernel has no such thread any more. */
static void thread_end(void *value)
{
    struct thread *thread = value;
    if (thread != thread_current || !thread->ring)
        return;
    int saved_errno = errno;
    struct wire_ring *ring = thread->ring; /* the record may find that the collector is dead */
    instrument_end_thread(thread);
    thread_record_stack(thread);
    thread_record(thread, WIRE_THREAD_END);
    atomic_store_explicit(&ring->state, WIRE_RING_ENDING, memory_order_release);
    errno = saved_errno;
}

/* One key for all threads. If two threads make it at once, one deletes its own. */
static uint64_t thread_key_made(void)
{
    uint64_t key = atomic_load(&thread_key);
    pthread_key_t made;
    if (key || pthread_key_create(&made, thread_end) != 0)
        return key;
    if (atomic_compare_exchange_strong(&thread_key, &key, made + 1ull))
        return made + 1ull;
    pthread_key_delete(made);
    return key;
}

static void thread_watch_end(struct thread *thread)
{
    uint64_t key = thread_key_made();
    if (key)
        pthread_setspecific((pthread_key_t)(key - 1), thread);
}

/* A thread's state belongs to its ring, and the next thread of the ring uses it. When a session is
 * over, threads still point to their states. So states are never unmapped, and a thread has the
 * same one in the next session. */
enum { BATCH = 256, BATCHES = 512 };
struct thread_batch {
    struct thread *of_ring[BATCH]; /* by the number of the session's ring; NULL: not used yet */
    struct thread states[BATCH];
};
struct thread_table {
    void
        *_Atomic batch[BATCHES]; /* each a struct thread_batch; NULL from the first unused one on */
};
static void *_Atomic
    thread_table; /* a struct thread_table; wiped in the child of a fork, with the batches */

/* The memory that `place` points to, mapped at the first call. If two threads come at once, the
 * pages of one stay untouched. NULL: no memory. */
static void *thread_mapped_once(void *_Atomic *place, size_t bytes)
{
    void *there = atomic_load_explicit(place, memory_order_acquire);
    if (there)
        return there;
    void *made = private_map_lasting(bytes);
    return made && atomic_compare_exchange_strong(place, &there, made) ? made : there;
}

static struct thread_batch *thread_batch_at(uint32_t number)
{
    struct thread_table *all = thread_mapped_once(&thread_table, sizeof *all);
    if (!all || number >= BATCHES)
        return NULL;
    return thread_mapped_once(&all->batch[number], sizeof(struct thread_batch));
}

/* NULL: the batch was not mapped yet. */
static struct thread_batch *thread_made_batch(uint32_t number)
{
    struct thread_table *all = atomic_load_explicit(&thread_table, memory_order_acquire);
    return all && number < BATCHES ? atomic_load_explicit(&all->batch[number], memory_order_acquire)
                                   : NULL;
}

/* Is it a state of this table? In the child of a fork the table is new. */
static bool thread_is_in_table(const struct thread *thread)
{
    const struct thread_batch *batch;
    for (uint32_t i = 0; thread && (batch = thread_made_batch(i)) != NULL; i++)
        if (thread >= batch->states && thread < batch->states + BATCH)
            return true;
    return false;
}

/* Searches from the ring's number on, which is free in the first session. */
static struct thread *thread_take_free_state(uint32_t index, uint32_t tid)
{
    struct thread_batch *batch;
    for (uint32_t i = index / BATCH, first = index % BATCH; (batch = thread_batch_at(i)) != NULL;
         i++, first = 0)
        for (uint32_t k = 0; k < BATCH; k++) {
            struct thread *state = &batch->states[(first + k) % BATCH];
            uint32_t nobody = 0;
            if (atomic_load_explicit(&state->owner, memory_order_relaxed) == 0 &&
                atomic_compare_exchange_strong(&state->owner, &nobody, tid))
                return state;
        }
    return NULL;
}

static struct thread *thread_of_ring(uint32_t index, uint32_t tid)
{
    struct thread_batch *batch = thread_batch_at(index / BATCH);
    if (!batch)
        return NULL;
    struct thread **place = &batch->of_ring[index % BATCH];
    struct thread *own = thread_is_in_table(thread_current) ? thread_current : NULL;
    if (*place && own && own != *place)
        atomic_store(&own->owner, 0); /* given up for the ring's state */
    if (!*place)
        *place = own ? own : thread_take_free_state(index, tid);
    if (*place)
        atomic_store(&(*place)->owner, tid);
    return *place;
}

void thread_each(void (*visit)(struct thread *thread, void *context), void *context)
{
    struct thread_batch *batch;
    for (uint32_t i = 0; (batch = thread_made_batch(i)) != NULL; i++)
        for (uint32_t k = 0; k < BATCH; k++)
            if (batch->states[k].ring)
                visit(&batch->states[k], context);
}

/* Takes the level that the collector wants now. The sample that was drawn before has the level
 * before. */
static uint64_t thread_adapted_bytes(struct thread *thread)
{
    uint32_t level = atomic_load_explicit(&shared_header()->sample_level, memory_order_relaxed);
    thread->level = thread->drawn_level;
    thread->drawn_level = level < WIRE_LEVELS ? (uint8_t)level : WIRE_LEVELS - 1;
    return wire_level_bytes(thread->drawn_level);
}

void thread_draw(struct thread *thread)
{
    bool adapts = thread_sample_bytes == WIRE_SAMPLE_ADAPTS;
    uint64_t bytes = adapts ? thread_adapted_bytes(thread) : thread_sample_bytes;
    thread->until_sample = bytes ? draw_bytes(&thread->random, bytes) : 0;
}

/* `used`: the memory of the ring's last thread; NULL: there was none. */
static struct unwind_memory *thread_memory_for_new_thread(struct unwind_memory *used)
{
    if (!used)
        return unwind_memory_new();
    unwind_memory_forget(used);
    return used;
}

static struct thread *thread_new(void)
{
    uint32_t index;
    char *data;
    if (permitted_calls_is_forbidden(CALL_TID | CALL_CLOCK))
        return NULL;
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    struct wire_ring *ring = shared_take_ring(tid, &data, &index);
    if (!ring)
        return NULL;
    struct thread *thread = thread_of_ring(index, tid);
    if (!thread)
        return NULL;
    struct unwind_memory *memory = thread_memory_for_new_thread(thread->memory);
    struct unwind_memory *free_memory = NULL;
    if (shared_header()->flags & WIRE_FLAG_FREE_STACKS)
        free_memory = thread_memory_for_new_thread(thread->free_memory);
    *thread = (struct thread){
        .ring = ring,
        .data = data,
        .mask = shared_header()->ring_bytes - 1,
        /* behind a late free of the last thread */
        .cursor = atomic_load_explicit(&ring->head, memory_order_acquire),
        .memory = memory,
        .free_memory = free_memory,
        .shadow = thread->shadow,
        .used_script = thread->script ? thread->script : thread->used_script,
        .script_session = thread->script_session,
        .owner = tid,
        .deepest = UINTPTR_MAX,
        .cost_ticks = (uint64_t)atomic_load_explicit(&ring->cost, memory_order_relaxed) << 10,
        .random = hash_u64(ticks_now()) ^ hash_u64((uintptr_t)&thread_current) ^
                  (uint64_t)atomic_load_explicit(&ring->tid, memory_order_relaxed) << 40,
    };
    atomic_store_explicit(&ring->deepest_bytes, 0, memory_order_relaxed);
    if (thread_sample_bytes)
        thread_draw(thread);
    return thread;
}

/* ---- Beginning again ---- */

static _Atomic uint32_t thread_uses;

void thread_use_begin(void)
{
    atomic_fetch_add_explicit(&thread_uses, 1, memory_order_acquire);
}

void thread_use_end(void)
{
    atomic_fetch_sub_explicit(&thread_uses, 1, memory_order_release);
}

void thread_use_forget(void)
{
    atomic_store(&thread_uses, 1);
    thread_unasked = 0;
}

void thread_hold(bool hold)
{
    thread_beginning = hold;
}

/* Has no ring, ever. Not NULL, because a hook that goes on may read thread_current twice. */
static struct thread thread_nobody;

struct thread *thread_suspend(void)
{
    struct thread *thread = thread_current;
    if (thread_beginning || !thread)
        return NULL;
    thread_beginning = true;
    thread_current = &thread_nobody;
    return thread;
}

void thread_resume(struct thread *thread)
{
    thread_current = thread;
    thread_beginning = false;
}

void thread_begins_anew(void)
{
    thread_resume(&thread_nobody);
}

/* The ring stays active, so that no call tests whether the thread has ended. */
void thread_stop_recording(void)
{
    thread_has_stopped = true;
    thread_current = NULL;
}

static void thread_count_unrecorded(void)
{
    struct wire_header *header = shared_header();
    if (header)
        atomic_fetch_add_explicit(&header->lost_events, 1, memory_order_relaxed);
}

/* Events of a thread that records no more, or asks for no ring yet, are counted alone. */
static bool thread_lets_pass(void)
{
    if (likely(!thread_has_stopped && !thread_unasked))
        return false;
    if (thread_unasked)
        thread_unasked--;
    thread_count_unrecorded();
    return true;
}

static void thread_see_work(struct thread *thread, void *context)
{
    if (thread->hook_frame)
        *(bool *)context = true;
}

/* A state of a thread that has ended is free, because nothing points to it. */
static void thread_renew_batch(struct thread_batch *batch)
{
    for (uint32_t i = 0; i < BATCH; i++) {
        struct thread *thread = &batch->states[i];
        uint32_t owner = atomic_load(&thread->owner);
        batch->of_ring[i] = NULL;
        if (owner)
            *thread = (struct thread){.inside = thread->inside,
                                      .owner = shared_thread_is_gone(owner) ? 0 : owner};
    }
}

bool thread_renew(void)
{
    bool at_work = atomic_load(&thread_uses) != 0;
    thread_each(thread_see_work, &at_work);
    if (at_work)
        return false;
    struct thread_batch *batch;
    for (uint32_t i = 0; (batch = thread_made_batch(i)) != NULL; i++)
        thread_renew_batch(batch);
    return true;
}

struct thread *thread_begin(void)
{
    if (thread_beginning || session_is_over())
        return NULL;
    if (thread_lets_pass())
        return NULL;
    int saved_errno = errno;
    if (unlikely(!forked_may_begin())) {
        errno = saved_errno;
        return NULL;
    }
    uint64_t signals = signal_lock_block(); /* a handler that left by longjmp would leave other
                                             * threads waiting */
    thread_use_begin();
    thread_beginning = true;
    struct thread *thread = NULL;
    if (session_is_on() || session_begin()) {
        thread = thread_new();
        if (thread) {
            thread_current = thread;
            thread_record(thread, WIRE_THREAD_START);
            inherited_tell(thread);
            thread_watch_end(thread);
            if (!thread->ring) /* the collector has gone */
                thread = NULL;
        } else {
            thread_count_unrecorded();
            thread_unasked = REFUSED_EVENTS;
        }
    }
    thread_beginning = false;
    thread_use_end();
    signal_lock_restore(signals);
    errno = saved_errno;
    return thread;
}

/* ---- A full ring ---- */

static bool thread_record_has_room(struct thread *thread, unsigned bytes)
{
    uint64_t ring_bytes = thread->mask + 1;
    uint64_t tail = atomic_load_explicit(&thread->ring->tail, memory_order_acquire);
    uint64_t end = tail + ring_bytes - RESERVE_BYTES;
    if (thread->cursor + bytes > end)
        return false;
    /* The limit is at most a quarter of the ring ahead, to test again and again whether the
     * collector has to be woken. It is woken when half of the ring is used. With a quarter it would
     * be woken 1.4 times as often, for some 17 us each. */
    uint64_t stop = thread->cursor + ring_bytes / 4;
    thread->limit = stop < end ? stop : end;
    if (thread->cursor - tail > ring_bytes / 2)
        session_wake_collector();
    return true;
}

/* If the call is forbidden, spins: the collector reads the rings twenty times a second anyway, and
 * more often if there are events. */
static void thread_sleep_for_space(struct wire_ring *ring, uint32_t space)
{
    struct timespec patience = {0, 100 * 1000 * 1000};
    if (!permitted_calls_is_forbidden(CALL_WAIT))
        syscall(SYS_futex, &ring->space, FUTEX_WAIT, space, &patience, NULL, 0);
    else
        for (int i = 0; i < 10000; i++)
            arch_relax();
}

static void thread_record_wait(struct thread *thread, unsigned bytes)
{
    struct wire_ring *ring = thread->ring;
    uint64_t since = ticks_now();
    while (session_collector_lives()) {
        uint32_t space = atomic_fetch_or(&ring->space, WIRE_SPACE_WANTED) | WIRE_SPACE_WANTED;
        if (thread_record_has_room(thread, bytes))
            break;
        session_wake_collector();
        thread_sleep_for_space(ring, space);
    }
    atomic_fetch_add_explicit(&ring->waits, 1, memory_order_relaxed);
    uint64_t waited = ticks_now() - since;
    atomic_fetch_add_explicit(&ring->wait_ticks, waited, memory_order_relaxed);
    PROBE(ring_full, waited);
}

static void thread_add_lost(struct thread *thread, int64_t events)
{
    PROBE(lost, events);
    atomic_fetch_add_explicit(&thread->ring->untold_events, (uint64_t)events, memory_order_relaxed);
    atomic_fetch_add_explicit(&thread->ring->lost_events, (uint64_t)events, memory_order_relaxed);
}

static bool thread_has_untold(const struct thread *thread)
{
    return atomic_load_explicit(&thread->ring->untold_events, memory_order_relaxed) != 0;
}

void thread_count_lost(struct thread *thread)
{
    thread_add_lost(thread, 1);
}

/* Writes a record with the number of events lost so far, so that a reader knows when they were
 * lost. The hook that asked for room publishes it. */
static void thread_record_lost(struct thread *thread)
{
    _Atomic uint64_t *untold = &thread->ring->untold_events;
    uint64_t lost = atomic_exchange_explicit(untold, 0, memory_order_relaxed);
    struct recording recording = {thread, true};
    uint64_t ticks;
    struct wire_record *record = lost ? thread_record_begin(&recording, 16, &ticks) : NULL;
    if (record) {
        thread_record_word0(record, WIRE_LOST, lost);
    } else if (lost) { /* signal handlers took the room: written at a later event */
        atomic_fetch_add_explicit(untold, lost, memory_order_relaxed);
        thread_add_lost(thread, -1); /* the mark itself is no event */
    }
}

/* Publishes records if half of the ring is reserved and not published. The hook that should publish
 * them is dead (a longjmp out of a handler, and all later hooks were deeper in the stack), or its
 * handler records a lot. Without this the ring would stay full for ever. */
static void thread_publish_for_another(struct thread *thread)
{
    uint64_t head = atomic_load_explicit(&thread->ring->head, memory_order_relaxed);
    uint64_t cursor = *(volatile uint64_t *)&thread->cursor;
    if (cursor - head > (thread->mask + 1) / 2) /* unless a handler does it right now */
        atomic_compare_exchange_strong_explicit(&thread->ring->head, &head, cursor,
                                                memory_order_release, memory_order_relaxed);
}

/* Outer hooks of this thread still use the ring, so it is dropped in
 * thread_end_without_record(). */
static void thread_stop(struct thread *thread)
{
    struct wire_ring *ring = thread->ring;
    if (!forked_is_left(thread))
        session_stop();
    thread->ring = ring;
    thread->limit = 0;
}

bool thread_make_room(struct thread *thread, unsigned bytes)
{
    if (!thread->ring) /* this hook's record before dropped the ring */
        return false;
    int saved_errno = errno;
    bool again = patch_is_due() && patch_new();
    thread_publish_for_another(thread);
    /* After events were lost, a quarter of the ring has to be free before recording goes on.
     * Otherwise the small records of frees would fit where those of their allocations did not. */
    unsigned wanted = thread_has_untold(thread) ? (unsigned)(thread->mask + 1) / 4 : bytes + 16;
    bool room = thread_record_has_room(thread, wanted);
    bool waits = shared_header()->on_full == WIRE_ON_FULL_WAIT;
    /* Waits again if a signal handler took the room. */
    while (!room && waits && session_collector_lives()) {
        thread_record_wait(thread, bytes + 16);
        room = thread_record_has_room(thread, bytes + 16);
    }
    if (!session_collector_lives()) {
        thread_stop(thread);
        room = false;
    } else if (!room) {
        thread_add_lost(thread, 1);
    } else if (thread_has_untold(thread)) {
        thread_record_lost(thread);
    }
    if (again)
        thread->limit = 0;
    errno = saved_errno;
    return room;
}

void thread_publish_again(struct thread *thread)
{
    uint64_t cursor;
    do {
        /* While hook_frame is set, handlers leave publishing to this hook, so that head never
         * falls. */
        *(volatile uintptr_t *)&thread->hook_frame = (uintptr_t)__builtin_frame_address(0);
        atomic_signal_fence(memory_order_seq_cst);
        cursor = *(volatile uint64_t *)&thread->cursor;
        atomic_store_explicit(&thread->ring->head, cursor, memory_order_release);
        *(volatile uintptr_t *)&thread->hook_frame = 0;
        atomic_signal_fence(memory_order_seq_cst);
    } while (*(volatile uint64_t *)&thread->cursor != cursor);
    atomic_store_explicit(&thread->ring->busy, 0, memory_order_release);
}

void thread_end_without_record(struct thread *thread)
{
    *(volatile uintptr_t *)&thread->hook_frame = 0;
    if (!thread->ring)
        return;
    thread_publish_again(thread);
    if (session_is_over())
        thread->ring = NULL;
}
