#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "procfs/page_table.h"
#include "procfs/process.h"
#include "victim.h"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

#define MANY 256u

static const enum pages_method methods[] = {PAGES_SCAN, PAGES_PREAD};
enum { METHODS = sizeof methods / sizeof *methods };

/* False: this kernel has no PAGEMAP_SCAN. */
static bool open_with(struct pages *pages, pid_t pid, enum pages_method method)
{
    int error = page_table_open_with(pages, pid, method);
    if (error == -ENOTTY && method == PAGES_SCAN) {
        print_message("no PAGEMAP_SCAN here\n");
        return false;
    }
    assert_int_equal(error, 0);
    return true;
}

/* ---- A victim that touches what it says ---------------------------------------------------- */

enum deed { LEFT, WRITTEN, READ, GIVEN_BACK, GUARDED, DEEDS };

/* Where the system makes huge pages by itself (transparent_hugepage/enabled: always), one page that
 * is touched would be many. */
static void small_pages(void *memory, size_t bytes)
{
    madvise(memory, bytes, MADV_NOHUGEPAGE);
}

struct touched {
    char *memory; /* MANY pages */
    enum deed deeds[MANY];
    unsigned char mincore[MANY];
    bool has_guards;
};

static void touch_pages(void *shared)
{
    struct touched *touched = shared;
    size_t page = process_page_bytes();
    touched->memory = mmap(NULL, MANY * page, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    small_pages(touched->memory, MANY * page);
    for (size_t i = 0; i < MANY; i++) {
        char *at = touched->memory + i * page;
        if (touched->deeds[i] == WRITTEN || touched->deeds[i] == GIVEN_BACK)
            *(volatile char *)at = 1;
        if (touched->deeds[i] == READ)
            (void)*(volatile char *)at;
        if (touched->deeds[i] == GIVEN_BACK)
            madvise(at, page, MADV_DONTNEED);
        if (touched->deeds[i] == GUARDED) {
            touched->has_guards = madvise(at, page, MADV_GUARD_INSTALL) == 0;
            if (!touched->has_guards)
                touched->deeds[i] = LEFT;
        }
    }
    mincore(touched->memory, MANY * page, touched->mincore);
}

static struct touched *random_deeds(void)
{
    struct touched *touched = victim_shared(sizeof *touched);
    for (size_t i = 0; i < MANY;) {
        enum deed deed = (enum deed)(random() % DEEDS);
        for (size_t run = 1 + (size_t)(random() % 9); run && i < MANY; run--)
            touched->deeds[i++] = deed;
    }
    return touched;
}

struct seen {
    uint64_t start, next;
    enum pages_state states[MANY];
    bool zero[MANY], shared[MANY], huge[MANY];
};

static int see(const struct page_table_run *run, void *context)
{
    struct seen *seen = context;
    size_t page = process_page_bytes();
    assert_int_equal(run->start, seen->next);
    assert_true(run->end > run->start && run->end % page == 0);
    for (uint64_t at = run->start; at < run->end; at += page) {
        size_t i = (size_t)(at - seen->start) / page;
        assert_true(i < MANY);
        seen->states[i] = run->state;
        seen->zero[i] = run->zero;
        seen->shared[i] = run->shared;
        seen->huge[i] = run->huge;
    }
    seen->next = run->end;
    return 0;
}

static void check_deeds(const struct touched *touched, const struct seen *seen, bool knows_zero)
{
    static const enum pages_state expected[DEEDS] = {
        [WRITTEN] = PAGES_RESIDENT, [READ] = PAGES_RESIDENT, [GUARDED] = PAGES_GUARD};
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(seen->states[i], expected[touched->deeds[i]]);
        assert_int_equal(seen->states[i] == PAGES_RESIDENT, touched->mincore[i] & 1);
        assert_int_equal(seen->zero[i], knows_zero && touched->deeds[i] == READ);
        assert_false(seen->shared[i]);
    }
}

static void pages_are_what_was_done_to_them(void **state)
{
    (void)state;
    struct touched *touched = random_deeds();
    struct victim victim = victim_start(touch_pages, touched);
    for (size_t i = 0; i < METHODS; i++) {
        struct pages pages;
        if (!open_with(&pages, victim.pid, methods[i]))
            continue;
        uint64_t start = (uintptr_t)touched->memory;
        struct seen seen = {.start = start, .next = start};
        struct page_table_range range = {start, start + MANY * process_page_bytes()};
        assert_int_equal(page_table_visit(&pages, &range, 1, see, &seen), 0);
        assert_int_equal(seen.next, range.end);
        check_deeds(touched, &seen, pages.knows_huge);
        page_table_close(&pages);
    }
    if (!touched->has_guards)
        print_message("no guard pages here\n");
    victim_end(victim);
    munmap(touched, sizeof *touched);
}

