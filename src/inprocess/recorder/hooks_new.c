/* Hooks of every form of C++'s operator new and delete. They are needed beside the hooks of malloc,
 * because the operators of some allocators (tcmalloc, jemalloc) do not call malloc. */
#include "recorder/hooks.h"

#include <stdlib.h>

/* The real operators, looked up at their first call, because a plug-in of a C program may bring
 * them later. */
static struct {
#define NEW(name, libraries, demangled, parameters, ...)    void *(*name)parameters;
#define DELETE(name, libraries, demangled, parameters, ...) void(*name) parameters;
#include "interpose/functions.def"
} hooks_new_operators;

void hooks_new_forget(void)
{
#define NEW(name, ...)    __atomic_store_n(&hooks_new_operators.name, NULL, __ATOMIC_RELEASE);
#define DELETE(name, ...) __atomic_store_n(&hooks_new_operators.name, NULL, __ATOMIC_RELEASE);
#include "interpose/functions.def"
}

/* Without a C++ runtime there is no operator. That happens only if a program calls the mangled name
 * itself. */
static void *hooks_new_find_operator(const char *symbol)
{
    void *found = real_find_operator(symbol);
    if (!found)
        abort();
    return found;
}

#define OPERATOR(name)                                                                             \
    ({                                                                                             \
        __typeof__(hooks_new_operators.name) found_ =                                              \
            __atomic_load_n(&hooks_new_operators.name, __ATOMIC_RELAXED);                          \
        if (unlikely(!found_)) {                                                                   \
            *(void **)&found_ = hooks_new_find_operator(#name);                                    \
            __atomic_store_n(&hooks_new_operators.name, found_, __ATOMIC_RELEASE);                 \
        }                                                                                          \
        found_;                                                                                    \
    })

#define CALL_INSIDE(thread, frame, call)                                                           \
    ({                                                                                             \
        INSIDE(thread, frame);                                                                     \
        uint64_t since_ = hooks_call_begins();                                                     \
        __typeof__(call) result_ = call;                                                           \
        (thread)->spent = hooks_call_took(since_);                                                 \
        result_;                                                                                   \
    })

/* If a new throws, its failure is not recorded: the exception passes through, the clean-up restores
 * `inside`, and the failed malloc was part of the real operator. */
#define NEW(name, libraries, demangled, parameters, arguments, kind, counted, alignment)           \
    void *name parameters;                                                                         \
    HOOK_BODY void *name##_sampled parameters                                                      \
    {                                                                                              \
        uintptr_t frame = HOOK_FRAME();                                                            \
        void *(*call)parameters = OPERATOR(name);                                                  \
        struct thread *thread = thread_hook_enter(frame);                                          \
        if (!thread)                                                                               \
            return call arguments;                                                                 \
        bool sampled = thread_samples(thread, size);                                               \
        void *block = CALL_INSIDE(thread, frame, call arguments);                                  \
        struct unwind_start start = UNWIND_START_HERE();                                           \
        if (sampled)                                                                               \
            sampled_allocation(thread, frame, &start, WIRE_##kind, block, size,                    \
                               hooks_log2_of(alignment));                                          \
        return block;                                                                              \
    }                                                                                              \
    HOOK_BODY void *name##_recorded parameters                                                     \
    {                                                                                              \
        uintptr_t frame = HOOK_FRAME();                                                            \
        void *(*call)parameters = OPERATOR(name);                                                  \
        struct thread *thread = thread_hook_enter(frame);                                          \
        if (unlikely(!thread))                                                                     \
            return call arguments;                                                                 \
        struct unwind_start start = UNWIND_START_HERE();                                           \
        uint32_t node = thread_path_before(thread, frame, &start);                                 \
        void *block = CALL_INSIDE(thread, frame, call arguments);                                  \
        hooks_record_allocation(thread, frame, node, WIRE_##kind, block, size,                     \
                                hooks_log2_of(alignment));                                         \
        return block;                                                                              \
    }                                                                                              \
    HOOK_BODY void *name##_inside parameters                                                       \
    {                                                                                              \
        INSIDE_ONLY();                                                                             \
        return OPERATOR(name) arguments;                                                           \
    }                                                                                              \
    HOOK void *name parameters                                                                     \
    {                                                                                              \
        if (likely(!sampled_filter))                                                               \
            return name##_recorded arguments;                                                      \
        return likely(sampled_passes(size)) ? name##_inside arguments : name##_sampled arguments;  \
    }                                                                                              \
    HOOKED(name)
#include "interpose/functions.def"

/* The function that the real operator calls to free a block passes the filter if the operator
 * did. */
#define DELETE(name, libraries, demangled, parameters, arguments)                                  \
    void name parameters;                                                                          \
    HOOK_BODY void name##_sampled parameters                                                       \
    {                                                                                              \
        if (sampled_leaves(block)) {                                                               \
            OPERATOR(name) arguments;                                                              \
            return;                                                                                \
        }                                                                                          \
        uintptr_t frame = HOOK_FRAME();                                                            \
        void(*call) parameters = OPERATOR(name);                                                   \
        struct thread *thread = thread_hook_enter(frame);                                          \
        if (!thread) {                                                                             \
            call arguments;                                                                        \
            return;                                                                                \
        }                                                                                          \
        struct unwind_start start = UNWIND_START_HERE();                                           \
        sampled_free(thread, frame, &start, block);                                                \
        INSIDE(thread, frame);                                                                     \
        call arguments;                                                                            \
    }                                                                                              \
    HOOK_BODY void name##_recorded parameters                                                      \
    {                                                                                              \
        uintptr_t frame = HOOK_FRAME();                                                            \
        void(*call) parameters = OPERATOR(name);                                                   \
        struct thread *thread = block ? thread_hook_enter(frame) : NULL;                           \
        if (unlikely(!thread)) {                                                                   \
            call arguments;                                                                        \
            return;                                                                                \
        }                                                                                          \
        struct unwind_start start = UNWIND_START_HERE();                                           \
        hooks_record_free(thread, frame, &start, block, 0);                                        \
        uint64_t since = hooks_call_begins();                                                      \
        {                                                                                          \
            INSIDE(thread, frame);                                                                 \
            call arguments;                                                                        \
        }                                                                                          \
        hooks_record_spent(thread, frame, hooks_call_took(since));                                 \
    }                                                                                              \
    HOOK_BODY void name##_inside parameters                                                        \
    {                                                                                              \
        INSIDE_ONLY();                                                                             \
        OPERATOR(name) arguments;                                                                  \
    }                                                                                              \
    HOOK void name parameters                                                                      \
    {                                                                                              \
        void(*call) parameters = __atomic_load_n(&hooks_new_operators.name, __ATOMIC_RELAXED);     \
        const uint8_t *filter = hooks_sampling_filter();                                           \
        if (likely(!filter))                                                                       \
            name##_recorded arguments;                                                             \
        else if (unlikely(!call || !sampled_passes_free(filter, block)))                           \
            name##_sampled arguments;                                                              \
        else if (likely(hooks_sampling_is_direct()))                                               \
            call arguments;                                                                        \
        else                                                                                       \
            name##_inside arguments;                                                               \
    }                                                                                              \
    HOOKED(name)
/* Makes, behind the hooks of these names, _Znwm_recorded, _Znwm_sampled, _Znwm_inside,
 * _Znam_recorded, _Znam_sampled, _Znam_inside, _ZnwmRKSt9nothrow_t_recorded,
 * _ZnwmRKSt9nothrow_t_sampled, _ZnwmRKSt9nothrow_t_inside, _ZnamRKSt9nothrow_t_recorded,
 * _ZnamRKSt9nothrow_t_sampled, _ZnamRKSt9nothrow_t_inside, _ZnwmSt11align_val_t_recorded,
 * _ZnwmSt11align_val_t_sampled, _ZnwmSt11align_val_t_inside, _ZnamSt11align_val_t_recorded,
 * _ZnamSt11align_val_t_sampled, _ZnamSt11align_val_t_inside,
 * _ZnwmSt11align_val_tRKSt9nothrow_t_recorded, _ZnwmSt11align_val_tRKSt9nothrow_t_sampled,
 * _ZnwmSt11align_val_tRKSt9nothrow_t_inside, _ZnamSt11align_val_tRKSt9nothrow_t_recorded,
 * _ZnamSt11align_val_tRKSt9nothrow_t_sampled, _ZnamSt11align_val_tRKSt9nothrow_t_inside,
 * _ZdlPv_recorded, _ZdlPv_sampled, _ZdlPv_inside, _ZdaPv_recorded, _ZdaPv_sampled, _ZdaPv_inside,
 * _ZdlPvm_recorded, _ZdlPvm_sampled, _ZdlPvm_inside, _ZdaPvm_recorded, _ZdaPvm_sampled,
 * _ZdaPvm_inside, _ZdlPvRKSt9nothrow_t_recorded, _ZdlPvRKSt9nothrow_t_sampled,
 * _ZdlPvRKSt9nothrow_t_inside, _ZdaPvRKSt9nothrow_t_recorded, _ZdaPvRKSt9nothrow_t_sampled,
 * _ZdaPvRKSt9nothrow_t_inside, _ZdlPvSt11align_val_t_recorded, _ZdlPvSt11align_val_t_sampled,
 * _ZdlPvSt11align_val_t_inside, _ZdaPvSt11align_val_t_recorded, _ZdaPvSt11align_val_t_sampled,
 * _ZdaPvSt11align_val_t_inside, _ZdlPvmSt11align_val_t_recorded, _ZdlPvmSt11align_val_t_sampled,
 * _ZdlPvmSt11align_val_t_inside, _ZdaPvmSt11align_val_t_recorded, _ZdaPvmSt11align_val_t_sampled,
 * _ZdaPvmSt11align_val_t_inside, _ZdlPvSt11align_val_tRKSt9nothrow_t_recorded,
 * _ZdlPvSt11align_val_tRKSt9nothrow_t_sampled, _ZdlPvSt11align_val_tRKSt9nothrow_t_inside,
 * _ZdaPvSt11align_val_tRKSt9nothrow_t_recorded, _ZdaPvSt11align_val_tRKSt9nothrow_t_sampled and
 * _ZdaPvSt11align_val_tRKSt9nothrow_t_inside. */
#include "interpose/functions.def"
