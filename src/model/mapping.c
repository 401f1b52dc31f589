/* Names the kinds of mappings for profiles and reports. A kind that this version does not know
 * is called unknown. */
#include "model/mapping.h"

#include <stddef.h>

const char *mapping_kind_name(enum mapping_kind kind)
{
    static const char *const names[] = {
        "unknown", "anonymous", "shared", "file", "shared file", "System V", "break",
    };

    return (size_t)kind < sizeof names / sizeof *names ? names[kind] : names[0];
}
