/* The first screen of the report: whose the resident memory is, who held most at the peak, and what
 * is wrong, three lines each. All of it comes again below, whole.
 *
 *   Resident  407 MiB after 2.10 s
 *      353 MiB  86.7 %  mapping    ggc_internal_alloc ← alloc_page   ggc-page.cc:798
 *   Held at the peak  18.5 MiB
 *     4.10 MiB  22.2 %  parse_document                               src/parser.c:123
 *   Insights
 *     severe   my_malloc ← parse_header loses 4.76 MiB in 5,000 blocks …  parser.c:88 */
#include "report/report_text.h"

#include <errno.h>
#include "aggregate/metric_choice.h"
#include "insights/insight.h"
#include "model/figure_human.h"

enum { FIRST_ROWS = 3, FIRST_USED = 22 };

/* ---- Holders ------------------------------------------------------------------------------- */

static void report_text_first_add_holder(struct text *text, const struct site_group *group,
                                         double whole)
{
    struct figure value = call_sites_group_value(group, 0);
    strbuf_add_string(&text->out, " ");
    report_part_figure(text, figure_human_bytes(value).text, 10);
    strbuf_addf(&text->out, "  %7s  ", human_percent(figure_double(value), whole).text);
    report_part_frame(text, group->frame, FIRST_USED, false);
}

void report_first_holders(struct text *text)
{
    const struct site_group *top[FIRST_ROWS + 1];
    struct figure whole = text->profile->program.total.at_peak_bytes;
    struct strbuf rest = STRBUF_INIT;
    if (!figure_positive(whole))
        return;
    size_t count = call_sites_top(&text->sites, 0, top, FIRST_ROWS);
    strbuf_addf(&rest, "%s by call site", figure_human_bytes(whole).text);
    if (count)
        report_part_title(text, "Held at the peak", rest.data);
    for (size_t i = 0; i < count && i < FIRST_ROWS; i++)
        report_text_first_add_holder(text, top[i], figure_double(whole));
    strbuf_release(&rest);
}

/* ---- Insights ------------------------------------------------------------------------------ */

int report_first_insights(struct text *text)
{
    struct insights *insights = insights_find(text->profile);
    struct strbuf rest = STRBUF_INIT;
    if (!insights)
        return -ENOMEM;
    size_t shown = insights->count < FIRST_ROWS ? insights->count : FIRST_ROWS;
    if (shown) {
        if (shown < insights->count)
            strbuf_addf(&rest, "the first %zu of %zu; ", shown, insights->count);
        strbuf_add_string(&rest, "tidemark insight has evidence and advice");
        report_part_title(text, "Insights", rest.data);
        insights_add_lines(&text->out, insights, &text->style, shown);
    }
    strbuf_release(&rest);
    insights_free(insights);
    return 0;
}
