/* Finds the owners of the memory with roots (graph_held.h). Areas have owners. A thread's variables
 * lie around its thread pointer: at the top of its stack or, for the first thread, in memory that
 * the loader has mapped. */
#include "collector/graph_held.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "collector/owners.h"

/* Above the thread pointer lies the C library's own record of the thread. */
enum { DESCRIPTOR_BYTES = 4096, LEAST_TLS_BYTES = 4096, HEADERS = 64, PIECE_WORDS = 4096 };

/* ---- Thread-local variables ------------------------------------------------------------------ */

static uint64_t graph_held_tls_of(int memory_fd, uint64_t start)
{
    Elf64_Ehdr file;
    Elf64_Phdr headers[HEADERS];
    uint64_t bytes = 0;
    if (pread(memory_fd, &file, sizeof file, (off_t)start) != sizeof file ||
        memcmp(file.e_ident, ELFMAG, SELFMAG) != 0 || file.e_phentsize != sizeof *headers ||
        file.e_phnum > HEADERS || file.e_phoff > (1u << 20))
        return 0;
    ssize_t wanted = (ssize_t)(file.e_phnum * sizeof *headers);
    if (pread(memory_fd, headers, (size_t)wanted, (off_t)(start + file.e_phoff)) != wanted)
        return 0;
    for (unsigned i = 0; i < file.e_phnum; i++)
        if (headers[i].p_type == PT_TLS && headers[i].p_memsz < (1u << 30))
            bytes += headers[i].p_memsz + headers[i].p_align % 4096;
    return bytes;
}

/* An upper bound of the bytes that the modules' thread-local variables take below a thread
 * pointer. */
static uint64_t graph_held_tls_bytes(const struct smaps *smaps, int memory_fd)
{
    uint64_t bytes = LEAST_TLS_BYTES;
    for (size_t i = 0; i < smaps->count; i++) {
        const struct smaps_mapping *mapping = &smaps->mappings[i];
        if (*mapping->path == '/' && !mapping->offset_bytes && mapping->readable)
            bytes += graph_held_tls_of(memory_fd, mapping->start);
    }
    return bytes;
}

/* The thread whose pointer lies in the area; NULL: there is none. */
static const struct stacks_place *graph_held_thread_in(const struct graph_look_asked *asked,
                                                       const struct area *area)
{
    for (size_t i = 0; i < asked->place_count; i++)
        if (asked->places[i].address >= area->start && asked->places[i].address < area->end)
            return &asked->places[i];
    return NULL;
}

bool graph_held_is_range(const struct graph_look_asked *asked, const struct area *area)
{
    const struct smaps_mapping *mapping = &asked->smaps->mappings[area->mapping];
    if (!mapping->writable || mapping->kind == SMAPS_DEVICE)
        return false;
    switch (area->owner) {
    case AREA_MMAP:
        return area->is_claimed;
    case AREA_FILE:
    case AREA_SHARED:
        return true;
    default:
        return false;
    }
}

/* ---- Places ---------------------------------------------------------------------------------- */

static enum profile_holder_kind graph_held_kind(const struct area *area)
{
    switch (area->owner) {
    case AREA_GLOBALS:
        return PROFILE_HOLDER_VARIABLE;
    case AREA_STACK:
        return PROFILE_HOLDER_STACK;
    case AREA_ALLOCATOR:
    case AREA_TABLES:
        return PROFILE_HOLDER_ALLOCATOR;
    default:
        return PROFILE_HOLDER_MAPPING;
    }
}

static struct held_place graph_held_place(const struct graph_look_asked *asked,
                                          const struct area *area)
{
    struct profile_owner owner = owners_of_area(asked->names, area);
    enum profile_holder_kind kind = graph_held_kind(area);
    return (struct held_place){.start = area->start,
                               .end = area->end,
                               .kind = kind,
                               .path = owner.path,
                               .name = kind == PROFILE_HOLDER_ALLOCATOR ? NULL : owner.name,
                               .module = owner.module,
                               .tid = (pid_t)figure_or(owner.thread, 0)};
}

static void graph_held_add_place(struct held *held, struct held_place place)
{
    if (place.start < place.end)
        held->places[held->place_count++] = place;
}

/* A thread's variables are a place of their own. */
static void graph_held_add_area(struct held *held, const struct graph_look_asked *asked,
                                const struct area *area, uint64_t tls_bytes)
{
    struct held_place place = graph_held_place(asked, area);
    const struct stacks_place *thread = area->owner == AREA_STACK || area->owner == AREA_MMAP
                                            ? graph_held_thread_in(asked, area)
                                            : NULL;
    if (!thread) {
        graph_held_add_place(held, place);
        return;
    }
    struct held_place below = place, local = place, above = place;
    uint64_t first = thread->address > tls_bytes ? thread->address - tls_bytes : 0;
    local.kind = PROFILE_HOLDER_TLS;
    local.start = first > area->start ? first : area->start;
    local.end = thread->address + DESCRIPTOR_BYTES < area->end ? thread->address + DESCRIPTOR_BYTES
                                                               : area->end;
    local.name = owners_thread_name(asked->names, thread->tid);
    local.tid = thread->tid;
    below.end = local.start;
    above.start = local.end;
    graph_held_add_place(held, below);
    graph_held_add_place(held, local);
    graph_held_add_place(held, above);
}

