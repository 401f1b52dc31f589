/* Blocks with pages of their own (guard.h). They come one behind the other from one range of
 * addresses without access. A descriptor for each page of the range says whether a block begins
 * there. At the range's end the search begins anew at its front.
 *
 *   a live block's pages are [page, page + pages), it begins in the first, and no other live block
 *   begins in [page, page + pages]
 *   live_count = number of descriptors in use, live_pages = sum of their pages */
#include "bfm/guard.h"
#include <string.h>
#include "bfm/layout.h"
#include "bfm/os.h"

/* Addresses of the range: the first that the system gives. */
#define RANGE_MOST  ((size_t)64 << 30)
#define RANGE_LEAST ((size_t)256 << 20)
/* What a write far before the first blocks meets. */
#define FRONT ((size_t)2 << 20)
/* Each live block makes two mappings of one, and the system gives a process 65,530. */
enum { LIVE_MOST = 28000, GUARD_TRIES = 64, PAD_BYTE = 0xa5 };

enum { GUARD_NONE, GUARD_USED, GUARD_FREED };

struct guard {
    uint32_t pages;
    uint32_t state;
    uintptr_t block;
    size_t bytes;
};

static struct lock lock;
static _Atomic uintptr_t range; /* 0: nothing is reserved yet */
static size_t range_pages;
static struct guard *guards; /* by page of the range */
static bool refused;         /* by the system; it is asked once */
static size_t cursor;        /* the page where the next block is tried */
static size_t high;          /* no block began at this page or behind it */
static size_t live_count, live_pages;

void guard_lock(void)
{
    lock_take(&lock);
}

void guard_unlock(void)
{
    lock_give(&lock);
}

static uintptr_t guard_address(size_t page)
{
    return range + page * os_page_bytes();
}

/* Half as much each time: at most nine turns. */
static bool guard_reserve(void)
{
    uintptr_t start = 0;
    size_t bytes = RANGE_MOST;

    if (range || refused)
        return range;
    while (!start && bytes >= RANGE_LEAST)
        if (!(start = (uintptr_t)os_reserve(bytes, 1)))
            bytes /= 2;
    range_pages = bytes / os_page_bytes();
    guards = start ? os_map(range_pages * sizeof *guards, 1) : NULL;
    refused = !guards;
    if (refused && start)
        os_unmap((void *)start, bytes);
    if (!refused)
        atomic_store_explicit(&range, start, memory_order_release);
    return !refused;
}

/* The first live block that begins in [page, page + pages]; SIZE_MAX: none. */
static size_t guard_in_the_way(size_t page, size_t pages)
{
    for (size_t at = page; at <= page + pages; at++)
        if (guards[at].state == GUARD_USED)
            return at;
    return SIZE_MAX;
}

/* The first FRONT bytes stay without access. 0: no place was found. */
static size_t guard_place(size_t pages)
{
    for (unsigned i = 0; i < GUARD_TRIES; i++) {
        size_t blocked;
        if (!cursor || cursor + pages + 1 > range_pages)
            cursor = FRONT / os_page_bytes();
        blocked = cursor + pages + 1 > range_pages ? SIZE_MAX : guard_in_the_way(cursor, pages);
        if (blocked == SIZE_MAX)
            return cursor + pages + 1 > range_pages ? 0 : cursor;
        cursor = blocked + guards[blocked].pages + 1;
    }
    return 0;
}

static void *guard_use(size_t page, size_t pages, size_t bytes, size_t align)
{
    uintptr_t start = guard_address(page), end = guard_address(page + pages);
    uintptr_t block = layout_round_down(end - bytes, align);

    if (!os_open((void *)start, end - start))
        return NULL;
    guards[page] = (struct guard){(uint32_t)pages, GUARD_USED, block, bytes};
    cursor = page + pages + 1;
    high = cursor > high ? cursor : high;
    live_count++;
    live_pages += pages;
    memset((void *)start, PAD_BYTE, block - start);
    memset((void *)(block + bytes), PAD_BYTE, end - block - bytes);
    return (void *)block;
}

