/* Reads jobs while they are shown (job_filler.h). One thread goes through the jobs and calls
 * job_run(), which has more of them; under the lock it says when it has come to an end. */
#include "commands/job_filler.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/array.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/now.h"
#include "base/strbuf.h"
#include "base/term.h"
#include "commands/output.h"
#include "job/job.h"
#include "job/job_profile.h"
#include "job/job_run.h"

enum { FIRST_WAIT_MS = 250, TELL_MS = 200 };

struct job_filler_item {
    struct job_filler_job job;
    uint32_t *places; /* of the ranks' files, by id */
    size_t rank_count;
    struct served_reading reading;
};

struct job_filler {
    const char *command;
    struct job_filler_item **items;
    size_t count, room;
    pthread_t thread;
    bool has_thread;
    atomic_bool stops, tells;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool has_ended;
};

struct job_filler *job_filler_new(const char *command)
{
    struct job_filler *filling = memory_need(calloc(1, sizeof *filling));
    filling->command = command;
    pthread_mutex_init(&filling->lock, NULL);
    pthread_cond_init(&filling->ended, NULL);
    return filling;
}

static size_t job_filler_profiles(const struct job_files *files)
{
    size_t count = 0;
    for (size_t i = 0; i < files->count; i++)
        count += files->files[i].path != NULL;
    return count;
}

struct served_reading *job_filler_add(struct job_filler *filling, const struct job_filler_job *job)
{
    struct job_filler_item *item = memory_need(calloc(1, sizeof *item));
    item->job = *job;
    item->rank_count = job->ranks->rank_count;
    item->places = memory_resize(NULL, item->rank_count, sizeof *item->places);
    for (size_t i = 0; i < item->rank_count; i++)
        item->places[i] = job->ranks->ranks[i].place;
    item->job.ranks = NULL;
    served_reading_init(&item->reading, job_filler_profiles(job->files));
    array_need_room(&filling->items, &filling->room, filling->count, sizeof *filling->items);
    filling->items[filling->count++] = item;
    return &item->reading;
}

/* ---- Reading ------------------------------------------------------------------------------- */

struct job_filler_progress {
    struct job_filler *filling;
    struct job_filler_item *item;
    uint64_t next_ms;
};

/* Ranks without a profile come last, and are not counted. */
static uint32_t *job_filler_order(const struct job_files *files)
{
    uint32_t *by_size = job_files_by_size(files);
    uint32_t *order = memory_resize(NULL, files->count, sizeof *order);
    size_t count = 0;
    for (int without = 0; without < 2; without++)
        for (size_t i = 0; i < files->count; i++)
            if ((files->files[by_size[i]].path ? 0 : 1) == without)
                order[count++] = by_size[i];
    free(by_size);
    return order;
}

static void job_filler_note(void *context, size_t done, size_t of)
{
    struct job_filler_progress *progress = context;
    size_t to_read = progress->item->reading.of;
    uint64_t ms = now_monotonic_ns() / 1000000;
    (void)of;
    done = done < to_read ? done : to_read;
    served_reading_tell(&progress->item->reading, done);
    if (!atomic_load(&progress->filling->tells) || ms < progress->next_ms)
        return;
    term_progress("%zu of %zu ranks read", done, to_read);
    progress->next_ms = ms + TELL_MS;
}

/* Links to ranks and the list of them have the ids of before. */
static bool job_filler_has_ids(const struct job_filler_item *item,
                               const struct job_summary *summary)
{
    bool same = summary->rank_count == item->rank_count;
    for (size_t i = 0; i < item->rank_count && same; i++)
        same = summary->ranks[i].place == item->places[i];
    return same;
}

/* NULL, or why the job cannot be shown. */
static const char *job_filler_write(const struct job_filler_item *item, const struct job *job,
                                    struct job_tree *tree)
{
    const struct job_rank *first = job->summary.rank_count ? &job->summary.ranks[0] : NULL;
    if (!job->ranks)
        return first && first->note ? first->note : "no profile of the job could be read";
    if (!job_filler_has_ids(item, &job->summary))
        return "the profiles of the job are of other ranks than their entries say: `tidemark job` "
               "reads it";
    struct strbuf draft = STRBUF_INIT;
    const char *why = NULL;
    strbuf_addf(&draft, "%s.whole.tmk", item->job.path);
    if (job_profile_write(draft.data, job, tree))
        why = error_text();
    else if (rename(draft.data, item->job.path))
        why = strerror(errno);
    strbuf_release(&draft);
    return why;
}

static void job_filler_finish(struct job_filler *filling, struct job_filler_item *item,
                              struct job_summary *summary, struct job_tree *tree)
{
    struct job job;
    const struct job_files *files = item->job.files;
    job_init(&job, summary, files->id, item->job.name, files->recorded_ranks);
    const char *why = job_filler_write(item, &job, tree);
    if (why) {
        served_reading_fail(&item->reading, why);
        output_complain(filling->command, why);
    }
    job_release(&job);
}

static void job_filler_read(struct job_filler *filling, struct job_filler_item *item)
{
    struct job_filler_progress noted = {.filling = filling, .item = item};
    struct job_progress progress = {job_filler_note, &noted, &filling->stops};
    struct job_summary summary = {0};
    struct job_tree tree = {0};
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t *order = job_filler_order(item->job.files);
    job_run(item->job.files, order, item->job.files->count, processors > 0 ? (size_t)processors : 1,
            &summary, &tree, &progress);
    term_progress_end();
    free(order);
    if (!atomic_load(&filling->stops))
        job_filler_finish(filling, item, &summary, &tree);
    job_summary_release(&summary);
    job_tree_release(&tree);
}

static void *job_filler_work(void *context)
{
    struct job_filler *filling = context;
    for (size_t i = 0; i < filling->count && !atomic_load(&filling->stops); i++)
        job_filler_read(filling, filling->items[i]);
    malloc_trim(0); /* ranks were read and forgotten again */
    pthread_mutex_lock(&filling->lock);
    filling->has_ended = true;
    pthread_cond_signal(&filling->ended);
    pthread_mutex_unlock(&filling->lock);
    return NULL;
}

/* ---- Beginning and ending ------------------------------------------------------------------ */

void job_filler_begin(struct job_filler *filling)
{
    filling->has_thread = !pthread_create(&filling->thread, NULL, job_filler_work, filling);
    if (!filling->has_thread) {
        job_filler_work(filling); /* as it is done where nothing is shown meanwhile */
        return;
    }
    struct timespec until = now_later(CLOCK_REALTIME, (uint64_t)FIRST_WAIT_MS * 1000000);
    pthread_mutex_lock(&filling->lock);
    while (!filling->has_ended && !pthread_cond_timedwait(&filling->ended, &filling->lock, &until))
        continue; /* woken for another reason */
    pthread_mutex_unlock(&filling->lock);
}

void job_filler_tell(struct job_filler *filling)
{
    atomic_store(&filling->tells, true);
}

void job_filler_stop(struct job_filler *filling)
{
    atomic_store(&filling->stops, true);
}

void job_filler_end(struct job_filler *filling)
{
    if (!filling)
        return;
    job_filler_stop(filling);
    if (filling->has_thread)
        pthread_join(filling->thread, NULL);
    for (size_t i = 0; i < filling->count; i++) {
        struct job_filler_item *item = filling->items[i];
        served_reading_release(&item->reading);
        job_files_release(item->job.files);
        free(item->job.files);
        free(item->places);
        free(item);
    }
    pthread_cond_destroy(&filling->ended);
    pthread_mutex_destroy(&filling->lock);
    free(filling->items);
    free(filling);
}
