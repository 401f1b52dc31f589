/* Finds the spaces of HotSpot (hotspot_spaces.h). Which collector is at work follows from its
 * barriers: G1's are its own, those with a card table alone are Serial's or Parallel's, and only
 * Parallel has generations in static fields. */
#include "collector/hotspot_spaces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "attach/target.h"
#include "base/array.h"
#include "collector/program_memory.h"
#include "procfs/proc_file.h"

const char hotspot_heap_name[] = "Java heap";

#define EDEN      "Java heap, eden"
#define SURVIVORS "Java heap, survivors"
#define OLD       "Java heap, old"
#define HUMONGOUS "Java heap, humongous"
#define HEAP_FREE "Java heap, free"
#define CODE      "Java code cache"
#define CARDS     "Java heap's card table"
#define ARCHIVE   "Java class data archive"

/* More than any heap has, so that a damaged length ends. */
enum { REGIONS_MOST = 1 << 20, CODE_HEAPS_MOST = 16 };
#define USER_SPACE_END (1ull << 56)

struct hotspot_finding {
    struct hotspot_tables *tables;
    struct hotspot_spaces *spaces;
    struct area_label heap; /* reserved */
    int error;
};

static void hotspot_spaces_add(struct hotspot_finding *finding, uint64_t start, uint64_t end,
                               const char *name)
{
    struct hotspot_spaces *spaces = finding->spaces;
    if (!start || start >= end || end > USER_SPACE_END || finding->error)
        return;
    struct area_label *last = spaces->count ? &spaces->list[spaces->count - 1] : NULL;
    if (last && last->end == start && last->name == name) {
        last->end = end;
        return;
    }
    if (!array_make_bare_room(&spaces->list, &spaces->capacity, spaces->count,
                              sizeof *spaces->list))
        finding->error = -ENOMEM;
    else
        spaces->list[spaces->count++] = (struct area_label){start, end, name};
}

/* ---- The heap ------------------------------------------------------------------------------ */

/* A part of the heap that has objects up to `top`. */
static void hotspot_spaces_add_part(struct hotspot_finding *finding, uint64_t bottom, uint64_t top,
                                    uint64_t end, const char *name)
{
    if (bottom < finding->heap.start || end > finding->heap.end || bottom > end)
        return;
    if (top < bottom || top > end)
        top = end;
    hotspot_spaces_add(finding, bottom, top, name);
    hotspot_spaces_add(finding, top, end, HEAP_FREE);
}

static const char *hotspot_spaces_region_name(const struct hotspot_finding *finding, uint32_t tag)
{
    static const struct {
        enum hotspot_constant constant;
        bool is_mask;
        const char *name;
    } kinds[] = {{HOTSPOT_TAG_FREE, false, HEAP_FREE},
                 {HOTSPOT_TAG_EDEN, false, EDEN},
                 {HOTSPOT_TAG_SURVIVOR, false, SURVIVORS},
                 {HOTSPOT_TAG_HUMONGOUS, true, HUMONGOUS},
                 {HOTSPOT_TAG_OLD, true, OLD}};
    uint32_t value;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (hotspot_tables_constant(finding->tables, kinds[i].constant, &value) &&
            (kinds[i].is_mask ? (tag & value) != 0 : tag == value))
            return kinds[i].name;
    return hotspot_heap_name;
}

static void hotspot_spaces_add_region(struct hotspot_finding *finding, uint64_t region)
{
    struct hotspot_tables *tables = finding->tables;
    uint64_t type = hotspot_tables_place(tables, HOTSPOT_G1_TYPE, region);
    uint32_t tag;
    const char *name = hotspot_tables_number(tables, HOTSPOT_G1_TAG, type, sizeof tag, &tag)
                           ? hotspot_spaces_region_name(finding, tag)
                           : hotspot_heap_name;
    hotspot_spaces_add_part(finding, hotspot_tables_word(tables, HOTSPOT_G1_BOTTOM, region),
                            hotspot_tables_word(tables, HOTSPOT_G1_TOP, region),
                            hotspot_tables_word(tables, HOTSPOT_G1_END, region), name);
}

