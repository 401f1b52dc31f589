/* Reads a process's memory into a graph (graph_look.h). One sweep over the present pages goes
 * through areas and blocks together, by address. The words of a block are its edges. Words beside
 * the blocks are roots if the area is the program's own. */
#include "collector/graph_look.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "collector/graph_ahead.h"
#include "collector/graph_arena.h"
#include "collector/graph_copy.h"
#include "collector/graph_ended.h"
#include "collector/graph_held.h"
#include "collector/graph_late.h"
#include "collector/graph_news.h"
#include "collector/graph_stdio.h"
#include "collector/graph_threads.h"
#include "collector/python_holders.h"
#include "collector/python_objects.h"
#include "graph/graph.h"
#include "procfs/kernel_pointers.h"
#include "procfs/proc_file.h"

enum {
    SMALLEST_PAGE_BYTES = 4096,
    WORD = sizeof(uint64_t),
    PIECE_WORDS = GRAPH_AHEAD_WORDS,
    VTABLE_WORDS = 4
};

/* What is the same for all words of an area. */
struct area_judged {
    const struct area *area; /* NULL: nothing yet */
    bool is_root, is_of_libc, is_of_gobject, is_of_loader;
    uint64_t root_start;
};

struct graph_look_sweep {
    const struct graph_look_asked *asked;
    struct graph *graph; /* in `own`, or in what is kept */
    struct graph own;
    struct graph_held held;
    struct graph_threads threads;
    struct graph_block *blocks;
    size_t area, block;
    struct area_judged judged;       /* of `area` */
    uint64_t *words;                 /* PIECE_WORDS of them */
    uint64_t *first_words;           /* of each block; 0: not read */
    struct python_objects *python;   /* NULL: no interpreter */
    struct block_types_memory types; /* where they are read */
    struct program_memory memory;
    struct page_table_range *ranges; /* what is read */
    size_t range_count;
    struct graph_copy copy; /* of the ranges, unless the program waits for us anyway */
    bool is_graph;          /* else only first words are wanted */
    bool has_offsets;       /* the program has a library that keeps offsets for pointers */
    bool has_unknown;       /* there are or may be blocks that the list does not have */
};

/* ---- Memory ---------------------------------------------------------------------------------- */

/* How many bytes could be read. /proc/PID/mem takes no page from those that a fork shares
 * (doc/decisions/0180). */
static size_t graph_look_read(const struct graph_look_sweep *sweep, uint64_t address, void *to,
                              size_t bytes)
{
    ssize_t got = pread(sweep->memory.fd, to, bytes, (off_t)address);
    return got > 0 ? (size_t)got : 0;
}

static bool graph_look_read_words(void *context, uint64_t address, uint64_t *words, size_t count)
{
    const struct graph_look_sweep *sweep = context;
    size_t bytes = count * WORD;
    return graph_copy_read(&sweep->copy, address, words, bytes) == bytes ||
           graph_look_read(sweep, address, words, bytes) == bytes;
}

/* Tables of virtual functions lie in modules, and point to code. */
static bool graph_look_is_vtable(void *context, uint64_t address)
{
    const struct graph_look_sweep *sweep = context;
    const struct smaps *smaps = sweep->asked->smaps;
    const struct smaps_mapping *mapping = address % WORD ? NULL : smaps_find(smaps, address);
    uint64_t words[VTABLE_WORDS];
    if (!mapping || mapping->executable || !*mapping->path ||
        !graph_look_read_words(context, address, words, VTABLE_WORDS))
        return false;
    for (size_t i = 0; i < VTABLE_WORDS; i++) {
        const struct smaps_mapping *code = smaps_find(smaps, words[i]);
        if (code && code->executable)
            return true;
    }
    return false;
}

static bool graph_look_is_code(void *context, uint64_t address)
{
    const struct graph_look_sweep *sweep = context;
    const struct smaps_mapping *code = smaps_find(sweep->asked->smaps, address);
    return code && code->executable;
}

static bool graph_look_has(const struct smaps *smaps, const char *library)
{
    for (size_t i = 0; i < smaps->count; i++)
        if (strstr(smaps->mappings[i].path, library))
            return true;
    return false;
}

