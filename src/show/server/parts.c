/* Windows and regions, made on one thread (parts.h). Parts are a linked list under a mutex, with
 * references and a stage each. A request for a part that is not ready suspends its connection. The
 * oldest unused parts are freed when there are more than PARTS_KEPT. */
#include "server/parts.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/error.h"
#include "base/now.h"
#include "offline/offline.h"

enum { LOOK_MS = 100 }; /* between two checks whether someone still waits */

enum parts_stage { STAGE_IDLE, STAGE_MAKING, STAGE_READY, STAGE_FAILED };

struct part {
    struct part *next;
    struct part_key key;
    enum parts_stage stage;
    unsigned references;
    uint64_t asked; /* number of the last request for it */
    struct waiter *waiters;
    struct served_profile *served;
    struct served_source shown;
    char *path;                /* of a window's profile */
    struct offline_born *born; /* in the window */
    size_t born_count;
    bool is_absent; /* there is no such part; false: it could not be made */
    char error[512];
};

struct parts {
    const char *directory;
    const struct source_paths *paths;
    pthread_mutex_t lock; /* all but what a part that is being made works on */
    pthread_cond_t woken;
    struct part *first;
    size_t count;
    uint64_t asked, made;
    uint64_t looked_ms;
    bool closing, has_maker;
    pthread_t maker;
};

/* ---- The parts that there are ------------------------------------------------------------ */

static void parts_free_part(struct part *part)
{
    served_profile_close(part->served);
    free(part->path);
    free(part->born);
    free(part);
}

/* Takes the part that was asked for longest ago out of those without references. NULL: all have
 * some. */
static struct part *parts_take_oldest(struct parts *parts)
{
    struct part **oldest = NULL;
    for (struct part **link = &parts->first; *link; link = &(*link)->next)
        if (!(*link)->references && (!oldest || (*link)->asked < (*oldest)->asked))
            oldest = link;
    struct part *part = oldest ? *oldest : NULL;
    if (part) {
        *oldest = part->next;
        parts->count--;
    }
    return part;
}

static void parts_drop_surplus(struct parts *parts)
{
    while (parts->count > PARTS_KEPT) {
        struct part *part = parts_take_oldest(parts);
        if (!part)
            return;
        parts_free_part(part);
    }
}

static bool parts_is_same(const struct part_key *a, const struct part_key *b)
{
    return a->of == b->of && a->region == b->region && a->level == b->level &&
           a->is_window == b->is_window && a->from_ns == b->from_ns && a->to_ns == b->to_ns;
}

static struct part *parts_find(const struct parts *parts, const struct part_key *key)
{
    struct part *at = parts->first;
    while (at && !parts_is_same(&at->key, key))
        at = at->next;
    return at;
}

static struct part *parts_add(struct parts *parts, const struct part_key *key)
{
    struct part *part = calloc(1, sizeof *part);
    if (!part)
        return NULL;
    part->key = *key;
    part->next = parts->first;
    parts->first = part;
    parts->count++;
    return part;
}

struct part *parts_take(struct parts *parts, const struct part_key *key)
{
    pthread_mutex_lock(&parts->lock);
    struct part *part = parts_find(parts, key);
    if (!part)
        part = parts_add(parts, key);
    if (part) {
        if (part->stage == STAGE_FAILED && !part->references)
            part->stage = STAGE_IDLE; /* try again */
        part->references++;
        part->asked = ++parts->asked;
    }
    parts_drop_surplus(parts);
    pthread_mutex_unlock(&parts->lock);
    return part;
}

void parts_hold(struct parts *parts, struct part *part)
{
    pthread_mutex_lock(&parts->lock);
    part->references++;
    pthread_mutex_unlock(&parts->lock);
}

void parts_release(struct parts *parts, struct part *part)
{
    pthread_mutex_lock(&parts->lock);
    part->references--;
    parts_drop_surplus(parts);
    pthread_mutex_unlock(&parts->lock);
}

