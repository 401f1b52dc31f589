/* Writes the section on regions and marks, which the program has named itself. Regions are sorted
 * by their peak. A note below says what the recorder could not keep. */
#include "report/report_text.h"

#include <errno.h>
#include <stdlib.h>
#include "base/text.h"
#include "aggregate/facts.h"
#include "aggregate/estimate.h"
#include "model/figure_human.h"

enum { CELL = 10, TIMES = 8, OVERVIEW_ROWS = 4 };

static const struct text_column report_text_regions_columns[] = {
    {"times", TIMES, TEXT_RIGHT, 0},    {"time", CELL, TEXT_RIGHT, 0},
    {"allocs", CELL, TEXT_RIGHT, 0},    {"bytes", CELL, TEXT_RIGHT, 0},
    {"peak", CELL, TEXT_RIGHT, 0},      {"left", CELL, TEXT_RIGHT, 0},
    {"temporary", CELL, TEXT_RIGHT, 0}, {"region", 0, TEXT_LEFT, 2}};

static const struct text_column report_text_regions_mark_columns[] = {
    {"at", CELL, TEXT_RIGHT, 0},
    {"alive", CELL + 2, TEXT_RIGHT, 0},
    {"blocks", CELL, TEXT_RIGHT, 0},
    {"mark", 0, TEXT_LEFT, 2}};

static void report_text_regions_add(struct report_text *text, uint32_t index)
{
    const struct profile_region *region = &text->profile->regions[index];
    struct call_metrics total;
    profile_region_total(text->profile, index, &total);
    struct figure calls = call_metrics_blocks(&total);
    report_part_row(text, report_text_regions_columns);
    report_part_next(text, human_count(region->entered_count).text);
    report_part_next(text, human_duration(region->time_ns).text);
    report_part_next(text, estimate_count(text->profile, calls).text);
    report_part_next(text, figure_human_bytes(call_metrics_bytes(&total)).text);
    report_part_next_figure(text, human_bytes(region->peak_bytes).text);
    report_part_next(text, figure_human_bytes(total.live_bytes).text);
    report_part_next(
        text, human_percent(figure_double(total.temporary_count), figure_double(calls)).text);
    report_part_next(text, "");
    text_add_safe_string(&text->out, region->name);
    if (region->unended_count)
        strbuf_addf(&text->out, " (%s without an end)", human_exact(region->unended_count).text);
    if (region->open_count)
        strbuf_addf(&text->out, " (open in %s thread%s)", human_exact(region->open_count).text,
                    region->open_count == 1 ? "" : "s");
    strbuf_add_char(&text->out, '\n');
}

struct regions_ranked {
    uint64_t bytes;
    uint32_t index;
};

static int report_text_regions_compare(const void *left, const void *right)
{
    const struct regions_ranked *a = left, *b = right;
    return a->bytes != b->bytes ? (a->bytes < b->bytes) - (a->bytes > b->bytes)
                                : (a->index > b->index) - (a->index < b->index);
}

/* Adds the `most` regions with the highest peaks. */
static int report_text_regions_add_regions(struct report_text *text, size_t most)
{
    size_t count = text->profile->region_count;
    struct regions_ranked *ranked = malloc(count * sizeof *ranked + 1);
    if (!ranked)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        ranked[i] = (struct regions_ranked){text->profile->regions[i].peak_bytes, i};
    qsort(ranked, count, sizeof *ranked, report_text_regions_compare);
    report_part_headings(text, report_text_regions_columns,
                         sizeof report_text_regions_columns / sizeof *report_text_regions_columns);
    for (size_t i = 0; i < count && i < most; i++)
        report_text_regions_add(text, ranked[i].index);
    if (most < count)
        strbuf_addf(&text->out, "  %zu more\n", count - most);
    free(ranked);
    return 0;
}

static const char note[] =
    "Blocks that were allocated in a region, whoever freed them and when. peak: the most of them "
    "at "
    "once; left: never freed. tidemark report --region NAME shows one like a program.";

static void report_text_regions_add_untold(struct report_text *text, const char *key,
                                           const char *what)
{
    struct strbuf line = STRBUF_INIT;
    uint64_t count = facts_number(text->profile, key);
    if (count) {
        strbuf_addf(&line, "%s %s", human_exact(count).text, what);
        report_part_note(text, line.data);
    }
    strbuf_release(&line);
}

static void report_text_regions_add_mark(struct report_text *text, const struct profile_mark *mark)
{
    static const char *const kinds[PROFILE_MARK_KINDS] = {
        [PROFILE_MARK_NAMED] = "",
        [PROFILE_MARK_PAUSED] = "recording paused",
        [PROFILE_MARK_RESUMED] = "recording resumed",
        [PROFILE_MARK_SNAPSHOT] = " (snapshot)"};
    report_part_row(text, report_text_regions_mark_columns);
    report_part_next(text, human_duration(mark->time_ns).text);
    report_part_next_figure(text, human_bytes(mark->live_bytes).text);
    report_part_next(text, estimate_count(text->profile, figure_of(mark->live_count)).text);
    report_part_next(text, "");
    text_add_safe_string(&text->out, mark->name);
    strbuf_add_string(&text->out, kinds[mark->kind]);
    strbuf_add_char(&text->out, '\n');
}

static void report_text_regions_add_marks(struct report_text *text)
{
    const struct profile *profile = text->profile;
    report_part_headings(text, report_text_regions_mark_columns,
                         sizeof report_text_regions_mark_columns /
                             sizeof *report_text_regions_mark_columns);
    for (size_t i = 0; i < profile->mark_count && i < text->options->top; i++)
        report_text_regions_add_mark(text, &profile->marks[i]);
    report_part_more(text, profile->mark_count);
}

int report_section_regions(struct report_text *text)
{
    const struct profile *profile = text->profile;
    int error = 0;
    report_part_title(text, "Regions and marks", NULL);
    if (!profile->region_count && !profile->mark_count) {
        report_part_note(text, "The program has named none: tidemark-api(3) tells how.");
        return 0;
    }
    if (profile->region_count) {
        report_part_note(text, note);
        error = report_text_regions_add_regions(text, text->options->top);
    }
    if (profile->mark_count)
        report_text_regions_add_marks(text);
    report_text_regions_add_untold(
        text, PROFILE_META_UNMATCHED_ENDS,
        "ends of regions had no beginning in their thread and changed nothing.");
    report_text_regions_add_untold(
        text, PROFILE_META_UNTOLD_REGIONS,
        "beginnings of regions were beyond all limits: their blocks are in no region.");
    report_text_regions_add_untold(text, PROFILE_META_UNTOLD_MARKS,
                                   "marks were beyond the first 65,536 and not kept.");
    return error;
}

void report_overview_regions(struct report_text *text)
{
    if (!text->profile->region_count)
        return;
    report_part_title(text, "Regions", NULL);
    report_text_regions_add_regions(text, OVERVIEW_ROWS);
}
