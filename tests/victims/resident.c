/* Memory of every owner, touched to a known extent, and left so at the end: what the ledger of the
 * last look must say. With the argument "hidden" the kernel lets nobody look; "raw" ends without
 * waiting for anybody, "spin" exits while threads allocate, "steps" grows slowly enough to be
 * looked at on the way. */
#include "victim.h"

#include <alloca.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum {
    HALF_BYTES = 100 << 20,
    KEPT_BYTES = 48,
    FILLER_BYTES = 4096 - 64 - 8, /* with glibc's headers a page together with a kept block */
    KEPT_COUNT = 5000,
    MAPPED_BYTES = 16 << 20,
    MAPPED_TOUCHED_BYTES = 4 << 20,
    SHARED_BYTES = 1 << 20,
    FILE_BYTES = 2 << 20,
    STACK_BYTES = 1 << 20,
    GLOBAL_BYTES = 8 << 20,
    PAGE_BYTES = 4096,
};

char victim_global[GLOBAL_BYTES];
static __thread char victim_thread_local[5000];
static int ready[2], never[2];

static void touch(char *memory, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += PAGE_BYTES)
        ((volatile char *)memory)[i] = 1;
}

static size_t in_core(char *memory, size_t bytes)
{
    static unsigned char pages[HALF_BYTES / PAGE_BYTES + 2];
    size_t count = 0, length = (bytes + PAGE_BYTES - 1) / PAGE_BYTES;
    CHECK(mincore(memory, bytes, pages) == 0);
    for (size_t i = 0; i < length; i++)
        count += pages[i] & 1;
    return count * PAGE_BYTES;
}

/* The second half is never touched. */
VICTIM void victim_touches_half(void)
{
    char *block = keep(malloc(HALF_BYTES));
    char *first = (char *)((uintptr_t)block & ~(uintptr_t)(PAGE_BYTES - 1));
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    touch(block, HALF_BYTES / 2);
    victim_fact("half", in_core(first, HALF_BYTES) - (size_t)(block - first));
}

static char *kept[KEPT_COUNT + 1], *fillers[KEPT_COUNT];

VICTIM char *victim_interns(void)
{
    char *block = keep(malloc(KEPT_BYTES));
    memset(block, 1, KEPT_BYTES);
    return block;
}

/* One small block a page is left. */
VICTIM void victim_fragments(void)
{
    size_t left;
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    /* not over the end of a page, and what lies before the first is not ours to count */
    while ((left = (uintptr_t)keep(malloc(8)) & (PAGE_BYTES - 1)) > PAGE_BYTES / 2 || left < 256)
        ;
    for (int i = 0; i < KEPT_COUNT; i++) {
        kept[i] = victim_interns();
        fillers[i] = keep(malloc(FILLER_BYTES));
        memset(fillers[i], 2, FILLER_BYTES);
    }
    kept[KEPT_COUNT] = victim_interns();
    for (int i = 0; i < KEPT_COUNT; i++)
        CHECK(kept[i + 1] == kept[i] + PAGE_BYTES);
    for (int i = 0; i < KEPT_COUNT; i++)
        free(fillers[i]);
}

VICTIM void victim_maps(void)
{
    char *memory =
        mmap(NULL, MAPPED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    touch(memory, MAPPED_TOUCHED_BYTES);
    char *shared =
        mmap(NULL, SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    touch(shared, SHARED_BYTES);
}

static void map_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0 && ftruncate(fd, FILE_BYTES) == 0);
    char *memory = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(memory != MAP_FAILED);
    touch(memory, FILE_BYTES);
    close(fd);
}

static void use_stack(void)
{
    char *memory = alloca(STACK_BYTES);
    touch(keep(memory), STACK_BYTES);
}

static void *wait_for_the_end(void *unused)
{
    char byte = 0;
    prctl(PR_SET_NAME, "victim-stack");
    memset(victim_thread_local, 1, sizeof victim_thread_local);
    use_stack();
    free(keep(malloc(1))); /* now it is known */
    CHECK(write(ready[1], &byte, 1) == 1);
    CHECK(read(never[0], &byte, 1) == 1);
    return unused;
}

static void start_thread(void)
{
    char byte;
    pthread_t thread;
    CHECK(pipe(ready) == 0 && pipe(never) == 0);
    CHECK(pthread_create(&thread, NULL, wait_for_the_end, NULL) == 0);
    CHECK(read(ready[0], &byte, 1) == 1);
}

/* For whoever wants to add up without us. */
static void copy_smaps(const char *path)
{
    char text[PAGE_BYTES];
    int from = open("/proc/self/smaps", O_RDONLY), to = open(path, O_WRONLY | O_CREAT, 0600);
    for (ssize_t got; (got = read(from, text, sizeof text)) > 0;)
        CHECK(write(to, text, (size_t)got) == got);
    close(from);
    close(to);
}

static void *allocate_for_ever(void *unused)
{
    for (;;)
        free(keep(malloc(100)));
    return unused;
}

static void grow(void)
{
    for (int i = 0; i < 2000; i++)
        memset(keep(malloc(20000)), 1, 20000);
}

static void grow_in_steps(void)
{
    for (int step = 0; step < 4; step++) {
        size_t bytes = (size_t)20 << 20;
        memset(keep(malloc(bytes)), 1, bytes);
        usleep(300000);
    }
}

int main(int count, char **arguments)
{
    const char *how = count > 1 ? arguments[1] : "";
    pthread_t thread;
    if (strcmp(how, "spin") == 0)
        for (int i = 0; i < 3; i++)
            CHECK(pthread_create(&thread, NULL, allocate_for_ever, NULL) == 0);
    if (strcmp(how, "raw") == 0 || strcmp(how, "spin") == 0) {
        grow();
        if (strcmp(how, "raw") == 0)
            syscall(SYS_exit_group, 0);
        return 0;
    }
    if (strcmp(how, "steps") == 0) {
        grow_in_steps();
        return 0;
    }
    if (strcmp(how, "hidden") == 0)
        CHECK(prctl(PR_SET_DUMPABLE, 0) == 0);
    touch(victim_global, GLOBAL_BYTES);
    victim_touches_half();
    victim_fragments();
    victim_maps();
    map_file(count > 2 ? arguments[2] : "mapped");
    start_thread();
    if (count > 3)
        copy_smaps(arguments[3]);
    return 0;
}
