/* Reads a job's profiles on several threads (job_run.h). Threads take the next file under a mutex,
 * digest it, and merge into a summary of their own. The summaries are merged at the end. */
#include "job/job_run.h"

#include <pthread.h>
#include <stdlib.h>
#include "base/alive.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "job/job_kept.h"
#include "profile/profile.h"

struct running {
    const struct job_files *files;
    const uint32_t *wanted;
    size_t count, next, done;
    struct job_summary *summary;
    struct job_tree *tree;
    const struct job_progress *progress;
    pthread_mutex_t lock; /* of next, done, and what all threads' work goes into */
};

/* `whole`: a tree is made of it, too. 0, or an error with its sentence: of a profile that does not
 * know the level, too. */
static int job_run_read_profile(struct profile **profile, const char *path, enum memory_level level,
                                bool whole)
{
    bool enough = !whole && (level == MEMORY_HEAP || level == MEMORY_RESIDENT);
    int error = enough ? profile_read_sums(profile, path) : profile_read(profile, path);
    if (error)
        return error;
    error = job_digest_take_level(*profile, level);
    if (error)
        profile_free(*profile);
    return error;
}

static int64_t job_run_number(const struct profile *profile, const char *key)
{
    const char *value = profile_get(profile, key);
    return value && *value >= '0' && *value <= '9' ? strtoll(value, NULL, 10) : -1;
}

/* Another program's profile may have been put in the place of a rank's. The entry says which
 * process the rank was. */
static bool job_run_is_strange(const struct job_file *file, int64_t pid, int64_t start)
{
    return file->pid > 0 && pid > 0 && file->pid != pid && file->start_unix_ns > 0 && start > 0 &&
           file->start_unix_ns != start;
}

static void job_run_refuse_strange(struct job_summary *digest, const struct profile *profile,
                                   const struct job_source *source)
{
    struct strbuf why = STRBUF_INIT;
    const char *program = profile_get(profile, PROFILE_META_PROGRAM);
    strbuf_addf(&why, "%s is the profile of another process than its entry says: %s, pid %lld",
                source->path, program ? program : "?",
                (long long)job_run_number(profile, PROFILE_META_PID));
    job_digest_of_none(digest, source, JOB_UNREADABLE, why.data);
    strbuf_release(&why);
}

/* What is wrong with the entry of a rank that has figures: the profile does not say it. */
static void job_run_note_entry(struct job_rank *rank, const char *note)
{
    if (note && !rank->note)
        rank->note = memory_copy_string(note);
}

static void job_run_digest_profile(const struct job_file *file, const struct job_source *source,
                                   enum memory_level level, struct job_summary *digest,
                                   struct job_tree *tree)
{
    struct profile *profile;
    if (job_run_read_profile(&profile, source->path, level, tree != NULL)) {
        job_digest_of_none(digest, source,
                           alive_is_written(source->path) ? JOB_BEGUN : JOB_UNREADABLE,
                           error_text());
        return;
    }
    if (job_run_is_strange(file, job_run_number(profile, PROFILE_META_PID),
                           job_run_number(profile, PROFILE_META_START)))
        job_run_refuse_strange(digest, profile, source);
    else
        job_digest(digest, profile, source);
    job_run_note_entry(&digest->ranks[0], file->note);
    if (tree && job_rank_counts(&digest->ranks[0]))
        job_tree_add_profile(tree, profile);
    profile_free(profile);
}

/* The digest that is kept behind the profile. False: the profile has to be read. */
static bool job_run_take_kept(const struct job_file *file, const struct job_source *source,
                              enum memory_level level, struct job_summary *digest)
{
    if (!job_kept_read(digest, level, source))
        return false;
    struct job_rank *rank = &digest->ranks[0];
    if (job_run_is_strange(file, rank->pid, (int64_t)rank->start_unix_ns)) {
        job_summary_release(digest);
        return false;
    }
    job_run_note_entry(rank, file->note);
    return true;
}

static void job_run_read_file(const struct job_files *files, uint32_t index,
                              struct job_summary *digest, struct job_tree *tree)
{
    struct job_source source = job_files_source(files, index);
    const struct job_file *file = &files->files[index];
    if (!source.path)
        job_digest_of_none(digest, &source, file->is_running ? JOB_BEGUN : JOB_MISSING,
                           file->note         ? file->note
                           : file->is_running ? "its recording goes on, and nothing is written yet"
                                              : "there is no profile");
    else if (tree || !job_run_take_kept(file, &source, files->level, digest))
        job_run_digest_profile(file, &source, files->level, digest, tree);
}

static bool job_run_take_next(struct running *running, uint32_t *index)
{
    pthread_mutex_lock(&running->lock);
    bool stops = running->progress && running->progress->stops &&
                 atomic_load_explicit(running->progress->stops, memory_order_relaxed);
    bool is_one = !stops && running->next < running->count;
    if (is_one)
        *index = running->wanted[running->next++];
    pthread_mutex_unlock(&running->lock);
    return is_one;
}

static void job_run_tell(struct running *running)
{
    pthread_mutex_lock(&running->lock);
    running->done++;
    if (running->progress && running->progress->tell)
        running->progress->tell(running->progress->context, running->done, running->count);
    pthread_mutex_unlock(&running->lock);
}

static void *job_run_work(void *context)
{
    struct running *running = context;
    struct job_summary summary = {0};
    struct job_tree tree = {0};
    uint32_t index;
    while (job_run_take_next(running, &index)) {
        struct job_summary digest = {0};
        job_run_read_file(running->files, index, &digest, running->tree ? &tree : NULL);
        job_summary_merge(&summary, &digest);
        job_run_tell(running);
    }
    pthread_mutex_lock(&running->lock);
    job_summary_merge(running->summary, &summary);
    if (running->tree)
        job_tree_merge(running->tree, &tree);
    pthread_mutex_unlock(&running->lock);
    return NULL;
}

void job_run(const struct job_files *files, const uint32_t *wanted, size_t count, size_t threads,
             struct job_summary *summary, struct job_tree *tree,
             const struct job_progress *progress)
{
    struct running running = {
        .files = files,
        .wanted = wanted,
        .count = count,
        .summary = summary,
        .tree = tree,
        .progress = progress,
        .lock = PTHREAD_MUTEX_INITIALIZER,
    };
    size_t others = threads > count ? count : threads;
    others -= others > 0; /* this thread works too */
    pthread_t *ids = memory_resize(NULL, others, sizeof *ids);
    size_t started = 0;
    while (started < others && !pthread_create(&ids[started], NULL, job_run_work, &running))
        started++;
    job_run_work(&running);
    for (size_t i = 0; i < started; i++)
        pthread_join(ids[i], NULL);
    free(ids);
}
