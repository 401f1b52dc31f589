/* A program with the exports of Perl 5.36: the recorder reads its frames. Their memory goes away in
 * every way that there is, under an interpreter that still names it: a reader that remembers that
 * the memory was there would end the program. */
#include "torture.h"
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

EXPORT void Perl_runops_standard(void);
EXPORT void Perl_runops_standard(void)
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

int main(int argc, char **argv)
{
    CHECK(argc == 2 && !strcmp(argv[1], "gone_memory"));
    CHECK(offsetof(struct statement, line) == 36 && offsetof(struct level, index) == 32);
    PL_curstackinfo = &level;
    Perl_runops_standard();
    puts("all of it has gone");
    torture_tell();
    return 0;
}
