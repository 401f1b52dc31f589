/* How far a job has been read (served_reading.h): few facts under a lock, which is held for a
 * copy only, so that neither the reading thread nor a request waits. */
#include "server/served_reading.h"

#include <stdio.h>
#include <string.h>

void served_reading_init(struct served_reading *reading, size_t of)
{
    *reading = (struct served_reading){.of = of};
    pthread_mutex_init(&reading->lock, NULL);
}

void served_reading_release(struct served_reading *reading)
{
    pthread_mutex_destroy(&reading->lock);
}

void served_reading_tell(struct served_reading *reading, size_t done)
{
    pthread_mutex_lock(&reading->lock);
    reading->done = done;
    pthread_mutex_unlock(&reading->lock);
}

void served_reading_tell_entries(struct served_reading *reading, size_t done, size_t of)
{
    pthread_mutex_lock(&reading->lock);
    reading->lists = true;
    reading->done = done;
    reading->of = of;
    pthread_mutex_unlock(&reading->lock);
}

void served_reading_listed(struct served_reading *reading, size_t of,
                           const struct served_source *ranks, size_t rank_count)
{
    pthread_mutex_lock(&reading->lock);
    reading->lists = false;
    reading->done = 0;
    reading->of = of;
    reading->ranks = ranks;
    reading->rank_count = rank_count;
    pthread_mutex_unlock(&reading->lock);
}

size_t served_reading_take_ranks(struct served_reading *reading, const struct served_source **ranks)
{
    pthread_mutex_lock(&reading->lock);
    *ranks = reading->ranks;
    reading->ranks = NULL;
    size_t count = *ranks ? reading->rank_count : 0;
    pthread_mutex_unlock(&reading->lock);
    return count;
}

void served_reading_want(struct served_reading *reading)
{
    pthread_mutex_lock(&reading->lock);
    reading->is_wanted = true;
    pthread_mutex_unlock(&reading->lock);
}

bool served_reading_is_wanted(struct served_reading *reading)
{
    pthread_mutex_lock(&reading->lock);
    bool is_wanted = reading->is_wanted;
    pthread_mutex_unlock(&reading->lock);
    return is_wanted;
}

void served_reading_fail(struct served_reading *reading, const char *sentence)
{
    pthread_mutex_lock(&reading->lock);
    snprintf(reading->error, sizeof reading->error, "%s", sentence);
    pthread_mutex_unlock(&reading->lock);
}

void served_reading_get(struct served_reading *reading, struct served_reading_state *out)
{
    pthread_mutex_lock(&reading->lock);
    *out = (struct served_reading_state){
        .lists = reading->lists, .done = reading->done, .of = reading->of};
    memcpy(out->error, reading->error, sizeof out->error);
    pthread_mutex_unlock(&reading->lock);
}
