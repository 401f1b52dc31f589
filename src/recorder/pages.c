/* See pages.h. Runs inside the profiled program, in a call of BFM's that holds no lock: no malloc, no
 * stdio, errno kept by BFM. */
#include "recorder/pages.h"

#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "recorder/hooks.h"
#include "recorder/modules.h"
#include "tidemark/bfm.h"

/* What BFM maps is its own business (src/bfm/CMakeLists.txt: it calls these). */
void *pages_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset);
int pages_munmap(void *address, size_t bytes);
void *pages_mremap(void *old, size_t old_bytes, size_t bytes, int flags, void *wanted);

void *pages_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    return (void *)syscall(SYS_mmap, address, bytes, protection, flags, fd, offset);
}

int pages_munmap(void *address, size_t bytes)
{
    return (int)syscall(SYS_munmap, address, bytes);
}

void *pages_mremap(void *old, size_t old_bytes, size_t bytes, int flags, void *wanted)
{
    return (void *)syscall(SYS_mremap, old, old_bytes, bytes, flags, wanted);
}

/* ---- Call paths ---- */

/* Those that take memory: libstdc++'s, and the program's own. They are searched for until the first
 * one is found: C++ may come with a plug-in. */
static bool operators_known;

static void find_operators(void)
{
    static const char *const others[] = {
        "_Znam", "_ZnwmRKSt9nothrow_t", "_ZnamRKSt9nothrow_t", "_ZnwmSt11align_val_t",
        "_ZnamSt11align_val_t", "_ZnwmSt11align_val_tRKSt9nothrow_t",
        "_ZnamSt11align_val_tRKSt9nothrow_t"};

    if (!real_find_operator("_Znwm"))
        return;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        real_find_operator(others[i]);
    __atomic_store_n(&operators_known, true, __ATOMIC_RELEASE);
}

void pages_saw_code(uintptr_t ip)
{
    modules_saw_code(ip);
    if (!__atomic_load_n(&operators_known, __ATOMIC_ACQUIRE))
        find_operators();
}

void hooks_new_forget(void)
{
    __atomic_store_n(&operators_known, false, __ATOMIC_RELEASE);
}

/* The path of who wanted the block: what of BFM and of operator new is innermost goes. */
static uint32_t capture(const struct recording *recording, const struct unwind_start *start)
{
    uint32_t node = recording_path(recording, recording->thread->memory, start);
    uintptr_t ip;

    while (node && unwind_path_ips(node, &ip, 1) == 1 && ip >= WIRE_MARK_LIMIT &&
           real_is_allocator(ip))
        node = unwind_path_caller(node);
    return node;
}

/* ---- Events ---- */

static void record_block(struct thread *thread, uintptr_t frame, const struct bfm_event *event,
                         unsigned kind)
{
    struct unwind_start start = {(uintptr_t)event->caller, (uintptr_t)event->caller_stack,
                                 (uintptr_t)event->caller_frame};
    struct recording recording = recording_begin(thread, frame);
    uint32_t node = capture(&recording, &start);
    if (start.sp < thread->deepest)
        thread_deeper(thread, start.sp, node);
    uint64_t ticks;
    struct wire_record *record = record_begin(&recording, 32, &ticks);
    if (!record) {
        recording_abandon(&recording);
        return;
    }
    record->size_bytes = event->block_bytes & WIRE_ADDRESS_MASK;
    record->detail = wire_detail(node, event->bytes - event->block_bytes, 0);
    record_word0(record, kind, (uintptr_t)event->address);
    record_publish(&recording, ticks);
}

static void record_event(struct thread *thread, uintptr_t frame, const struct bfm_event *event)
{
    switch (event->kind) {
    case BFM_BLOCK_TAKEN:
    case BFM_SAMPLE_TAKEN:
        if (!__atomic_load_n(&thread_paused, __ATOMIC_RELAXED))
            record_block(thread, frame, event, WIRE_MALLOC);
        break;
    case BFM_BLOCK_RETURNED:
    case BFM_SAMPLE_RETURNED:
        record_short(thread, frame, WIRE_FREE, (uintptr_t)event->address);
        break;
    case BFM_BLOCK_RESIZED:
    case BFM_SAMPLE_RESIZED:
        record_short(thread, frame, WIRE_REALLOC_BEGIN, (uintptr_t)event->address);
        record_block(thread, frame, event, WIRE_REALLOC_END);
        break;
    default: /* records: their blocks are what counts */
        break;
    }
}

static __attribute__((noinline)) void told(const struct bfm_event *event, void *unused)
{
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread;

    (void)unused;
    if (event->kind == BFM_RECORD_TAKEN || event->kind == BFM_RECORD_RETURNED)
        return;
    thread = hook_enter(frame);
    if (thread)
        record_event(thread, frame, event);
}

bool pages_begin(void)
{
    find_operators();
    return bfm_set_hook(told, NULL) == 0;
}
