/* Pages that hold known things, each kind in blocks of its own, which stay alive to the end. Says which
 * pages they are on, and with the argument "wait" waits to be looked at. */
#include "victim.h"

#include <sys/mman.h>
#include <sys/prctl.h>

enum { BYTES = 4 << 20, PAGE_BYTES = 4096 };

static unsigned number = 7;

static char *tell(const char *name, char *block)
{
    printf("%s %#lx\n", name, (unsigned long)(uintptr_t)block);
    return block;
}

static void fill_with_noise(char *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        number = number * 1664525u + 1013904223u;
        at[i] = (char)(number >> 24);
    }
}

/* Was something else once, so that it is no page of the kernel's. */
VICTIM void victim_zeros(void)
{
    char *at = tell("zeros", keep(malloc(BYTES)));
    fill_with_noise(at, BYTES);
    memset(at, 0, BYTES);
}

VICTIM void victim_copies(void)
{
    char *at = tell("copies", keep(malloc(BYTES)));
    fill_with_noise(at, PAGE_BYTES);
    for (size_t i = PAGE_BYTES; i < BYTES; i++)
        at[i] = at[i - PAGE_BYTES];
}

VICTIM void victim_noise(void)
{
    fill_with_noise(tell("noise", keep(malloc(BYTES))), BYTES);
}

/* No page like another, each of few letters. */
VICTIM void victim_text(void)
{
    char *at = tell("text", keep(malloc(BYTES)));
    for (int i = 0; i < BYTES; i += 16)
        snprintf(at + i, 16, "%015d", i);
}

/* A quarter each: zeros, a copy of the one before, noise, nothing. */
VICTIM void victim_mapped(void)
{
    char *at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    memset(tell("mapped", at), 0, BYTES / 4);
    for (int i = BYTES / 4; i < BYTES / 2; i += PAGE_BYTES)
        memset(at + i, 5, PAGE_BYTES);
    fill_with_noise(at + BYTES / 2, BYTES / 4);
}

int main(int argc, char **argv)
{
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    victim_zeros();
    victim_copies();
    victim_noise();
    victim_text();
    victim_mapped();
    printf("pid %d\n", (int)getpid());
    fflush(stdout);
    if (argc > 1 && strcmp(argv[1], "wait") == 0)
        (void)!read(0, &number, 1);
    return 0;
}
