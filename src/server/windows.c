/* See windows.h. */
#include "server/windows.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "rerun/rerun.h"

enum { LOOK_MS = 100 }; /* between two looks at who still waits */

enum stage { STAGE_IDLE, STAGE_MAKING, STAGE_READY, STAGE_FAILED };

struct window {
    struct window *next;
    struct window_part part;
    enum stage stage;
    unsigned references;
    uint64_t asked; /* the how-many-th question it was that asked for it last */
    struct waiter *waiters;
    struct exhibit *exhibit;
    struct shown shown;
    char *path;
    char error[512];
};

struct windows {
    const char *directory;
    const struct source_paths *paths;
    pthread_mutex_t lock; /* all but what a window that is being made works on */
    pthread_cond_t woken;
    struct window *first;
    size_t count;
    uint64_t asked, made;
    uint64_t looked_ms;
    bool closing, has_maker;
    pthread_t maker;
};

/* ---- The windows that there are ------------------------------------------------------------ */

static void free_window(struct window *window)
{
    exhibit_close(window->exhibit);
    free(window->path);
    free(window);
}

/* The one that was asked for longest ago, of those that nobody holds. NULL: all are held. */
static struct window *take_oldest(struct windows *windows)
{
    struct window **oldest = NULL;
    for (struct window **link = &windows->first; *link; link = &(*link)->next)
        if (!(*link)->references && (!oldest || (*link)->asked < (*oldest)->asked))
            oldest = link;
    struct window *window = oldest ? *oldest : NULL;
    if (window) {
        *oldest = window->next;
        windows->count--;
    }
    return window;
}

static void drop_surplus(struct windows *windows)
{
    while (windows->count > WINDOWS_KEPT) {
        struct window *window = take_oldest(windows);
        if (!window)
            return;
        free_window(window);
    }
}

static bool is_same(const struct window_part *a, const struct window_part *b)
{
    return a->of == b->of && a->region == b->region && a->from_ns == b->from_ns &&
           a->to_ns == b->to_ns;
}

static struct window *find(const struct windows *windows, const struct window_part *part)
{
    struct window *at = windows->first;
    while (at && !is_same(&at->part, part))
        at = at->next;
    return at;
}

static struct window *add(struct windows *windows, const struct window_part *part)
{
    struct window *window = calloc(1, sizeof *window);
    if (!window)
        return NULL;
    window->part = *part;
    window->next = windows->first;
    windows->first = window;
    windows->count++;
    return window;
}

struct window *windows_take(struct windows *windows, const struct window_part *part)
{
    pthread_mutex_lock(&windows->lock);
    struct window *window = find(windows, part);
    if (!window)
        window = add(windows, part);
    if (window) {
        if (window->stage == STAGE_FAILED && !window->references)
            window->stage = STAGE_IDLE; /* what went wrong may have passed */
        window->references++;
        window->asked = ++windows->asked;
    }
    drop_surplus(windows);
    pthread_mutex_unlock(&windows->lock);
    return window;
}

void windows_hold(struct windows *windows, struct window *window)
{
    pthread_mutex_lock(&windows->lock);
    window->references++;
    pthread_mutex_unlock(&windows->lock);
}

void windows_release(struct windows *windows, struct window *window)
{
    pthread_mutex_lock(&windows->lock);
    window->references--;
    drop_surplus(windows);
    pthread_mutex_unlock(&windows->lock);
}

struct exhibit *window_exhibit(const struct window *window)
{
    return window->exhibit;
}

/* ---- Who waits ----------------------------------------------------------------------------- */

/* Its request is answered as soon as the handler is called again. */
static void wake(struct waiter *waiter)
{
    waiter->next = NULL;
    MHD_resume_connection(waiter->connection);
}

static void wake_all(struct window *window)
{
    while (window->waiters) {
        struct waiter *waiter = window->waiters;
        window->waiters = waiter->next;
        wake(waiter);
    }
}