/* ---- The whole of a process, page by page -------------------------------------------------- */

struct areas {
    char *file, *shared, *huge, *reserved;
};

static void map_areas(void *shared)
{
    struct areas *areas = shared;
    size_t page = process_page_bytes();
    char name[] = "/tmp/tidemark-pages-XXXXXX";
    int fd = mkstemp(name);
    unlink(name);
    if (ftruncate(fd, 64 * (off_t)page) != 0)
        _exit(1);
    areas->file = mmap(NULL, 64 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    areas->file[3 * page] = 1;
    (void)*(volatile char *)&areas->file[40 * page];
    areas->shared =
        mmap(NULL, 64 * page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    areas->shared[5 * page] = areas->shared[6 * page] = 1;
    areas->reserved = mmap(NULL, 1ull << 40, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    small_pages(areas->reserved, 1ull << 40);
    areas->reserved[123ull << 30] = 1;
    char *memory = mmap(NULL, 6u << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    areas->huge = (char *)(((uintptr_t)memory + (2u << 20) - 1) & ~(uintptr_t)((2u << 20) - 1));
    madvise(areas->huge, 4u << 20, MADV_HUGEPAGE);
    areas->huge[1000] = 1;
    char *out = mmap(NULL, 32 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(out, 1, 32 * page);
    madvise(out, 32 * page, 21 /* MADV_PAGEOUT: swapped, on a machine with swap */);
}

/* The oracle: one word of pagemap at a time. */
static enum pages_state state_by_pread(int fd, uint64_t address)
{
    uint64_t entry = 0;
    if (pread(fd, &entry, 8, (off_t)(address / process_page_bytes() * 8)) != 8)
        return PAGES_UNTOUCHED;
    if (entry & 1ull << 58)
        return PAGES_GUARD;
    return entry >> 63 ? PAGES_RESIDENT : entry >> 62 & 1u ? PAGES_SWAPPED : PAGES_UNTOUCHED;
}

struct ranges {
    struct page_table_range list[201]; /* one more than a victim has */
    size_t count;
};

static int add_range(const struct process_mapping *mapping, void *context)
{
    struct ranges *ranges = context;
    if (mapping->end - mapping->start > 1u << 30 || mapping->start >> 56)
        return 0; /* the oracle is slow */
    ranges->list[ranges->count++] = (struct page_table_range){mapping->start, mapping->end};
    return 0;
}

struct comparison {
    int fd;
    uint64_t pages[PAGES_STATES], shared;
};

static int compare_run(const struct page_table_run *run, void *context)
{
    struct comparison *comparison = context;
    for (uint64_t at = run->start; at < run->end; at += process_page_bytes()) {
        assert_int_equal(run->state, state_by_pread(comparison->fd, at));
        comparison->pages[run->state]++;
        comparison->shared += run->shared;
    }
    return 0;
}

/* At once, or piece by piece; with what is no user space, which has nothing, or without. */
static void check_every_page(struct pages *pages, const struct ranges *ranges, int fd)
{
    struct ranges wanted = *ranges;
    for (size_t i = 0; i < 4; i++) {
        struct comparison comparison = {.fd = fd};
        pages->at_once = i & 1;
        wanted.list[ranges->count] = (struct page_table_range){1ull << 50, (1ull << 50) + 4096};
        wanted.count = ranges->count + i / 2;
        assert_int_equal(
            page_table_visit(pages, wanted.list, wanted.count, compare_run, &comparison), 0);
        assert_true(comparison.pages[PAGES_RESIDENT] > 100);
        assert_true(comparison.pages[PAGES_UNTOUCHED] > 100);
        assert_true(comparison.shared > 2);
        print_message("%zu ranges, swapped pages: %u\n", wanted.count,
                      (unsigned)comparison.pages[PAGES_SWAPPED]);
    }
}

static void every_page_of_a_process_is_as_the_kernel_says(void **state)
{
    (void)state;
    struct areas *areas = victim_shared(sizeof *areas);
    struct victim victim = victim_start(map_areas, areas);
    struct ranges ranges = {.count = 0};
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/pagemap", (int)victim.pid);
    int fd = open(path, O_RDONLY);
    assert_int_equal(process_maps(victim.pid, add_range, &ranges), 0);
    for (size_t i = 0; i < METHODS; i++) {
        struct pages pages;
        if (!open_with(&pages, victim.pid, methods[i]))
            continue;
        check_every_page(&pages, &ranges, fd);
        page_table_close(&pages);
    }
    close(fd);
    victim_end(victim);
    munmap(areas, sizeof *areas);
}

static uint64_t resident_of(struct pages *pages, const void *start, uint64_t size_bytes)
{
    struct page_table_bytes bytes;
    assert_int_equal(page_table_count(pages, (uintptr_t)start, size_bytes, &bytes), 0);
    assert_int_equal(bytes.resident + bytes.swapped + bytes.untouched + bytes.guard +
                         bytes.overlapped,
                     size_bytes);
    return bytes.resident;
}

static int note_huge(const struct page_table_run *run, void *context)
{
    *(uint64_t *)context += run->huge ? run->end - run->start : 0;
    return 0;
}

static void files_shared_memory_and_holes_are_counted(void **state)
{
    (void)state;
    struct areas *areas = victim_shared(sizeof *areas);
    struct victim victim = victim_start(map_areas, areas);
    size_t page = process_page_bytes();
    for (size_t i = 0; i < METHODS; i++) {
        struct pages pages;
        if (!open_with(&pages, victim.pid, methods[i]))
            continue;
        assert_int_equal(resident_of(&pages, areas->shared, 64 * page), 2 * page);
        assert_int_equal(resident_of(&pages, areas->file + 3 * page, 10), 10);
        /* the kernel maps neighbours of a page that is read, of a file that is cached */
        assert_true(resident_of(&pages, areas->file, 64 * page) >= 2 * page);
        uint64_t huge = 0;
        struct page_table_range range = {(uintptr_t)areas->huge,
                                         (uintptr_t)areas->huge + (4u << 20)};
        assert_int_equal(page_table_visit(&pages, &range, 1, note_huge, &huge), 0);
        if (resident_of(&pages, areas->huge, 4u << 20) == 2u << 20)
            assert_int_equal(huge, pages.knows_huge ? 2u << 20 : 0);
        else
            print_message("no huge pages here\n");
        if (methods[i] == PAGES_SCAN) /* a terabyte that is not there costs nothing */
            assert_int_equal(resident_of(&pages, areas->reserved, 1ull << 40), page);
        page_table_close(&pages);
    }
    victim_end(victim);
    munmap(areas, sizeof *areas);
}

/* ---- Blocks -------------------------------------------------------------------------------- */

enum { AREAS = 3, BLOCKS = 3000 };

struct sweep {
    struct touched *areas[AREAS];
    uint8_t *claimed; /* a byte per byte of all areas */
    struct page_table_block blocks[BLOCKS];
    size_t visited;
};

static int area_compare(const void *left, const void *right)
{
    const struct touched *const *a = left, *const *b = right;
    return ((*a)->memory > (*b)->memory) - ((*a)->memory < (*b)->memory);
}

static void touch_areas(void *shared)
{
    struct touched **areas = shared;
    for (size_t i = 0; i < AREAS; i++) {
        touch_pages(areas[i]);
        /* far away, and not joined */
        mmap(NULL, (size_t)(1 + i) << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
             -1, 0);
    }
}

/* The state of one byte, by what was done to its page. */
static enum pages_state state_of_byte(const struct sweep *sweep, uint64_t address, uint8_t **claim)
{
    uint64_t bytes = MANY * process_page_bytes();
    *claim = NULL;
    for (size_t i = 0; i < AREAS; i++) {
        uint64_t at = address - (uintptr_t)sweep->areas[i]->memory;
        if (at >= bytes)
            continue;
        *claim = &sweep->claimed[i * bytes + at];
        enum deed deed = sweep->areas[i]->deeds[at / process_page_bytes()];
        return deed == GUARDED                   ? PAGES_GUARD
               : deed == WRITTEN || deed == READ ? PAGES_RESIDENT
                                                 : PAGES_UNTOUCHED;
    }
    return PAGES_UNTOUCHED;
}

static void check_block(size_t index, const struct page_table_bytes *bytes, void *context)
{
    struct sweep *sweep = context;
    uint64_t expected[PAGES_STATES] = {0}, overlapped = 0;
    assert_int_equal(index, sweep->visited++);
    for (uint64_t i = 0; i < sweep->blocks[index].size_bytes; i++) {
        uint8_t *claim;
        enum pages_state state = state_of_byte(sweep, sweep->blocks[index].address + i, &claim);
        if (claim && *claim)
            overlapped++;
        else
            expected[state]++;
        if (claim)
            *claim = 1;
    }
    assert_int_equal(bytes->resident, expected[PAGES_RESIDENT]);
    assert_int_equal(bytes->untouched, expected[PAGES_UNTOUCHED]);
    assert_int_equal(bytes->guard, expected[PAGES_GUARD]);
    assert_int_equal(bytes->swapped, 0);
    assert_int_equal(bytes->overlapped, overlapped);
}

static int block_compare(const void *left, const void *right)
{
    const struct page_table_block *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

/* Most are tiny, some as large as several pages, all inside the areas; `apart`: no two overlap. */
static void random_blocks(struct sweep *sweep, bool apart)
{
    uint64_t bytes = MANY * process_page_bytes();
    for (size_t i = 0; i < BLOCKS; i++) {
        struct page_table_block *block = &sweep->blocks[i];
        uint64_t at = (uint64_t)random() % bytes;
        uint64_t size = (uint64_t)random() % (random() % 50 ? 300 : 40000);
        block->address = (uintptr_t)sweep->areas[random() % AREAS]->memory + at;
        block->size_bytes = size < bytes - at ? size : bytes - at;
    }
    qsort(sweep->blocks, BLOCKS, sizeof *sweep->blocks, block_compare);
    for (size_t i = 0; apart && i + 1 < BLOCKS; i++) {
        uint64_t room = sweep->blocks[i + 1].address - sweep->blocks[i].address;
        if (sweep->blocks[i].size_bytes > room)
            sweep->blocks[i].size_bytes = room;
    }
}

static void blocks_get_their_bytes_of_each_page(void **state)
{
    (void)state;
    size_t claimed_bytes = AREAS * MANY * process_page_bytes();
    struct sweep *sweep = calloc(1, sizeof *sweep);
    struct touched **areas = victim_shared(sizeof sweep->areas);
    for (size_t i = 0; i < AREAS; i++)
        areas[i] = random_deeds();
    struct victim victim = victim_start(touch_areas, areas);
    memcpy(sweep->areas, areas, sizeof sweep->areas);
    qsort(sweep->areas, AREAS, sizeof *sweep->areas, area_compare);
    sweep->claimed = malloc(claimed_bytes);
    for (size_t i = 0; i < METHODS * 4; i++) {
        struct pages pages;
        if (!open_with(&pages, victim.pid, methods[i % METHODS]))
            continue;
        random_blocks(sweep, i & 2);
        memset(sweep->claimed, 0, claimed_bytes);
        sweep->visited = 0;
        assert_int_equal(page_table_blocks(&pages, sweep->blocks, BLOCKS, check_block, sweep), 0);
        assert_int_equal(sweep->visited, BLOCKS);
        page_table_close(&pages);
    }
    victim_end(victim);
    for (size_t i = 0; i < AREAS; i++)
        munmap(areas[i], sizeof *areas[i]);
    munmap(areas, sizeof sweep->areas);
    free(sweep->claimed);
    free(sweep);
}

static void add_sizes(size_t index, const struct page_table_bytes *bytes, void *context)
{
    uint64_t *sums = context;
    sums[index] =
        bytes->resident + bytes->swapped + bytes->untouched + bytes->guard + bytes->overlapped;
}

static void hold_still(void *shared)
{
    (void)shared;
}

static void absurd_blocks_do_no_harm(void **state)
{
    (void)state;
    struct victim victim = victim_start(hold_still, NULL);
    const struct page_table_block absurd[] = {
        {0, 4096},
        {1ull << 40, 0},
        {1ull << 47, 100},
        {1ull << 55, 100},
        {(1ull << 56) - 1, 100},
        {(1ull << 56) + 5, 1ull << 60},
        {0xffffffffff600000u, 4096},
        {UINT64_MAX - 10, UINT64_MAX},
        {UINT64_MAX, 1},
    };
    enum { COUNT = sizeof absurd / sizeof *absurd };
    const struct page_table_block unsorted[] = {{2, 1}, {1, 1}};
    const struct page_table_range bad[] = {{4096, 8192}, {0, 4096}};
    for (size_t i = 0; i < METHODS; i++) {
        uint64_t sums[COUNT] = {0};
        struct pages pages;
        if (!open_with(&pages, victim.pid, methods[i]))
            continue;
        assert_int_equal(page_table_blocks(&pages, absurd, COUNT, add_sizes, sums), 0);
        for (size_t j = 0; j < COUNT; j++)
            assert_int_equal(sums[j], absurd[j].size_bytes);
        assert_int_equal(page_table_blocks(&pages, unsorted, 2, add_sizes, sums), -EINVAL);
        assert_int_equal(page_table_blocks(&pages, NULL, 0, add_sizes, sums), 0);
        assert_int_equal(page_table_visit(&pages, bad, 2, note_huge, sums), -EINVAL);
        page_table_close(&pages);
    }
    victim_end(victim);
}

/* A page that is write-protected before it was ever touched has a mark in the page table, which the
 * kernel shows as swapped: so that state is met on machines without swap. */
static void mark_as_swapped(void *shared)
{
    char **memory = shared;
    size_t page = process_page_bytes();
    *memory = mmap(NULL, 64 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    small_pages(*memory, 64 * page);
    memset(*memory, 1, 10 * page);
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    struct uffdio_api api = {.api = UFFD_API, .features = 1u << 13 /* WP_UNPOPULATED */};
    struct uffdio_range range = {(uintptr_t)*memory, 32 * page};
    struct uffdio_register whole = {.range = range, .mode = UFFDIO_REGISTER_MODE_WP};
    struct uffdio_writeprotect protect = {.range = range, .mode = UFFDIO_WRITEPROTECT_MODE_WP};
    if (fd < 0 || ioctl(fd, UFFDIO_API, &api) != 0 || ioctl(fd, UFFDIO_REGISTER, &whole) != 0 ||
        ioctl(fd, UFFDIO_WRITEPROTECT, &protect) != 0)
        print_message("no marks in page tables here\n");
}

static void swapped_is_neither_resident_nor_untouched(void **state)
{
    (void)state;
    char **memory = victim_shared(sizeof *memory);
    struct victim victim = victim_start(mark_as_swapped, memory);
    uint64_t page = process_page_bytes(), expected[PAGES_STATES] = {0};
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/pagemap", (int)victim.pid);
    int fd = open(path, O_RDONLY);
    for (size_t i = 0; i < 64; i++)
        expected[state_by_pread(fd, (uintptr_t)*memory + i * page)] += page;
    close(fd);
    assert_int_equal(expected[PAGES_RESIDENT], 10 * page);
    if (!expected[PAGES_SWAPPED])
        print_message("nothing is swapped here\n");
    for (size_t i = 0; i < METHODS; i++) {
        struct page_table_bytes bytes;
        struct pages pages;
        if (!open_with(&pages, victim.pid, methods[i]))
            continue;
        assert_int_equal(page_table_count(&pages, (uintptr_t)*memory, 64 * page, &bytes), 0);
        assert_int_equal(bytes.resident, expected[PAGES_RESIDENT]);
        assert_int_equal(bytes.swapped, expected[PAGES_SWAPPED]);
        assert_int_equal(bytes.untouched, expected[PAGES_UNTOUCHED]);
        page_table_close(&pages);
    }
    victim_end(victim);
    munmap(memory, sizeof *memory);
}

/* The first claims far more than the last ends at. */
static void a_block_may_hold_all_that_follow(void **state)
{
    (void)state;
    struct touched *touched = random_deeds();
    struct victim victim = victim_start(touch_pages, touched);
    uint64_t start = (uintptr_t)touched->memory, size = MANY * process_page_bytes();
    const struct page_table_block blocks[] = {{start, size}, {start + 1, 1}, {start + 1, 1}};
    for (size_t i = 0; i < METHODS; i++) {
        uint64_t sums[3] = {0};
        struct page_table_bytes whole;
        struct pages pages;
        if (!open_with(&pages, victim.pid, methods[i]))
            continue;
        assert_int_equal(page_table_blocks(&pages, blocks, 3, add_sizes, sums), 0);
        assert_int_equal(sums[0], size);
        assert_int_equal(page_table_count(&pages, start, size, &whole), 0);
        size_t there = 0;
        for (size_t j = 0; j < MANY; j++)
            there += touched->mincore[j] & 1;
        assert_int_equal(whole.resident, there * process_page_bytes());
        page_table_close(&pages);
    }
    victim_end(victim);
    munmap(touched, sizeof *touched);
}

/* ---- Gone, forbidden ----------------------------------------------------------------------- */

static void what_is_gone_is_said_so(void **state)
{
    (void)state;
    struct page_table_bytes bytes;
    for (size_t i = 0; i < METHODS; i++) {
        struct victim victim = victim_start(hold_still, NULL);
        struct pages pages;
        if (!open_with(&pages, victim.pid, methods[i])) {
            victim_end(victim);
            continue;
        }
        assert_int_equal(page_table_count(&pages, (uintptr_t)&victim, 8, &bytes), 0);
        kill(victim.pid, SIGKILL);
        siginfo_t info;
        waitid(P_PID, (id_t)victim.pid, &info, WEXITED | WNOWAIT);
        assert_int_equal(page_table_count(&pages, (uintptr_t)&victim, 8, &bytes), -ESRCH);
        struct pages late;
        assert_int_equal(page_table_open(&late, victim.pid), -ESRCH); /* a zombie */
        waitpid(victim.pid, NULL, 0);
        assert_int_equal(page_table_count(&pages, (uintptr_t)&victim, 8, &bytes), -ESRCH);
        assert_int_equal(page_table_open(&late, victim.pid), -ESRCH);
        page_table_close(&pages);
    }
}

static void another_program_is_another_memory(void **state)
{
    (void)state;
    int hold[2], done[2];
    char byte = 0;
    assert_int_equal(pipe(hold) | pipe2(done, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0) {
        close(hold[1]);
        close(done[0]);
        if (read(hold[0], &byte, 1) == 1)
            execl("/bin/sleep", "sleep", "60", NULL);
        _exit(1);
    }
    close(done[1]);
    struct pages pages;
    struct page_table_bytes bytes;
    assert_int_equal(page_table_open(&pages, child), 0);
    assert_int_equal(page_table_count(&pages, (uintptr_t)&pages, 8, &bytes), 0);
    assert_int_equal(bytes.resident, 8);
    assert_int_equal(write(hold[1], &byte, 1), 1);
    assert_int_equal(read(done[0], &byte, 1), 0); /* closed by exec */
    assert_int_equal(page_table_count(&pages, (uintptr_t)&pages, 8, &bytes), -ESRCH);
    page_table_close(&pages);
    victim_end((struct victim){child});
    close(hold[0]);
    close(hold[1]);
    close(done[0]);
}

/* As a user without rights: own children can be seen, others' processes cannot. */
static int look_unprivileged(void)
{
    pid_t other = getppid();
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
        return 77;
    if (getuid() != 65534)
        other = 1;
    prctl(PR_SET_DUMPABLE, 1);
    char *memory = mmap(NULL, 1u << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    small_pages(memory, 1u << 20);
    memory[0] = 1;
    struct victim victim = victim_start(hold_still, NULL);
    struct pages pages;
    struct page_table_bytes bytes;
    if (page_table_open(&pages, other) != -EACCES)
        return 1;
    if (page_table_open(&pages, victim.pid) != 0 ||
        page_table_count(&pages, (uintptr_t)memory, 1u << 20, &bytes) != 0)
        return 2;
    victim_end(victim);
    page_table_close(&pages);
    return bytes.resident == process_page_bytes() ? 0 : 3;
}

static void own_children_are_seen_without_rights_others_are_not(void **state)
{
    (void)state;
    look_from_child(look_unprivileged);
}

/* ---- Huge pages, and pages of two processes ------------------------------------------------ */

enum { HUGE = 2 << 20 };

struct shared_pages {
    char *memory; /* MANY pages, of which the child … */
    bool copied[MANY];
    char *huge, *huge_zero; /* HUGE bytes each; NULL: the system makes none */
};

/* The memory around a huge page, read or written as one. NULL: it has become small pages. */
static char *map_huge(bool write)
{
    char *memory = mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *huge = (char *)(((uintptr_t)memory + HUGE - 1) & ~(uintptr_t)(HUGE - 1));
    if (memory == MAP_FAILED || madvise(huge, HUGE, MADV_HUGEPAGE) != 0)
        return NULL;
    if (write)
        *(volatile char *)huge = 1;
    else
        (void)*(volatile char *)huge;
    return huge;
}

static void share_pages(void *context)
{
    struct shared_pages *shared = context;
    size_t page = process_page_bytes();
    shared->memory =
        mmap(NULL, MANY * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    small_pages(shared->memory, MANY * page);
    memset(shared->memory, 1, MANY * page);
    shared->huge = map_huge(true);
    shared->huge_zero = map_huge(false);
    pid_t parent = getpid(), child = fork();
    if (child == 0) { /* goes with the victim, also if that has gone before */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (getppid() == parent)
            pause();
        _exit(0);
    }
    for (size_t i = 0; i < MANY; i++)
        if (shared->copied[i])
            shared->memory[i * page] = 2;
}

struct page_kinds {
    const struct shared_pages *shared;
    size_t wrong, seen;
};

static int check_forked(const struct page_table_run *run, void *context)
{
    struct page_kinds *kinds = context;
    size_t page = process_page_bytes();
    for (uint64_t at = run->start; at < run->end; at += page) {
        size_t i = (size_t)(at - (uintptr_t)kinds->shared->memory) / page;
        kinds->wrong += run->state != PAGES_RESIDENT || run->forked == kinds->shared->copied[i];
        kinds->seen++;
    }
    return 0;
}

static void pages_that_a_fork_shares_are_told_from_copies(void **state)
{
    (void)state;
    struct shared_pages *shared = victim_shared(sizeof *shared);
    for (size_t i = 0; i < MANY; i++)
        shared->copied[i] = random() & 1;
    struct victim victim = victim_start(share_pages, shared);
    for (unsigned m = 0; m < METHODS; m++) {
        struct pages pages;
        struct page_kinds kinds = {shared, 0, 0};
        uint64_t start = (uintptr_t)shared->memory;
        const struct page_table_range range = {start, start + MANY * process_page_bytes()};
        if (!open_with(&pages, victim.pid, methods[m]))
            continue;
        pages.wants_forked = true;
        assert_int_equal(page_table_visit(&pages, &range, 1, check_forked, &kinds), 0);
        assert_int_equal(kinds.seen, MANY);
        assert_int_equal(kinds.wrong, 0);
        page_table_close(&pages);
    }
    victim_end(victim);
}

static int keep_run(const struct page_table_run *run, void *context)
{
    *(struct page_table_run *)context = *run;
    return 1;
}

static void the_huge_zero_page_is_no_memory(void **state)
{
    (void)state;
    struct shared_pages *shared = victim_shared(sizeof *shared);
    struct victim victim = victim_start(share_pages, shared);
    struct pages pages;
    struct page_table_run run[2] = {{0}};
    if (!shared->huge || !open_with(&pages, victim.pid, PAGES_SCAN)) {
        victim_end(victim);
        skip();
    }
    const struct page_table_range written = {(uintptr_t)shared->huge,
                                             (uintptr_t)shared->huge + HUGE};
    const struct page_table_range read = {(uintptr_t)shared->huge_zero,
                                          (uintptr_t)shared->huge_zero + HUGE};
    page_table_visit(&pages, &written, 1, keep_run, &run[0]);
    page_table_visit(&pages, &read, 1, keep_run, &run[1]);
    if (run[0].huge) /* else there was no huge page to be had */
        assert_int_equal(run[0].zero, 0);
    if (run[1].huge)
        assert_int_equal(run[1].zero, 1);
    assert_true(run[1].state == PAGES_RESIDENT || !run[1].huge);
    page_table_close(&pages);
    victim_end(victim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_are_what_was_done_to_them),
        cmocka_unit_test(every_page_of_a_process_is_as_the_kernel_says),
        cmocka_unit_test(files_shared_memory_and_holes_are_counted),
        cmocka_unit_test(blocks_get_their_bytes_of_each_page),
        cmocka_unit_test(absurd_blocks_do_no_harm),
        cmocka_unit_test(swapped_is_neither_resident_nor_untouched),
        cmocka_unit_test(a_block_may_hold_all_that_follow),
        cmocka_unit_test(pages_that_a_fork_shares_are_told_from_copies),
        cmocka_unit_test(the_huge_zero_page_is_no_memory),
        cmocka_unit_test(what_is_gone_is_said_so),
        cmocka_unit_test(another_program_is_another_memory),
        cmocka_unit_test(own_children_are_seen_without_rights_others_are_not),
    };
    seed_random();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
