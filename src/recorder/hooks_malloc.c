/* malloc and its family, as the program calls them. Runs inside the profiled program: no malloc of
 * our own, no stdio, errno as the real function left it. */
#include "recorder/hooks.h"

#include <errno.h>
#include <stdlib.h>

/* Called by the loader before anything of ours has run: find the real functions first. Who records has
 * found them. */
#define NEED_REAL()                                                                                \
    do {                                                                                           \
        if (unlikely(!real.malloc) && !real_init())                                                \
            abort();                                                                               \
    } while (0)

/* `call` gives `result`; `block` is an expression of that. */
#define ALLOCATION_HOOK(type, name, parameters, arguments, kind, call, block, size, align_log2)    \
    HOOK_BODY type name##_sampled parameters                                                       \
    {                                                                                              \
        uintptr_t frame = HOOK_FRAME();                                                            \
        struct thread *thread = hook_enter(frame);                                                 \
        if (!thread)                                                                               \
            return call;                                                                           \
        bool sampled = thread_samples(thread, size);                                               \
        type result = CALL_REAL(thread, frame, call);                                              \
        struct unwind_start start = UNWIND_START_HERE();                                           \
        if (sampled)                                                                               \
            sampled_allocation(thread, frame, &start, kind, block, size, align_log2);              \
        return result;                                                                             \
    }                                                                                              \
    HOOK_BODY type name##_recorded parameters                                                      \
    {                                                                                              \
        uintptr_t frame = HOOK_FRAME();                                                            \
        struct thread *thread = hook_enter(frame);                                                 \
        if (unlikely(!thread)) {                                                                   \
            NEED_REAL();                                                                           \
            return call;                                                                           \
        }                                                                                          \
        struct unwind_start start = UNWIND_START_HERE();                                           \
        uint32_t node = path_before(thread, frame, &start);                                        \
        if (likely(thread_plain)) {                                                                \
            type result = call;                                                                    \
            record_plain(thread, frame, node, kind, block, size, align_log2);                      \
            return result;                                                                         \
        }                                                                                          \
        type result = CALL_REAL(thread, frame, call);                                              \
        record_allocation(thread, frame, node, kind, block, size, align_log2);                     \
        return result;                                                                             \
    }                                                                                              \
    HOOK_BODY type name##_inside parameters                                                        \
    {                                                                                              \
        INSIDE_ONLY();                                                                             \
        return call;                                                                               \
    }                                                                                              \
    HOOK type name parameters                                                                      \
    {                                                                                              \
        if (likely(!sampled_filter))                                                               \
            return name##_recorded arguments;                                                      \
        if (unlikely(!sampling_passes(size)))                                                      \
            return name##_sampled arguments;                                                       \
        return likely(!thread_real_nests) ? call : name##_inside arguments;                        \
    }

static inline size_t product(size_t count, size_t size)
{
    size_t bytes;
    return unlikely(__builtin_mul_overflow(count, size, &bytes)) ? SIZE_MAX : bytes;
}

void *memalign(size_t alignment, size_t size);
void *pvalloc(size_t size);
ALLOCATION_HOOK(void *, malloc, (size_t size), (size), WIRE_MALLOC, real.malloc(size), result, size,
                0)
ALLOCATION_HOOK(void *, calloc, (size_t count, size_t size), (count, size), WIRE_CALLOC,
                real.calloc(count, size), result, product(count, size), 0)
ALLOCATION_HOOK(void *, memalign, (size_t alignment, size_t size), (alignment, size), WIRE_ALIGNED,
                real.memalign(alignment, size), result, size, log2_of(alignment))
ALLOCATION_HOOK(void *, aligned_alloc, (size_t alignment, size_t size), (alignment, size),
                WIRE_ALIGNED, real.aligned_alloc(alignment, size), result, size, log2_of(alignment))
ALLOCATION_HOOK(void *, valloc, (size_t size), (size), WIRE_ALIGNED, real.valloc(size), result,
                size, 12)
ALLOCATION_HOOK(void *, pvalloc, (size_t size), (size), WIRE_ALIGNED, real.pvalloc(size), result,
                size, 12)
ALLOCATION_HOOK(int, posix_memalign, (void **out, size_t alignment, size_t size),
                (out, alignment, size), WIRE_ALIGNED, real.posix_memalign(out, alignment, size),
                result ? NULL : *out, size, log2_of(alignment))

/* realloc of a block: its old life ends before the real call, since another thread may be given
 * the address while the call is still under way; the new one begins after it. */
static inline __attribute__((always_inline)) void *
reallocate(struct thread *thread, uintptr_t frame, const struct unwind_start *start, void *old,
           size_t size)
{
    uint32_t node = path_before(thread, frame, start);
    record_short(thread, frame, WIRE_REALLOC_BEGIN, (uintptr_t)old);
    void *block = CALL_REAL(thread, frame, real.realloc(old, size));
    uint64_t spent = thread->spent;
    if (likely(block))
        record_long_at(thread, frame, node, WIRE_REALLOC_END, (uintptr_t)block, size,
                       slack_of(thread, frame, block, size), 0);
    else
        record_long_at(thread, frame, node, WIRE_REALLOC_END | (size ? WIRE_FAILED : 0), 0, size, 0,
                       0);
    record_spent(thread, frame, spent);
    return block;
}

HOOK_BODY void *realloc_sampled(void *old, size_t size)
{
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread = hook_enter(frame);
    if (!thread)
        return real.realloc(old, size);
    struct unwind_start start = UNWIND_START_HERE();
    if (old)
        return sampled_realloc(thread, frame, &start, old, size);
    bool sampled = thread_samples(thread, size);
    void *block = CALL_REAL(thread, frame, real.realloc(NULL, size));
    if (sampled)
        sampled_allocation(thread, frame, &start, WIRE_MALLOC, block, size, 0);
    return block;
}

