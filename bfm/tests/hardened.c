/* One misuse of a block, by its name: run with BFM_OPTIONS, expected to end by SIGABRT, or not. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "tidemark/bfm.h"

static void *volatile keep;

static void twice(void)
{
    keep = bfm_malloc(100);
    bfm_free(keep);
    bfm_free(keep);
}

static void *volatile others[40];

/* A block of the tree component again, `between` others later: it may not be joined yet, or it
 * is. */
static void twice_tree_after(unsigned between)
{
    keep = bfm_malloc(3000);
    for (unsigned i = 0; i < 40; i++)
        others[i] = bfm_malloc(3000);
    bfm_free(keep);
    for (unsigned i = 0; i < between; i++)
        bfm_free(others[i * 7 % 40]);
    bfm_free(keep);
}

static void twice_tree(void)
{
    twice_tree_after(0);
}

static void twice_tree_soon(void)
{
    twice_tree_after(7);
}

static void twice_tree_late(void)
{
    twice_tree_after(30);
}

/* A mapping of its own, which is kept for the next block of its size. */
static void twice_large(void)
{
    keep = bfm_malloc((size_t)40 << 20);
    bfm_free(keep);
    bfm_free(keep);
}

static void resized_large_after_free(void)
{
    keep = bfm_malloc((size_t)40 << 20);
    bfm_free(keep);
    keep = bfm_realloc(keep, (size_t)50 << 20);
}

static void resized_after_free(void)
{
    keep = bfm_malloc(3000);
    bfm_free(keep);
    keep = bfm_realloc(keep, 4000);
}

/* What lies before a block holds its size: spoiled between its free and the next request. */
static void front_after_free(void)
{
    size_t back = 8;

    keep = bfm_malloc(3000);
    others[0] = bfm_malloc(3000);
    bfm_free(keep);
    memset((char *)keep - back, 0x41, 8);
    keep = bfm_malloc(3000);
}

/* The first block lies in the page in front of the region's first 2 MiB; what is before that page
 * is not ours. */
static void before_region(void)
{
    keep = bfm_malloc(3000);
    bfm_free((void *)(((uintptr_t)keep & ~(((uintptr_t)2 << 20) - 1)) + 64));
}

/* Of a block of `bytes`, the byte `offset` bytes behind its start is changed, and it is freed. */
static void spoil(size_t bytes, ptrdiff_t offset)
{
    keep = bfm_malloc(bytes);
    ((volatile char *)keep)[offset] ^= 0x41;
    bfm_free(keep);
}

static void one_behind(void)
{
    spoil(100, 100);
}

static void one_before(void)
{
    spoil(100, -1);
}

static void page_behind(void)
{
    spoil(100, 4096);
}

static void behind_whole_page(void)
{
    spoil(4096, 4096);
}

static void before_whole_page(void)
{
    spoil(4096, -1);
}

static void read_after_free(void)
{
    keep = bfm_calloc(1, 100);
    bfm_free(keep);
    putchar(*(volatile char *)keep);
}

static void inside_page(void)
{
    keep = bfm_malloc(5000);
    bfm_free((char *)keep + 4096);
}

static void same_again(void)
{
    keep = bfm_malloc(100);
    bfm_free(keep);
    exit(bfm_malloc(100) == keep);
}

/* More blocks than have pages of their own; each call there is, and the books. */
static void many_guarded(void)
{
    enum { COUNT = 30000 };
    static char *blocks[COUNT];
    struct bfm_statistics statistics = {.size = sizeof statistics};

    for (size_t i = 0; i < COUNT; i++) {
        blocks[i] = bfm_calloc(1, i % 300);
        for (size_t j = 0; j < i % 300; j++)
            if (blocks[i][j])
                exit(1);
        memset(blocks[i], (int)i, i % 300);
    }
    bfm_statistics(NULL, &statistics);
    if (statistics.large_count < 20000 || bfm_check(NULL))
        exit(2);
    for (size_t i = 0; i < COUNT; i++) {
        blocks[i] = bfm_realloc(blocks[i], i % 300 + 50);
        if (i % 300 && blocks[i][i % 300 - 1] != (char)i)
            exit(3);
        if (bfm_malloc_usable_size(blocks[i]) < i % 300 + 50)
            exit(4);
    }
    for (size_t i = 0; i < COUNT; i++)
        bfm_free(blocks[i]);
    bfm_statistics(NULL, &statistics);
    if (statistics.large_count || bfm_check(NULL))
        exit(5);
}