static int graph_held_make_places(struct graph_held *graph, const struct graph_look_asked *asked,
                                  uint64_t tls_bytes)
{
    struct held *held = graph->held;
    const struct areas *areas = asked->areas;
    held->places = calloc(3 * areas->count + 1, sizeof *held->places);
    held->ranges = calloc(areas->count + 1, sizeof *held->ranges);
    held->range_places = calloc(areas->count + 1, sizeof *held->range_places);
    graph->ranges = calloc(areas->count + 1, sizeof *graph->ranges);
    uint32_t count = 0;
    if (!held->places || !held->ranges || !held->range_places || !graph->ranges)
        return -ENOMEM;
    for (size_t i = 0; i < areas->count; i++) {
        const struct area *area = &areas->list[i];
        graph->ranges[i] = GRAPH_NONE;
        if (!graph_held_is_range(asked, area)) {
            graph_held_add_area(held, asked, area, tls_bytes);
            continue;
        }
        graph->ranges[i] = count;
        held->range_places[count] = graph_held_place(asked, area);
        held->ranges[count++] = (struct graph_block){area->start, area->end - area->start};
    }
    return graph_keep_holders(&held->graph, held->ranges, count);
}

int graph_held_begin(struct graph_held *graph, const struct graph_look_asked *asked, int memory_fd,
                     struct graph *begun)
{
    struct held *held = calloc(1, sizeof *held);
    if (!held)
        return -ENOMEM;
    graph->held = held;
    held->graph = *begun;
    held->blocks = (struct graph_block *)begun->blocks;
    *begun = (struct graph){0};
    held->paths = calloc(asked->blocks->count + 1, sizeof *held->paths);
    if (!held->paths)
        return -ENOMEM;
    for (size_t i = 0; i < asked->blocks->count; i++)
        held->paths[i] = asked->blocks->blocks[i].node;
    return graph_held_make_places(graph, asked, graph_held_tls_bytes(asked->smaps, memory_fd));
}

/* ---- The chain ------------------------------------------------------------------------------- */

/* Where in [start, start + bytes) a word points into the target. False: nowhere, any more. */
static bool graph_held_find_pointer(int memory_fd, uint64_t start, uint64_t bytes,
                                    const struct graph_block *target, struct held_step *step)
{
    uint64_t words[PIECE_WORDS], first = (start + 7) & ~7ull;
    uint64_t target_bytes = target->size_bytes ? target->size_bytes : 1;
    for (uint64_t at = first; at + 8 <= start + bytes;) {
        uint64_t wanted = start + bytes - at < sizeof words ? start + bytes - at : sizeof words;
        ssize_t got = pread(memory_fd, words, wanted, (off_t)at);
        for (size_t i = 0; got > 0 && i < (size_t)got / 8; i++)
            if (words[i] - target->address < target_bytes) {
                *step = (struct held_step){at + i * 8 - start, words[i] - target->address};
                return true;
            }
        at += got >= 8 ? (uint64_t)got & ~7ull : 4096;
    }
    return false;
}

static const struct graph_block *graph_held_node(const struct held *held, uint32_t node)
{
    return node < held->graph.count ? &held->graph.blocks[node]
                                    : &held->ranges[node - held->graph.count];
}

static int graph_held_read_chain(struct held *held, int memory_fd)
{
    const struct graph_chain *chain = &held->chain;
    held->steps = calloc(chain->count + 1, sizeof *held->steps);
    if (!held->steps)
        return -ENOMEM;
    uint64_t root_at = chain->root == GRAPH_NONE ? 0 : held->graph.root_at[chain->root];
    if (root_at)
        graph_held_find_pointer(memory_fd, root_at, 8, graph_held_node(held, chain->nodes[0]),
                                &held->steps[0]);
    for (uint32_t i = 0; i + 1 < chain->count; i++) {
        const struct graph_block *from = graph_held_node(held, chain->nodes[i]);
        const struct graph_block *to = graph_held_node(held, chain->nodes[i + 1]);
        if (!graph_held_find_pointer(memory_fd, from->address, from->size_bytes, to,
                                     &held->steps[i + 1]))
            held->steps[i + 1].pointer_offset = 0;
    }
    return 0;
}

int graph_held_find_chain(struct graph_held *graph, const struct graph_look_asked *asked,
                          int memory_fd)
{
    struct held *held = graph->held;
    uint32_t block = graph_find(&held->graph, asked->path_to);
    uint8_t *ranks = calloc(held->graph.roots.count + 1, 1);
    int error = ranks ? 0 : -ENOMEM;
    for (size_t i = 0; !error && i < held->graph.roots.count; i++)
        ranks[i] = (uint8_t)held_rank(held_kind_of_root(held, i));
    if (!error && block != GRAPH_NONE)
        error = graph_chain_find(&held->graph, ranks, block, &held->chain);
    if (!error && held->chain.count)
        error = graph_held_read_chain(held, memory_fd);
    free(ranks);
    return error;
}

void graph_held_release(struct graph_held *graph)
{
    held_free(graph->held);
    free(graph->ranges);
    *graph = GRAPH_HELD_INIT;
}
