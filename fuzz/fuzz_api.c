/* Any bytes as the target of a request for a resource of a profile: there is none, or it is whole.
 * The profile is a golden one. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "profile/profile.h"
#include "server/resources.h"
#include "server/router.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
    if (!holds)
        abort();
}

static const struct resources *golden(void)
{
    static struct resources resources;
    static struct profile *profile;
    if (!profile) {
        must(profile_read(&profile, GOLDEN_DIR "/profile-v2-details.tmk") == 0);
        must(resources_open(&resources, profile, NULL) == 0);
    }
    return &resources;
}

/* Documents are an object each, or columns. */
static void check_document(const struct strbuf *out, enum resource_type type)
{
    must(out->length > 0);
    if (type == RESOURCE_JSON)
        must(out->data[0] == '{' || out->data[0] == '[');
}

static void make(const char *name)
{
    struct strbuf out = STRBUF_INIT, why = STRBUF_INIT;
    enum resource_type type;
    int error = resources_make(golden(), name, &out, &type, &why);
    must(error == 0 || error == -ENOENT || error == -ENODATA);
    if (!error)
        check_document(&out, type);
    must(error != -ENODATA || why.length > 0);
    strbuf_release(&out);
    strbuf_release(&why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct route route;
    uint64_t from, to;
    const char *name;
    char *target = malloc(size + 1);
    if (!target)
        abort();
    memcpy(target, data, size);
    target[size] = 0;
    route_parse(&route, target);
    if (route.kind == ROUTE_RESOURCE)
        make(route_window(route.name, &from, &to, &name) ? name : route.name);
    else
        make(target); /* names that the router would not let through */
    free(target);
    return 0;
}
