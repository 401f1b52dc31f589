/* Sentences about a recording (facts.h). Each function looks meta entries of the profile up by key
 * and appends a sentence or a figure. */
#include "aggregate/facts.h"
#include "aggregate/unwalked.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/human.h"
#include "base/text.h"
#include "format/names.h"
#include "model/figure_human.h"
#include "model/interpreter.h"

uint64_t facts_number(const struct profile *profile, const char *key)
{
    const char *value = profile_get(profile, key);
    long long number = value ? strtoll(value, NULL, 10) : 0;
    return number > 0 ? (uint64_t)number : 0;
}

struct figure facts_figure(const struct profile *profile, const char *key)
{
    return profile_get(profile, key) ? figure_of(facts_number(profile, key)) : FIGURE_UNKNOWN;
}

/* ---- Sampling ---- */

bool facts_next_sampling(const char **text, uint64_t *ns, uint64_t *bytes)
{
    char *end;
    if (!*text || !**text)
        return false;
    *ns = strtoull(*text, &end, 10);
    *bytes = strtoull(end, &end, 10);
    *text = *end ? end + 1 : end;
    return true;
}

uint64_t facts_sample_bytes(const struct profile *profile)
{
    const char *changes = profile_get(profile, PROFILE_META_SAMPLE_CHANGES);
    uint64_t ns, bytes = 0, widest = 0;
    while (facts_next_sampling(&changes, &ns, &bytes))
        widest = bytes > widest ? bytes : widest;
    return widest ? widest : profile->sample_bytes;
}

void facts_add_sampling(struct strbuf *out, const struct profile *profile)
{
    const char *changes = profile_get(profile, PROFILE_META_SAMPLE_CHANGES);
    uint64_t ns, bytes;
    bool first = true;
    while (facts_next_sampling(&changes, &ns, &bytes)) {
        strbuf_addf(
            out, first ? "exact until %s, then one allocation in every " : ", from %s on in every ",
            human_duration(ns).text);
        strbuf_add_string(out, human_bytes(bytes).text);
        first = false;
    }
    if (first)
        strbuf_addf(out, "one allocation in every %s", human_bytes(profile->sample_bytes).text);
    strbuf_add_string(out, " on average");
    if (!first)
        strbuf_addf(out, " (less than %s then came into no sample, 95 %%)",
                    human_bytes(3 * facts_sample_bytes(profile)).text); /* e^-3 */
    if (profile_get(profile, PROFILE_META_SAMPLE_WHY)) {
        strbuf_add_string(out, ", ");
        facts_add_text(out, profile, PROFILE_META_SAMPLE_WHY);
    }
}

bool facts_callers_only(const struct profile *profile)
{
    const char *mode = profile_get(profile, PROFILE_META_STACKS);
    return mode && !strcmp(mode, "none");
}

const char *facts_stacks(const struct profile *profile)
{
    const char *mode = profile_get(profile, PROFILE_META_STACKS);
    if (!mode)
        return "";
    return !strcmp(mode, "none") ? "the caller only (--stacks=none)"
           : !strcmp(mode, "fp") ? "by frame pointers only (--stacks=fp)"
                                 : "";
}

bool facts_add_budget(struct strbuf *out, const struct profile *profile)
{
    uint64_t budget = facts_number(profile, PROFILE_META_BUDGET);
    if (!budget)
        return false;
    strbuf_addf(
        out, "%s of the program's processor time at most (--budget-cpu); %s were spent on events%s",
        human_percent((double)budget, 1e6).text,
        human_duration(facts_number(profile, PROFILE_META_BUDGET_COST)).text,
        profile->sample_bytes ? "" : ", and everything was recorded");
    return true;
}

void facts_add_text(struct strbuf *out, const struct profile *profile, const char *key)
{
    const char *value = profile_get(profile, key);
    text_add_safe_string(out, value ? value : "?");
}

void facts_add_rank(struct strbuf *out, const struct profile *profile)
{
    if (!profile_get(profile, PROFILE_META_RANK))
        return;
    strbuf_add_string(out, ", rank ");
    facts_add_text(out, profile, PROFILE_META_RANK);
    if (profile_get(profile, PROFILE_META_RANKS)) {
        strbuf_add_string(out, " of ");
        facts_add_text(out, profile, PROFILE_META_RANKS);
    }
    if (profile_get(profile, PROFILE_META_JOB)) {
        strbuf_add_string(out, " in job ");
        facts_add_text(out, profile, PROFILE_META_JOB);
    }
}

static bool facts_ended_by(const struct profile *profile, const char *kind)
{
    const char *end = profile_get(profile, PROFILE_META_END);
    return end && !strcmp(end, kind);
}

bool facts_ended_well(const struct profile *profile)
{
    return profile->complete && ((facts_ended_by(profile, "exit") &&
                                  figure_zero(facts_figure(profile, PROFILE_META_END_STATUS))) ||
                                 facts_ended_by(profile, "exec"));
}

