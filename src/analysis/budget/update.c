/* Rewrites the values of a file of budgets so that they fit the run. Only the bytes of values that
 * change are replaced; comments and layout of the file stay. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/memory.h"
#include "budget/limit_measure.h"

/* Rounded up to three digits: of bytes to a unit that is read easily. */
static void update_add_value(struct strbuf *out, enum budget_unit unit, double value)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", NULL};
    if (unit == BUDGET_UNIT_SHARE) {
        strbuf_addf(out, "\"%.3g%%\"", ceil(1000 * value) / 10);
        return;
    }
    if (unit != BUDGET_UNIT_BYTES) {
        double step = value < 1000 ? 1 : pow(10, floor(log10(value)) - 2);
        strbuf_addf(out, "%.0f", value > 0 ? ceil(value / step - 1e-9) * step : 0);
        return;
    }
    int at = 0;
    for (; value >= 1024 && names[at + 1]; at++)
        value /= 1024;
    double step = value < 10 ? 0.01 : value < 100 ? 0.1 : 1;
    if (!at)
        strbuf_addf(out, "%.0f", ceil(value));
    else
        strbuf_addf(out, "\"%.4g %s\"", ceil(value / step - 1e-9) * step, names[at]);
}

static enum budget_unit update_unit_of(const struct budget_limit *limit)
{
    return limit->is_share ? BUDGET_UNIT_SHARE : budget_metric_unit(limit->metric);
}

/* Growth limits stand: their baseline is what moves. */
static bool update_is_changed(const struct budget_verdict *verdict)
{
    return verdict->limit && verdict->limit->length && !verdict->limit->is_growth &&
           verdict->state == BUDGET_EXCEEDED;
}

void budget_updated(struct strbuf *out, const struct budget_check *check, double headroom,
                    size_t *changed)
{
    const struct budget *budget = check->budget;
    size_t at = 0;
    *changed = 0;
    /* Limits are in the order of the text. */
    for (size_t i = 0; i < check->count; i++) {
        const struct budget_verdict *verdict = &check->verdicts[i];
        if (!update_is_changed(verdict))
            continue;
        strbuf_add(out, budget->text + at, verdict->limit->offset - at);
        update_add_value(out, update_unit_of(verdict->limit), verdict->value * (1 + headroom));
        at = verdict->limit->offset + verdict->limit->length;
        ++*changed;
    }
    strbuf_add(out, budget->text + at, budget->text_bytes - at);
}

/* Without what is resident: of small programs it differs by more than any headroom from run to run,
 * as their libraries' pages come and go. */
void budget_first(struct strbuf *out, const struct profile *profile, double headroom)
{
    static const enum budget_metric listed[] = {BUDGET_PEAK, BUDGET_LIVE, BUDGET_ALLOCATIONS,
                                                BUDGET_TEMPORARY};
    const char *program = profile_get(profile, PROFILE_META_PROGRAM);
    bool plain = program && *program, *leaks = NULL;
    if (budget_excuse_pools(profile, &leaks) < 0)
        memory_exhausted();
    for (const char *at = program; plain && *at; at++)
        plain = *at >= ' ' && *at < 0x7f;
    strbuf_addf(out,
                "# What %s may use of memory: tidemark check --budget (doc/BUDGET.md).\n"
                "# Measured, and %.0f %% more.\n[program]\n",
                plain ? program : "the program", 100 * headroom);
    for (size_t i = 0; i < sizeof listed / sizeof *listed; i++) {
        struct budget_limit limit = {.metric = listed[i]};
        struct budget_measured measured = budget_measure(profile, &limit, NULL, leaks);
        if (isnan(measured.value))
            continue;
        strbuf_addf(out, "%s = ", budget_metric_name(listed[i]));
        update_add_value(out, budget_metric_unit(listed[i]), measured.value * (1 + headroom));
        strbuf_add_char(out, '\n');
    }
    free(leaks);
}