/* The only thread waits in its exit and no other can begin, so nothing has to be stopped. */
static bool graph_look_stands(const struct graph_look_asked *asked)
{
    return asked->waits && asked->threads->count == 1;
}

/* ---- Roots ----------------------------------------------------------------------------------- */

static bool graph_look_is_root(const struct graph_look_sweep *sweep, const struct area *area)
{
    const struct smaps_mapping *mapping = &sweep->asked->smaps->mappings[area->mapping];
    return mapping->writable && (!area_is_allocators(area) || sweep->has_unknown) &&
           area->owner != AREA_TOOL && mapping->kind != SMAPS_DEVICE;
}

/* The address above the first frame of a thread that has ended; `start` if it is not found. */
static uint64_t graph_look_first_frame(const struct graph_look_sweep *sweep, uint64_t start,
                                       uint64_t pointer)
{
    enum { WORDS = 1024, MOST = 64 };
    uint64_t words[WORDS];
    uint64_t end = pointer & ~(uint64_t)(WORD - 1);
    for (unsigned part = 0; part < MOST && end - start >= sizeof words; part++) {
        end -= sizeof words;
        if (graph_look_read(sweep, end, words, sizeof words) != sizeof words)
            break;
        for (size_t i = WORDS; i-- > 0;)
            if (graph_ended_is_start(sweep->asked->smaps, words[i]))
                return end + (i + 1) * WORD;
    }
    return start;
}

/* Where the roots of an area begin. Memory below a stack pointer and the frames of a thread that
 * has ended hold nothing. */
static uint64_t graph_look_root_start(const struct graph_look_sweep *sweep, const struct area *area)
{
    uint64_t lowest = area->owner == AREA_STACK || area->owner == AREA_MMAP
                          ? graph_threads_lowest_in(&sweep->threads, area->start, area->end)
                          : 0;
    const struct view *view = sweep->is_graph && !lowest ? sweep->asked->view : NULL;
    uint64_t ended = view ? graph_ended_pointer(view, area) : 0;
    if (ended)
        return graph_look_first_frame(sweep, area->start, ended);
    return lowest && area->owner == AREA_STACK ? lowest : area->start;
}

/* glibc's main arena points to the headers of free chunks. Its lists of small chunks, and all of it
 * where it is not recognised, are left out by what they point to. Such a header begins 8 bytes
 * before the end of the block in front of it, unless the block's size leaves a gap. So the arena's
 * pointer would read as a pointer into that block. */
static bool graph_look_is_chunk_header(const struct graph_block *block, uint64_t address)
{
    enum { HEADER = 16, SMALLEST = 32, ALIGNMENT = 16 };
    uint64_t chunk = (block->size_bytes + WORD + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
    return address == block->address - HEADER + (chunk > SMALLEST ? chunk : SMALLEST);
}

/* Is the area variables of the library with that name? */
static bool graph_look_is_of(const struct graph_look_asked *asked, const struct area *area,
                             const char *library)
{
    const char *path = asked->smaps->mappings[area->mapping].path;
    size_t bytes = strlen(library);
    if (area->owner != AREA_GLOBALS)
        return false;
    if (!*path && area->mapping) /* its zeroed variables */
        path = asked->smaps->mappings[area->mapping - 1].path;
    const char *name = strrchr(path, '/');
    return name && !strncmp(name + 1, library, bytes) &&
           (name[1 + bytes] == '.' || name[1 + bytes] == '-');
}

/* GLib's table of fundamental types points behind the head of each type's block. Such words are set
 * to the block's beginning. */
static void graph_look_settle_types(struct graph_look_sweep *sweep, uint64_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t block = graph_find(sweep->graph, words[i]);
        if (block != GRAPH_NONE)
            words[i] = sweep->graph->blocks[block].address;
    }
}

static void graph_look_forget_headers(struct graph_look_sweep *sweep, uint64_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t block = graph_find(sweep->graph, words[i]);
        if (block != GRAPH_NONE && graph_look_is_chunk_header(&sweep->blocks[block], words[i]))
            words[i] = 0;
    }
}

/* glibc's loader keeps the address at which /etc/ld.so.cache was mapped. The program may have
 * mapped other memory there since, so such words are no pointers. */
