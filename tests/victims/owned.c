/* Maps memory of every kind, and takes parts of it away in every way. Each function touches a known number
 * of pages: tests/cli/owned.sh knows how many of them it owns at the end.
 *
 *   owned ranges FILE   every kind of range; FILE is made, 64 pages long
 *   owned fork          a child has what its parent has mapped
 *   owned heir FILE     and its child again, of every kind of range
 *   owned storm         32 threads map and unmap
 *   owned told          maps and unmaps as standard input says, a letter each
 *   owned spike         most is resident before anybody can have looked
 *   owned static        a program whose own code allocates nothing */
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/wait.h>

#include "victim.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum { PAGE = 4096, WRITABLE = PROT_READ | PROT_WRITE, PLAIN = MAP_PRIVATE | MAP_ANONYMOUS };

_Alignas(4096) char owned_table[16 << 20];

/* By writing to them. */
static char *touch(char *at, int pages)
{
    for (int i = 0; i < pages; i++)
        ((volatile char *)at)[(size_t)i * PAGE] = 1;
    return at;
}

static char *sound(void *mapped)
{
    CHECK(mapped != MAP_FAILED);
    return keep(mapped);
}

/* ---- Kinds of ranges ---- */

VICTIM static void own_anonymous(void)
{
    touch(sound(mmap(NULL, 64 * PAGE, WRITABLE, PLAIN, -1, 0)), 40);
}

VICTIM static void own_shared(void)
{
    touch(sound(mmap(NULL, 32 * PAGE, WRITABLE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)), 20);
}

VICTIM static void own_file(int file)
{
    touch(sound(mmap(NULL, 16 * PAGE, WRITABLE, MAP_SHARED, file, 0)), 16);
}

/* Pages of its own, by writing. */
VICTIM static void own_copies(int file)
{
    touch(sound(mmap(NULL, 16 * PAGE, WRITABLE, MAP_PRIVATE, file, 32 * PAGE)), 16);
}

VICTIM static void own_memfd(void)
{
    int file = memfd_create("owned", MFD_CLOEXEC);
    CHECK(ftruncate(file, 24 * PAGE) == 0);
    touch(sound(mmap(NULL, 24 * PAGE, WRITABLE, MAP_SHARED, file, 0)), 24);
    close(file);
}

VICTIM static void own_posix(void)
{
    char name[64];
    snprintf(name, sizeof name, "/tidemark-owned-%d", (int)getpid());
    int file = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    CHECK(file >= 0 && ftruncate(file, 12 * PAGE) == 0);
    touch(sound(mmap(NULL, 12 * PAGE, WRITABLE, MAP_SHARED, file, 0)), 12);
    shm_unlink(name);
    close(file);
}

VICTIM static void own_sysv(void)
{
    int segment = shmget(IPC_PRIVATE, 10 * PAGE, IPC_CREAT | 0600);
    CHECK(segment >= 0);
    touch(sound(shmat(segment, NULL, 0)), 10);
    shmctl(segment, IPC_RMID, NULL);
}

/* From the first whole page on. */
VICTIM static void own_break(void)
{
    char *before = sbrk(0);
    size_t lacks = -(size_t)before % PAGE;
    CHECK(sbrk((intptr_t)lacks) != (void *)-1 && sbrk(18 * PAGE) == before + lacks);
    touch(before + lacks, 18);
}

VICTIM static void own_untouched(void)
{
    touch(sound(mmap(NULL, 1000 * PAGE, WRITABLE, PLAIN | MAP_NORESERVE, -1, 0)), 15);
}

/* Grows by touching what is below; the kernel keeps a gap to what is mapped there. */
VICTIM static void own_downwards(void)
{
    char *room = sound(mmap(NULL, 1000 * PAGE, PROT_NONE, PLAIN | MAP_NORESERVE, -1, 0));
    munmap(room, 1000 * PAGE);
    char *top = sound(mmap(room + 900 * PAGE, 2 * PAGE, WRITABLE,
                           PLAIN | MAP_GROWSDOWN | MAP_FIXED_NOREPLACE, -1, 0));
    for (int i = 1; i >= -20; i--)
        ((volatile char *)top)[(ptrdiff_t)i * PAGE] = 1;
}

VICTIM static void own_nothing(void)
{
    CHECK(mmap(NULL, 1ul << 50, WRITABLE, PLAIN, -1, 0) == MAP_FAILED);
    CHECK(munmap((void *)1, PAGE) < 0);
    void *huge = mmap(NULL, 2 << 20, WRITABLE, PLAIN | MAP_HUGETLB, -1, 0);
    CHECK(huge == MAP_FAILED || munmap(huge, 2 << 20) == 0);
}

