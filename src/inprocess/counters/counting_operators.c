/* C++'s operators, as the program calls them: the real one, and the counters around it. libstdc++'s
 * operators call malloc and free, those of foreign allocators do not. An exception may pass
 * through, because nothing is held meanwhile. Runs inside other programs: no malloc, no stdio,
 * errno as the real function left it. Not in the static archive, where only malloc is counted. */
#include "counters/counting_hooks.h"
#include "counters/own_operators.h"

#include <stdlib.h>

/* An operator may call malloc, and may throw an exception, which is allocated too. So each malloc
 * within is counted, and the address tells which one is the operator's: it is the block that this
 * thread has counted last. */
static inline void counting_operators_nested_begin(void)
{
    struct count_slot *slot = count_slot_current;
    if (likely(slot))
        slot->last = NULL;
}

static inline bool counting_operators_nested_counted(const struct count_slot *slot,
                                                     const void *block)
{
    return slot && slot->last == block && block;
}

/* Looked up at the first call, because a plug-in of a C program may bring the operators, and may be
 * unloaded. */
enum counted_operator {
#define NEW(name, ...)    OPERATOR_##name,
#define DELETE(name, ...) OPERATOR_##name,
#include "interpose/functions.def"
    OPERATORS
};
static void *operators[OPERATORS];

static void *counting_operators_find_operator(enum counted_operator number, const char *symbol)
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

#define OPERATOR(name) counting_operators_find_operator(OPERATOR_##name, #name)

static uint64_t counting_operators_failures_so_far(void)
{
    return count_slot_current ? count_slot_current->calls[COUNT_FAILED] : 0;
}

/* Is the block within the last counted one? Then a malloc of the program's own behind operator new
 * has put a header in front of the block. */
static bool counting_operators_nested_around(const struct count_slot *slot, const void *block)
{
    uint64_t size = slot->last ? ledger_size(slot->last) : LEDGER_UNKNOWN;
    return size != LEDGER_UNKNOWN && (uintptr_t)block - (uintptr_t)slot->last < size;
}

/* Corrects the last counted block to this address and size. Operator new may have rounded an
 * aligned size up, and a header adds to the size; only the bytes that the program requested
 * count. */
static void counting_operators_put_right(struct count_slot *slot, void *block, size_t size)
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

static void counting_operators_count_new(enum count_kind kind, void *block, size_t size,
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
    if (counting_operators_nested_counted(slot, block) ||
        counting_operators_nested_around(slot, block))
        counting_operators_put_right(slot, block, size);
    else
        count_birth(slot, kind, block, size);
}

#define NEW(name, libraries, demangled, parameters, arguments, kind, counted, alignment)           \
    void *name parameters;                                                                         \
    HOOK void *name parameters                                                                     \
    {                                                                                              \
        NEED_REAL();                                                                               \
        void *(*call)parameters = (void *(*)parameters)OPERATOR(name);                             \
        counting_operators_nested_begin();                                                         \
        uint64_t failures = counting_operators_failures_so_far();                                  \
        void *taken = call arguments;                                                              \
        counting_operators_count_new(COUNT_##counted, taken, size, failures);                      \
        return taken;                                                                              \
    }                                                                                              \
    HOOKED(name)

/* The free that the real operator calls then finds an unknown block, and does not count it. */
static inline void counting_operators_delete(void *block)
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
            counting_operators_delete(block);                                                      \
        call arguments;                                                                            \
    }                                                                                              \
    HOOKED(name)
#include "interpose/functions.def"
