/* Finds memory that no call allocates: thread-local variables, whose size counts once for each
 * thread, and large globals. Both are sums over the profile's sections, and the largest variables
 * with names are the evidence. */
#include "insights/rule.h"

#include "base/text.h"
#include "aggregate/facts.h"
#include "format/names.h"
#include "aggregate/thread_totals.h"

#define TLS_BYTES       (256 << 10) /* all copies together */
#define TLS_THREADS     2
#define GLOBALS_BYTES   (1 << 20)
#define GLOBALS_SHARE   0.25 /* of peak and globals together */
#define VARIABLES_NAMED 3
enum { NAME_COLUMNS = 30 };

struct rule_variables_sums {
    uint64_t bytes;
    const struct profile_variable *largest[VARIABLES_NAMED];
    size_t count;
    const struct profile_section_total *nameless; /* the section with most that no variable accounts
                                                   * for */
};

static bool rule_variables_is_tls(int section)
{
    return section == PROFILE_SECTION_TDATA || section == PROFILE_SECTION_TBSS;
}

static bool rule_variables_is_global(int section)
{
    return section == PROFILE_SECTION_DATA || section == PROFILE_SECTION_BSS;
}

static uint64_t rule_variables_nameless_bytes(const struct profile_section_total *total)
{
    return total ? rule_number(figure_sub(total->bytes, total->named_bytes)) : 0;
}

static struct rule_variables_sums rule_variables_sum_up(const struct profile *profile,
                                                        bool (*counts)(int section))
{
    struct rule_variables_sums sums = {0};
    for (size_t i = 0; i < profile->section_count; i++) {
        const struct profile_section_total *total = &profile->sections[i];
        if (!counts(total->section))
            continue;
        sums.bytes += rule_number(total->bytes);
        if (rule_variables_nameless_bytes(total) > rule_variables_nameless_bytes(sums.nameless))
            sums.nameless = total;
    }
    for (size_t i = 0; i < profile->variable_count; i++) {
        const struct profile_variable *variable = &profile->variables[i];
        if (!counts(variable->section))
            continue;
        size_t at = sums.count;
        for (; at && sums.largest[at - 1]->bytes < variable->bytes; at--)
            if (at < VARIABLES_NAMED)
                sums.largest[at] = sums.largest[at - 1];
        if (at < VARIABLES_NAMED)
            sums.largest[at] = variable;
        sums.count += sums.count < VARIABLES_NAMED;
    }
    return sums;
}

/* "libgs.so.10, 8.90 MiB": where most bytes of a section belong to variables without names, as in a
 * stripped library. */
static void rule_variables_add_nameless(struct insight *insight, const struct profile *profile,
                                        const struct rule_variables_sums *sums)
{
    uint64_t bytes = rule_variables_nameless_bytes(sums->nameless);
    int64_t module = bytes ? sums->nameless->module_id : -1;
    struct strbuf text = STRBUF_INIT;
    if (module < 0 || (uint64_t)module >= profile->module_count ||
        (sums->count && bytes <= sums->largest[0]->bytes))
        return;
    strbuf_addf(&text, "%s, %s", name_base(profile->modules[module].path), human_bytes(bytes).text);
    insight_add_text(insight, "without_names", text.data);
    strbuf_release(&text);
}

/* "table (mesh.c:12), 4.00 MiB" */
static void rule_variables_add_names(struct insight *insight, const struct profile *profile,
                                     const struct rule_variables_sums *sums)
{
    rule_variables_add_nameless(insight, profile, sums);
    for (size_t i = 0; i < sums->count; i++) {
        const struct profile_variable *variable = sums->largest[i];
        struct strbuf text = STRBUF_INIT;
        strbuf_add_string(&text, variable->name ? variable->name : "?");
        if (variable->file && variable->line)
            strbuf_addf(&text, " (%s:%u)", variable->file, (unsigned)variable->line);
        strbuf_addf(&text, ", %s", human_bytes(variable->bytes).text);
        insight_add_text(insight, "variable", text.data);
        strbuf_release(&text);
    }
}

/* The largest one, if it is half of all. */
static const struct profile_variable *
rule_variables_main_one(const struct rule_variables_sums *sums)
{
    const struct profile_variable *largest = sums->count ? sums->largest[0] : NULL;
    return largest && largest->name && largest->bytes >= sums->bytes / 2 ? largest : NULL;
}

/* "table (mesh.c:12) is most of 40.0 MiB of global variables". Whose they are comes first: what is
 * behind may be cut. */
static void rule_variables_add_title(struct insight *insight,
                                     const struct rule_variables_sums *sums, const char *amount,
                                     const char *kind, const char *more)
{
    const struct profile_variable *one = rule_variables_main_one(sums);
    struct strbuf name = STRBUF_INIT, place = STRBUF_INIT;
    if (!one) {
        insight_title(insight, "%s of %s variables%s", amount, kind, more);
        return;
    }
    name_add_short(&name, one->name, NAME_COLUMNS);
    if (one->file && one->line)
        name_add_place(&place, name_base(one->file), one->line, NAME_COLUMNS);
    insight_title(insight, "%s%s%s%s is most of %s of %s variables%s", name.data,
                  place.length ? " (" : "", place.length ? place.data : "", place.length ? ")" : "",
                  amount, kind, more);
    strbuf_release(&name);
    strbuf_release(&place);
}

