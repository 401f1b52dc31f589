/* What a request's target asks for. A pure function of bytes that a stranger may have sent. */
#ifndef TIDEMARK_SERVER_ROUTER_H
#define TIDEMARK_SERVER_ROUTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "model/level.h"

enum route_kind {
    ROUTE_BAD = 0, /* no target that our page sends: 400 */
    ROUTE_TOO_LONG,
    ROUTE_NONE,     /* well-formed, but nothing of ours */
    ROUTE_ASSET,    /* name: of a file of the web bundle; "/" is "index.html" */
    ROUTE_TOKEN,    /* /api/v1/token: exchanges a ticket for it */
    ROUTE_PROFILES, /* /api/v1/profiles */
    ROUTE_LIVE,     /* /api/v1/live */
    ROUTE_RESOURCE, /* /api/v1/p/PROFILE/NAME */
};

enum { ROUTE_TARGET_MAX = 4096, ROUTE_NAME_MAX = 128 };
struct route {
    enum route_kind kind;
    size_t profile;
    char name[ROUTE_NAME_MAX];
};

void route_parse(struct route *route, const char *target);

/* A number in a name, without leading zeros; `*text` goes behind it. False: there is none, or it
 * has more than 19 digits. */
bool route_number(const char **text, uint64_t *number);
/* "window/FROM-TO/NAME": FROM not above TO, in ns; `*name`: NAME. */
bool route_window(const char *text, uint64_t *from, uint64_t *to, const char **name);

/* "region/N/NAME"; `*name`: NAME. */
bool route_region(const char *text, uint64_t *region, const char **name);
/* "of/LEVEL/NAME", LEVEL not the heap; `*name`: NAME. */
bool route_level(const char *text, enum memory_level *level, const char **name);

/* Is this a Host (with or without port) that no stranger's name can stand for: localhost, a literal
 * address, or one of the `count` names? */
bool route_host_is_ours(const char *host, const char *const *names, size_t count);
/* Is an Origin the same as "http://" Host? */
bool route_origin_is(const char *origin, const char *host);

#endif
