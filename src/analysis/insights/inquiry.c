/* Asks every rule about a profile: call sites are merged once, each rule adds its findings, and
 * findings are sorted by severity. The functions with which rules build findings are here too. */
#include "insights/rule.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "base/search.h"
#include "base/text.h"
#include "aggregate/facts.h"
#include "format/names.h"

enum { FINDINGS_PER_RULE = CANDIDATES, TITLE_NAME_COLUMNS = 40 };

/* ---- Severity ------------------------------------------------------------------------------ */

static const double share_limits[INSIGHT_SEVERITIES] = {0, 0.05, 0.20, 0.50};

/* What an amount must come to for a severity: half of a peak of 10 KiB does not matter. */
static const struct {
    uint64_t bytes, count, ns;
} amount_limits[INSIGHT_SEVERITIES] = {
    {0, 0, 0},
    {64 << 10, 1000, 1000000},
    {1 << 20, 20000, 10000000},
    {16 << 20, 500000, 100000000},
};

static enum insight_severity inquiry_severity_of(double share, uint64_t amount,
                                                 enum insight_unit unit)
{
    int severity = INSIGHT_SEVERE;
    while (severity > INSIGHT_INFO) {
        uint64_t least = unit == INSIGHT_BYTES   ? amount_limits[severity].bytes
                         : unit == INSIGHT_COUNT ? amount_limits[severity].count
                                                 : amount_limits[severity].ns;
        if (share >= share_limits[severity] && amount >= least)
            break;
        severity--;
    }
    return (enum insight_severity)severity;
}

const char *insight_severity_name(enum insight_severity severity)
{
    static const char *const names[INSIGHT_SEVERITIES] = {"info", "notice", "warning", "severe"};
    return names[severity];
}