/* ---- Parts that go ---- */

VICTIM static char *own_what_stays(void)
{
    return touch(sound(mmap(NULL, 30 * PAGE, WRITABLE, PLAIN, -1, 0)), 30);
}

VICTIM static void own_what_replaces(char *at)
{
    touch(sound(mmap(at + 10 * PAGE, 10 * PAGE, WRITABLE, PLAIN | MAP_FIXED, -1, 0)), 5);
}

VICTIM static void own_pieces(void)
{
    char *all = touch(sound(mmap(NULL, 50 * PAGE, WRITABLE, PLAIN, -1, 0)), 50);
    munmap(all, 5 * PAGE);
    munmap(all + 20 * PAGE, 10 * PAGE);
    munmap(all + 45 * PAGE, 5 * PAGE);
}

VICTIM static char *own_first_of_two(char *at)
{
    return touch(sound(mmap(at, 10 * PAGE, WRITABLE, PLAIN | MAP_FIXED, -1, 0)), 10);
}

VICTIM static char *own_second_of_two(char *at)
{
    return touch(sound(mmap(at, 10 * PAGE, WRITABLE, PLAIN | MAP_FIXED, -1, 0)), 10);
}

/* One call over both: 6 and 3 pages stay. */
VICTIM static void unmap_over_two(void)
{
    char *room = sound(mmap(NULL, 20 * PAGE, PROT_NONE, PLAIN, -1, 0));
    own_first_of_two(room);
    own_second_of_two(room + 10 * PAGE);
    munmap(room + 6 * PAGE, 11 * PAGE);
}

VICTIM static void own_discarded(void)
{
    char *all = touch(sound(mmap(NULL, 20 * PAGE, WRITABLE, PLAIN, -1, 0)), 20);
    CHECK(madvise(all + 4 * PAGE, 8 * PAGE, MADV_DONTNEED) == 0);
}

/* Removed from what is shared. */
VICTIM static void own_removed(void)
{
    char *all =
        touch(sound(mmap(NULL, 20 * PAGE, WRITABLE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)), 20);
    CHECK(madvise(all, 7 * PAGE, MADV_REMOVE) == 0);
}

/* Free pages stay until the kernel wants them. */
VICTIM static void own_lazily_freed(void)
{
    char *all = touch(sound(mmap(NULL, 20 * PAGE, WRITABLE, PLAIN, -1, 0)), 20);
    madvise(all, 8 * PAGE, MADV_FREE);
    touch(all, 8); /* wanted after all */
}

/* ---- Ranges that move and change ---- */

VICTIM static char *own_until_moved(void)
{
    return touch(sound(mmap(NULL, 10 * PAGE, WRITABLE, PLAIN, -1, 0)), 10);
}

VICTIM static void own_grown(char *from)
{
    touch(sound(mremap(from, 10 * PAGE, 44 * PAGE, MREMAP_MAYMOVE)), 44);
}

VICTIM static void own_shrunk(char *from)
{
    sound(mremap(from, 10 * PAGE, 4 * PAGE, 0));
}

VICTIM static void own_placed(char *from)
{
    char *room = sound(mmap(NULL, 10 * PAGE, PROT_NONE, PLAIN, -1, 0));
    sound(mremap(from, 10 * PAGE, 10 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, room));
}

