/* Folds what other rules found of the start-up of run-times and libraries: MPI's tables that grow
 * by constants, names that a library never frees. A finding is taken out where all of its paths are
 * of the start-up, and one info, the last, says how many there were. */
#include "insights/rule.h"

static const struct rule rule_startup = {.id = "start-up", .most = INSIGHT_INFO, .rank = RANK_LAST};

static bool rule_startup_has(const struct inquiry *inquiry, const struct insight *insight)
{
    for (size_t i = 0; i < insight->path_count; i++)
        if (!startup_has(inquiry->startup, insight->paths[i].node))
            return false;
    return insight->path_count;
}

static struct figure rule_startup_held(const struct inquiry *inquiry)
{
    struct figure held = figure_of(0);
    for (int kind = 1; kind < STARTUP_KINDS; kind++)
        held = figure_add(held, inquiry->startup->at_peak_bytes[kind]);
    return held;
}

static void rule_startup_report(struct inquiry *inquiry, size_t folded,
                                const struct insight_path *path)
{
    struct strbuf name = STRBUF_INIT;
    uint64_t held = rule_number(rule_startup_held(inquiry));
    startup_add_name(&name, inquiry->startup);
    inquiry->rule = &rule_startup;
    struct insight *insight =
        insight_begin(inquiry, held, rule_number(inquiry->total->peak_bytes), INSIGHT_BYTES);
    insight_title(insight, "%zu finding%s about the %s %s left out (insight --startup)", folded,
                  folded == 1 ? "" : "s", name.length ? name.data : "start-up",
                  folded == 1 ? "is" : "are");
    insight_add_count(insight, "findings", folded);
    insight_add_bytes(insight, "at_peak_bytes", held);
    insight_add_bytes(insight, "live_bytes", rule_number(inquiry->startup->live_bytes));
    insight_add_count(insight, "live_count", rule_number(inquiry->startup->live_count));
    insight->paths[insight->path_count++] = *path;
    insight->advice = "Run-times and libraries ask for this once, as they start, whatever the "
                      "program does.";
    strbuf_release(&name);
}

void rule_startup_fold(struct inquiry *inquiry)
{
    struct insights *out = inquiry->out;
    struct insight_path first;
    size_t kept = 0, all = out->count;
    for (size_t i = 0; i < all; i++) {
        if (!rule_startup_has(inquiry, &out->items[i])) {
            out->items[kept++] = out->items[i];
            continue;
        }
        if (kept == i)
            first = out->items[i].paths[0];
        insight_release(&out->items[i]);
    }
    out->count = kept;
    if (kept < all)
        rule_startup_report(inquiry, all - kept, &first);
}
