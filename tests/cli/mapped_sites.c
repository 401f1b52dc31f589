/* Maps, cuts, replaces, reserves and gives back, with known answers for each function. */
#include <stddef.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>

enum { PAGE = 4096 };

__attribute__((noinline)) static char *map(size_t pages, int protection, int flags)
{
    return mmap(NULL, pages * PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

/* 100 pages, of which the ends and the middle go: 70 stay. */
__attribute__((noinline)) static void maps_and_cuts(void)
{
    char *all = mmap(NULL, 100 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(all, 10 * PAGE);
    munmap(all + 90 * PAGE, 10 * PAGE);
    munmap(all + 40 * PAGE, 10 * PAGE);
}

/* 20 pages whose middle 8 another call takes. */
__attribute__((noinline)) static char *is_replaced(void)
{
    return mmap(NULL, 20 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

__attribute__((noinline)) static void replaces(char *at)
{
    mmap(at + 6 * PAGE, 8 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

/* 1000 pages of address space, of which 30 are committed and 10 given up again. */
__attribute__((noinline)) static char *reserves(void)
{
    return mmap(NULL, 1000 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

__attribute__((noinline)) static void commits(char *at)
{
    mprotect(at + 100 * PAGE, 30 * PAGE, PROT_READ | PROT_WRITE);
    mprotect(at + 120 * PAGE, 10 * PAGE, PROT_NONE);
}

__attribute__((noinline)) static void grows(void)
{
    char *all = map(5, PROT_READ | PROT_WRITE, 0);
    all = mremap(all, 5 * PAGE, 50 * PAGE, MREMAP_MAYMOVE);
    madvise(all, 7 * PAGE, MADV_DONTNEED);
}

__attribute__((noinline)) static void attaches(void)
{
    int segment = shmget(IPC_PRIVATE, 12 * PAGE, IPC_CREAT | 0600);
    void *all = shmat(segment, NULL, 0);
    shmctl(segment, IPC_RMID, NULL);
    shmdt(all);
}

int main(void)
{
    maps_and_cuts();
    replaces(is_replaced());
    commits(reserves());
    grows();
    attaches();
    return 0;
}
