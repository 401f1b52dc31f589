/* Asks the kernel which pages are resident, swapped or guards (page_table.h). A window of runs is
 * loaded by PAGEMAP_SCAN or by pread of pagemap. Sorted ranges or blocks are then merged with the
 * runs in one sweep, and the window doubles while the sweep goes on without gaps. */
#include "procfs/page_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "procfs/proc_file.h"
#include "procfs/process.h"

/* linux/fs.h of Linux 6.7, here because the headers that we are built with may be older. The sizes
 * are the kernel's interface and never change. */
struct pages_region {
    uint64_t start, end, categories;
};

struct scan_argument {
    uint64_t size_bytes, flags, start, end, walk_end, regions, region_count, max_pages;
    uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};

#define SCAN_IOCTL _IOWR('f', 16, struct scan_argument)

enum {
    CATEGORY_FILE = 1 << 2,
    CATEGORY_PRESENT = 1 << 3,
    CATEGORY_SWAPPED = 1 << 4,
    CATEGORY_ZERO = 1 << 5,
    CATEGORY_HUGE = 1 << 6,
    CATEGORY_GUARD = 1 << 8,   /* Linux 6.15; -EINVAL before */
    CATEGORY_FORKED = 1 << 30, /* our own */
};
enum {
    CATEGORIES_THERE = CATEGORY_PRESENT | CATEGORY_SWAPPED,
    CATEGORIES_OLD = CATEGORIES_THERE | CATEGORY_FILE | CATEGORY_ZERO | CATEGORY_HUGE,
};

/* A word of /proc/PID/pagemap */
#define ENTRY_PRESENT (1ull << 63)
#define ENTRY_SWAPPED (1ull << 62)
#define ENTRY_FILE    (1ull << 61)
#define ENTRY_GUARD   (1ull << 58)
#define ENTRY_ALONE   (1ull << 56) /* no other process maps the page */

/* A huge page on most machines. Where they are larger this only asks more often than needed. */
#define HUGE_BYTES (2ull << 20)

/* How much of the page table is asked for at once. It begins small, since the next block may be far
 * away, and doubles as long as the sweep goes on where the last piece ended. The kernel holds the
 * process's mapping lock for one piece: 64 MiB of 4 KiB pages are well below a millisecond. */
#define PIECE_MIN_BYTES (2ull << 20)
#define PIECE_MAX_BYTES (64ull << 20)
#define MAX_RUNS        8192u /* = entries of one pread: at most one run each */

/* Above all user space of x86-64 and aarch64: pagemap could not be sought so far. */
#define ADDRESS_TOP (1ull << 56)

/* ---- Opening ------------------------------------------------------------------------------- */

/* The descriptor belongs to the memory, not to the number of the process: reading gives nothing
 * once that memory is gone, even if another process or program has the number now. */
static int page_table_check_alive(const struct pages *pages)
{
    uint64_t entry;
    ssize_t got = pread(pages->fd, &entry, sizeof entry, 0);
    if (got < 0)
        return proc_error(errno);
    return got == sizeof entry ? 0 : -ESRCH;
}

static int page_table_scan(struct pages *pages, uint64_t start, uint64_t end,
                           struct scan_argument *argument)
{
    *argument = (struct scan_argument){
        .size_bytes = sizeof *argument,
        .start = start,
        .end = end,
        .regions = (uintptr_t)pages->runs,
        .region_count = MAX_RUNS,
        .category_anyof_mask = CATEGORIES_THERE,
        .return_mask = pages->categories,
    };
    int count = ioctl(pages->fd, SCAN_IOCTL, argument);
    return count < 0 ? -errno : count;
}

/* Asks for one page, because the kernel then rejects categories that it does not have. The answer
 * is the same for all processes. */
static int page_table_probe_scan(struct pages *pages)
{
    static _Atomic uint64_t known; /* categories; 0: not asked yet */
    struct scan_argument argument;
    uint64_t page = process_page_bytes();
    if ((pages->categories = known))
        return 0;
    pages->categories = CATEGORIES_OLD | CATEGORY_GUARD;
    int result = page_table_scan(pages, page, 2 * page, &argument);
    if (result == -EINVAL) {
        pages->categories = CATEGORIES_OLD;
        result = page_table_scan(pages, page, 2 * page, &argument);
    }
    if (result >= 0)
        known = pages->categories;
    return result < 0 ? -ENOTTY : 0;
}

