/* Decodes blocks of a trace on several threads and returns them in order (ahead.h). Block b goes to
 * slot b modulo the number of slots. A mutex and two conditions pass slots between the threads and
 * the caller. */
#include "offline/ahead.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

/* Block number b goes to slot b modulo the number of slots. When the caller is done with the slot's
 * earlier block, a free thread decodes the next one into it. */
struct ahead_slot {
    struct trace_events events;
    int error;
    bool full;
};

struct ahead {
    const struct trace *trace;
    struct ahead_slot *slots;
    size_t slot_count;
    size_t next_taken, next_used, last; /* blocks */
    pthread_t *threads;
    unsigned thread_count;
    bool holds; /* the caller has the one before next_used */
    bool stop;
    pthread_mutex_t lock;
    pthread_cond_t filled, emptied;
};

static struct ahead_slot *ahead_slot_of(struct ahead *ahead, size_t block)
{
    return &ahead->slots[block % ahead->slot_count];
}

/* The next block to decode and its slot; NULL: there are no more. With the lock. */
static struct ahead_slot *ahead_take_turn(struct ahead *ahead, size_t *block)
{
    while (!ahead->stop && ahead->next_taken < ahead->last &&
           ahead->next_taken >= ahead->next_used - ahead->holds + ahead->slot_count)
        pthread_cond_wait(&ahead->emptied, &ahead->lock);
    if (ahead->stop || ahead->next_taken >= ahead->last)
        return NULL;
    *block = ahead->next_taken++;
    return ahead_slot_of(ahead, *block);
}

static void *ahead_decode(void *context)
{
    struct ahead *ahead = context;
    struct ahead_slot *slot;
    size_t block;
    pthread_mutex_lock(&ahead->lock);
    while ((slot = ahead_take_turn(ahead, &block))) {
        pthread_mutex_unlock(&ahead->lock);
        int error = trace_events(ahead->trace, block, &slot->events);
        pthread_mutex_lock(&ahead->lock);
        slot->error = error;
        slot->full = true;
        pthread_cond_signal(&ahead->filled);
    }
    pthread_mutex_unlock(&ahead->lock);
    return NULL;
}

static void ahead_start_threads(struct ahead *ahead, unsigned threads)
{
    ahead->threads = calloc(threads + 1, sizeof *ahead->threads);
    for (unsigned i = 0; ahead->threads && i < threads; i++) {
        if (pthread_create(&ahead->threads[i], NULL, ahead_decode, ahead))
            return; /* fewer will do, and none too */
        ahead->thread_count++;
    }
}

struct ahead *ahead_begin(const struct trace *trace, size_t first, size_t last, unsigned threads)
{
    struct ahead *ahead = calloc(1, sizeof *ahead);
    size_t count = threads ? 2 * (size_t)threads + 2 : 1;
    struct ahead_slot *slots = calloc(count, sizeof *slots);
    if (!ahead || !slots) {
        free(ahead);
        free(slots);
        return NULL;
    }
    /* clang-format off */
    *ahead = (struct ahead){.trace = trace, .slots = slots, .slot_count = count,
                            .next_taken = first, .next_used = first, .last = last};
    /* clang-format on */
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->filled, NULL);
    pthread_cond_init(&ahead->emptied, NULL);
    ahead_start_threads(ahead, threads);
    return ahead;
}

static int ahead_decode_here(struct ahead *ahead, const struct trace_events **events)
{
    struct ahead_slot *slot = ahead->slots;
    int error = trace_events(ahead->trace, ahead->next_used++, &slot->events);
    *events = &slot->events;
    return error ? error : 1;
}

static int ahead_wait_for_next(struct ahead *ahead, const struct trace_events **events)
{
    pthread_mutex_lock(&ahead->lock);
    if (ahead->holds)
        pthread_cond_signal(&ahead->emptied);
    ahead->holds = true;
    struct ahead_slot *slot = ahead_slot_of(ahead, ahead->next_used++);
    while (!slot->full)
        pthread_cond_wait(&ahead->filled, &ahead->lock);
    slot->full = false;
    pthread_mutex_unlock(&ahead->lock);
    *events = &slot->events;
    return slot->error ? slot->error : 1;
}

int ahead_next(struct ahead *ahead, const struct trace_events **events)
{
    if (ahead->next_used >= ahead->last)
        return 0;
    return ahead->thread_count ? ahead_wait_for_next(ahead, events)
                               : ahead_decode_here(ahead, events);
}

void ahead_end(struct ahead *ahead)
{
    if (!ahead)
        return;
    pthread_mutex_lock(&ahead->lock);
    ahead->stop = true;
    pthread_cond_broadcast(&ahead->emptied);
    pthread_mutex_unlock(&ahead->lock);
    for (unsigned i = 0; i < ahead->thread_count; i++)
        pthread_join(ahead->threads[i], NULL);
    for (size_t i = 0; i < ahead->slot_count; i++)
        trace_events_release(&ahead->slots[i].events);
    pthread_mutex_destroy(&ahead->lock);
    pthread_cond_destroy(&ahead->filled);
    pthread_cond_destroy(&ahead->emptied);
    free(ahead->threads);
    free(ahead->slots);
    free(ahead);
}
