/* malloc and its family, as the program calls them: the real function, and the counters around it.
 * Shared by the preloaded library and the drop-in ones. Runs inside other programs: no malloc, no
 * stdio, errno as the real function left it.
 *
 * A block is counted after the real call that made it and before the one that frees it, because
 * after the free another thread may get the same address. A realloc changes the level once, by the
 * difference, so that the old block and the new one never count together. */
#include "counters/counting_hooks.h"

#include <errno.h>
#include <stdlib.h>

static bool counting_real_nests = true; /* count_real_nests without count_hide() */

/* Called by the loader before anything of ours has run: find the real functions first. */
void __attribute__((noinline, cold)) count_find_real(void)
{
    if (!real_init())
        abort();
    count_real_nests = counting_real_nests = !real_is_glibc() || real_is_passed_over();
}

/* ---- Calls within calls ----
 * A foreign malloc may call functions that we hook, and return another address than they did. So
 * only the outermost call of malloc's family is counted, and all calls from deeper on the stack
 * until it returns are parts of it. */

/* The frame of the outermost call, and its return address. While the call is under way, that
 * address is in the frame. The test is needed because longjmp() may leave a call. */
__thread uintptr_t count_outermost;
static __thread uintptr_t counting_outermost_returns_to;

enum { DEEPEST = 1 << 16 }; /* the most bytes of stack that an allocator uses */

static bool counting_hooks_is_part(uintptr_t frame)
{
    if (count_outermost == UINTPTR_MAX)
        return true; /* count_hide() */
    return frame < count_outermost && count_outermost - frame < DEEPEST &&
           ((const uintptr_t *)count_outermost)[1] == counting_outermost_returns_to;
}

/* False: an outer call is under way, and this one is a part of it. */
static inline bool counting_hooks_enter(const uintptr_t *frame)
{
    /* the malloc in front of ours, if there is one, has called ours */
    if (unlikely(!count_state.handed_on) && count_outermost != UINTPTR_MAX)
        count_state.handed_on = 1;
    if (unlikely(count_outermost) && counting_hooks_is_part((uintptr_t)frame))
        return false;
    count_outermost = (uintptr_t)frame;
    counting_outermost_returns_to = frame[1];
    return true;
}

static inline void counting_hooks_leave(void)
{
    count_outermost = 0;
}

/* Several threads may be hiding at once. All calls take the long way until the last of them has
 * ended. */
void count_hide(bool hide)
{
    static uint32_t hiding;
    if (hide) {
        NEED_REAL();
        __atomic_fetch_add(&hiding, 1, __ATOMIC_SEQ_CST);
        count_real_nests = true;
    } else if (__atomic_sub_fetch(&hiding, 1, __ATOMIC_SEQ_CST) == 0) {
        count_real_nests = counting_real_nests;
    }
    count_outermost = hide ? UINTPTR_MAX : 0;
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

/* Counts the block and returns it, so that a hook ends with this call and keeps nothing. Not for
 * nested calls. */
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

/* if the product overflows, no block is returned, and it is not used */
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

/* The real realloc returned no block: it has failed, or has freed the old block if 0 bytes were
 * requested. */
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