/* Regions that were never committed have no description. */
static void hotspot_spaces_add_regions(struct hotspot_finding *finding, uint64_t heap)
{
    struct hotspot_tables *tables = finding->tables;
    uint64_t manager = hotspot_tables_place(tables, HOTSPOT_G1_MANAGER, heap);
    uint64_t table = hotspot_tables_place(tables, HOTSPOT_G1_REGIONS, manager);
    uint64_t base = hotspot_tables_word(tables, HOTSPOT_G1_TABLE_BASE, table);
    uint64_t length = hotspot_tables_word(tables, HOTSPOT_G1_TABLE_LENGTH, table), region;
    for (uint64_t i = 0; base && i < length && i < REGIONS_MOST; i++)
        if (!hotspot_tables_read_word(tables, base + i * sizeof region, &region))
            return;
        else if (region)
            hotspot_spaces_add_region(finding, region);
}

static void hotspot_spaces_add_contiguous(struct hotspot_finding *finding, uint64_t space,
                                          const char *name)
{
    struct hotspot_tables *tables = finding->tables;
    uint64_t bottom = hotspot_tables_word(tables, HOTSPOT_CONTIGUOUS_BOTTOM, space);
    uint64_t end = hotspot_tables_word(tables, HOTSPOT_CONTIGUOUS_END, space);
    if (!bottom) { /* in older versions of a class above it */
        bottom = hotspot_tables_word(tables, HOTSPOT_SPACE_BOTTOM, space);
        end = hotspot_tables_word(tables, HOTSPOT_SPACE_END, space);
    }
    hotspot_spaces_add_part(finding, bottom,
                            hotspot_tables_word(tables, HOTSPOT_CONTIGUOUS_TOP, space), end, name);
}

static void hotspot_spaces_add_serial(struct hotspot_finding *finding, uint64_t heap)
{
    struct hotspot_tables *tables = finding->tables;
    uint64_t young = hotspot_tables_word(tables, HOTSPOT_SERIAL_YOUNG, heap);
    uint64_t old = hotspot_tables_word(tables, HOTSPOT_SERIAL_OLD, heap);
    if (!young)
        young = hotspot_tables_word(tables, HOTSPOT_GEN_YOUNG, heap);
    if (!old)
        old = hotspot_tables_word(tables, HOTSPOT_GEN_OLD, heap);
    hotspot_spaces_add_contiguous(finding, hotspot_tables_word(tables, HOTSPOT_DEF_EDEN, young),
                                  EDEN);
    hotspot_spaces_add_contiguous(finding, hotspot_tables_word(tables, HOTSPOT_DEF_FROM, young),
                                  SURVIVORS);
    hotspot_spaces_add_contiguous(finding, hotspot_tables_word(tables, HOTSPOT_DEF_TO, young),
                                  SURVIVORS);
    hotspot_spaces_add_contiguous(finding, hotspot_tables_word(tables, HOTSPOT_TENURED_SPACE, old),
                                  OLD);
}

static void hotspot_spaces_add_mutable(struct hotspot_finding *finding, uint64_t space,
                                       const char *name)
{
    struct hotspot_tables *tables = finding->tables;
    hotspot_spaces_add_part(finding, hotspot_tables_word(tables, HOTSPOT_MUTABLE_BOTTOM, space),
                            hotspot_tables_word(tables, HOTSPOT_MUTABLE_TOP, space),
                            hotspot_tables_word(tables, HOTSPOT_MUTABLE_END, space), name);
}

static void hotspot_spaces_add_parallel(struct hotspot_finding *finding)
{
    struct hotspot_tables *tables = finding->tables;
    uint64_t young = hotspot_tables_word(tables, HOTSPOT_PARALLEL_YOUNG, 0);
    uint64_t old = hotspot_tables_word(tables, HOTSPOT_PARALLEL_OLD, 0);
    hotspot_spaces_add_mutable(finding, hotspot_tables_word(tables, HOTSPOT_PS_EDEN, young), EDEN);
    hotspot_spaces_add_mutable(finding, hotspot_tables_word(tables, HOTSPOT_PS_FROM, young),
                               SURVIVORS);
    hotspot_spaces_add_mutable(finding, hotspot_tables_word(tables, HOTSPOT_PS_TO, young),
                               SURVIVORS);
    hotspot_spaces_add_mutable(finding, hotspot_tables_word(tables, HOTSPOT_PS_OLD, old), OLD);
}

static bool hotspot_spaces_has_barriers(const struct hotspot_finding *finding, uint64_t barriers,
                                        enum hotspot_constant kind)
{
    uint64_t rtti = hotspot_tables_place(finding->tables, HOTSPOT_BARRIER_RTTI, barriers);
    uint32_t tag, value;
    return hotspot_tables_number(finding->tables, HOTSPOT_RTTI_TAG, rtti, sizeof tag, &tag) &&
           hotspot_tables_constant(finding->tables, kind, &value) && tag == value;
}

