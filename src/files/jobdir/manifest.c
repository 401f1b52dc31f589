/* Makes ranks and jobs of the processes of a directory (manifest.h), which scan.c reads.
 * Processes are sorted by job and rank, and the main process of each rank is chosen. */
#include "jobdir/manifest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/array.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/search.h"
#include "jobdir/scan.h"

/* ---- Order --------------------------------------------------------------------------------- */

static int manifest_compare_numbers(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

/* Processes of no rank come last. */
static int manifest_compare_ranks(int64_t a, int64_t b)
{
    if ((a < 0) != (b < 0))
        return a < 0 ? 1 : -1;
    return manifest_compare_numbers(a, b);
}

static const char *manifest_place(const struct manifest_process *process)
{
    return process->entry_path ? process->entry_path : process->profile_path;
}

static int manifest_compare_processes(const void *left, const void *right)
{
    const struct manifest_process *a = left, *b = right;
    int order = manifest_compare_ranks(a->entry.rank, b->entry.rank);
    order =
        order ? order : manifest_compare_numbers(a->entry.start_unix_ns, b->entry.start_unix_ns);
    order = order ? order : manifest_compare_numbers(a->entry.pid, b->entry.pid);
    return order ? order : strcmp(manifest_place(a), manifest_place(b));
}

static int manifest_compare_jobs(const void *left, const void *right)
{
    const struct manifest_job *a = left, *b = right;
    int order = manifest_compare_numbers(a->start_unix_ns, b->start_unix_ns);
    return order ? order : strcmp(a->id, b->id);
}

/* ---- Ranks --------------------------------------------------------------------------------- */

/* Which of two processes of a rank is rather the MPI process itself. */
static int manifest_compare_mains(const struct manifest_process *a,
                                  const struct manifest_process *b)
{
    int order = (b->state == MANIFEST_REPLACED) - (a->state == MANIFEST_REPLACED);
    order = order ? order : (a->entry.uses_mpi == 1) - (b->entry.uses_mpi == 1);
    order = order ? order : (b->entry.parent_pid > 0) - (a->entry.parent_pid > 0);
    order = order ? order : manifest_compare_numbers(a->entry.peak_bytes, b->entry.peak_bytes);
    return order ? order : manifest_compare_numbers(b->entry.start_unix_ns, a->entry.start_unix_ns);
}

static void manifest_choose_main(const struct manifest_job *job, struct manifest_rank *rank)
{
    rank->main = rank->first;
    for (size_t i = rank->first + 1; i < rank->first + rank->count; i++)
        if (manifest_compare_mains(&job->processes[i], &job->processes[rank->main]) > 0)
            rank->main = i;
}

static int manifest_find_ranks(struct manifest_job *job)
{
    struct manifest_rank *ranks = calloc(job->process_count + 1, sizeof *ranks);
    if (!ranks)
        return -ENOMEM;
    free(job->rank);
    job->rank = ranks;
    job->rank_count = 0;
    for (size_t i = 0; i < job->process_count && job->processes[i].entry.rank >= 0; i++) {
        int64_t number = job->processes[i].entry.rank;
        if (job->rank_count == 0 || ranks[job->rank_count - 1].rank != number)
            ranks[job->rank_count++] = (struct manifest_rank){.rank = number, .first = i};
        ranks[job->rank_count - 1].count++;
    }
    for (size_t i = 0; i < job->rank_count; i++)
        manifest_choose_main(job, &ranks[i]);
    return 0;
}

static void manifest_sum_up(struct manifest_job *job)
{
    size_t present = 0;
    job->ranks = job->start_unix_ns = -1;
    job->launcher = job->recorded_ranks = NULL;
    for (size_t i = 0; i < job->process_count; i++) {
        const struct entry *entry = &job->processes[i].entry;
        if (entry->rank >= 0 && entry->ranks > job->ranks)
            job->ranks = entry->ranks;
        if (entry->rank >= 0 && !job->launcher)
            job->launcher = entry->launcher;
        if (entry->rank >= 0 && !job->recorded_ranks)
            job->recorded_ranks = entry->recorded_ranks;
        if (entry->start_unix_ns >= 0 &&
            (job->start_unix_ns < 0 || entry->start_unix_ns < job->start_unix_ns))
            job->start_unix_ns = entry->start_unix_ns;
    }
    for (size_t i = 0; i < job->rank_count; i++)
        present += job->rank[i].rank < job->ranks;
    job->missing = job->ranks > 0 ? (size_t)job->ranks - present : 0;
}

static int manifest_settle(struct manifest_job *job)
{
    if (job->process_count)
        qsort(job->processes, job->process_count, sizeof *job->processes,
              manifest_compare_processes);
    int error = manifest_find_ranks(job);
    if (!error)
        manifest_sum_up(job);
    return error;
}

int64_t manifest_next_missing(const struct manifest_job *job, int64_t after)
{
    int64_t candidate = after + 1;
    size_t low = 0; /* the first rank that is not below the candidate */
    SEARCH_FIRST(low, job->rank_count, at, job->rank[at].rank < candidate);
    for (; low < job->rank_count && job->rank[low].rank == candidate; low++)
        candidate++;
    return candidate < job->ranks ? candidate : -1;
}

/* ---- A launcher belongs to what it launched ------------------------------------------------ */

static bool manifest_has_session(const struct manifest_job *job, const char *session)
{
    for (size_t i = 0; i < job->process_count; i++)
        if (job->processes[i].entry.session && !strcmp(job->processes[i].entry.session, session))
            return true;
    return false;
}

/* The one job with ranks of this session; NULL: none, or several. */
static struct manifest_job *manifest_launched_in(const struct manifest *manifest,
                                                 const char *session)
{
    struct manifest_job *found = NULL;
    for (size_t i = 0; i < manifest->job_count; i++) {
        struct manifest_job *job = &manifest->jobs[i];
        if (job->rank_count == 0 || !manifest_has_session(job, session))
            continue;
        if (found)
            return NULL;
        found = job;
    }
    return found;
}

/* NULL if they have several, or one is not known. */
static const char *manifest_session_of_all(const struct manifest_job *job)
{
    const char *session = job->process_count ? job->processes[0].entry.session : NULL;
    for (size_t i = 1; session && i < job->process_count; i++)
        if (!job->processes[i].entry.session || strcmp(job->processes[i].entry.session, session))
            return NULL;
    return session;
}

static int manifest_take_over(struct manifest_job *to, struct manifest_job *from)
{
    size_t count = to->process_count + from->process_count;
    if (count &&
        !array_make_room(&to->processes, &to->process_room, count - 1, sizeof *to->processes))
        return -ENOMEM;
    memcpy(to->processes + to->process_count, from->processes,
           from->process_count * sizeof *to->processes);
    to->process_count = count;
    from->process_count = 0;
    return manifest_settle(to);
}

/* `tidemark record --job=DIR mpirun …`: mpirun has an id of its own, it began before its job. */
static int manifest_join_launchers(struct manifest *manifest)
{
    int error = 0;
    for (size_t i = 0; i < manifest->job_count && !error; i++) {
        struct manifest_job *job = &manifest->jobs[i], *launched = NULL;
        const char *session = job->rank_count == 0 ? manifest_session_of_all(job) : NULL;
        if (session)
            launched = manifest_launched_in(manifest, session);
        if (launched)
            error = manifest_take_over(launched, job);
    }
    return error;
}

/* ---- While it is made ----------------------------------------------------------------------- */

void manifest_making_init(struct manifest_making *making)
{
    *making = (struct manifest_making){.manifest = NULL};
    pthread_mutex_init(&making->lock, NULL);
}

void manifest_making_release(struct manifest_making *making)
{
    pthread_mutex_destroy(&making->lock);
}

static void manifest_show(struct manifest_making *making, struct manifest *manifest)
{
    if (!making)
        return;
    pthread_mutex_lock(&making->lock);
    making->manifest = manifest;
    pthread_mutex_unlock(&making->lock);
}

/* An id stands in entries. */
static const struct manifest_job *manifest_growing(const struct manifest *manifest, const char *id)
{
    for (size_t i = 0; i < manifest->job_count; i++) {
        const struct manifest_job *job = &manifest->jobs[i];
        const char *own = job->process_count ? job->processes[0].entry.job : NULL;
        if (job->process_count && (!id || (own && !strcmp(own, id))))
            return job;
    }
    return NULL;
}

bool manifest_peek(struct manifest_making *making, const char *id,
                   void (*see)(void *context, const struct manifest_job *job), void *context)
{
    bool is_meant = id || !atomic_load(&making->are_several);
    pthread_mutex_lock(&making->lock);
    const struct manifest_job *job =
        making->manifest && is_meant ? manifest_growing(making->manifest, id) : NULL;
    struct manifest_job copy = {0};
    if (job) {
        copy = (struct manifest_job){job->id, job->directory, .process_count = job->process_count};
        copy.processes = memory_resize(NULL, job->process_count, sizeof *copy.processes);
        memcpy(copy.processes, job->processes, job->process_count * sizeof *copy.processes);
    }
    bool is = job && !manifest_settle(&copy);
    if (is)
        see(context, &copy);
    pthread_mutex_unlock(&making->lock);
    free(copy.rank);
    free(copy.processes);
    return is;
}

/* ---- Opening ------------------------------------------------------------------------------- */

static void manifest_free_process(struct manifest_process *process)
{
    entry_release(&process->entry);
    free(process->entry_path);
    free(process->profile_path);
    free(process->trace_path);
    free(process->damage);
}

static void manifest_free_job(struct manifest_job *job)
{
    for (size_t i = 0; i < job->process_count; i++)
        manifest_free_process(&job->processes[i]);
    map_release(&job->by_identity);
    free(job->processes);
    free(job->rank);
    free(job->directory);
    free(job->id);
}

static void manifest_drop_empty_jobs(struct manifest *manifest)
{
    size_t kept = 0;
    for (size_t i = 0; i < manifest->job_count; i++)
        if (manifest->jobs[i].process_count)
            manifest->jobs[kept++] = manifest->jobs[i];
        else
            manifest_free_job(&manifest->jobs[i]);
    manifest->job_count = kept;
}

static int manifest_finish(struct manifest *manifest, const char *path)
{
    int error = 0;
    for (size_t i = 0; i < manifest->job_count && !error; i++)
        error = manifest_settle(&manifest->jobs[i]);
    if (!error)
        error = manifest_join_launchers(manifest);
    manifest_drop_empty_jobs(manifest);
    if (error)
        return error_set(error, "out of memory while reading the entries of %s", path);
    if (manifest->job_count == 0)
        return error_set(-ENOENT,
                         "%s holds no recorded processes: tidemark record --job=%s "
                         "writes them there",
                         path, path);
    qsort(manifest->jobs, manifest->job_count, sizeof *manifest->jobs, manifest_compare_jobs);
    return 0;
}

int manifest_open(struct manifest **out, const char *const *paths, size_t path_count,
                  struct manifest_making *making)
{
    struct manifest *manifest = calloc(1, sizeof *manifest);
    int error = manifest ? 0 : error_set(-ENOMEM, "out of memory");
    *out = NULL;
    if (manifest)
        manifest->making = making;
    manifest_show(making, manifest);
    for (size_t i = 0; i < path_count && !error; i++)
        error = scan_path(manifest, paths[i]);
    manifest_show(making, NULL);
    if (!error)
        error = manifest_finish(manifest, path_count ? paths[0] : "nothing");
    if (error)
        manifest_free(manifest);
    else
        *out = manifest;
    return error;
}

void manifest_free(struct manifest *manifest)
{
    if (!manifest)
        return;
    for (size_t i = 0; i < manifest->job_count; i++)
        manifest_free_job(&manifest->jobs[i]);
    free(manifest->jobs);
    free(manifest);
}
