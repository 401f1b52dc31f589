/* Memory that the program maps itself. glibc's own mappings (arenas, thread stacks) do not pass
 * here; /proc shows them. */
#include "recorder/hooks.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "recorder/locked.h"
#include "recorder/session.h"

static void hooks_map_record(struct thread *thread, uintptr_t frame,
                             const struct unwind_start *start, void *address, size_t bytes)
{
    if (address != MAP_FAILED)
        thread_record_long(thread, frame, start, WIRE_MMAP, (uintptr_t)address, bytes, 0, 0);
    else
        thread_record_long(thread, frame, start, WIRE_MMAP | WIRE_FAILED, 0, bytes, 0, 0);
}

static void *hooks_map_call_mmap(void *address, size_t bytes, int protection, int flags, int fd,
                                 off_t offset)
{
    if (likely(real.mmap))
        return real.mmap(address, bytes, protection, flags, fd, offset);
    return (void *)syscall(SYS_mmap, address, bytes, protection, flags, fd, offset);
}

HOOK void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread = thread_hook_enter(frame);
    void *mapped = hooks_map_call_mmap(address, bytes, protection, flags, fd, offset);
    if (thread) {
        struct unwind_start start = UNWIND_START_HERE();
        hooks_map_record(thread, frame, &start, mapped, bytes);
    }
    return mapped;
}
HOOKED(mmap)

/* The same function where off_t has 64 bits. */
HOOKED_TOO(mmap64, mmap)

/* What the kernel refuses whatever is mapped there: it is recorded beforehand, since the addresses
 * may be another thread's as soon as they are free. */
static bool hooks_map_unmaps_nothing(const void *address, size_t bytes)
{
    enum { SMALLEST_PAGE_BYTES = 4096 };
    return bytes == 0 || (uintptr_t)address % SMALLEST_PAGE_BYTES != 0;
}

HOOK int munmap(void *address, size_t bytes)
{
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread =
        hooks_map_unmaps_nothing(address, bytes) ? NULL : thread_hook_enter(frame);
    if (thread) {
        struct unwind_start start = UNWIND_START_HERE();
        thread_record_long(thread, frame, &start, WIRE_MUNMAP, (uintptr_t)address, bytes, 0, 0);
    }
    return likely(real.munmap) ? real.munmap(address, bytes)
                               : (int)syscall(SYS_munmap, address, bytes);
}
HOOKED(munmap)

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4 /* Linux 5.7 */
#endif

/* Of 0 bytes of a shared mapping another one is made. */
static bool hooks_map_leaves_old(size_t old_bytes, int flags)
{
    return old_bytes != 0 && !(flags & MREMAP_DONTUNMAP);
}

/* What was at `old` when the call began, at `since`, is there no more. Another thread may have
 * mapped something there meanwhile, and told of it: so the record says exactly how old it is. */
static void hooks_map_record_moved(struct thread *thread, uintptr_t frame, uint32_t node,
                                   uint64_t since, const void *old, size_t old_bytes)
{
    struct recording recording = thread_recording_begin(thread, frame);
    uint64_t ticks;
    struct wire_record *record = thread_record_begin(&recording, 32, &ticks);
    if (!record) {
        thread_recording_abandon(&recording);
        return;
    }
    record->size_bytes = old_bytes & WIRE_ADDRESS_MASK;
    record->detail = wire_detail_since(node, ticks - since);
    thread_record_word0(record, WIRE_MUNMAP, (uintptr_t)old);
    thread_record_publish(&recording, ticks);
}

HOOK void *mremap(void *old, size_t old_bytes, size_t bytes, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    /* The kernel takes a hint for one with MREMAP_DONTUNMAP, as the C library passes it on. */
    bool has_wanted = flags & (MREMAP_FIXED | MREMAP_DONTUNMAP);
    void *wanted = has_wanted ? va_arg(rest, void *) : NULL;
    va_end(rest);
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread = thread_hook_enter(frame);
    uint64_t since = ticks_now();
    void *mapped = (void *)syscall(SYS_mremap, old, old_bytes, bytes, flags, wanted);
    if (thread && mapped != MAP_FAILED) {
        struct unwind_start start = UNWIND_START_HERE();
        uint32_t node = thread_path_before(thread, frame, &start);
        if (hooks_map_leaves_old(old_bytes, flags))
            hooks_map_record_moved(thread, frame, node, since, old, old_bytes);
        thread_record_long_at(thread, frame, node, WIRE_MMAP, (uintptr_t)mapped, bytes, 0, 0);
    }
    return mapped;
}
HOOKED(mremap)

static void hooks_map_record_brk(struct thread *thread, uintptr_t frame,
                                 const struct unwind_start *start, void *end, intptr_t grown)
{
    unsigned shrunk = grown < 0 ? WIRE_FAILED : 0;
    thread_record_long(thread, frame, start, WIRE_BRK | shrunk, (uintptr_t)end,
                       (uint64_t)(grown < 0 ? -grown : grown), 0, 0);
}

HOOK int brk(void *end)
{
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread = thread_hook_enter(frame);
    intptr_t before = syscall(SYS_brk, NULL);
    int status = REAL(brk)(end);
    if (thread && status == 0) {
        struct unwind_start start = UNWIND_START_HERE();
        hooks_map_record_brk(thread, frame, &start, end, (intptr_t)end - before);
    }
    return status;
}
HOOKED(brk)

HOOK void *sbrk(intptr_t increment)
{
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread = increment ? thread_hook_enter(frame) : NULL;
    void *before = REAL(sbrk)(increment);
    if (thread && before != (void *)-1) {
        struct unwind_start start = UNWIND_START_HERE();
        hooks_map_record_brk(thread, frame, &start, (char *)before + increment, increment);
    }
    return before;
}
HOOKED(sbrk)

/* ---- Locks ---- */

HOOK int mlockall(int flags)
{
    int status;
    thread_use_begin();
    REAL(mlockall);
    status = session_is_on() ? locked_all(flags) : real.mlockall(flags);
    thread_use_end();
    return status;
}
HOOKED(mlockall)
