/* Sweeps the page table into a residency (look_sweep.h). A run whose contents are read is cut where
 * pages hold something of another kind. */
#include "collector/look_sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "procfs/numa.h"
#include "procfs/proc_file.h"
#include "procfs/process.h"

enum { BUFFER_BYTES = 256 << 10, HUGE_STEP = 2 << 20 };

bool look_sweep_has_forked(const struct smaps *smaps)
{
    for (size_t i = 0; i < smaps->count; i++) {
        const struct smaps_mapping *mapping = &smaps->mappings[i];
        if (!mapping->shared && figure_positive(mapping->bytes.shared) &&
            figure_equal(mapping->bytes.anonymous, mapping->bytes.rss))
            return true;
    }
    return false;
}

/* ---- Contents ------------------------------------------------------------------------------ */

/* Returns how many bytes were read, whole pages. process_vm_readv() would pin the pages. To pin a
 * page that a fork shares, the kernel copies it and splits huge pages, so the program would
 * grow. */
static size_t look_sweep_read(const struct look_sweep *sweep, uint64_t start, uint64_t end)
{
    size_t wanted = end - start < BUFFER_BYTES ? (size_t)(end - start) : BUFFER_BYTES;
    ssize_t got = pread(sweep->memory, sweep->buffer, wanted, (off_t)start);
    return got < 0 ? 0 : (size_t)got / process_page_bytes() * process_page_bytes();
}

/* Adds [run->start, run->end), of which the buffer has the first `bytes`. */
static void look_sweep_add_read(struct look_sweep *sweep, const struct page_table_run *run,
                                size_t bytes)
{
    size_t page = process_page_bytes();
    struct page_table_run part = *run;
    part.end = part.start;
    for (size_t at = 0; at < bytes; at += page) {
        struct page_content_finding found =
            page_content_see(&sweep->content, sweep->buffer + at, !run->shared);
        bool is_like =
            found.blank == part.blank && found.copy == part.copy && found.spared == part.spared;
        if (part.end > part.start && !is_like) {
            residency_run(sweep->residency, &part);
            part.start = part.end;
        }
        part.blank = found.blank;
        part.copy = found.copy;
        part.spared = found.spared;
        part.end += page;
    }
    if (part.end > part.start)
        residency_run(sweep->residency, &part);
}

static void look_sweep_add_contents(struct look_sweep *sweep, const struct page_table_run *run)
{
    struct page_table_run part = *run;
    while (part.start < run->end) {
        size_t got = look_sweep_read(sweep, part.start, run->end);
        if (!got) {
            sweep->knows_content = false;
            part.end = run->end;
            residency_run(sweep->residency, &part);
            return;
        }
        look_sweep_add_read(sweep, &part, got);
        part.start += got;
    }
}

/* ---- Runs ---------------------------------------------------------------------------------- */

static const struct smaps_mapping *look_sweep_mapping(struct look_sweep *sweep, uint64_t address)
{
    const struct areas *areas = sweep->areas;
    while (sweep->area < areas->count && areas->list[sweep->area].end <= address)
        sweep->area++;
    return sweep->area < areas->count ? &sweep->smaps->mappings[areas->list[sweep->area].mapping]
                                      : NULL;
}

static void look_sweep_add_run(struct look_sweep *sweep, const struct page_table_run *run,
                               bool reads)
{
    if (reads)
        look_sweep_add_contents(sweep, run);
    else
        residency_run(sweep->residency, run);
}

/* In pieces that were written at about the same time. */
static void look_sweep_add_by_heat(struct look_sweep *sweep, const struct page_table_run *run,
                                   bool reads)
{
    size_t page = process_page_bytes();
    struct page_table_run part = *run;
    for (uint64_t at = run->start; at < run->end; at += page) {
        uint8_t heat = (uint8_t)heat_of(sweep->heat, at);
        if (at > part.start && heat != part.heat) {
            part.end = at;
            look_sweep_add_run(sweep, &part, reads);
            part.start = at;
        }
        part.heat = heat;
    }
    part.end = run->end;
    look_sweep_add_run(sweep, &part, reads);
}

static void look_sweep_add_known(struct look_sweep *sweep, const struct page_table_run *run,
                                 bool reads)
{
    if (sweep->heat && run->state == PAGES_RESIDENT && !run->shared && !run->zero)
        look_sweep_add_by_heat(sweep, run, reads);
    else
        look_sweep_add_run(sweep, run, reads);
}

static uint8_t look_sweep_node(int node)
{
    if (node == NUMA_UNKNOWN)
        return 0;
    return (uint8_t)(1 + (node < PROFILE_NODE_ABOVE ? node : PROFILE_NODE_ABOVE));
}