double inquiry_share_of(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

uint64_t inquiry_whole_number(double value)
{
    return value < 1 ? 0 : value < 18446744073709549568.0 ? (uint64_t)value : UINT64_MAX;
}

/* ---- Findings ------------------------------------------------------------------------------ */

struct insight *insight_begin(struct inquiry *inquiry, uint64_t amount, uint64_t whole,
                              enum insight_unit unit)
{
    struct insight *insight = &inquiry->out->items[inquiry->out->count++];
    double share = inquiry_share_of(amount, whole);
    *insight = (struct insight){.id = inquiry->rule->id,
                                .severity = inquiry_severity_of(share, amount, unit),
                                .cost = share,
                                .rank = inquiry->rule->rank,
                                .advice = ""};
    insight_at_most(insight, inquiry->rule->most);
    return insight;
}

void insight_at_most(struct insight *insight, enum insight_severity most)
{
    if (insight->severity > most)
        insight->severity = most;
}

void insight_at_least(struct insight *insight, enum insight_severity least)
{
    if (insight->severity < least)
        insight->severity = least;
}

void insight_leads_infos(struct insight *insight)
{
    if (insight->severity == INSIGHT_INFO)
        insight->rank = RANK_END;
}

void insight_title(struct insight *insight, const char *format, ...)
{
    struct strbuf title = STRBUF_INIT, safe = STRBUF_INIT;
    va_list arguments;
    va_start(arguments, format);
    strbuf_addv(&title, format, arguments);
    va_end(arguments);
    text_add_safe(&safe, title.data, title.length);
    strbuf_release(&title);
    free(insight->title);
    insight->title = strbuf_detach(&safe);
}

void insight_release(struct insight *insight)
{
    free(insight->title);
    for (size_t i = 0; i < insight->fact_count; i++)
        free(insight->facts[i].text);
}

static struct insight_fact *inquiry_add_fact(struct insight *insight, const char *metric,
                                             enum insight_unit unit)
{
    struct insight_fact *fact = &insight->facts[insight->fact_count++];
    *fact = (struct insight_fact){.metric = metric, .unit = unit};
    return fact;
}

void insight_add_bytes(struct insight *insight, const char *metric, uint64_t value)
{
    inquiry_add_fact(insight, metric, INSIGHT_BYTES)->number = value;
}

void insight_add_count(struct insight *insight, const char *metric, uint64_t value)
{
    inquiry_add_fact(insight, metric, INSIGHT_COUNT)->number = value;
}

void insight_add_ns(struct insight *insight, const char *metric, uint64_t value)
{
    inquiry_add_fact(insight, metric, INSIGHT_NS)->number = value;
}

void insight_add_share(struct insight *insight, const char *metric, double value)
{
    inquiry_add_fact(insight, metric, INSIGHT_SHARE)->real = value;
}

void insight_add_ratio(struct insight *insight, const char *metric, double value)
{
    inquiry_add_fact(insight, metric, INSIGHT_RATIO)->real = value;
}

void insight_add_text(struct insight *insight, const char *metric, const char *value)
{
    struct strbuf text = STRBUF_INIT;
    strbuf_add_string(&text, value);
    inquiry_add_fact(insight, metric, INSIGHT_TEXT)->text = strbuf_detach(&text);
}

static struct insight_path inquiry_path_of(const struct inquiry *inquiry, uint32_t node,
                                           uint64_t value, enum insight_unit unit)
{
    struct insight_path path = {.node = node, .value = value, .unit = unit};
    struct frame_walk walk;
    struct frame frame = frame_walk_begin(&walk, inquiry->profile, inquiry->hidden, node);
    uint64_t last = frame_key(inquiry->profile, frame);
    path.frames[path.frame_count++] = frame;
    while (frame_walk_next(&walk, &frame)) {
        uint64_t key = frame_key(inquiry->profile, frame);
        if (key == last) /* recursion: once is enough */
            continue;
        last = key;
        if (path.frame_count == INSIGHT_FRAMES) {
            path.more = true;
            break;
        }
        path.frames[path.frame_count++] = frame;
    }
    return path;
}

void insight_add_path(const struct inquiry *inquiry, struct insight *insight, uint32_t node,
                      uint64_t value, enum insight_unit unit)
{
    if (insight->path_count < INSIGHT_PATHS && node < inquiry->profile->node_count)
        insight->paths[insight->path_count++] = inquiry_path_of(inquiry, node, value, unit);
}

void inquiry_top_paths_add(struct inquiry_top_paths *top, uint32_t node, uint64_t value)
{
    size_t at = top->count;
    while (at && top->values[at - 1] < value)
        at--;
    if (!value || at == TOP_PATHS)
        return;
    top->count += top->count < TOP_PATHS;
    for (size_t i = top->count - 1; i > at; i--) {
        top->nodes[i] = top->nodes[i - 1];
        top->values[i] = top->values[i - 1];
    }
    top->nodes[at] = node;
    top->values[at] = value;
}

static bool inquiry_reads_alike(const struct profile *profile, const struct insight_path *a,
                                const struct insight_path *b)
{
    if (a->frame_count != b->frame_count || a->more != b->more)
        return false;
    for (size_t i = 0; i < a->frame_count; i++)
        if (frame_key(profile, a->frames[i]) != frame_key(profile, b->frames[i]))
            return false;
    return true;
}

static int inquiry_by_value(const void *a, const void *b)
{
    const struct insight_path *left = a, *right = b;
    if (left->value != right->value)
        return left->value < right->value ? 1 : -1;
    return left->node < right->node ? -1 : left->node > right->node;
}

/* Merges paths that read alike, and sorts them, most first. Returns how many are left. */
static size_t inquiry_merge_alike(const struct profile *profile, struct insight_path *paths,
                                  size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        size_t same = 0;
        while (same < kept && !inquiry_reads_alike(profile, &paths[same], &paths[i]))
            same++;
        if (same < kept)
            paths[same].value += paths[i].value;
        else
            paths[kept++] = paths[i];
    }
    qsort(paths, kept, sizeof *paths, inquiry_by_value);
    return kept;
}

