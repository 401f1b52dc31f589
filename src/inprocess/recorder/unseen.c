/* Keeps the list of allocators that are not recorded, and publishes it in the header of the shared
 * memory (unseen.h). The list is kept in the process too, because the child of a fork publishes it
 * again in its own shared memory. */
#include "recorder/unseen.h"

#include <string.h>
#include "base/large_static.h"
#include "recorder/shared.h"
#include "unwind/signal_lock.h"

static struct lock unseen_lock = LOCK_INIT;
LARGE_STATIC static struct wire_unseen unseen_told[WIRE_UNSEEN_MOST];
static uint32_t unseen_told_count;

/* Of a text that is too long the end is copied, which of a path is its file. */
static void unseen_copy(char *to, const char *from, size_t bytes)
{
    size_t length = from ? strlen(from) : 0, skipped = length < bytes ? 0 : length - bytes + 1;
    memcpy(to, from ? from + skipped : "", length - skipped);
    to[length - skipped] = '\0';
}

static void unseen_publish(uint32_t index)
{
    struct wire_header *header = shared_header();
    if (!header)
        return;
    header->unseen[index] = unseen_told[index];
    atomic_store_explicit(&header->unseen_count, index + 1, memory_order_release);
}

static bool unseen_is_told(const struct wire_unseen *entry)
{
    for (uint32_t i = 0; i < unseen_told_count; i++)
        if (unseen_told[i].what == entry->what && strcmp(unseen_told[i].module, entry->module) == 0)
            return true;
    return false;
}

void unseen_tell(enum wire_unseen_what what, enum wire_unseen_why why, const char *function,
                 const char *module)
{
    struct wire_unseen entry = {.what = (uint8_t)what, .why = (uint8_t)why};
    unseen_copy(entry.function, function, sizeof entry.function);
    unseen_copy(entry.module, module, sizeof entry.module);
    signal_lock_take(&unseen_lock);
    if (!unseen_is_told(&entry)) {
        if (unseen_told_count < WIRE_UNSEEN_MOST) {
            unseen_told[unseen_told_count] = entry;
            unseen_publish(unseen_told_count++);
        } else if (shared_header()) {
            atomic_fetch_add_explicit(&shared_header()->unseen_count, 1, memory_order_release);
        }
    }
    signal_lock_release(&unseen_lock);
}

static bool unseen_is_of_pools(const struct wire_unseen *entry)
{
    return entry->what == WIRE_UNSEEN_POOLS || entry->what == WIRE_UNSEEN_POOLS_WITHIN;
}

void unseen_forget_pools(void)
{
    uint32_t kept = 0;
    signal_lock_take(&unseen_lock);
    for (uint32_t i = 0; i < unseen_told_count; i++)
        if (!unseen_is_of_pools(&unseen_told[i]))
            unseen_told[kept++] = unseen_told[i];
    unseen_told_count = kept;
    signal_lock_release(&unseen_lock);
}

void unseen_tell_again(void)
{
    unseen_lock = (struct lock)LOCK_INIT; /* another thread of the parent may have held it */
    for (uint32_t i = 0; i < unseen_told_count; i++)
        unseen_publish(i);
}
