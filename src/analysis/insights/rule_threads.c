/* Finds memory that wanders between threads: the pair of threads in which one frees most of what
 * the other allocates, and programs that spend much time inside the allocator. The former reads the
 * table of exchanges. */
#include "insights/rule.h"

#include <stdio.h>
#include <string.h>
#include "aggregate/facts.h"

#define EXCHANGED_BLOCKS 10000
#define EXCHANGED_SHARE  0.5  /* of the blocks that the owner made */
#define TIME_SHARE       0.10 /* of the threads' lives */

/* ---- Freed elsewhere ----------------------------------------------------------------------- */

struct thread_name {
    char text[64];
};

static struct thread_name rule_threads_name(const struct profile *profile, uint32_t index)
{
    struct thread_name out;
    const struct thread_metrics *thread = &profile->threads[index];
    const char *others = figure_positive(thread->earlier_count) ? " and others" : "";
    if (thread->name[0])
        snprintf(out.text, sizeof out.text, "%.*s (%u%s)", (int)sizeof thread->name, thread->name,
                 (unsigned)thread->tid, others);
    else
        snprintf(out.text, sizeof out.text, "thread %u%s", (unsigned)thread->tid, others);
    return out;
}

static bool rule_threads_knows_pair(const struct profile *profile, const struct exchange *pair)
{
    return pair->owner < profile->thread_count && pair->freer < profile->thread_count;
}

/* No field of a profile says whether frees of other threads' blocks were recorded. A recording that
 * has them has distributions too. */
static bool rule_threads_has_exchanges(const struct inquiry *inquiry)
{
    return inquiry->profile->thread_count < 2 || inquiry->profile->exchange_count ||
           inquiry_has_distributions(inquiry);
}

/* Where blocks of other threads are freed, if frees came with their call paths. */
static void rule_threads_add_freeing_paths(const struct inquiry *inquiry, struct insight *insight)
{
    struct inquiry_top_paths top = {0};
    if (!call_metrics_know_frees(inquiry->total))
        return;
    for (size_t i = 0; i < inquiry->profile->site_count; i++)
        inquiry_top_paths_add(&top, profile_site_path(inquiry->profile, i),
                              rule_number(profile_site_figure(inquiry->profile, i,
                                                              METRIC_ROW(freed_elsewhere_count))));
    insight_add_top(inquiry, insight, &top, INSIGHT_COUNT);
}

/* The site that must have made most of the pair's blocks: all other sites together made less than
 * half as many. NULL: none is certain. */
static const struct site *rule_threads_maker(const struct inquiry *inquiry,
                                             const struct exchange *pair)
{
    for (size_t i = 0; i < inquiry->site_count; i++) {
        uint64_t made = rule_blocks_of(&inquiry->sites[i].metrics);
        if (made <= inquiry->calls && inquiry->calls - made <= pair->count / 2)
            return &inquiry->sites[i];
    }
    return NULL;
}

static void rule_threads_add_making_paths(const struct inquiry *inquiry, struct insight *insight,
                                          const struct exchange *pair)
{
    const struct site *maker = rule_threads_maker(inquiry, pair);
    if (maker)
        insight_add_paths(inquiry, insight, maker, METRIC_ROW(alloc_count), INSIGHT_COUNT);
}

/* Pairs of threads of which one frees most of what the other allocates. */
struct rule_threads_pairs {
    const struct exchange *most;
    size_t count;
    uint64_t blocks, all; /* of them, of all pairs */
};

static void rule_threads_add_others(struct strbuf *out, const struct rule_threads_pairs *pairs)
{
    bool several = pairs->count > 2;
    if (pairs->count > 1)
        strbuf_addf(out, "; %zu more pair%s of threads %s so, %s blocks in all", pairs->count - 1,
                    several ? "s" : "", several ? "do" : "does", human_count(pairs->blocks).text);
}