static void graph_look_forget_ranges(const struct graph_look_sweep *sweep, uint64_t *words,
                                     size_t count)
{
    const struct graph *graph = sweep->graph;
    for (size_t i = 0; i < count; i++)
        if (graph_find_range(graph, words[i]) != GRAPH_NONE)
            words[i] = 0;
}

static void graph_look_add_registers(struct graph_look_sweep *sweep)
{
    for (size_t i = 0; i < sweep->threads.count; i++) {
        const struct tracee *tracee = &sweep->threads.list[i].tracee;
        if (tracee->stopped)
            graph_add_roots(sweep->graph, 0, (const uint64_t *)&tracee->registers,
                            sizeof tracee->registers / WORD);
    }
    if (sweep->asked->exit_registers)
        graph_add_roots(sweep->graph, 0, sweep->asked->exit_registers, WIRE_EXIT_REGISTERS);
}

/* Adds what only the kernel points to. It is left out where the kernel does not show it. */
static int graph_look_add_kernel(struct graph_look_sweep *sweep)
{
    const struct graph_look_asked *asked = sweep->asked;
    struct kernel_pointers pointers = KERNEL_POINTERS_INIT;
    for (size_t i = 0; i < asked->place_count; i++)
        graph_add_roots(sweep->graph, 0, &asked->places[i].signal_stack, 1);
    int error = kernel_pointers_read(&pointers, asked->pid);
    for (size_t i = 0; i < pointers.count; i++)
        graph_add_roots(sweep->graph, 0, &pointers.list[i], 1);
    kernel_pointers_release(&pointers);
    return error == -ENOMEM ? error : 0;
}

/* ---- The sweep ------------------------------------------------------------------------------- */

/* The words that lie whole in [from, to), of a piece that begins at `start`. */
static uint64_t *graph_look_words(const struct graph_look_sweep *sweep, uint64_t start,
                                  uint64_t from, uint64_t to, size_t *count)
{
    from = (from + WORD - 1) & ~(uint64_t)(WORD - 1);
    to &= ~(uint64_t)(WORD - 1);
    *count = to > from ? (to - from) / WORD : 0;
    return sweep->words + (from - start) / WORD;
}

static const struct area_judged *graph_look_judge(struct graph_look_sweep *sweep,
                                                  const struct area *area)
{
    if (sweep->judged.area != area)
        sweep->judged = (struct area_judged){
            .area = area,
            .is_root = sweep->is_graph && graph_look_is_root(sweep, area),
            .is_of_libc = graph_look_is_of(sweep->asked, area, "libc"),
            .is_of_gobject = graph_look_is_of(sweep->asked, area, "libgobject-2.0"),
            .is_of_loader = graph_look_is_of(sweep->asked, area, "ld-linux") ||
                            graph_look_is_of(sweep->asked, area, "ld-2"),
            .root_start = graph_look_root_start(sweep, area)};
    return &sweep->judged;
}

static void graph_look_add_between(struct graph_look_sweep *sweep, const struct area *area,
                                   uint64_t start, uint64_t from, uint64_t to)
{
    size_t count;
    const struct area_judged *judged = graph_look_judge(sweep, area);
    uint64_t first = judged->root_start;
    uint64_t *words = graph_look_words(sweep, start, from > first ? from : first, to, &count);
    if (!count || !judged->is_root)
        return;
    uint32_t range = sweep->held.held ? sweep->held.ranges[sweep->area] : GRAPH_NONE;
    if (range != GRAPH_NONE) {
        graph_add_range_words(sweep->graph, range, words, count);
        return;
    }
    uint64_t address = start + (uint64_t)((char *)words - (char *)sweep->words);
    if (judged->is_of_libc) {
        graph_arena_forget(address, words, count);
        graph_look_forget_headers(sweep, words, count);
    }
    if (judged->is_of_loader)
        graph_look_forget_ranges(sweep, words, count);
    if (judged->is_of_gobject)
        graph_look_settle_types(sweep, words, count);
    graph_add_roots(sweep->graph, address, words, count);
}

/* The garbage collector's list of all objects does not tell which object holds another. Returns
 * which words of the head hold nothing. */
