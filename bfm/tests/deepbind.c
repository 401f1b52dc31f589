/* Under LD_PRELOAD=libbfm.so: loads a module with RTLD_DEEPBIND, by its name along the RUNPATH of
 * this program, and shares blocks with it. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef char *longer(char *text);

int main(void)
{
    void *module = dlopen("libbfm_bound.so", RTLD_NOW | RTLD_DEEPBIND);
    longer *of;
    char *text = strdup("four");

    if (!module) {
        puts(dlerror());
        return 1;
    }
    *(void **)&of = dlsym(module, "bound_longer");
    for (int i = 0; of && text && i < 14; i++)
        text = of(text);
    if (!text || strlen(text) != 4 << 14)
        return 2;
    free(text);
    return 0;
}
