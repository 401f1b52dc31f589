/* Writes the section on heat: how much of each owner's resident memory was not written for a
 * second, for ten, or never since it was filled, at the look at which most had not been written for
 * a second: at that with the most resident memory there may have been nothing that old. */
#include "report/report_text.h"

#include <errno.h>
#include <stdlib.h>
#include "aggregate/facts.h"
#include "base/human.h"
#include "model/figure_human.h"

enum { CELL = 10, WHOSE = 9, USED = 4 * CELL + 2 + WHOSE + 1 };

static const struct text_column columns[] = {
    {"resident", CELL, TEXT_RIGHT, 0}, {"not 1 s", CELL, TEXT_RIGHT, 0},
    {"not 10 s", CELL, TEXT_RIGHT, 0}, {"filled", CELL, TEXT_RIGHT, 0},
    {"whose", WHOSE, TEXT_LEFT, 2},    {"", 0, TEXT_LEFT, 1}};

static bool report_text_heat_counts(const struct profile_owner *owner, uint32_t sample)
{
    return owner->sample == sample && figure_known(owner->unwritten_1s_bytes) &&
           figure_positive(owner->resident_bytes) && owner->kind != PROFILE_OWNER_TOOL;
}

/* NULL: no look knows. Of looks at which as much was cold it is the last one. */
static const struct profile_sample *report_text_heat_sample(const struct profile *profile)
{
    const struct profile_sample *coldest = NULL;
    struct figure most = FIGURE_UNKNOWN;
    for (size_t i = 0, owner = 0; i < profile->sample_count; i++) {
        struct figure cold = FIGURE_UNKNOWN;
        uint32_t id = profile->samples[i].id;
        while (owner < profile->owner_count && profile->owners[owner].sample < id)
            owner++;
        for (; owner < profile->owner_count && profile->owners[owner].sample == id; owner++)
            if (report_text_heat_counts(&profile->owners[owner], id))
                cold = figure_add(figure_known(cold) ? cold : figure_of(0),
                                  profile->owners[owner].unwritten_1s_bytes);
        if (figure_known(cold) && (!coldest || figure_compare(cold, most) >= 0)) {
            coldest = &profile->samples[i];
            most = cold;
        }
    }
    return coldest;
}

static void report_text_heat_join(struct profile_owner *to, const struct profile_owner *from)
{
    to->resident_bytes = figure_add(to->resident_bytes, from->resident_bytes);
    to->unwritten_1s_bytes = figure_add(to->unwritten_1s_bytes, from->unwritten_1s_bytes);
    to->unwritten_10s_bytes = figure_add(to->unwritten_10s_bytes, from->unwritten_10s_bytes);
    to->filled_bytes = figure_add(to->filled_bytes, from->filled_bytes);
}

static int report_text_heat_compare(const void *left, const void *right)
{
    const struct profile_owner *a = left, *b = right;
    int by_bytes = figure_compare(b->unwritten_1s_bytes, a->unwritten_1s_bytes);
    if (by_bytes)
        return by_bytes;
    by_bytes = figure_compare(b->resident_bytes, a->resident_bytes);
    return by_bytes ? by_bytes : (a->path > b->path) - (a->path < b->path);
}

static void report_text_heat_add_row(struct report_text *text, const struct profile_owner *row)
{
    report_part_row(text, columns);
    report_part_next_figure(text, figure_human_bytes(row->resident_bytes).text);
    report_part_next(text, figure_human_bytes(row->unwritten_1s_bytes).text);
    report_part_next(text, figure_human_bytes(row->unwritten_10s_bytes).text);
    report_part_next(text, figure_human_bytes(row->filled_bytes).text);
    report_part_next_name(text, profile_owner_names[row->kind]);
    report_part_next(text, "");
    if (profile_owner_is_by_path(row)) {
        report_part_path(text, row->path, USED, false);
        return;
    }
    size_t room = text->style.columns > USED + 10 ? text->style.columns - USED : 10;
    report_part_name(text, row->name ? row->name : "-", room);
    report_part_end(text);
}

/* In a job each rank was looked at in a moment of its own. */
static void report_text_heat_add_moment(struct strbuf *out, const struct profile *profile,
                                        const struct profile_sample *sample)
{
    if (profile_is_job(profile))
        strbuf_add_string(out, "each rank at its own moment");
    else
        strbuf_addf(out, "after %s (%s)", human_duration(sample->time_ns).text,
                    profile_sample_name(sample));
}

static void report_text_heat_add_rows(struct report_text *text, const struct profile_sample *sample,
                                      struct profile_owner *rows, size_t count)
{
    struct profile_owner all = {0};
    struct strbuf line = STRBUF_INIT;
    for (size_t i = 0; i < count; i++)
        report_text_heat_join(&all, &rows[i]);
    report_text_heat_add_moment(&line, text->profile, sample);
    strbuf_addf(&line, "; of %s, %s not written for 1 s, %s for 10 s, %s never since filled",
                figure_human_bytes(all.resident_bytes).text,
                figure_human_bytes(all.unwritten_1s_bytes).text,
                figure_human_bytes(all.unwritten_10s_bytes).text,
                figure_human_bytes(all.filled_bytes).text);
    report_part_title(text, "Heat", line.data);
    strbuf_release(&line);
    count = report_part_group_owners(text, rows, count, report_text_heat_join);
    qsort(rows, count, sizeof *rows, report_text_heat_compare);
    report_part_headings(text, columns, sizeof columns / sizeof *columns - 1);
    for (size_t i = 0; i < count && i < text->options->top; i++)
        report_text_heat_add_row(text, &rows[i]);
    report_part_more(text, count);
}

int report_section_heat(struct report_text *text)
{
    size_t count;
    const struct profile_sample *sample = report_text_heat_sample(text->profile);
    struct profile_owner *rows =
        report_part_take_owners(text, sample, report_text_heat_counts, &count);
    if (!rows)
        return -ENOMEM;
    if (count) {
        report_text_heat_add_rows(text, sample, rows, count);
    } else {
        report_part_title(text, "Heat", NULL);
        report_part_note(
            text, "when pages were written is not known: nobody asked (record --heat=1s), or the "
                  "program ended before it was looked at");
    }
    free(rows);
    return report_text_add_page_use(text);
}