static void hotspot_spaces_add_cards(struct hotspot_finding *finding, uint64_t barriers)
{
    struct hotspot_tables *tables = finding->tables;
    uint64_t table = hotspot_tables_word(tables, HOTSPOT_BARRIER_CARDS, barriers);
    uint64_t map = hotspot_tables_word(tables, HOTSPOT_CARDS_MAP, table);
    uint64_t bytes = hotspot_tables_word(tables, HOTSPOT_CARDS_BYTES, table);
    if (bytes < USER_SPACE_END && map < USER_SPACE_END)
        hotspot_spaces_add(finding, map, map + bytes, CARDS);
}

static void hotspot_spaces_add_heap(struct hotspot_finding *finding)
{
    struct hotspot_tables *tables = finding->tables;
    uint64_t heap = hotspot_tables_word(tables, HOTSPOT_UNIVERSE_HEAP, 0);
    uint64_t reserved = hotspot_tables_place(tables, HOTSPOT_HEAP_RESERVED, heap);
    uint64_t start = hotspot_tables_word(tables, HOTSPOT_REGION_START, reserved);
    uint64_t words = hotspot_tables_word(tables, HOTSPOT_REGION_WORDS, reserved);
    uint64_t barriers = hotspot_tables_word(tables, HOTSPOT_BARRIER_SET, 0);
    bool is_g1 = hotspot_spaces_has_barriers(finding, barriers, HOTSPOT_SET_G1);
    bool has_cards = hotspot_spaces_has_barriers(finding, barriers, HOTSPOT_SET_CARDS);
    if (!start || start >= USER_SPACE_END || words >= USER_SPACE_END / 8)
        return;
    finding->heap = (struct area_label){start, start + words * 8, hotspot_heap_name};
    if (is_g1)
        hotspot_spaces_add_regions(finding, heap);
    else if (has_cards && hotspot_tables_word(tables, HOTSPOT_PARALLEL_OLD, 0))
        hotspot_spaces_add_parallel(finding);
    else if (has_cards)
        hotspot_spaces_add_serial(finding, heap);
    if (is_g1 || has_cards)
        hotspot_spaces_add_cards(finding, barriers);
}

/* ---- Code and classes ---------------------------------------------------------------------- */

static void hotspot_spaces_add_virtual(struct hotspot_finding *finding, uint64_t space,
                                       const char *name)
{
    hotspot_spaces_add(finding, hotspot_tables_word(finding->tables, HOTSPOT_VIRTUAL_LOW, space),
                       hotspot_tables_word(finding->tables, HOTSPOT_VIRTUAL_HIGH, space), name);
}

static void hotspot_spaces_add_code(struct hotspot_finding *finding)
{
    struct hotspot_tables *tables = finding->tables;
    uint64_t heaps = hotspot_tables_word(tables, HOTSPOT_CODE_HEAPS, 0), heap;
    uint64_t data = hotspot_tables_word(tables, HOTSPOT_ARRAY_DATA, heaps);
    uint32_t count;
    if (!hotspot_tables_number(tables, HOTSPOT_ARRAY_LENGTH, heaps, sizeof count, &count))
        return;
    for (uint32_t i = 0; data && i < count && i < CODE_HEAPS_MOST; i++) {
        if (!hotspot_tables_read_word(tables, data + i * sizeof heap, &heap))
            return;
        hotspot_spaces_add_virtual(finding, hotspot_tables_place(tables, HOTSPOT_CODE_MEMORY, heap),
                                   CODE);
        hotspot_spaces_add_virtual(finding, hotspot_tables_place(tables, HOTSPOT_CODE_MAP, heap),
                                   CODE);
    }
}

/* ---- All of it ----------------------------------------------------------------------------- */

static int hotspot_spaces_compare(const void *left, const void *right)
{
    const struct area_label *a = left, *b = right;
    return a->start < b->start ? -1 : a->start > b->start;
}

/* Sorts, and takes from each what an earlier one has. */
static void hotspot_spaces_sort(struct hotspot_spaces *spaces)
{
    uint64_t covered = 0;
    size_t kept = 0;
    if (spaces->count)
        qsort(spaces->list, spaces->count, sizeof *spaces->list, hotspot_spaces_compare);
    for (size_t i = 0; i < spaces->count; i++) {
        struct area_label space = spaces->list[i];
        if (space.start < covered)
            space.start = covered;
        if (space.start >= space.end)
            continue;
        covered = space.end;
        spaces->list[kept++] = space;
    }
    spaces->count = kept;
}

