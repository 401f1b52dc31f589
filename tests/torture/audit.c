/* An LD_AUDIT library: it has a name space, and with it a malloc, of its own. */
#include <link.h>
#include <stdlib.h>

static unsigned opened;

unsigned la_version(unsigned version)
{
    free(malloc(100));
    return version;
}

unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{
    (void)map, (void)space, (void)cookie;
    opened++;
    free(malloc(100 + opened));
    return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}
