/* Hooks of allocators' functions that were hooked at their beginnings (families.h). There is one
 * hook for each thing that a function does (enum family_does), whatever its name and the order of
 * its arguments. The function jumps to the hook, which gets the function's arguments and, as the
 * sixth, its family_entry. Runs inside the profiled program: no malloc of our own, no stdio, errno
 * as the real function left it. */
#include "recorder/families.h"

#include <string.h>
#include "recorder/hooks.h"
#include "recorder/kept_registers.h"

#define PARAMETERS                                                                                 \
    uintptr_t a0, uintptr_t a1, uintptr_t a2, uintptr_t a3, uintptr_t a4,                          \
        const struct family_entry *entry
#define ARGUMENTS   a0, a1, a2, a3, a4
#define FAMILY_HOOK KEEPS_GENERAL static uintptr_t

/* ---- Sizes and alignments from arguments ---- */

static size_t family_size(const struct family_call *call)
{
    const struct family_row *row = call->entry->row;
    size_t count = row->count >= 0 ? call->arguments[row->count] : 1, bytes;
    if (row->size < 0)
        return 0;
    return __builtin_mul_overflow(count, call->arguments[row->size], &bytes) ? SIZE_MAX : bytes;
}

/* jemalloc's flags have the logarithm of the alignment in their low six bits. */
static unsigned family_align_log2(const struct family_call *call)
{
    int align = call->entry->row->align;
    if (align < 0)
        return 0;
    uintptr_t value = call->arguments[align & (FAMILY_FLAGS - 1)];
    return align & FAMILY_FLAGS ? value & 63 : hooks_log2_of(value);
}

static uintptr_t family_do(const struct family_call *call)
{
    const uintptr_t *at = call->arguments;
    return call->entry->original(at[0], at[1], at[2], at[3], at[4]);
}

/* ---- The real call ---- */

static uintptr_t family_do_inside(struct thread *thread, uintptr_t frame,
                                  const struct family_call *call)
{
    __attribute__((cleanup(hooks_inside_end))) struct inside inside =
        hooks_inside_begin_anew(thread, frame);
    uint64_t since = hooks_call_begins();
    uintptr_t result = family_do(call);
    thread->spent = hooks_call_took(since);
    return result;
}

static size_t family_usable(struct thread *thread, uintptr_t frame, const struct family_call *call,
                            uintptr_t block)
{
    __attribute__((cleanup(hooks_inside_end))) struct inside inside =
        hooks_inside_begin_anew(thread, frame);
    return call->entry->usable ? call->entry->usable((const void *)block) : 0;
}

/* ---- Records ---- */

/* Is this allocation recorded, if not all are? */
static bool family_samples(struct thread *thread, size_t size)
{
    return likely(!hooks_sampling_filter()) || thread_samples(thread, size);
}

static size_t family_recorded_size(size_t size)
{
    return size < WIRE_ADDRESS_MASK ? size : WIRE_ADDRESS_MASK;
}

static uint64_t family_slack(struct thread *thread, uintptr_t frame, const struct family_call *call,
                             uintptr_t block, size_t size)
{
    size_t usable = family_usable(thread, frame, call, block);
    return usable > size ? usable - size : 0;
}

/* A sampled block enters the set before any thread can free it. */
static void family_record(struct thread *thread, uintptr_t frame, const struct family_call *call,
                          uint32_t node, uintptr_t block, size_t size)
{
    unsigned kind = call->entry->row->kind;
    uint64_t spent = thread->spent;
    unsigned align = thread_aligned(thread, family_align_log2(call));
    size = family_recorded_size(size);
    if (!block)
        thread_record_long_at(thread, frame, node, kind | WIRE_FAILED, 0, size, 0, align);
    else if (sampled_remember(thread, (void *)block))
        thread_record_long_at(thread, frame, node, kind, block, size,
                              family_slack(thread, frame, call, block, size), align);
    if (unlikely(pools_are_followed))
        pools_memory_begins(thread, block, size);
    hooks_record_spent(thread, frame, spent);
}

