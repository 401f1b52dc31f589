/* Gives numbers to the names of regions and marks (user_names.h), by a hash table over the names in
 * the shared memory. A look-up takes no lock, because a slot is filled once, after its name was
 * written. */
#include "recorder/user_names.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include "base/hash.h"
#include "recorder/shared.h"
#include "unwind/signal_lock.h"
#include "wire/wire.h"

enum { SLOTS = 2 * WIRE_NAMES, UNTIL_LAST = WIRE_NAMES - 1 };
_Static_assert(WIRE_NAMES <= UINT16_MAX, "a number fits into a slot");

/* In memory that is empty in the child of a fork, as the shared memory is. */
struct user_names {
    struct lock lock;
    _Atomic(struct wire_name *) names; /* in the shared memory */
    uint32_t count;                    /* number 0 included; 0: there is no chunk yet */
    _Atomic uint16_t slots[SLOTS];     /* open addressing, linear probing; 0: empty */
};
static struct user_names *names;

void names_renew(void)
{
    names = NULL;
}

struct user_names_text {
    char bytes[WIRE_NAME_BYTES];
    size_t length;
    uint32_t hash;
};

/* A name that is too long is cut at the end of a character. */
static struct user_names_text user_names_text_of(const char *name)
{
    struct user_names_text text = {.length = 0};
    while (text.length < WIRE_NAME_BYTES - 1 && name[text.length])
        text.length++;
    while (text.length && name[text.length] && ((unsigned char)name[text.length] & 0xc0) == 0x80)
        text.length--;
    memcpy(text.bytes, name, text.length);
    text.hash = (uint32_t)hash_bytes(text.bytes, text.length);
    return text;
}

static bool user_names_is_it(const struct wire_name *name, const struct user_names_text *text)
{
    return name->hash == text->hash && !memcmp(name->text, text->bytes, text->length + 1);
}

/* The slot of the text's number, or the empty slot for it. *number: 0 if it is empty. */
static _Atomic uint16_t *user_names_slot_of(const struct user_names_text *text, uint32_t *number)
{
    struct wire_name *all = atomic_load_explicit(&names->names, memory_order_acquire);
    for (uint32_t at = text->hash % SLOTS;; at = (at + 1) % SLOTS) {
        *number = atomic_load_explicit(&names->slots[at], memory_order_acquire);
        if (!*number || user_names_is_it(&all[*number], text))
            return &names->slots[at];
    }
}

static uint32_t user_names_find(const struct user_names_text *text)
{
    uint32_t number = 0;
    if (atomic_load_explicit(&names->names, memory_order_acquire))
        user_names_slot_of(text, &number);
    return number;
}

static bool user_names_begin(void)
{
    struct wire_name *all = atomic_load_explicit(&names->names, memory_order_relaxed);
    if (all)
        return true;
    all = shared_map_names();
    if (!all)
        return false;
    names->count = 1;
    atomic_store_explicit(&names->names, all, memory_order_release);
    return true;
}

static uint32_t user_names_add(const struct user_names_text *text)
{
    uint32_t number;
    struct wire_name *all = atomic_load_explicit(&names->names, memory_order_relaxed);
    _Atomic uint16_t *slot = user_names_slot_of(text, &number);
    if (number || names->count == WIRE_NAMES)
        return number;
    number = names->count++;
    all[number].hash = text->hash;
    memcpy(all[number].text, text->bytes, WIRE_NAME_BYTES);
    atomic_store_explicit(slot, (uint16_t)number, memory_order_release);
    atomic_store_explicit(&shared_header()->name_count, names->count, memory_order_release);
    return number;
}

static uint32_t user_names_find_or_add(const struct user_names_text *text)
{
    uint32_t number = 0;
    signal_lock_take(&names->lock);
    if (user_names_begin()) {
        struct user_names_text more = user_names_text_of("(more names)");
        number = names->count < UNTIL_LAST ? user_names_add(text) : user_names_find(text);
        if (!number)
            number = user_names_add(&more);
    }
    signal_lock_release(&names->lock);
    return number;
}

uint32_t names_number(const char *text)
{
    struct user_names_text wanted = user_names_text_of(text && *text ? text : "(unnamed)");
    uint32_t number = names ? user_names_find(&wanted) : 0;
    if (number)
        return number;
    int saved_errno = errno;
    struct user_names *expected = NULL, *made = names ? NULL : private_map(sizeof *made);
    if (made) /* if two threads come at once, the pages of one stay untouched */
        __atomic_compare_exchange_n(&names, &expected, made, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE);
    number = names ? user_names_find_or_add(&wanted) : 0;
    errno = saved_errno;
    return number;
}
