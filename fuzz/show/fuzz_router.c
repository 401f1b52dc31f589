/* Any bytes as a request's target, and as Host and Origin: names stay plain, and the query
 * says nothing. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "server/router.h"
#include "fuzz.h"

static void check_name(const char *name)
{
    must(strlen(name) < ROUTE_NAME_MAX && *name && *name != '/' && *name != '.');
    must(!strstr(name, "..") || !strstr(name, "/.."));
    must(!strstr(name, "//") && !strstr(name, "/.") && !strchr(name, '%') && !strchr(name, '\\'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    static struct route route, again;

    memcpy(text, data, size);
    text[size] = 0;
    route_parse(&route, text);
    if (route.kind != ROUTE_BAD && route.kind != ROUTE_TOO_LONG) {
        text[strcspn(text, "?")] = 0;
        route_parse(&again, text);
        must(again.kind == route.kind && !strcmp(again.name, route.name));
    }
    if (route.kind == ROUTE_ASSET || route.kind == ROUTE_RESOURCE)
        check_name(route.name);
    if (route.kind == ROUTE_ASSET)
        must(!strchr(route.name, '/'));
    uint64_t from, to;
    const char *rest;
    if (route.kind == ROUTE_RESOURCE && route_window(route.name, &from, &to, &rest))
        must(from <= to && rest > route.name && rest < route.name + strlen(route.name));
    if (route.kind == ROUTE_RESOURCE && route_region(route.name, &from, &rest))
        must(rest > route.name && rest < route.name + strlen(route.name));
    rest = text;
    if (route_number(&rest, &from))
        must(rest > text && rest <= text + 19 && from < UINT64_C(10000000000000000000));
    const char *name = "host";
    if (route_host_is_ours(text, &name, 1))
        must(strlen(text) < 300 && !strchr(text, '/') && !strchr(text, '@'));
    must(!route_origin_is(text, text));
    free(text);
    return 0;
}