/* The old range stays, without its pages; 3 of them come anew. */
VICTIM static void own_left_behind(void)
{
    char *from = touch(sound(mmap(NULL, 11 * PAGE, WRITABLE, PLAIN, -1, 0)), 11);
    char *to = mremap(from, 11 * PAGE, 11 * PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
    if (to == MAP_FAILED)
        munmap(from, 11 * PAGE), touch(sound(mmap(NULL, 14 * PAGE, WRITABLE, PLAIN, -1, 0)), 14);
    else
        touch(from, 3);
}

VICTIM static void own_committed(char *at)
{
    CHECK(mprotect(at + 100 * PAGE, 30 * PAGE, WRITABLE) == 0);
    touch(at + 100 * PAGE, 25);
}

VICTIM static void reserve_and_commit(void)
{
    own_committed(sound(mmap(NULL, 1000 * PAGE, PROT_NONE, PLAIN, -1, 0)));
}

/* ---- Threads ---- */

VICTIM static void *own_of_a_thread(void *unused)
{
    (void)unused;
    return touch(sound(mmap(NULL, 20 * PAGE, WRITABLE, PLAIN, -1, 0)), 20);
}

static void map_and_unmap_elsewhere(void)
{
    pthread_t thread;
    void *mapped;
    CHECK(pthread_create(&thread, NULL, own_of_a_thread, NULL) == 0);
    pthread_join(thread, &mapped);
    munmap((char *)mapped + 9 * PAGE, 11 * PAGE);
}

static void ranges(const char *path)
{
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(file >= 0 && ftruncate(file, 64 * PAGE) == 0);
    own_anonymous(), own_shared(), own_file(file), own_copies(file), own_memfd(), own_posix();
    own_sysv(), own_break(), own_untouched(), own_downwards(), own_nothing();
    own_what_replaces(own_what_stays());
    own_pieces(), unmap_over_two(), own_discarded(), own_removed(), own_lazily_freed();
    own_grown(own_until_moved()), own_shrunk(own_until_moved()), own_placed(own_until_moved());
    own_left_behind(), reserve_and_commit(), map_and_unmap_elsewhere();
}

/* ---- The child of a fork ---- */

VICTIM static char *own_before_the_fork(int flags, int pages)
{
    return touch(sound(mmap(NULL, (size_t)pages * PAGE, WRITABLE, MAP_ANONYMOUS | flags, -1, 0)),
                 pages);
}

VICTIM static void own_in_the_child(void)
{
    touch(sound(mmap(NULL, 13 * PAGE, WRITABLE, PLAIN, -1, 0)), 13);
}

/* The child reads all of it, writes half of one, and gives up a part of the other. */
static void forks(void)
{
    char *both = own_before_the_fork(MAP_SHARED, 100), *mine = own_before_the_fork(MAP_PRIVATE, 60);
    char *gone = own_before_the_fork(MAP_PRIVATE, 5), *cut = own_before_the_fork(MAP_PRIVATE, 40);
    touch(keep(malloc(2000 * PAGE)), 2000);
    munmap(gone, 5 * PAGE);
    munmap(cut + 10 * PAGE, 10 * PAGE);
    free(keep(malloc(10)));
    pid_t child = fork();
    if (child == 0) {
        free(keep(malloc(10))); /* an event, so that it is recorded */
        for (int i = 0; i < 100; i++)
            keep(both + ((volatile char *)both)[(size_t)i * PAGE]);
        touch(mine, 30);
        munmap(mine + 50 * PAGE, 10 * PAGE);
        own_in_the_child();
        exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* Nothing is mapped but what the parent's parent has. */
static void leaves_to_heirs(int generations)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        free(keep(malloc(10)));
        if (generations > 1)
            leaves_to_heirs(generations - 1);
        exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

VICTIM static char *own_when_told(int pages)
{
    return touch(sound(mmap(NULL, (size_t)pages * PAGE, WRITABLE, PLAIN, -1, 0)), pages);
}

/* m: 10 pages; u: they go; n: 3 pages. */
static void does_as_told(void)
{
    char *mapped = NULL, what;
    dprintf(1, "ready\n");
    while (read(0, &what, 1) == 1) {
        if (what == 'm')
            mapped = own_when_told(10);
        else if (what == 'u')
            CHECK(munmap(mapped, 10 * PAGE) == 0);
        else if (what == 'n')
            own_when_told(3);
        if (what != '\n')
            dprintf(1, "%c\n", what);
    }
}

VICTIM static void own_for_a_moment(void)
{
    enum { PAGES = 8192 };
    char *all = sound(mmap(NULL, PAGES * PAGE, WRITABLE, PLAIN, -1, 0));
    munmap(touch(all, PAGES), PAGES * PAGE);
}

/* ---- Many threads ---- */

VICTIM static char *own_in_the_storm(int pages)
{
    return sound(mmap(NULL, (size_t)pages * PAGE, WRITABLE, PLAIN, -1, 0));
}

static void *storm(void *unused)
{
    (void)unused;
    for (int i = 0; i < 2000; i++) {
        char *mapped = touch(own_in_the_storm(1 + i % 7), 1);
        munmap(mapped, (size_t)(1 + i % 7) * PAGE);
    }
    return touch(own_in_the_storm(3), 3);
}

static void storms(void)
{
    enum { THREADS = 32 };
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, storm, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    CHECK(argc > 1);
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); /* pages are to be counted */
    if (strcmp(argv[1], "ranges") == 0)
        ranges(argv[2]);
    else if (strcmp(argv[1], "fork") == 0)
        forks();
    else if (strcmp(argv[1], "heir") == 0)
        ranges(argv[2]), leaves_to_heirs(2);
    else if (strcmp(argv[1], "storm") == 0)
        storms();
    else if (strcmp(argv[1], "told") == 0)
        does_as_told();
    else if (strcmp(argv[1], "spike") == 0)
        own_for_a_moment(), usleep(50000);
    else
        touch(owned_table, (int)(sizeof owned_table / PAGE) / 2);
    return 0;
}
