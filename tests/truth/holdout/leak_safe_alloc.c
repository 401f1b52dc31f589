/* truth: sick
 * what: an observer is registered at each reload; the list is made anew, the observers are not freed
 * expect: leak-lost leak-growth
 * wrapper: safe_emalloc checked_new */
#include "truth.h"

struct observer {
    int event;
    char context[450];
};

static struct observer *observers[10];

NOINLINE static void *safe_emalloc(size_t count, size_t size, size_t offset)
{
    void *block = malloc(count * size + offset);
    if (!block)
        exit(3);
    return block;
}

NOINLINE static void *checked_new(size_t size)
{
    char *block = safe_emalloc(1, size, 0);
    block[0] = 0;
    return block;
}

NOINLINE static void config_read(int i)
{
    char *text = checked_new(3000);
    text[i % 3000] = 1;
    use(text);
    free(text);
}

NOINLINE static void observer_register(int slot, int i)
{
    observers[slot] = checked_new(sizeof **observers); /* guilty: observer_register */
    observers[slot]->event = i;
}

int main(void)
{
    for (int i = 0; i < 1500; i++) {
        config_read(i);
        for (int slot = 0; slot < 10; slot++)
            observer_register(slot, i);
        pace(i, 3);
    }
    return 0;
}
