/* Reads the records of all rings that were not merged yet, without taking them (graph_news.h).
 * After a pass of the merge, a ring's tail is the end of what was merged. */
#include "collector/graph_news.h"

#include <stdatomic.h>
#include "wire/wire.h"

enum { RECORD_LEAST = 16 }; /* bytes, and what all are multiples of */

struct seeing {
    const struct view *view;
    void (*see)(void *context, uint64_t address);
    void *context;
};

/* Counts the bytes that are left instead of comparing positions, because the program can set these
 * near UINT64_MAX, where they would wrap. */
static void graph_news_see_records(const struct seeing *seeing, const char *data, uint64_t tail,
                                   uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes;) {
        const struct wire_record *record =
            (const void *)(data + ((tail + at) & (seeing->view->ring_bytes - 1)));
        uint64_t word = record->kind_address;
        seeing->see(seeing->context, word & WIRE_ADDRESS_MASK);
        at += wire_kind(word) == WIRE_VOID ? 2 * sizeof(uint64_t) : wire_record_bytes(word);
    }
}

/* Whether the ring has records that are not merged. A ring with impossible positions counts as
 * having some. */
static bool graph_news_see_ring(const struct seeing *seeing, uint32_t index)
{
    const struct wire_ring *ring = shared_view_ring(seeing->view, index);
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    bool is_busy = atomic_load_explicit(&ring->busy, memory_order_acquire) != 0;
    if (head - tail <= seeing->view->ring_bytes && tail % RECORD_LEAST == 0)
        graph_news_see_records(seeing, shared_view_ring_data(seeing->view, index), tail,
                               head - tail);
    return is_busy || head != tail;
}

bool graph_news_see(const struct view *view, void (*see)(void *context, uint64_t address),
                    void *context)
{
    const struct seeing seeing = {view, see, context};
    uint32_t count = shared_view_ring_count(view);
    bool have_come = atomic_load(&view->header->ring_count) > count;
    for (uint32_t i = 0; i < count; i++)
        have_come |= graph_news_see_ring(&seeing, i);
    return have_come;
}