void insight_add_top(const struct inquiry *inquiry, struct insight *insight,
                     const struct inquiry_top_paths *top, enum insight_unit unit)
{
    struct insight_path *paths = calloc(top->count + 1, sizeof *paths);
    for (size_t i = 0; paths && i < top->count; i++)
        paths[i] = inquiry_path_of(inquiry, top->nodes[i], top->values[i], unit);
    size_t count = paths ? inquiry_merge_alike(inquiry->profile, paths, top->count) : 0;
    for (size_t i = 0; i < count && insight->path_count < INSIGHT_PATHS; i++)
        if (paths[i].value >= paths[0].value / 100)
            insight->paths[insight->path_count++] = paths[i];
    free(paths);
}

void insight_add_paths(const struct inquiry *inquiry, struct insight *insight,
                       const struct site *site, const struct metric_row *row,
                       enum insight_unit unit)
{
    struct inquiry_top_paths top = {0};
    for (size_t i = 0; i < site->count; i++) {
        size_t at = inquiry->order[site->first + i];
        inquiry_top_paths_add(&top, profile_site_path(inquiry->profile, at),
                              rule_number(profile_site_figure(inquiry->profile, at, row)));
    }
    insight_add_top(inquiry, insight, &top, unit);
}

struct site_name inquiry_site_name(const struct inquiry *inquiry, const struct site *site)
{
    struct strbuf shown = STRBUF_INIT;
    struct site_name out = {""};
    frame_add_owner(&shown, inquiry->profile, site->frame, " ← ", TITLE_NAME_COLUMNS);
    if (shown.length < sizeof out.text)
        memcpy(out.text, shown.data, shown.length + 1);
    else
        memcpy(out.text, "[a name too long]", sizeof "[a name too long]");
    strbuf_release(&shown);
    return out;
}

struct human inquiry_human_blocks(uint64_t count)
{
    struct human out = human_exact(count);
    strncat(out.text, count == 1 ? " block" : " blocks", sizeof out.text - strlen(out.text) - 1);
    return out;
}

void inquiry_candidates_add(struct candidates *candidates, const struct site *site, uint64_t cost)
{
    size_t at = candidates->count;
    candidates->found++;
    candidates->cost += cost;
    while (at && candidates->top[at - 1].cost < cost)
        at--;
    if (at == CANDIDATES)
        return;
    candidates->count += candidates->count < CANDIDATES;
    memmove(&candidates->top[at + 1], &candidates->top[at],
            (candidates->count - 1 - at) * sizeof *candidates->top);
    candidates->top[at] = (struct candidate){site, cost};
}

/* ---- What was recorded --------------------------------------------------------------------- */

void inquiry_silent(struct inquiry *inquiry, const char *why)
{
    inquiry->out->silences[inquiry->out->silence_count++] =
        (struct insight_silence){inquiry->rule->id, why};
}

/* A recording with distributions has a size for each block. No size means that they were not
 * recorded, unless there was no block. */
bool inquiry_has_distributions(const struct inquiry *inquiry)
{
    return inquiry->profile->distribution_count || !inquiry->calls;
}

/* A path that never held more than the threshold has no curve. */
bool inquiry_has_curves(const struct inquiry *inquiry)
{
    const struct profile *profile = inquiry->profile;
    for (size_t i = 0; !profile->curve_count && i < profile->site_count; i++)
        if (rule_number(profile_site_figure(profile, i, METRIC_ROW(peak_bytes))) >
            CURVE_THRESHOLD_BYTES)
            return false;
    return true;
}

const struct curve *inquiry_curve_of(const struct profile *profile, uint32_t node)
{
    size_t first = 0;
    SEARCH_FIRST(first, profile->curve_count, at, profile->curves[at].node < node);
    return first < profile->curve_count && profile->curves[first].node == node
               ? &profile->curves[first]
               : NULL;
}

