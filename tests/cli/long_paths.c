/* Calls a library from the place where it lies, while another one comes and goes:
 * long_paths LIBRARY OTHER. Tells how long the library's path is. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    enum { ROUNDS = 6, BLOCKS = 5 };
    void *library = argc == 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
    void (*work)(int) = library ? (void (*)(int))dlsym(library, "plugin_work") : NULL;
    if (!work) {
        puts(dlerror());
        return 1;
    }
    for (int round = 0; round < ROUNDS; round++) {
        work(BLOCKS);
        void *other = dlopen(argv[2], RTLD_NOW);
        void (*other_work)(int) = other ? (void (*)(int))dlsym(other, "plugin_work") : NULL;
        if (!other_work || other_work == work)
            return 2;
        other_work(1);
        dlclose(other);
    }
    printf("%zu bytes of path\n", strlen(argv[1]));
    return 0;
}
