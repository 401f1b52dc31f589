/* Writes the profile of a whole job (job_profile.h): the merged tree, totals and one row for each
 * rank. doc/FORMAT-profile.md, "A job", says what a sum over ranks means. */
#include "job/job_profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/memory.h"
#include "base/strbuf.h"

enum { COURSE_BUCKETS = 1024 };

/* ---- Meta ---------------------------------------------------------------------------------- */

static int job_profile_put_text(struct profile_writer *writer, const char *key, const char *value)
{
    return value ? profile_put_text(writer, key, value) : 0;
}

/* The boot ID, where all ranks ran on one machine without a restart between them; else NULL. */
static const char *job_profile_boot(const struct job *job)
{
    const char *boot = job->summary.rank_count ? job->summary.ranks[0].boot : NULL;
    for (size_t i = 0; i < job->summary.rank_count && boot; i++)
        if (!job->summary.ranks[i].boot || strcmp(boot, job->summary.ranks[i].boot))
            boot = NULL;
    return boot;
}

static int job_profile_put_facts(struct profile_writer *writer, const struct job *job,
                                 const struct job_course *course)
{
    const struct job_summary *summary = &job->summary;
    const struct {
        const char *key, *value;
    } texts[] = {
        {PROFILE_META_PROGRAM, summary->program},      {PROFILE_META_COMMAND, summary->command},
        {PROFILE_META_LAUNCHER, summary->launcher},    {PROFILE_META_TOOL, summary->tool},
        {PROFILE_META_JOB, *job->id ? job->id : NULL}, {PROFILE_META_BOOT, job_profile_boot(job)},
    };
    const struct {
        const char *key;
        uint64_t value;
    } numbers[] = {
        {PROFILE_META_RANKS, job->size},
        {PROFILE_META_JOB_RANKS, job->ranks},
        {PROFILE_META_JOB_MISSING, job->missing},
        {PROFILE_META_JOB_LEFT_OUT, job->left_out},
        {"job_steps", JOB_STEPS},
    };
    const struct { /* 0: not known, or none; not written */
        const char *key;
        struct figure value;
    } times[] = {
        {PROFILE_META_START, job_known(course->start_unix_ns)},
        {PROFILE_META_DURATION, job_known(course->duration_ns)},
        {PROFILE_META_JOB_UNDATED, job_known(course->undated)},
    };
    int error = job->level == MEMORY_HEAP
                    ? 0
                    : profile_put_text(writer, PROFILE_META_LEVEL, memory_level_name(job->level));
    for (size_t i = 0; i < sizeof texts / sizeof *texts && !error; i++)
        error = job_profile_put_text(writer, texts[i].key, texts[i].value);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && !error; i++)
        error = profile_put_integer(writer, numbers[i].key, (int64_t)numbers[i].value);
    for (size_t i = 0; i < sizeof times / sizeof *times && !error; i++)
        if (figure_known(times[i].value))
            error =
                profile_put_integer(writer, times[i].key, (int64_t)figure_or(times[i].value, 0));
    return error;
}

static bool job_profile_has_line(const char *lines, const char *line, size_t length)
{
    while (strcspn(lines, "\n") != length || strncmp(lines, line, length)) {
        lines += strcspn(lines, "\n");
        if (!*lines++)
            return false;
    }
    return true;
}

/* Each line once. */
static void job_profile_add_lines(struct strbuf *all, const char *lines)
{
    for (size_t length; *lines; lines += length + (lines[length] == '\n')) {
        length = strcspn(lines, "\n");
        if (!all->length || !job_profile_has_line(all->data, lines, length))
            strbuf_addf(all, "%s%.*s", all->length ? "\n" : "", (int)length, lines);
    }
}