/* In pieces that are on one node. A huge page is asked about once. */
static void look_sweep_add_by_node(struct look_sweep *sweep, const struct page_table_run *run,
                                   bool reads)
{
    int nodes[NUMA_PAGES_MOST];
    uint64_t step = run->huge ? HUGE_STEP : process_page_bytes();
    struct page_table_run part = *run;
    for (uint64_t at = run->start & ~(step - 1); at < run->end; at += step * NUMA_PAGES_MOST) {
        uint64_t wanted = (run->end - at + step - 1) / step;
        size_t count = wanted < NUMA_PAGES_MOST ? (size_t)wanted : NUMA_PAGES_MOST;
        sweep->ask_nodes(sweep->pid, at, step, count, nodes);
        for (size_t i = 0; i < count; i++) {
            uint8_t node = look_sweep_node(nodes[i]);
            part.end = at + i * step;
            if (part.end > part.start && node != part.node) {
                look_sweep_add_known(sweep, &part, reads);
                part.start = part.end;
            }
            part.node = node;
        }
    }
    part.end = run->end;
    look_sweep_add_known(sweep, &part, reads);
}

static int look_sweep_visit(const struct page_table_run *visited, void *context)
{
    struct look_sweep *sweep = context;
    struct page_table_run run = *visited;
    const struct smaps_mapping *mapping = look_sweep_mapping(sweep, run.start);
    /* By smaps no other process maps these pages, so a page that seems to be shared is the zero
     * page. */
    if (!sweep->tells_zero && run.forked && mapping && figure_zero(mapping->bytes.shared))
        run.zero = true;
    bool reads = sweep->wants_content && run.state == PAGES_RESIDENT && !run.zero && mapping &&
                 mapping->readable;
    if (sweep->ask_nodes && run.state == PAGES_RESIDENT && !run.zero)
        look_sweep_add_by_node(sweep, &run, reads);
    else
        look_sweep_add_known(sweep, &run, reads);
    return 0;
}

static uint64_t look_sweep_anonymous_pages(const struct smaps *smaps)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < smaps->count; i++)
        bytes += figure_or(smaps->mappings[i].bytes.anonymous, 0);
    return bytes / process_page_bytes();
}

/* Its page table is read in a moment. */
static bool look_sweep_is_small(const struct smaps *smaps)
{
    enum { MOST = 16 << 20 };
    uint64_t bytes = 0;
    for (size_t i = 0; i < smaps->count; i++)
        bytes += figure_or(smaps->mappings[i].bytes.rss, MOST);
    return bytes < MOST;
}

/* The contents of a page that cannot be read are not known. */
static int look_sweep_open_content(struct look_sweep *sweep)
{
    sweep->buffer = NULL;
    sweep->memory = -1;
    sweep->knows_content = sweep->wants_content;
    if (!sweep->wants_content)
        return 0;
    sweep->buffer = malloc(BUFFER_BYTES);
    sweep->memory = proc_open(sweep->pid, "mem");
    int error = page_content_begin(&sweep->content, process_page_bytes(),
                                   look_sweep_anonymous_pages(sweep->smaps));
    return sweep->buffer ? error : -ENOMEM;
}

static void look_sweep_close_content(struct look_sweep *sweep)
{
    if (sweep->memory >= 0)
        close(sweep->memory);
    page_content_release(&sweep->content);
    if (sweep->buffer)
        explicit_bzero(sweep->buffer, BUFFER_BYTES);
    free(sweep->buffer);
}

int look_sweep(struct look_sweep *sweep, struct pages *pages)
{
    const struct areas *areas = sweep->areas;
    struct page_table_range *ranges = calloc(areas->count + 1, sizeof *ranges);
    size_t count = 0;
    int error = look_sweep_open_content(sweep);
    if (!error && !ranges)
        error = -ENOMEM;
    for (size_t i = 0; !error && i < areas->count; i++)
        if (area_needs_pages(&areas->list[i]))
            ranges[count++] = (struct page_table_range){areas->list[i].start, areas->list[i].end};
    sweep->area = 0;
    sweep->tells_zero = pages->knows_huge;
    pages->wants_forked = look_sweep_has_forked(sweep->smaps);
    pages->at_once = look_sweep_is_small(sweep->smaps);
    bool is_held = !error && sweep->heat;
    if (is_held)
        heat_lock(sweep->heat, sweep->is_last ? HEAT_LAST : HEAT_PEEK);
    if (!error)
        error = page_table_visit(pages, ranges, count, look_sweep_visit, sweep);
    if (is_held)
        heat_unlock(sweep->heat);
    look_sweep_close_content(sweep);
    free(ranges);
    return error;
}
