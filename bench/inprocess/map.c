/* What calls cost that map memory: ns a call, the best of several rounds. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { CALLS = 20000, PAGE = 4096 };

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int file;

/* Of a file: the kernel joins it with no neighbour, of which a recorded program has others. */
static char *map(void)
{
    return mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
}

static void map_and_unmap(char *pages)
{
    (void)pages;
    for (int i = 0; i < CALLS / 2; i++)
        munmap(map(), 16 * PAGE);
}

static void protect(char *pages)
{
    for (int i = 0; i < CALLS; i++)
        mprotect(pages, 16 * PAGE, i & 1 ? PROT_READ : PROT_READ | PROT_WRITE);
}

static void advise(char *pages)
{
    for (int i = 0; i < CALLS; i++)
        madvise(pages, 16 * PAGE, MADV_DONTNEED);
}

static double best(void (*work)(char *pages), char *pages, int rounds)
{
    double least = 1e18;

    for (int i = 0; i < rounds; i++) {
        double since = now_ns();
        work(pages);
        double took = (now_ns() - since) / CALLS;
        least = took < least ? took : least;
    }
    return least;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 20;
    file = open("/proc/self/exe", O_RDONLY);
    char *pages = map();

    printf("mmap+munmap %.0f\n", best(map_and_unmap, pages, rounds));
    printf("mprotect %.0f\n", best(protect, pages, rounds));
    printf("madvise %.0f\n", best(advise, pages, rounds));
    return 0;
}
