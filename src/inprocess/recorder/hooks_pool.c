/* Hooks of functions that the user has named (--allocator-functions): one hook for each thing that
 * such a function does. They are called like those of hooks_family.c. If such functions call one
 * another, only the outermost call is an event. Blocks that they get from malloc are the memory of
 * their own blocks (pools.h). */
#include "recorder/families.h"

#include "recorder/hooks.h"
#include "recorder/kept_registers.h"
#include "recorder/pools.h"

#define PARAMETERS                                                                                 \
    uintptr_t a0, uintptr_t a1, uintptr_t a2, uintptr_t a3, uintptr_t a4,                          \
        const struct family_entry *entry
#define ARGUMENTS a0, a1, a2, a3, a4
#define POOL_HOOK KEEPS_GENERAL static uintptr_t

struct pool_call {
    const struct family_entry *entry;
    uintptr_t arguments[5];
};

/* 0: there is no such argument. */
static uintptr_t pool_argument(const struct pool_call *call, int8_t number)
{
    return number >= 0 ? call->arguments[number] : 0;
}

static size_t pool_size(const struct pool_call *call)
{
    const struct family_row *row = call->entry->row;
    size_t count = row->count >= 0 ? call->arguments[row->count] : 1, bytes;
    return __builtin_mul_overflow(count, pool_argument(call, row->size), &bytes) ? SIZE_MAX : bytes;
}

static uintptr_t pool_do(const struct pool_call *call)
{
    const uintptr_t *at = call->arguments;
    return call->entry->original(at[0], at[1], at[2], at[3], at[4]);
}

/* Is a hook of a pool's function at work further out on this stack? If a longjmp has left it, its
 * return address is overwritten as soon as the stack is used again. */
static bool pool_is_nested(const struct thread *thread, uintptr_t frame)
{
    return thread_frame_is_nested(thread->pool_frame, frame) &&
           ((const volatile uintptr_t *)thread->pool_frame)[1] == thread->pool_return;
}

static struct thread *pool_enter(uintptr_t frame, const struct pool_call *call)
{
    struct thread *thread = call->entry->row->is_idle ? NULL : thread_hook_enter(frame);
    return thread && !pool_is_nested(thread, frame) ? thread : NULL;
}

static void pool_leave(struct thread **thread)
{
    (*thread)->pool_frame = 0;
}

/* The clean-up runs also if an exception passes. */
static uintptr_t pool_do_outermost(struct thread *thread, uintptr_t frame,
                                   const struct pool_call *call)
{
    __attribute__((cleanup(pool_leave))) struct thread *inside = thread;
    inside->pool_frame = frame;
    inside->pool_return = ((const uintptr_t *)frame)[1];
    return pool_do(call);
}

static void pool_record(struct thread *thread, uintptr_t frame, const struct unwind_start *start,
                        uint32_t node, const struct span *block)
{
    pools_block_begins(thread, frame, start, block);
    thread_record_long_at(thread, frame, node, WIRE_POOL, block->address,
                          block->bytes & WIRE_ADDRESS_MASK, 0, 0);
}

static uintptr_t pool_block_of(const struct pool_call *call, uintptr_t result)
{
    int8_t out = call->entry->row->out;
    if (out < 0)
        return result;
    return (int)result == 0 && call->arguments[out] ? *(uintptr_t *)call->arguments[out] : 0;
}

static uintptr_t pool_allocate(struct thread *thread, uintptr_t frame,
                               const struct unwind_start *start, const struct pool_call *call)
{
    uint32_t node = thread_path_before(thread, frame, start);
    uintptr_t result = pool_do_outermost(thread, frame, call);
    uintptr_t block = pool_block_of(call, result);
    uintptr_t pool = pool_argument(call, call->entry->row->pool);
    if (block)
        pool_record(thread, frame, start, node, &(struct span){block, pool_size(call), pool});
    return result;
}

/* The old block's life ends before the call, because another thread may get its place during the
 * call. If the call fails, the block begins again. */
static uintptr_t pool_resize(struct thread *thread, uintptr_t frame,
                             const struct unwind_start *start, const struct pool_call *call)
{
    struct span old = {0};
    uintptr_t address = pool_argument(call, call->entry->row->block);
    uint32_t node = thread_path_before(thread, frame, start);
    bool is_known = pools_block_ends(thread, frame, start, address, &old);
    uintptr_t result = pool_do_outermost(thread, frame, call);
    uintptr_t block = pool_block_of(call, result);
    uintptr_t pool = pool_argument(call, call->entry->row->pool);
    if (block)
        pool_record(thread, frame, start, node,
                    &(struct span){block, pool_size(call), pool ? pool : old.tag});
    else if (is_known && pool_size(call))
        pool_record(thread, frame, start, node, &old);
    return result;
}

/* Without an old block a resize is an allocation. A function that only allocates has no argument
 * for the old block. */
POOL_HOOK pool_allocates_or_resizes(PARAMETERS)
{
    KEEPS_VECTORS();
    const struct pool_call call = {entry, {ARGUMENTS}};
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread = thread_paused ? NULL : pool_enter(frame, &call);
    if (!thread)
        return pool_do(&call);
    struct unwind_start start = UNWIND_START_HERE();
    return pool_argument(&call, entry->row->block) ? pool_resize(thread, frame, &start, &call)
                                                   : pool_allocate(thread, frame, &start, &call);
}

POOL_HOOK pool_frees(PARAMETERS)
{
    KEEPS_VECTORS();
    const struct pool_call call = {entry, {ARGUMENTS}};
    struct span block;
    uintptr_t address = pool_argument(&call, entry->row->block);
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread = address ? pool_enter(frame, &call) : NULL;
    if (!thread)
        return pool_do(&call);
    struct unwind_start start = UNWIND_START_HERE();
    pools_block_ends(thread, frame, &start, address, &block);
    return pool_do_outermost(thread, frame, &call);
}

/* The end of a pool may end others, so nested calls count too. */
POOL_HOOK pool_ends(PARAMETERS)
{
    KEEPS_VECTORS();
    const struct pool_call call = {entry, {ARGUMENTS}};
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread = entry->row->is_idle ? NULL : thread_hook_enter(frame);
    if (!thread)
        return pool_do(&call);
    struct unwind_start start = UNWIND_START_HERE();
    pools_pool_ends(thread, frame, &start, pool_argument(&call, entry->row->pool));
    return pool_do(&call);
}

const void *hooks_pool_hook_of(const struct family_row *row)
{
    switch (row->does) {
    case FAMILY_POOL_ALLOCATES:
    case FAMILY_POOL_RESIZES:
        return pool_allocates_or_resizes;
    case FAMILY_POOL_FREES:
        return pool_frees;
    default:
        return pool_ends;
    }
}
