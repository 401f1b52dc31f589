/* Tells pages of zeros, copies and compressible pages (page_content.h). If there is no memory for
 * more hashes, a page counts as new. */
#include "collector/page_content.h"

#include <errno.h>
#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { WORD = sizeof(uint64_t), LANES = 4, FIRST_ROOM = 4096 };

/* ---- Numbers of pages ------------------------------------------------------------------------ */

static uint64_t page_content_mix(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Four chains, because a multiplication takes longer than a word. Never 0. */
static uint64_t page_content_number(const struct page_content *content, const char *page)
{
    static const uint64_t odd[LANES] = {0x9E3779B97F4A7C15u, 0xC2B2AE3D27D4EB4Fu,
                                        0x165667B19E3779F9u, 0xD6E8FEB86659FD93u};
    uint64_t lanes[LANES], words[LANES];
    for (size_t i = 0; i < LANES; i++)
        lanes[i] = content->key ^ odd[i];
    for (size_t at = 0; at + sizeof words <= content->page_bytes; at += sizeof words) {
        memcpy(words, page + at, sizeof words);
        for (size_t i = 0; i < LANES; i++)
            lanes[i] = page_content_mix(lanes[i] ^ words[i], odd[i] ^ content->key << 1);
    }
    uint64_t number = page_content_mix(lanes[0] ^ odd[1], lanes[1] ^ odd[2]) ^
                      page_content_mix(lanes[2] ^ odd[3], lanes[3] ^ odd[0]);
    return number ? number : 1;
}

static size_t page_content_slot(const uint64_t *seen, size_t room, uint64_t number)
{
    size_t at = (size_t)(number & (room - 1));
    while (seen[at] && seen[at] != number)
        at = (at + 1) & (room - 1);
    return at;
}

static bool page_content_make_room(struct page_content *content)
{
    size_t room = content->seen_room ? 2 * content->seen_room : FIRST_ROOM;
    if (2 * content->seen_count < content->seen_room)
        return true;
    uint64_t *seen = calloc(room, sizeof *seen);
    if (!seen)
        return false;
    for (size_t i = 0; i < content->seen_room; i++)
        if (content->seen[i])
            seen[page_content_slot(seen, room, content->seen[i])] = content->seen[i];
    free(content->seen);
    content->seen = seen;
    content->seen_room = room;
    return true;
}

/* Whether an earlier page of the look had the same hash. */
static bool page_content_is_copy(struct page_content *content, const char *page)
{
    uint64_t number = page_content_number(content, page);
    if (!page_content_make_room(content))
        return false;
    size_t at = page_content_slot(content->seen, content->seen_room, number);
    if (content->seen[at])
        return true;
    content->seen[at] = number;
    content->seen_count++;
    return false;
}

/* ---- Pages ----------------------------------------------------------------------------------- */

static bool page_content_is_blank(const char *page, size_t bytes)
{
    return !page[0] && memcmp(page, page + 1, bytes - 1) == 0;
}

static uint32_t page_content_spared(struct page_content *content, const char *page)
{
    int room = (int)content->page_bytes - 1;
    if (content->turn++ % content->stride == 0) {
        int packed = LZ4_compress_fast_extState(content->lz4, page, content->packed,
                                                (int)content->page_bytes, room, 1);
        content->last_spared = packed > 0 ? (uint32_t)(content->page_bytes - (size_t)packed) : 0;
    }
    return content->last_spared;
}

int page_content_begin(struct page_content *content, size_t page_bytes, uint64_t pages)
{
    *content = (struct page_content){.page_bytes = page_bytes,
                                     .stride = (size_t)(1 + pages / (PAGE_CONTENT_PACKED + 1))};
    if (getrandom(&content->key, sizeof content->key, GRND_NONBLOCK) != sizeof content->key)
        content->key = (uintptr_t)content; /* still a key that the program cannot know */
    content->lz4 = malloc((size_t)LZ4_sizeofState());
    content->packed = malloc(page_bytes);
    if (content->lz4 && content->packed)
        return 0;
    page_content_release(content);
    return -ENOMEM;
}

struct page_content_finding page_content_see(struct page_content *content, const char *page,
                                             bool is_private)
{
    struct page_content_finding found = {.blank = page_content_is_blank(page, content->page_bytes)};
    if (found.blank || !is_private)
        return found;
    found.copy = page_content_is_copy(content, page);
    if (!found.copy)
        found.spared = page_content_spared(content, page);
    return found;
}

void page_content_release(struct page_content *content)
{
    if (content->packed)
        explicit_bzero(content->packed, content->page_bytes);
    free(content->seen);
    free(content->lz4);
    free(content->packed);
    *content = (struct page_content){0};
}
