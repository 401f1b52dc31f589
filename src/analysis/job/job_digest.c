/* Makes the digest of one rank from its profile (job_digest.h). The timeline is resampled to
 * JOB_STEPS shares of the peak. Bytes are summed by function and by library in one pass over the
 * call paths, MPI libraries apart. */
#include "job/job_digest.h"

#include <stdlib.h>
#include <string.h>
#include "base/memory.h"
#include "base/strbuf.h"
#include "job/job_owners.h"
#include "job/mpi_library.h"
#include "aggregate/machine_moments.h"
#include "aggregate/facts.h"
#include "aggregate/frames.h"
#include "format/names.h"
#include "aggregate/functions.h"

/* ---- Who it is ----------------------------------------------------------------------------- */

static struct job_rank job_digest_begin(const struct job_source *source)
{
    struct job_rank rank = {
        .rank = source->rank_known ? source->rank : source->place,
        .rank_known = source->rank_known,
        .place = source->place,
        .size = source->size,
        .is_helper = source->is_helper,
        .node = memory_copy_string(source->node),
        .boot = memory_copy_string(source->boot),
        .file = memory_copy_string(source->file),
    };
    return rank;
}

void job_digest_of_none(struct job_summary *digest, const struct job_source *source,
                        enum job_state state, const char *why)
{
    struct job_rank rank = job_digest_begin(source);
    rank.state = state;
    rank.note = memory_copy_string(why);
    job_summary_add_rank(digest, &rank);
}

static uint64_t job_digest_at_most(uint64_t value, uint64_t limit)
{
    return value < limit ? value : limit;
}

static uint32_t job_digest_small_fact(const struct profile *profile, const char *key)
{
    return (uint32_t)job_digest_at_most(facts_number(profile, key), UINT32_MAX);
}

static void job_digest_take_identity(struct job_rank *rank, const struct profile *profile)
{
    const char *number = profile_get(profile, PROFILE_META_RANK);
    const char *host = profile_get(profile, PROFILE_META_HOST);
    if (number && !rank->rank_known) {
        rank->rank = job_digest_small_fact(profile, PROFILE_META_RANK);
        rank->rank_known = true;
    }
    if (!rank->node)
        rank->node = memory_copy_string(host);
    if (!rank->boot)
        rank->boot = memory_copy_string(profile_get(profile, PROFILE_META_BOOT));
    rank->pid = job_digest_small_fact(profile, PROFILE_META_PID);
    if (!rank->size)
        rank->size = job_digest_small_fact(profile, PROFILE_META_RANKS);
    rank->start_unix_ns = job_digest_at_most(facts_number(profile, PROFILE_META_START), INT64_MAX);
    rank->duration_ns = job_digest_at_most(facts_number(profile, PROFILE_META_DURATION), INT64_MAX);
    rank->sample_bytes = profile->sample_bytes;
}

/* Of one that did not die. In the place of one that executed another program, that one goes on. */
static bool job_digest_ended_well(const struct profile *profile, const char *end)
{
    return !strcmp(end, "exec") ||
           (!strcmp(end, "exit") && profile_get(profile, PROFILE_META_END_STATUS));
}

static void job_digest_take_state(struct job_rank *rank, const struct profile *profile)
{
    const char *end = profile_get(profile, PROFILE_META_END);
    uint32_t status = job_digest_small_fact(profile, PROFILE_META_END_STATUS);
    if (profile->damage || !profile->has_program) {
        rank->state = profile->being_written ? JOB_BEGUN : JOB_DAMAGED;
        rank->note = memory_copy_string(profile->damage ? profile->damage
                                                        : "nothing had been committed to it yet");
    } else if (profile->being_written) {
        rank->state = JOB_RUNNING;
    } else if (!profile->complete || !end || !strcmp(end, "unknown")) {
        rank->state = JOB_CUT;
    } else if (!strcmp(end, "signal")) {
        rank->state = JOB_DIED;
        rank->signal = status;
    } else if (status && !strcmp(end, "exit")) {
        rank->state = JOB_DIED;
        rank->status = status;
    } else if (!job_digest_ended_well(profile, end)) {
        rank->state = JOB_LEFT;
    }
}

/* ---- Over time ----------------------------------------------------------------------------- */

