/* See facts.h. */
#include "present/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/human.h"
#include "base/text.h"
#include "present/names.h"

uint64_t facts_number(const struct profile *profile, const char *key)
{
    const char *value = profile_get(profile, key);
    long long number = value ? strtoll(value, NULL, 10) : 0;
    return number > 0 ? (uint64_t)number : 0;
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

static bool ended_by(const struct profile *profile, const char *kind)
{
    const char *end = profile_get(profile, PROFILE_META_END);
    return end && !strcmp(end, kind);
}

bool facts_ended_well(const struct profile *profile)
{
    return profile->complete &&
           ((ended_by(profile, "exit") && !facts_number(profile, PROFILE_META_END_STATUS)) ||
            ended_by(profile, "exec"));
}

/* Of a job: how many of its ranks did not end as they should have. */
static void add_end_of_job(struct strbuf *out, const struct profile *profile)
{
    size_t bad = 0;
    for (size_t i = 0; i < profile->rank_count; i++)
        bad += !profile->ranks[i].beside && strcmp(profile->ranks[i].state, "complete") != 0;
    uint64_t missing = facts_number(profile, PROFILE_META_JOB_MISSING);
    if (!bad && !missing)
        strbuf_add_string(out, "all ranks ended well");
    if (bad)
        strbuf_addf(out, "%zu rank%s died or %s not read whole", bad, bad == 1 ? "" : "s",
                    bad == 1 ? "was" : "were");
    if (missing)
        strbuf_addf(out, "%s%llu left nothing", bad ? ", " : "", (unsigned long long)missing);
}

bool facts_is_job(const struct profile *profile)
{
    return facts_number(profile, PROFILE_META_JOB_RANKS) > 0;
}

void facts_add_end(struct strbuf *out, const struct profile *profile)
{
    if (facts_is_job(profile)) {
        add_end_of_job(out, profile);
        return;
    }
    unsigned status = (unsigned)facts_number(profile, PROFILE_META_END_STATUS);
    const char *name = ended_by(profile, "signal") ? sigabbrev_np((int)status) : NULL;
    if (profile->being_written)
        strbuf_add_string(out, "still being recorded");
    else if (!profile->complete)
        strbuf_add_string(out, "recording was cut short: how the program ended is not known");
    else if (ended_by(profile, "exit"))
        strbuf_addf(out, "exit status %u", status);
    else if (ended_by(profile, "signal") && name)
        strbuf_addf(out, "killed by SIG%s", name);
    else if (ended_by(profile, "signal"))
        strbuf_addf(out, "killed by signal %u", status);
    else if (ended_by(profile, "exec"))
        strbuf_add_string(out, "replaced by another program (exec)");
    else if (ended_by(profile, "detached"))
        strbuf_add_string(out, "ran on when recording ended");
    else
        strbuf_add_string(out, "nobody saw how it ended");
}

bool facts_resident_peak(const struct profile *profile, uint64_t *bytes)
{
    bool sampled = false;
    *bytes = 0;
    for (size_t i = 0; i < profile->bucket_count; i++) {
        struct timeline_level level = profile->buckets[i].physical;
        if (level.min > level.max)
            continue;
        sampled = true;
        if (level.max > *bytes)
            *bytes = level.max;
    }
    return sampled;
}

/* ---- Warnings ------------------------------------------------------------------------------ */

static void add_counted(struct strbuf *out, uint64_t count, const char *one, const char *many)
{
    if (count)
        strbuf_addf(out, "%s %s\n", human_exact(count).text, count == 1 ? one : many);
}

static void add_sentence(struct strbuf *out, const struct profile *profile, const char *key)
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

const char *facts_imported_from(const struct profile *profile)
{
    static const char *const tools[] = {"heaptrack", "massif", "dhat", "pprof", "jemalloc"};
    const char *tool = profile_get(profile, PROFILE_META_IMPORTED);
    for (size_t i = 0; tool && i < sizeof tools / sizeof *tools; i++)
        if (!strcmp(tool, tools[i]))
            return tools[i];
    return tool ? "another tool" : NULL;
}

const char *facts_of_what_is_left(const struct profile *profile)
{
    return !profile->complete                                 ? "alive now"
           : profile_get(profile, PROFILE_META_WINDOW_FROM) ? "left at end"
                                                              : "never freed";
}

void facts_add_losses(struct strbuf *out, const struct profile *profile)
{
    const struct program_metrics *program = &profile->program;
    if (profile->damage) {
        strbuf_add_string(out, "the profile is damaged: ");
        text_add_safe_string(out, profile->damage);
        strbuf_add_string(out, "; figures below are incomplete\n");
    }
    add_sentence(out, profile, PROFILE_META_MISSING);
    add_sentence(out, profile, PROFILE_META_NAMED_LATER);
    add_sentence(out, profile, PROFILE_META_IMPORT_NOTE);
    add_counted(out, program->lost_events, "event was not recorded: counts are lower bounds",
                "events were not recorded: counts are lower bounds");
    add_counted(out, program->late_events, "event came too late for its place in time",
                "events came too late for their place in time");
    add_counted(out, program->replaced_blocks,
                "block was allocated where one was still alive: a free was not seen",
                "blocks were allocated where one was still alive: frees were not seen");
    add_counted(out, program->malformed_events, "record made no sense and was skipped",
                "records made no sense and were skipped");
    add_counted(out, facts_number(profile, PROFILE_META_DAMAGED),
                "thread's events were overwritten by the program",
                "threads' events were overwritten by the program");
    add_counted(out, facts_number(profile, PROFILE_META_UNATTRIBUTED),
                "event has no call path (no memory for it)",
                "events have no call path (no memory for it)");
}

static void add_modules(struct strbuf *out, const struct profile *profile, int quality,
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

static void add_attachment(struct strbuf *out, const struct profile *profile)
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

void facts_add_warnings(struct strbuf *out, const struct profile *profile)
{
    if (facts_is_job(profile))
        strbuf_addf(out,
                    "a job: figures are the sums of %llu ranks, at the peak each at its own "
                    "moment (tidemark job shows them one by one)\n",
                    (unsigned long long)facts_number(profile, PROFILE_META_JOB_RANKS));
    add_attachment(out, profile);
    facts_add_losses(out, profile);
    add_counted(out, profile->program.foreign_frees,
                "free of a block from before the recording (or from the parent of a fork)",
                "frees of blocks from before the recording (or from the parent of a fork)");
    add_counted(out, facts_number(profile, PROFILE_META_UNWALKABLE),
                "call path could not be walked to its end",
                "call paths could not be walked to their ends");
    /* enum symbols_quality: 0 no file, 1 changed since, 2 exported names only */
    add_modules(out, profile, 1, "changed since the recording, so without names");
    add_modules(out, profile, 0, "file not found or not ELF, so without names");
}

bool facts_allocator_is_libc(const struct profile *profile)
{
    static const char *const others[] = {"libjemalloc", "libtcmalloc", "libmimalloc",
                                         "libsnmalloc", "libhoard",    "librpmalloc"};
    for (size_t i = 0; i < profile->module_count; i++)
        for (size_t j = 0; j < sizeof others / sizeof *others; j++)
            if (!strncmp(name_base(profile->modules[i].path), others[j], strlen(others[j])))
                return false;
    return true;
}
