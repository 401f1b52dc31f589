/* C++'s operator new and delete, every form. They have hooks of their own because an allocator that
 * brings its own operators (tcmalloc, jemalloc) does not call malloc from them. */
#include "recorder/hooks.h"

#include <stdlib.h>

/* Itanium C++ ABI names; size_t is "m" on LP64. */
#define NEW_OPERATORS(X)                                                                           \
    X(plain_new, _Znwm, WIRE_NEW, (size_t size), (size), 0)                                        \
    X(array_new, _Znam, WIRE_NEW_ARRAY, (size_t size), (size), 0)                                  \
    X(nothrow_new, _ZnwmRKSt9nothrow_t, WIRE_NEW, (size_t size, const void *tag), (size, tag), 0)  \
    X(nothrow_array_new, _ZnamRKSt9nothrow_t, WIRE_NEW_ARRAY, (size_t size, const void *tag),      \
      (size, tag), 0)                                                                              \
    X(aligned_new, _ZnwmSt11align_val_t, WIRE_NEW, (size_t size, size_t alignment),                \
      (size, alignment), alignment)                                                                \
    X(aligned_array_new, _ZnamSt11align_val_t, WIRE_NEW_ARRAY, (size_t size, size_t alignment),    \
      (size, alignment), alignment)                                                                \
    X(aligned_nothrow_new, _ZnwmSt11align_val_tRKSt9nothrow_t, WIRE_NEW,                           \
      (size_t size, size_t alignment, const void *tag), (size, alignment, tag), alignment)         \
    X(aligned_nothrow_array_new, _ZnamSt11align_val_tRKSt9nothrow_t, WIRE_NEW_ARRAY,               \
      (size_t size, size_t alignment, const void *tag), (size, alignment, tag), alignment)

#define DELETE_OPERATORS(X)                                                                        \
    X(plain_delete, _ZdlPv, (void *block), (block))                                                \
    X(array_delete, _ZdaPv, (void *block), (block))                                                \
    X(sized_delete, _ZdlPvm, (void *block, size_t size), (block, size))                            \
    X(sized_array_delete, _ZdaPvm, (void *block, size_t size), (block, size))                      \
    X(nothrow_delete, _ZdlPvRKSt9nothrow_t, (void *block, const void *tag), (block, tag))          \
    X(nothrow_array_delete, _ZdaPvRKSt9nothrow_t, (void *block, const void *tag), (block, tag))    \
    X(aligned_delete, _ZdlPvSt11align_val_t, (void *block, size_t alignment), (block, alignment))  \
    X(aligned_array_delete, _ZdaPvSt11align_val_t, (void *block, size_t alignment),                \
      (block, alignment))                                                                          \
    X(aligned_sized_delete, _ZdlPvmSt11align_val_t, (void *block, size_t size, size_t alignment),  \
      (block, size, alignment))                                                                    \
    X(aligned_sized_array_delete, _ZdaPvmSt11align_val_t,                                          \
      (void *block, size_t size, size_t alignment), (block, size, alignment))                      \
    X(aligned_nothrow_delete, _ZdlPvSt11align_val_tRKSt9nothrow_t,                                 \
      (void *block, size_t alignment, const void *tag), (block, alignment, tag))                   \
    X(aligned_nothrow_array_delete, _ZdaPvSt11align_val_tRKSt9nothrow_t,                           \
      (void *block, size_t alignment, const void *tag), (block, alignment, tag))

/* The real operators, looked up when first called: a C program's plug-in may bring them later. */
static struct {
#define X(field, symbol, kind, parameters, arguments, alignment) void *(*field) parameters;
    NEW_OPERATORS(X)
#undef X
#define X(field, symbol, parameters, arguments) void(*field) parameters;
    DELETE_OPERATORS(X)
#undef X
} operators;

void hooks_new_forget(void)
{
#define X(field, ...) __atomic_store_n(&operators.field, NULL, __ATOMIC_RELEASE);
    NEW_OPERATORS(X)
    DELETE_OPERATORS(X)
#undef X
}

/* Called without a C++ runtime in sight there is nobody who could throw; that cannot happen but by
 * a program calling the mangled name itself. */
static void *operator_find(const char *symbol)
{
    void *found = real_find_operator(symbol);
    if (!found)
        abort();
    return found;
}

