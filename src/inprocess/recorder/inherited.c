/* Keeps mappings and their call paths for children of a fork (inherited.h). A call path is kept
 * once: a table maps its node to its place in `chunks`. A fork wipes that table, because nodes have
 * other numbers in the child. */
#include "recorder/inherited.h"

#include <errno.h>
#include <string.h>
#include "base/hash.h"
#include "base/large_static.h"
#include "model/mapping.h"
#include "recorder/hooks.h"
#include "recorder/shared.h"
#include "recorder/spans.h"
#include "unwind/paths.h"

/* A tag: the path's place, and in the low bits the mapping's kind and flags. */
enum { SAID_BITS = 10, SAID = (1 << SAID_BITS) - 1 };

enum {
    WORDS_LOG2 = 13, /* of a chunk */
    CHUNKS = 1024,
    FRAMES = 255, /* of a path, the innermost; beyond that it begins in the middle */
    SLOTS = 4096, /* of the table; when three quarters are used, further paths are kept again each
                   * time */
    SMALLEST_PAGE_BYTES = 4096
};

struct inherited_slot {
    uint32_t node, place;
};

bool inherited_is_kept;

LARGE_STATIC static struct spans inherited_spans;
static uint32_t inherited_root;
static bool inherited_must_tell;

LARGE_STATIC static uintptr_t
    *inherited_chunks[CHUNKS]; /* of words; a path is its number of addresses, then these,
                                 * innermost first */
static uint32_t inherited_words_used = 1;      /* place 0 is no path */
static struct inherited_slot *inherited_slots; /* a fork wipes it */
static uint32_t inherited_slots_used;

void inherited_begin(bool follow, bool is_child)
{
    if (is_child && spans_begin_in_child(&inherited_spans))
        inherited_root = 0;
    if (inherited_slots && !is_child)
        memset(inherited_slots, 0, SLOTS * sizeof *inherited_slots);
    inherited_slots_used = 0;
    inherited_must_tell = is_child && follow && inherited_root;
    __atomic_store_n(&inherited_is_kept, follow, __ATOMIC_RELAXED);
}

void inherited_forget(void)
{
    inherited_root = 0;
    inherited_words_used = 1;
    if (inherited_slots)
        memset(inherited_slots, 0,
               SLOTS * sizeof *inherited_slots); /* other paths have these numbers now */
    spans_forget(&inherited_spans);
}

/* ---- Paths --------------------------------------------------------------------------------- */

static uintptr_t *inherited_words(uint32_t place)
{
    return &inherited_chunks[place >> WORDS_LOG2][place & ((1u << WORDS_LOG2) - 1)];
}

/* Room for so many words in one chunk; 0: there is no memory. */
static uint32_t inherited_room(uint32_t words)
{
    uint32_t place = inherited_words_used, chunk;
    if ((place + words - 1) >> WORDS_LOG2 != place >> WORDS_LOG2)
        place = ((place >> WORDS_LOG2) + 1) << WORDS_LOG2;
    chunk = place >> WORDS_LOG2;
    if (chunk >= CHUNKS)
        return 0;
    if (!inherited_chunks[chunk])
        inherited_chunks[chunk] = private_map_kept(sizeof(uintptr_t) << WORDS_LOG2);
    if (!inherited_chunks[chunk])
        return 0;
    inherited_words_used = place + words;
    return place;
}

static uint32_t inherited_keep_path(uint32_t node)
{
    uintptr_t ips[FRAMES];
    size_t count = paths_ips(node, ips, FRAMES);
    uint32_t place = inherited_room((uint32_t)count + 1);
    if (!place)
        return 0;
    uintptr_t *words = inherited_words(place);
    *words++ = count;
    for (size_t i = 0; i < count; i++)
        words[i] = ips[i];
    return place;
}

/* The slot of a node, or the free slot for it. NULL: none is left. */
static struct inherited_slot *inherited_slot(uint32_t node)
{
    uint32_t at = (uint32_t)hash_u64(node);
    if (!inherited_slots &&
        !(inherited_slots = private_map_lasting(SLOTS * sizeof *inherited_slots)))
        return NULL;
    for (;; at++) {
        struct inherited_slot *slot = &inherited_slots[at % SLOTS];
        if (slot->node == node)
            return slot;
        if (!slot->node)
            return inherited_slots_used < SLOTS / 4 * 3 ? slot : NULL;
    }
}

static void inherited_know(uint32_t node, uint32_t place)
{
    struct inherited_slot *slot = inherited_slot(node);
    if (!slot || slot->node)
        return;
    *slot = (struct inherited_slot){node, place};
    inherited_slots_used++;
}

static uint32_t inherited_place_of(uint32_t node)
{
    int saved_errno = errno;
    struct inherited_slot *slot = node ? inherited_slot(node) : NULL;
    uint32_t place = slot && slot->node ? slot->place : 0;
    if (!place && node && (place = inherited_keep_path(node)) != 0)
        inherited_know(node, place);
    errno = saved_errno;
    return place;
}

/* The path's node in this process, which is made if need be; 0: none. */
static uint32_t inherited_node_of(uint32_t place)
{
    const uintptr_t *words = place ? inherited_words(place) : NULL;
    uint64_t hash = 0;
    uint32_t node = 0;
    for (size_t i = words ? *words : 0; i > 0; i--) {
        hash = path_hash(hash, words[i]);
        node = paths_child(node, hash, words[i]);
        if (!node)
            return 0;
    }
    if (node)
        inherited_know(node, place);
    return node;
}

/* ---- What is mapped ------------------------------------------------------------------------ */