static uint32_t graph_look_add_head(struct graph_look_sweep *sweep, uint64_t *words, size_t count)
{
    sweep->first_words[sweep->block] = words[0];
    if (!sweep->python)
        return 0;
    struct python_borrowed borrowed = python_objects_see(sweep->python, sweep->block, words, count);
    if (!sweep->asked->without_links)
        return borrowed.links | borrowed.others;
    for (uint32_t links = borrowed.links; links; links &= links - 1)
        words[__builtin_ctz(links)] = 0;
    return borrowed.others;
}

/* Bit i of `borrowed` is set if words[i] holds nothing. */
static void graph_look_add_words(struct graph_look_sweep *sweep, const uint64_t *words,
                                 size_t count, uint32_t borrowed)
{
    uint32_t block = (uint32_t)sweep->block;
    size_t next = 0;
    for (; borrowed; borrowed &= borrowed - 1) {
        size_t at = (size_t)__builtin_ctz(borrowed);
        graph_add_words(sweep->graph, block, words + next, at - next);
        graph_add_borrowed_words(sweep->graph, block, words + at, 1);
        next = at + 1;
    }
    graph_add_words(sweep->graph, block, words + next, count - next);
}

static void graph_look_add_block(struct graph_look_sweep *sweep, uint64_t start, uint64_t from,
                                 uint64_t to)
{
    size_t count;
    uint32_t borrowed = 0;
    uint64_t *words = graph_look_words(sweep, start, from, to, &count);
    if (count && from == sweep->blocks[sweep->block].address)
        borrowed = graph_look_add_head(sweep, words, count);
    if (sweep->is_graph)
        graph_look_add_words(sweep, words, count, borrowed);
    if (sweep->is_graph && sweep->has_offsets && from == sweep->blocks[sweep->block].address)
        graph_add_offsets(sweep->graph, (uint32_t)sweep->block, words, count);
}

/* A piece of an area has been read. */
static void graph_look_add_piece(struct graph_look_sweep *sweep, const struct area *area,
                                 uint64_t start, uint64_t end)
{
    const struct live_list *list = sweep->asked->blocks;
    uint64_t at = start;
    while (sweep->block < list->count && live_entry_end(&list->blocks[sweep->block]) <= start)
        sweep->block++;
    while (sweep->block < list->count && list->blocks[sweep->block].address < end) {
        const struct live_entry *block = &list->blocks[sweep->block];
        uint64_t block_end = live_entry_end(block);
        uint64_t from = block->address > start ? block->address : start;
        uint64_t to = block_end < end ? block_end : end;
        graph_look_add_between(sweep, area, start, at, from);
        graph_look_add_block(sweep, start, from, to);
        at = to;
        if (block_end > end)
            return;
        sweep->block++;
    }
    graph_look_add_between(sweep, area, start, at, end);
}

/* Reads what could not be read ahead: pages that are gone by now or that cannot be read are
 * skipped. */
static int graph_look_read_rest(struct graph_look_sweep *sweep, uint64_t at, uint64_t end)
{
    for (uint64_t got; at < end; at += got) {
        errno = 0; /* the end of the memory is no error */
        got = graph_look_read(sweep, at, sweep->words, end - at);
        if (!got && (errno == ESRCH || errno == EPERM))
            return -errno;
        if (got)
            graph_look_add_piece(sweep, &sweep->asked->areas->list[sweep->area], at, at + got);
        else
            got = SMALLEST_PAGE_BYTES;
    }
    return 0;
}

static int graph_look_visit(const struct graph_piece *piece, uint64_t *words, size_t got,
                            void *context)
{
    struct graph_look_sweep *sweep = context;
    const struct areas *areas = sweep->asked->areas;
    uint64_t end = piece->start + got, *room = sweep->words;
    while (sweep->area < areas->count && areas->list[sweep->area].end <= piece->start)
        sweep->area++;
    if (sweep->area == areas->count)
        return 0;
    sweep->words = words;
    if (got)
        graph_look_add_piece(sweep, &areas->list[sweep->area], piece->start, end);
    int error = end < piece->end ? graph_look_read_rest(sweep, end, piece->end) : 0;
    sweep->words = room;
    return sweep->graph->no_memory ? -ENOMEM : error;
}

