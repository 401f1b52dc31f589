/* Parses a request's target into a route (router.h). Only plain characters are accepted, and names
 * must not begin with a dot. The query is ignored: a secret in it would be kept in logs and
 * histories. */
#include "server/router.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

static const char name_characters[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";

/* ---- The target ---------------------------------------------------------------------------- */

static bool router_is_printable(const char *text, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (text[i] <= ' ' || text[i] >= 0x7f || text[i] == '\\' || text[i] == '#')
            return false;
    return true;
}

/* Names separated by slashes, none empty and none with a dot first, so that no name leads upwards
 * or to hidden files. */
static bool router_is_plain(const char *path)
{
    while (*path == '/') {
        size_t part = strspn(++path, name_characters);
        if (!part || *path == '.')
            return false;
        path += part;
    }
    return !*path;
}

/* "12/summary": the number and what comes behind it. */
static bool router_take_profile(struct route *route, const char *text)
{
    size_t digits = strspn(text, "0123456789");
    if (!digits || digits > 6 || (digits > 1 && *text == '0') || text[digits] != '/')
        return false;
    for (size_t i = 0; i < digits; i++)
        route->profile = 10 * route->profile + (size_t)(text[i] - '0');
    size_t length = strlen(text + digits + 1);
    if (length >= ROUTE_NAME_MAX)
        return false;
    memcpy(route->name, text + digits + 1, length + 1);
    return true;
}

static enum route_kind router_kind_of(struct route *route, const char *path)
{
    static const char api[] = "/api/";
    if (!strcmp(path, "/")) {
        strcpy(route->name, "index.html");
        return ROUTE_ASSET;
    }
    if (!router_is_plain(path))
        return ROUTE_NONE;
    if (!strcmp(path, "/api/v1/profiles"))
        return ROUTE_PROFILES;
    if (!strcmp(path, "/api/v1/token"))
        return ROUTE_TOKEN;
    if (!strcmp(path, "/api/v1/live"))
        return ROUTE_LIVE;
    if (!strncmp(path, "/api/v1/p/", 10))
        return router_take_profile(route, path + 10) ? ROUTE_RESOURCE : ROUTE_NONE;
    size_t length = strlen(path + 1);
    if (!strncmp(path, api, strlen(api)) || strchr(path + 1, '/') || length >= ROUTE_NAME_MAX)
        return ROUTE_NONE;
    memcpy(route->name, path + 1, length + 1);
    return ROUTE_ASSET;
}

void route_parse(struct route *route, const char *target)
{
    *route = (struct route){.kind = ROUTE_BAD};
    size_t length = strnlen(target, ROUTE_TARGET_MAX + 1);
    if (length > ROUTE_TARGET_MAX)
        route->kind = ROUTE_TOO_LONG;
    if (length > ROUTE_TARGET_MAX || *target != '/' || target[1] == '/' ||
        !router_is_printable(target, length))
        return;
    size_t path = strcspn(target, "?");
    char only_path[ROUTE_TARGET_MAX + 1];
    memcpy(only_path, target, path);
    only_path[path] = 0;
    route->kind = router_kind_of(route, only_path);
}

/* ---- Numbers in names ---------------------------------------------------------------------- */

bool route_number(const char **text, uint64_t *number)
{
    enum { DIGITS_MAX = 19 };
    size_t digits = strspn(*text, "0123456789");
    if (!digits || digits > DIGITS_MAX || (digits > 1 && **text == '0'))
        return false;
    *number = 0;
    for (; digits; digits--)
        *number = 10 * *number + (uint64_t)(*(*text)++ - '0');
    return true;
}

bool route_window(const char *text, uint64_t *from, uint64_t *to, const char **name)
{
    static const char prefix[] = "window/";
    if (strncmp(text, prefix, strlen(prefix)))
        return false;
    text += strlen(prefix);
    if (!route_number(&text, from) || *text++ != '-' || !route_number(&text, to) ||
        *text++ != '/' || !*text || *from > *to)
        return false;
    *name = text;
    return true;
}

bool route_region(const char *text, uint64_t *region, const char **name)
{
    static const char prefix[] = "region/";
    if (strncmp(text, prefix, strlen(prefix)))
        return false;
    text += strlen(prefix);
    if (!route_number(&text, region) || *text++ != '/' || !*text)
        return false;
    *name = text;
    return true;
}

bool route_level(const char *text, enum memory_level *level, const char **name)
{
    static const char prefix[] = "of/";
    if (strncmp(text, prefix, strlen(prefix)))
        return false;
    text += strlen(prefix);
    for (int i = MEMORY_HEAP + 1; i < MEMORY_LEVELS; i++) {
        const char *word = memory_level_name((enum memory_level)i);
        size_t length = strlen(word);
        if (strncmp(text, word, length) || text[length] != '/' || !text[length + 1])
            continue;
        *level = (enum memory_level)i;
        *name = text + length + 1;
        return true;
    }
    return false;
}

/* ---- Who may ask --------------------------------------------------------------------------- */

/* The host without its port, an IPv6 address without brackets. False: it is malformed. */
static bool router_split_host(const char *host, char *name, size_t room)
{
    bool bracketed = *host == '[';
    const char *begin = host + bracketed;
    size_t length = strcspn(begin, bracketed ? "]" : ":");
    const char *rest = begin + length;
    if (bracketed && *rest++ != ']')
        return false;
    if (!length || length >= room)
        return false;
    memcpy(name, begin, length);
    name[length] = 0;
    return !*rest || (*rest == ':' && rest[1] && !rest[1 + strspn(rest + 1, "0123456789")]);
}

bool route_host_is_ours(const char *host, const char *const *names, size_t count)
{
    char name[256];
    unsigned char address[sizeof(struct in6_addr)];
    if (!router_split_host(host, name, sizeof name))
        return false;
    if (*host == '[')
        return inet_pton(AF_INET6, name, address) == 1;
    if (!strcasecmp(name, "localhost") || inet_pton(AF_INET, name, address) == 1)
        return true;
    for (size_t i = 0; i < count; i++)
        if (!strcasecmp(name, names[i]))
            return true;
    return false;
}

bool route_origin_is(const char *origin, const char *host)
{
    static const char scheme[] = "http://";
    return !strncasecmp(origin, scheme, strlen(scheme)) &&
           !strcasecmp(origin + strlen(scheme), host);
}
