/* Writes the section on memory of devices: for each space what the program had of it, and which
 * call sites held it at the space's peak. No figure here is part of the heap, of mapped or of
 * resident memory, but for memory of the host that a driver has pinned, which is resident too. */
#include "report/report_text.h"

#include <errno.h>
#include <stdlib.h>
#include "aggregate/device_facts.h"
#include "base/human.h"
#include "base/text.h"
#include "model/device_space.h"

enum { CELL = 10, SHARE = 8, ALLOCS = 9 };

static const struct text_column report_text_devices_columns[] = {{"at peak", CELL, TEXT_RIGHT, 0},
                                                                 {"share", SHARE, TEXT_RIGHT, 0},
                                                                 {"left", CELL, TEXT_RIGHT, 0},
                                                                 {"allocs", ALLOCS, TEXT_RIGHT, 0},
                                                                 {"call site", 0, TEXT_LEFT, 2}};

static const char *const report_text_devices_places[] = {
    [DEVICE_PLACE_DEVICE] = "on the device, and no part of the process's memory",
    [DEVICE_PLACE_EITHER] = "the driver moves its pages: those that are in this machine's memory "
                            "may be resident too",
    [DEVICE_PLACE_HOST] = "memory of this machine that the driver has pinned: it is resident too",
};

static int report_text_devices_compare(const void *left, const void *right)
{
    const struct device_site *a = left, *b = right;
    if (a->at_peak_bytes != b->at_peak_bytes)
        return a->at_peak_bytes < b->at_peak_bytes ? 1 : -1;
    if (a->live_bytes != b->live_bytes)
        return a->live_bytes < b->live_bytes ? 1 : -1;
    return (a->node > b->node) - (a->node < b->node);
}

static void report_text_devices_join(struct device_site *sum, const struct device_site *site)
{
    if (!sum->node)
        sum->node = site->node;
    sum->at_peak_bytes += site->at_peak_bytes;
    sum->live_bytes += site->live_bytes;
    sum->alloc_count += site->alloc_count;
}

/* Joins `count` sites to those that are shown alike. Returns how many; the caller frees *sums. */
static size_t report_text_devices_group(const struct report_text *text,
                                        const struct device_site *sites, size_t count,
                                        struct device_site **sums)
{
    size_t groups = 0;
    uint32_t *nodes = malloc(count * sizeof *nodes + 1), *of = NULL;
    *sums = calloc(count + 1, sizeof **sums);
    for (size_t i = 0; nodes && i < count; i++)
        nodes[i] = sites[i].node;
    if (nodes && *sums)
        of = report_part_groups(text, nodes, count, &groups);
    for (size_t i = 0; of && i < count; i++)
        report_text_devices_join(&(*sums)[of[i]], &sites[i]);
    if (!of) {
        free(*sums);
        *sums = NULL;
    }
    free(nodes);
    free(of);
    return groups;
}

static void report_text_devices_add_row(struct report_text *text, const struct device_site *sum,
                                        uint64_t whole)
{
    report_part_row(text, report_text_devices_columns);
    report_part_next_figure(text, human_bytes(sum->at_peak_bytes).text);
    report_part_next(text, human_percent((double)sum->at_peak_bytes, (double)whole).text);
    report_part_next_figure(text, human_bytes(sum->live_bytes).text);
    report_part_next(text, human_count(sum->alloc_count).text);
    report_part_next(text, "");
    report_part_path(text, sum->node, CELL + SHARE + CELL + ALLOCS + 2, false);
}

static int report_text_devices_add_sites(struct report_text *text, const struct device_total *total,
                                         size_t most)
{
    const struct profile *profile = text->profile;
    size_t first = 0, count = 0;
    struct device_site *sums;
    while (first < profile->device_site_count && profile->device_sites[first].space != total->space)
        first++;
    while (first + count < profile->device_site_count &&
           profile->device_sites[first + count].space == total->space)
        count++;
    if (!count)
        return 0;
    size_t groups = report_text_devices_group(text, profile->device_sites + first, count, &sums);
    if (!sums)
        return -ENOMEM;
    qsort(sums, groups, sizeof *sums, report_text_devices_compare);
    report_part_headings(text, report_text_devices_columns,
                         sizeof report_text_devices_columns / sizeof *report_text_devices_columns);
    for (size_t i = 0; i < groups && i < most; i++)
        report_text_devices_add_row(text, &sums[i], total->peak_bytes);
    report_part_more(text, groups);
    free(sums);
    return 0;
}

static int report_text_devices_add(struct report_text *text, const struct device_total *total)
{
    struct strbuf line = STRBUF_INIT;
    device_facts_add(&line, text->profile, total);
    report_part_title(text, device_space_name(total->space), line.data);
    strbuf_release(&line);
    if (total->space < DEVICE_SPACES)
        report_part_note(text, report_text_devices_places[device_space_place(total->space)]);
    return report_text_devices_add_sites(text, total, text->options->top);
}

int report_section_devices(struct report_text *text)
{
    int error = 0;
    if (!text->profile->device_total_count) {
        report_part_title(text, "Devices", "");
        report_part_note(text, "no memory of devices was asked of a driver that is known (CUDA, "
                               "HIP), or this profile does not say");
    }
    for (size_t i = 0; i < text->profile->device_total_count && !error; i++)
        error = report_text_devices_add(text, &text->profile->device_totals[i]);
    return error;
}

void report_overview_devices(struct report_text *text)
{
    for (size_t i = 0; i < text->profile->device_total_count; i++) {
        struct strbuf line = STRBUF_INIT;
        device_facts_add_named(&line, text->profile, &text->profile->device_totals[i]);
        report_part_label(text, i ? "" : "devices");
        report_part_wrapped(text, line.data);
        strbuf_release(&line);
    }
}