/* Of a job: how many of its ranks did not end as they should have. */
static void facts_add_end_of_job(struct strbuf *out, const struct profile *profile)
{
    size_t bad = 0, left = 0;
    for (size_t i = 0; i < profile->rank_count; i++) {
        const struct profile_rank *rank = &profile->ranks[i];
        left += !rank->beside && !strcmp(rank->state, "left");
        bad += !rank->beside && strcmp(rank->state, "left") && strcmp(rank->state, "complete");
    }
    uint64_t missing = facts_number(profile, PROFILE_META_JOB_MISSING);
    if (!bad && !missing && !left)
        strbuf_add_string(out, facts_number(profile, PROFILE_META_JOB_LEFT_OUT)
                                   ? "all recorded ranks ended well"
                                   : "all ranks ended well");
    if (bad)
        strbuf_addf(out, "%zu rank%s died or %s not read whole", bad, bad == 1 ? "" : "s",
                    bad == 1 ? "was" : "were");
    if (left)
        strbuf_addf(out, "%show %zu rank%s ended is not known", bad ? ", " : "", left,
                    left == 1 ? "" : "s");
    if (missing)
        strbuf_addf(out, "%s%llu left nothing", bad || left ? ", " : "",
                    (unsigned long long)missing);
    uint64_t left_out = facts_number(profile, PROFILE_META_JOB_LEFT_OUT);
    if (left_out)
        strbuf_addf(out, "; %llu more were not recorded", (unsigned long long)left_out);
}

static void facts_add_end_of_recording(struct strbuf *out, const struct profile *profile)
{
    strbuf_add_string(out, "ran on when recording ended");
    if (!profile_get(profile, PROFILE_META_ENDED_ON))
        return;
    strbuf_add_char(out, ' ');
    facts_add_text(out, profile, PROFILE_META_ENDED_ON);
}

bool facts_is_snapshot(const struct profile *profile)
{
    return facts_ended_by(profile, "snapshot");
}

static void facts_add_snapshot(struct strbuf *out, const struct profile *profile)
{
    strbuf_add_string(out, "a snapshot: ");
    facts_add_text(out, profile, PROFILE_META_SNAPSHOT);
    strbuf_add_string(out, "; the program ran on");
}

static void facts_add_snapshot_line(struct strbuf *out, const char *value)
{
    char *end;
    uint64_t ns = strtoull(value, &end, 10);
    const char *why = end + (*end == '\t');
    size_t length = strcspn(why, "\t");
    strbuf_addf(out, "%s  ", human_duration(ns).text);
    text_add_safe(out, why, length);
    strbuf_add_string(out, "  ");
    text_add_safe_string(out, why[length] ? why + length + 1 : "");
    strbuf_add_char(out, '\n');
}

bool facts_add_snapshots(struct strbuf *out, const struct profile *profile)
{
    uint64_t count = facts_number(profile, PROFILE_META_SNAPSHOTS);
    const char *value = "";
    for (uint64_t i = 1; i <= count && value; i++) {
        char key[40];
        snprintf(key, sizeof key, PROFILE_META_SNAPSHOT_OF "%llu", (unsigned long long)i);
        value = profile_get(profile, key);
        if (value)
            facts_add_snapshot_line(out, value);
    }
    return count > 0;
}

/* The kernel does not say which process it killed. A program that ended by SIGKILL probably was the
 * one. */
bool facts_add_oom(struct strbuf *out, const struct profile *profile)
{
    uint64_t kills = facts_number(profile, PROFILE_META_OOM_KILLS);
    uint64_t limit = facts_number(profile, PROFILE_META_OOM_LIMIT);
    if (!kills)
        return false;
    strbuf_addf(out, "the kernel killed %s process%s of its control group for want of memory",
                human_exact(kills).text, kills == 1 ? "" : "es");
    if (limit)
        strbuf_addf(out, " (limit %s)", human_bytes(limit).text);
    return true;
}

static void facts_add_cut(struct strbuf *out, const struct profile *profile)
{
    strbuf_add_string(out, "recording was cut short");
    if (profile_get(profile, PROFILE_META_CUT)) {
        strbuf_add_string(out, ", as ");
        facts_add_text(out, profile, PROFILE_META_CUT);
    }
    strbuf_add_string(out, ": how the program ended is not known");
}

static void facts_add_exit(struct strbuf *out, struct figure status)
{
    if (figure_known(status))
        strbuf_addf(out, "exit status %u", (unsigned)figure_or(status, 0));
    else
        strbuf_add_string(out, "an exit with a status that is not known");
}

static void facts_add_killed(struct strbuf *out, struct figure signal)
{
    int number = (int)figure_or(signal, 0);
    const char *name = sigabbrev_np(number);
    if (!figure_known(signal))
        strbuf_add_string(out, "killed by a signal that is not known");
    else if (name)
        strbuf_addf(out, "killed by SIG%s", name);
    else
        strbuf_addf(out, "killed by signal %u", (unsigned)number);
}

