/* A library with an allocator of its own in it, which it shows to nobody. */
#include <stddef.h>

void unseen_plugin_work(void);

static char area[1 << 16];
static size_t used, freed;

__attribute__((noipa, visibility("hidden"))) void *sn_malloc(size_t size)
{
    used += (size + 15) & ~(size_t)15;
    return area + used;
}
__attribute__((noipa, visibility("hidden"))) void sn_free(void *block)
{
    freed += block != NULL;
    used -= 16;
}

void unseen_plugin_work(void)
{
    static void *volatile kept;
    for (int i = 0; i < 20; i++) {
        kept = sn_malloc(10);
        sn_free(kept);
    }
    kept = sn_malloc(30);
}