/* ---- Hooks ---- */

static uintptr_t family_block_of(const struct family_call *call, uintptr_t result)
{
    if (call->entry->row->does != FAMILY_HANDS_OUT)
        return result;
    return (int)result == 0 ? *(uintptr_t *)call->arguments[call->entry->row->block] : 0;
}

uintptr_t family_allocate(struct thread *thread, uintptr_t frame, const struct unwind_start *start,
                          const struct family_call *call)
{
    bool sampled = family_samples(thread, family_size(call));
    uint32_t node = sampled ? thread_path_before(thread, frame, start) : 0;
    uintptr_t result = family_do_inside(thread, frame, call);
    if (sampled)
        family_record(thread, frame, call, node, family_block_of(call, result), family_size(call));
    return result;
}

FAMILY_HOOK family_allocates(PARAMETERS)
{
    KEEPS_VECTORS();
    const struct family_call call = {entry, {ARGUMENTS}};
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread = thread_hook_enter(frame);
    if (!thread)
        return family_do(&call);
    struct unwind_start start = UNWIND_START_HERE();
    return family_allocate(thread, frame, &start, &call);
}

/* The size of a copy, and so whether it is sampled, is known only after the call. */
FAMILY_HOOK family_copies(PARAMETERS)
{
    KEEPS_VECTORS();
    const struct family_call call = {entry, {ARGUMENTS}};
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread = thread_hook_enter(frame);
    if (!thread)
        return family_do(&call);
    struct unwind_start start = UNWIND_START_HERE();
    uint32_t node = thread_path_before(thread, frame, &start);
    uintptr_t result = family_do_inside(thread, frame, &call);
    size_t size = result ? strlen((const char *)result) + 1 : 0;
    if (family_samples(thread, size))
        family_record(thread, frame, &call, node, result, size);
    return result;
}

/* The length of the block is not known, so its written pages are not asked for. */
static void family_record_free(struct thread *thread, uintptr_t frame,
                               const struct unwind_start *start, void *block)
{
    if (unlikely(pools_are_followed))
        pools_memory_ends(thread, frame, start, (uintptr_t)block);
    hooks_record_free_as(thread, frame, start, block, WIRE_FREE, WIRE_FREE_AT, 0);
}

static void family_free(struct thread *thread, uintptr_t frame, const struct unwind_start *start,
                        void *block)
{
    if (likely(!hooks_sampling_filter()))
        family_record_free(thread, frame, start, block);
    else if (!sampled_leaves(block))
        sampled_free(thread, frame, start, block);
}

uintptr_t family_release(struct thread *thread, uintptr_t frame, const struct unwind_start *start,
                         const struct family_call *call)
{
    family_free(thread, frame, start, (void *)call->arguments[call->entry->row->block]);
    uintptr_t result = family_do_inside(thread, frame, call);
    hooks_record_spent(thread, frame, thread->spent);
    return result;
}

FAMILY_HOOK family_releases(PARAMETERS)
{
    KEEPS_VECTORS();
    const struct family_call call = {entry, {ARGUMENTS}};
    void *block = (void *)call.arguments[entry->row->block];
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread = block ? thread_hook_enter(frame) : NULL;
    if (!thread)
        return family_do(&call);
    struct unwind_start start = UNWIND_START_HERE();
    return family_release(thread, frame, &start, &call);
}

/* The life of the old block ends before the real call, as in hooks_malloc.c. Nothing is recorded if
 * neither the old block is recorded nor the new one will be. */
struct family_resizing {
    const struct family_call *call;
    void *old;
    size_t size;
    uint32_t node;
    bool sampled, old_sampled;
};

static bool family_resize_begin(struct thread *thread, uintptr_t frame,
                                struct family_resizing *resizing, const struct unwind_start *start)
{
    unsigned newest;
    bool all = !hooks_sampling_filter();
    resizing->sampled = family_samples(thread, resizing->size);
    resizing->old_sampled = all || sampled_forget(thread, resizing->old, &newest);
    if (!resizing->sampled && !resizing->old_sampled)
        return false;
    resizing->node = thread_path_before(thread, frame, start);
    if (unlikely(pools_are_followed) && resizing->call->entry->row->does == FAMILY_RESIZES)
        pools_memory_ends(thread, frame, start, (uintptr_t)resizing->old);
    thread_record_short(thread, frame, WIRE_REALLOC_BEGIN, (uintptr_t)resizing->old);
    return true;
}