void facts_add_outcome(struct strbuf *out, const struct profile *profile)
{
    if (profile_is_job(profile)) {
        facts_add_end_of_job(out, profile);
        return;
    }
    struct figure status = facts_figure(profile, PROFILE_META_END_STATUS);
    if (profile->being_written)
        strbuf_add_string(out, "still being recorded");
    else if (!profile->complete)
        facts_add_cut(out, profile);
    else if (facts_ended_by(profile, "exit"))
        facts_add_exit(out, status);
    else if (facts_ended_by(profile, "signal"))
        facts_add_killed(out, status);
    else if (facts_ended_by(profile, "exec"))
        strbuf_add_string(out, "replaced by another program (exec)");
    else if (facts_ended_by(profile, "detached"))
        facts_add_end_of_recording(out, profile);
    else if (facts_is_snapshot(profile))
        facts_add_snapshot(out, profile);
    else
        strbuf_add_string(out, "nobody saw how it ended");
}

void facts_add_end(struct strbuf *out, const struct profile *profile)
{
    struct strbuf oom = STRBUF_INIT;
    facts_add_outcome(out, profile);
    if (facts_add_oom(&oom, profile))
        strbuf_addf(out, "; %s", oom.data);
    strbuf_release(&oom);
}

struct figure facts_owned_by_program(const struct profile *profile)
{
    const struct profile_sample *sample = facts_owners_sample(profile);
    struct figure bytes = sample ? figure_of(0) : FIGURE_UNKNOWN;
    for (size_t i = 0; sample && i < profile->owner_count; i++)
        if (profile->owners[i].sample == sample->id &&
            profile->owners[i].kind != PROFILE_OWNER_TOOL)
            bytes = figure_add(bytes, profile->owners[i].resident_bytes);
    return bytes;
}

bool facts_is_of_java_heap(const struct profile_owner *owner)
{
    enum { LENGTH = sizeof FACTS_JAVA_HEAP - 1 };
    const char *name = owner->kind == PROFILE_OWNER_MAPPING && !owner->path ? owner->name : NULL;
    return name && !strncmp(name, FACTS_JAVA_HEAP, LENGTH) &&
           (!name[LENGTH] || name[LENGTH] == ',');
}

struct figure facts_resident_peak(const struct profile *profile)
{
    struct figure most = FIGURE_UNKNOWN;
    for (size_t i = 0; i < profile->bucket_count; i++)
        most = figure_max(most, profile->buckets[i].physical.max);
    /* A job's owners are of each rank's own moment. */
    if (!figure_known(most) && profile_is_job(profile))
        return most;
    return figure_max(most, facts_owned_by_program(profile));
}

/* By the looks, each at its most: what was mapped directly, and the heap. */
static bool facts_mapped_is_touched(const struct profile *profile)
{
    struct figure mapped = FIGURE_UNKNOWN, heap = FIGURE_UNKNOWN;
    for (size_t i = 0; i < profile->sample_count; i++) {
        const struct profile_sample *sample = &profile->samples[i];
        mapped = figure_max(mapped, sample->mmap_bytes);
        heap = figure_max(heap, figure_add(sample->live_touched_bytes, sample->slack_bytes));
    }
    return figure_less(heap, mapped);
}

bool facts_mapped_leads(const struct profile *profile)
{
    struct figure mapped = profile->program.mapped.peak_bytes;
    /* What is mapped for a moment is seen by the kernel alone. */
    struct figure resident = figure_max(facts_resident_peak(profile), facts_high_water(profile, 0));
    return figure_less(profile->program.total.peak_bytes, mapped) &&
           (!figure_less(resident, mapped) || facts_mapped_is_touched(profile));
}

struct figure facts_high_water(const struct profile *profile, uint64_t ns)
{
    struct figure high = FIGURE_UNKNOWN;
    for (size_t i = 0; i < profile->sample_count; i++)
        if (profile->samples[i].time_ns >= ns)
            high = figure_max(high, profile->samples[i].high_water_bytes);
    return high;
}

/* ---- Warnings ------------------------------------------------------------------------------ */

static void facts_add_counted(struct strbuf *out, uint64_t count, const char *one, const char *many)
{
    if (count)
        strbuf_addf(out, "%s %s\n", human_exact(count).text, count == 1 ? one : many);
}

static void facts_add_sentence(struct strbuf *out, const struct profile *profile, const char *key)
{
    if (!profile_get(profile, key))
        return;
    facts_add_text(out, profile, key);
    strbuf_add_char(out, '\n');
}

bool facts_add_window(struct strbuf *out, const struct profile *profile)
{
    if (!profile_get(profile, PROFILE_META_WINDOW_FROM))
        return false;
    strbuf_addf(out, "%s to %s of the recording: only what happened then",
                human_duration(facts_number(profile, PROFILE_META_WINDOW_FROM)).text,
                human_duration(facts_number(profile, PROFILE_META_WINDOW_TO)).text);
    return true;
}

