/* Records the events of BFM's hook (page_events.h). Runs inside the profiled program, called by BFM
 * without locks: no malloc, no stdio; BFM keeps errno. */
#include "recorder/page_events.h"

#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "recorder/hooks.h"
#include "recorder/module_log.h"
#include "tidemark/bfm.h"
#include "unwind/permitted_calls.h"

/* BFM maps memory by these functions, so that its mappings are not recorded
 * (bfm/CMakeLists.txt). */
void *pages_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset);
int pages_munmap(void *address, size_t bytes);
void *pages_mremap(void *old, size_t old_bytes, size_t bytes, int flags, void *wanted);
int pages_mprotect(void *address, size_t bytes, int protection);
int pages_madvise(void *address, size_t bytes, int advice);
void pages_begin(void);

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

int pages_mprotect(void *address, size_t bytes, int protection)
{
    return (int)syscall(SYS_mprotect, address, bytes, protection);
}

int pages_madvise(void *address, size_t bytes, int advice)
{
    return (int)syscall(SYS_madvise, address, bytes, advice);
}

/* ---- Call paths ---- */

/* Are the operators new of libstdc++ and of the program known? They are searched for until the
 * first one is found, because C++ may come with a plug-in. */
static bool page_events_operators_known;

static void page_events_find_operators(void)
{
    static const char *const takers[] = {
#define NEW(name, ...) #name,
#include "interpose/functions.def"
    };

    if (!real_find_operator("_Znwm"))
        return;
    for (size_t i = 0; i < sizeof takers / sizeof *takers; i++)
        real_find_operator(takers[i]);
    __atomic_store_n(&page_events_operators_known, true, __ATOMIC_RELEASE);
}

void page_events_saw_code(uintptr_t ip)
{
    modules_saw_code(ip);
    if (!__atomic_load_n(&page_events_operators_known, __ATOMIC_ACQUIRE))
        page_events_find_operators();
}

void hooks_new_forget(void)
{
    __atomic_store_n(&page_events_operators_known, false, __ATOMIC_RELEASE);
}

/* The call path without its innermost frames in BFM and operator new. */
static uint32_t page_events_capture(const struct recording *recording,
                                    const struct unwind_start *start)
{
    uint32_t node = thread_recording_path(recording, recording->thread->memory, start);
    uintptr_t ip;

    while (node && unwind_path_ips(node, &ip, 1) == 1 && ip >= WIRE_MARK_LIMIT &&
           real_is_allocator(ip))
        node = unwind_path_caller(node);
    return node;
}

/* ---- Events ---- */

/* The alignment of a record has the level at which BFM drew the block (wire.h, "Pages"). */
static unsigned page_events_align(const struct bfm_event *event)
{
    unsigned level = 0;

    if (event->bytes > WIRE_PAGE_BLOCK && event->bytes < WIRE_PAGE_SURE)
        while (level + 1 < WIRE_PAGE_LEVELS && event->mean_bytes > WIRE_PAGE_BYTES << level)
            level++;
    return wire_level_align(0, level);
}

static void page_events_record_block(struct thread *thread, uintptr_t frame,
                                     const struct bfm_event *event, unsigned kind)
{
    struct unwind_start start = {(uintptr_t)event->caller, (uintptr_t)event->caller_stack,
                                 (uintptr_t)event->caller_frame};
    struct recording recording = thread_recording_begin(thread, frame);
    uint32_t node = page_events_capture(&recording, &start);
    if (start.sp < thread->deepest)
        thread_deeper(thread, start.sp, node);
    uint64_t ticks;
    struct wire_record *record = thread_record_begin(&recording, 32, &ticks);
    if (!record) {
        thread_recording_abandon(&recording);
        return;
    }
    record->size_bytes = event->block_bytes & WIRE_ADDRESS_MASK;
    record->detail = wire_detail(node, event->bytes - event->block_bytes, page_events_align(event));
    thread_record_word0(record, kind, (uintptr_t)event->address);
    thread_record_publish(&recording, ticks);
}

static void page_events_record(struct thread *thread, uintptr_t frame,
                               const struct bfm_event *event)
{
    switch (event->kind) {
    case BFM_BLOCK_TAKEN:
    case BFM_SAMPLE_TAKEN:
        if (!__atomic_load_n(&thread_paused, __ATOMIC_RELAXED))
            page_events_record_block(thread, frame, event, WIRE_MALLOC);
        break;
    case BFM_BLOCK_RETURNED:
    case BFM_SAMPLE_RETURNED:
        thread_record_short(thread, frame, WIRE_FREE, (uintptr_t)event->address);
        break;
    case BFM_BLOCK_RESIZED:
    case BFM_SAMPLE_RESIZED:
        thread_record_short(thread, frame, WIRE_REALLOC_BEGIN, (uintptr_t)event->address);
        page_events_record_block(thread, frame, event, WIRE_REALLOC_END);
        break;
    default: /* page records are no events; their blocks are */
        break;
    }
}

static __attribute__((noinline)) void page_events_told(const struct bfm_event *event, void *unused)
{
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread;

    (void)unused;
    if (event->kind == BFM_RECORD_TAKEN || event->kind == BFM_RECORD_RETURNED)
        return;
    thread = thread_hook_enter(frame);
    if (thread)
        page_events_record(thread, frame, event);
}

bool page_events_begin(void)
{
    page_events_find_operators();
    return bfm_set_hook(page_events_told, NULL) == 0;
}

/* BFM's first call in this process calls this (bfm/CMakeLists.txt). Constructors of other libraries
 * run before ours, and what they allocate is recorded, too. So the session begins in that call, as
 * it does where malloc is hooked. Not in a call of the loader's, before the C library has an
 * environment. Not in another thread than the first, in which our constructor may begin it. */
void pages_begin(void)
{
    if (environ && !thread_current && !permitted_calls_is_forbidden(CALL_JOIN | CALL_TID) &&
        syscall(SYS_gettid) == getpid() && real_init() && !real_is_late())
        thread_begin();
}
