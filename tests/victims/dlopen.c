/* Loads and unloads two plugins by turns: the same addresses are other code each time. */
#include "victim.h"
#include <dlfcn.h>

VICTIM void *victim_callback(void)
{
    return keep(malloc(7));
}

static void *use(const char *path)
{
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!plugin)
        dprintf(2, "%s\n", dlerror());
    CHECK(plugin);
    void *(*work)(void *(*)(void)) = (void *(*)(void *(*)(void)))dlsym(plugin, "plugin_work");
    CHECK(work);
    work(victim_callback);
    CHECK(!dlclose(plugin));
    return (void *)work;
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    int reused = 0;
    for (int i = 0; i < 50; i++) {
        void *alpha = use(argv[1]);
        reused += use(argv[2]) == alpha;
    }
    victim_fact("reused", (unsigned long long)reused);
    puts("dlopen: done");
    return 0;
}