/* ---- Sites --------------------------------------------------------------------------------- */

/* One more path. Own peaks add up, as struct site says. */
static void inquiry_merge(struct site *site, const struct call_metrics *path)
{
    if (!site->count++) {
        site->metrics = *path;
        return;
    }
    struct figure peak_bytes = figure_add(site->metrics.peak_bytes, path->peak_bytes),
                  peak_ticks = figure_max(site->metrics.peak_ticks, path->peak_ticks);
    call_metrics_merge(&site->metrics, path);
    site->metrics.peak_bytes = peak_bytes;
    site->metrics.peak_ticks = peak_ticks;
}

static void inquiry_merge_sites(struct inquiry *inquiry, const struct frame_groups *groups)
{
    const struct profile *profile = inquiry->profile;
    for (size_t i = 0; i < groups->count; i++)
        inquiry->sites[i] = (struct site){.frame = groups->frames[i]};
    inquiry->site_count = groups->count;
    for (size_t i = 0; i < profile->site_count; i++) {
        struct site *site = &inquiry->sites[groups->of_site[i]];
        struct profile_site room;
        const struct call_metrics *metrics = &profile_site_at(profile, i, &room)->metrics;
        inquiry_merge(site, metrics);
        if (rule_number(metrics->peak_bytes) > site->widest_bytes)
            site->widest_bytes = rule_number(metrics->peak_bytes);
        inquiry->site_of_node[profile_site_path(profile, i)] = groups->of_site[i];
    }
    size_t first = 0;
    for (size_t i = 0; i < groups->count; i++) {
        inquiry->sites[i].first = first;
        first += inquiry->sites[i].count;
        inquiry->sites[i].count = 0;
    }
    for (size_t i = 0; i < profile->site_count; i++) {
        struct site *site = &inquiry->sites[groups->of_site[i]];
        inquiry->order[site->first + site->count++] = (uint32_t)i;
    }
}

static bool inquiry_collect_sites(struct inquiry *inquiry)
{
    const struct profile *profile = inquiry->profile;
    struct frame_groups groups;
    inquiry->order = calloc(profile->site_count + 1, sizeof *inquiry->order);
    inquiry->site_of_node = malloc((profile->node_count + 1) * sizeof *inquiry->site_of_node);
    if (!inquiry->hidden || !inquiry->order || !inquiry->site_of_node ||
        frame_groups_init(&groups, profile, inquiry->hidden, NULL))
        return false;
    memset(inquiry->site_of_node, 0xff, (profile->node_count + 1) * sizeof *inquiry->site_of_node);
    inquiry->sites = calloc(groups.count + 1, sizeof *inquiry->sites);
    if (inquiry->sites)
        inquiry_merge_sites(inquiry, &groups);
    frame_groups_release(&groups);
    inquiry->lost = inquiry->sites ? rule_lost_by_site(inquiry) : NULL;
    return inquiry->lost;
}

/* ---- All of it ----------------------------------------------------------------------------- */

static int inquiry_by_severity(const void *a, const void *b)
{
    const struct insight *left = a, *right = b;
    if (left->severity != right->severity)
        return left->severity < right->severity ? 1 : -1;
    if (left->rank != right->rank)
        return right->rank - left->rank;
    if (left->cost < right->cost || left->cost > right->cost)
        return left->cost < right->cost ? 1 : -1;
    int ids = strcmp(left->id, right->id);
    return ids ? ids : strcmp(left->title, right->title);
}

enum { ACTIVE_PART = 100, QUIET_PART = 1000, REST_PART = 20, REST_NS = 200 * 1000 * 1000 };

/* Frees beyond the allocations of the same bucket. */
static uint64_t inquiry_net_frees(const struct timeline_bucket *bucket)
{
    uint64_t frees = rule_number(bucket->free_count), made = rule_number(bucket->alloc_count);
    return frees > made ? frees - made : 0;
}

