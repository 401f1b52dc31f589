/* Server-sent events: pages are told when a new version of a profile was read.
 *
 * The connection of a listener is suspended until there is something to send. Once a second a
 * watcher thread reads the profiles that changed, and resumes the listeners that were told an older
 * generation. Every few seconds it resumes all listeners, so that closed connections are
 * noticed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/json.h"
#include "base/memory.h"
#include "base/now.h"
#include "server/http.h"

enum { QUIET_SECONDS = 15 };
#define SECOND_NS 1000000000u

/* ---- What is said -------------------------------------------------------------------------- */

/* Differs where there is something else to tell. */
static uint64_t listeners_mark(const struct served_profile_state *state)
{
    uint64_t error = *state->error != 0, lists = state->lists;
    uint64_t read = state->is_of_job ? (uint64_t)state->done << 2 | lists << 1 | error : 0;
    return state->generation << 40 | (read & (((uint64_t)1 << 40) - 1));
}

static int listeners_write_event(char *text, size_t room, size_t index,
                                 const struct served_profile_state *state)
{
    FILE *stream = fmemopen(text, room, "w");
    if (!stream)
        return -1;
    struct json json = json_begin(stream, false);
    fputs("event: changed\ndata: ", stream);
    json_object(&json, NULL);
    json_unsigned(&json, "profile", index);
    json_unsigned(&json, "generation", state->generation);
    json_string(&json, "state", state->state);
    if (state->is_of_job) {
        json_unsigned(&json, state->lists ? "listed" : "read", state->done);
        json_unsigned(&json, state->lists ? "to_list" : "to_read", state->of);
        json_string(&json, "error", *state->error ? state->error : NULL);
    }
    json_end(&json);
    json_finish(&json); /* ends the line */
    fputs("\n", stream);
    long length = ftell(stream);
    bool failed = ferror(stream) || fflush(stream);
    fclose(stream);
    return failed ? -1 : (int)length;
}

/* Adds the first event that the listener was not told, if it fits into `room`. */
static size_t listeners_add_event(struct listener *listener, char *text, size_t room)
{
    struct server *server = listener->server;
    for (size_t i = 0; i < listener->told_count; i++) {
        struct served_profile_state state;
        served_profile_state(server_profile(server, i), &state);
        if (listeners_mark(&state) == listener->told[i])
            continue;
        int length = listeners_write_event(text, room, i, &state);
        if (length < 0 || (size_t)length >= room)
            return 0;
        listener->told[i] = listeners_mark(&state);
        return (size_t)length;
    }
    return 0;
}

/* Called by libmicrohttpd for more to send. */
static ssize_t listeners_read_events(void *context, uint64_t position, char *text, size_t room)
{
    static const char nothing[] = ": still here\n\n";
    struct listener *listener = context;
    struct server *server = listener->server;
    (void)position;
    pthread_mutex_lock(&server->lock);
    ssize_t length = (ssize_t)listeners_add_event(listener, text, room);
    if (length)
        listener->quiet_seconds = 0;
    if (server->closing) {
        length = MHD_CONTENT_READER_END_OF_STREAM;
    } else if (!length && listener->quiet_seconds >= QUIET_SECONDS && room >= strlen(nothing)) {
        memcpy(text, nothing, strlen(nothing));
        length = (ssize_t)strlen(nothing);
        listener->quiet_seconds = 0;
    } else if (!length) {
        listener->suspended = true;
        MHD_suspend_connection(listener->connection);
    }
    pthread_mutex_unlock(&server->lock);
    return length;
}

/* ---- Listeners ----------------------------------------------------------------------------- */

/* Under the lock. Of ranks that came later nothing was told. */
static void listeners_make_room(struct listener *listener)
{
    size_t count = server_profile_count(listener->server), before = listener->told_count;
    if (count == before)
        return;
    listener->told = memory_resize(listener->told, count, sizeof *listener->told);
    memset(listener->told + before, 0, (count - before) * sizeof *listener->told);
    listener->told_count = count;
}

bool listeners_are_full(struct server *server)
{
    pthread_mutex_lock(&server->lock);
    bool full = server->listener_count >= SERVER_LISTENERS;
    pthread_mutex_unlock(&server->lock);
    return full;
}

