/* The recorder's thread.c and shared.c in a test: everything else of it (session, unwinder, real
 * allocator) is played here, over a memory that a collector's view has made in this process. */
#ifndef TIDEMARK_TESTS_RECORDER_STUBS_H
#define TIDEMARK_TESTS_RECORDER_STUBS_H

#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "collector/ring_merge.h"
#include "collector/tracer.h"
#include "collector/shared_view.h"
#include "recorder/forked.h"
#include "recorder/inherited.h"
#include "recorder/instrument.h"
#include "recorder/patch.h"
#include "recorder/session.h"
#include "recorder/shared.h"
#include "recorder/thread.h"

static struct view view;
static struct replay *replay;
static struct event_sink sink;
static struct ring_merge *merge;
static unsigned capture_spins; /* how long a capture takes: what a signal can interrupt */

bool session_begin(void)
{
    return true;
}
static atomic_bool over;
bool session_is_over(void)
{
    return atomic_load(&over);
}
bool session_is_on(void)
{
    return !session_is_over();
}
void session_stop(void)
{
    atomic_store(&over, true);
    if (thread_current)
        thread_current->ring = NULL;
}
bool forked_may_begin(void)
{
    return true;
}
bool forked_is_left(const struct thread *thread)
{
    (void)thread;
    return false;
}
void inherited_tell(struct thread *thread)
{
    (void)thread;
}
bool patch_is_due(void)
{
    return false;
}
bool patch_new(void)
{
    return false;
}
void session_wake_collector(void)
{
}
bool session_collector_lives(void)
{
    return atomic_load(&shared_header()->stop) == 0;
}
bool real_is_allocator(uintptr_t ip)
{
    return ip == 0;
}
struct unwind_memory *unwind_memory_new(void)
{
    return NULL;
}
void unwind_memory_forget(struct unwind_memory *memory)
{
    (void)memory;
}
uintptr_t unwind_own_stack(const struct unwind_memory *memory, uintptr_t sp)
{
    (void)memory, (void)sp;
    return 0;
}
uintptr_t instrument_own_stack(uintptr_t sp)
{
    (void)sp;
    return 0;
}
void instrument_end_thread(struct thread *thread)
{
    (void)thread;
}
uint32_t unwind_capture(struct unwind_memory *memory, const struct unwind_start *start)
{
    (void)memory;
    for (volatile unsigned i = 0; i < capture_spins; i = i + 1)
        ;
    return start->ip ? 0 : 1;
}

/* ---- Hooks, without the real functions ---- */

#define NOINLINE __attribute__((noinline))
void hook_malloc(uint64_t address, uint64_t size_bytes);
void hook_free(uint64_t address);

NOINLINE void hook_malloc(uint64_t address, uint64_t size_bytes)
{
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    struct thread *thread = thread_hook_enter(frame);
    struct unwind_start start = UNWIND_START_HERE();
    if (thread)
        thread_record_long(thread, frame, &start, WIRE_MALLOC, address, size_bytes, 0, 0);
    __asm__ volatile("" ::: "memory"); /* no tail call: the frame is what is compared */
}

NOINLINE void hook_free(uint64_t address)
{
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    struct thread *thread = thread_hook_enter(frame);
    if (thread)
        thread_record_short(thread, frame, WIRE_FREE, address);
    __asm__ volatile("" ::: "memory");
}

void hook_realloc(uint64_t old, uint64_t address);
NOINLINE void hook_realloc(uint64_t old, uint64_t address)
{
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    struct thread *thread = thread_hook_enter(frame);
    struct unwind_start start = UNWIND_START_HERE();
    if (thread) {
        thread_record_short(thread, frame, WIRE_REALLOC_BEGIN, old);
        thread_record_long(thread, frame, &start, WIRE_REALLOC_END, address, 8, 0, 0);
    }
    __asm__ volatile("" ::: "memory");
}

/* ---- The collector's side ---- */

/* Nobody keeps a trace here. */
void tracer_runs(struct tracer *tracer, const struct replay_run *runs, size_t count,
                 const void *records)
{
    (void)tracer, (void)runs, (void)count, (void)records;
}

void tracer_note(struct tracer *tracer, const struct trace_note *note)
{
    (void)tracer, (void)note;
}

static void recording_open(uint32_t ring_bytes, enum wire_on_full on_full)
{
    struct wire_header options = {.ring_bytes = ring_bytes, .chunk_limit = 64, .on_full = on_full};
    if (shared_view_open(&view, &options) < 0 || !shared_open(view.fd))
        abort();
    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0);
    replay = replay_new(ticks_now(), 0.5);
    sink.replay = replay;
    merge = ring_merge_new(&view, &sink);
}

/* The recorder keeps what it mapped, as a process does; so one recording a process. */
static void recording_close(void)
{
    ring_merge_free(merge);
    replay_free(replay);
    shared_view_close(&view);
}

static void drain(void)
{
    while (ring_merge_pass(merge, true) > 0)
        ;
}

static pthread_t merger;
static atomic_bool merger_is_over;
/* Held while the merger works. Who forks holds it: the collector is another process, whose locks,
 * the allocator's and those of ThreadSanitizer too, no child of the program ever has. */
static pthread_mutex_t merger_lock = PTHREAD_MUTEX_INITIALIZER;

static void *ring_merge_until_over(void *unused)
{
    (void)unused;
    while (!atomic_load(&merger_is_over)) {
        pthread_mutex_lock(&merger_lock);
        ring_merge_pass(merge, false);
        pthread_mutex_unlock(&merger_lock);
        sched_yield();
    }
    drain();
    return NULL;
}

static void start_merging(void)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    atomic_store(&merger_is_over, false);
    pthread_create(&merger, NULL, ring_merge_until_over, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void stop_merging(void)
{
    atomic_store(&merger_is_over, true);
    pthread_join(merger, NULL);
}

static struct program_metrics program_now(void)
{
    struct program_metrics program;
    replay_program(replay, &program);
    return program;
}

/* Each test in a process of its own: thread state and shared memory are a process's for good. */
#include <sys/wait.h>
static void in_a_process(void (*test)(void))
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        test();
        exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

#define CHECK_EQUAL(got, expected)                                                                 \
    do {                                                                                           \
        uint64_t got_ = (uint64_t)(got), expected_ = (uint64_t)(expected);                         \
        if (got_ != expected_) {                                                                   \
            fprintf(stderr, "%s:%d: %s is %llu, not %llu\n", __FILE__, __LINE__, #got,             \
                    (unsigned long long)got_, (unsigned long long)expected_);                      \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

#endif
