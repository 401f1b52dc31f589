/* malloc and its family, as the program calls them. Runs inside the profiled program: no malloc of
 * our own, no stdio, errno as the real function left it. */
#include "recorder/hooks.h"

#include <errno.h>
#include <stdlib.h>

/* The loader may call a hook before any other code of ours has run: then the real functions are
 * looked up first. A thread that records has them. */
#define NEED_REAL()                                                                                \
    do {                                                                                           \
        if (unlikely(!real.malloc) && !real_init())                                                \
            abort();                                                                               \
    } while (0)

/* `call` is stored in `result`; `block` is an expression with `result`. */
#define ALLOCATION_HOOK(type, name, parameters, arguments, kind, call, block, size, align_log2)    \
    HOOK_BODY type name##_sampled parameters                                                       \
    {                                                                                              \
        uintptr_t frame = HOOK_FRAME();                                                            \
        struct thread *thread = thread_hook_enter(frame);                                          \
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
        struct thread *thread = thread_hook_enter(frame);                                          \
        if (unlikely(!thread)) {                                                                   \
            NEED_REAL();                                                                           \
            return call;                                                                           \
        }                                                                                          \
        struct unwind_start start = UNWIND_START_HERE();                                           \
        uint32_t node = thread_path_before(thread, frame, &start);                                 \
        if (likely(thread_plain)) {                                                                \
            type result = call;                                                                    \
            hooks_record_plain(thread, frame, node, kind, block, size, align_log2);                \
            return result;                                                                         \
        }                                                                                          \
        if (likely(thread_plain_but_large)) {                                                      \
            type result = call;                                                                    \
            hooks_record_but_large(thread, frame, node, kind, block, size, align_log2);            \
            return result;                                                                         \
        }                                                                                          \
        type result = CALL_REAL(thread, frame, call);                                              \
        hooks_record_allocation(thread, frame, node, kind, block, size, align_log2);               \
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
        if (unlikely(!sampled_passes(size)))                                                       \
            return name##_sampled arguments;                                                       \
        return likely(!thread_real_nests) ? call : name##_inside arguments;                        \
    }

static inline size_t hooks_malloc_product(size_t count, size_t size)
{
    size_t bytes;
    return unlikely(__builtin_mul_overflow(count, size, &bytes)) ? SIZE_MAX : bytes;
}

#define PRODUCT hooks_malloc_product
#define ALLOCATION(name, libraries, parameters, arguments, kind, bytes, alignment)                 \
    void *name parameters;                                                                         \
    ALLOCATION_HOOK(void *, name, parameters, arguments, WIRE_##kind, real.name arguments, result, \
                    bytes, hooks_log2_of(alignment))                                               \
    HOOKED(name)
#define ALLOCATION_OUT(name, libraries, parameters, arguments, kind, bytes, alignment)             \
    ALLOCATION_HOOK(int, name, parameters, arguments, WIRE_##kind, real.name arguments,            \
                    result ? NULL : *out, bytes, hooks_log2_of(alignment))                         \
    HOOKED(name)
/* Makes, behind the hooks of these names, malloc_recorded, malloc_sampled, malloc_inside,
 * calloc_recorded, calloc_sampled, calloc_inside, memalign_recorded, memalign_sampled,
 * memalign_inside, aligned_alloc_recorded, aligned_alloc_sampled, aligned_alloc_inside,
 * posix_memalign_recorded, posix_memalign_sampled, posix_memalign_inside, valloc_recorded,
 * valloc_sampled, valloc_inside, pvalloc_recorded, pvalloc_sampled and pvalloc_inside. */
#include "interpose/functions.def"

/* realloc of a block. The old block's life is recorded to end before the real call, because another
 * thread may get the address during the call. The new block's life begins after the call. */
static inline __attribute__((always_inline)) void *
hooks_malloc_reallocate(struct thread *thread, uintptr_t frame, const struct unwind_start *start,
                        void *old, size_t size)
{
    uint32_t node = thread_path_before(thread, frame, start);
    if (unlikely(pools_are_followed))
        pools_memory_ends(thread, frame, start, (uintptr_t)old);
    thread_record_short(thread, frame, WIRE_REALLOC_BEGIN, (uintptr_t)old);
    void *block = CALL_REAL(thread, frame, real.realloc(old, size));
    uint64_t spent = thread->spent;
    size_t slack = likely(block) ? hooks_slack_of(thread, frame, block, size) : 0;
    if (likely(block))
        thread_record_long_at(thread, frame, node, WIRE_REALLOC_END, (uintptr_t)block, size, slack,
                              0);
    else
        thread_record_long_at(thread, frame, node, WIRE_REALLOC_END | (size ? WIRE_FAILED : 0), 0,
                              size, 0, 0);
    hooks_note_large(thread, block, block ? size + slack : 0);
    if (unlikely(pools_are_followed))
        pools_memory_begins(thread, (uintptr_t)block, size);
    hooks_record_spent(thread, frame, spent);
    return block;
}

/* The same if thread_plain. */
static inline __attribute__((always_inline)) void *
hooks_malloc_reallocate_plain(struct thread *thread, uintptr_t frame,
                              const struct unwind_start *start, void *old, size_t size)
{
    uint32_t node = thread_path_before(thread, frame, start);
    thread_record_short(thread, frame, WIRE_REALLOC_BEGIN, (uintptr_t)old);
    void *block = real.realloc(old, size);
    if (likely(block || size))
        hooks_record_plain(thread, frame, node, WIRE_REALLOC_END, block, size, 0);
    else /* realloc(old, 0) has freed the block, and has not failed */
        thread_record_long_at(thread, frame, node, WIRE_REALLOC_END, 0, 0, 0, 0);
    return block;
}