/* What its ranks lack. */
static int job_profile_put_unseen(struct profile_writer *writer, const struct job *job)
{
    struct strbuf unseen = STRBUF_INIT;
    uint64_t unattributed = 0;
    for (size_t i = 0; i < job->summary.rank_count; i++) {
        const struct job_rank *rank = &job->summary.ranks[i];
        if (!rank->is_helper && rank->unseen)
            job_profile_add_lines(&unseen, rank->unseen);
        unattributed += rank->is_helper ? 0 : rank->unattributed;
    }
    int error = unseen.length ? profile_put_text(writer, PROFILE_META_UNSEEN, unseen.data) : 0;
    if (!error && unattributed)
        error = profile_put_integer(writer, PROFILE_META_UNATTRIBUTED, (int64_t)unattributed);
    strbuf_release(&unseen);
    return error;
}

/* How the job ended: as its worst rank, which is not known where ranks are missing. Also sampling,
 * which makes its sums estimates. */
static int job_profile_put_end(struct profile_writer *writer, const struct job *job)
{
    uint64_t sample_bytes = 0;
    uint32_t signal = 0, status = 0;
    bool is_known = !job->missing;
    for (size_t i = 0; i < job->summary.rank_count; i++) {
        const struct job_rank *rank = &job->summary.ranks[i];
        if (rank->is_helper)
            continue;
        sample_bytes = rank->sample_bytes > sample_bytes ? rank->sample_bytes : sample_bytes;
        signal = signal ? signal : rank->signal;
        status = status ? status : rank->status;
        is_known &= rank->state <= JOB_DIED;
    }
    const char *end = signal ? "signal" : status || is_known ? "exit" : "unknown";
    int error = profile_put_text(writer, PROFILE_META_END, end);
    if (!error && strcmp(end, "unknown"))
        error = profile_put_integer(writer, PROFILE_META_END_STATUS, signal ? signal : status);
    if (!error && sample_bytes)
        error = profile_put_integer(writer, PROFILE_META_SAMPLE, (int64_t)sample_bytes);
    return error;
}

/* ---- The call tree ------------------------------------------------------------------------- */

static int job_profile_put_modules(struct profile_writer *writer, const struct job_tree *tree)
{
    int error = 0;
    for (size_t i = 0; i < tree->module_count && !error; i++) {
        const struct job_module *module = &tree->modules[i];
        struct profile_module row = {.id = (int64_t)i,
                                     .path = module->path,
                                     .build_id = module->build_id,
                                     .build_id_bytes = module->build_id_bytes,
                                     .quality = module->quality};
        error = profile_put_module(writer, &row);
    }
    return error;
}

static int job_profile_put_locations(struct profile_writer *writer, const struct job_tree *tree)
{
    int error = 0;
    for (size_t i = 0; i < tree->location_count && !error; i++) {
        const struct job_location *location = &tree->locations[i];
        struct profile_location row = {
            .id = (int64_t)i + 1,
            .module_id = location->module == UINT32_MAX ? -1 : (int64_t)location->module,
            .address = location->address == UINT64_MAX ? 0 : location->address,
            .mark = location->mark,
        };
        struct profile_frame *frames = job_tree_frames(location, &row.frame_count);
        row.frames = frames;
        error = profile_put_location(writer, &row);
        free(frames);
    }
    return error;
}

static int job_profile_put_paths(struct profile_writer *writer, const struct job_tree *tree)
{
    int error = 0;
    for (size_t i = 1; i < tree->node_count && !error; i++)
        error = profile_put_path(writer, (uint32_t)i, tree->nodes[i].parent,
                                 (int64_t)(uint32_t)(tree->nodes[i].location + 1));
    return error;
}

