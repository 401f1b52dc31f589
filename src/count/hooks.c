/* malloc and its family and the operators of C++, as the program calls them: the real function, and
 * the counters around it. Shared by the preloaded library and the drop-in ones. Runs inside other
 * programs: no malloc, no stdio, errno as the real function left it.
 *
 * A block is counted after the real call that made it and before the one that ends it, since in
 * between another thread may be given the same address. A realloc changes the level once, by the
 * difference: the old block and the new never count together. */
#include "count/counters.h"
#include "recorder/real.h"

#include <errno.h>
#include <stdlib.h>

#define HOOK __attribute__((visibility("default")))

/* Called by the loader before anything of ours has run: find the real functions first. */
static void __attribute__((noinline, cold)) find_real(void)
{
    if (!real_init())
        abort();
    count_real_nests = !real_is_libc();
}

#define NEED_REAL()                                                                                \
    do {                                                                                           \
        if (unlikely(!real.malloc))                                                                \
            find_real();                                                                           \
    } while (0)

/* ---- Calls within calls ----
 * A foreign malloc may call what we hook, and an operator new mostly does: then the block is
 * counted when the outer call returns it. It is the block that this thread has counted last. */

static inline void nested_begin(void)
{
    struct count_slot *slot = count_slot_current;
    if (likely(slot))
        slot->last = NULL;
}

static inline bool nested_counted(const struct count_slot *slot, const void *block)
{
    return slot && slot->last == block && block;
}

/* In place of the block that was counted last: a failure was. */
#define FAILURE ((void *)-1)

static void __attribute__((noinline)) failure(struct count_slot *slot)
{
    if (!slot || (slot->last == FAILURE && count_real_nests))
        return;
    slot->last = FAILURE;
    count_add(&slot->calls[COUNT_FAILED], 1);
}

static void *__attribute__((noinline)) count_any(enum count_kind kind, void *block, size_t size)
{
    struct count_slot *slot = count_slot_of_thread();
    if (unlikely(!block))
        failure(slot);
    else if (likely(!count_real_nests) || !nested_counted(slot, block))
        count_birth(slot, kind, block, size);
    return block;
}

/* Gives the block, so that a hook ends with it and has nothing to keep. Not of calls that nest. */
static inline __attribute__((always_inline)) void *count_allocation(enum count_kind kind,
                                                                    void *block, size_t size)
{
    return likely(count_common_birth(kind, block, size)) ? block : count_any(kind, block, size);
}

static void begin_any(void)
{
    NEED_REAL();
    if (count_real_nests)
        nested_begin();
}

#define ALLOCATION_HOOK(name, parameters, kind, arguments, size)                                   \
    static void *__attribute__((noinline)) any_##name parameters                                   \
    {                                                                                              \
        begin_any();                                                                               \
        return count_any(kind, real.name arguments, size);                                         \
    }                                                                                              \
    void *name parameters;                                                                         \
    HOOK void *name parameters                                                                     \
    {                                                                                              \
        if (unlikely(count_real_nests))                                                            \
            return any_##name arguments;                                                           \
        return count_allocation(kind, real.name arguments, size);                                  \
    }

ALLOCATION_HOOK(malloc, (size_t size), COUNT_MALLOC, (size), size)
ALLOCATION_HOOK(calloc, (size_t count, size_t size), COUNT_CALLOC, (count, size), count *size)
ALLOCATION_HOOK(memalign, (size_t alignment, size_t size), COUNT_ALIGNED, (alignment, size), size)
ALLOCATION_HOOK(aligned_alloc, (size_t alignment, size_t size), COUNT_ALIGNED, (alignment, size),
                size)
ALLOCATION_HOOK(valloc, (size_t size), COUNT_ALIGNED, (size), size)
ALLOCATION_HOOK(pvalloc, (size_t size), COUNT_ALIGNED, (size), size)

HOOK int posix_memalign(void **out, size_t alignment, size_t size)
{
    begin_any();
    int status = real.posix_memalign(out, alignment, size);
    count_any(COUNT_ALIGNED, status ? NULL : *out, size);
    return status;
}

/* ---- realloc ---- */

