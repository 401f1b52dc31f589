/* malloc and its family, as the program calls them. Runs inside the profiled program: no malloc of
 * our own, no stdio, errno as the real function left it. */
#include "recorder/hooks.h"

#include <errno.h>
#include <stdlib.h>

bool hooks_free_stacks;

/* Called by the loader before anything of ours has run: find the real functions first. */
#define NEED_REAL()                                                                                \
    do {                                                                                           \
        if (unlikely(!real.malloc) && !real_init())                                                \
            abort();                                                                               \
    } while (0)

HOOK void *malloc(size_t size)
{
    NEED_REAL();
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread = hook_enter(frame);
    if (unlikely(!thread))
        return real.malloc(size);
    void *block = CALL_REAL(thread, frame, real.malloc(size));
    struct unwind_start start = UNWIND_START_HERE();
    record_allocation(thread, frame, &start, WIRE_MALLOC, block, size, 0);
    return block;
}

HOOK void *calloc(size_t count, size_t size)
{
    NEED_REAL();
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread = hook_enter(frame);
    if (unlikely(!thread))
        return real.calloc(count, size);
    void *block = CALL_REAL(thread, frame, real.calloc(count, size));
    size_t bytes;
    if (unlikely(__builtin_mul_overflow(count, size, &bytes)))
        bytes = SIZE_MAX;
    struct unwind_start start = UNWIND_START_HERE();
    record_allocation(thread, frame, &start, WIRE_CALLOC, block, bytes, 0);
    return block;
}

/* realloc of a block: its old life ends before the real call, since another thread may be given
 * the address while the call is still under way; the new one begins after it. */
static inline __attribute__((always_inline)) void *
reallocate(struct thread *thread, uintptr_t frame, const struct unwind_start *start, void *old,
           size_t size)
{
    record_short(thread, frame, WIRE_REALLOC_BEGIN, (uintptr_t)old);
    void *block = CALL_REAL(thread, frame, real.realloc(old, size));
    if (likely(block))
        record_long(thread, frame, start, WIRE_REALLOC_END, (uintptr_t)block, size,
                    slack_of(thread, frame, block, size), 0);
    else
        record_long(thread, frame, start, WIRE_REALLOC_END | (size ? WIRE_FAILED : 0), 0, size, 0, 0);
    return block;
}

HOOK void *realloc(void *old, size_t size)
{
    NEED_REAL();
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread = hook_enter(frame);
    if (unlikely(!thread))
        return real.realloc(old, size);
    struct unwind_start start = UNWIND_START_HERE();
    if (likely(old))
        return reallocate(thread, frame, &start, old, size);
    void *block = CALL_REAL(thread, frame, real.realloc(NULL, size));
    record_allocation(thread, frame, &start, WIRE_MALLOC, block, size, 0);
    return block;
}

HOOK void *reallocarray(void *old, size_t count, size_t size)
{
    NEED_REAL();
    uintptr_t frame = HOOK_FRAME();
    size_t bytes;
    bool overflow = __builtin_mul_overflow(count, size, &bytes);
    struct thread *thread = hook_enter(frame);
    struct unwind_start start = UNWIND_START_HERE();
    if (unlikely(overflow)) {
        if (thread)
            record_allocation(thread, frame, &start, WIRE_MALLOC, NULL, SIZE_MAX, 0);
        errno = ENOMEM;
        return NULL;
    }
    if (unlikely(!thread))
        return real.realloc(old, bytes);
    if (likely(old))
        return reallocate(thread, frame, &start, old, bytes);
    void *block = CALL_REAL(thread, frame, real.realloc(NULL, bytes));
    record_allocation(thread, frame, &start, WIRE_MALLOC, block, bytes, 0);
    return block;
}

#define FREE_HOOK(call)                                                                            \
    do {                                                                                           \
        NEED_REAL();                                                                               \
        uintptr_t frame = HOOK_FRAME();                                                            \
        struct thread *thread = block ? hook_enter(frame) : NULL;                                  \
        if (likely(thread)) {                                                                      \
            struct unwind_start start = UNWIND_START_HERE();                                       \
            record_free(thread, frame, &start, block);                                             \
            if (unlikely(thread_real_nests)) {                                                     \
                INSIDE(thread, frame);                                                             \
                call;                                                                              \
                return;                                                                            \
            }                                                                                      \
        }                                                                                          \
        call;                                                                                      \
    } while (0)

HOOK void free(void *block)
{
    FREE_HOOK(real.free(block));
}

void cfree(void *block);
HOOK void cfree(void *block)
{
    FREE_HOOK(real.free(block));
}

void free_sized(void *block, size_t size);
HOOK void free_sized(void *block, size_t size)
{
    FREE_HOOK(real.free_sized ? real.free_sized(block, size) : real.free(block));
}

void free_aligned_sized(void *block, size_t alignment, size_t size);
HOOK void free_aligned_sized(void *block, size_t alignment, size_t size)
{
    FREE_HOOK(real.free_aligned_sized ? real.free_aligned_sized(block, alignment, size)
                                      : real.free(block));
}

#define ALIGNED_HOOK(call, size, alignment)                                                        \
    do {                                                                                           \
        NEED_REAL();                                                                               \
        uintptr_t frame = HOOK_FRAME();                                                            \
        struct thread *thread = hook_enter(frame);                                                 \
        if (unlikely(!thread))                                                                     \
            return call;                                                                           \
        void *block = CALL_REAL(thread, frame, call);                                              \
        struct unwind_start start = UNWIND_START_HERE();                                           \
        record_allocation(thread, frame, &start, WIRE_ALIGNED, block, size, log2_of(alignment));   \
        return block;                                                                              \
    } while (0)

void *memalign(size_t alignment, size_t size);
HOOK void *memalign(size_t alignment, size_t size)
{
    ALIGNED_HOOK(real.memalign(alignment, size), size, alignment);
}

HOOK void *aligned_alloc(size_t alignment, size_t size)
{
    ALIGNED_HOOK(real.aligned_alloc(alignment, size), size, alignment);
}

HOOK void *valloc(size_t size)
{
    ALIGNED_HOOK(real.valloc(size), size, 4096);
}

void *pvalloc(size_t size);
HOOK void *pvalloc(size_t size)
{
    ALIGNED_HOOK(real.pvalloc(size), size, 4096);
}

HOOK int posix_memalign(void **out, size_t alignment, size_t size)
{
    NEED_REAL();
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread = hook_enter(frame);
    if (unlikely(!thread))
        return real.posix_memalign(out, alignment, size);
    int error = CALL_REAL(thread, frame, real.posix_memalign(out, alignment, size));
    struct unwind_start start = UNWIND_START_HERE();
    record_allocation(thread, frame, &start, WIRE_ALIGNED, error ? NULL : *out, size,
                      log2_of(alignment));
    return error;
}
