/* A thread that calls job_choice_make() (job_listing.h). It says under the lock that it has ended;
 * what it knows meanwhile is seen through the manifest that it makes. Where there is no thread the
 * caller reads everything before it goes on. */
#include "commands/job_listing.h"

#include <pthread.h>
#include <stdlib.h>
#include "base/memory.h"
#include "base/now.h"
#include "commands/job_choice.h"

struct job_listing {
    const char *command, *path, *id;
    struct manifest_making making;
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool has_ended;
    /* When it has ended. */
    int status;
    struct job_files files;
};

static void *job_listing_work(void *context)
{
    struct job_listing *listing = context;
    listing->status = job_choice_make(listing->command, &listing->path, 1, listing->id,
                                      &listing->making, &listing->files);
    pthread_mutex_lock(&listing->lock);
    listing->has_ended = true;
    pthread_cond_signal(&listing->ended);
    pthread_mutex_unlock(&listing->lock);
    return NULL;
}

struct job_listing *job_listing_begin(const char *command, const char *path, const char *id)
{
    struct job_listing *listing = memory_need(calloc(1, sizeof *listing));
    listing->command = command;
    listing->path = path;
    listing->id = id;
    manifest_making_init(&listing->making);
    pthread_mutex_init(&listing->lock, NULL);
    pthread_cond_init(&listing->ended, NULL);
    listing->has_thread = !pthread_create(&listing->thread, NULL, job_listing_work, listing);
    if (!listing->has_thread)
        job_listing_work(listing);
    return listing;
}

bool job_listing_wait(struct job_listing *listing, uint64_t ms)
{
    struct timespec until = now_later(CLOCK_REALTIME, ms * 1000000);
    int error = 0;
    pthread_mutex_lock(&listing->lock);
    while (!listing->has_ended && !error)
        error = pthread_cond_timedwait(&listing->ended, &listing->lock, &until);
    bool has_ended = listing->has_ended;
    pthread_mutex_unlock(&listing->lock);
    return has_ended;
}

void job_listing_count(struct job_listing *listing, size_t *done, size_t *of)
{
    *done = atomic_load(&listing->making.done);
    *of = atomic_load(&listing->making.of);
}

static void job_listing_take(void *files, const struct manifest_job *job)
{
    job_files_init(files, job);
}

void job_listing_peek(struct job_listing *listing, struct job_files *files)
{
    *files = (struct job_files){0};
    manifest_peek(&listing->making, listing->id, job_listing_take, files);
}

void job_listing_stop(struct job_listing *listing)
{
    atomic_store(&listing->making.stops, true);
}

int job_listing_end(struct job_listing *listing, struct job_files *files)
{
    if (listing->has_thread)
        pthread_join(listing->thread, NULL);
    int status = listing->status;
    *files = listing->files;
    manifest_making_release(&listing->making);
    pthread_cond_destroy(&listing->ended);
    pthread_mutex_destroy(&listing->lock);
    free(listing);
    return status;
}