static uint64_t job_digest_higher(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The buckets that step `step` touches: first and one past the last. */
static void job_digest_find_buckets(const struct profile *profile, uint64_t duration_ns, int step,
                                    size_t *first, size_t *past)
{
    job_u128 begin = (job_u128)duration_ns * (unsigned)step;
    job_u128 end = (job_u128)duration_ns * (unsigned)(step + 1);
    job_u128 width = (job_u128)profile->bucket_ns * JOB_STEPS;
    *first = (size_t)job_digest_at_most((uint64_t)(begin / width), profile->bucket_count);
    *past =
        (size_t)job_digest_at_most((uint64_t)((end + width - 1) / width), profile->bucket_count);
}

/* The extremes of a level in the buckets of a step; where none was sampled, what was last. */
struct job_digest_span {
    uint64_t min, max;
    bool is_known;
};
static struct job_digest_span job_digest_span_of(const struct profile *profile, size_t offset,
                                                 size_t first, size_t past,
                                                 struct job_digest_span before)
{
    struct timeline_level all = {FIGURE_UNKNOWN, FIGURE_UNKNOWN};
    for (size_t i = first; i < past; i++) {
        struct timeline_level level;
        memcpy(&level, (const char *)&profile->buckets[i] + offset, sizeof level);
        all.min = figure_min(all.min, level.min);
        all.max = figure_max(all.max, level.max);
    }
    struct job_digest_span span = {.is_known = true};
    return figure_get(all.min, &span.min) && figure_get(all.max, &span.max) ? span : before;
}

void job_resample(struct job_rank *rank, const struct profile *profile)
{
    uint64_t peak = figure_or(rank->peak_bytes, 0);
    uint64_t resident_peak = figure_or(rank->resident_peak_bytes, 0);
    struct job_digest_span requested = {0, peak, false}, resident = {0, 0, false};
    uint64_t run_ns = job_digest_higher(rank->duration_ns, 1);
    for (int i = 0; i < JOB_STEPS; i++) {
        size_t first = 0, past = 0;
        if (profile->bucket_ns)
            job_digest_find_buckets(profile, run_ns, i, &first, &past);
        requested = job_digest_span_of(profile, offsetof(struct timeline_bucket, requested), first,
                                       past, requested);
        resident = job_digest_span_of(profile, offsetof(struct timeline_bucket, physical), first,
                                      past, resident);
        rank->requested_max[i] = job_share_above(requested.max, peak);
        rank->requested_min[i] = job_share_below(requested.min, peak);
        rank->resident_max[i] =
            resident.is_known ? job_share_above(resident.max, resident_peak) : JOB_NO_SHARE;
    }
}

static void job_digest_take_node(struct job_rank *rank, const struct profile *profile)
{
    struct figure machine = FIGURE_UNKNOWN, limit = FIGURE_UNKNOWN, peak = FIGURE_UNKNOWN;
    for (size_t i = 0; i < profile->sample_count; i++) {
        const struct profile_sample *sample = &profile->samples[i];
        machine = figure_min(machine, sample->machine_bytes);
        limit = figure_min(limit, sample->cgroup_limit_bytes);
        peak = figure_max(peak, sample->cgroup_peak_bytes);
    }
    rank->machine_bytes = machine;
    rank->limit_bytes = limit;
    rank->cgroup_peak_bytes = peak;
    const struct profile_machine_moment *least = machine_moments_least(profile);
    rank->available_bytes = least ? least->available_bytes : FIGURE_UNKNOWN;
    rank->available_unix_ns = least && rank->start_unix_ns
                                  ? figure_of(rank->start_unix_ns + least->time_ns)
                                  : FIGURE_UNKNOWN;
}

static void job_digest_take_unseen(struct job_rank *rank, const struct profile *profile)
{
    struct strbuf lines = STRBUF_INIT;
    facts_add_unseen_lines(&lines, profile);
    rank->unseen = lines.length ? memory_copy_string(lines.data) : NULL;
    strbuf_release(&lines);
}

static void job_digest_take_figures(struct job_rank *rank, const struct profile *profile)
{
    const struct program_metrics *program = &profile->program;
    rank->peak_bytes = program->total.peak_bytes;
    rank->peak_ns = program->total.peak_ticks;
    if (figure_less(figure_of(INT64_MAX), rank->peak_ns))
        rank->peak_ns = figure_of(INT64_MAX);
    rank->live_bytes = program->total.live_bytes;
    rank->live_count = program->total.live_count;
    rank->alloc_bytes = call_metrics_bytes(&program->total);
    rank->alloc_count = call_metrics_blocks(&program->total);
    rank->events = program->events;
    rank->lost_events = program->lost_events;
    rank->unattributed = facts_number(profile, PROFILE_META_UNATTRIBUTED);
    job_digest_take_unseen(rank, profile);
    rank->resident_peak_bytes = facts_resident_peak(profile);
    rank->owned_bytes = rank->mpi_peak_bytes = FIGURE_UNKNOWN;
    job_digest_take_node(rank, profile);
}

/* ---- Who holds it -------------------------------------------------------------------------- */

struct job_digest_taking {
    struct job_summary *digest;
    const struct profile *profile;
    bool *hidden;           /* by line */
    bool *is_mpi;           /* by module */
    bool *under_mpi;        /* by node: MPI is on the path */
    uint32_t *entry;        /* by line: the function's + 1 */
    uint32_t *through;      /* by line: that of the wrapper that was said last, + 1 */
    uint32_t (*library)[2]; /* by module, the last: none. Entry + 1, outside MPI and in it */
    uint64_t (*bytes)[JOB_FIGURES]; /* by entry of the digest */
    size_t byte_capacity;
    bool makes_no_sense;
};

static const char *job_digest_module_name(const struct profile *profile, uint32_t code)
{
    uint32_t module = profile->codes[code].module;
    return module == UINT32_MAX ? "" : name_base(profile->modules[module].path);
}

static void job_digest_mark_mpi(struct job_digest_taking *taking)
{
    const struct profile *profile = taking->profile;
    taking->is_mpi = memory_resize(NULL, profile->module_count, sizeof(bool));
    taking->under_mpi = memory_resize(NULL, profile->node_count, sizeof(bool));
    for (size_t i = 0; i < profile->module_count; i++)
        taking->is_mpi[i] = mpi_library_is_mpi(name_base(profile->modules[i].path));
    for (size_t i = 0; i < profile->node_count; i++) {
        uint32_t module = profile->codes[profile->nodes[i].location].module;
        taking->under_mpi[i] = (module != UINT32_MAX && taking->is_mpi[module]) ||
                               (i && taking->under_mpi[profile->nodes[i].parent]);
    }
}

static const char *job_digest_function_name(const struct profile *profile, struct frame frame)
{
    uint32_t index;
    switch (function_key_kind(profile, function_key(profile, frame.code, frame.line), &index)) {
    case FUNCTION_KEY_FUNCTION:
        return profile->functions[index].name;
    case FUNCTION_KEY_UNWALKABLE:
        return "[the stack could not be walked further]";
    case FUNCTION_KEY_CUT:
        return "[deeper than --max-depth]";
    case FUNCTION_KEY_NO_PATH:
        return "[no call path]";
    default:
        return "";
    }
}

/* Of each path: one function may ask through a wrapper here and without it there. */
static void job_digest_say_through(struct job_digest_taking *taking, uint32_t entry,
                                   struct frame frame)
{
    if (taking->through[frame.line] == frame.through + 1)
        return;
    taking->through[frame.line] = frame.through + 1;
    struct strbuf name = STRBUF_INIT;
    frame_add_through(&name, taking->profile, frame);
    job_summary_through(&taking->digest->entries[entry], name.length ? name.data : "");
    strbuf_release(&name);
}

static uint32_t job_digest_function_entry(struct job_digest_taking *taking, struct frame frame)
{
    uint32_t *entry = &taking->entry[frame.line];
    if (!*entry)
        *entry = job_summary_entry(taking->digest, JOB_FUNCTION,
                                   job_digest_function_name(taking->profile, frame),
                                   job_digest_module_name(taking->profile, frame.code)) +
                 1;
    job_digest_say_through(taking, *entry - 1, frame);
    return *entry - 1;
}

static uint32_t job_digest_library_entry(struct job_digest_taking *taking, struct frame frame,
                                         bool is_of_mpi)
{
    const struct profile *profile = taking->profile;
    uint32_t module = profile->codes[frame.code].module;
    uint32_t *entry =
        &taking->library[module == UINT32_MAX ? profile->module_count : module][is_of_mpi];
    if (!*entry)
        *entry = job_summary_entry(taking->digest, is_of_mpi ? JOB_LIBRARY_MPI : JOB_LIBRARY, "",
                                   job_digest_module_name(profile, frame.code)) +
                 1;
    return *entry - 1;
}

/* Adds the figures of a path or an owner to an entry. A sum above JOB_FIGURE_MAX makes no sense. An
 * unknown figure adds nothing: job_summary_knows() says whether there was one. */
static void job_digest_add_to(struct job_digest_taking *taking, uint32_t entry,
                              const struct figure figures[JOB_FIGURES])
{
    if (entry >= taking->byte_capacity) {
        size_t more = (entry + 16) * 2;
        taking->bytes = memory_resize(taking->bytes, more, sizeof *taking->bytes);
        memset(taking->bytes + taking->byte_capacity, 0,
               (more - taking->byte_capacity) * sizeof *taking->bytes);
        taking->byte_capacity = more;
    }
    for (int i = 0; i < JOB_FIGURES; i++) {
        uint64_t *bytes = &taking->bytes[entry][i], more = figure_or(figures[i], 0);
        if (more > JOB_FIGURE_MAX || *bytes + more > JOB_FIGURE_MAX)
            taking->makes_no_sense = true;
        else
            *bytes += more;
    }
}

static void job_digest_take_site(struct job_digest_taking *taking, struct job_rank *rank,
                                 const struct profile_site *site)
{
    const struct call_metrics *metrics = &site->metrics;
    struct figure figures[JOB_FIGURES] = {metrics->at_peak_bytes, metrics->live_bytes,
                                          call_metrics_bytes(metrics)};
    struct frame_walk walk;
    if (!figure_positive(figures[0]) && !figure_positive(figures[1]) &&
        !figure_positive(figures[2]))
        return;
    struct frame frame = frame_walk_begin(&walk, taking->profile, taking->hidden, site->path);
    bool is_of_mpi = taking->under_mpi[site->path];
    job_digest_add_to(taking, job_digest_function_entry(taking, frame), figures);
    job_digest_add_to(taking, job_digest_library_entry(taking, frame, is_of_mpi), figures);
    if (is_of_mpi)
        rank->mpi_peak_bytes = figure_add(rank->mpi_peak_bytes, metrics->at_peak_bytes);
}

/* An owner of resident memory in the rank's look: by the frame that its call path is listed under,
 * or by its name. */
static void job_digest_take_owner(struct job_digest_taking *taking,
                                  const struct profile_owner *owner)
{
    const struct profile *profile = taking->profile;
    const char *name = owner->name, *module = owner->module;
    struct figure figures[JOB_FIGURES] = {owner->resident_bytes};
    struct frame_walk walk;
    if (!figure_positive(owner->resident_bytes))
        return;
    bool by_path = profile_owner_is_by_path(owner);
    if (by_path) {
        struct frame frame = frame_walk_begin(&walk, profile, taking->hidden, owner->path);
        name = job_digest_function_name(profile, frame);
        module = job_digest_module_name(profile, frame.code);
    }
    enum job_kind kind = (enum job_kind)(JOB_OWNER + 2 * owner->kind + by_path);
    uint32_t entry =
        job_summary_entry(taking->digest, kind, name ? name : "", module ? name_base(module) : "");
    job_digest_add_to(taking, entry, figures);
}

static void job_digest_take_owners(struct job_digest_taking *taking, struct job_rank *rank)
{
    size_t count;
    const struct profile_owner *owners = job_owners_of(taking->profile, &count);
    if (!owners)
        return;
    rank->owned_bytes = figure_of(0);
    for (size_t i = 0; i < count; i++) {
        rank->owned_bytes = figure_add(rank->owned_bytes, owners[i].resident_bytes);
        job_digest_take_owner(taking, &owners[i]);
    }
}

void job_digest_settle(struct job_summary *digest, const struct job_rank *rank,
                       uint64_t (*bytes)[JOB_FIGURES])
{
    uint64_t peak = 0;
    bool has_peak = figure_get(rank->peak_bytes, &peak);
    for (int which = 0; which < JOB_ENDS && has_peak; which++) {
        struct job_end *end = &digest->ends[which];
        *end = (struct job_end){true, rank->rank, rank->place, peak, NULL, digest->entry_count};
        end->shares = memory_resize(NULL, digest->entry_count, sizeof *end->shares);
        for (size_t i = 0; i < digest->entry_count; i++) {
            end->shares[i].entry = (uint32_t)i;
            memcpy(end->shares[i].bytes, bytes[i], sizeof end->shares[i].bytes);
        }
    }
    for (size_t i = 0; i < digest->entry_count; i++)
        for (int figure = 0; figure < JOB_FIGURES; figure++)
            job_sum_add(&digest->entries[i].of[figure], bytes[i][figure], rank->rank);
}

static void job_digest_take_entries(struct job_summary *digest, struct job_rank *rank,
                                    const struct profile *profile)
{
    struct job_digest_taking taking = {.digest = digest, .profile = profile};
    taking.hidden = memory_need(frames_of_libraries(profile));
    taking.entry = memory_need(calloc(profile->line_count + 1, sizeof *taking.entry));
    taking.through = memory_need(calloc(profile->line_count + 1, sizeof *taking.through));
    taking.library = memory_need(calloc(profile->module_count + 1, sizeof *taking.library));
    job_digest_mark_mpi(&taking);
    rank->mpi_peak_bytes = figure_of(0);
    struct profile_site room;
    for (size_t i = 0; i < profile->site_count; i++)
        job_digest_take_site(&taking, rank, profile_site_at(profile, i, &room));
    job_digest_take_owners(&taking, rank);
    if (taking.makes_no_sense) {
        job_summary_release(digest);
        rank->state = JOB_DAMAGED;
        rank->note = memory_copy_string("its figures make no sense");
    } else {
        job_digest_settle(digest, rank, taking.bytes);
    }
    free(taking.hidden);
    free(taking.entry);
    free(taking.through);
    free(taking.library);
    free(taking.is_mpi);
    free(taking.under_mpi);
    free(taking.bytes);
}

static void job_digest_take_facts(struct job_summary *digest, const struct profile *profile)
{
    digest->program = memory_copy_string(profile_get(profile, PROFILE_META_PROGRAM));
    digest->command = memory_copy_string(profile_get(profile, PROFILE_META_COMMAND));
    digest->launcher = memory_copy_string(profile_get(profile, PROFILE_META_LAUNCHER));
    digest->tool = memory_copy_string(profile_get(profile, PROFILE_META_TOOL));
}

/* Each rank has a stack of main()'s. They are one row of the job, whatever their threads' ids. */
static void job_digest_forget_threads(struct profile *profile)
{
    for (size_t i = 0; i < profile->owner_count; i++)
        profile->owners[i].thread = FIGURE_UNKNOWN;
}

int job_digest_take_level(struct profile *profile, enum memory_level level)
{
    if (level == MEMORY_HEAP)
        return 0;
    job_digest_forget_threads(profile);
    return profile_take_level(profile, level);
}

static bool job_digest_is_absurd(struct figure bytes)
{
    return figure_or(bytes, 0) > JOB_FIGURE_MAX;
}

void job_digest(struct job_summary *digest, const struct profile *profile,
                const struct job_source *source)
{
    struct job_rank rank = job_digest_begin(source);
    job_digest_take_identity(&rank, profile);
    job_digest_take_state(&rank, profile);
    if (job_rank_is_read(&rank) && (job_digest_is_absurd(profile->program.total.peak_bytes) ||
                                    job_digest_is_absurd(profile->program.total.live_bytes))) {
        rank.state = JOB_DAMAGED;
        rank.note = memory_copy_string("its figures make no sense");
    }
    if (job_rank_is_read(&rank)) {
        job_digest_take_figures(&rank, profile);
        job_resample(&rank, profile);
    }
    if (job_rank_counts(&rank))
        job_digest_take_entries(digest, &rank, profile);
    job_digest_take_facts(digest, profile);
    job_summary_add_rank(digest, &rank);
}