bool facts_add_beginning(struct strbuf *out, const struct profile *profile)
{
    bool begun = profile_get(profile, PROFILE_META_BEGUN_ON);
    if (begun) {
        strbuf_add_string(out, "from mark '");
        facts_add_text(out, profile, PROFILE_META_BEGUN_ON);
        strbuf_addf(
            out,
            "' on, %s after the program's start; %s blocks (%s) from before are followed, but "
            "are no allocations of this profile",
            human_duration(facts_number(profile, PROFILE_META_BEGUN_NS)).text,
            human_exact(facts_number(profile, PROFILE_META_BEFORE_BLOCKS)).text,
            human_bytes(facts_number(profile, PROFILE_META_BEFORE_BYTES)).text);
    } else if (profile_get(profile, PROFILE_META_NEVER_BEGUN)) {
        strbuf_add_string(out, "the whole run: no mark '");
        facts_add_text(out, profile, PROFILE_META_NEVER_BEGUN);
        strbuf_add_string(out, "' ever came (--start-on)");
        begun = true;
    }
    return begun;
}

const char *facts_imported_from(const struct profile *profile)
{
    static const char *const tools[] = {"heaptrack", "massif",     "dhat",       "pprof",
                                        "jemalloc",  "gperftools", "tracemalloc"};
    const char *tool = profile_get(profile, PROFILE_META_IMPORTED);
    for (size_t i = 0; tool && i < sizeof tools / sizeof *tools; i++)
        if (!strcmp(tool, tools[i]))
            return tools[i];
    return tool ? "another tool" : NULL;
}

/* Formats that say what was alive when they were written, and that may have been at any time. */
static bool facts_is_heap_dump(const struct profile *profile)
{
    const char *tool = profile_get(profile, PROFILE_META_IMPORTED);
    return tool &&
           (!strcmp(tool, "pprof") || !strcmp(tool, "jemalloc") || !strcmp(tool, "gperftools"));
}

static bool facts_is_detached(const struct profile *profile)
{
    return facts_ended_by(profile, "detached"); /* Ctrl-C of attach, --detach, tidemark_stop() */
}

void facts_add_with_reallocs(struct strbuf *out, const struct profile *profile)
{
    const struct call_metrics *total = &profile->program.total;
    struct figure bytes = call_metrics_bytes(total);
    if (figure_positive(total->realloc_bytes) && figure_known(bytes) &&
        !facts_sample_bytes(profile))
        strbuf_addf(out, ", %s with reallocs", figure_human_bytes(bytes).text);
    else
        strbuf_add_string(out, " in all");
}

/* Of a job: did a rank run on behind what is here of it? */
static bool facts_has_rank_left(const struct profile *profile)
{
    for (size_t i = 0; i < profile->rank_count; i++) {
        const struct profile_rank *rank = &profile->ranks[i];
        if (!rank->beside && (!strcmp(rank->state, "left") || !strcmp(rank->state, "cut") ||
                              !strcmp(rank->state, "running")))
            return true;
    }
    return false;
}

bool facts_is_whole_run(const struct profile *profile)
{
    return profile->complete && !profile_get(profile, PROFILE_META_WINDOW_FROM) &&
           !profile_get(profile, PROFILE_META_ENDED_ON) && !facts_is_snapshot(profile) &&
           !facts_is_heap_dump(profile) && !facts_is_detached(profile) &&
           !facts_has_rank_left(profile);
}

bool facts_is_of(const struct profile *profile, enum memory_level level)
{
    const char *name = profile_get(profile, PROFILE_META_LEVEL);
    return name ? !strcmp(name, memory_level_name(level)) : level == MEMORY_HEAP;
}

const struct facts_words *facts_words(const struct profile *profile)
{
    static const struct facts_words of_blocks = {"allocations", "frees", "block sizes",
                                                 "never freed", "block"};
    static const struct facts_words of_mappings = {"mappings", "unmapped", "sizes",
                                                   "never unmapped", "mapping"};
    return facts_is_of(profile, MEMORY_MAPPED) ? &of_mappings : &of_blocks;
}

const char *facts_of_what_is_left(const struct profile *profile)
{
    return !profile->complete            ? "alive now"
           : facts_is_whole_run(profile) ? facts_words(profile)->never_freed
           : profile_get(profile, PROFILE_META_WINDOW_FROM) ||
                   profile_get(profile, PROFILE_META_ENDED_ON)
               ? "left at end"
           : facts_is_snapshot(profile) || facts_is_heap_dump(profile) ? "alive then"
                                                                       : "left at end";
}

/* ---- What was not seen --------------------------------------------------------------------- */

bool facts_next_unseen(const struct profile *profile, const char **at, struct facts_unseen *unseen)
{
    return facts_next_unseen_of(profile_get(profile, PROFILE_META_UNSEEN), at, unseen);
}

