/* malloc and its family and the operators of C++, as the program calls them: the real function, and
 * the counters around it. Shared by the preloaded library and the drop-in ones. Runs inside other
 * programs: no malloc, no stdio, errno as the real function left it.
 *
 * A block is counted after the real call that made it and before the one that ends it, since in
 * between another thread may be given the same address. A realloc changes the level once, by the
 * difference: the old block and the new never count together. */
#include "counters/counters.h"
#include "counters/own_operators.h"
#include "interpose/hooked.h"
#include "interpose/real.h"

#include <errno.h>
#include <stdlib.h>

#define HOOK __attribute__((visibility("default")))

/* Called by the loader before anything of ours has run: find the real functions first. */
void __attribute__((noinline, cold)) count_find_real(void)
{
    if (!real_init())
        abort();
    count_real_nests = !real_is_glibc() || real_is_passed_over();
}

#define NEED_REAL()                                                                                \
    do {                                                                                           \
        if (unlikely(!real.malloc))                                                                \
            count_find_real();                                                                     \
    } while (0)

/* ---- Calls within calls ----
 * A foreign malloc may call what we hook, and return another address than the inner call did. Therefore
 * the outermost call of malloc's family counts, and all calls from deeper on the stack until it returns
 * are parts of it. */

/* The outermost call's frame; beside it lies, as long as that call is under way, the address that it
 * returns to: longjmp() leaves a call without a word. */
__thread uintptr_t count_outermost;
static __thread uintptr_t outermost_returns_to;

enum { DEEPEST = 1 << 16 }; /* bytes of stack that an allocator takes at most */

static bool counting_hooks_is_part(uintptr_t frame)
{
    if (count_outermost == UINTPTR_MAX)
        return true; /* count_hide() */
    return frame < count_outermost && count_outermost - frame < DEEPEST &&
           ((const uintptr_t *)count_outermost)[1] == outermost_returns_to;
}

/* False: an outer call is under way, and this one is a part of it. */
static inline bool counting_hooks_enter(const uintptr_t *frame)
{
    /* Whoever stands in front of ours hands on. */
    if (unlikely(!count_state.handed_on) && count_outermost != UINTPTR_MAX)
        count_state.handed_on = 1;
    if (unlikely(count_outermost) && counting_hooks_is_part((uintptr_t)frame))
        return false;
    count_outermost = (uintptr_t)frame;
    outermost_returns_to = frame[1];
    return true;
}

static inline void counting_hooks_leave(void)
{
    count_outermost = 0;
}

void count_hide(bool hide)
{
    static bool nested;
    if (hide) {
        NEED_REAL();
        nested = count_real_nests;
        count_real_nests = true;
    } else {
        count_real_nests = nested;
    }
    count_outermost = hide ? UINTPTR_MAX : 0;
}

/* The operators of C++ call malloc, and leave by exceptions, for which they allocate: there each call
 * counts, and the address tells which one is the operator's. It is the block that this thread has
 * counted last. */
static inline void counting_hooks_nested_begin(void)
{
    struct count_slot *slot = count_slot_current;
    if (likely(slot))
        slot->last = NULL;
}

static inline bool counting_hooks_nested_counted(const struct count_slot *slot, const void *block)
{
    return slot && slot->last == block && block;
}

static void __attribute__((noinline)) counting_hooks_failure(struct count_slot *slot)
{
    if (slot)
        count_add(&slot->calls[COUNT_FAILED], 1);
}

static void *__attribute__((noinline))
counting_hooks_count_any(enum count_kind kind, void *block, size_t size)
{
    struct count_slot *slot = count_slot_of_thread();
    if (unlikely(!block))
        counting_hooks_failure(slot);
    else
        count_birth(slot, kind, block, size);
    return block;
}

/* Gives the block, so that a hook ends with it and has nothing to keep. Not of calls that nest. */
static inline __attribute__((always_inline)) void *
counting_hooks_count_allocation(enum count_kind kind, void *block, size_t size)
{
    return likely(count_common_birth(kind, block, size))
               ? block
               : counting_hooks_count_any(kind, block, size);
}