static int graph_look_find_ranges(struct graph_look_sweep *sweep)
{
    const struct graph_look_asked *asked = sweep->asked;
    sweep->ranges = calloc(asked->areas->count + 1, sizeof *sweep->ranges);
    if (!sweep->ranges)
        return -ENOMEM;
    for (size_t i = 0; i < asked->areas->count; i++) {
        const struct area *area = &asked->areas->list[i];
        if (area->holds_block || (sweep->is_graph && graph_look_is_root(sweep, area)))
            sweep->ranges[sweep->range_count++] = (struct page_table_range){area->start, area->end};
    }
    return 0;
}

/* A run of the copy lies in one area. */
static int graph_look_sweep_copy(struct graph_look_sweep *sweep)
{
    const struct areas *areas = sweep->asked->areas;
    uint64_t *buffer = sweep->words;
    for (size_t i = 0; i < sweep->copy.count && !sweep->graph->no_memory; i++) {
        const struct graph_copy_run *run = &sweep->copy.runs[i];
        while (sweep->area < areas->count && areas->list[sweep->area].end <= run->start)
            sweep->area++;
        if (sweep->area == areas->count)
            break;
        sweep->words = (uint64_t *)(void *)(sweep->copy.bytes + run->at);
        graph_look_add_piece(sweep, &areas->list[sweep->area], run->start, run->end);
    }
    sweep->words = buffer;
    return sweep->graph->no_memory ? -ENOMEM : 0;
}

static int graph_look_visit_late(const struct page_table_run *run, void *context)
{
    struct graph_look_sweep *sweep = context;
    if ((run->state != PAGES_RESIDENT && run->state != PAGES_SWAPPED) || run->zero)
        return 0;
    for (uint64_t at = run->start, got; at < run->end; at += got) {
        uint64_t bytes = run->end - at;
        got = graph_look_read(sweep, at, sweep->words,
                              bytes < PIECE_WORDS * WORD ? bytes : PIECE_WORDS * WORD);
        graph_add_roots(sweep->graph, at, sweep->words, got / WORD);
        got = got ? got : SMALLEST_PAGE_BYTES;
    }
    return 0;
}

/* A program that ran on may have mapped memory that is in no area. No known block lies there, but
 * pointers may. */
static int graph_look_add_late(struct graph_look_sweep *sweep)
{
    struct page_table_range *ranges;
    size_t count;
    int error = graph_late_find(sweep->asked->pid, sweep->asked->smaps, &ranges, &count);
    if (!error && count)
        error = page_table_visit(sweep->asked->pages, ranges, count, graph_look_visit_late, sweep);
    free(ranges);
    return error;
}

static void graph_look_see_news(void *context, uint64_t address)
{
    struct graph_look_sweep *sweep = context;
    graph_add_roots(sweep->graph, 0, &address, 1);
}

/* A block that a thread has freed since the list was made is not lost, and a block that it has
 * allocated since may hold pointers. If nothing was recorded since, the list is exact, also if the
 * thread has ended by now. */
static int graph_look_add_news(struct graph_look_sweep *sweep)
{
    const struct graph_look_asked *asked = sweep->asked;
    bool have_come = asked->view && graph_news_see(asked->view, graph_look_see_news, sweep);
    sweep->has_unknown = asked->has_unknown || have_come;
    return have_come || !graph_look_stands(asked) ? graph_look_add_late(sweep) : 0;
}

static int graph_look_sweep_program(struct graph_look_sweep *sweep)
{
    struct graph_pieces pieces = {0};
    int error = graph_pieces_find(&pieces, sweep->asked->pages, sweep->ranges, sweep->range_count);
    if (!error)
        error = graph_pieces_visit(&pieces, &sweep->memory, graph_look_visit, sweep);
    graph_pieces_release(&pieces);
    return error;
}

/* The program runs on as soon as its memory is copied, if there is room for that. */
static int graph_look_sweep(struct graph_look_sweep *sweep)
{
    const struct graph_look_asked *asked = sweep->asked;
    bool is_copied = graph_copy_take(&sweep->copy, asked->pages, sweep->ranges, sweep->range_count,
                                     &sweep->memory);
    if (is_copied && !asked->path_to)
        graph_threads_go_on(&sweep->threads);
    return is_copied ? graph_look_sweep_copy(sweep) : graph_look_sweep_program(sweep);
}