bool facts_next_unseen_of(const char *lines, const char **at, struct facts_unseen *unseen)
{
    const char *line = *at ? *at : lines;
    if (!line || !*line)
        return false;
    size_t ends[3], length = strcspn(line, "\n");
    unseen->text = (struct strbuf)STRBUF_INIT;
    const char *field = line;
    for (int i = 0; i < 3; i++) {
        size_t bytes = i < 2 ? strcspn(field, "\t\n") : length - (size_t)(field - line);
        struct strbuf part = STRBUF_INIT;
        strbuf_add(&part, field, bytes);
        text_add_safe_string(&unseen->text, part.data);
        strbuf_release(&part);
        strbuf_add_char(&unseen->text, '\0');
        ends[i] = unseen->text.length;
        field += bytes + (i < 2 && field[bytes] == '\t');
    }
    unseen->what = unseen->text.data;
    unseen->module = unseen->text.data + ends[0];
    unseen->why = unseen->text.data + ends[1];
    *at = line + length + (line[length] == '\n');
    return true;
}

void facts_release_unseen(struct facts_unseen *unseen)
{
    strbuf_release(&unseen->text);
}

/* Was the program recorded from its first instruction on, with no mapping inherited? Then every
 * mapping was made during the recording. */
static bool facts_knows_all_mappings(const struct profile *profile)
{
    const char *started_by = profile_get(profile, PROFILE_META_STARTED_BY);
    return profile->has_program && started_by && !strcmp(started_by, "exec") &&
           !profile_get(profile, PROFILE_META_ATTACHED) &&
           !profile_get(profile, PROFILE_META_BEGUN_ON) &&
           !profile_get(profile, PROFILE_META_WINDOW_FROM) &&
           !profile_get(profile, PROFILE_META_REGION) &&
           !profile_get(profile, PROFILE_META_IMPORTED);
}

#define UNMAPPED_BYTES (16 << 20) /* less is the C library's, or a stack that is not known as one */
#define UNMAPPED_SHARE 0.25       /* of the resident bytes */

/* Private memory that no recorded call mapped. */
static struct figure facts_unclaimed(const struct profile *profile,
                                     const struct profile_sample *sample)
{
    uint64_t bytes = 0;
    bool has_owners = false;
    for (size_t i = 0; i < profile->owner_count; i++) {
        const struct profile_owner *owner = &profile->owners[i];
        if (owner->sample != sample->id)
            continue;
        has_owners = true;
        if (owner->kind == PROFILE_OWNER_MAPPING && !owner->path)
            bytes += figure_or(owner->resident_bytes, 0);
    }
    return has_owners ? figure_of(bytes) : FIGURE_UNKNOWN;
}

/* Bytes that an allocator other than the C library's may keep of freed blocks: they look like any
 * other mapping. */
static uint64_t facts_may_be_kept(const struct profile *profile)
{
    return facts_allocator_is_libc(profile) ? 0
                                            : figure_or(profile_heap_total(profile)->peak_bytes, 0);
}

uint64_t facts_mapped_unseen(const struct profile *profile)
{
    uint64_t mapped, direct, resident, most = 0, kept = facts_may_be_kept(profile);
    if (!facts_knows_all_mappings(profile) || facts_is_of(profile, MEMORY_RESIDENT) ||
        !figure_get(profile_heap_total(profile)->map_bytes, &mapped))
        return 0;
    for (size_t i = 0; i < profile->sample_count; i++) {
        const struct profile_sample *sample = &profile->samples[i];
        if (!sample->has_ledger || !figure_get(sample->mmap_bytes, &direct) ||
            !figure_get(sample->resident_bytes, &resident) || direct <= mapped)
            continue;
        uint64_t beyond = direct - mapped,
                 unclaimed = figure_or(facts_unclaimed(profile, sample), beyond);
        if (beyond > unclaimed)
            beyond = unclaimed;
        beyond -= beyond < kept ? beyond : kept;
        if (beyond >= UNMAPPED_BYTES && (double)beyond >= UNMAPPED_SHARE * (double)resident &&
            beyond > most)
            most = beyond;
    }
    return most;
}

bool facts_has_unseen(const struct profile *profile)
{
    const char *lines = profile_get(profile, PROFILE_META_UNSEEN);
    return (lines && *lines) || facts_mapped_unseen(profile);
}

const char *facts_why_unknown(const struct profile *profile)
{
    return facts_has_unseen(profile)          ? "nothing was seen of it"
           : profile->program.lost_events > 0 ? "its events could not be recorded"
                                              : NULL;
}

const char *facts_at_least(const struct profile *profile)
{
    return facts_has_unseen(profile) ? "at least " : "";
}

