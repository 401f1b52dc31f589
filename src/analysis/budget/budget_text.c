/* Writes verdicts for people. A line says the limit and what was measured; below a limit that is
 * broken stand the call paths with most of it. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "base/text.h"
#include "budget/budget.h"
#include "aggregate/frames.h"
#include "aggregate/runtime_pools.h"
#include "format/names.h"

enum { FIGURE = 12, CALLERS = 3 };

static const char *const words[] = {"kept", "exceeded", "not known"};

static enum budget_unit budget_text_unit_of(const struct budget_limit *limit)
{
    return budget_metric_unit(limit->metric);
}

static void budget_text_add_frame(struct strbuf *out, const struct style *style,
                                  const struct budget_frame *frame, size_t used)
{
    struct strbuf place = STRBUF_INIT;
    if (frame->file)
        name_add_place(&place, frame->file, frame->line, style->columns * 2 / 5);
    size_t taken = used + text_width(place.data) + 2;
    if (frame->through && taken < style->columns)
        used +=
            frame_add_wrapper(out, style, frame->through, frame->function, style->columns - taken);
    frame_add_columns(out, style, frame->function, place.data, used, false);
    strbuf_release(&place);
}

static void budget_text_add_offender(struct strbuf *out, const struct style *style,
                                     const struct budget_limit *limit,
                                     const struct budget_offender *offender)
{
    struct strbuf figure = STRBUF_INIT;
    strbuf_add_string(&figure, isnan(offender->before) ? "" : "+");
    budget_add_amount(&figure,
                      budget_text_unit_of(limit) == BUDGET_UNIT_RATE ? BUDGET_UNIT_COUNT
                                                                     : budget_text_unit_of(limit),
                      offender->value);
    strbuf_addf(out, "%*s  ", FIGURE, figure.data);
    strbuf_release(&figure);
    for (size_t i = 0; i < offender->frame_count && i <= CALLERS; i++) {
        if (i) {
            strbuf_add_repeated(out, " ", FIGURE + 2);
            strbuf_addf(out, "%s ", style_sign(style, "↑", "^"));
        }
        budget_text_add_frame(out, style, &offender->frames[i], FIGURE + 2 + (i ? 2 : 0));
    }
}

static void budget_text_add_verdict(struct strbuf *out, const struct style *style,
                                    const struct budget_verdict *verdict)
{
    struct strbuf sentence = STRBUF_INIT, safe = STRBUF_INIT;
    enum tone tone = verdict->state == BUDGET_KEPT ? TONE_GOOD : TONE_WARNING;
    struct strbuf word = STRBUF_INIT;
    strbuf_addf(&word, "  %-9s ", words[verdict->state]);
    style_add(out, style, tone, word.data);
    budget_add_verdict(&sentence, verdict, style->utf8);
    text_add_safe(&safe, sentence.data, sentence.length);
    text_add_wrapped(out, safe.data, 12, style->columns);
    strbuf_add_char(out, '\n');
    for (size_t i = 0; i < verdict->offender_count; i++)
        budget_text_add_offender(out, style, verdict->limit, &verdict->offenders[i]);
    strbuf_release(&word);
    strbuf_release(&sentence);
    strbuf_release(&safe);
}

static void budget_text_add_known(struct strbuf *out, enum budget_unit unit, struct figure amount)
{
    if (figure_known(amount))
        budget_add_amount(out, unit, figure_double(amount));
    else
        strbuf_add_char(out, '-');
}

static void budget_text_add_suppressed(struct strbuf *out, const struct budget_check *check)
{
    struct figure bytes = figure_of(0), blocks = figure_of(0);
    for (size_t i = 0; check->suppressions && i < check->suppressions->count; i++) {
        bytes = figure_add(bytes, check->suppressions->list[i].used_bytes);
        blocks = figure_add(blocks, check->suppressions->list[i].used_blocks);
    }
    if (figure_zero(blocks) || figure_zero(bytes))
        return;
    strbuf_add_string(out, "  suppressed: ");
    budget_text_add_known(out, BUDGET_UNIT_BYTES, bytes);
    strbuf_add_string(out, " in ");
    budget_text_add_known(out, BUDGET_UNIT_COUNT, blocks);
    strbuf_add_string(out, " blocks\n");
}

/* Elsewhere pools change no figure. */
static bool budget_text_asks_for_live(const struct budget_check *check)
{
    for (size_t i = 0; i < check->budget->count; i++)
        if (check->budget->limits[i].metric == BUDGET_LIVE ||
            check->budget->limits[i].metric == BUDGET_LIVE_BLOCKS)
            return true;
    return false;
}

static void budget_text_add_pools(struct strbuf *out, const struct budget_check *check)
{
    struct runtime_pools left = runtime_pools_left(check->profile);
    if (!figure_positive(left.count))
        return;
    strbuf_add_string(out, "  not the program's: ");
    budget_text_add_known(out, BUDGET_UNIT_BYTES, left.bytes);
    strbuf_add_string(out, " in ");
    budget_text_add_known(out, BUDGET_UNIT_COUNT, left.count);
    strbuf_add_string(out, " blocks, pools of its run-time\n");
}

int budget_text(FILE *out, const struct budget_check *check, const struct style *style)
{
    struct strbuf text = STRBUF_INIT;
    struct strbuf safe = STRBUF_INIT;
    size_t bad = check->exceeded + check->unknown;
    text_add_safe_string(&safe, check->file);
    style_add(&text, style, TONE_TITLE, "Memory budget");
    if (bad)
        strbuf_addf(&text, "  %s: %zu of %zu not kept\n", safe.data, bad, check->count);
    else
        strbuf_addf(&text, "  %s: all of %zu kept\n", safe.data, check->count);
    if (check->budget->filter) {
        strbuf_add_string(&text, "  only call paths that pass the filter ");
        text_add_safe_string(&text, check->budget->filter);
        strbuf_add_char(&text, '\n');
    }
    for (size_t i = 0; i < check->count; i++)
        if (check->verdicts[i].state != BUDGET_KEPT)
            budget_text_add_verdict(&text, style, &check->verdicts[i]);
    for (size_t i = 0; i < check->count; i++)
        if (check->verdicts[i].state == BUDGET_KEPT)
            budget_text_add_verdict(&text, style, &check->verdicts[i]);
    budget_text_add_suppressed(&text, check);
    if (budget_text_asks_for_live(check))
        budget_text_add_pools(&text, check);
    int error = fwrite(text.data, 1, text.length, out) == text.length && !fflush(out) ? 0 : -errno;
    strbuf_release(&text);
    strbuf_release(&safe);
    return error;
}
