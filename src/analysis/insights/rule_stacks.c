/* Finds stacks that are a large part of a program's memory: arrays of functions, and recursion. A
 * stack counts by the deepest event of its thread, or by its pages at a look, which may be more.
 * How far down a page was touched once says nothing of the pages above it. */
#include "insights/rule.h"

#include <stdio.h>
#include "aggregate/facts.h"

#define STACK_BYTES  (1 << 20)
#define STACK_NOTICE (4 << 20) /* half of what a thread may have by default */
#define STACK_SHARE  0.25      /* of what is resident */

/* Without a path the depth is that of the lowest page at a look. */
static struct figure rule_stacks_bytes(const struct thread_metrics *thread)
{
    if (!thread->stack_node && figure_known(thread->stack_touched_bytes))
        return thread->stack_touched_bytes;
    return figure_max(thread->stack_deepest_bytes, thread->stack_touched_bytes);
}

static const struct thread_metrics *rule_stacks_largest(const struct profile *profile)
{
    const struct thread_metrics *largest = NULL;
    for (size_t i = 0; i < profile->thread_count; i++)
        if (figure_known(rule_stacks_bytes(&profile->threads[i])) &&
            (!largest ||
             figure_less(rule_stacks_bytes(largest), rule_stacks_bytes(&profile->threads[i]))))
            largest = &profile->threads[i];
    return largest;
}

/* Those that are at least half as deep. */
static uint64_t rule_stacks_alike(const struct profile *profile, uint64_t bytes)
{
    uint64_t count = 0;
    for (size_t i = 0; i < profile->thread_count; i++)
        count += rule_number(rule_stacks_bytes(&profile->threads[i])) >= bytes / 2;
    return count;
}

/* Without a look at the pages: blocks and the stack are at least there. */
static uint64_t rule_stacks_whole(const struct inquiry *inquiry, uint64_t bytes)
{
    uint64_t resident;
    return figure_get(facts_owned_by_program(inquiry->profile), &resident)
               ? resident
               : rule_number(inquiry->total->peak_bytes) + bytes;
}

static const char *rule_stacks_of_what(const struct inquiry *inquiry)
{
    return figure_known(facts_owned_by_program(inquiry->profile)) ? "what is resident"
                                                                  : "it and the blocks at the peak";
}

/* The path of the deepest event, if most of the stack was below it. */
static bool rule_stacks_knows_path(const struct profile *profile,
                                   const struct thread_metrics *thread, uint64_t bytes)
{
    return thread->stack_node && thread->stack_node < profile->node_count &&
           rule_number(thread->stack_deepest_bytes) >= bytes / 2;
}

static void rule_stacks_add_title(struct inquiry *inquiry, struct insight *insight,
                                  const struct thread_metrics *thread, uint64_t bytes,
                                  uint64_t alike)
{
    struct frame_walk walk;
    char more[64] = "";
    if (alike > 1)
        snprintf(more, sizeof more, ", and %s more such stacks", human_count(alike - 1).text);
    if (!rule_stacks_knows_path(inquiry->profile, thread, bytes)) {
        insight_title(insight, "A stack has %s, %s of %s%s", human_bytes(bytes).text,
                      human_percent(insight->cost, 1).text, rule_stacks_of_what(inquiry), more);
        return;
    }
    const struct site site = {
        .frame = frame_walk_begin(&walk, inquiry->profile, inquiry->hidden, thread->stack_node)};
    insight_title(insight, "%s stands %s deep in its stack, %s of %s%s",
                  inquiry_site_name(inquiry, &site).text, human_bytes(bytes).text,
                  human_percent(insight->cost, 1).text, rule_stacks_of_what(inquiry), more);
}

void rule_stacks(struct inquiry *inquiry)
{
    const struct thread_metrics *thread = rule_stacks_largest(inquiry->profile);
    if (!thread) {
        inquiry_silent(inquiry, "not recorded: how deep stacks were");
        return;
    }
    uint64_t bytes = rule_number(rule_stacks_bytes(thread));
    uint64_t whole = rule_stacks_whole(inquiry, bytes);
    if (bytes < STACK_BYTES || (double)bytes < STACK_SHARE * (double)whole)
        return;
    uint64_t alike = rule_stacks_alike(inquiry->profile, bytes);
    struct insight *insight =
        insight_begin(inquiry, bytes < whole ? bytes : whole, whole, INSIGHT_BYTES);
    insight_at_most(insight, bytes < STACK_NOTICE ? INSIGHT_INFO : INSIGHT_NOTICE);
    rule_stacks_add_title(inquiry, insight, thread, bytes, alike);
    insight_add_bytes(insight, "stack_bytes", bytes);
    insight_add_share(insight, "stack_share", insight->cost);
    insight_add_count(insight, "thread_count", alike);
    if (rule_stacks_knows_path(inquiry->profile, thread, bytes))
        insight_add_path(inquiry, insight, thread->stack_node, bytes, INSIGHT_BYTES);
    insight->advice =
        "Large arrays of functions, or deep recursion: move the arrays to the heap, or "
        "bound the depth. A thread that exceeds its stack (often 8 MiB, ulimit -s) is "
        "killed. Of a program built with -finstrument-functions report --show=stacks "
        "has each function's part.";
}