void facts_add_one_unseen(struct strbuf *out, const struct facts_unseen *unseen)
{
    strbuf_add_string(out, unseen->what);
    if (*unseen->module)
        strbuf_addf(out, " in %s", name_base(unseen->module));
    if (*unseen->why)
        strbuf_addf(out, " (%s)", unseen->why);
}

static bool facts_add_mapped_unseen(struct strbuf *out, const struct profile *profile)
{
    uint64_t bytes = facts_mapped_unseen(profile);
    if (bytes)
        strbuf_addf(out,
                    "not seen: who mapped %s of the resident memory (it was no call of mmap or "
                    "malloc that could be recorded)",
                    human_bytes(bytes).text);
    return bytes != 0;
}

bool facts_add_unseen(struct strbuf *out, const struct profile *profile)
{
    struct facts_unseen unseen;
    const char *at = NULL;
    if (facts_next_unseen(profile, &at, &unseen)) {
        strbuf_add_string(out, "not seen: ");
        facts_add_one_unseen(out, &unseen);
        facts_release_unseen(&unseen);
        return true;
    }
    return facts_add_mapped_unseen(out, profile);
}

void facts_add_unseen_lines(struct strbuf *out, const struct profile *profile)
{
    const char *lines = profile_get(profile, PROFILE_META_UNSEEN);
    uint64_t bytes = facts_mapped_unseen(profile);
    if (lines)
        strbuf_add_string(out, lines);
    if (bytes)
        strbuf_addf(out,
                    "%swho mapped %s of the resident memory\t\tno call of mmap or malloc that "
                    "could be recorded",
                    out->length ? "\n" : "", human_bytes(bytes).text);
}

static void facts_add_all_unseen(struct strbuf *out, const struct profile *profile)
{
    struct facts_unseen unseen;
    for (const char *at = NULL; facts_next_unseen(profile, &at, &unseen);) {
        strbuf_add_string(out, "not seen: ");
        facts_add_one_unseen(out, &unseen);
        strbuf_add_string(out, ": counts are lower bounds\n");
        facts_release_unseen(&unseen);
    }
    if (facts_add_mapped_unseen(out, profile))
        strbuf_add_string(out, ": counts are lower bounds\n");
}

struct profile_sample facts_sample(const struct profile_sample *sample)
{
    struct profile_sample shown = *sample;
    if (shown.has_ledger && shown.unexplained_bytes < 0) {
        shown.resident_bytes =
            figure_add(shown.resident_bytes, figure_of(0 - (uint64_t)shown.unexplained_bytes));
        shown.unexplained_bytes = 0;
    }
    return shown;
}

void facts_add_losses(struct strbuf *out, const struct profile *profile)
{
    const struct program_metrics *program = &profile->program;
    if (profile->damage) {
        strbuf_add_string(out, "the profile is damaged: ");
        text_add_safe_string(out, profile->damage);
        strbuf_add_string(out, "; figures below are incomplete\n");
    }
    facts_add_sentence(out, profile, PROFILE_META_MISSING);
    facts_add_sentence(out, profile, PROFILE_META_NAMED_LATER);
    facts_add_sentence(out, profile, PROFILE_META_IMPORT_NOTE);
    facts_add_sentence(out, profile, PROFILE_META_SNAPSHOT_ERROR);
    facts_add_all_unseen(out, profile);
    facts_add_counted(out, program->lost_events, "event was not recorded: counts are lower bounds",
                      "events were not recorded: counts are lower bounds");
    facts_add_counted(out, program->late_events, "event came too late for its place in time",
                      "events came too late for their place in time");
    facts_add_counted(out, program->replaced_blocks,
                      "block was allocated where one was still alive: a free was not seen",
                      "blocks were allocated where one was still alive: frees were not seen");
    facts_add_counted(out, program->malformed_events, "record made no sense and was skipped",
                      "records made no sense and were skipped");
    facts_add_counted(out, facts_number(profile, PROFILE_META_DAMAGED),
                      "thread's events were overwritten by the program",
                      "threads' events were overwritten by the program");
    facts_add_counted(out, facts_number(profile, PROFILE_META_UNATTRIBUTED),
                      "event has no call path (no memory for it)",
                      "events have no call path (no memory for it)");
}

static void facts_add_modules(struct strbuf *out, const struct profile *profile, int quality,
                              const char *sentence)
{
    size_t count = 0;
    struct strbuf names = STRBUF_INIT;
    for (size_t i = 0; i < profile->module_count; i++) {
        if (profile->modules[i].quality != quality)
            continue;
        if (count < 3) {
            strbuf_add_string(&names, count ? ", " : "");
            text_add_safe_string(&names, name_base(profile->modules[i].path));
        }
        count++;
    }
    if (count > 3)
        strbuf_addf(&names, " and %zu more", count - 3);
    if (count)
        strbuf_addf(out, "%s: %s\n", sentence, names.data);
    strbuf_release(&names);
}

