// Allocations before main and after it, in thread-local destructors and in exit handlers.
#include "victim.h"

extern "C" void *victim_library(void);

static void some(size_t size)
{
    for (int i = 0; i < 5; i++) {
        void *block = keep(malloc(size));
        if (i < 3)
            free(block);
    }
}

extern "C" VICTIM __attribute__((constructor)) void victim_constructor(void)
{
    some(1);
}

extern "C" VICTIM __attribute__((destructor)) void victim_destructor(void)
{
    some(2);
}

VICTIM_C void victim_global_constructed(void)
{
    some(3);
}

VICTIM_C void victim_global_destroyed(void)
{
    some(4);
}

static struct Global {
    Global()
    {
        victim_global_constructed();
    }
    ~Global()
    {
        victim_global_destroyed();
    }
} global;

VICTIM_C void victim_local_constructed(void)
{
    some(5);
}

VICTIM_C void victim_local_destroyed(void)
{
    some(6);
}

struct Local {
    int used = 0;
    Local()
    {
        victim_local_constructed();
    }
    ~Local()
    {
        victim_local_destroyed();
    }
};
static thread_local Local local;

VICTIM_C void victim_atexit(void)
{
    some(7);
}

static pthread_key_t key;

// Asks to be called again: all PTHREAD_DESTRUCTOR_ITERATIONS (4) rounds.
VICTIM_C void victim_key_destructor(void *value)
{
    some(8);
    pthread_setspecific(key, value);
}

VICTIM_C void victim_main(void)
{
    some(9);
}

VICTIM_C void *victim_freed_by_destructor(void)
{
    return keep(malloc(10));
}

static pthread_key_t freeing_key;

static void *body(void *argument)
{
    local.used++;
    CHECK(!pthread_setspecific(key, &key));
    CHECK(!pthread_setspecific(freeing_key, victim_freed_by_destructor()));
    return argument;
}

int main(int argc, char **argv)
{
    int threads = victim_thread_count(argc, argv);
    pthread_t thread[64];
    CHECK(victim_library());
    CHECK(!pthread_key_create(&key, victim_key_destructor));
    CHECK(!pthread_key_create(&freeing_key, free));
    CHECK(!atexit(victim_atexit));
    victim_main();
    for (int i = 0; i < threads; i++)
        CHECK(!pthread_create(&thread[i], nullptr, body, nullptr));
    for (int i = 0; i < threads; i++)
        CHECK(!pthread_join(thread[i], nullptr));
    local.used++; // main's own: destroyed at exit
    puts("early_late: done");
    return 0;
}
