/* Reads jobs while they are shown (job_filler.h). One thread first lists the ranks of those whose
 * entries are still being read. Then it reads the digests of all jobs' ranks, and then, of small
 * jobs and of those that somebody asks for, whole profiles. job_run() has more threads for both.
 * Under the lock it says when it has read all that nobody has to ask for. */
#include "commands/job_filler.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/array.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/now.h"
#include "base/strbuf.h"
#include "base/term.h"
#include "commands/job_marks.h"
#include "commands/output.h"
#include "job/job.h"
#include "job/job_first.h"
#include "job/job_profile.h"
#include "job/job_run.h"

/* A processor reads at most so many ranks while the first answer waits: 1 ms each. */
enum { FIRST_WAIT_MS = 250, FIRST_RANKS = 250, TELL_MS = 200 };

/* Of a larger job the call paths, 17 ms of a processor a rank, are read when they are asked for. */
enum { UNASKED_RANKS = 64, ASKED_MS = 100 };

/* What is known of the ranks is shown anew so often, and takes a fifth of the time at most. */
enum { SHOW_MS = 1000, SHOW_PART = 5 };

struct job_filler_item {
    struct job_filler_job job;
    uint32_t *places; /* of the ranks' files, by id */
    size_t rank_count;
    bool is_listed;
    bool waits;       /* its digests are shown, and its profiles are read when they are asked for */
    size_t shown;     /* of its entries, in what is shown … */
    uint64_t next_ms; /* … until then */
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
    pthread_cond_t rested;
    bool has_rested;
};

struct job_filler *job_filler_new(const char *command)
{
    struct job_filler *filling = memory_need(calloc(1, sizeof *filling));
    filling->command = command;
    pthread_mutex_init(&filling->lock, NULL);
    pthread_cond_init(&filling->rested, NULL);
    return filling;
}

static size_t job_filler_profiles(const struct job_files *files)
{
    size_t count = 0;
    for (size_t i = 0; i < files->count; i++)
        count += files->files[i].path != NULL;
    return count;
}

static void job_filler_note_ids(struct job_filler_item *item, const struct job_summary *ranks)
{
    item->rank_count = ranks->rank_count;
    item->places = memory_resize(NULL, item->rank_count, sizeof *item->places);
    for (size_t i = 0; i < item->rank_count; i++)
        item->places[i] = ranks->ranks[i].place;
}

static size_t job_filler_count_entries(struct job_filler_item *item)
{
    size_t done, of;
    job_listing_count(item->job.listing, &done, &of);
    served_reading_tell_entries(&item->reading, done, of);
    return done;
}

struct served_reading *job_filler_add(struct job_filler *filling, const struct job_filler_job *job)
{
    struct job_filler_item *item = memory_need(calloc(1, sizeof *item));
    item->job = *job;
    item->job.ranks = NULL;
    served_reading_init(&item->reading, job_filler_profiles(job->files));
    if (job->listing)
        job_filler_count_entries(item);
    else
        job_filler_note_ids(item, job->ranks);
    item->is_listed = !job->listing;
    array_need_room(&filling->items, &filling->room, filling->count, sizeof *filling->items);
    filling->items[filling->count++] = item;
    return &item->reading;
}

/* ---- Listing ------------------------------------------------------------------------------- */

/* The entries take the place of what is shown. */
static int job_filler_show(const struct job_filler_item *item, const struct job_files *files,
                           const struct job_summary *ranks, bool all)
{
    struct strbuf draft = STRBUF_INIT;
    strbuf_addf(&draft, "%s.first.tmk", item->job.path);
    int error = job_first_write(draft.data, files, ranks, all);
    if (!error && rename(draft.data, item->job.path))
        error = error_set(-errno, "cannot write %s: %s", item->job.path, strerror(errno));
    strbuf_release(&draft);
    return error;
}

/* If that fails, what was shown stays: all of it will fail in the same way, and say so. */
static void job_filler_show_some(const struct job_filler_item *item)
{
    struct job_files files;
    struct job_summary ranks = {0};
    job_listing_peek(item->job.listing, &files);
    job_first_list(&ranks, &files);
    if (files.count)
        job_filler_show(item, &files, &ranks, false);
    job_summary_release(&ranks);
    job_files_release(&files);
}

