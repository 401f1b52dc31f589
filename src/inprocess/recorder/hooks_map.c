/* Hooks of the functions that map memory: mmap, mremap, munmap, mprotect, madvise, shared memory
 * and the break. A call is recorded after the real call succeeded; munmap and shmdt are recorded
 * before it. glibc's own mappings (arenas, thread stacks) do not call these functions; /proc shows
 * them. */
#include "recorder/hooks.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "model/mapping.h"
#include "recorder/hooks_syscall.h"
#include "recorder/inherited.h"
#include "recorder/locked.h"
#include "recorder/module_log.h"
#include "recorder/session.h"
#include "runtimes/script_memory.h"
#include "unwind/permitted_calls.h"

/* The state of the calling thread if the program itself maps. NULL if its allocator does: inside of
 * malloc, in a thread of its own, or before its first call. */
static inline __attribute__((always_inline)) struct thread *hooks_map_enter(uintptr_t frame)
{
    struct thread *thread = thread_hook_enter(frame);
    return likely(thread) && real_is_allocator_module(((uintptr_t *)frame)[1]) ? NULL : thread;
}

/* Where hooks_map_enter() says NULL: the state of the calling thread if that is because an
 * allocator maps. Else we do not record yet, or no more. */
static struct thread *hooks_map_enter_allocators(uintptr_t frame)
{
    struct thread *thread = thread_current;
    bool records = thread && thread->ring;
    return records && (thread_is_in_real(thread, frame) ||
                       real_is_allocator_module(((uintptr_t *)frame)[1]))
               ? thread
               : NULL;
}

/* ---- What an allocator maps ---- */

/* Its call path would be one of the allocator's insides. */
static __attribute__((noinline)) void hooks_map_allocator_has(uintptr_t frame, void *address,
                                                              size_t bytes, enum mapping_kind kind)
{
    struct thread *thread = hooks_map_enter_allocators(frame);
    uint32_t said = wire_mapping_of(kind, WIRE_MAPPING_ALLOCATORS);
    if (!thread || address == MAP_FAILED)
        return;
    thread_record_long_at(thread, frame, 0, WIRE_MMAP, (uintptr_t)address, bytes, said, 0);
    if (likely(inherited_is_kept))
        inherited_maps(thread, (uintptr_t)address, bytes, 0, said, 0);
}

/* Before the call. */
static __attribute__((noinline)) void hooks_map_allocator_loses(uintptr_t frame,
                                                                const void *address, size_t bytes)
{
    struct thread *thread = hooks_map_enter_allocators(frame);
    if (!thread)
        return;
    if (likely(inherited_is_kept))
        inherited_unmaps(thread, (uintptr_t)address, bytes);
    thread_record_long_at(thread, frame, 0, WIRE_MUNMAP, (uintptr_t)address, bytes, 0,
                          WIRE_DETAIL_ALLOCATORS >> 56);
}

/* ---- By syscall() ----
 * A function of this room is called by the program, or syscall() jumps to its other form
 * (hooks_syscall.c). Both forms have frames of their own, and the body in them. The other form may
 * not end in a jump to syscall(), which would take that for the program's call. It is never the
 * exported function: a library may have written a jump over that, to itself, and call syscall()
 * for what it replaced (UCX, which MPICH loads). */

#define BODY static inline __attribute__((always_inline))