static int job_profile_put_sites(struct profile_writer *writer, const struct job_tree *tree)
{
    struct replay_site *block = memory_resize(NULL, PROFILE_BLOCK_SITES, sizeof *block);
    size_t count = 0;
    uint32_t first = 0;
    int error = 0;
    for (size_t i = 0; i < tree->node_count && !error; i++) {
        if (tree->nodes[i].site) {
            const struct job_site *site = &tree->sites[tree->nodes[i].site - 1];
            block[count] = (struct replay_site){(uint32_t)i, site->merged.metrics};
            block[count].metrics.peak_bytes = site->peak_bytes;
            block[count++].metrics.peak_ticks = site->peak_ticks;
        }
        if (count == PROFILE_BLOCK_SITES || (count && i + 1 == tree->node_count)) {
            struct strbuf body = STRBUF_INIT;
            profile_encode_sites(&body, block, count);
            error = profile_put_sites(writer, first, count, body.data, body.length);
            strbuf_release(&body);
            first += (uint32_t)count;
            count = 0;
        }
    }
    free(block);
    return error;
}

static int job_profile_put_program(struct profile_writer *writer, const struct job_tree *tree,
                                   const struct job_course *course)
{
    struct program_metrics program = tree->rest;
    if (!tree->ranks)
        return 0;
    program_metrics_forget_mapped(&program);
    program.total = tree->total.metrics;
    for (size_t i = 0; i < METRICS; i++)
        *metric_field(&metric_rows[i], &program.mapped) = FIGURE_UNKNOWN;
    program.all_peak_bytes = program.all_peak_ticks = FIGURE_UNKNOWN;
    program.discard_count = program.discard_bytes = FIGURE_UNKNOWN;
    program.total.peak_bytes = tree->peak_sum;
    program.total.peak_ticks = course->start_unix_ns
                                   ? figure_of(course->at_unix_ns - course->start_unix_ns)
                                   : FIGURE_UNKNOWN;
    return profile_put_program(writer, &program);
}

/* ---- Whose the resident memory is ---------------------------------------------------------- */

/* None of these that stand side by side is known. */
static void job_profile_forget(struct figure *first, struct figure *last)
{
    for (; first <= last; first++)
        *first = FIGURE_UNKNOWN;
}

/* One look for all: each rank's is of its own moment. */
static int job_profile_put_look(struct profile_writer *writer, const struct job_owners *owners)
{
    struct profile_sample sample = {.id = 1, .why = PROFILE_SAMPLE_RESIDENT_PEAK};
    struct figure sums[4] = {figure_of(0), figure_of(0), figure_of(0), figure_of(0)};
    for (size_t i = 0; i < owners->count; i++) {
        sums[0] = figure_add(sums[0], owners->rows[i].resident_bytes);
        sums[1] = figure_add(sums[1], owners->rows[i].proportional_bytes);
        sums[2] = figure_add(sums[2], owners->rows[i].swapped_bytes);
        sums[3] = figure_add(sums[3], owners->rows[i].virtual_bytes);
    }
    job_profile_forget(&sample.resident_bytes, &sample.ooms);
    job_profile_forget(&sample.live_touched_bytes, &sample.other_bytes);
    job_profile_forget(&sample.untouched_bytes, &sample.pinned_bytes);
    job_profile_forget(&sample.lost_count, &sample.fill_count);
    sample.resident_bytes = sums[0];
    sample.proportional_bytes = sums[1];
    sample.swapped_bytes = sums[2];
    sample.virtual_bytes = sums[3];
    return profile_put_sample(writer, &sample);
}

static int job_profile_put_owners(struct profile_writer *writer, const struct job_owners *owners)
{
    if (!owners->ranks)
        return 0;
    struct profile_owner *rows = memory_resize(NULL, owners->count, sizeof *rows);
    for (size_t i = 0; i < owners->count; i++) {
        rows[i] = owners->rows[i];
        rows[i].sample = 1;
    }
    int error = profile_put_integer(writer, PROFILE_META_OWNER_RANKS, (int64_t)owners->ranks);
    error = error ? error : job_profile_put_look(writer, owners);
    error = error ? error : profile_put_owners(writer, rows, owners->count);
    free(rows);
    return error;
}

/* ---- Over time ----------------------------------------------------------------------------- */