/* What is known of the job by now; how many of its entries are read. */
static size_t job_filler_look(struct job_filler_item *item)
{
    uint64_t ms = now_monotonic_ns() / 1000000;
    size_t done = job_filler_count_entries(item);
    if (ms < item->next_ms || done == item->shown)
        return done;
    job_filler_show_some(item);
    uint64_t after_ms = now_monotonic_ns() / 1000000, pause_ms = SHOW_PART * (after_ms - ms);
    item->next_ms = after_ms + (pause_ms > SHOW_MS ? pause_ms : SHOW_MS);
    item->shown = done;
    return done;
}

/* All entries are read. The job cannot be read any more if that fails. */
static bool job_filler_list(struct job_filler *filling, struct job_filler_item *item)
{
    struct job_summary ranks = {0};
    int status = job_listing_end(item->job.listing, item->job.files);
    item->job.listing = NULL;
    if (status || atomic_load(&filling->stops)) {
        served_reading_fail(&item->reading,
                            "what is in the job's directory cannot be shown: tidemark serve has "
                            "written why");
        return false;
    }
    job_first_list(&ranks, item->job.files);
    job_filler_note_ids(item, &ranks);
    item->job.listed(item->job.context, &item->reading, item->job.files, &ranks);
    int error = job_filler_show(item, item->job.files, &ranks, true);
    if (error) {
        served_reading_fail(&item->reading, error_text());
        output_complain(filling->command, error_text());
    }
    job_summary_release(&ranks);
    return !error;
}

/* Waits for the entries of all jobs at once: no job is behind because of another one's. */
static void job_filler_list_all(struct job_filler *filling)
{
    for (size_t left = 1; left;) {
        size_t done = left = 0;
        for (size_t i = 0; i < filling->count; i++) {
            struct job_filler_item *item = filling->items[i];
            if (!item->job.listing)
                continue;
            if (atomic_load(&filling->stops))
                job_listing_stop(item->job.listing);
            if (job_listing_wait(item->job.listing, left ? 0 : TELL_MS)) {
                item->is_listed = job_filler_list(filling, item);
                continue;
            }
            left++;
            done += job_filler_look(item);
        }
        if (left && atomic_load(&filling->tells))
            term_progress("%zu entries read", done);
    }
    term_progress_end();
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

/* `tree` NULL: of what digests say. NULL, or why the job cannot be shown. */
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
    if (tree ? job_profile_write(draft.data, job, tree)
             : job_profile_write_ranks(draft.data, job, job_filler_profiles(item->job.files)))
        why = error_text();
    else if (rename(draft.data, item->job.path))
        why = strerror(errno);
    strbuf_release(&draft);
    return why;
}

/* Where digests alone cannot be shown, whole profiles are read at once: they say why. */
static void job_filler_end_digests(struct job_filler_item *item, const char *why)
{
    served_reading_tell(&item->reading, 0); /* from now on profiles are counted */
    item->waits = !why && item->reading.of > UNASKED_RANKS;
}

static void job_filler_finish(struct job_filler *filling, struct job_filler_item *item,
                              struct job_summary *summary, struct job_tree *tree)
{
    struct job job;
    const struct job_files *files = item->job.files;
    job_init(&job, summary, files->id, item->job.name, files->recorded_ranks);
    job_marks_find(&job, files, &filling->stops);
    if (atomic_load(&filling->stops)) {
        job_release(&job);
        return;
    }
    const char *why = job_filler_write(item, &job, tree);
    if (!tree) {
        job_filler_end_digests(item, why);
    } else if (why) {
        served_reading_fail(&item->reading, why);
        output_complain(filling->command, why);
    }
    job_release(&job);
}

