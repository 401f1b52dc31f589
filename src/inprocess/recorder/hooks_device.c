/* Hooks of the functions by which drivers of devices hand out memory (families.def, DEVICE). They
 * are called like those of hooks_family.c. A driver says by its result 0 that it did what was
 * asked; its results, its errors and what it writes go through unchanged. If such functions call
 * one another, only the outermost call is an event. What the driver allocates of the heap is
 * recorded as everybody's is. Runs inside the profiled program: no malloc, no stdio, errno as the
 * driver left it. */
#include "recorder/families.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include "interpose/real.h"
#include "model/device_space.h"
#include "recorder/hooks.h"
#include "recorder/kept_registers.h"
#include "recorder/session.h"
#include "recorder/unseen.h"
#include "wire/device_records.h"

#define PARAMETERS                                                                                 \
    uintptr_t a0, uintptr_t a1, uintptr_t a2, uintptr_t a3, uintptr_t a4,                          \
        const struct family_entry *entry
#define ARGUMENTS   a0, a1, a2, a3, a4
#define DEVICE_HOOK KEEPS_GENERAL static uintptr_t

struct device_call {
    const struct family_entry *entry;
    uintptr_t arguments[5];
};

enum { DEVICE_OUT_OF_MEMORY = 2 }; /* CUDA_ERROR_OUT_OF_MEMORY, hipErrorOutOfMemory */

static uintptr_t device_do(const struct device_call *call)
{
    const uintptr_t *at = call->arguments;
    return call->entry->original(at[0], at[1], at[2], at[3], at[4]);
}

static uintptr_t device_block(const struct device_call *call)
{
    int8_t block = call->entry->row->block;
    return block >= 0 ? call->arguments[block] : 0;
}

/* What the driver has written where the argument points to. */
static uintptr_t device_read(const struct device_call *call, int8_t argument)
{
    uintptr_t at = argument >= 0 ? call->arguments[argument] : 0;
    return at ? *(const uintptr_t *)at : 0;
}

/* ---- Calls in calls ---- */

/* As in hooks_pool.c: a longjmp may have left the hook. */
static bool device_is_nested(const struct thread *thread, uintptr_t frame)
{
    return thread_frame_is_nested(thread->device_frame, frame) &&
           ((const volatile uintptr_t *)thread->device_frame)[1] == thread->device_return;
}

static struct thread *device_enter(uintptr_t frame)
{
    struct thread *thread = thread_hook_enter(frame);
    return thread && !device_is_nested(thread, frame) ? thread : NULL;
}

static void device_leave(struct thread **thread)
{
    (*thread)->device_frame = 0;
}

static uintptr_t device_do_outermost(struct thread *thread, uintptr_t frame,
                                     const struct device_call *call)
{
    __attribute__((cleanup(device_leave))) struct thread *inside = thread;
    inside->device_frame = frame;
    inside->device_return = ((const uintptr_t *)frame)[1];
    return device_do(call);
}

/* ---- Records ---- */

static void device_tell(struct thread *thread, uintptr_t frame, uint32_t node, unsigned kind,
                        uintptr_t address, size_t bytes, unsigned said)
{
    thread_record_long_at(thread, frame, node, kind, address & WIRE_ADDRESS_MASK,
                          bytes < WIRE_ADDRESS_MASK ? bytes : WIRE_ADDRESS_MASK, said, 0);
}

/* Physical memory: is it of the host? `count` points to its properties, in which the kind of place
 * is the third number, and 1 is a device. */
static unsigned device_created_space(const struct device_call *call)
{
    const struct family_row *row = call->entry->row;
    const uint32_t *properties = (const uint32_t *)call->arguments[row->count];
    _Static_assert(DEVICE_SPACE_HIP_PINNED - DEVICE_SPACE_HIP ==
                       DEVICE_SPACE_CUDA_PINNED - DEVICE_SPACE_CUDA,
                   "spaces of both drivers have one order");
    unsigned host =
        properties && properties[2] > 1 ? DEVICE_SPACE_CUDA_PINNED - DEVICE_SPACE_CUDA : 0;
    return (row->kind + host) | WIRE_DEVICE_HANDLE;
}

struct device_new {
    uintptr_t address;
    size_t bytes;
    unsigned said;
};

