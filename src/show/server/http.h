/* What the files of the server share. server.c opens and closes, access.c decides which requests
 * are allowed, ticket.c lets our own browser in, answer.c answers, clients.c limits connections,
 * listeners.c tells pages of new versions. Inside the room.
 *
 * A pool of libmicrohttpd's threads answers requests. The data that these threads share is
 * read-only, except profiles (served_profile.h), parts, clients and listeners: each of these has
 * its own lock. */
#ifndef TIDEMARK_SERVER_HTTP_H
#define TIDEMARK_SERVER_HTTP_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include "server/clients.h"
#include "server/served_profile.h"
#include "server/router.h"
#include "server/server.h"
#include "server/notes.h"
#include "server/parts.h"
#include "server/questions.h"

enum {
    SERVER_THREADS = 4,
    SERVER_CONNECTIONS = 256, /* with more, some are ended: clients.h */
    SERVER_STRANGERS = 64,    /* of one address: connections without an allowed request */
    SERVER_HEADER_S = 10,     /* for a whole request to come */
    SERVER_PAGE_S = 120,      /* for a stranger to be sent a file of the web bundle */
    SERVER_TIMEOUT_S = 30,    /* a connection without a byte for so long is closed */
    /* libmicrohttpd's places, divided among its threads. Each thread has room for all connections
     * and for those that are being ended: a thread without a free place accepts none. */
    SERVER_PLACES = SERVER_THREADS * (SERVER_CONNECTIONS + 64),
    SERVER_REQUEST_BYTES = 16 << 10, /* line and headers */
    SERVER_SQL_BYTES = 64 << 10,     /* of a statement */
    SERVER_LISTENERS = 64,
    SECRET_BYTES = 16,
    SECRET_TEXT = 2 * SECRET_BYTES + 1,
};

/* A request, from its first line to its end, with its listener if it is one, and the part of a
 * profile that it asks for. */
struct request {
    struct route route;
    struct listener *listener;
    struct part *part; /* a reference */
    struct waiter waiter;
    struct question *question; /* that it asks; NULL: none yet */
    struct strbuf body;        /* kept if the request may have one */
    bool keeps_body, body_is_too_long;
    struct client *client; /* NULL: not looked after */
    bool begun;            /* its headers were seen */
};

struct listener {
    struct listener *next;
    struct server *server;
    struct MHD_Connection *connection;
    uint64_t *told; /* by profile: what it was told, as a mark */
    size_t told_count;
    bool suspended;
    unsigned quiet_seconds;
};

struct server {
    struct server_options options;
    struct served_profile **profiles; /* server_profile(): ranks of a job may come later */
    size_t served_profile_count;
    struct served_profile ***outgrown; /* arrays that requests may still look at */
    size_t outgrown_count, outgrown_room;
    pthread_mutex_t growing;
    struct parts *parts;
    struct questions *questions;
    struct notes_lock notes;
    struct MHD_Daemon *daemon;
    struct clients clients;
    char address[256]; /* bound to, literal */
    bool is_ipv6;
    uint16_t port;
    bool has_token;
    char token[SECRET_TEXT];
    char ticket[SECRET_TEXT]; /* "": none, or it was used */
    char host[256];           /* of the machine */
    pthread_mutex_t lock;     /* listeners and ticket */
    struct listener *listeners;
    size_t listener_count;
    pthread_t watcher;
    pthread_cond_t woken;
    bool has_watcher, closing;
};

/* ---- server.c ---- */

/* How many there are now; none goes. */
size_t server_profile_count(struct server *server);
struct served_profile *server_profile(struct server *server, size_t index); /* NULL: none */
/* Takes the ranks of jobs whose entries have been read meanwhile. */
void server_take_ranks(struct server *server);

/* ---- access.c ---- */

enum access {
    ACCESS_GRANTED,
    ACCESS_PUBLIC,    /* files of the web bundle, which hold nothing of a profile */
    ACCESS_BY_TICKET, /* granted if the ticket is (ticket.c) */
    ACCESS_UNCLEAR,   /* two Host or Origin headers */
    ACCESS_NO_TOKEN,
    ACCESS_WRONG_TOKEN,
    ACCESS_WRONG_HOST,
    ACCESS_WRONG_ORIGIN,
};
enum access access_of(const struct server *server, struct MHD_Connection *connection,
                      const struct route *route);
/* Is the request's Authorization "SCHEME SECRET"? */
bool access_bears(struct MHD_Connection *connection, const char *scheme, const char *secret);
/* 16 random bytes in hexadecimal. False: the system has none. */
bool access_make_secret(char text[SECRET_TEXT]);

/* ---- ticket.c ---- */

/* False: the system has no random numbers. */
bool ticket_make(struct server *server);
/* Does this request bear the ticket, and is it our own user's? Then the ticket is used up. */
bool ticket_take(struct server *server, struct MHD_Connection *connection);

/* ---- answer.c ---- */

enum MHD_Result answer(void *server, struct MHD_Connection *connection, const char *url,
                       const char *method, const char *version, const char *upload_data,
                       size_t *upload_bytes, void **request);
/* The headers that every response has. */
void answer_add_headers(struct MHD_Response *response);

/* ---- listeners.c ---- */

/* 0; -EAGAIN: there are too many; -ENOMEM. */
int listeners_begin(struct server *server);
void listeners_end(struct server *server);
/* Answers with the stream of events. MHD_NO closes the connection. */
enum MHD_Result listeners_answer(struct server *server, struct MHD_Connection *connection,
                                 struct request *request);
bool listeners_are_full(struct server *server);
void listeners_remove(struct server *server, struct listener *listener);

#endif