/* Digests alone, or whole profiles. */
static void job_filler_read(struct job_filler *filling, struct job_filler_item *item, bool whole)
{
    struct job_filler_progress noted = {.filling = filling, .item = item};
    struct job_progress progress = {job_filler_note, &noted, &filling->stops};
    struct job_summary summary = {0};
    struct job_tree tree = {0};
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t *order = job_filler_order(item->job.files);
    job_run(item->job.files, order, item->job.files->count, processors > 0 ? (size_t)processors : 1,
            &summary, whole ? &tree : NULL, &progress);
    term_progress_end();
    free(order);
    if (!atomic_load(&filling->stops))
        job_filler_finish(filling, item, &summary, whole ? &tree : NULL);
    job_summary_release(&summary);
    job_tree_release(&tree);
}

static void job_filler_read_all(struct job_filler *filling)
{
    for (int whole = 0; whole < 2; whole++)
        for (size_t i = 0; i < filling->count && !atomic_load(&filling->stops); i++)
            if (filling->items[i]->is_listed && !filling->items[i]->waits)
                job_filler_read(filling, filling->items[i], whole);
    malloc_trim(0); /* ranks were read and forgotten again */
    pthread_mutex_lock(&filling->lock);
    filling->has_rested = true;
    pthread_cond_signal(&filling->rested);
    pthread_mutex_unlock(&filling->lock);
}

/* The jobs that wait, each when somebody asks for it. */
static void job_filler_read_asked(struct job_filler *filling)
{
    const struct timespec pause = {.tv_nsec = ASKED_MS * 1000000l};
    for (size_t left = 1; left && !atomic_load(&filling->stops);) {
        left = 0;
        for (size_t i = 0; i < filling->count && !atomic_load(&filling->stops); i++) {
            struct job_filler_item *item = filling->items[i];
            if (item->waits && served_reading_is_wanted(&item->reading)) {
                item->waits = false;
                job_filler_read(filling, item, true);
                malloc_trim(0);
            }
            left += item->waits;
        }
        if (left)
            nanosleep(&pause, NULL);
    }
}

static void *job_filler_work(void *context)
{
    struct job_filler *filling = context;
    job_filler_list_all(filling);
    job_filler_read_all(filling);
    job_filler_read_asked(filling);
    return NULL;
}

/* ---- Beginning and ending ------------------------------------------------------------------ */

/* May all be read by the time that the first answer waits? */
static bool job_filler_may_be_quick(const struct job_filler *filling)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t ranks = 0;
    for (size_t i = 0; i < filling->count; i++) {
        if (filling->items[i]->job.listing)
            return false;
        ranks += filling->items[i]->reading.of;
    }
    return ranks <= FIRST_RANKS * (size_t)(processors > 0 ? processors : 1);
}

void job_filler_begin(struct job_filler *filling)
{
    bool waits = job_filler_may_be_quick(filling);
    filling->has_thread = !pthread_create(&filling->thread, NULL, job_filler_work, filling);
    if (!filling->has_thread) { /* as it is done where nothing is shown meanwhile */
        job_filler_list_all(filling);
        job_filler_read_all(filling);
        return;
    }
    struct timespec until = now_later(CLOCK_REALTIME, (uint64_t)FIRST_WAIT_MS * 1000000);
    pthread_mutex_lock(&filling->lock);
    while (waits && !filling->has_rested &&
           !pthread_cond_timedwait(&filling->rested, &filling->lock, &until))
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

/* A file system that does not answer holds the thread for good. */
static bool job_filler_join(struct job_filler *filling)
{
    const uint64_t patience_ns = 2000000000;
    struct timespec until = now_later(CLOCK_REALTIME, patience_ns);
    return !filling->has_thread || pthread_timedjoin_np(filling->thread, NULL, &until) == 0;
}

bool job_filler_end(struct job_filler *filling)
{
    if (!filling)
        return true;
    job_filler_stop(filling);
    if (!job_filler_join(filling))
        return false;
    for (size_t i = 0; i < filling->count; i++) {
        struct job_filler_item *item = filling->items[i];
        if (item->job.listing) { /* nothing was begun: another operand was wrong */
            job_listing_stop(item->job.listing);
            job_listing_end(item->job.listing, item->job.files);
        }
        served_reading_release(&item->reading);
        job_files_release(item->job.files);
        free(item->job.files);
        free(item->places);
        free(item);
    }
    pthread_cond_destroy(&filling->rested);
    pthread_mutex_destroy(&filling->lock);
    free(filling->items);
    free(filling);
    return true;
}
