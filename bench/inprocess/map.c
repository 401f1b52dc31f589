/* What calls cost that map memory: ns a call, the best of several rounds; and programs to look at.
 *
 *     map [ROUNDS]      one range again and again
 *     map many N        N ranges, mapped and unmapped in random order
 *     map hold N        N mappings, held until standard input ends
 *     map resident MIB  so much resident memory, likewise */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

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

/* ---- Many ranges ---- */

static int *shuffled(int count)
{
    int *order = malloc((size_t)count * sizeof *order);

    for (int i = 0; i < count; i++)
        order[i] = i;
    for (int i = count - 1; i > 0; i--) {
        int j = rand() % (i + 1), other = order[i];
        order[i] = order[j];
        order[j] = other;
    }
    return order;
}

static int many(int count)
{
    int *order = shuffled(count);
    char *base =
        mmap(NULL, (size_t)count * 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    munmap(base, (size_t)count * 2 * PAGE);
    double begin = now_ns();
    for (int i = 0; i < count; i++)
        mmap(base + (size_t)order[i] * 2 * PAGE, PAGE, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    double middle = now_ns();
    for (int i = 0; i < count; i++)
        munmap(base + (size_t)order[i] * 2 * PAGE, PAGE);
    printf("mmap of %d %.0f\nmunmap of them %.0f\n", count, (middle - begin) / count,
           (now_ns() - middle) / count);
    return 0;
}

/* ---- To be looked at ---- */

static int wait_for_end(void)
{
    char byte;

    while (read(0, &byte, 1) > 0)
        ;
    return 0;
}

/* The kernel joins none of them with its neighbours. */
static int hold(int count)
{
    for (int i = 0; i < count; i++) {
        char *pages =
            mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        *pages = 1;
        if (i % 2)
            mprotect(pages, 2 * PAGE, PROT_READ);
    }
    return wait_for_end();
}

static int resident(int mib)
{
    size_t bytes = (size_t)mib << 20;

    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    memset(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, bytes);
    return wait_for_end();
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "many") == 0)
        return many(atoi(argv[2]));
    if (argc > 2 && strcmp(argv[1], "hold") == 0)
        return hold(atoi(argv[2]));
    if (argc > 2 && strcmp(argv[1], "resident") == 0)
        return resident(atoi(argv[2]));
    int rounds = argc > 1 ? atoi(argv[1]) : 20;
    file = open("/proc/self/exe", O_RDONLY);
    char *pages = map();

    printf("mmap+munmap %.0f\n", best(map_and_unmap, pages, rounds));
    printf("mprotect %.0f\n", best(protect, pages, rounds));
    printf("madvise %.0f\n", best(advise, pages, rounds));
    return 0;
}
