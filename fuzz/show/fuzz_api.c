/* Any bytes as the target of a request for a resource of a profile: there is none, or it is whole.
 * The profile is a golden one; of regions, what it knows of the first. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "profile/profile.h"
#include "server/resources.h"
#include "server/router.h"
#include "fuzz.h"

static const struct resources *golden(bool region)
{
    static struct resources resources[2];
    static struct profile *profiles[2];
    struct profile **profile = &profiles[region];
    if (!*profile) {
        must(profile_read(profile, GOLDEN_DIR "/profile-v2-details.tmk") == 0);
        must(!region || !(*profile)->region_count || profile_cut_region_at(*profile, 0) == 0);
        must(resources_open(&resources[region], *profile, NULL) == 0);
    }
    return &resources[region];
}

/* Documents are an object each, or columns. */
static void check_document(const struct strbuf *out, enum resource_type type)
{
    must(out->length > 0);
    if (type == RESOURCE_JSON)
        must(out->data[0] == '{' || out->data[0] == '[');
}

static void make(const char *name, bool region)
{
    struct strbuf out = STRBUF_INIT, why = STRBUF_INIT;
    enum resource_type type;
    int error = resources_make(golden(region), name, &out, &type, &why);
    must(error == 0 || error == -ENOENT || error == -ENODATA);
    if (!error)
        check_document(&out, type);
    must(error != -ENODATA || why.length > 0);
    strbuf_release(&out);
    strbuf_release(&why);
}

/* As the server does: of a window, or of a region of it. */
static void follow(const char *name)
{
    uint64_t from, to, number;
    const char *rest = name;
    if (route_window(name, &from, &to, &rest))
        name = rest;
    bool region = route_region(name, &number, &rest);
    make(region ? rest : name, region);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct route route;
    char *target = malloc(size + 1);
    if (!target)
        abort();
    memcpy(target, data, size);
    target[size] = 0;
    route_parse(&route, target);
    if (route.kind == ROUTE_RESOURCE)
        follow(route.name);
    else
        make(target, false); /* names that the router would not let through */
    free(target);
    return 0;
}