static int page_table_choose(struct pages *pages, enum pages_method method)
{
    pages->runs = malloc(MAX_RUNS * sizeof *pages->runs);
    if (!pages->runs)
        return -ENOMEM;
    pages->method = method;
    pages->knows_huge = method == PAGES_SCAN;
    pages->entries = malloc(MAX_RUNS * sizeof *pages->entries);
    if (!pages->entries)
        return -ENOMEM;
    return method == PAGES_SCAN ? page_table_probe_scan(pages) : 0;
}

int page_table_open_with(struct pages *pages, pid_t pid, enum pages_method method)
{
    *pages = (struct pages){.fd = proc_open(pid, "pagemap")};
    int error = pages->fd < 0 ? pages->fd : page_table_check_alive(pages);
    if (!error)
        error = page_table_choose(pages, method);
    if (error)
        page_table_close(pages);
    return error;
}

int page_table_open(struct pages *pages, pid_t pid)
{
    int error = page_table_open_with(pages, pid, PAGES_SCAN);
    return error == -ENOTTY ? page_table_open_with(pages, pid, PAGES_PREAD) : error;
}

void page_table_close(struct pages *pages)
{
    if (pages->fd >= 0)
        close(pages->fd);
    free(pages->runs);
    free(pages->entries);
    free(pages->fine);
    *pages = (struct pages){.fd = -1};
}

/* ---- Addresses ----------------------------------------------------------------------------- */

static uint64_t page_table_up(uint64_t address)
{
    uint64_t page = process_page_bytes();
    return (address + page - 1) & ~(page - 1);
}

static uint64_t page_table_down(uint64_t address)
{
    return address & ~(uint64_t)(process_page_bytes() - 1);
}