/* ---- What comes of it ------------------------------------------------------------------------ */

static void graph_look_add(struct figure *figure, uint64_t more)
{
    *figure = figure_add(*figure, figure_of(more));
}

struct reach_sums {
    struct figure *count, *bytes;
};

static struct reach_sums graph_look_sums(struct profile_residency *row, unsigned class)
{
    switch (class) {
    case GRAPH_LOST:
        return (struct reach_sums){&row->lost_count, &row->lost_bytes};
    case GRAPH_INDIRECT:
        return (struct reach_sums){&row->indirect_count, &row->indirect_bytes};
    case GRAPH_POSSIBLE:
        return (struct reach_sums){&row->possible_count, &row->possible_bytes};
    default:
        return (struct reach_sums){&row->reachable_count, &row->reachable_bytes};
    }
}

static void graph_look_set_rows(const struct graph_look_asked *asked, struct figure value)
{
    for (size_t i = 0; i < asked->row_count; i++)
        for (unsigned class = 0; class < GRAPH_CLASSES; class ++) {
            struct reach_sums sums = graph_look_sums(&asked->rows[i], class);
            *sums.count = *sums.bytes = value;
        }
}

static void graph_look_fill_rows(const struct graph_look_asked *asked,
                                 const struct graph_reach *reach)
{
    graph_look_set_rows(asked, figure_of(0));
    for (size_t i = 0; i < asked->blocks->count; i++) {
        const struct live_entry *block = &asked->blocks->blocks[i];
        struct reach_sums sums = graph_look_sums(&asked->rows[block->row], reach->classes[i]);
        graph_look_add(sums.count, 1);
        graph_look_add(sums.bytes, block->size_bytes);
    }
}

static int graph_look_fill_islands(const struct graph_look_asked *asked,
                                   const struct graph_reach *reach, struct graph_look *out)
{
    out->islands = calloc(asked->row_count + 1, sizeof *out->islands);
    if (!out->islands)
        return -ENOMEM;
    for (size_t i = 0; i < reach->island_count; i++) {
        const struct graph_island *island = &reach->islands[i];
        const struct live_entry *head = &asked->blocks->blocks[island->head];
        struct profile_island *row = &out->islands[head->row];
        if (!row->count)
            row->oldest_ns = row->newest_ns = figure_of(head->birth_ticks);
        row->path = head->node;
        row->count++;
        row->oldest_ns = figure_min(row->oldest_ns, figure_of(head->birth_ticks));
        row->newest_ns = figure_max(row->newest_ns, figure_of(head->birth_ticks));
        row->bytes += head->size_bytes;
        row->indirect_count += island->indirect_count;
        row->indirect_bytes += island->indirect_bytes;
    }
    return 0;
}

/* Call paths without islands are left out. */
static void graph_look_drop_empty(struct graph_look *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (out->islands[i].count)
            out->islands[out->island_count++] = out->islands[i];
}

static int graph_look_solve(struct graph_look_sweep *sweep, struct graph_look *out)
{
    struct graph_reach reach;
    int error = graph_reach(sweep->graph, &reach);
    if (error)
        return error;
    error = graph_look_fill_islands(sweep->asked, &reach, out);
    if (!error) {
        graph_look_drop_empty(out, sweep->asked->row_count);
        graph_look_fill_rows(sweep->asked, &reach);
    }
    graph_reach_release(&reach);
    return error;
}

void graph_look_sum(const struct graph_look_asked *asked, struct profile_sample *sample)
{
    struct profile_residency all = {0};
    for (size_t i = 0; i < asked->row_count; i++)
        for (unsigned class = 0; class < GRAPH_CLASSES; class ++) {
            struct reach_sums from = graph_look_sums(&asked->rows[i], class);
            struct reach_sums to = graph_look_sums(&all, class);
            *to.count = figure_add(*to.count, *from.count);
            *to.bytes = figure_add(*to.bytes, *from.bytes);
        }
    sample->lost_count = all.lost_count;
    sample->lost_bytes = all.lost_bytes;
    sample->indirect_count = all.indirect_count;
    sample->indirect_bytes = all.indirect_bytes;
    sample->possible_count = all.possible_count;
    sample->possible_bytes = all.possible_bytes;
    sample->reachable_count = all.reachable_count;
    sample->reachable_bytes = all.reachable_bytes;
}