static void reallocated(struct count_slot *slot, void *block, uint64_t old_size, size_t size)
{
    if (old_size == LEDGER_UNKNOWN) {
        count_add(&slot->adopted_count, 1);
        count_birth(slot, COUNT_REALLOC, block, size);
        return;
    }
    if (unlikely(!ledger_put(block, size))) {
        __atomic_fetch_add(&count_state.lost, 1, __ATOMIC_RELAXED);
        count_level(slot, -(int64_t)old_size);
        return;
    }
    slot->last = block;
    count_add(&slot->calls[COUNT_REALLOC], 1);
    count_add(&slot->requested_bytes, size);
    count_level(slot, (int64_t)size - (int64_t)old_size);
    if (unlikely(count_observer)) {
        count_observer(false, old_size, size);
        count_observer(true, size, 0);
    }
}

/* What a real realloc that gave no block has done: freed the old one if 0 bytes were asked for. */
static void not_reallocated(struct count_slot *slot, void *old, uint64_t old_size, size_t size)
{
    if (size != 0)
        failure(slot);
    if (old_size == LEDGER_UNKNOWN)
        return;
    if (size != 0)
        ledger_put(old, old_size);
    else
        count_gone(slot, old_size);
}

static void *reallocate(void *old, size_t size)
{
    struct count_slot *slot = count_slot_of_thread();
    uint64_t old_size = ledger_take(old);
    void *block = real.realloc(old, size);
    if (unlikely(!slot))
        return block;
    if (unlikely(!block)) {
        not_reallocated(slot, old, old_size, size);
    } else if (unlikely(count_real_nests && nested_counted(slot, block))) {
        if (old_size != LEDGER_UNKNOWN) /* it has taken a new block, and freed ours unseen */
            count_gone(slot, old_size);
    } else {
        reallocated(slot, block, old_size, size);
    }
    return block;
}

HOOK void *realloc(void *old, size_t size)
{
    begin_any();
    return old ? reallocate(old, size) : count_any(COUNT_MALLOC, real.realloc(NULL, size), size);
}

HOOK void *reallocarray(void *old, size_t count, size_t size)
{
    size_t bytes;
    if (likely(!__builtin_mul_overflow(count, size, &bytes)))
        return realloc(old, bytes);
    nested_begin();
    failure(count_slot_of_thread());
    errno = ENOMEM;
    return NULL;
}

/* ---- free ---- */

#define FREE_HOOK(name, parameters, arguments, call)                                               \
    static void __attribute__((noinline)) any_##name parameters                                    \
    {                                                                                              \
        NEED_REAL();                                                                               \
        if (likely(block))                                                                         \
            count_death(block);                                                                    \
        call;                                                                                      \
    }                                                                                              \
    void name parameters;                                                                          \
    HOOK void name parameters                                                                      \
    {                                                                                              \
        if (likely(count_common_death(block)))                                                     \
            call;                                                                                  \
        else                                                                                       \
            any_##name arguments;                                                                  \
    }

FREE_HOOK(free, (void *block), (block), real.free(block))
FREE_HOOK(cfree, (void *block), (block), real.free(block))
FREE_HOOK(free_sized, (void *block, size_t size), (block, size),
          real.free_sized ? real.free_sized(block, size) : real.free(block))
FREE_HOOK(free_aligned_sized, (void *block, size_t alignment, size_t size),
          (block, alignment, size),
          real.free_aligned_sized ? real.free_aligned_sized(block, alignment, size)
                                  : real.free(block))

/* ---- operator new and delete ----
 * libstdc++'s call malloc and free, those of foreign allocators do not. An exception passes
 * through: nothing of ours is held meanwhile. */

/* Looked up when first called: a C program's plug-in may bring them, and take them away. */
static void *operators[24];
enum { FIRST_OPERATOR = __COUNTER__ + 1 };

static void *operator_find(unsigned number, const char *symbol)
{
    void *function = __atomic_load_n(&operators[number], __ATOMIC_RELAXED);
    if (likely(function))
        return function;
    function = real_find_operator(symbol);
    if (!function)
        abort(); /* a program without a C++ runtime called the mangled name itself */
    __atomic_store_n(&operators[number], function, __ATOMIC_RELAXED);
    return function;
}

int dlclose(void *handle);
HOOK int dlclose(void *handle)
{
    NEED_REAL();
    int status = real.dlclose(handle);
    for (unsigned i = 0; i < sizeof operators / sizeof *operators; i++)
        __atomic_store_n(&operators[i], NULL, __ATOMIC_RELAXED);
    return status;
}

#define OPERATOR(symbol) operator_find(__COUNTER__ - FIRST_OPERATOR, symbol)