/* As many as have pages of their own, twice: what was freed leaves the system's mappings to others. */
static void guarded_again(void)
{
    enum { COUNT = 28000 };
    static char *blocks[COUNT];

    for (unsigned turn = 0; turn < 2; turn++) {
        for (size_t i = 0; i < COUNT; i++) {
            if (!(blocks[i] = bfm_malloc(100)))
                exit(1);
            memset(blocks[i], 1, 100);
        }
        if (mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
            exit(2);
        for (size_t i = 0; i < COUNT; i++)
            bfm_free(blocks[i]);
    }
}

static void empty_read(void)
{
    keep = bfm_malloc(0);
    putchar(*(volatile char *)keep);
}

static void empty_write(void)
{
    keep = bfm_realloc(bfm_calloc(1, 0), 10);
    bfm_free(keep);
    keep = bfm_calloc(0, 1);
    *(volatile char *)keep = 1;
}

static void empty_twice(void)
{
    keep = bfm_malloc(0);
    others[0] = bfm_malloc(0);
    bfm_free(keep);
    bfm_free(keep);
}

static void empty_inside(void)
{
    keep = bfm_malloc(0);
    bfm_free((char *)keep + 8);
}

/* A mebibyte from each of the first blocks of a program there is nothing. */
static void far_behind(void)
{
    keep = bfm_malloc(100);
    ((volatile char *)keep)[(size_t)1 << 20] = 1;
}

static void far_behind_tree(void)
{
    keep = bfm_malloc(3000);
    ((volatile char *)keep)[(size_t)1 << 20] = 1;
}

static void far_before(void)
{
    keep = bfm_malloc(100);
    *((volatile char *)keep - ((size_t)1 << 20)) = 1;
}

static void far_before_tree(void)
{
    keep = bfm_malloc(3000);
    *((volatile char *)keep - ((size_t)1 << 20)) = 1;
}

/* In the region, but behind all that was opened. */
static void never_taken(void)
{
    keep = bfm_malloc(3000);
    bfm_free((char *)keep + ((size_t)2 << 20));
}

static void inside(void)
{
    keep = bfm_malloc(100);
    bfm_free((char *)keep + 16);
}

static void behind(void)
{
    size_t bytes = 101;

    keep = bfm_malloc(bytes);
    ((volatile char *)keep)[bytes] = 1;
    bfm_free(keep);
}

static void behind_tree(void)
{
    size_t bytes = 3001;

    keep = bfm_malloc(bytes);
    ((volatile char *)keep)[bytes] = 1;
    bfm_free(keep);
}

/* A block of a class again, `between` others later: all of them are in the thread's stack. */
static void twice_after_one(void)
{
    keep = bfm_malloc(100);
    others[0] = bfm_malloc(100);
    bfm_free(keep);
    bfm_free(others[0]);
    bfm_free(keep);
}

static void misaligned(void)
{
    keep = bfm_malloc(100);
    bfm_free((char *)keep + 8);
}

/* Beyond the end of a block of the tree component, and nothing else is wrong. */
static void long_write(void)
{
    keep = bfm_malloc(40000);
    others[0] = bfm_malloc(40000);
    memset(keep, 0x41, bfm_malloc_usable_size(keep) + 8);
    bfm_free(keep);
}

/* The same of the last block, behind which nothing is. */
static void long_write_at_the_end(void)
{
    keep = bfm_malloc(4096);
    memset(keep, 0x41, bfm_malloc_usable_size(keep) + 8);
    bfm_free(keep);
    bfm_malloc_trim(0); /* no shelf keeps it */
}

/* And who takes the next one finds it. */
static void long_write_before_another(void)
{
    keep = bfm_malloc(4096);
    memset(keep, 0, bfm_malloc_usable_size(keep) + 8);
    others[0] = bfm_malloc(1000);
}

/* A free chunk's links, its tags left as they were; then the chunk is joined with the next. */
static void links_after_free(void)
{
    for (unsigned i = 0; i < 4; i++)
        others[i] = bfm_malloc(40000);
    bfm_free(others[1]);
    keep = bfm_malloc(60000); /* what is freed waits to be joined until then */
    memset(others[1], 0x41, 24);
    bfm_free(others[2]);
    keep = bfm_malloc(60000);
}

static void foreign(void)
{
    static char mine[100];

    keep = bfm_malloc(100);
    bfm_free(mine + 16 - (uintptr_t)mine % 16);
}

/* What is freed reads as zeros: 1 if not. Reading it is the misuse. */
static void stale(void)
{
    volatile unsigned char *block = keep = bfm_malloc(200);

    memset(keep, 0xee, 200);
    bfm_free(keep);
    for (int i = 0; i < 200; i++)
        if (block[i])
            exit(1);
}

/* Blocks in order: 1. */
static void ordered(void)
{
    int steps = 0;
    char *last = bfm_malloc(64);

    for (int i = 0; i < 100; i++) {
        char *block = bfm_malloc(64);
        steps += block == last + 64;
        last = block;
    }
    exit(steps > 60);
}

/* Nothing wrong, with every call there is: must pass. */
static void right(void)
{
    for (size_t bytes = 0; bytes < 3000000; bytes = bytes * 2 + 7) {
        char *block = bfm_calloc(1, bytes);
        memset(block, 7, bytes);
        if (bfm_malloc_usable_size(block) < bytes)
            exit(1);
        block = bfm_realloc(block, bytes + 5000);
        for (size_t i = 0; i < bytes; i++)
            if (block[i] != 7)
                exit(2);
        block[bytes + 4999] = 1;
        bfm_free(block);
        block = bfm_memalign(256, bytes);
        memset(block, 7, bytes);
        bfm_free(block);
    }
    if (bfm_check(NULL)) {
        puts(bfm_check(NULL));
        exit(3);
    }
}

static const struct {
    const char *name;
    void (*run)(void);
    /* clang-format off */
} misuses[] = {
    {"twice", twice}, {"twice-tree", twice_tree}, {"twice-tree-soon", twice_tree_soon},
    {"twice-tree-late", twice_tree_late}, {"resized-after-free", resized_after_free},
    {"twice-large", twice_large}, {"resized-large-after-free", resized_large_after_free},
    {"front-after-free", front_after_free}, {"before-region", before_region}, {"inside", inside},
    {"one-behind", one_behind}, {"one-before", one_before}, {"page-behind", page_behind},
    {"behind-whole-page", behind_whole_page}, {"before-whole-page", before_whole_page},
    {"read-after-free", read_after_free}, {"inside-page", inside_page}, {"same-again", same_again},
    {"many-guarded", many_guarded}, {"guarded-again", guarded_again}, {"empty-read", empty_read}, {"empty-write", empty_write}, {"empty-twice", empty_twice},
    {"empty-inside", empty_inside}, {"far-behind", far_behind},
    {"far-behind-tree", far_behind_tree}, {"far-before", far_before},
    {"far-before-tree", far_before_tree}, {"never-taken", never_taken},
    {"behind", behind}, {"behind-tree", behind_tree},
    {"twice-after-one", twice_after_one}, {"misaligned", misaligned}, {"long-write", long_write},
    {"long-write-at-the-end", long_write_at_the_end},
    {"long-write-before-another", long_write_before_another},
    {"links-after-free", links_after_free}, {"foreign", foreign},
    {"stale", stale}, {"ordered", ordered}, {"right", right},
};
/* clang-format on */

int main(int argc, char **argv)
{
    for (unsigned i = 0; argc > 1 && i < sizeof misuses / sizeof *misuses; i++)
        if (!strcmp(misuses[i].name, argv[1])) {
            misuses[i].run();
            return 0;
        }
    return 100;
}
