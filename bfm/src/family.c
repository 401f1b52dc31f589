/* In libbfm.so only: the functions of the C library's malloc family that report or set something
 * (mallinfo(3), malloc_stats(3), malloc_info(3), mallopt(3)), and the sized frees. */
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include "bfm/bfm_options.h"
#include "bfm/layout.h"
#include "tidemark/bfm.h"

#define API __attribute__((visibility("default")))

/* Of C23. BFM needs them: otherwise the C library's would be given BFM's blocks. */
void free_sized(void *block, size_t bytes);
void free_aligned_sized(void *block, size_t align, size_t bytes);

API void free_sized(void *block, size_t bytes)
{
    (void)bytes;
    bfm_free(block);
}

API void free_aligned_sized(void *block, size_t align, size_t bytes)
{
    (void)align;
    (void)bytes;
    bfm_free(block);
}

API int malloc_trim(size_t keep)
{
    return bfm_malloc_trim(keep);
}

static struct bfm_statistics family_now(void)
{
    struct bfm_statistics statistics = {.size = sizeof statistics};

    bfm_statistics(NULL, &statistics);
    return statistics;
}

API struct mallinfo2 mallinfo2(void)
{
    struct bfm_statistics statistics = family_now();
    size_t used = statistics.tree_used + statistics.records - statistics.records_free;

    return (struct mallinfo2){
        .arena = statistics.dirty,
        .ordblks = statistics.region_count,
        .hblks = statistics.large_count,
        .hblkhd = statistics.large_used,
        .uordblks = used,
        .fordblks = statistics.dirty > used ? statistics.dirty - used : 0,
        .keepcost = statistics.large_kept,
    };
}

/* The fields of mallinfo() are ints; larger values become INT_MAX. */
static int family_clip(size_t value)
{
    return value > INT_MAX ? INT_MAX : (int)value;
}

API struct mallinfo mallinfo(void)
{
    struct mallinfo2 info = mallinfo2();

    return (struct mallinfo){
        .arena = family_clip(info.arena),
        .ordblks = family_clip(info.ordblks),
        .hblks = family_clip(info.hblks),
        .hblkhd = family_clip(info.hblkhd),
        .uordblks = family_clip(info.uordblks),
        .fordblks = family_clip(info.fordblks),
        .keepcost = family_clip(info.keepcost),
    };
}

/* Prints the resident bytes by use, a line each. */
static void family_say_account(void)
{
    struct bfm_account account = {.size = sizeof account};
    const struct {
        const char *name;
        const size_t *bytes;
    } rows[] = {
        {"resident", &account.resident},
        {"the program's blocks", &account.blocks},
        {"  not asked for", &account.rounding},
        {"caches of threads", &account.caches},
        {"free in records", &account.records_free},
        {"tails of records", &account.record_tails},
        {"pages for records", &account.records_spare},
        {"tags of chunks", &account.tags},
        {"free in trees", &account.trees_free},
        {"the heap's end", &account.top},
        {"mappings kept", &account.kept},
        {"descriptors", &account.descriptors},
        {"unused descriptors", &account.descriptors_idle},
        {"page map", &account.page_map},
        {"threads", &account.threads},
        {"heaps", &account.heaps},
    };

    if (bfm_account(&account))
        return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (*rows[i].bytes != BFM_UNKNOWN)
            fprintf(stderr, "%-20s = %12zu bytes\n", rows[i].name, *rows[i].bytes);
}

/* The last lines are as the C library's, for programs that read them. */
API void malloc_stats(void)
{
    struct bfm_statistics statistics = family_now();
    struct mallinfo2 info = mallinfo2();

    fprintf(stderr,
            "BFM\n"
            "reserved addresses = %12zu bytes in %zu regions\n"
            "written pages      = %12zu\n"
            "tree component     = %12zu in use\n"
            "page records       = %12zu, of which %zu free\n"
            "own mappings       = %12zu in %zu blocks; %zu kept\n"
            "given back so far  = %12zu\n"
            "arenas             = %12zu\n",
            statistics.reserved, statistics.region_count, statistics.dirty, statistics.tree_used,
            statistics.records, statistics.records_free, statistics.large_used,
            statistics.large_count, statistics.large_kept, statistics.purged,
            statistics.arena_count);
    family_say_account();
    fprintf(stderr,
            "Total (incl. mmap):\n"
            "system bytes     = %10zu\n"
            "in use bytes     = %10zu\n",
            info.arena + info.hblkhd, info.uordblks + info.hblkhd);
}

/* What malloc_info says of the whole and of its only heap; BFM has no fast bins. */
static void family_say_heap(FILE *stream, const struct mallinfo2 *info, size_t reserved, bool whole)
{
    static _Atomic size_t most_seen;
    size_t most = atomic_load(&most_seen);

    while (info->arena > most && !atomic_compare_exchange_weak(&most_seen, &most, info->arena)) {
    }
    fprintf(stream,
            "<total type=\"fast\" count=\"0\" size=\"0\"/>\n"
            "<total type=\"rest\" count=\"%zu\" size=\"%zu\"/>\n",
            info->ordblks, info->fordblks);
    if (whole)
        fprintf(stream, "<total type=\"mmap\" count=\"%zu\" size=\"%zu\"/>\n", info->hblks,
                info->hblkhd);
    fprintf(stream,
            "<system type=\"current\" size=\"%zu\"/>\n"
            "<system type=\"max\" size=\"%zu\"/>\n"
            "<aspace type=\"total\" size=\"%zu\"/>\n"
            "<aspace type=\"mprotect\" size=\"%zu\"/>\n",
            info->arena, atomic_load(&most_seen), reserved, reserved);
}

/* As the C library's, for programs that read it. */
API int malloc_info(int flags, FILE *stream)
{
    struct mallinfo2 info = mallinfo2();
    size_t reserved = family_now().reserved;

    if (flags) {
        errno = EINVAL;
        return -1;
    }
    fprintf(stream, "<malloc version=\"1\">\n"
                    "<!-- BFM: \"max\" is the most that a call of malloc_info has seen -->\n"
                    "<heap nr=\"0\">\n<sizes>\n</sizes>\n");
    family_say_heap(stream, &info, reserved, false);
    fprintf(stream, "</heap>\n");
    family_say_heap(stream, &info, reserved, true);
    fprintf(stream, "</malloc>\n");
    return 0;
}

/* The known parameters are accepted without effect: 1, as from the C library. */
API int mallopt(int parameter, int value)
{
    switch (parameter) {
    case M_MMAP_THRESHOLD:
    case M_MMAP_MAX:
    case M_TRIM_THRESHOLD:
    case M_TOP_PAD:
    case M_ARENA_MAX:
    case M_ARENA_TEST:
    case M_CHECK_ACTION:
    case M_PERTURB:
        return 1;
    case M_MXFAST:
        return value >= 0 && value <= (int)(80 * sizeof(size_t) / 4);
    default:
        return 0;
    }
}