/* ---- All of it ------------------------------------------------------------------------------- */

static size_t graph_look_read_for_types(const void *context, uint64_t address, void *to,
                                        size_t bytes)
{
    return graph_look_read(context, address, to, bytes);
}

static int graph_look_list_blocks(struct graph_look_sweep *sweep)
{
    const struct live_list *list = sweep->asked->blocks;
    sweep->words = malloc(PIECE_WORDS * WORD);
    sweep->blocks = calloc(list->count + 1, sizeof *sweep->blocks);
    sweep->first_words = calloc(list->count + 1, sizeof *sweep->first_words);
    if (!sweep->words || !sweep->blocks || !sweep->first_words)
        return -ENOMEM;
    for (size_t i = 0; i < list->count; i++)
        sweep->blocks[i] =
            (struct graph_block){list->blocks[i].address, list->blocks[i].size_bytes};
    sweep->types =
        (struct block_types_memory){graph_look_read_for_types, sweep, sweep->asked->smaps};
    sweep->python = python_objects_new(&sweep->types, list);
    return 0;
}

static int graph_look_begin(struct graph_look_sweep *sweep)
{
    bool has_glib = graph_look_has(sweep->asked->smaps, "/libgobject-2.0.so");
    struct graph_memory memory = {graph_look_read_words, graph_look_is_vtable,
                                  has_glib ? graph_look_is_code : NULL, sweep};
    int error = graph_look_list_blocks(sweep);
    if (error)
        return error;
    sweep->memory.fd = proc_open(sweep->asked->pid, "mem");
    if (sweep->memory.fd < 0)
        return sweep->memory.fd == -EACCES ? -EPERM : sweep->memory.fd;
    if (sweep->is_graph)
        error = graph_begin(&sweep->own, sweep->blocks, sweep->asked->blocks->count, &memory);
    if (!error && sweep->asked->names)
        error = graph_held_begin(&sweep->held, sweep->asked, sweep->memory.fd, &sweep->own);
    if (sweep->held.held)
        sweep->graph = &sweep->held.held->graph;
    sweep->graph->finds_fill = true;
    sweep->has_offsets = graph_look_has(sweep->asked->smaps, "/libfontconfig.so");
    sweep->has_unknown = true; /* till it stands */
    if (!error)
        error = graph_look_find_ranges(sweep);
    if (!error && sweep->is_graph && !sweep->asked->waits)
        graph_copy_begin(&sweep->copy, sweep->asked->pages, sweep->ranges, sweep->range_count);
    return error;
}

static void graph_look_end(struct graph_look_sweep *sweep)
{
    if (sweep->held.held && sweep->held.held->blocks)
        sweep->blocks = NULL; /* they went with the graph */
    graph_held_release(&sweep->held);
    graph_release(&sweep->own);
    graph_copy_release(&sweep->copy);
    free(sweep->ranges);
    if (sweep->memory.fd >= 0)
        close(sweep->memory.fd);
    free(sweep->blocks);
    free(sweep->words);
    free(sweep->first_words);
    python_objects_free(sweep->python);
}

/* The first words are not needed afterwards, so they are freed. */
static int graph_look_find_types(struct graph_look_sweep *sweep, struct graph_look *out)
{
    if (sweep->python)
        python_objects_settle(sweep->python);
    int error = block_types_find(&out->types, sweep->asked->blocks, sweep->first_words,
                                 sweep->python, &sweep->types);
    free(sweep->first_words);
    sweep->first_words = NULL;
    return error;
}

static int graph_look_find_fills(const struct graph_look_sweep *sweep, struct graph_look *out)
{
    graph_fill_settle(sweep->graph);
    int error =
        block_fills_find(&out->fills, sweep->graph, sweep->asked->blocks, sweep->asked->rows);
    graph_fill_forget(sweep->graph);
    return error;
}