/* `block` 0: the old block stayed as it was, or was freed if `size` is 0 too. */
static void family_resize_end(struct thread *thread, uintptr_t frame,
                              const struct family_resizing *resizing, uintptr_t block, size_t size)
{
    uint64_t spent = thread->spent;
    unsigned aligned = thread_aligned(thread, 0);
    bool failed = !block && size;
    size = family_recorded_size(size);
    if (failed && resizing->old_sampled)
        sampled_remember(thread, resizing->old);
    if (block && resizing->sampled && sampled_remember(thread, (void *)block))
        thread_record_long_at(thread, frame, resizing->node, WIRE_REALLOC_END, block, size,
                              family_slack(thread, frame, resizing->call, block, size), aligned);
    else if (block)
        thread_record_long_at(thread, frame, resizing->node, WIRE_REALLOC_END, 0, size ? size : 1,
                              0, 0);
    else
        thread_record_long_at(thread, frame, resizing->node,
                              WIRE_REALLOC_END | (failed ? WIRE_FAILED : 0), 0,
                              resizing->sampled ? size : 0, 0, aligned);
    if (unlikely(pools_are_followed) && resizing->call->entry->row->does == FAMILY_RESIZES)
        pools_memory_begins(thread, block, size);
    hooks_record_spent(thread, frame, spent);
}

/* The block after the call; 0: the call failed. jemalloc's xallocx returns the usable size: below
 * `size` nothing has changed. */
static uintptr_t family_block_after(const struct family_resizing *resizing, uintptr_t result)
{
    return resizing->call->entry->row->does != FAMILY_GROWS ? result
           : result >= resizing->size                       ? (uintptr_t)resizing->old
                                                            : 0;
}

uintptr_t family_resize(struct thread *thread, uintptr_t frame, const struct unwind_start *start,
                        const struct family_call *call)
{
    struct family_resizing resizing = {.call = call,
                                       .old = (void *)call->arguments[call->entry->row->block],
                                       .size = family_size(call)};
    if (!family_resize_begin(thread, frame, &resizing, start))
        return family_do_inside(thread, frame, call);
    uintptr_t result = family_do_inside(thread, frame, call);
    family_resize_end(thread, frame, &resizing, family_block_after(&resizing, result),
                      resizing.size);
    return result;
}

/* Without an old block a new one is allocated, unless the function can only grow a block. */
FAMILY_HOOK family_resizes(PARAMETERS)
{
    KEEPS_VECTORS();
    const struct family_call call = {entry, {ARGUMENTS}};
    bool is_new = entry->row->does == FAMILY_RESIZES && !call.arguments[entry->row->block];
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread = thread_hook_enter(frame);
    if (!thread)
        return family_do(&call);
    struct unwind_start start = UNWIND_START_HERE();
    return is_new ? family_allocate(thread, frame, &start, &call)
                  : family_resize(thread, frame, &start, &call);
}

const void *family_hook_of(const struct family_row *row)
{
    static const void *const hooks[] = {
        [FAMILY_ALLOCATES] = family_allocates, [FAMILY_COPIES] = family_copies,
        [FAMILY_HANDS_OUT] = family_allocates, [FAMILY_RESIZES] = family_resizes,
        [FAMILY_GROWS] = family_resizes,       [FAMILY_GROWS_OR_NOT] = family_resizes,
        [FAMILY_RELEASES] = family_releases,
    };
    if (row->does >= FAMILY_DEVICE_ALLOCATES)
        return hooks_device_hook_of(row);
    return row->does >= FAMILY_POOL_ALLOCATES ? hooks_pool_hook_of(row) : hooks[row->does];
}
