/* Decides which requests are allowed. A request must name one of the server's hosts, and an Origin,
 * if there is one, must match the Host. Files of the web bundle are everyone's. Everything else
 * needs the token in its Authorization header: a cookie would go to every port of this machine.
 * Tokens are compared in constant time. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "base/random.h"
#include "server/http.h"

bool access_make_secret(char text[SECRET_TEXT])
{
    unsigned char bytes[SECRET_BYTES];
    if (!random_fill(bytes, sizeof bytes))
        return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

/* Takes the same time for every wrong secret of the right length. */
static bool access_is_secret(const char *given, const char *secret)
{
    unsigned char difference = 0;
    if (!given || strlen(given) != SECRET_TEXT - 1)
        return false;
    for (size_t i = 0; i < SECRET_TEXT - 1; i++)
        difference |= (unsigned char)(given[i] ^ secret[i]);
    return !difference;
}

static const char *access_header(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

struct header_count {
    const char *name;
    size_t count;
};

static enum MHD_Result access_count_header(void *context, enum MHD_ValueKind kind, const char *name,
                                           const char *value)
{
    struct header_count *search = context;
    (void)kind, (void)value;
    search->count += !strcasecmp(name, search->name);
    return MHD_YES;
}

/* Has the request two such headers? A proxy may understand such a request differently: RFC 9112,
 * 3.2. */
static bool access_is_said_twice(struct MHD_Connection *connection, const char *name)
{
    struct header_count search = {name, 0};
    MHD_get_connection_values(connection, MHD_HEADER_KIND, access_count_header, &search);
    return search.count > 1;
}

bool access_bears(struct MHD_Connection *connection, const char *scheme, const char *secret)
{
    size_t length = strlen(scheme);
    const char *given = access_header(connection, MHD_HTTP_HEADER_AUTHORIZATION);
    return given && !strncasecmp(given, scheme, length) && given[length] == ' ' &&
           access_is_secret(given + length + 1, secret);
}

static bool access_host_is_ours(const struct server *server, const char *host)
{
    const char *names[] = {server->host, server->options.host};
    return host && route_host_is_ours(host, names, server->options.host ? 2 : 1);
}

/* Is the request from a script of another site's page? A link on another site may lead here. */
static bool access_comes_from_elsewhere(struct MHD_Connection *connection,
                                        const struct route *route)
{
    const char *site = access_header(connection, "Sec-Fetch-Site");
    const char *mode = access_header(connection, "Sec-Fetch-Mode");
    bool ours = !site || !strcmp(site, "same-origin") || !strcmp(site, "none");
    return !ours && !(route->kind == ROUTE_ASSET && mode && !strcmp(mode, "navigate"));
}

enum access access_of(const struct server *server, struct MHD_Connection *connection,
                      const struct route *route)
{
    const char *host = access_header(connection, MHD_HTTP_HEADER_HOST);
    const char *origin = access_header(connection, MHD_HTTP_HEADER_ORIGIN);
    if (access_is_said_twice(connection, MHD_HTTP_HEADER_HOST) ||
        access_is_said_twice(connection, MHD_HTTP_HEADER_ORIGIN))
        return ACCESS_UNCLEAR;
    if (!access_host_is_ours(server, host))
        return ACCESS_WRONG_HOST;
    if ((origin && !route_origin_is(origin, host)) ||
        access_comes_from_elsewhere(connection, route))
        return ACCESS_WRONG_ORIGIN;
    if (route->kind == ROUTE_ASSET)
        return ACCESS_PUBLIC;
    if (!server->has_token || access_bears(connection, "Bearer", server->token))
        return ACCESS_GRANTED;
    if (route->kind == ROUTE_TOKEN)
        return ACCESS_BY_TICKET;
    return access_header(connection, MHD_HTTP_HEADER_AUTHORIZATION) ? ACCESS_WRONG_TOKEN
                                                                    : ACCESS_NO_TOKEN;
}
