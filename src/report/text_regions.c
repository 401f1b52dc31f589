/* Regions and marks: what the program says of itself. */
#include "report/text.h"

#include <errno.h>
#include <stdlib.h>
#include "base/text.h"
#include "present/facts.h"
#include "report/estimate.h"

enum { CELL = 10, TIMES = 8, OVERVIEW_ROWS = 4 };

static void add_titles(struct text *text)
{
    static const char *const titles[] = {"time", "allocs", "bytes", "peak", "left", "temporary"};
    style_begin(&text->out, &text->style, TONE_DIM);
    part_cell(text, "times", TIMES);
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        part_cell(text, titles[i], CELL);
    strbuf_add_string(&text->out, "  region\n");
    style_end(&text->out, &text->style);
}

static void add_region(struct text *text, uint32_t index)
{
    const struct profile_region *region = &text->profile->regions[index];
    struct call_metrics total;
    uint64_t calls;
    profile_region_total(text->profile, index, &total);
    calls = call_metrics_blocks(&total);
    part_cell(text, human_count(region->entered_count).text, TIMES);
    part_cell(text, human_duration(region->time_ns).text, CELL);
    bool known = calls != UINT64_MAX;
    part_cell(text, known ? estimate_count(text->profile, calls).text : "-", CELL);
    part_cell(text, known ? human_bytes(call_metrics_bytes(&total)).text : "-", CELL);
    part_figure(text, human_bytes(region->peak_bytes).text, CELL);
    part_cell(text, human_bytes(total.live_bytes).text, CELL);
    part_cell(text,
              calls && known ? human_percent((double)total.temporary_count, (double)calls).text
                             : "-",
              CELL);
    strbuf_add_string(&text->out, "  ");
    text_add_safe_string(&text->out, region->name);
    if (region->unended_count)
        strbuf_addf(&text->out, " (%s without an end)", human_exact(region->unended_count).text);
    if (region->open_count)
        strbuf_addf(&text->out, " (open in %s thread%s)", human_exact(region->open_count).text,
                    region->open_count == 1 ? "" : "s");
    strbuf_add_char(&text->out, '\n');
}

struct ranked {
    uint64_t bytes;
    uint32_t index;
};

static int compare(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    return a->bytes != b->bytes ? (a->bytes < b->bytes) - (a->bytes > b->bytes)
                                : (a->index > b->index) - (a->index < b->index);
}

/* The `most` with the highest peaks. */
static int add_regions(struct text *text, size_t most)
{
    size_t count = text->profile->region_count;
    struct ranked *ranked = malloc(count * sizeof *ranked + 1);
    if (!ranked)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        ranked[i] = (struct ranked){text->profile->regions[i].peak_bytes, i};
    qsort(ranked, count, sizeof *ranked, compare);
    add_titles(text);
    for (size_t i = 0; i < count && i < most; i++)
        add_region(text, ranked[i].index);
    if (most < count)
        strbuf_addf(&text->out, "  %zu more\n", count - most);
    free(ranked);
    return 0;
}

static const char note[] =
    "Blocks that were allocated in a region, whoever freed them and when. peak: the most of them at "
    "once; left: never freed. tidemark report --region NAME shows one like a program.";

static void add_untold(struct text *text, const char *key, const char *what)
{
    struct strbuf line = STRBUF_INIT;
    uint64_t count = facts_number(text->profile, key);
    if (count) {
        strbuf_addf(&line, "%s %s", human_exact(count).text, what);
        part_note(text, line.data);
    }
    strbuf_release(&line);
}

static void add_mark(struct text *text, const struct profile_mark *mark)
{
    static const char *const kinds[PROFILE_MARK_KINDS] = {
        [PROFILE_MARK_NAMED] = "", [PROFILE_MARK_PAUSED] = "recording paused",
        [PROFILE_MARK_RESUMED] = "recording resumed", [PROFILE_MARK_SNAPSHOT] = " (snapshot)"};
    part_cell(text, human_duration(mark->time_ns).text, CELL);
    part_figure(text, human_bytes(mark->live_bytes).text, CELL + 2);
    part_cell(text, estimate_count(text->profile, mark->live_count).text, CELL);
    strbuf_add_string(&text->out, "  ");
    text_add_safe_string(&text->out, mark->name);
    strbuf_add_string(&text->out, kinds[mark->kind]);
    strbuf_add_char(&text->out, '\n');
}

static void add_marks(struct text *text)
{
    const struct profile *profile = text->profile;
    style_begin(&text->out, &text->style, TONE_DIM);
    part_cell(text, "at", CELL);
    part_cell(text, "alive", CELL + 2);
    part_cell(text, "blocks", CELL);
    strbuf_add_string(&text->out, "  mark\n");
    style_end(&text->out, &text->style);
    for (size_t i = 0; i < profile->mark_count && i < text->options->top; i++)
        add_mark(text, &profile->marks[i]);
    if (profile->mark_count > text->options->top)
        strbuf_addf(&text->out, "  %zu more (--top)\n", profile->mark_count - text->options->top);
}

int section_regions(struct text *text)
{
    const struct profile *profile = text->profile;
    int error = 0;
    part_title(text, "Regions and marks", NULL);
    if (!profile->region_count && !profile->mark_count) {
        part_note(text, "The program has named none: tidemark-api(3) tells how.");
        return 0;
    }
    if (profile->region_count) {
        part_note(text, note);
        error = add_regions(text, text->options->top);
    }
    if (profile->mark_count)
        add_marks(text);
    add_untold(text, PROFILE_META_UNMATCHED_ENDS,
               "ends of regions had no beginning in their thread and changed nothing.");
    add_untold(text, PROFILE_META_UNTOLD_REGIONS,
               "beginnings of regions were beyond all limits: their blocks are in no region.");
    add_untold(text, PROFILE_META_UNTOLD_MARKS, "marks were beyond the first 65,536 and not kept.");
    return error;
}

void overview_regions(struct text *text)
{
    if (!text->profile->region_count)
        return;
    part_title(text, "Regions", NULL);
    add_regions(text, OVERVIEW_ROWS);
}
