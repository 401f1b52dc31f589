/* Every way of mapping memory, and of changing what is mapped; cli/mapped knows the events. errno is as
 * without a recorder, also where calls fail. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

enum { PAGE = 4096 };

static void must(int holds, const char *what)
{
    if (!holds) {
        printf("%s: %s\n", what, strerror(errno));
        exit(1);
    }
}

static char *map(size_t bytes, int protection, int flags, int fd)
{
    char *mapped = mmap(NULL, bytes, protection, flags, fd, 0);

    must(mapped != MAP_FAILED, "mmap");
    return mapped;
}

static void anonymous(void)
{
    char *pages = map(16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

    must(madvise(pages, 2 * PAGE, MADV_DONTNEED) == 0, "dontneed");
    must(madvise(pages + 2 * PAGE, PAGE, MADV_FREE) == 0, "free");
    must(madvise(pages, PAGE, MADV_WILLNEED) == 0, "willneed: not told");
    must(posix_madvise(pages, PAGE, POSIX_MADV_DONTNEED) == 0, "gives nothing back: not told");
    must(mprotect(pages, PAGE, PROT_NONE) == 0, "mprotect");
    must(mprotect(pages, PAGE, PROT_READ) == 0, "mprotect");
    must(mmap(pages + PAGE, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
             pages + PAGE,
         "fixed");
    pages = mremap(pages + 8 * PAGE, 8 * PAGE, 32 * PAGE, MREMAP_MAYMOVE);
    must(pages != MAP_FAILED, "mremap");
    must(munmap(pages, 32 * PAGE) == 0, "munmap");
    map(3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1);
    map(1000 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
}

static void shared(void)
{
    char *pages = map(4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
    int file = memfd_create("file", 0);

    must(madvise(pages, PAGE, MADV_REMOVE) == 0, "remove");
    must(mremap(pages, 0, PAGE, MREMAP_MAYMOVE) != MAP_FAILED, "once more");
    must(ftruncate(file, 8 * PAGE) == 0, "ftruncate");
    map(5 * PAGE, PROT_READ, MAP_SHARED, file);
    map(6 * PAGE, PROT_READ, MAP_PRIVATE, file);
}

static void segment(void)
{
    int id = shmget(IPC_PRIVATE, 5000, 0600);

    must(id >= 0, "shmget");
    char *pages = shmat(id, NULL, 0);
    must(pages != (void *)-1, "shmat");
    must(shmctl(id, IPC_RMID, NULL) == 0, "shmctl");
    must(shmdt(pages) == 0, "shmdt");
}

static void failures(void)
{
    errno = 0;
    must(mprotect((void *)PAGE, PAGE, PROT_READ) < 0 && errno == ENOMEM, "mprotect of nothing");
    errno = 0;
    must(madvise((void *)1, PAGE, MADV_DONTNEED) < 0 && errno == EINVAL, "madvise of nothing");
    errno = 0;
    must(shmat(-1, NULL, 0) == (void *)-1 && errno == EINVAL, "shmat of nothing");
    errno = 0;
    must(shmdt((void *)PAGE) < 0 && errno == EINVAL, "shmdt of nothing");
    errno = 0;
    must(mmap(NULL, 0, 0, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == EINVAL,
         "mmap of nothing");
    errno = 77;
    char *pages = map(PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    mprotect(pages, PAGE, PROT_READ);
    madvise(pages, PAGE, MADV_DONTNEED);
    must(brk((void *)8) == 0, "brk below the data: nothing changes, and nothing is told");
    must(errno == 77, "errno");
}

static char *guarded;
static volatile sig_atomic_t faults;

/* As a collector's write barrier does. */
static void open_up(int number)
{
    (void)number;
    mprotect(guarded, PAGE, PROT_READ | PROT_WRITE);
    madvise(guarded, PAGE, MADV_DONTNEED);
    faults++;
}

static void barriers(void)
{
    guarded = map(PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    signal(SIGSEGV, open_up);
    for (int i = 0; i < 20000; i++) {
        *(volatile char *)guarded = 1;
        mprotect(guarded, PAGE, PROT_NONE);
    }
    must(faults == 20000, "faults");
}

/* An allocator under load gives memory back, in a thread of its own if it has one. */
static void churn(void)
{
    static char *blocks[4096];

    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4096; i++) {
            must((blocks[i] = malloc(60000)) != NULL, "malloc");
            memset(blocks[i], 1, 60000);
        }
        for (int i = 0; i < 4096; i++)
            free(blocks[i]);
        usleep(200000);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "barriers")) {
        barriers();
    } else if (argc > 1) {
        churn();
    } else {
        anonymous();
        shared();
        segment();
        failures();
    }
    puts("done");
    return 0;
}