void *guard_take(size_t bytes, size_t align)
{
    size_t pages =
        layout_round_up(layout_round_up(bytes, align), os_page_bytes()) / os_page_bytes();
    void *block = NULL;
    size_t page;

    if (align > os_page_bytes())
        return NULL;
    lock_take(&lock);
    if (live_count < LIVE_MOST && guard_reserve() && pages < range_pages / 64 &&
        (page = guard_place(pages)))
        block = guard_use(page, pages, bytes, align);
    lock_give(&lock);
    return block;
}

bool guard_has(const void *block)
{
    uintptr_t start = atomic_load_explicit(&range, memory_order_acquire);

    return start && (uintptr_t)block - start < range_pages * os_page_bytes();
}

/* The descriptor of a block in use. */
static struct guard *guard_of(const void *block)
{
    struct guard *guard = &guards[((uintptr_t)block - range) / os_page_bytes()];

    if (guard->state == GUARD_FREED && guard->block == (uintptr_t)block)
        os_fatal("free of a block that is free already", block);
    if (guard->state != GUARD_USED || guard->block != (uintptr_t)block)
        os_fatal("free of a pointer into a block, not to its start", block);
    return guard;
}

size_t guard_bytes(const void *block)
{
    size_t bytes;

    lock_take(&lock);
    bytes = guard_of(block)->bytes;
    lock_give(&lock);
    return bytes;
}

static bool guard_is_pad(uintptr_t from, uintptr_t to)
{
    for (const unsigned char *at = (const unsigned char *)from; at < (const unsigned char *)to;
         at++)
        if (*at != PAD_BYTE)
            return false;
    return true;
}

static const char *guard_wrong(const struct guarded *block)
{
    if (!guard_is_pad(block->start, block->block))
        return "what lies before this block was overwritten";
    if (!guard_is_pad(block->block + block->bytes, block->end))
        return "what lies behind this block was overwritten";
    return NULL;
}

static struct guarded guard_view(const struct guard *guard)
{
    size_t page = (size_t)(guard - guards);

    return (struct guarded){guard_address(page), guard_address(page + guard->pages), guard->block,
                            guard->bytes};
}

/* Mappings that were written to do not become one with each other: of 28,000 that were live at once
 * so many would stay, and the next ones would take the rest of what the system gives. */
static void guard_close(void *start, size_t bytes)
{
    if (os_reserve_again(start, bytes))
        return;
    os_discard(start, bytes);
    os_close(start, bytes);
}

void guard_give(void *block)
{
    struct guarded view;
    struct guard *guard;
    const char *wrong;

    lock_take(&lock);
    guard = guard_of(block);
    view = guard_view(guard);
    wrong = guard_wrong(&view);
    if (wrong)
        os_fatal(wrong, block);
    guard->state = GUARD_FREED;
    live_count--;
    live_pages -= guard->pages;
    guard_close((void *)view.start, view.end - view.start);
    lock_give(&lock);
}

struct guard_sums guard_sums(void)
{
    struct guard_sums sums;

    lock_take(&lock);
    sums = (struct guard_sums){live_count, live_pages * os_page_bytes()};
    lock_give(&lock);
    return sums;
}

void guard_each(void (*each)(void *context, const struct guarded *block), void *context)
{
    for (size_t page = 0; page < high && page < range_pages; page++)
        if (guards[page].state == GUARD_USED) {
            struct guarded view = guard_view(&guards[page]);
            each(context, &view);
        }
}

const void *guard_table(size_t *bytes)
{
    *bytes = guards ? layout_round_up(range_pages * sizeof *guards, os_page_bytes()) : 0;
    return guards;
}

static void guard_check_one(void *context, const struct guarded *block)
{
    const char **wrong = context;

    if (!*wrong)
        *wrong = guard_wrong(block);
}

const char *guard_check(void)
{
    const char *wrong = NULL;

    guard_each(guard_check_one, &wrong);
    return wrong;
}
