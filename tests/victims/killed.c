/* Allocates until it is killed, and keeps count in a shared file (argument 2), each count raised
 * after its call returned: uint64 pid, then one uint64 per thread. killed.sh reads it. */
#include "victim.h"
#include <stdatomic.h>
#include <sys/mman.h>

static _Atomic uint64_t *counter; /* [0]: pid; one per cache line, 8 words apart */

VICTIM void victim_counted(void **block)
{
    *block = keep(malloc(64));
    barrier();
}

static void *body(void *argument)
{
    _Atomic uint64_t *mine = &counter[8 * (1 + (intptr_t)argument)];
    void *window[256] = {0};
    for (size_t i = 0;; i++) {
        free(window[i % 256]);
        victim_counted(&window[i % 256]);
        atomic_fetch_add_explicit(mine, 1, memory_order_release);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    int fd = open(argv[2], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && !ftruncate(fd, 8192));
    counter = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(counter != MAP_FAILED);
    atomic_store(&counter[0], (uint64_t)getpid());
    victim_in_threads(atoi(argv[1]), body);
    return 0;
}
