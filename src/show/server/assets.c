/* Finds a file of the web bundle by name and gives its content type (assets.h). Both are linear
 * searches over short tables. */
#include "server/assets.h"

#include <string.h>
#include "base/hash.h"

const struct asset *asset_find(const char *name)
{
    for (size_t i = 0; i < asset_count; i++)
        if (!strcmp(assets[i].name, name))
            return &assets[i];
    return NULL;
}

const char *asset_type(const char *name)
{
    static const struct {
        const char *ending, *type;
    } types[] = {
        {".html", "text/html; charset=utf-8"},
        {".js", "text/javascript; charset=utf-8"},
        {".css", "text/css; charset=utf-8"},
        {".json", "application/json"},
        {".wasm", "application/wasm"},
        {".svg", "image/svg+xml"},
        {".png", "image/png"},
        {".woff2", "font/woff2"},
    };
    const char *ending = strrchr(name, '.');
    for (size_t i = 0; ending && i < sizeof types / sizeof *types; i++)
        if (!strcmp(types[i].ending, ending))
            return types[i].type;
    return "application/octet-stream";
}

uint64_t asset_tag(const struct asset *asset)
{
    return hash_bytes(asset->packed, (size_t)(asset->end - asset->packed));
}