static size_t inherited_whole_pages(size_t bytes)
{
    return (bytes + SMALLEST_PAGE_BYTES - 1) & -(size_t)SMALLEST_PAGE_BYTES;
}

/* The kind and flags of the mapping at an address; anonymous if there is none. For mremap, whose
 * records have no kind. */
static uintptr_t inherited_said_at(uintptr_t address)
{
    uint32_t number = spans_floor(&inherited_spans, inherited_root, address);
    const struct span *span = number ? &spans_node(&inherited_spans, number)->span : NULL;
    bool is_there = span && address - span->address < span->bytes;
    return is_there ? span->tag & SAID : (uintptr_t)MAPPING_ANONYMOUS;
}

static void inherited_put(uintptr_t address, size_t bytes, uintptr_t tag)
{
    uint32_t number = spans_new(&inherited_spans, &(struct span){address, bytes, tag});
    if (number)
        spans_insert(&inherited_spans, &inherited_root, number);
}

void inherited_maps(struct thread *thread, uintptr_t address, size_t bytes, uint32_t node,
                    uint32_t said, uintptr_t old)
{
    enum {
        FOR_GOOD =
            WIRE_MAPPING_KIND | WIRE_MAPPING_RESERVED | WIRE_MAPPING_STACK | WIRE_MAPPING_ALLOCATORS
    };
    bytes = inherited_whole_pages(bytes);
    if (!bytes || address + bytes < address || !spans_lock(&inherited_spans, thread))
        return;
    uintptr_t flags = wire_mapping_kind(said) ? said & FOR_GOOD : inherited_said_at(old);
    flags |= said & WIRE_MAPPING_ALLOCATORS;
    spans_clear(&inherited_spans, &inherited_root, address, address + bytes);
    inherited_put(address, bytes, (uintptr_t)inherited_place_of(node) << SAID_BITS | flags);
    spans_unlock(&inherited_spans);
}

void inherited_unmaps(struct thread *thread, uintptr_t address, size_t bytes)
{
    bytes = inherited_whole_pages(bytes);
    if (!bytes || address + bytes < address || !spans_lock(&inherited_spans, thread))
        return;
    spans_clear(&inherited_spans, &inherited_root, address, address + bytes);
    spans_unlock(&inherited_spans);
}

/* If a segment of System V begins there. */
void inherited_detaches(struct thread *thread, uintptr_t address)
{
    if (!spans_lock(&inherited_spans, thread))
        return;
    uint32_t number = spans_floor(&inherited_spans, inherited_root, address);
    const struct span *span = number ? &spans_node(&inherited_spans, number)->span : NULL;
    if (span && span->address == address && wire_mapping_kind((uint32_t)span->tag) == MAPPING_SYSV)
        spans_clear(&inherited_spans, &inherited_root, address, address + span->bytes);
    spans_unlock(&inherited_spans);
}

/* The first span that ends above the address; 0: none. */
static uint32_t inherited_above(uintptr_t address)
{
    uint32_t number = spans_floor(&inherited_spans, inherited_root, address);
    if (number && address - spans_node(&inherited_spans, number)->span.address <
                      spans_node(&inherited_spans, number)->span.bytes)
        return number;
    return spans_ceiling(&inherited_spans, inherited_root, address);
}

static void inherited_change(uintptr_t from, uintptr_t to, uintptr_t tag, uint32_t node)
{
    uintptr_t flags = (tag & SAID) ^ WIRE_MAPPING_RESERVED;
    bool is_memory = !(flags & WIRE_MAPPING_RESERVED);
    uintptr_t place = is_memory ? inherited_place_of(node) : tag >> SAID_BITS;
    spans_clear(&inherited_spans, &inherited_root, from, to);
    inherited_put(from, to - from, place << SAID_BITS | flags);
}

void inherited_protects(struct thread *thread, uintptr_t address, size_t bytes, uint32_t node,
                        bool is_reserved)
{
    uintptr_t end = address + inherited_whole_pages(bytes);
    uint32_t number;
    if (end < address || !spans_lock(&inherited_spans, thread))
        return;
    while (address < end && (number = inherited_above(address)) != 0 &&
           spans_node(&inherited_spans, number)->span.address < end) {
        struct span span = spans_node(&inherited_spans, number)->span;
        uintptr_t from = span.address > address ? span.address : address;
        uintptr_t to = span.address + span.bytes < end ? span.address + span.bytes : end;
        if (wire_mapping_is_reserved((uint32_t)span.tag) != is_reserved)
            inherited_change(from, to, span.tag, node);
        address = to;
    }
    spans_unlock(&inherited_spans);
}

/* ---- In the child -------------------------------------------------------------------------- */

/* Copies the first span at or above the address. False: there is none. */
static bool inherited_next(struct thread *thread, uintptr_t address, struct span *span)
{
    if (!spans_lock(&inherited_spans, thread))
        return false;
    uint32_t number = spans_ceiling(&inherited_spans, inherited_root, address);
    if (number)
        *span = spans_node(&inherited_spans, number)->span;
    spans_unlock(&inherited_spans);
    return number;
}

void inherited_tell(struct thread *thread)
{
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    struct span span;
    if (!inherited_must_tell)
        return;
    inherited_must_tell = false;
    for (uintptr_t at = 0; inherited_next(thread, at, &span); at = span.address + 1) {
        uint32_t node = inherited_node_of((uint32_t)(span.tag >> SAID_BITS));
        thread_record_long_at(thread, frame, node, WIRE_MMAP, span.address, span.bytes,
                              (span.tag & SAID) | WIRE_MAPPING_INHERITED, 0);
    }
}
