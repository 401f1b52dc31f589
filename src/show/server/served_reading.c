/* How far a job has been read (served_reading.h): three facts under a lock, which is held for a
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

void served_reading_fail(struct served_reading *reading, const char *sentence)
{
    pthread_mutex_lock(&reading->lock);
    snprintf(reading->error, sizeof reading->error, "%s", sentence);
    pthread_mutex_unlock(&reading->lock);
}

void served_reading_get(struct served_reading *reading, struct served_reading_state *out)
{
    pthread_mutex_lock(&reading->lock);
    *out = (struct served_reading_state){.done = reading->done, .of = reading->of};
    memcpy(out->error, reading->error, sizeof out->error);
    pthread_mutex_unlock(&reading->lock);
}
