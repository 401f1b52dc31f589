/* Loads a library with RTLD_DEEPBIND, which the loader binds to the C library's malloc and free and
 * not to those that were preloaded, and passes blocks both ways. PHP loads its extensions so. */
#include "torture.h"
#include <dlfcn.h>

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    for (int round = 0; round < 20; round++) {
        void *handle = dlopen(argv[1], RTLD_NOW | RTLD_DEEPBIND);
        CHECK(handle);
        void *(*give)(size_t) = (void *(*)(size_t))dlsym(handle, "deep_gives");
        void (*take)(void *) = (void (*)(void *))dlsym(handle, "deep_takes");
        CHECK(give && take);
        for (int i = 0; i < 100; i++) {
            free(keep(give(50)));
            take(torture_counted(60));
            torture_freed(torture_counted(70));
        }
        CHECK(!dlclose(handle));
    }
    victim_fact("allocations", torture_counts->allocations);
    puts("deepbind: done");
    return 0;
}