static struct listener *listeners_add(struct server *server, struct MHD_Connection *connection)
{
    struct listener *listener = calloc(1, sizeof *listener);
    if (!listener)
        return NULL;
    listener->server = server;
    listener->connection = connection;
    listener->told_count = server_profile_count(server);
    listener->told = calloc(listener->told_count + 1, sizeof *listener->told);
    if (!listener->told) {
        free(listener);
        return NULL;
    }
    pthread_mutex_lock(&server->lock);
    listener->next = server->listeners;
    server->listeners = listener;
    server->listener_count++;
    pthread_mutex_unlock(&server->lock);
    return listener;
}

void listeners_remove(struct server *server, struct listener *listener)
{
    pthread_mutex_lock(&server->lock);
    struct listener **link = &server->listeners;
    while (*link && *link != listener)
        link = &(*link)->next;
    if (*link) {
        *link = listener->next;
        server->listener_count--;
    }
    pthread_cond_broadcast(&server->woken);
    pthread_mutex_unlock(&server->lock);
    free(listener->told);
    free(listener);
}

enum MHD_Result listeners_answer(struct server *server, struct MHD_Connection *connection,
                                 struct request *request)
{
    request->listener = listeners_add(server, connection);
    struct MHD_Response *response =
        request->listener
            ? MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 1024, listeners_read_events,
                                                request->listener, NULL)
            : NULL;
    if (!response)
        return MHD_NO;
    answer_add_headers(response);
    MHD_add_response_header(response, "Content-Type", "text/event-stream");
    MHD_add_response_header(response, "Cache-Control", "no-store");
    enum MHD_Result result = MHD_queue_response(connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    return result;
}

/* ---- The watcher --------------------------------------------------------------------------- */

static bool listeners_is_behind(const struct listener *listener)
{
    struct server *server = listener->server;
    for (size_t i = 0; i < listener->told_count; i++) {
        struct served_profile_state state;
        served_profile_state(server_profile(server, i), &state);
        if (listeners_mark(&state) != listener->told[i])
            return true;
    }
    return false;
}

/* Under the lock. */
static void listeners_wake(struct server *server)
{
    for (struct listener *at = server->listeners; at; at = at->next) {
        at->quiet_seconds++;
        listeners_make_room(at);
        if (!at->suspended ||
            !(server->closing || at->quiet_seconds >= QUIET_SECONDS || listeners_is_behind(at)))
            continue;
        at->suspended = false;
        MHD_resume_connection(at->connection);
    }
}

static void *listeners_watch(void *context)
{
    struct server *server = context;
    pthread_mutex_lock(&server->lock);
    while (!server->closing) {
        struct timespec until = now_later(CLOCK_REALTIME, SECOND_NS);
        while (!server->closing && !pthread_cond_timedwait(&server->woken, &server->lock, &until))
            continue; /* woken for another reason */
        pthread_mutex_unlock(&server->lock);
        clients_sweep(&server->clients);
        pthread_mutex_lock(&server->lock);
        if (!server->listener_count)
            continue;
        pthread_mutex_unlock(&server->lock);
        size_t count = server_profile_count(server);
        for (size_t i = 0; i < count; i++)
            served_profile_refresh(server_profile(server, i));
        pthread_mutex_lock(&server->lock);
        listeners_wake(server);
    }
    listeners_wake(server);
    pthread_mutex_unlock(&server->lock);
    return NULL;
}

int listeners_begin(struct server *server)
{
    server->has_watcher = !pthread_create(&server->watcher, NULL, listeners_watch, server);
    return server->has_watcher ? 0 : -EAGAIN;
}

/* Under the lock. Waits until the streams have ended, a second at most. */
static void listeners_wait_for_streams(struct server *server)
{
    struct timespec until = now_later(CLOCK_REALTIME, SECOND_NS);
    int error = 0;
    while (server->listener_count && !error)
        error = pthread_cond_timedwait(&server->woken, &server->lock, &until);
}

void listeners_end(struct server *server)
{
    pthread_mutex_lock(&server->lock);
    server->closing = true;
    pthread_cond_broadcast(&server->woken);
    pthread_mutex_unlock(&server->lock);
    if (server->has_watcher)
        pthread_join(server->watcher, NULL);
    server->has_watcher = false;
    pthread_mutex_lock(&server->lock);
    listeners_wait_for_streams(server);
    pthread_mutex_unlock(&server->lock);
}