static void facts_add_attachment(struct strbuf *out, const struct profile *profile)
{
    uint64_t age_ns = facts_number(profile, PROFILE_META_ATTACHED);
    if (!profile_get(profile, PROFILE_META_ATTACHED))
        return;
    strbuf_add_string(out, "attached ");
    if (age_ns)
        strbuf_addf(out, "%s after the program began", human_duration(age_ns).text);
    else
        strbuf_add_string(out, "while the program was running");
    strbuf_add_string(out, ": all figures are of what was allocated since\n");
}

static void facts_add_unfollowed(struct strbuf *out, const struct profile *profile)
{
    facts_add_counted(out, facts_number(profile, PROFILE_META_UNFOLLOWED_ENVIRONMENT),
                      "program that it executed is not recorded: its environment was emptied",
                      "programs that it executed are not recorded: their environment was emptied");
    facts_add_counted(out, facts_number(profile, PROFILE_META_UNFOLLOWED_PRELOAD),
                      "program that it executed is not recorded: its LD_PRELOAD was taken away or "
                      "replaced",
                      "programs that it executed are not recorded: their LD_PRELOAD was taken away "
                      "or replaced");
    facts_add_counted(out, facts_number(profile, PROFILE_META_UNFOLLOWED_PRIVILEGED),
                      "program that it executed is not recorded: it has privileges (setuid)",
                      "programs that it executed are not recorded: they have privileges (setuid)");
    facts_add_counted(
        out, facts_number(profile, PROFILE_META_UNFOLLOWED_UNLOADABLE),
        "program that it executed is not recorded: it is statically linked, of 32 bits, for "
        "another "
        "machine or with a sanitizer",
        "programs that it executed are not recorded: they are statically linked, of 32 bits, for "
        "another machine or with a sanitizer");
    facts_add_counted(out, facts_number(profile, PROFILE_META_UNFOLLOWED_HIDDEN),
                      "program that it executed is not recorded: Tidemark's library cannot be "
                      "opened there (chroot, another user)",
                      "programs that it executed are not recorded: Tidemark's library cannot be "
                      "opened there (chroot, another user)");
}

static void facts_add_native_scripts(struct strbuf *out, const struct profile *profile)
{
    static const char *const names[] = {"Python", "Perl", "PHP", "Ruby", "Lua"};
    uint64_t which = facts_number(profile, PROFILE_META_NATIVE_SCRIPTS);
    const char *between = "call paths have no functions of scripts: frames of this version of ";

    if (!which || which >> sizeof names / sizeof *names)
        return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (which >> i & 1) {
            strbuf_addf(out, "%s%s", between, names[i]);
            between = " and of ";
        }
    strbuf_add_string(
        out, " cannot be read (Python 3.11 to 3.14 and free-threaded 3.13 from its beginning, "
             "Perl 5.28 to 5.40, PHP 8.1 to 8.4 without threads, Ruby 2.7 to 3.4, Lua 5.1 to 5.4 "
             "from its beginning can)\n");
}

static void facts_add_scripts_of_pages(struct strbuf *out, const struct profile *profile)
{
    const char *path = profile_get(profile, PROFILE_META_EXECUTABLE);
    const char *language = path ? interpreter_language(path) : NULL;
    if (language && profile->pages)
        strbuf_addf(out,
                    "call paths have no functions of scripts: %s's frames are not read with "
                    "--events=pages\n",
                    language);
}

/* Says whose the freed blocks were, as far as the way of recording tells. */
static void facts_add_foreign_frees(struct strbuf *out, const struct profile *profile)
{
    const char *started_by = profile_get(profile, PROFILE_META_STARTED_BY);
    uint64_t count = profile->program.foreign_frees;
    if (profile_get(profile, PROFILE_META_ATTACHED) ||
        profile_get(profile, PROFILE_META_BEGUN_ON) ||
        profile_get(profile, PROFILE_META_WINDOW_FROM))
        facts_add_counted(out, count, "free of a block from before the recording",
                          "frees of blocks from before the recording");
    else if (started_by && strcmp(started_by, "fork") == 0)
        facts_add_counted(out, count, "free of a block that its parent allocated before the fork",
                          "frees of blocks that its parent allocated before the fork");
    else
        facts_add_counted(out, count, "free of a block whose allocation was not seen",
                          "frees of blocks whose allocations were not seen");
}

static void facts_add_job(struct strbuf *out, const struct profile *profile)
{
    if (!profile_is_job(profile))
        return;
    strbuf_addf(out,
                "a job: figures are the sums of %llu ranks, at the peak each at its own "
                "moment (tidemark job shows them one by one)\n",
                (unsigned long long)facts_number(profile, PROFILE_META_JOB_RANKS));
    facts_add_counted(
        out, facts_number(profile, PROFILE_META_JOB_UNDATED),
        "process does not say when it began: what it held is not in the timeline",
        "processes do not say when they began: what they held is not in the timeline");
}