static int job_profile_put_course(struct profile_writer *writer, const struct job_course *course)
{
    struct timeline_bucket *buckets = memory_resize(NULL, course->count, sizeof *buckets);
    const struct timeline_level none = {FIGURE_UNKNOWN, FIGURE_UNKNOWN};
    for (size_t i = 0; i < course->count; i++) {
        const struct job_moment *moment = &course->moments[i];
        buckets[i] = (struct timeline_bucket){.blocks = none,
                                              .physical = none,
                                              .virt = none,
                                              .tool = none,
                                              .mapped = none,
                                              .all = none};
        buckets[i].requested = (struct timeline_level){figure_of(moment->requested_min),
                                                       figure_of(moment->requested_max)};
        buckets[i].physical = (struct timeline_level){moment->resident_max, moment->resident_max};
    }
    uint64_t width = (course->duration_ns + course->count - 1) / course->count;
    int error = profile_put_timeline(writer, buckets, course->duration_ns ? course->count : 0,
                                     width ? width : 1);
    free(buckets);
    return error;
}

/* ---- Ranks and nodes ----------------------------------------------------------------------- */

static int job_profile_put_rank(struct profile_writer *writer, const struct job *job, size_t index)
{
    const struct job_rank *rank = &job->summary.ranks[index];
    struct profile_rank row = {
        .id = (uint32_t)index + 1,
        .rank = rank->rank,
        .beside = rank->is_helper,
        .state = job_state_name(rank->state),
        .file = rank->file,
        .note = rank->note,
        .node = job->rank_nodes[index] + 1, /* 0: of none */
        .pid = rank->pid,
        .signal = rank->signal,
        .status = rank->status,
    };
    const struct {
        struct figure *to, from;
    } figures[] = {
        {&row.start_unix_ns, job_known(rank->start_unix_ns)},
        {&row.duration_ns, job_known(rank->duration_ns)},
        {&row.peak_bytes, rank->peak_bytes},
        {&row.peak_ns, rank->peak_ns},
        {&row.live_bytes, rank->live_bytes},
        {&row.live_count, rank->live_count},
        {&row.alloc_bytes, rank->alloc_bytes},
        {&row.alloc_count, rank->alloc_count},
        {&row.lost_events, figure_of(rank->lost_events)},
        {&row.mpi_peak_bytes, rank->mpi_peak_bytes},
        {&row.resident_peak_bytes, rank->resident_peak_bytes},
    };
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        *figures[i].to = job_rank_is_read(rank) ? figures[i].from : FIGURE_UNKNOWN;
    return profile_put_rank(writer, &row);
}

static int job_profile_put_steps(struct profile_writer *writer, const struct job_rank *rank,
                                 uint32_t id)
{
    struct profile_rank_step steps[JOB_STEPS];
    for (uint32_t i = 0; i < JOB_STEPS; i++) {
        steps[i] =
            (struct profile_rank_step){id, i, FIGURE_UNKNOWN, FIGURE_UNKNOWN, FIGURE_UNKNOWN};
        uint64_t peak;
        if (figure_get(rank->peak_bytes, &peak)) {
            steps[i].requested_max = figure_of(job_share_max(rank->requested_max[i], peak));
            steps[i].requested_min = figure_of(job_share_min(rank->requested_min[i], peak));
        }
        if (rank->resident_max[i] != JOB_NO_SHARE && figure_get(rank->resident_peak_bytes, &peak))
            steps[i].resident_max = figure_of(job_share_max(rank->resident_max[i], peak));
    }
    return profile_put_rank_steps(writer, steps, JOB_STEPS);
}

static int job_profile_put_ranks(struct profile_writer *writer, const struct job *job)
{
    int error = 0;
    for (size_t i = 0; i < job->summary.rank_count && !error; i++) {
        error = job_profile_put_rank(writer, job, i);
        if (!error && job_rank_is_read(&job->summary.ranks[i]))
            error = job_profile_put_steps(writer, &job->summary.ranks[i], (uint32_t)i + 1);
    }
    return error;
}