/* A connection that sleeps is not read from: whether its other end has gone is ours to see. */
static bool has_gone(const struct waiter *waiter)
{
    char byte;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(waiter->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (!info)
        return false;
    ssize_t count = recv(info->connect_fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR);
}

static void wake_gone(struct window *window)
{
    for (struct waiter **link = &window->waiters; *link;) {
        struct waiter *waiter = *link;
        if (!has_gone(waiter)) {
            link = &waiter->next;
            continue;
        }
        *link = waiter->next;
        waiter->is_gone = true;
        wake(waiter);
    }
}

enum window_state windows_await(struct windows *windows, struct window *window,
                                struct waiter *waiter, struct strbuf *why)
{
    enum window_state state = WINDOW_AWAITED;
    pthread_mutex_lock(&windows->lock);
    if (windows->closing) {
        state = WINDOW_CLOSED;
    } else if (window->stage == STAGE_READY) {
        state = WINDOW_READY;
    } else if (window->stage == STAGE_FAILED) {
        strbuf_add_string(why, window->error);
        state = WINDOW_FAILED;
    } else {
        waiter->next = window->waiters;
        window->waiters = waiter;
        MHD_suspend_connection(waiter->connection);
        pthread_cond_signal(&windows->woken);
    }
    pthread_mutex_unlock(&windows->lock);
    return state;
}

/* ---- Making them --------------------------------------------------------------------------- */

struct making {
    struct windows *windows;
    struct window *window;
};

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool is_wanted(void *context)
{
    const struct making *making = context;
    struct windows *windows = making->windows;
    uint64_t now = now_ms();
    if (now - windows->looked_ms < LOOK_MS)
        return true;
    windows->looked_ms = now;
    pthread_mutex_lock(&windows->lock);
    wake_gone(making->window);
    bool wanted = making->window->waiters && !windows->closing;
    pthread_mutex_unlock(&windows->lock);
    return wanted;
}

static int open_exhibit(const struct windows *windows, struct window *window)
{
    int error = exhibit_open(&window->exhibit, &window->shown, windows->paths);
    if (error)
        snprintf(window->error, sizeof window->error, "%s", profile_error());
    return error;
}

static int cut(const struct windows *windows, struct window *window)
{
    const struct window_part *part = &window->part;
    window->shown =
        (struct shown){.path = part->of->path, .is_part = true, .region = part->region};
    return open_exhibit(windows, window);
}

static int replay(struct windows *windows, struct window *window)
{
    struct making making = {windows, window};
    struct rerun_options options = {
        .from = {.kind = RERUN_TIME, .value = window->part.from_ns},
        .to = {.kind = RERUN_TIME, .value = window->part.to_ns},
        .is_wanted = is_wanted,
        .context = &making,
    };
    struct rerun_result result;
    struct strbuf path = STRBUF_INIT;
    strbuf_addf(&path, "%s/window-%llu.tmk", windows->directory,
                (unsigned long long)windows->made++);
    free(window->path);
    window->path = strbuf_detach(&path);
    window->shown = (struct shown){.path = window->path, .is_part = true};
    int error = rerun_profile((struct trace *)window->part.of->trace, &options, window->path, &result);
    if (error) {
        snprintf(window->error, sizeof window->error, "%s", rerun_error());
        return error;
    }
    error = open_exhibit(windows, window);
    unlink(window->path);
    return error;
}

/* 0, -ECANCELED, or another error with a sentence in window->error. */
static int make(struct windows *windows, struct window *window)
{
    return window->part.region ? cut(windows, window) : replay(windows, window);
}

/* Of those that someone waits for the one that was asked for first. Under the lock. */
static struct window *next_to_make(const struct windows *windows)
{
    struct window *next = NULL;
    for (struct window *at = windows->first; at; at = at->next) {
        if (at->stage != STAGE_IDLE || !at->waiters)
            continue;
        wake_gone(at);
        if (at->waiters && (!next || at->asked < next->asked))
            next = at;
    }
    return next;
}

static void make_one(struct windows *windows, struct window *window)
{
    window->stage = STAGE_MAKING;
    window->references++;
    pthread_mutex_unlock(&windows->lock);
    int error = make(windows, window);
    pthread_mutex_lock(&windows->lock);
    window->references--;
    window->stage = !error ? STAGE_READY : error == -ECANCELED ? STAGE_IDLE : STAGE_FAILED;
    if (window->stage != STAGE_IDLE)
        wake_all(window);
    drop_surplus(windows);
}

static void *make_windows(void *context)
{
    struct windows *windows = context;
    pthread_mutex_lock(&windows->lock);
    while (!windows->closing) {
        struct window *window = next_to_make(windows);
        if (window)
            make_one(windows, window);
        else
            pthread_cond_wait(&windows->woken, &windows->lock);
    }
    pthread_mutex_unlock(&windows->lock);
    return NULL;
}

/* ---- All of it ----------------------------------------------------------------------------- */

int windows_begin(struct windows **out, const char *directory, const struct source_paths *paths)
{
    struct windows *windows = calloc(1, sizeof *windows);
    if (!windows)
        return -ENOMEM;
    windows->directory = directory;
    windows->paths = paths;
    pthread_mutex_init(&windows->lock, NULL);
    pthread_cond_init(&windows->woken, NULL);
    windows->has_maker = !pthread_create(&windows->maker, NULL, make_windows, windows);
    if (!windows->has_maker) {
        windows_free(windows);
        return -EAGAIN;
    }
    *out = windows;
    return 0;
}

void windows_close(struct windows *windows)
{
    pthread_mutex_lock(&windows->lock);
    windows->closing = true;
    pthread_cond_signal(&windows->woken);
    pthread_mutex_unlock(&windows->lock);
    if (windows->has_maker)
        pthread_join(windows->maker, NULL);
    windows->has_maker = false;
    pthread_mutex_lock(&windows->lock);
    for (struct window *at = windows->first; at; at = at->next)
        wake_all(at);
    pthread_mutex_unlock(&windows->lock);
}

void windows_free(struct windows *windows)
{
    if (!windows)
        return;
    for (struct window *at = windows->first, *next; at; at = next) {
        next = at->next;
        free_window(at);
    }
    pthread_cond_destroy(&windows->woken);
    pthread_mutex_destroy(&windows->lock);
    free(windows);
}
