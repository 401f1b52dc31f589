/* The packed web bundle, which is linked into the command (cmake/assets.cmake). */
#ifndef TIDEMARK_SERVER_ASSETS_H
#define TIDEMARK_SERVER_ASSETS_H

#include <stddef.h>
#include <stdint.h>

struct asset {
    const char *name;                  /* "app.js" */
    const unsigned char *packed, *end; /* gzip */
};
extern const struct asset assets[];
extern const size_t asset_count;

/* NULL: there is none. */
const struct asset *asset_find(const char *name);
/* By the ending of the name: "text/javascript; charset=utf-8". */
const char *asset_type(const char *name);
uint64_t asset_tag(const struct asset *asset);

#endif