static int job_profile_put_nodes(struct profile_writer *writer, const struct job *job)
{
    int error = 0;
    for (size_t i = 0; i < job->node_count && !error; i++) {
        const struct job_node_peak *node = &job->nodes[i];
        struct profile_node_peak row = {
            .id = (uint32_t)i + 1,
            .name = node->name,
            .ranks = figure_of(node->ranks),
            .beside = figure_of(node->helpers),
            .not_read = figure_of(node->unread),
            .lower_bytes = job_node_figure(node, node->lower_bytes),
            .upper_bytes = job_node_figure(node, node->upper_bytes),
            .at_unix_ns = job_known(node->at_unix_ns),
            .step_ns = job_known(node->step_ns),
            .peak_sum = job_node_figure(node, node->peak_sum),
            .resident_bytes = node->resident_bytes,
            .machine_bytes = node->machine_bytes,
            .limit_bytes = node->limit_bytes,
            .cgroup_peak_bytes = node->cgroup_peak_bytes,
        };
        error = profile_put_node_peak(writer, &row);
    }
    return error;
}

/* ---- All of it ----------------------------------------------------------------------------- */

static int job_profile_put_all(struct profile_writer *writer, const struct job *job,
                               const struct job_tree *tree, const struct job_course *course)
{
    int error = profile_writer_begin(writer);
    error = error ? error : job_profile_put_facts(writer, job, course);
    error = error ? error : job_profile_put_end(writer, job);
    error = error ? error : job_profile_put_unseen(writer, job);
    error = error ? error : job_profile_put_modules(writer, tree);
    error = error ? error : job_profile_put_locations(writer, tree);
    error = error ? error : job_profile_put_paths(writer, tree);
    error = error ? error : job_profile_put_sites(writer, tree);
    error = error ? error : job_profile_put_program(writer, tree, course);
    error = error ? error : job_profile_put_owners(writer, &tree->owners);
    error = error ? error : job_profile_put_course(writer, course);
    error = error ? error : job_profile_put_ranks(writer, job);
    error = error ? error : job_profile_put_nodes(writer, job);
    return error ? error : profile_writer_commit(writer);
}

static int job_profile_put_without_paths(struct profile_writer *writer, const struct job *job,
                                         size_t to_read, const struct job_course *course)
{
    int error = profile_writer_begin(writer);
    error = error ? error : job_profile_put_facts(writer, job, course);
    error = error ? error : profile_put_integer(writer, PROFILE_META_TO_READ, (int64_t)to_read);
    error = error ? error : profile_put_integer(writer, PROFILE_META_RANKS_ONLY, 1);
    error = error ? error : job_profile_put_end(writer, job);
    error = error ? error : job_profile_put_unseen(writer, job);
    error = error ? error : job_profile_put_course(writer, course);
    error = error ? error : job_profile_put_ranks(writer, job);
    error = error ? error : job_profile_put_nodes(writer, job);
    return error ? error : profile_writer_commit(writer);
}

/* `tree` NULL: without call paths. */
static int job_profile_write_to(const char *path, const struct job *job,
                                const struct job_tree *tree, size_t to_read)
{
    struct profile_writer *writer;
    struct job_course course;
    int error = profile_writer_open(&writer, path);
    if (error)
        return error;
    job_course_init(&course, &job->summary, COURSE_BUCKETS);
    error = tree ? job_profile_put_all(writer, job, tree, &course)
                 : job_profile_put_without_paths(writer, job, to_read, &course);
    job_course_release(&course);
    if (!error)
        return profile_writer_finish(writer, true);
    profile_writer_discard(writer);
    return error;
}

int job_profile_write(const char *path, const struct job *job, struct job_tree *tree)
{
    job_tree_settle(tree);
    return job_profile_write_to(path, job, tree, 0);
}

int job_profile_write_ranks(const char *path, const struct job *job, size_t to_read)
{
    return job_profile_write_to(path, job, NULL, to_read);
}