static size_t inquiry_bucket_at(const struct inquiry *inquiry, uint64_t ns)
{
    const struct profile *profile = inquiry->profile;
    size_t bucket = profile->bucket_ns ? ns / profile->bucket_ns : 0;
    return bucket < profile->bucket_count ? bucket : profile->bucket_count;
}

static void inquiry_find_activity(struct inquiry *inquiry)
{
    const struct profile *profile = inquiry->profile;
    uint64_t all = 0, so_far = 0;
    inquiry->active_until_ns = inquiry->run_ns;
    for (size_t i = 0; i < profile->bucket_count; i++)
        all += rule_number(profile->buckets[i].alloc_count);
    for (size_t i = 0; all && i < profile->bucket_count; i++) {
        uint64_t before = so_far;
        so_far += rule_number(profile->buckets[i].alloc_count);
        if (before <= all / ACTIVE_PART && so_far > all / ACTIVE_PART)
            inquiry->active_from_ns = i * profile->bucket_ns;
        if (before < all - all / ACTIVE_PART && so_far >= all - all / ACTIVE_PART)
            inquiry->active_until_ns = (i + 1) * profile->bucket_ns;
    }
    size_t rest = inquiry_bucket_at(inquiry, inquiry->active_until_ns);
    for (size_t i = rest; i < profile->bucket_count; i++)
        inquiry->freed_at_rest += inquiry_net_frees(&profile->buckets[i]);
}

double inquiry_work_at(const struct inquiry *inquiry, double ns)
{
    const struct profile *profile = inquiry->profile;
    double all = 0, so_far = 0;
    for (size_t i = 0; i < profile->bucket_count; i++) {
        double count = (double)rule_number(profile->buckets[i].alloc_count);
        double inside = (ns - (double)i * (double)profile->bucket_ns) / (double)profile->bucket_ns;
        so_far += count * (inside < 0 ? 0 : inside > 1 ? 1 : inside);
        all += count;
    }
    return all > 0 ? so_far / all : ns / (double)(inquiry->run_ns ? inquiry->run_ns : 1);
}

/* Is hardly anything given back in this interval? */
static bool inquiry_is_quiet(const struct inquiry *inquiry, size_t bucket)
{
    return inquiry_net_frees(&inquiry->profile->buckets[bucket]) <=
           inquiry->freed_at_rest / QUIET_PART;
}

bool inquiry_counts_at(const struct inquiry *inquiry, uint64_t ns)
{
    size_t first = inquiry_bucket_at(inquiry, inquiry->active_until_ns),
           from = inquiry_bucket_at(inquiry, ns), until = from;
    if (ns <= inquiry->active_until_ns)
        return true;
    while (from > first && inquiry_is_quiet(inquiry, from - 1))
        from--;
    while (until < inquiry->profile->bucket_count && inquiry_is_quiet(inquiry, until))
        until++;
    uint64_t rest = (until - from) * inquiry->profile->bucket_ns;
    return rest >= REST_NS && rest >= inquiry->run_ns / REST_PART;
}

static void inquiry_ask_all(struct inquiry *inquiry)
{
    const struct profile *profile = inquiry->profile;
    inquiry->total = &profile->program.total;
    inquiry->calls = rule_blocks_of(inquiry->total);
    inquiry->bytes = rule_bytes_of(inquiry->total);
    inquiry->run_ns = facts_number(profile, PROFILE_META_DURATION);
    if (!inquiry->run_ns)
        inquiry->run_ns = profile->bucket_count * profile->bucket_ns;
    inquiry_find_activity(inquiry);
    for (size_t i = 0; i < rule_count; i++) {
        inquiry->rule = &rules[i];
        if (rules[i].most < inquiry->least)
            continue;
        if (facts_imported_from(profile))
            inquiry_silent(inquiry, "the profile is another tool's recording, with what that kept");
        else if (profile->pages && rules[i].of_calls)
            inquiry_silent(inquiry, "not recorded: --events=pages knows what is held, not what was "
                                    "allocated in all");
        else if (profile->has_program)
            rules[i].ask(inquiry);
        else
            inquiry_silent(inquiry, "nothing was saved: there are no figures");
    }
    qsort(inquiry->out->items, inquiry->out->count, sizeof *inquiry->out->items,
          inquiry_by_severity);
}