static void graph_look_see_stdio(struct graph_look_sweep *sweep)
{
    const struct graph_look_asked *asked = sweep->asked;
    graph_stdio_see_blocks(sweep->graph, asked->smaps, sweep->first_words);
    for (size_t i = 0; i < asked->areas->count; i++) {
        const struct area *area = &asked->areas->list[i];
        if (graph_look_is_of(asked, area, "libc"))
            graph_stdio_see_variables(sweep->graph, asked->smaps, area->start, area->end);
    }
}

static int graph_look_run(const struct graph_look_asked *asked, struct graph_look *out)
{
    struct graph_look_sweep sweep = {.asked = asked,
                                     .threads = GRAPH_THREADS_INIT,
                                     .memory = {-1, asked->pid, asked->smaps},
                                     .is_graph = true};
    sweep.graph = &sweep.own;
    int error = graph_look_begin(&sweep);
    if (!error)
        error = graph_look_stands(asked)
                    ? graph_threads_take(&sweep.threads, asked->threads, asked->exit_stack)
                    : graph_threads_stop(&sweep.threads, asked->pid, asked->exit_stack);
    if (!error) {
        graph_look_add_registers(&sweep);
        error = graph_look_add_kernel(&sweep);
    }
    if (!error)
        error = graph_look_add_news(&sweep);
    if (!error)
        error = graph_look_sweep(&sweep);
    if (!error && sweep.held.held)
        graph_look_see_stdio(&sweep);
    if (!error && sweep.python)
        python_objects_settle(sweep.python);
    if (!error && sweep.python && sweep.held.held)
        error = python_holders_find(sweep.held.held, sweep.python, asked->blocks);
    if (!error && asked->path_to && sweep.held.held)
        error = graph_held_find_chain(&sweep.held, asked, sweep.memory.fd);
    graph_threads_release(&sweep.threads);
    graph_copy_release(&sweep.copy);
    if (!error)
        error = graph_look_find_types(&sweep, out);
    if (!error)
        error = graph_look_solve(&sweep, out);
    if (!error)
        error = graph_look_find_fills(&sweep, out);
    if (!error) {
        out->held = sweep.held.held;
        sweep.blocks = out->held ? NULL : sweep.blocks;
        if (out->held)
            graph_forget_borrowed(&out->held->graph);
        sweep.held.held = NULL;
    }
    graph_look_end(&sweep);
    return error;
}

int graph_look_take_types(const struct graph_look_asked *asked, struct block_types *types)
{
    struct graph_look_sweep sweep = {
        .asked = asked, .threads = GRAPH_THREADS_INIT, .memory = {-1, asked->pid, asked->smaps}};
    sweep.graph = &sweep.own; /* with nothing in it */
    struct graph_look found = {0};
    int error = graph_look_begin(&sweep);
    if (!error)
        error = graph_look_sweep(&sweep);
    if (!error)
        error = graph_look_find_types(&sweep, &found);
    *types = found.types;
    graph_look_end(&sweep);
    return error;
}

struct graph_look_job {
    const struct graph_look_asked *asked;
    struct graph_look *out;
    int error;
};

static void *graph_look_thread(void *context)
{
    struct graph_look_job *job = context;
    job->error = graph_look_run(job->asked, job->out);
    return NULL;
}

/* When our thread ends, the kernel detaches it from all threads that it traces, also from those
 * that could not be stopped in time. So the look has a thread of its own. */
static int graph_look_run_on_thread(struct graph_look_job *job)
{
    pthread_t thread;
    int error = -pthread_create(&thread, NULL, graph_look_thread, job);
    if (!error)
        pthread_join(thread, NULL);
    return error ? error : job->error;
}

int graph_look_take(const struct graph_look_asked *asked, struct graph_look *out)
{
    struct graph_look_job job = {asked, out, 0};
    *out = (struct graph_look){0};
    if (!asked->blocks->count) { /* without blocks there is nothing to reach */
        graph_look_set_rows(asked, figure_of(0));
        return 0;
    }
    graph_look_set_rows(asked, FIGURE_UNKNOWN);
    int error =
        graph_look_stands(asked) ? graph_look_run(asked, out) : graph_look_run_on_thread(&job);
    if (error)
        graph_look_release(out);
    return error;
}

void graph_look_release(struct graph_look *look)
{
    free(look->islands);
    held_free(look->held);
    block_types_release(&look->types);
    block_fills_release(&look->fills);
    *look = (struct graph_look){0};
}
