/* Built twice, as plugin_alpha.so and plugin_beta.so: the same code, byte for byte, but for the
 * names, so that the loader puts one where the other was. */
#include <stdlib.h>

#define JOIN2(a, b) a##b
#define JOIN(a, b)  JOIN2(a, b)
#define WORK        JOIN(JOIN(plugin_, PLUGIN), _work)

void *plugin_work(void *(*callback)(void));
__attribute__((noipa)) void *WORK(void *(*callback)(void));

__attribute__((noipa)) void *WORK(void *(*callback)(void))
{
    void *volatile first = malloc(PLUGIN_BYTES);
    void *volatile second = malloc(PLUGIN_BYTES);
    free(first);
    free(second);
    void *volatile result = callback();
    return result;
}

void *plugin_work(void *(*callback)(void))
{
    void *volatile result = WORK(callback);
    return result;
}
