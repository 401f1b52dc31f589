/* Writes what the memory of the program's control group was made of: why a container of 1 GiB was
 * full with a heap of 200 MiB. */
#include "report/report_text.h"

#include <string.h>
#include "base/human.h"
#include "model/figure_human.h"

static const struct text_column report_text_container_columns[] = {{"bytes", 10, TEXT_RIGHT, 0},
                                                                   {"of all", 8, TEXT_RIGHT, 0},
                                                                   {"what", 12, TEXT_LEFT, 2},
                                                                   {"", 0, TEXT_LEFT, 1}};
enum { HEADINGS = 3, USED = 35 };

static uint32_t report_text_container_sample(const struct profile *profile)
{
    uint32_t last = 0;
    for (size_t i = 0; i < profile->container_count; i++)
        if (profile->containers[i].sample > last)
            last = profile->containers[i].sample;
    return last;
}

static void report_text_container_add_row(struct report_text *text,
                                          const struct profile_container *row, double whole)
{
    size_t room = text->style.columns > USED + 10 ? text->style.columns - USED : 10;
    report_part_row(text, report_text_container_columns);
    report_part_next_figure(text, figure_human_bytes(row->bytes).text);
    report_part_next(text, human_percent(figure_double(row->bytes), whole).text);
    report_part_next_name(text, profile_container_names[row->kind]);
    report_part_next(text, "");
    report_part_name(text, row->name ? row->name : "", room);
    report_part_end(text);
}

/* Adds the first rows of each kind, which are the largest, and the row without a name. */
static void report_text_container_add_rows(struct report_text *text, uint32_t sample, double whole)
{
    const struct profile *profile = text->profile;
    size_t of_kind[PROFILE_CONTAINER_KINDS] = {0};
    for (size_t i = 0; i < profile->container_count; i++) {
        const struct profile_container *row = &profile->containers[i];
        if (row->sample == sample && (!row->name || of_kind[row->kind]++ < text->options->top))
            report_text_container_add_row(text, row, whole);
    }
}

void report_part_container(struct report_text *text)
{
    const struct profile *profile = text->profile;
    uint32_t sample = report_text_container_sample(profile);
    struct figure whole = FIGURE_UNKNOWN;
    struct strbuf rest = STRBUF_INIT;
    if (!sample)
        return;
    for (size_t i = 0; i < profile->sample_count; i++)
        if (profile->samples[i].id == sample)
            whole = profile->samples[i].cgroup_bytes;
    strbuf_addf(&rest, "%s at the last look", figure_human_bytes(whole).text);
    report_part_title(text, "Container", rest.data);
    report_part_headings(text, report_text_container_columns, HEADINGS);
    report_text_container_add_rows(text, sample, figure_double(whole));
    strbuf_release(&rest);
}
