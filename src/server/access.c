/* Who may ask: a token or the cookie that stands for it, and a Host and Origin that are ours. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include "server/http.h"

bool access_make_secret(char text[SECRET_TEXT])
{
    unsigned char bytes[SECRET_BYTES];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

/* Takes as long for any wrong one. */
static bool is_secret(const char *given, const char *secret)
{
    unsigned char difference = 0;
    if (!given || strlen(given) != SECRET_TEXT - 1)
        return false;
    for (size_t i = 0; i < SECRET_TEXT - 1; i++)
        difference |= (unsigned char)(given[i] ^ secret[i]);
    return !difference;
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

struct header_count {
    const char *name;
    size_t count;
};

static enum MHD_Result count_header(void *context, enum MHD_ValueKind kind, const char *name,
                                    const char *value)
{
    struct header_count *search = context;
    (void)kind, (void)value;
    search->count += !strcasecmp(name, search->name);
    return MHD_YES;
}

/* A request with two of these means one thing to us and another to a proxy before us: RFC 9112, 3.2. */
static bool is_said_twice(struct MHD_Connection *connection, const char *name)
{
    struct header_count search = {name, 0};
    MHD_get_connection_values(connection, MHD_HEADER_KIND, count_header, &search);
    return search.count > 1;
}

static bool bears_token(const struct server *server, struct MHD_Connection *connection)
{
    static const char scheme[] = "Bearer ";
    const char *given = header(connection, MHD_HTTP_HEADER_AUTHORIZATION);
    return given && !strncasecmp(given, scheme, strlen(scheme)) &&
           is_secret(given + strlen(scheme), server->token);
}

static bool has_cookie(const struct server *server, struct MHD_Connection *connection)
{
    return is_secret(MHD_lookup_connection_value(connection, MHD_COOKIE_KIND, server->cookie),
                     server->session);
}

static bool host_is_ours(const struct server *server, const char *host)
{
    const char *names[] = {server->host, server->options.host};
    return host && route_host_is_ours(host, names, server->options.host ? 2 : 1);
}

/* A page of another site may lead here (a link in a mail), but its scripts may not ask. */
static bool comes_from_elsewhere(struct MHD_Connection *connection, const struct route *route)
{
    const char *site = header(connection, "Sec-Fetch-Site");
    const char *mode = header(connection, "Sec-Fetch-Mode");
    bool ours = !site || !strcmp(site, "same-origin") || !strcmp(site, "none");
    return !ours && !(route->kind == ROUTE_ASSET && mode && !strcmp(mode, "navigate"));
}

enum access access_of(const struct server *server, struct MHD_Connection *connection,
                      const struct route *route)
{
    const char *host = header(connection, MHD_HTTP_HEADER_HOST);
    const char *origin = header(connection, MHD_HTTP_HEADER_ORIGIN);
    if (is_said_twice(connection, MHD_HTTP_HEADER_HOST) ||
        is_said_twice(connection, MHD_HTTP_HEADER_ORIGIN))
        return ACCESS_UNCLEAR;
    if (!host_is_ours(server, host))
        return ACCESS_WRONG_HOST;
    if ((origin && !route_origin_is(origin, host)) || comes_from_elsewhere(connection, route))
        return ACCESS_WRONG_ORIGIN;
    if (!server->has_token)
        return route->has_token ? ACCESS_NEW : ACCESS_GRANTED;
    if (route->has_token)
        return is_secret(route->token, server->token) ? ACCESS_NEW : ACCESS_WRONG_TOKEN;
    if (has_cookie(server, connection) || bears_token(server, connection))
        return ACCESS_GRANTED;
    return ACCESS_NO_TOKEN;
}
