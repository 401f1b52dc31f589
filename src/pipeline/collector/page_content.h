/* What the pages of one look hold: nothing but zeros, the same as a page before, or what a
 * compressor makes smaller. That tells what a program could save by not writing zeros, and what
 * KSM, zswap or zram would save.
 *
 *   page ─▶ blank? ─▶ seen? ─▶ LZ4, one page in `stride`
 *              │         │             │
 *            zeros     copy     bytes spared of the page; those between take it from the last one
 *
 * Of a page only a hash of 64 bits is kept until the look is over. The hash depends on a random key
 * of the look. */
#ifndef TIDEMARK_COLLECTOR_PAGE_CONTENT_H
#define TIDEMARK_COLLECTOR_PAGE_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* So many pages are compressed at a look: of private memory of 256 MiB or less, all. */
enum { PAGE_CONTENT_PACKED = 65536 };

struct page_content {
    size_t page_bytes;
    uint64_t key;
    uint64_t *seen; /* open addressing, at most half full; 0: empty */
    size_t seen_count, seen_room;
    void *lz4;    /* what it works in */
    char *packed; /* a page */
    size_t stride, turn;
    uint32_t last_spared;
};

struct page_content_finding {
    bool blank, copy;
    uint32_t spared; /* bytes that compressing spares of the page; of other pages 0 */
};

/* For about so many private pages. 0 or -ENOMEM. */
int page_content_begin(struct page_content *content, size_t page_bytes, uint64_t pages);
/* `is_private`: only private pages can be merged by KSM and go to zswap. */
struct page_content_finding page_content_see(struct page_content *content, const char *page,
                                             bool is_private);
void page_content_release(struct page_content *content);

#endif