#define OPERATOR(field, symbol)                                                                    \
    ({                                                                                             \
        __typeof__(operators.field) found_ = __atomic_load_n(&operators.field, __ATOMIC_RELAXED);  \
        if (unlikely(!found_)) {                                                                   \
            *(void **)&found_ = operator_find(#symbol);                                            \
            __atomic_store_n(&operators.field, found_, __ATOMIC_RELEASE);                          \
        }                                                                                          \
        found_;                                                                                    \
    })

#define CALL_INSIDE(thread, frame, call)                                                           \
    ({                                                                                             \
        INSIDE(thread, frame);                                                                     \
        uint64_t since_ = call_begins();                                                           \
        __typeof__(call) result_ = call;                                                           \
        (thread)->spent = call_took(since_);                                                       \
        result_;                                                                                   \
    })

/* A new that throws leaves no record here of its failure: the exception passes through, `inside`
 * is restored by its cleanup, and the failed malloc below was part of the real operator. */
#define X(field, symbol, kind, parameters, arguments, alignment)                                   \
    void *symbol parameters;                                                                       \
    HOOK_BODY void *symbol##_sampled parameters                                                    \
    {                                                                                              \
        uintptr_t frame = HOOK_FRAME();                                                            \
        void *(*call)parameters = OPERATOR(field, symbol);                                         \
        struct thread *thread = hook_enter(frame);                                                 \
        if (!thread)                                                                               \
            return call arguments;                                                                 \
        bool sampled = thread_samples(thread, size);                                               \
        void *block = CALL_INSIDE(thread, frame, call arguments);                                  \
        struct unwind_start start = UNWIND_START_HERE();                                           \
        if (sampled)                                                                               \
            sampled_allocation(thread, frame, &start, kind, block, size, log2_of(alignment));      \
        return block;                                                                              \
    }                                                                                              \
    HOOK_BODY void *symbol##_recorded parameters                                                   \
    {                                                                                              \
        uintptr_t frame = HOOK_FRAME();                                                            \
        void *(*call)parameters = OPERATOR(field, symbol);                                         \
        struct thread *thread = hook_enter(frame);                                                 \
        if (unlikely(!thread))                                                                     \
            return call arguments;                                                                 \
        struct unwind_start start = UNWIND_START_HERE();                                           \
        uint32_t node = path_before(thread, frame, &start);                                        \
        void *block = CALL_INSIDE(thread, frame, call arguments);                                  \
        record_allocation(thread, frame, node, kind, block, size, log2_of(alignment));             \
        return block;                                                                              \
    }                                                                                              \
    HOOK_BODY void *symbol##_inside parameters                                                     \
    {                                                                                              \
        INSIDE_ONLY();                                                                             \
        return OPERATOR(field, symbol) arguments;                                                  \
    }                                                                                              \
    HOOK void *symbol parameters                                                                   \
    {                                                                                              \
        if (likely(!sampled_filter))                                                               \
            return symbol##_recorded arguments;                                                    \
        return likely(sampling_passes(size)) ? symbol##_inside arguments                           \
                                             : symbol##_sampled arguments;                         \
    }
NEW_OPERATORS(X)
#undef X

/* What the real operator calls to free a block is let through, or not, as the operator itself. */
#define X(field, symbol, parameters, arguments)                                                    \
    void symbol parameters;                                                                        \
    HOOK_BODY void symbol##_sampled parameters                                                     \
    {                                                                                              \
        if (sampling_leaves(block)) {                                                              \
            OPERATOR(field, symbol) arguments;                                                     \
            return;                                                                                \
        }                                                                                          \
        uintptr_t frame = HOOK_FRAME();                                                            \
        void(*call) parameters = OPERATOR(field, symbol);                                          \
        struct thread *thread = hook_enter(frame);                                                 \
        if (!thread) {                                                                             \
            call arguments;                                                                        \
            return;                                                                                \
        }                                                                                          \
        struct unwind_start start = UNWIND_START_HERE();                                           \
        sampled_free(thread, frame, &start, block);                                                \
        INSIDE(thread, frame);                                                                     \
        call arguments;                                                                            \
    }                                                                                              \
    HOOK_BODY void symbol##_recorded parameters                                                    \
    {                                                                                              \
        uintptr_t frame = HOOK_FRAME();                                                            \
        void(*call) parameters = OPERATOR(field, symbol);                                          \
        struct thread *thread = block ? hook_enter(frame) : NULL;                                  \
        if (unlikely(!thread)) {                                                                   \
            call arguments;                                                                        \
            return;                                                                                \
        }                                                                                          \
        struct unwind_start start = UNWIND_START_HERE();                                           \
        record_free(thread, frame, &start, block, 0);                                              \
        uint64_t since = call_begins();                                                            \
        {                                                                                          \
            INSIDE(thread, frame);                                                                 \
            call arguments;                                                                        \
        }                                                                                          \
        record_spent(thread, frame, call_took(since));                                             \
    }                                                                                              \
    HOOK_BODY void symbol##_inside parameters                                                      \
    {                                                                                              \
        INSIDE_ONLY();                                                                             \
        OPERATOR(field, symbol) arguments;                                                         \
    }                                                                                              \
    HOOK void symbol parameters                                                                    \
    {                                                                                              \
        void(*call) parameters = __atomic_load_n(&operators.field, __ATOMIC_RELAXED);              \
        const uint8_t *filter = sampling_filter();                                                 \
        if (likely(!filter))                                                                       \
            symbol##_recorded arguments;                                                           \
        else if (unlikely(!call || !sampling_passes_free(filter, block)))                          \
            symbol##_sampled arguments;                                                            \
        else if (likely(sampling_is_direct()))                                                     \
            call arguments;                                                                        \
        else                                                                                       \
            symbol##_inside arguments;                                                             \
    }
DELETE_OPERATORS(X)
#undef X
