/* A program with the exports of Perl 5.36: the recorder reads its frames. gone_memory: their memory
 * goes away in every way that there is, under an interpreter that still names it: a reader that
 * remembers that the memory was there would end the program. ended_threads: threads that run it
 * come and go. */
#include "torture.h"
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>

#define EXPORT __attribute__((visibility("default"), used))

enum { PAGE = 4096, NEXTSTATE = 195 };

/* The parts that are read of a statement, and of the level of contexts: none of these. */
struct statement {
    char before[32];
    uint16_t type;
    uint32_t line;
    char file[24];
};
struct level {
    void *before, *contexts, *previous, *next;
    int32_t index, most;
};

EXPORT const unsigned char PL_revision = 5, PL_version = 36;
EXPORT struct statement *PL_curcop;
EXPORT struct level *PL_curstackinfo;
EXPORT void perl_parse(void);
EXPORT void perl_parse(void)
{
}

static struct level level = {.contexts = &level, .index = -1, .most = 1};

static void *map_page(void)
{
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    return page;
}

static void *attach_page(void)
{
    int segment = shmget(IPC_PRIVATE, PAGE, IPC_CREAT | 0600);
    void *page = segment < 0 ? MAP_FAILED : shmat(segment, NULL, 0);
    CHECK(page != (void *)-1 && !shmctl(segment, IPC_RMID, NULL));
    return page;
}

static void unmap(void *page)
{
    CHECK(!munmap(page, PAGE));
}

static void move(void *page)
{
    void *to = map_page();
    CHECK(mremap(page, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to);
}

static void replace(void *page)
{
    CHECK(mmap(page, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page);
}

static void hide(void *page)
{
    CHECK(!mprotect(page, PAGE, PROT_NONE));
}

static void detach(void *page)
{
    CHECK(!shmdt(page));
}

static void memory_goes(void)
{
    static const struct {
        void *(*begin)(void);
        void (*end)(void *page);
    } ways[] = {{map_page, unmap},
                {map_page, move},
                {map_page, replace},
                {map_page, hide},
                {attach_page, detach}};

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct statement *statement = ways[i].begin();
        statement->type = NEXTSTATE;
        statement->line = 1 + (uint32_t)i;
        PL_curcop = statement;
        torture_work(10);
        ways[i].end(statement);
        torture_work(10);
        PL_curcop = NULL;
    }
}

/* Bytes of the address space. */
static size_t address_space(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%lu", &pages) == 1 && !fclose(file));
    return pages * PAGE;
}

EXPORT void Perl_runops_standard(void (*script)(void));
static void *run_in_thread(void *argument);

static void run_threads(int count)
{
    for (int i = 0; i < count; i++) {
        pthread_t thread;
        CHECK(!pthread_create(&thread, NULL, run_in_thread, NULL) && !pthread_join(thread, NULL));
    }
}

/* Threads that run scripts and end, one after the other, leave nothing behind. */
static void threads_end(void)
{
    static struct statement statement = {.type = NEXTSTATE, .line = 1};
    enum { WARM = 20, THREADS = 300, MOST_BYTES = 32 << 20 };
    PL_curcop = &statement;
    run_threads(WARM);
    size_t before = address_space();
    run_threads(THREADS);
    size_t after = address_space();
    bool is_little = after <= before + MOST_BYTES;
    printf("%d threads left %s\n", THREADS, is_little ? "little" : "much");
}

static void work(void)
{
    torture_work(10);
}

EXPORT void Perl_runops_standard(void (*script)(void))
{
    script();
    __asm__ volatile("" ::: "memory"); /* no jump in place of the call */
}

static void *run_in_thread(void *argument)
{
    (void)argument;
    Perl_runops_standard(work);
    return NULL;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"gone_memory", memory_goes}, {"ended_threads", threads_end}};

    CHECK(offsetof(struct statement, line) == 36 && offsetof(struct level, index) == 32);
    PL_curstackinfo = &level;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (argc == 2 && !strcmp(argv[1], cases[i].name))
            Perl_runops_standard(cases[i].run);
    torture_tell();
    return 0;
}