static bool rule_variables_silent_without_variables(struct inquiry *inquiry)
{
    bool missing = !inquiry->profile->section_count && !inquiry->profile->variable_count;
    if (missing)
        inquiry_silent(inquiry, "not recorded: global and thread-local variables");
    return missing;
}

/* Most at once: of those that allocated, or of those whose stacks one look has seen. */
static uint64_t rule_variables_threads(const struct profile *profile)
{
    uint64_t most = threads_peak(profile), stacks = 0;
    for (size_t i = 0; i < profile->owner_count; i++) {
        if (i && profile->owners[i].sample != profile->owners[i - 1].sample)
            stacks = 0;
        stacks += profile->owners[i].kind == PROFILE_OWNER_STACK;
        most = stacks > most ? stacks : most;
    }
    return most;
}

void rule_tls(struct inquiry *inquiry)
{
    if (rule_variables_silent_without_variables(inquiry))
        return;
    struct rule_variables_sums sums =
        rule_variables_sum_up(inquiry->profile, rule_variables_is_tls);
    uint64_t threads = rule_variables_threads(inquiry->profile), all = sums.bytes * threads;
    if (threads < TLS_THREADS || all < TLS_BYTES)
        return;
    struct insight *insight =
        insight_begin(inquiry, all, all + rule_number(inquiry->total->peak_bytes), INSIGHT_BYTES);
    struct strbuf each = STRBUF_INIT;
    strbuf_addf(&each, ", %s in each of %s threads", human_bytes(sums.bytes).text,
                human_exact(threads).text);
    rule_variables_add_title(insight, &sums, human_bytes(all).text, "thread-local", each.data);
    strbuf_release(&each);
    insight_add_bytes(insight, "tls_bytes", all);
    insight_add_bytes(insight, "tls_bytes_per_thread", sums.bytes);
    insight_add_count(insight, "peak_threads", threads);
    insight_add_share(insight, "share", insight->cost);
    rule_variables_add_names(insight, inquiry->profile, &sums);
    insight->advice = "Each thread gets its copy whether it uses it or not (touched pages count): "
                      "allocate large ones when a thread first needs them.";
}

/* What of the globals was resident in the look that found most; unknown where none was. */
static struct figure rule_variables_touched(const struct profile *profile)
{
    const struct profile_sample *sample = facts_owners_sample(profile);
    struct figure touched = sample ? figure_of(0) : FIGURE_UNKNOWN;
    for (size_t i = 0; sample && i < profile->owner_count; i++)
        if (profile->owners[i].sample == sample->id &&
            profile->owners[i].kind == PROFILE_OWNER_GLOBALS)
            touched = figure_add(touched, profile->owners[i].resident_bytes);
    return touched;
}

/* Is it known that most of them were never touched, or are a small part of what is resident? Such
 * globals cost nothing. */
static bool rule_variables_are_idle(const struct inquiry *inquiry, struct figure touched)
{
    uint64_t bytes, all;
    return figure_get(touched, &bytes) &&
           figure_get(facts_owned_by_program(inquiry->profile), &all) &&
           (bytes < GLOBALS_BYTES || (double)bytes < GLOBALS_SHARE * (double)all);
}

void rule_globals(struct inquiry *inquiry)
{
    if (rule_variables_silent_without_variables(inquiry))
        return;
    struct rule_variables_sums sums =
        rule_variables_sum_up(inquiry->profile, rule_variables_is_global);
    uint64_t all = sums.bytes + rule_number(inquiry->total->peak_bytes);
    struct figure touched = rule_variables_touched(inquiry->profile);
    /* No more of them was touched than was ever resident. */
    uint64_t most = rule_number_or_most(facts_resident_peak(inquiry->profile));
    if (sums.bytes < GLOBALS_BYTES || (double)sums.bytes < GLOBALS_SHARE * (double)all ||
        most < sums.bytes / 2 || rule_variables_are_idle(inquiry, touched))
        return;
    struct insight *insight = insight_begin(inquiry, sums.bytes, all, INSIGHT_BYTES);
    insight_at_most(insight, INSIGHT_NOTICE); /* what is never touched costs nothing */
    rule_variables_add_title(insight, &sums, human_bytes(sums.bytes).text, "global", "");
    insight_add_bytes(insight, "globals_bytes", sums.bytes);
    if (figure_known(touched))
        insight_add_bytes(insight, "globals_resident_bytes", rule_number(touched));
    insight_add_bytes(insight, "peak_bytes", rule_number(inquiry->total->peak_bytes));
    insight_add_share(insight, "share", insight->cost);
    rule_variables_add_names(insight, inquiry->profile, &sums);
    insight->advice = "Tables of a fixed size are as large for the smallest input as for the "
                      "largest: allocate what the input needs.";
}