static uint64_t page_table_largest(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t page_table_smallest(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- What the scan does not say ------------------------------------------------------------ */

/* The number of whole entries that were read, or -errno. */
static ssize_t page_table_read_entries(struct pages *pages, uint64_t start, uint64_t count)
{
    size_t wanted = (size_t)page_table_smallest(count, MAX_RUNS);
    ssize_t got = pread(pages->fd, pages->entries, wanted * sizeof *pages->entries,
                        (off_t)(start / process_page_bytes() * sizeof *pages->entries));
    return got < 0 ? -errno : got / (ssize_t)sizeof *pages->entries;
}

/* Adds [start, end), joined with the last run if that is alike. False: there is no room. */
static bool page_table_add_fine(struct pages *pages, size_t *count, uint64_t start, uint64_t end,
                                uint64_t categories)
{
    struct pages_region *last = *count ? &pages->fine[*count - 1] : NULL;
    if (last && last->end == start && last->categories == categories) {
        last->end = end;
        return true;
    }
    if (*count == MAX_RUNS)
        return false;
    pages->fine[(*count)++] = (struct pages_region){start, end, categories};
    return true;
}

/* One entry suffices for a whole huge page. The scan shows the huge zero page as private memory,
 * and its entry as a file's, which tells it apart. */
static uint64_t page_table_cut_huge(struct pages *pages, size_t *count,
                                    const struct pages_region *run)
{
    uint64_t at = run->start;
    while (at < run->end) {
        uint64_t end = page_table_smallest((at & ~(HUGE_BYTES - 1)) + HUGE_BYTES, run->end);
        uint64_t categories = run->categories;
        if (page_table_read_entries(pages, at, 1) != 1)
            pages->entries[0] = ENTRY_ALONE;
        if (pages->entries[0] & ENTRY_FILE)
            categories |= CATEGORY_ZERO;
        else if (pages->wants_forked && !(pages->entries[0] & ENTRY_ALONE))
            categories |= CATEGORY_FORKED;
        if (!page_table_add_fine(pages, count, at, end, categories))
            break;
        at = end;
    }
    return at;
}

static uint64_t page_table_cut_forked(struct pages *pages, size_t *count,
                                      const struct pages_region *run)
{
    uint64_t page = process_page_bytes(), at = run->start;
    while (at < run->end) {
        ssize_t got = page_table_read_entries(pages, at, (run->end - at) / page);
        if (got <= 0)
            return page_table_add_fine(pages, count, at, run->end, run->categories) ? run->end : at;
        for (ssize_t i = 0; i < got; i++, at += page) {
            bool is_alone = pages->entries[i] & ENTRY_ALONE;
            if (!page_table_add_fine(pages, count, at, at + page,
                                     run->categories | (is_alone ? 0 : CATEGORY_FORKED)))
                return at;
        }
    }
    return at;
}

/* Cuts a run. Returns the end of the part for which there was room. */
static uint64_t page_table_cut_run(struct pages *pages, size_t *count,
                                   const struct pages_region *run)
{
    const uint64_t is_plain = CATEGORY_FILE | CATEGORY_ZERO | CATEGORY_GUARD | CATEGORY_SWAPPED;
    if (!(run->categories & is_plain) && (run->categories & CATEGORY_HUGE))
        return page_table_cut_huge(pages, count, run);
    if (!(run->categories & is_plain) && pages->wants_forked)
        return page_table_cut_forked(pages, count, run);
    return page_table_add_fine(pages, count, run->start, run->end, run->categories) ? run->end
                                                                                    : run->start;
}

static bool page_table_has_huge(const struct pages *pages)
{
    for (size_t i = 0; i < pages->run_count; i++)
        if (pages->runs[i].categories & CATEGORY_HUGE)
            return true;
    return false;
}

/* Cuts the window's runs by their entries; the window ends where there is no room for more. */
static int page_table_cut_window(struct pages *pages)
{
    size_t count = 0;
    if (!pages->wants_forked && !page_table_has_huge(pages))
        return 0;
    if (!pages->fine && !(pages->fine = malloc(MAX_RUNS * sizeof *pages->fine)))
        return -ENOMEM;
    for (size_t i = 0; i < pages->run_count; i++) {
        uint64_t end = page_table_cut_run(pages, &count, &pages->runs[i]);
        if (end < pages->runs[i].end) {
            pages->window_end = end;
            break;
        }
    }
    struct pages_region *fine = pages->fine;
    pages->fine = pages->runs;
    pages->runs = fine;
    pages->run_count = count;
    return 0;
}

/* ---- The window ---------------------------------------------------------------------------- */

static int page_table_load_by_scan(struct pages *pages, uint64_t start, uint64_t end)
{
    struct scan_argument argument;
    int count = page_table_scan(pages, start, end, &argument);
    if (count == -EFAULT) { /* not an address of user space */
        count = 0;
        argument.walk_end = end;
    }
    if (count < 0)
        return proc_error(-count);
    pages->run_count = (size_t)count;
    pages->window_end = argument.walk_end;
    return argument.walk_end > start ? page_table_cut_window(pages) : -EIO;
}

static uint64_t page_table_entry_categories(uint64_t entry)
{
    return (entry & ENTRY_PRESENT ? CATEGORY_PRESENT : 0) |
           (entry & ENTRY_SWAPPED ? CATEGORY_SWAPPED : 0) |
           (entry & ENTRY_FILE ? CATEGORY_FILE : 0) | (entry & ENTRY_GUARD ? CATEGORY_GUARD : 0) |
           ((entry & (ENTRY_PRESENT | ENTRY_FILE | ENTRY_ALONE)) == ENTRY_PRESENT ? CATEGORY_FORKED
                                                                                  : 0);
}

static void page_table_add_entries(struct pages *pages, uint64_t start, size_t count)
{
    uint64_t page = process_page_bytes();
    struct pages_region *last = NULL;
    pages->run_count = 0;
    for (size_t i = 0; i < count; i++, start += page) {
        uint64_t categories = page_table_entry_categories(pages->entries[i]);
        if (!(categories & CATEGORIES_THERE))
            continue;
        if (last && last->end == start && last->categories == categories) {
            last->end += page;
        } else {
            last = &pages->runs[pages->run_count++];
            *last = (struct pages_region){start, start + page, categories};
        }
    }
}

static int page_table_load_by_pread(struct pages *pages, uint64_t start, uint64_t end)
{
    uint64_t page = process_page_bytes();
    ssize_t got = page_table_read_entries(pages, start, (end - start) / page);
    if (got < 0)
        return proc_error((int)-got);
    page_table_add_entries(pages, start, (size_t)got);
    /* no entries: the range is above user space, or the memory is gone, which
     * page_table_check_alive() reports */
    pages->window_end = got ? start + (uint64_t)got * page : end;
    return 0;
}

static void page_table_forget(struct pages *pages)
{
    pages->window_start = pages->window_end = 0;
    pages->run_count = pages->cursor = 0;
}

/* False: there are more runs than room for them, or not all of it is user space. */
static bool page_table_load_at_once(struct pages *pages, uint64_t start, uint64_t end)
{
    struct scan_argument argument;
    int count = page_table_scan(pages, start, end, &argument);
    pages->at_once = false; /* later pieces are near each other */
    if (count < 0 || argument.walk_end != end)
        return false;
    pages->window_start = start;
    pages->window_end = end;
    pages->run_count = (size_t)count;
    pages->cursor = 0;
    return page_table_cut_window(pages) == 0 && pages->window_end == end;
}

/* Moves the window to `address`. It reaches to `needed`. If the sweep went through the whole last
 * piece, it reaches further, at most to `last`. */
static int page_table_load(struct pages *pages, uint64_t address, uint64_t needed, uint64_t last)
{
    uint64_t start = page_table_down(address);
    bool goes_on = start == pages->window_end;
    if (pages->at_once && pages->method == PAGES_SCAN &&
        page_table_load_at_once(pages, start, page_table_up(last)))
        return 0;
    uint64_t piece =
        goes_on ? page_table_smallest(pages->piece_bytes * 2, PIECE_MAX_BYTES) : PIECE_MIN_BYTES;
    uint64_t end =
        start + page_table_largest(
                    piece, page_table_smallest(page_table_up(needed) - start, PIECE_MAX_BYTES));
    end = page_table_smallest(end, page_table_largest(page_table_up(last), page_table_up(needed)));
    pages->piece_bytes = piece;
    pages->window_start = start;
    pages->cursor = pages->run_count = 0;
    return pages->method == PAGES_SCAN ? page_table_load_by_scan(pages, start, end)
                                       : page_table_load_by_pread(pages, start, end);
}

static enum pages_state page_table_state_of(uint64_t categories)
{
    if (categories & CATEGORY_GUARD)
        return PAGES_GUARD;
    return categories & CATEGORY_PRESENT ? PAGES_RESIDENT : PAGES_SWAPPED;
}

/* The part of the window that begins at `at`, ends at `end` at most, and is all in one state: what
 * a sweep of either kind is made of. `at` never goes back. */
struct page_table_part {
    uint64_t end, categories; /* no categories: untouched */
};

static struct page_table_part page_table_part_at(struct pages *pages, uint64_t at, uint64_t end)
{
    const struct pages_region *runs = pages->runs;
    size_t cursor = pages->cursor, count = pages->run_count;
    while (cursor < count && runs[cursor].end <= at)
        cursor++;
    pages->cursor = cursor;
    end = page_table_smallest(end, pages->window_end);
    if (cursor == count || runs[cursor].start >= end)
        return (struct page_table_part){end, 0};
    if (runs[cursor].start > at)
        return (struct page_table_part){runs[cursor].start, 0};
    return (struct page_table_part){page_table_smallest(end, runs[cursor].end),
                                    runs[cursor].categories};
}

/* ---- Ranges -------------------------------------------------------------------------------- */

static struct page_table_run page_table_run_of(uint64_t start, const struct page_table_part *part)
{
    uint64_t is = part->categories;
    return (struct page_table_run){
        .start = start,
        .end = part->end,
        .state = is ? page_table_state_of(is) : PAGES_UNTOUCHED,
        .shared = is & CATEGORY_FILE,
        .huge = is & CATEGORY_HUGE,
        .zero = is & CATEGORY_ZERO,
        .forked = is & CATEGORY_FORKED,
    };
}

static int page_table_visit_range(struct pages *pages, uint64_t start, uint64_t end, uint64_t last,
                                  int (*visit)(const struct page_table_run *, void *),
                                  void *context)
{
    int result = 0;
    for (uint64_t at = start; at < end && result == 0;) {
        if (at >= pages->window_end || at < pages->window_start)
            result = page_table_load(pages, at, end, pages->at_once ? last : end);
        if (result)
            break;
        struct page_table_part part = page_table_part_at(pages, at, end);
        struct page_table_run run = page_table_run_of(at, &part);
        result = visit(&run, context);
        at = part.end;
    }
    return result;
}

int page_table_visit(struct pages *pages, const struct page_table_range *ranges, size_t count,
                     int (*visit)(const struct page_table_run *run, void *context), void *context)
{
    uint64_t covered = 0,
             last = count ? page_table_smallest(ranges[count - 1].end, ADDRESS_TOP) : 0;
    int result = 0;
    page_table_forget(pages);
    for (size_t i = 0; i < count && result == 0; i++) {
        if (ranges[i].start > ranges[i].end || (i && ranges[i].start < ranges[i - 1].end))
            return -EINVAL;
        uint64_t start = page_table_largest(page_table_down(ranges[i].start), covered);
        uint64_t end = page_table_up(page_table_smallest(ranges[i].end, ADDRESS_TOP));
        result = page_table_visit_range(pages, start, end, last, visit, context);
        covered = page_table_largest(covered, end);
    }
    return result ? result : page_table_check_alive(pages);
}

/* ---- Blocks -------------------------------------------------------------------------------- */

static void page_table_add_part(struct page_table_bytes *bytes, uint64_t categories,
                                uint64_t amount)
{
    uint64_t *const by_state[PAGES_STATES] = {
        [PAGES_UNTOUCHED] = &bytes->untouched,
        [PAGES_RESIDENT] = &bytes->resident,
        [PAGES_SWAPPED] = &bytes->swapped,
        [PAGES_GUARD] = &bytes->guard,
    };
    *by_state[categories ? page_table_state_of(categories) : PAGES_UNTOUCHED] += amount;
    if (categories & CATEGORY_ZERO)
        bytes->zero += amount;
}

static int page_table_count_bytes(struct pages *pages, uint64_t start, uint64_t end, uint64_t last,
                                  struct page_table_bytes *bytes)
{
    for (uint64_t at = start; at < end;) {
        if (at >= pages->window_end || at < pages->window_start) {
            int error = page_table_load(pages, at, end, last);
            if (error)
                return error;
        }
        struct page_table_part part = page_table_part_at(pages, at, end);
        page_table_add_part(bytes, part.categories, part.end - at);
        at = part.end;
    }
    return 0;
}

static uint64_t page_table_block_end(const struct page_table_block *block)
{
    uint64_t end;
    return __builtin_add_overflow(block->address, block->size_bytes, &end) ? UINT64_MAX : end;
}

int page_table_blocks(struct pages *pages, const struct page_table_block *blocks, size_t count,
                      void (*visit)(size_t index, const struct page_table_bytes *bytes,
                                    void *context),
                      void *context)
{
    if (!count)
        return page_table_check_alive(pages);
    uint64_t covered = 0,
             last = page_table_smallest(page_table_block_end(&blocks[count - 1]), ADDRESS_TOP);
    page_table_forget(pages);
    for (size_t i = 0; i < count; i++) {
        if (i && blocks[i].address < blocks[i - 1].address)
            return -EINVAL;
        struct page_table_bytes bytes = {0};
        uint64_t end = page_table_block_end(&blocks[i]);
        uint64_t start = page_table_smallest(page_table_largest(blocks[i].address, covered), end);
        uint64_t counted_end = page_table_largest(page_table_smallest(end, ADDRESS_TOP), start);
        int error = page_table_count_bytes(pages, start, counted_end, last, &bytes);
        if (error)
            return error;
        bytes.overlapped = start - blocks[i].address;
        bytes.untouched += blocks[i].address + blocks[i].size_bytes - counted_end;
        covered = page_table_largest(covered, end);
        visit(i, &bytes, context);
    }
    return page_table_check_alive(pages);
}

static void page_table_keep(size_t index, const struct page_table_bytes *bytes, void *context)
{
    (void)index;
    *(struct page_table_bytes *)context = *bytes;
}

int page_table_count(struct pages *pages, uint64_t address, uint64_t size_bytes,
                     struct page_table_bytes *bytes)
{
    const struct page_table_block block = {address, size_bytes};
    return page_table_blocks(pages, &block, 1, page_table_keep, bytes);
}