#define BOTH_WAYS(type, name, parameters, ...)                                                     \
    HOOK type name parameters                                                                      \
    {                                                                                              \
        return hooks_map_##name(false, __VA_ARGS__);                                               \
    }                                                                                              \
    HOOKED(name)                                                                                   \
    __attribute__((noinline)) long hooks_map_##name##_by_syscall parameters                        \
    {                                                                                              \
        if (unlikely(hooks_map_is_of_real(HOOK_FRAME())))                                          \
            return real.syscall(SYS_##name, __VA_ARGS__);                                          \
        return (long)hooks_map_##name(true, __VA_ARGS__);                                          \
    }

/* The frame of the hook whose real function runs now; 0: none. An allocator may stand in for that
 * function too, and come back by syscall() (gperftools' mmap()). */
BODY void hooks_map_in_real(uintptr_t frame)
{
    if (likely(thread_current))
        thread_current->mapping = frame;
}

static bool hooks_map_is_of_real(uintptr_t frame)
{
    return thread_current && thread_frame_is_nested(thread_current->mapping, frame);
}

/* The result of the real function NAME, or of the system call, if that is what the program asked
 * for. */
#define CALL_REAL_MAPPING(by_syscall, frame, name, ...)                                            \
    ({                                                                                             \
        __typeof__(real.name(__VA_ARGS__)) result_;                                                \
        if ((by_syscall) || unlikely(!real.name)) {                                                \
            result_ = (__typeof__(result_))syscall(SYS_##name, __VA_ARGS__);                       \
        } else {                                                                                   \
            hooks_map_in_real(frame);                                                              \
            result_ = real.name(__VA_ARGS__);                                                      \
            hooks_map_in_real(0);                                                                  \
        }                                                                                          \
        result_;                                                                                   \
    })

/* ---- mmap, munmap, mremap ---- */

static enum mapping_kind hooks_map_kind(int flags)
{
    bool is_private = (flags & MAP_TYPE) == MAP_PRIVATE;
    if (flags & MAP_ANONYMOUS)
        return is_private ? MAPPING_ANONYMOUS : MAPPING_SHARED;
    return is_private ? MAPPING_FILE : MAPPING_FILE_SHARED;
}

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000 /* Linux 4.17 */
#endif

static uint32_t hooks_map_said(int protection, int flags)
{
    unsigned said = 0;
    if (protection == PROT_NONE || flags & MAP_NORESERVE)
        said |= WIRE_MAPPING_RESERVED;
    if (flags & (MAP_STACK | MAP_GROWSDOWN))
        said |= WIRE_MAPPING_STACK;
    if (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE))
        said |= WIRE_MAPPING_FIXED;
    return wire_mapping_of(hooks_map_kind(flags), said);
}

static void hooks_map_record(struct thread *thread, uintptr_t frame,
                             const struct unwind_start *start, void *address, size_t bytes,
                             uint32_t said)
{
    if (address == MAP_FAILED) {
        thread_record_long(thread, frame, start, WIRE_MMAP | WIRE_FAILED, 0, bytes, 0, 0);
        return;
    }
    uint32_t node = thread_path_before(thread, frame, start);
    thread_record_long_at(thread, frame, node, WIRE_MMAP, (uintptr_t)address, bytes, said, 0);
    if (likely(inherited_is_kept))
        inherited_maps(thread, (uintptr_t)address, bytes, node, said, 0);
    if (unlikely(pools_are_followed))
        pools_memory_begins(thread, (uintptr_t)address, bytes);
}

BODY void *hooks_map_mmap(bool by_syscall, void *address, size_t bytes, int protection, int flags,
                          int fd, off_t offset)
{
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread = hooks_map_enter(frame);
    bool replaces = flags & MAP_FIXED;
    if (unlikely(replaces))
        script_memory_forget();
    void *mapped =
        CALL_REAL_MAPPING(by_syscall, frame, mmap, address, bytes, protection, flags, fd, offset);
    if (unlikely(replaces))
        script_memory_forget();
    if (thread) {
        struct unwind_start start = UNWIND_START_HERE();
        hooks_map_record(thread, frame, &start, mapped, bytes, hooks_map_said(protection, flags));
        if (unlikely(protection & PROT_EXEC) && !(flags & MAP_ANONYMOUS) && mapped != MAP_FAILED)
            modules_saw_file(fd);
    } else {
        hooks_map_allocator_has(frame, mapped, bytes, hooks_map_kind(flags));
    }
    return mapped;
}
BOTH_WAYS(void *, mmap,
          (void *address, size_t bytes, int protection, int flags, int fd, off_t offset), address,
          bytes, protection, flags, fd, offset)

/* The same function where off_t has 64 bits. */
HOOKED_TOO(mmap64, mmap)

/* Does the kernel refuse this munmap in any case? Others are recorded before the call, because
 * another thread may get the addresses as soon as they are free. */
static bool hooks_map_unmaps_nothing(const void *address, size_t bytes)
{
    enum { SMALLEST_PAGE_BYTES = 4096 };
    uintptr_t start = (uintptr_t)address;
    return bytes == 0 || start % SMALLEST_PAGE_BYTES != 0 || start > WIRE_ADDRESS_MASK ||
           bytes > WIRE_ADDRESS_MASK - start;
}

BODY int hooks_map_munmap(bool by_syscall, void *address, size_t bytes)
{
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread =
        hooks_map_unmaps_nothing(address, bytes) ? NULL : hooks_map_enter(frame);
    if (thread) {
        struct unwind_start start = UNWIND_START_HERE();
        if (unlikely(pools_are_followed))
            pools_memory_is_unmapped(thread, frame, &start, (uintptr_t)address, bytes);
        if (likely(inherited_is_kept))
            inherited_unmaps(thread, (uintptr_t)address, bytes);
        thread_record_long(thread, frame, &start, WIRE_MUNMAP, (uintptr_t)address, bytes, 0, 0);
    } else if (!hooks_map_unmaps_nothing(address, bytes)) {
        hooks_map_allocator_loses(frame, address, bytes);
    }
    /* another thread may see the memory again before it is gone */
    script_memory_forget();
    int status = CALL_REAL_MAPPING(by_syscall, frame, munmap, address, bytes);
    script_memory_forget();
    return status;
}
BOTH_WAYS(int, munmap, (void *address, size_t bytes), address, bytes)

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4 /* Linux 5.7 */
#endif

/* Is nothing left at the old address? With 0 old bytes a shared mapping is mapped a second time. */
static bool hooks_map_leaves_old(size_t old_bytes, int flags)
{
    return old_bytes != 0 && !(flags & MREMAP_DONTUNMAP);
}

/* The kind of the new mapping: that of the moved one, or if the old one stays, a new one. */
static uint32_t hooks_map_said_of_moved(size_t old_bytes, int flags)
{
    unsigned fixed = flags & MREMAP_FIXED ? WIRE_MAPPING_FIXED : 0;
    if (hooks_map_leaves_old(old_bytes, flags))
        return wire_mapping_of(MAPPING_UNKNOWN, WIRE_MAPPING_MOVED | fixed);
    return wire_mapping_of(old_bytes ? MAPPING_ANONYMOUS : MAPPING_SHARED, fixed);
}

/* Records that the old mapping is gone, which was there when the call began, at `since`. Another
 * thread may have mapped and recorded something at that address meanwhile, so the record tells when
 * the call began. `by`: WIRE_DETAIL_ALLOCATORS or 0. */
static void hooks_map_record_moved(struct thread *thread, uintptr_t frame, uint32_t node,
                                   uint64_t since, const void *old, size_t old_bytes, uint64_t by)
{
    struct recording recording = thread_recording_begin(thread, frame);
    uint64_t ticks;
    struct wire_record *record = thread_record_begin(&recording, 32, &ticks);
    if (!record) {
        thread_recording_abandon(&recording);
        return;
    }
    record->size_bytes = old_bytes & WIRE_ADDRESS_MASK;
    record->detail = wire_detail_since(node, ticks - since) | by;
    thread_record_word0(record, WIRE_MUNMAP, (uintptr_t)old);
    thread_record_publish(&recording, ticks);
}

/* One call of mremap that succeeded. */
struct moved {
    uint64_t since; /* when it began */
    const void *old;
    size_t old_bytes;
    void *mapped;
    size_t bytes;
    int flags;
};

/* Notes the new address of a moved mapping for children of a fork, and forgets the old one. */
static void hooks_map_keep_moved(struct thread *thread, uint32_t node, uint32_t said,
                                 const struct moved *moved)
{
    uintptr_t old = (uintptr_t)moved->old, mapped = (uintptr_t)moved->mapped;
    inherited_maps(thread, mapped, moved->bytes, node, said, old);
    if (!hooks_map_leaves_old(moved->old_bytes, moved->flags))
        return;
    if (mapped != old)
        inherited_unmaps(thread, old, moved->old_bytes);
    else if (moved->bytes < moved->old_bytes)
        inherited_unmaps(thread, old + moved->bytes, moved->old_bytes - moved->bytes);
}

static void hooks_map_record_move(struct thread *thread, uintptr_t frame, uint32_t node,
                                  const struct moved *moved, uint64_t by)
{
    uint32_t said = hooks_map_said_of_moved(moved->old_bytes, moved->flags);
    said |= by ? WIRE_MAPPING_ALLOCATORS : 0u;
    if (hooks_map_leaves_old(moved->old_bytes, moved->flags))
        hooks_map_record_moved(thread, frame, node, moved->since, moved->old, moved->old_bytes, by);
    thread_record_long_at(thread, frame, node, WIRE_MMAP, (uintptr_t)moved->mapped, moved->bytes,
                          said, 0);
    if (likely(inherited_is_kept))
        hooks_map_keep_moved(thread, node, said, moved);
}

static __attribute__((noinline)) void hooks_map_allocator_moves(uintptr_t frame,
                                                                const struct moved *moved)
{
    struct thread *thread = hooks_map_enter_allocators(frame);
    if (thread)
        hooks_map_record_move(thread, frame, 0, moved, WIRE_DETAIL_ALLOCATORS);
}

BODY void *hooks_map_mremap(void *old, size_t old_bytes, size_t bytes, int flags, void *wanted)
{
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread = hooks_map_enter(frame);
    /* a thread that is not recorded may be forbidden to read the clock */
    bool records = thread_current && thread_current->ring;
    struct moved moved = {records ? ticks_now() : 0, old, old_bytes, NULL, bytes, flags};
    script_memory_forget();
    moved.mapped = (void *)syscall(SYS_mremap, old, old_bytes, bytes, flags, wanted);
    script_memory_forget();
    if (moved.mapped == MAP_FAILED)
        return MAP_FAILED;
    if (thread) {
        struct unwind_start start = UNWIND_START_HERE();
        hooks_map_record_move(thread, frame, thread_path_before(thread, frame, &start), &moved, 0);
    } else {
        hooks_map_allocator_moves(frame, &moved);
    }
    return moved.mapped;
}

HOOK void *mremap(void *old, size_t old_bytes, size_t bytes, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    /* with MREMAP_DONTUNMAP the kernel takes the address as a hint */
    bool has_wanted = flags & (MREMAP_FIXED | MREMAP_DONTUNMAP);
    void *wanted = has_wanted ? va_arg(rest, void *) : NULL;
    va_end(rest);
    return hooks_map_mremap(old, old_bytes, bytes, flags, wanted);
}
HOOKED(mremap)

__attribute__((noinline)) long hooks_map_mremap_by_syscall(void *old, size_t old_bytes,
                                                           size_t bytes, int flags, void *wanted)
{
    return (long)hooks_map_mremap(old, old_bytes, bytes, flags, wanted);
}

/* ---- mprotect, madvise ---- */

BODY int hooks_map_mprotect(bool by_syscall, void *address, size_t bytes, int protection)
{
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread = bytes ? hooks_map_enter(frame) : NULL;
    bool hides = !(protection & PROT_READ);
    if (unlikely(hides))
        script_memory_forget();
    int status = CALL_REAL_MAPPING(by_syscall, frame, mprotect, address, bytes, protection);
    if (unlikely(hides))
        script_memory_forget();
    if (thread && status == 0) {
        struct unwind_start start = UNWIND_START_HERE();
        uint32_t node = thread_path_before(thread, frame, &start);
        thread_record_long_at(thread, frame, node, WIRE_MPROTECT, (uintptr_t)address, bytes,
                              protection == PROT_NONE, 0);
        if (likely(inherited_is_kept))
            inherited_protects(thread, (uintptr_t)address, bytes, node, protection == PROT_NONE);
    }
    return status;
}
BOTH_WAYS(int, mprotect, (void *address, size_t bytes, int protection), address, bytes, protection)

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24 /* Linux 5.18 */
#endif

/* 0: the advice gives no pages back. (posix_madvise() never does.) */
static enum wire_advice hooks_map_advice(int advice)
{
    switch (advice) {
    case MADV_DONTNEED:
    case MADV_DONTNEED_LOCKED:
        return WIRE_ADVICE_DONTNEED;
    case MADV_FREE:
        return WIRE_ADVICE_FREE;
    case MADV_REMOVE:
        return WIRE_ADVICE_REMOVE;
    default:
        return 0;
    }
}

BODY int hooks_map_madvise(bool by_syscall, void *address, size_t bytes, int advice)
{
    uintptr_t frame = HOOK_FRAME();
    enum wire_advice said = hooks_map_advice(advice);
    struct thread *thread = said && bytes ? hooks_map_enter(frame) : NULL;
    int status = CALL_REAL_MAPPING(by_syscall, frame, madvise, address, bytes, advice);
    if (thread && status == 0) {
        struct unwind_start start = UNWIND_START_HERE();
        thread_record_long(thread, frame, &start, WIRE_MADVISE, (uintptr_t)address, bytes, said, 0);
    }
    return status;
}
BOTH_WAYS(int, madvise, (void *address, size_t bytes, int advice), address, bytes, advice)

/* ---- Segments of System V ---- */

/* The bytes that are mapped for a segment; 0: a filter forbids to ask. */
static size_t hooks_map_segment_bytes(int segment)
{
    struct shmid_ds state = {0};
    int saved_errno = errno;
    if (permitted_calls_is_forbidden(CALL_SEGMENT))
        return 0;
    long status = syscall(SYS_shmctl, segment, IPC_STAT, &state);
    errno = saved_errno;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return status == 0 ? (state.shm_segsz + page - 1) & -page : 0;
}

BODY void *hooks_map_shmat(bool by_syscall, int segment, const void *address, int flags)
{
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread = hooks_map_enter(frame);
    bool replaces = flags & SHM_REMAP;
    if (unlikely(replaces))
        script_memory_forget();
    void *mapped = CALL_REAL_MAPPING(by_syscall, frame, shmat, segment, address, flags);
    if (unlikely(replaces))
        script_memory_forget();
    size_t bytes = thread && mapped != MAP_FAILED ? hooks_map_segment_bytes(segment) : 0;
    if (bytes) {
        unsigned fixed = flags & SHM_REMAP ? WIRE_MAPPING_FIXED : 0;
        struct unwind_start start = UNWIND_START_HERE();
        hooks_map_record(thread, frame, &start, mapped, bytes,
                         wire_mapping_of(MAPPING_SYSV, fixed));
    }
    return mapped;
}
BOTH_WAYS(void *, shmat, (int segment, const void *address, int flags), segment, address, flags)

/* Recorded before the call, as munmap. If no segment begins there, the record has no effect. */
BODY int hooks_map_shmdt(bool by_syscall, const void *address)
{
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread = hooks_map_unmaps_nothing(address, 1) ? NULL : hooks_map_enter(frame);
    if (thread) {
        struct unwind_start start = UNWIND_START_HERE();
        if (likely(inherited_is_kept))
            inherited_detaches(thread, (uintptr_t)address);
        thread_record_long(thread, frame, &start, WIRE_MUNMAP, (uintptr_t)address, 0, 0, 0);
    }
    script_memory_forget();
    int status = CALL_REAL_MAPPING(by_syscall, frame, shmdt, address);
    script_memory_forget();
    return status;
}
BOTH_WAYS(int, shmdt, (const void *address), address)

/* ---- The break ---- */

static void hooks_map_record_brk(struct thread *thread, uintptr_t frame,
                                 const struct unwind_start *start, uintptr_t end, intptr_t grown)
{
    unsigned shrunk = grown < 0 ? WIRE_FAILED : 0;
    size_t bytes = (size_t)(grown < 0 ? -grown : grown);
    uint32_t node = thread_path_before(thread, frame, start);
    thread_record_long_at(thread, frame, node, WIRE_BRK | shrunk, end, bytes, 0, 0);
    if (unlikely(!inherited_is_kept))
        return;
    if (shrunk)
        inherited_unmaps(thread, end, bytes);
    else
        inherited_maps(thread, end - bytes, bytes, node, wire_mapping_of(MAPPING_BREAK, 0), 0);
}

/* The C library says 0 although nothing has changed if the new end is below the program's data. */
HOOK int brk(void *end)
{
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread = thread_hook_enter(frame);
    intptr_t before = syscall(SYS_brk, NULL);
    int status = REAL(brk)(end);
    intptr_t grown = thread && status == 0 ? syscall(SYS_brk, NULL) - before : 0;
    if (grown) {
        struct unwind_start start = UNWIND_START_HERE();
        hooks_map_record_brk(thread, frame, &start, (uintptr_t)(before + grown), grown);
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
        hooks_map_record_brk(thread, frame, &start, (uintptr_t)before + (uintptr_t)increment,
                             increment);
    }
    return before;
}
HOOKED(sbrk)

/* ---- Stacks of signal handlers ---- */

/* The stack that the call has set; 0: none, or not known. A program may have had the old one stored
 * in the place of the new one. */
static uintptr_t hooks_map_signal_stack(const stack_t *stack, const stack_t *old)
{
    stack_t now = {.ss_flags = SS_DISABLE};
    uintptr_t distance = (uintptr_t)old - (uintptr_t)stack;
    if (old && distance + sizeof now - 1 < 2 * sizeof now - 1) {
        if (!permitted_calls_is_forbidden(CALL_ALTSTACK))
            syscall(SYS_sigaltstack, NULL, &now);
        stack = &now;
    }
    return stack->ss_flags & SS_DISABLE ? 0 : (uintptr_t)stack->ss_sp;
}

/* Only the kernel has their addresses, and tells them to their own thread only. */
HOOK int sigaltstack(const stack_t *stack, stack_t *old)
{
    uintptr_t frame = HOOK_FRAME();
    int status = likely(real.sigaltstack) ? real.sigaltstack(stack, old)
                                          : (int)syscall(SYS_sigaltstack, stack, old);
    struct thread *thread = stack && status == 0 ? thread_hook_enter(frame) : NULL;
    if (thread)
        atomic_store_explicit(&thread->ring->signal_stack, hooks_map_signal_stack(stack, old),
                              memory_order_relaxed);
    return status;
}
HOOKED(sigaltstack)

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