/* What a call that succeeded has made. */
static struct device_new device_made(const struct device_call *call)
{
    const struct family_row *row = call->entry->row;
    struct device_new made = {device_read(call, row->block), call->arguments[row->size], row->kind};
    size_t bytes;
    if (row->does == FAMILY_DEVICE_REGISTERS)
        made.address = device_block(call);
    if (row->does == FAMILY_DEVICE_CREATES)
        made.said = device_created_space(call);
    if (row->does == FAMILY_DEVICE_PITCHES)
        made.bytes = __builtin_mul_overflow(made.bytes, device_read(call, row->count), &bytes)
                         ? SIZE_MAX
                         : bytes;
    return made;
}

/* ---- Hooks ---- */

DEVICE_HOOK device_allocates(PARAMETERS)
{
    KEEPS_VECTORS();
    const struct device_call call = {entry, {ARGUMENTS}};
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread = thread_paused ? NULL : device_enter(frame);
    if (!thread)
        return device_do(&call);
    struct unwind_start start = UNWIND_START_HERE();
    uint32_t node = thread_path_before(thread, frame, &start);
    uintptr_t result = device_do_outermost(thread, frame, &call);
    if ((int)result == DEVICE_OUT_OF_MEMORY)
        device_tell(thread, frame, node, WIRE_DEVICE_ALLOC | WIRE_FAILED, 0,
                    call.arguments[entry->row->size], entry->row->kind);
    if ((int)result != 0)
        return result;
    struct device_new made = device_made(&call);
    if (made.address)
        device_tell(thread, frame, node, WIRE_DEVICE_ALLOC, made.address, made.bytes, made.said);
    return result;
}

/* The life ends before the call, because another thread may get the address during the call. If the
 * driver refuses, the life goes on. */
DEVICE_HOOK device_frees(PARAMETERS)
{
    KEEPS_VECTORS();
    const struct device_call call = {entry, {ARGUMENTS}};
    uintptr_t frame = HOOK_FRAME(), block = device_block(&call);
    struct thread *thread = block ? device_enter(frame) : NULL;
    if (!thread)
        return device_do(&call);
    unsigned said =
        entry->row->kind | (entry->row->does == FAMILY_DEVICE_LETS_GO ? WIRE_DEVICE_HANDLE : 0);
    device_tell(thread, frame, 0, WIRE_DEVICE_FREE, block, 0, said);
    uintptr_t result = device_do_outermost(thread, frame, &call);
    if ((int)result != 0)
        device_tell(thread, frame, 0, WIRE_DEVICE_FREE | WIRE_FAILED, block, 0, said);
    return result;
}

static void device_tell_change(struct thread *thread, uintptr_t frame,
                               const struct device_call *call)
{
    const struct family_row *row = call->entry->row;
    unsigned handle = row->kind | WIRE_DEVICE_HANDLE;
    if (row->does == FAMILY_DEVICE_KEEPS)
        device_tell(thread, frame, 0, WIRE_DEVICE_HOLD, device_read(call, row->block), 0, handle);
    else if (row->does == FAMILY_DEVICE_MAPS)
        device_tell(thread, frame, 0, WIRE_DEVICE_HOLD, call->arguments[row->count],
                    device_block(call), handle);
    else if (row->does == FAMILY_DEVICE_UNMAPS)
        device_tell(thread, frame, 0, WIRE_DEVICE_UNMAP, device_block(call),
                    call->arguments[row->size], row->kind);
    else
        device_tell(thread, frame, 0, WIRE_DEVICE_END, 0, 0, row->kind);
}

DEVICE_HOOK device_changes(PARAMETERS)
{
    KEEPS_VECTORS();
    const struct device_call call = {entry, {ARGUMENTS}};
    uintptr_t frame = HOOK_FRAME();
    struct thread *thread = device_enter(frame);
    if (!thread)
        return device_do(&call);
    uintptr_t result = device_do_outermost(thread, frame, &call);
    if ((int)result == 0)
        device_tell_change(thread, frame, &call);
    return result;
}

/* ---- Functions that the driver hands out by their address ---- */

#if defined(__x86_64__)

/* A driver may hand out another function than the one that it exports. Then the program gets a
 * thunk, which calls the hook with a pointer to its slot, as a jump at the function's beginning
 * does. A slot stays for ever: the program may keep the address. */
enum { DEVICE_THUNKS = 64, DEVICE_SLOT_BYTES = 32, DEVICE_THUNK_BYTES = 32 };
struct device_slot {
    struct family_entry entry;
    const void *hook;
};
_Static_assert(sizeof(struct device_slot) == DEVICE_SLOT_BYTES &&
                   offsetof(struct device_slot, hook) == 24,
               "the thunks find their slots");

extern struct device_slot device_slots[DEVICE_THUNKS];
__attribute__((visibility("hidden"), used)) struct device_slot device_slots[DEVICE_THUNKS];
extern const char device_thunks[] __attribute__((visibility("hidden")));
static _Atomic unsigned device_slot_count; /* claimed, and more if there were none left */