void facts_add_warnings(struct strbuf *out, const struct profile *profile)
{
    facts_add_job(out, profile);
    facts_add_attachment(out, profile);
    facts_add_losses(out, profile);
    facts_add_foreign_frees(out, profile);
    if (profile_get(profile, PROFILE_META_SAMPLE_WHY))
        strbuf_add_string(out, "recording went on by samples: what was not drawn from then on is "
                               "in the figures as an estimate only\n");
    unwalked_add_sentence(out, profile);
    facts_add_counted(
        out, facts_number(profile, PROFILE_META_UNSEEN_CONSTRUCTORS),
        "module was loaded with RTLD_DEEPBIND: what its constructors allocated is not seen",
        "modules were loaded with RTLD_DEEPBIND: what their constructors allocated is not seen");
    facts_add_native_scripts(out, profile);
    facts_add_scripts_of_pages(out, profile);
    facts_add_unfollowed(out, profile);
    /* enum symbols_quality: 0 no file, 1 changed since, 2 exported names only, 5 not unpacked */
    facts_add_modules(out, profile, 1, "changed since the recording, so without names");
    facts_add_modules(out, profile, 0, "file not found or not ELF, so without names");
    facts_add_modules(out, profile, 5,
                      "debug information that would take more memory than a file of its size may "
                      "was not unpacked, so some names and lines are missing "
                      "(TIDEMARK_READ_MEMORY=BYTES allows more)");
}

bool facts_allocator_is_libc(const struct profile *profile)
{
    static const char *const others[] = {"libjemalloc", "libtcmalloc",    "libmimalloc",
                                         "libsnmalloc", "libhoard",       "librpmalloc",
                                         "libbfm",      "libtidemark-bfm"};
    for (size_t i = 0; i < profile->module_count; i++)
        for (size_t j = 0; j < sizeof others / sizeof *others; j++)
            if (!strncmp(name_base(profile->modules[i].path), others[j], strlen(others[j])))
                return false;
    return true;
}

const struct profile_sample *facts_owners_sample(const struct profile *profile)
{
    size_t first, count;
    return profile_owners_sample(profile, &first, &count);
}

/* ---- What pages hold ------------------------------------------------------------------------- */

/* Do the owners of this sample say what their pages hold? profile->owners is sorted by sample:
 * `*at` is an index that moves behind those of this sample. */
static bool facts_has_content(const struct profile *profile, uint32_t sample, size_t *at)
{
    bool has = false;
    while (*at < profile->owner_count && profile->owners[*at].sample < sample)
        (*at)++;
    for (; *at < profile->owner_count && profile->owners[*at].sample == sample; (*at)++)
        has |= figure_positive(profile->owners[*at].resident_bytes) &&
               figure_known(profile->owners[*at].copy_bytes);
    return has;
}

const struct profile_sample *facts_content_sample(const struct profile *profile)
{
    const struct profile_sample *largest = NULL, *last = NULL;
    for (size_t i = 0, owner = 0; i < profile->sample_count; i++) {
        const struct profile_sample *sample = &profile->samples[i];
        if (!facts_has_content(profile, sample->id, &owner))
            continue;
        last = sample;
        if (!largest || figure_less(largest->resident_bytes, sample->resident_bytes))
            largest = sample;
    }
    return last && last->why == PROFILE_SAMPLE_MARK ? last : largest;
}

/* ---- What is lost ---------------------------------------------------------------------------- */

const char *facts_moment(const struct profile_sample *sample)
{
    return sample->why == PROFILE_SAMPLE_MARK ? "snapshot" : profile_sample_name(sample);
}

const struct profile_sample *facts_graph_sample(const struct profile *profile)
{
    for (size_t i = profile->sample_count; i-- > 0;)
        if (figure_known(profile->samples[i].lost_count))
            return &profile->samples[i];
    return NULL;
}

void facts_add_lost(struct strbuf *out, const struct profile *profile)
{
    const struct profile_sample *sample = facts_graph_sample(profile);
    if (!sample || (sample->why != PROFILE_SAMPLE_END && sample->why != PROFILE_SAMPLE_BEFORE_END))
        return;
    struct figure bytes = figure_add(sample->lost_bytes, sample->indirect_bytes);
    struct figure count = figure_add(sample->lost_count, sample->indirect_count);
    if (figure_zero(count))
        strbuf_add_string(out, ", none lost");
    else if (figure_known(count))
        strbuf_addf(out, ", of them lost %s in %s", figure_human_bytes(bytes).text,
                    figure_human_exact(count).text);
}

const struct profile_island *facts_islands(const struct profile *profile, size_t *count)
{
    const struct profile_sample *sample = facts_graph_sample(profile);
    size_t first = 0, end;
    *count = 0;
    if (!sample)
        return NULL;
    while (first < profile->island_count && profile->islands[first].sample != sample->id)
        first++;
    for (end = first; end < profile->island_count && profile->islands[end].sample == sample->id;)
        end++;
    *count = end - first;
    return profile->islands + first;
}