#define ALLOCATION_HOOK(name, parameters, kind, arguments, size)                                   \
    static void *__attribute__((noinline)) any_##name parameters                                   \
    {                                                                                              \
        NEED_REAL();                                                                               \
        if (!counting_hooks_enter(__builtin_frame_address(0)))                                     \
            return real.name arguments;                                                            \
        void *taken = real.name arguments;                                                         \
        counting_hooks_leave();                                                                    \
        return counting_hooks_count_any(kind, taken, size);                                        \
    }                                                                                              \
    void *name parameters;                                                                         \
    HOOK void *name parameters                                                                     \
    {                                                                                              \
        if (unlikely(count_real_nests))                                                            \
            return any_##name arguments;                                                           \
        return counting_hooks_count_allocation(kind, real.name arguments, size);                   \
    }

/* Where it overflows no block is returned, and the product does not matter. */
#define PRODUCT(count, size) ((count) * (size))

#define ALLOCATION(name, libraries, parameters, arguments, kind, bytes, alignment)                 \
    ALLOCATION_HOOK(name, parameters, COUNT_##kind, arguments, bytes)                              \
    HOOKED(name)
#define ALLOCATION_OUT(name, libraries, parameters, arguments, kind, bytes, alignment)             \
    int name parameters;                                                                           \
    HOOK int name parameters                                                                       \
    {                                                                                              \
        NEED_REAL();                                                                               \
        if (!counting_hooks_enter(__builtin_frame_address(0)))                                     \
            return real.name arguments;                                                            \
        int status = real.name arguments;                                                          \
        counting_hooks_leave();                                                                    \
        counting_hooks_count_any(COUNT_##kind, status ? NULL : *out, bytes);                       \
        return status;                                                                             \
    }                                                                                              \
    HOOKED(name)
/* Makes, behind the hooks of these names, any_malloc, any_calloc, any_memalign,
 * any_aligned_alloc, any_valloc and any_pvalloc. */
#include "interpose/functions.def"

/* ---- realloc ---- */

static void counting_hooks_reallocated(struct count_slot *slot, const void *old, void *block,
                                       uint64_t old_size, size_t size)
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
    if (unlikely(count_log))
        count_log(old, old_size, block, size);
}

/* What a real realloc that gave no block has done: freed the old one if 0 bytes were asked for. */
static void counting_hooks_not_reallocated(struct count_slot *slot, void *old, uint64_t old_size,
                                           size_t size)
{
    if (size != 0)
        counting_hooks_failure(slot);
    if (old_size == LEDGER_UNKNOWN)
        return;
    if (size != 0)
        ledger_put(old, old_size);
    else
        count_gone(slot, old_size);
}

static void *counting_hooks_reallocate(void *old, size_t size)
{
    struct count_slot *slot = count_slot_of_thread();
    uint64_t old_size = ledger_take(old);
    if (unlikely(old_size == LEDGER_UNKNOWN))
        count_see_unknown(slot, old);
    void *block = real.realloc(old, size);
    counting_hooks_leave();
    if (unlikely(!slot))
        return block;
    if (unlikely(!block)) {
        counting_hooks_not_reallocated(slot, old, old_size, size);
    } else {
        counting_hooks_reallocated(slot, old, block, old_size, size);
    }
    return block;
}

HOOK void *realloc(void *old, size_t size)
{
    NEED_REAL();
    if (!counting_hooks_enter(__builtin_frame_address(0)))
        return real.realloc(old, size);
    if (old)
        return counting_hooks_reallocate(old, size);
    void *block = real.realloc(NULL, size);
    counting_hooks_leave();
    return counting_hooks_count_any(COUNT_MALLOC, block, size);
}
HOOKED(realloc)

HOOK void *reallocarray(void *old, size_t count, size_t size)
{
    size_t bytes;
    if (likely(!__builtin_mul_overflow(count, size, &bytes)))
        return realloc(old, bytes);
    counting_hooks_failure(count_slot_of_thread());
    errno = ENOMEM;
    return NULL;
}
HOOKED(reallocarray)

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

#define RELEASE(name, libraries, parameters, arguments, call)                                      \
    FREE_HOOK(name, parameters, arguments, call)                                                   \
    HOOKED(name)
/* Makes, behind the hooks of these names, any_free, any_free_sized and any_free_aligned_sized. */
#include "interpose/functions.def"

HOOKED_TOO(cfree, free)

/* ---- operator new and delete ----
 * libstdc++'s call malloc and free, those of foreign allocators do not. An exception passes
 * through: nothing of ours is held meanwhile. */

/* Looked up when first called: a C program's plug-in may bring them, and take them away. */
enum counted_operator {
#define NEW(name, ...)    OPERATOR_##name,
#define DELETE(name, ...) OPERATOR_##name,
#include "interpose/functions.def"
    OPERATORS
};
static void *operators[OPERATORS];

static void *counting_hooks_find_operator(enum counted_operator number, const char *symbol)
{
    void *function = __atomic_load_n(&operators[number], __ATOMIC_RELAXED);
    if (likely(function))
        return function;
    function = real_find_operator(symbol);
    if (!function)
        function = own_operator(symbol);
    if (!function)
        abort(); /* functions.def has a row that own_operators.c lacks */
    __atomic_store_n(&operators[number], function, __ATOMIC_RELAXED);
    return function;
}

int dlclose(void *handle);
HOOK int dlclose(void *handle)
{
    int status = REAL(dlclose)(handle);
    for (unsigned i = 0; i < OPERATORS; i++)
        __atomic_store_n(&operators[i], NULL, __ATOMIC_RELAXED);
    return status;
}
HOOKED(dlclose)

#define OPERATOR(name) counting_hooks_find_operator(OPERATOR_##name, #name)

static uint64_t counting_hooks_failures_so_far(void)
{
    return count_slot_current ? count_slot_current->calls[COUNT_FAILED] : 0;
}

/* A malloc of the program's own behind operator new has put something in front of the block. */
static bool counting_hooks_nested_around(const struct count_slot *slot, const void *block)
{
    uint64_t size = slot->last ? ledger_size(slot->last) : LEDGER_UNKNOWN;
    return size != LEDGER_UNKNOWN && (uintptr_t)block - (uintptr_t)slot->last < size;
}

/* The block that was counted last is this one. An aligned size may have been rounded up on its way to
 * aligned_alloc, and what stands in front of a block adds to its size: what was asked for counts. */
static void counting_hooks_put_right(struct count_slot *slot, void *block, size_t size)
{
    uint64_t counted = ledger_size(block);
    if (slot->last != block)
        counted = ledger_take(slot->last);
    else if (counted == size)
        return;
    ledger_put(block, size);
    slot->last = block;
    count_add(&slot->requested_bytes, size - counted);
    count_level(slot, (int64_t)size - (int64_t)counted);
    if (unlikely(count_corrected))
        count_corrected((int64_t)size - (int64_t)counted);
}

static void counting_hooks_count_new(enum count_kind kind, void *block, size_t size,
                                     uint64_t failures)
{
    struct count_slot *slot = count_slot_of_thread();
    if (!slot)
        return;
    if (!block) {
        if (slot->calls[COUNT_FAILED] == failures)
            count_add(&slot->calls[COUNT_FAILED], 1);
        return;
    }
    if (counting_hooks_nested_counted(slot, block) || counting_hooks_nested_around(slot, block))
        counting_hooks_put_right(slot, block, size);
    else
        count_birth(slot, kind, block, size);
}

#define NEW(name, libraries, demangled, parameters, arguments, kind, counted, alignment)           \
    void *name parameters;                                                                         \
    HOOK void *name parameters                                                                     \
    {                                                                                              \
        NEED_REAL();                                                                               \
        void *(*call)parameters = (void *(*)parameters)OPERATOR(name);                             \
        counting_hooks_nested_begin();                                                             \
        uint64_t failures = counting_hooks_failures_so_far();                                      \
        void *taken = call arguments;                                                              \
        counting_hooks_count_new(COUNT_##counted, taken, size, failures);                          \
        return taken;                                                                              \
    }                                                                                              \
    HOOKED(name)

/* What the real one calls to free the block finds nothing known of it, and lets it pass. */
static inline void counting_hooks_delete(void *block)
{
    count_death(block);
    if (likely(count_slot_current))
        count_slot_current->last = block;
}

#define DELETE(name, libraries, demangled, parameters, arguments)                                  \
    void name parameters;                                                                          \
    HOOK void name parameters                                                                      \
    {                                                                                              \
        NEED_REAL();                                                                               \
        void(*call) parameters = (void(*) parameters)OPERATOR(name);                               \
        if (likely(block))                                                                         \
            counting_hooks_delete(block);                                                          \
        call arguments;                                                                            \
    }                                                                                              \
    HOOKED(name)
#include "interpose/functions.def"