static void rule_threads_report(struct inquiry *inquiry, const struct rule_threads_pairs *pairs)
{
    const struct profile *profile = inquiry->profile;
    const struct exchange *pair = pairs->most;
    const struct thread_metrics *owner = &profile->threads[pair->owner];
    struct insight *insight = insight_begin(inquiry, pairs->blocks, inquiry->calls, INSIGHT_COUNT);
    insight_at_most(insight, INSIGHT_WARNING);
    const struct site *maker = rule_threads_maker(inquiry, pair);
    struct strbuf others = STRBUF_INIT;
    rule_threads_add_others(&others, pairs);
    insight_title(insight, "%s frees %s blocks that %s allocates%s%s%s",
                  rule_threads_name(profile, pair->freer).text, human_count(pair->count).text,
                  rule_threads_name(profile, pair->owner).text, maker ? " in " : "",
                  maker ? inquiry_site_name(inquiry, maker).text : "", others.data);
    strbuf_release(&others);
    insight_add_count(insight, "exchanged_count", pair->count);
    insight_add_bytes(insight, "exchanged_bytes", pair->bytes);
    insight_add_share(insight, "owner_share",
                      inquiry_share_of(pair->count, rule_number(owner->alloc_count)));
    insight_add_share(insight, "calls_share", insight->cost);
    insight_add_count(insight, "pair_count", pairs->count);
    insight_add_count(insight, "exchanged_in_all", pairs->all);
    insight_add_text(insight, "owner", rule_threads_name(profile, pair->owner).text);
    insight_add_text(insight, "freer", rule_threads_name(profile, pair->freer).text);
    rule_threads_add_making_paths(inquiry, insight, pair);
    rule_threads_add_freeing_paths(inquiry, insight);
    insight->advice = "Such frees go to another thread's arena, with its lock or a queue: hand "
                      "blocks back to be used again, or pass them in batches.";
}

void rule_cross_thread_frees(struct inquiry *inquiry)
{
    const struct profile *profile = inquiry->profile;
    struct rule_threads_pairs pairs = {0};
    if (!rule_threads_has_exchanges(inquiry)) {
        inquiry_silent(inquiry, "not recorded: which thread frees whose blocks");
        return;
    }
    for (size_t i = 0; i < profile->exchange_count; i++) {
        const struct exchange *pair = &profile->exchanges[i];
        pairs.all += pair->count;
        if (!rule_threads_knows_pair(profile, pair) || pair->count < EXCHANGED_BLOCKS ||
            (double)pair->count <
                EXCHANGED_SHARE * figure_double(profile->threads[pair->owner].alloc_count))
            continue;
        pairs.count++;
        pairs.blocks += pair->count;
        if (!pairs.most || pair->count > pairs.most->count)
            pairs.most = pair;
    }
    if (pairs.most)
        rule_threads_report(inquiry, &pairs);
}

/* ---- Time ---------------------------------------------------------------------------------- */

/* Of all threads together; a thread that still ran lived to the end of the recording. */
static uint64_t rule_threads_lives_ns(const struct inquiry *inquiry)
{
    const struct profile *profile = inquiry->profile;
    uint64_t sum = 0;
    for (size_t i = 0; i < profile->thread_count; i++) {
        uint64_t start = profile->threads[i].start_ticks, end = profile->threads[i].end_ticks;
        end = end ? end : inquiry->run_ns;
        sum += end > start ? end - start : 0;
    }
    return sum ? sum : inquiry->run_ns;
}

void rule_allocator_time(struct inquiry *inquiry)
{
    const struct call_metrics *total = inquiry->total;
    uint64_t time = rule_number(total->alloc_time) + rule_number(total->free_time),
             lives = rule_threads_lives_ns(inquiry);
    uint64_t calls = inquiry->calls + rule_number(total->free_count);
    if (!facts_number(inquiry->profile, PROFILE_META_TIMED) || !call_metrics_know_times(total)) {
        inquiry_silent(inquiry, "not recorded: the time that the allocator takes (record --timed)");
        return;
    }
    if (inquiry_share_of(time, lives) < TIME_SHARE)
        return;
    struct insight *insight = insight_begin(inquiry, time, lives, INSIGHT_NS);
    insight_title(insight, "%s of the threads' time goes into the allocator, %s a call on average",
                  human_percent((double)time, (double)lives).text,
                  human_duration(calls ? time / calls : 0).text);
    insight_add_ns(insight, "alloc_time", rule_number(total->alloc_time));
    insight_add_ns(insight, "free_time", rule_number(total->free_time));
    insight_add_ns(insight, "threads_time", lives);
    insight_add_share(insight, "time_share", insight->cost);
    insight_add_count(insight, "alloc_count", rule_number(total->alloc_count));
    struct candidates candidates = {0};
    for (size_t i = 0; i < inquiry->site_count; i++)
        if (rule_number(inquiry->sites[i].metrics.alloc_time))
            inquiry_candidates_add(&candidates, &inquiry->sites[i],
                                   rule_number(inquiry->sites[i].metrics.alloc_time));
    for (size_t i = 0; i < candidates.count; i++)
        insight_add_paths(inquiry, insight, candidates.top[i].site, METRIC_ROW(alloc_time),
                          INSIGHT_NS);
    insight->advice = "Allocate less often in the paths above, or try another allocator (jemalloc, "
                      "mimalloc, tcmalloc) by LD_PRELOAD and compare.";
}