static bool inquiry_begin(struct inquiry *inquiry)
{
    struct insights *insights = inquiry->out;
    insights->profile = inquiry->profile;
    insights->items = calloc(rule_count * FINDINGS_PER_RULE + 1, sizeof *insights->items);
    insights->silences = calloc(rule_count, sizeof *insights->silences);
    return insights->items && insights->silences && inquiry_collect_sites(inquiry);
}

static struct insights *insights_ask_knowing(const struct profile *profile, const bool *hidden,
                                             const struct startup *startup,
                                             enum insight_severity least, bool fold)
{
    struct insights *insights = calloc(1, sizeof *insights);
    if (!insights)
        return NULL;
    struct inquiry inquiry = {
        .profile = profile, .hidden = hidden, .startup = startup, .least = least, .out = insights};
    bool possible = inquiry_begin(&inquiry);
    runtime_pool_names_init(&inquiry.pool_names, profile);
    if (possible)
        inquiry_ask_all(&inquiry);
    if (possible && fold)
        rule_startup_fold(&inquiry);
    free(inquiry.sites);
    free(inquiry.order);
    free(inquiry.site_of_node);
    free(inquiry.lost);
    runtime_pool_names_release(&inquiry.pool_names);
    if (possible)
        return insights;
    insights_free(insights);
    return NULL;
}

static struct insights *insights_ask(const struct profile *profile, const bool *hidden, bool fold)
{
    struct startup startup;
    if (startup_find(&startup, profile))
        return NULL;
    struct insights *insights = insights_ask_knowing(profile, hidden, &startup, INSIGHT_INFO, fold);
    startup_release(&startup);
    return insights;
}

static struct insights *insights_ask_alone(const struct profile *profile, bool fold)
{
    bool *hidden = frames_of_libraries(profile);
    struct insights *insights = insights_ask(profile, hidden, fold);
    free(hidden);
    return insights;
}

struct insights *insights_find(const struct profile *profile)
{
    return insights_ask_alone(profile, true);
}

struct insights *insights_find_hiding(const struct profile *profile, const bool *hidden)
{
    return insights_ask(profile, hidden, true);
}

struct insights *insights_find_warnings(const struct profile *profile, const bool *hidden,
                                        const struct startup *startup)
{
    return insights_ask_knowing(profile, hidden, startup, INSIGHT_WARNING, true);
}

struct insights *insights_find_all(const struct profile *profile)
{
    return insights_ask_alone(profile, false);
}

static bool insight_passes(const struct insight *insight, const bool *passes)
{
    for (size_t i = 0; i < insight->path_count; i++)
        if (passes[insight->paths[i].node])
            return true;
    return false;
}

void insights_filter(struct insights *insights, const char *filter, const bool *passes)
{
    size_t kept = 0;
    for (size_t i = 0; i < insights->count; i++) {
        if (insight_passes(&insights->items[i], passes))
            insights->items[kept++] = insights->items[i];
        else
            insight_release(&insights->items[i]);
    }
    insights->elsewhere = insights->count - kept;
    insights->count = kept;
    insights->filter = filter;
}

void insights_free(struct insights *insights)
{
    if (!insights)
        return;
    for (size_t i = 0; i < insights->count; i++)
        insight_release(&insights->items[i]);
    free(insights->items);
    free(insights->silences);
    free(insights);
}