HOOK_BODY void *realloc_recorded(void *old, size_t size)
{
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread = hook_enter(frame);
    if (unlikely(!thread)) {
        NEED_REAL();
        return real.realloc(old, size);
    }
    struct unwind_start start = UNWIND_START_HERE();
    if (likely(old))
        return reallocate(thread, frame, &start, old, size);
    uint32_t node = path_before(thread, frame, &start);
    void *block = CALL_REAL(thread, frame, real.realloc(NULL, size));
    record_allocation(thread, frame, node, WIRE_MALLOC, block, size, 0);
    return block;
}

HOOK_BODY void *realloc_inside(void *old, size_t size)
{
    INSIDE_ONLY();
    return real.realloc(old, size);
}

static inline __attribute__((always_inline)) void *sample_realloc(const uint8_t *filter,
                                                                    void *old, size_t size)
{
    if (unlikely(!sampling_passes_free(filter, old) || !sampling_passes(size)))
        return realloc_sampled(old, size);
    return likely(!thread_real_nests) ? real.realloc(old, size) : realloc_inside(old, size);
}

HOOK void *realloc(void *old, size_t size)
{
    const uint8_t *filter = sampling_filter();
    return likely(!filter) ? realloc_recorded(old, size) : sample_realloc(filter, old, size);
}

/* A product that overflows fails without a call, and is recorded in any case. */
HOOK_BODY void *reallocarray_overflows(void)
{
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread = hook_enter(frame);
    struct unwind_start start = UNWIND_START_HERE();
    if (thread)
        record_allocation(thread, frame, path_before(thread, frame, &start), WIRE_MALLOC, NULL,
                          SIZE_MAX, 0);
    errno = ENOMEM;
    return NULL;
}

HOOK void *reallocarray(void *old, size_t count, size_t size)
{
    size_t bytes;
    if (unlikely(__builtin_mul_overflow(count, size, &bytes)))
        return reallocarray_overflows();
    const uint8_t *filter = sampling_filter();
    return likely(!filter) ? realloc_recorded(old, bytes) : sample_realloc(filter, old, bytes);
}

/* Calls what ends the block's life, as the allocator's own business if need be. */
#define CALL_REAL_FREE(thread, frame, call)                                                        \
    do {                                                                                           \
        if (unlikely(thread_real_watched)) {                                                       \
            uint64_t since_ = call_begins();                                                       \
            {                                                                                      \
                INSIDE(thread, frame);                                                             \
                call;                                                                              \
            }                                                                                      \
            record_spent(thread, frame, call_took(since_));                                        \
            return;                                                                                \
        }                                                                                          \
        call;                                                                                      \
    } while (0)

#define FREE_HOOK(name, parameters, arguments, call)                                               \
    HOOK_BODY void name##_sampled parameters                                                       \
    {                                                                                              \
        if (sampling_leaves(block)) {                                                              \
            call;                                                                                  \
            return;                                                                                \
        }                                                                                          \
        uintptr_t frame = HOOK_FRAME();                                                            \
        struct thread *thread = hook_enter(frame);                                                 \
        if (!thread) {                                                                             \
            call;                                                                                  \
            return;                                                                                \
        }                                                                                          \
        struct unwind_start start = UNWIND_START_HERE();                                           \
        sampled_free(thread, frame, &start, block);                                                \
        CALL_REAL_FREE(thread, frame, call);                                                       \
    }                                                                                              \
    HOOK_BODY void name##_recorded parameters                                                      \
    {                                                                                              \
        uintptr_t frame = HOOK_FRAME();                                                            \
        struct thread *thread = block ? hook_enter(frame) : NULL;                                  \
        if (unlikely(!thread)) {                                                                   \
            NEED_REAL();                                                                           \
            call;                                                                                  \
            return;                                                                                \
        }                                                                                          \
        if (likely(thread_plain)) {                                                                \
            record_short(thread, frame, WIRE_FREE, (uintptr_t)block);                              \
            call;                                                                                  \
            return;                                                                                \
        }                                                                                          \
        struct unwind_start start = UNWIND_START_HERE();                                           \
        record_free(thread, frame, &start, block, 0);                                              \
        CALL_REAL_FREE(thread, frame, call);                                                       \
    }                                                                                              \
    HOOK_BODY void name##_inside parameters                                                        \
    {                                                                                              \
        INSIDE_ONLY();                                                                             \
        call;                                                                                      \
    }                                                                                              \
    HOOK void name parameters                                                                      \
    {                                                                                              \
        const uint8_t *filter = sampling_filter();                                                 \
        if (likely(!filter))                                                                       \
            name##_recorded arguments;                                                             \
        else if (unlikely(!sampling_passes_free(filter, block)))                                   \
            name##_sampled arguments;                                                              \
        else if (likely(sampling_is_direct()))                                                     \
            call;                                                                                  \
        else                                                                                       \
            name##_inside arguments;                                                               \
    }

void cfree(void *block);
void free_sized(void *block, size_t size);
void free_aligned_sized(void *block, size_t alignment, size_t size);
FREE_HOOK(free, (void *block), (block), real.free(block))
FREE_HOOK(cfree, (void *block), (block), real.free(block))
FREE_HOOK(free_sized, (void *block, size_t size), (block, size),
          real.free_sized ? real.free_sized(block, size) : real.free(block))
FREE_HOOK(free_aligned_sized, (void *block, size_t alignment, size_t size),
          (block, alignment, size),
          real.free_aligned_sized ? real.free_aligned_sized(block, alignment, size)
                                  : real.free(block))