static uint64_t failures_so_far(void)
{
    return count_slot_current ? count_slot_current->calls[COUNT_FAILED] : 0;
}

/* An aligned size may have been rounded up on its way to aligned_alloc: what was asked for counts.
 */
static void count_new(enum count_kind kind, void *block, size_t size, uint64_t failures)
{
    struct count_slot *slot = count_slot_of_thread();
    if (!slot)
        return;
    if (!block) {
        if (slot->calls[COUNT_FAILED] == failures)
            count_add(&slot->calls[COUNT_FAILED], 1);
        return;
    }
    if (!nested_counted(slot, block)) {
        count_birth(slot, kind, block, size);
        return;
    }
    uint64_t counted = ledger_size(block);
    if (counted == size)
        return;
    ledger_put(block, size);
    count_add(&slot->requested_bytes, size - counted);
    count_level(slot, (int64_t)size - (int64_t)counted);
    if (unlikely(count_corrected))
        count_corrected((int64_t)size - (int64_t)counted);
}

#define NEW_OPERATOR(symbol, kind, parameters, arguments)                                          \
    void *symbol parameters;                                                                       \
    HOOK void *symbol parameters                                                                   \
    {                                                                                              \
        NEED_REAL();                                                                               \
        void *(*call)parameters = (void *(*)parameters)OPERATOR(#symbol);                          \
        nested_begin();                                                                            \
        uint64_t failures = failures_so_far();                                                     \
        void *block = call arguments;                                                              \
        count_new(kind, block, size, failures);                                                    \
        return block;                                                                              \
    }

NEW_OPERATOR(_Znwm, COUNT_MALLOC, (size_t size), (size))
NEW_OPERATOR(_Znam, COUNT_MALLOC, (size_t size), (size))
NEW_OPERATOR(_ZnwmRKSt9nothrow_t, COUNT_MALLOC, (size_t size, const void *tag), (size, tag))
NEW_OPERATOR(_ZnamRKSt9nothrow_t, COUNT_MALLOC, (size_t size, const void *tag), (size, tag))
NEW_OPERATOR(_ZnwmSt11align_val_t, COUNT_ALIGNED, (size_t size, size_t align), (size, align))
NEW_OPERATOR(_ZnamSt11align_val_t, COUNT_ALIGNED, (size_t size, size_t align), (size, align))
NEW_OPERATOR(_ZnwmSt11align_val_tRKSt9nothrow_t, COUNT_ALIGNED,
             (size_t size, size_t align, const void *tag), (size, align, tag))
NEW_OPERATOR(_ZnamSt11align_val_tRKSt9nothrow_t, COUNT_ALIGNED,
             (size_t size, size_t align, const void *tag), (size, align, tag))

/* What the real one calls to free the block finds nothing known of it, and lets it pass. */
#define DELETE_OPERATOR(symbol, parameters, arguments)                                             \
    void symbol parameters;                                                                        \
    HOOK void symbol parameters                                                                    \
    {                                                                                              \
        NEED_REAL();                                                                               \
        void(*call) parameters = (void(*) parameters)OPERATOR(#symbol);                            \
        if (likely(block))                                                                         \
            count_death(block);                                                                    \
        call arguments;                                                                            \
    }

DELETE_OPERATOR(_ZdlPv, (void *block), (block))
DELETE_OPERATOR(_ZdaPv, (void *block), (block))
DELETE_OPERATOR(_ZdlPvm, (void *block, size_t size), (block, size))
DELETE_OPERATOR(_ZdaPvm, (void *block, size_t size), (block, size))
DELETE_OPERATOR(_ZdlPvRKSt9nothrow_t, (void *block, const void *tag), (block, tag))
DELETE_OPERATOR(_ZdaPvRKSt9nothrow_t, (void *block, const void *tag), (block, tag))
DELETE_OPERATOR(_ZdlPvSt11align_val_t, (void *block, size_t align), (block, align))
DELETE_OPERATOR(_ZdaPvSt11align_val_t, (void *block, size_t align), (block, align))
DELETE_OPERATOR(_ZdlPvmSt11align_val_t, (void *block, size_t size, size_t align),
                (block, size, align))
DELETE_OPERATOR(_ZdaPvmSt11align_val_t, (void *block, size_t size, size_t align),
                (block, size, align))
DELETE_OPERATOR(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *block, size_t align, const void *tag),
                (block, align, tag))
DELETE_OPERATOR(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *block, size_t align, const void *tag),
                (block, align, tag))