/* What of the heap has no name yet. Call it on sorted spaces. */
static void hotspot_spaces_fill_heap(struct hotspot_finding *finding)
{
    struct hotspot_spaces *spaces = finding->spaces;
    const size_t count = spaces->count;
    uint64_t at = finding->heap.start;
    for (size_t i = 0; i < count && at < finding->heap.end; i++) {
        const struct area_label space = spaces->list[i];
        if (space.end <= at || space.start >= finding->heap.end)
            continue;
        hotspot_spaces_add(finding, at, space.start, hotspot_heap_name);
        at = space.end;
    }
    hotspot_spaces_add(finding, at, finding->heap.end, hotspot_heap_name);
}

int hotspot_spaces_find(struct hotspot_spaces *spaces, const struct hotspot_memory *memory)
{
    struct hotspot_finding finding = {.tables = hotspot_tables_read(memory), .spaces = spaces};
    spaces->count = 0;
    if (!finding.tables)
        return 0;
    hotspot_spaces_add_heap(&finding);
    hotspot_spaces_add_code(&finding);
    hotspot_spaces_add(&finding, hotspot_tables_word(finding.tables, HOTSPOT_ARCHIVE_BASE, 0),
                       hotspot_tables_word(finding.tables, HOTSPOT_ARCHIVE_TOP, 0), ARCHIVE);
    hotspot_spaces_sort(spaces);
    hotspot_spaces_fill_heap(&finding);
    hotspot_spaces_sort(spaces);
    hotspot_tables_free(finding.tables);
    return finding.error;
}

/* ---- A process ----------------------------------------------------------------------------- */

struct hotspot_process {
    struct program_memory memory;
    struct target target;
    struct target_module module; /* libjvm.so */
};

static size_t hotspot_spaces_read(const void *context, uint64_t address, void *to, size_t bytes)
{
    const struct hotspot_process *process = context;
    return program_memory_read(&process->memory, address, to, bytes);
}

static uint64_t hotspot_spaces_symbol(const void *context, const char *name)
{
    const struct hotspot_process *process = context;
    return target_find_in(&process->target, &process->module, name).address;
}

static bool hotspot_spaces_is_called(const char *path, const char *name)
{
    const char *base = strrchr(path, '/');
    return base && !strcmp(base + 1, name);
}

static const struct smaps_mapping *hotspot_spaces_library(const struct smaps *smaps)
{
    for (size_t i = 0; i < smaps->count; i++)
        if (!smaps->mappings[i].offset_bytes &&
            hotspot_spaces_is_called(smaps->mappings[i].path, "libjvm.so"))
            return &smaps->mappings[i];
    return NULL;
}

/* ZGC has its heap in a file without a place, which is mapped at several addresses. */
static void hotspot_spaces_add_memory_files(struct hotspot_finding *finding,
                                            const struct smaps *smaps)
{
    for (size_t i = 0; i < smaps->count; i++)
        if (hotspot_spaces_is_called(smaps->mappings[i].path, "memfd:java_heap"))
            hotspot_spaces_add(finding, smaps->mappings[i].start, smaps->mappings[i].end,
                               hotspot_heap_name);
    hotspot_spaces_sort(finding->spaces);
}

int hotspot_spaces_look(struct hotspot_spaces *spaces, pid_t pid, const struct smaps *smaps)
{
    const struct smaps_mapping *library = hotspot_spaces_library(smaps);
    struct hotspot_process process = {.memory = {.fd = -1, .pid = pid, .smaps = smaps},
                                      .target = {.pid = pid}};
    const struct hotspot_memory memory = {hotspot_spaces_read, hotspot_spaces_symbol, &process};
    struct hotspot_finding finding = {.spaces = spaces};
    spaces->count = 0;
    if (!library)
        return 0;
    process.module.start = library->start;
    process.memory.fd = proc_open(pid, "mem");
    if (process.memory.fd < 0)
        return 0;
    target_read_module(&process.target, &process.module);
    finding.error = hotspot_spaces_find(spaces, &memory);
    hotspot_spaces_add_memory_files(&finding, smaps);
    close(process.memory.fd);
    return finding.error;
}

void hotspot_spaces_release(struct hotspot_spaces *spaces)
{
    free(spaces->list);
    *spaces = HOTSPOT_SPACES_INIT;
}