struct served_profile *part_served_profile(const struct part *part)
{
    return part->served;
}

/* ---- Who waits ----------------------------------------------------------------------------- */

/* Resumes the connection, so that its handler is called again. */
static void parts_wake(struct waiter *waiter)
{
    waiter->next = NULL;
    MHD_resume_connection(waiter->connection);
}

static void parts_wake_all(struct part *part)
{
    while (part->waiters) {
        struct waiter *waiter = part->waiters;
        part->waiters = waiter->next;
        parts_wake(waiter);
    }
}

bool waiter_has_gone(const struct waiter *waiter)
{
    char byte;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(waiter->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (!info)
        return false;
    ssize_t count = recv(info->connect_fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR);
}

static void parts_wake_gone(struct part *part)
{
    for (struct waiter **link = &part->waiters; *link;) {
        struct waiter *waiter = *link;
        if (!waiter_has_gone(waiter)) {
            link = &waiter->next;
            continue;
        }
        *link = waiter->next;
        waiter->is_gone = true;
        parts_wake(waiter);
    }
}

enum part_state parts_await(struct parts *parts, struct part *part, struct waiter *waiter,
                            struct strbuf *why)
{
    enum part_state state = PART_AWAITED;
    pthread_mutex_lock(&parts->lock);
    if (parts->closing) {
        state = PART_CLOSED;
    } else if (part->stage == STAGE_READY) {
        state = PART_READY;
    } else if (part->stage == STAGE_FAILED) {
        strbuf_add_string(why, part->error);
        state = part->is_absent ? PART_ABSENT : PART_FAILED;
    } else {
        waiter->next = part->waiters;
        part->waiters = waiter;
        MHD_suspend_connection(waiter->connection);
        pthread_cond_signal(&parts->woken);
    }
    pthread_mutex_unlock(&parts->lock);
    return state;
}

/* ---- Making them --------------------------------------------------------------------------- */

struct parts_making {
    struct parts *parts;
    struct part *part;
};

static uint64_t parts_now_ms(void)
{
    return now_monotonic_ns() / 1000000;
}

static bool parts_is_wanted(void *context)
{
    const struct parts_making *making = context;
    struct parts *parts = making->parts;
    uint64_t now = parts_now_ms();
    if (now - parts->looked_ms < LOOK_MS)
        return true;
    parts->looked_ms = now;
    pthread_mutex_lock(&parts->lock);
    parts_wake_gone(making->part);
    bool wanted = making->part->waiters && !parts->closing;
    pthread_mutex_unlock(&parts->lock);
    return wanted;
}

/* Makes a profile of the window's events, in the file part->path. */
static int parts_replay(struct parts *parts, struct part *part)
{
    struct parts_making making = {parts, part};
    struct trace_options recorded;
    trace_options(part->key.of->trace, &recorded);
    struct offline_options options = {
        .from = {.kind = OFFLINE_TIME, .value = part->key.from_ns},
        .to = {.kind = OFFLINE_TIME, .value = part->key.to_ns},
        .wants_born = !recorded.sample_bytes,
        .is_wanted = parts_is_wanted,
        .context = &making,
    };
    struct offline_result result;
    struct strbuf path = STRBUF_INIT;
    strbuf_addf(&path, "%s/window-%llu.tmk", parts->directory, (unsigned long long)parts->made++);
    free(part->path);
    part->path = strbuf_detach(&path);
    int error = offline_profile((struct trace *)part->key.of->trace, &options, part->path, &result);
    free(part->born);
    part->born = result.born;
    part->born_count = result.born_count;
    if (error)
        snprintf(part->error, sizeof part->error, "%s", error_text());
    return error;
}

static int parts_open_served_profile(const struct parts *parts, struct part *part)
{
    bool is_window = part->key.is_window;
    part->shown = (struct served_source){.path = is_window ? part->path : part->key.of->path,
                                         .region = part->key.region,
                                         .level = part->key.level};
    if (!part->key.region && !part->key.level) { /* of the whole program's heap alone */
        part->shown.born = part->born;
        part->shown.born_count = part->born_count;
    }
    int error = served_profile_open(&part->served, &part->shown, parts->paths);
    if (error)
        snprintf(part->error, sizeof part->error, "%s", error_text());
    part->is_absent = is_window && (part->key.region || part->key.level) && error == -ENOENT;
    if (part->is_absent && part->key.region)
        snprintf(part->error, sizeof part->error,
                 "no thread had been in this region when the window ended");
    return error;
}

/* 0, -ECANCELED, or another error with a sentence in part->error. */
static int parts_make(struct parts *parts, struct part *part)
{
    int error = part->key.is_window ? parts_replay(parts, part) : 0;
    if (error)
        return error;
    error = parts_open_served_profile(parts, part);
    if (part->key.is_window)
        unlink(part->path);
    return error;
}

/* The part that was asked for first, of those that someone waits for. Under the lock. */
static struct part *parts_next_to_make(const struct parts *parts)
{
    struct part *next = NULL;
    for (struct part *at = parts->first; at; at = at->next) {
        if (at->stage != STAGE_IDLE || !at->waiters)
            continue;
        parts_wake_gone(at);
        if (at->waiters && (!next || at->asked < next->asked))
            next = at;
    }
    return next;
}

static void parts_make_one(struct parts *parts, struct part *part)
{
    part->stage = STAGE_MAKING;
    part->references++;
    pthread_mutex_unlock(&parts->lock);
    int error = parts_make(parts, part);
    pthread_mutex_lock(&parts->lock);
    part->references--;
    part->stage = !error ? STAGE_READY : error == -ECANCELED ? STAGE_IDLE : STAGE_FAILED;
    if (part->stage != STAGE_IDLE)
        parts_wake_all(part);
    parts_drop_surplus(parts);
}

static void *parts_make_parts(void *context)
{
    struct parts *parts = context;
    pthread_mutex_lock(&parts->lock);
    while (!parts->closing) {
        struct part *part = parts_next_to_make(parts);
        if (part)
            parts_make_one(parts, part);
        else
            pthread_cond_wait(&parts->woken, &parts->lock);
    }
    pthread_mutex_unlock(&parts->lock);
    return NULL;
}

/* ---- All of it ----------------------------------------------------------------------------- */

int parts_begin(struct parts **out, const char *directory, const struct source_paths *paths)
{
    struct parts *parts = calloc(1, sizeof *parts);
    if (!parts)
        return -ENOMEM;
    parts->directory = directory;
    parts->paths = paths;
    pthread_mutex_init(&parts->lock, NULL);
    pthread_cond_init(&parts->woken, NULL);
    parts->has_maker = !pthread_create(&parts->maker, NULL, parts_make_parts, parts);
    if (!parts->has_maker) {
        parts_free(parts);
        return -EAGAIN;
    }
    *out = parts;
    return 0;
}

void parts_close(struct parts *parts)
{
    pthread_mutex_lock(&parts->lock);
    parts->closing = true;
    pthread_cond_signal(&parts->woken);
    pthread_mutex_unlock(&parts->lock);
    if (parts->has_maker)
        pthread_join(parts->maker, NULL);
    parts->has_maker = false;
    pthread_mutex_lock(&parts->lock);
    for (struct part *at = parts->first; at; at = at->next)
        parts_wake_all(at);
    pthread_mutex_unlock(&parts->lock);
}

void parts_free(struct parts *parts)
{
    if (!parts)
        return;
    for (struct part *at = parts->first, *next; at; at = next) {
        next = at->next;
        parts_free_part(at);
    }
    pthread_cond_destroy(&parts->woken);
    pthread_mutex_destroy(&parts->lock);
    free(parts);
}