HOOK_BODY void *realloc_sampled(void *old, size_t size)
{
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread = thread_hook_enter(frame);
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
    struct thread *thread = thread_hook_enter(frame);
    if (unlikely(!thread)) {
        NEED_REAL();
        return real.realloc(old, size);
    }
    struct unwind_start start = UNWIND_START_HERE();
    if (likely(old && thread_plain))
        return hooks_malloc_reallocate_plain(thread, frame, &start, old, size);
    if (old)
        return hooks_malloc_reallocate(thread, frame, &start, old, size);
    uint32_t node = thread_path_before(thread, frame, &start);
    void *block = CALL_REAL(thread, frame, real.realloc(NULL, size));
    hooks_record_allocation(thread, frame, node, WIRE_MALLOC, block, size, 0);
    return block;
}

HOOK_BODY void *realloc_inside(void *old, size_t size)
{
    INSIDE_ONLY();
    return real.realloc(old, size);
}

static inline __attribute__((always_inline)) void *
hooks_malloc_sample_realloc(const uint8_t *filter, void *old, size_t size)
{
    if (unlikely(!sampled_passes_free(filter, old) || !sampled_passes(size)))
        return realloc_sampled(old, size);
    return likely(!thread_real_nests) ? real.realloc(old, size) : realloc_inside(old, size);
}

HOOK void *realloc(void *old, size_t size)
{
    const uint8_t *filter = hooks_sampling_filter();
    return likely(!filter) ? realloc_recorded(old, size)
                           : hooks_malloc_sample_realloc(filter, old, size);
}
HOOKED(realloc)

/* If the product overflows, there is no real call, and the failure is always recorded. */
HOOK_BODY void *reallocarray_overflows(void)
{
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread = thread_hook_enter(frame);
    struct unwind_start start = UNWIND_START_HERE();
    if (thread)
        hooks_record_allocation(thread, frame, thread_path_before(thread, frame, &start),
                                WIRE_MALLOC, NULL, SIZE_MAX, 0);
    errno = ENOMEM;
    return NULL;
}

HOOK void *reallocarray(void *old, size_t count, size_t size)
{
    size_t bytes;
    if (unlikely(__builtin_mul_overflow(count, size, &bytes)))
        return reallocarray_overflows();
    const uint8_t *filter = hooks_sampling_filter();
    return likely(!filter) ? realloc_recorded(old, bytes)
                           : hooks_malloc_sample_realloc(filter, old, bytes);
}
HOOKED(reallocarray)

/* Calls the real function that frees the block, with INSIDE and timed if need be. */
#define CALL_REAL_FREE(thread, frame, call)                                                        \
    do {                                                                                           \
        if (unlikely(thread_real_watched)) {                                                       \
            uint64_t since_ = hooks_call_begins();                                                 \
            {                                                                                      \
                INSIDE(thread, frame);                                                             \
                call;                                                                              \
            }                                                                                      \
            hooks_record_spent(thread, frame, hooks_call_took(since_));                            \
            return;                                                                                \
        }                                                                                          \
        call;                                                                                      \
    } while (0)

#define FREE_HOOK(name, parameters, arguments, call)                                               \
    HOOK_BODY void name##_sampled parameters                                                       \
    {                                                                                              \
        if (sampled_leaves(block)) {                                                               \
            call;                                                                                  \
            return;                                                                                \
        }                                                                                          \
        uintptr_t frame = HOOK_FRAME();                                                            \
        struct thread *thread = thread_hook_enter(frame);                                          \
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
        struct thread *thread = block ? thread_hook_enter(frame) : NULL;                           \
        if (unlikely(!thread)) {                                                                   \
            NEED_REAL();                                                                           \
            call;                                                                                  \
            return;                                                                                \
        }                                                                                          \
        if (likely(thread_plain)) {                                                                \
            thread_record_short(thread, frame, WIRE_FREE, (uintptr_t)block);                       \
            call;                                                                                  \
            return;                                                                                \
        }                                                                                          \
        if (likely(thread_plain_but_large && usable_of_header(block) - 1 < HOOKS_PAGE - 1)) {      \
            thread_record_short(thread, frame, WIRE_FREE, (uintptr_t)block);                       \
            call;                                                                                  \
            return;                                                                                \
        }                                                                                          \
        struct unwind_start start = UNWIND_START_HERE();                                           \
        hooks_record_free(thread, frame, &start, block, 0);                                        \
        CALL_REAL_FREE(thread, frame, call);                                                       \
    }                                                                                              \
    HOOK_BODY void name##_inside parameters                                                        \
    {                                                                                              \
        INSIDE_ONLY();                                                                             \
        call;                                                                                      \
    }                                                                                              \
    HOOK void name parameters                                                                      \
    {                                                                                              \
        const uint8_t *filter = hooks_sampling_filter();                                           \
        if (likely(!filter))                                                                       \
            name##_recorded arguments;                                                             \
        else if (unlikely(!sampled_passes_free(filter, block)))                                    \
            name##_sampled arguments;                                                              \
        else if (likely(hooks_sampling_is_direct()))                                               \
            call;                                                                                  \
        else                                                                                       \
            name##_inside arguments;                                                               \
    }

#define RELEASE(name, libraries, parameters, arguments, call)                                      \
    void name parameters;                                                                          \
    FREE_HOOK(name, parameters, arguments, call)                                                   \
    HOOKED(name)
/* Makes, behind the hooks of these names, free_recorded, free_sampled, free_inside,
 * free_sized_recorded, free_sized_sampled, free_sized_inside, free_aligned_sized_recorded,
 * free_aligned_sized_sampled and free_aligned_sized_inside. */
#include "interpose/functions.def"

HOOKED_TOO(cfree, free)
