/* Profiles over HTTP, for a browser (doc/API.md). Read-only. */
#ifndef TIDEMARK_SERVER_SERVER_H
#define TIDEMARK_SERVER_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "base/strbuf.h"
#include "aggregate/source_text.h"
#include "server/served_list.h"

struct server_options {
    const struct served_source *shown;
    size_t shown_count;
    const char *directory; /* for temporary files, ours alone; NULL: there is no trace */
    const struct source_paths *paths;
    const char *bind; /* a literal address; NULL: 127.0.0.1 */
    const char *host; /* a further name of this machine; NULL: none */
    uint16_t port;    /* 0: a free one */
    bool no_notes;    /* PUT of notes is refused */
    bool no_token;    /* only where `bind` is the loopback */
};

struct server;

/* Reads the profiles and listens. 0; -errno with a sentence in `why`. The options' contents must
 * live on. */
int server_start(struct server **out, const struct server_options *options, struct strbuf *why);
/* Answers what is under way, then ends. */
void server_stop(struct server *server);

uint16_t server_port(const struct server *server);
/* The URL to open, with the token. */
void server_add_url(const struct server *server, struct strbuf *out);
/* The URL to give to a browser as an argument, which every user of the machine can read: with a
 * ticket that lets one page of our own user in. False: the system has no random numbers. */
bool server_add_browser_url(struct server *server, struct strbuf *out);

#endif