__asm__(".pushsection .text\n"
        ".balign 32\n"
        ".hidden device_thunks\n"
        "device_thunks:\n"
        ".set device_slot, 0\n"
        ".rept 64\n"
        "endbr64\n"
        "leaq device_slots+device_slot(%rip), %r9\n"
        "jmpq *device_slots+device_slot+24(%rip)\n"
        ".balign 32\n"
        ".set device_slot, device_slot+32\n"
        ".endr\n"
        ".popsection\n");

static bool device_is_slot_of(const struct device_slot *slot, const struct family_row *row,
                              uintptr_t function)
{
    return (uintptr_t)__atomic_load_n(&slot->entry.original, __ATOMIC_ACQUIRE) == function &&
           slot->entry.row == row;
}

/* Without a lock, so that no fork can leave it locked: two threads that ask at once may take a slot
 * each. `original` is written last, and a slot without it is no function's. */
static unsigned device_slot_of(const struct family_row *row, uintptr_t function)
{
    unsigned count = atomic_load(&device_slot_count), i = 0;
    while (i < count && i < DEVICE_THUNKS && !device_is_slot_of(&device_slots[i], row, function))
        i++;
    if (i < count || i == DEVICE_THUNKS)
        return i;
    i = atomic_fetch_add(&device_slot_count, 1);
    if (i >= DEVICE_THUNKS)
        return DEVICE_THUNKS;
    device_slots[i].entry.row = row;
    device_slots[i].hook = family_hook_of(row);
    __atomic_store_n(&device_slots[i].entry.original,
                     (__typeof__(device_slots->entry.original))function, __ATOMIC_RELEASE);
    return i;
}

/* The thunk of a function; the function itself if there is no slot left. */
static uintptr_t device_thunk(const struct family_row *row, uintptr_t function)
{
    uintptr_t first = (uintptr_t)device_thunks;
    if (function - first < DEVICE_THUNKS * DEVICE_THUNK_BYTES)
        return function;
    unsigned slot = device_slot_of(row, function);
    if (slot < DEVICE_THUNKS)
        return first + (uintptr_t)slot * DEVICE_THUNK_BYTES;
    if (session_is_on())
        unseen_tell(row->kind == DEVICE_SPACE_HIP ? WIRE_UNSEEN_HIP : WIRE_UNSEEN_CUDA,
                    WIRE_UNSEEN_WHY_MANY, row->name, NULL);
    return function;
}

/* Before version 3.2 of CUDA addresses had 32 bits, and the functions without "_v2" still do.
 * Others are older and never changed: the run-time asks for cuMemFreeHost of version 2.0. */
static bool device_is_of_old_version(const struct device_call *call, const struct family_row *row)
{
    enum { ADDRESSES_OF_64_BITS = 3020 };
    size_t length = strlen(row->name);
    return strcmp(row->name + length - 3, "_v2") == 0 &&
           (int)call->arguments[call->entry->row->size] < ADDRESSES_OF_64_BITS;
}

static void device_replace_answer(const struct device_call *call)
{
    uintptr_t *answer = (uintptr_t *)device_block(call);
    const char *name = (const char *)call->arguments[0];
    if (!name || !answer || !*answer || real_is_moved((const void *)*answer))
        return;
    const struct family_row *row = families_device_row(name, call->entry->row->family);
    if (row && !device_is_of_old_version(call, row))
        *answer = device_thunk(row, *answer);
}

#else

static void device_replace_answer(const struct device_call *call)
{
    (void)call;
}

#endif

/* Without a recording too: the program may keep the address and be recorded later. */
DEVICE_HOOK device_asks(PARAMETERS)
{
    KEEPS_VECTORS();
    const struct device_call call = {entry, {ARGUMENTS}};
    uintptr_t result = device_do(&call);
    if ((int)result == 0)
        device_replace_answer(&call);
    return result;
}

const void *hooks_device_hook_of(const struct family_row *row)
{
    switch (row->does) {
    case FAMILY_DEVICE_ALLOCATES:
    case FAMILY_DEVICE_PITCHES:
    case FAMILY_DEVICE_CREATES:
    case FAMILY_DEVICE_REGISTERS:
        return device_allocates;
    case FAMILY_DEVICE_FREES:
    case FAMILY_DEVICE_LETS_GO:
        return device_frees;
    case FAMILY_DEVICE_ASKS:
        return device_asks;
    default:
        return device_changes;
    }
}
