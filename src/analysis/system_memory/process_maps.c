/* The mappings of one process, grouped by kind and file (process_maps.h). An array of indices is
 * sorted by kind, name and bytes. One pass over it makes the groups and their sums. */
#include "system_memory/process_maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "procfs/proc_file.h"
#include "procfs/stacks.h"

enum { MAX_STATUS_BYTES = 65536 };

static uint64_t process_maps_known(struct figure value)
{
    return figure_or(value, 0);
}

static uint64_t process_maps_key_of(const struct smaps_bytes *bytes, enum maps_order order)
{
    switch (order) {
    case MAPS_USS:
        return process_maps_known(bytes->uss);
    case MAPS_RSS:
        return process_maps_known(bytes->rss);
    case MAPS_SWAP:
        return process_maps_known(bytes->swap);
    case MAPS_SIZE:
        return process_maps_known(bytes->size);
    default:
        return process_maps_known(bytes->pss);
    }
}

/* Mappings of which nothing is resident are sorted by size: they take address space alone. */
static int process_maps_compare_bytes(const struct smaps_bytes *a, const struct smaps_bytes *b,
                                      enum maps_order order)
{
    uint64_t key_a = process_maps_key_of(a, order), key_b = process_maps_key_of(b, order);
    if (key_a != key_b)
        return key_a > key_b ? -1 : 1;
    return (process_maps_known(a->size) < process_maps_known(b->size)) -
           (process_maps_known(a->size) > process_maps_known(b->size));
}

/* ---- Mappings, sorted ---------------------------------------------------------------------- */

static int process_maps_compare_groups_of(const struct smaps_mapping *a,
                                          const struct smaps_mapping *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    int by_name = strcmp(a->path, b->path);
    return by_name ? by_name : (int)a->deleted - (int)b->deleted;
}

static int process_maps_compare_mappings(const void *left, const void *right, void *context)
{
    const struct maps *maps = context;
    uint32_t i = *(const uint32_t *)left, j = *(const uint32_t *)right;
    const struct smaps_mapping *a = &maps->smaps.mappings[i], *b = &maps->smaps.mappings[j];
    int by_group = process_maps_compare_groups_of(a, b);
    int by_bytes = maps->sorted_by == MAPS_NAME
                       ? 0
                       : process_maps_compare_bytes(&a->bytes, &b->bytes, maps->sorted_by);
    return by_group ? by_group : by_bytes ? by_bytes : i < j ? -1 : 1;
}

/* ---- Groups -------------------------------------------------------------------------------- */

static void process_maps_group_add(struct maps_group *group, const struct smaps_mapping *mapping)
{
    group->mappings++;
    group->guessed |= mapping->guessed;
    smaps_add(&group->bytes, &mapping->bytes);
}

static void process_maps_make_groups(struct maps *maps)
{
    const struct smaps_mapping *before = NULL;
    for (size_t i = 0; i < maps->smaps.count; i++) {
        const struct smaps_mapping *mapping = &maps->smaps.mappings[maps->order[i]];
        if (!before || before->kind != mapping->kind)
            maps->kinds[maps->kind_count++] = (struct maps_group){
                smaps_kind_name(mapping->kind), mapping->kind, .first = maps->file_count};
        struct maps_group *kind = &maps->kinds[maps->kind_count - 1];
        if (!before || process_maps_compare_groups_of(before, mapping) != 0) {
            maps->files[maps->file_count++] = (struct maps_group){
                mapping->path, mapping->kind, .deleted = mapping->deleted, .first = i};
            kind->count++;
        }
        struct maps_group *file = &maps->files[maps->file_count - 1];
        file->count++;
        process_maps_group_add(file, mapping);
        process_maps_group_add(kind, mapping);
        process_maps_group_add(&maps->total, mapping);
        before = mapping;
    }
}

static int process_maps_compare_groups(const void *left, const void *right, void *context)
{
    const struct maps_group *a = left, *b = right;
    const struct maps *maps = context;
    int by_bytes = maps->sorted_by == MAPS_NAME
                       ? 0
                       : process_maps_compare_bytes(&a->bytes, &b->bytes, maps->sorted_by);
    return by_bytes ? by_bytes : strcmp(a->name, b->name);
}

static void process_maps_sort_groups(struct maps *maps)
{
    for (size_t i = 0; i < maps->kind_count; i++) {
        const struct maps_group *kind = &maps->kinds[i];
        qsort_r(maps->files + kind->first, kind->count, sizeof *maps->files,
                process_maps_compare_groups, maps);
    }
    qsort_r(maps->kinds, maps->kind_count, sizeof *maps->kinds, process_maps_compare_groups, maps);
}

int maps_group(struct maps *maps, enum maps_order order, bool all)
{
    size_t count = maps->smaps.count;
    maps->sorted_by = order;
    maps->lists_all = all;
    maps->kinds = calloc(SMAPS_KINDS, sizeof *maps->kinds);
    maps->files = calloc(count + 1, sizeof *maps->files);
    maps->order = calloc(count + 1, sizeof *maps->order);
    if (!maps->kinds || !maps->files || !maps->order || count > UINT32_MAX)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        maps->order[i] = (uint32_t)i;
    qsort_r(maps->order, count, sizeof *maps->order, process_maps_compare_mappings, maps);
    process_maps_make_groups(maps);
    process_maps_sort_groups(maps);
    for (size_t i = 0; order == MAPS_ADDRESS && i < count; i++)
        maps->order[i] = (uint32_t)i;
    return 0;
}

/* ---- A process ----------------------------------------------------------------------------- */

/* The kernel does not say which mappings are threads' stacks. The threads' stack pointers do, where
 * they can be read. */
static void process_maps_find_stacks(struct maps *maps, pid_t pid)
{
    struct stacks stacks = STACKS_INIT;
    uint64_t *pointers = NULL;
    size_t count = 0;
    if (stacks_list(&stacks, pid) == 0 &&
        stacks_pointers(&stacks, NULL, 0, &pointers, &count) == 0) {
        const struct smaps_hints hints = {.stack_pointers = pointers, .stack_pointer_count = count};
        smaps_classify(&maps->smaps, &hints);
    }
    free(pointers);
    stacks_release(&stacks);
}

static int process_maps_read_status(struct maps *maps, pid_t pid)
{
    struct strbuf text = STRBUF_INIT;
    int error = proc_read(pid, "status", MAX_STATUS_BYTES, &text);
    if (!error && system_memory_parse_status(text.data, &maps->status) != 0)
        error = -ESRCH;
    strbuf_release(&text);
    return error;
}

int maps_take(struct maps *maps, pid_t pid, enum maps_order order, bool all)
{
    *maps = (struct maps){.smaps = SMAPS_INIT};
    int error = process_maps_read_status(maps, pid);
    if (!error)
        error = smaps_read(&maps->smaps, pid);
    if (!error && process_command_line(pid, &maps->command) != 0)
        maps->command = NULL;
    if (!error) {
        process_maps_find_stacks(maps, pid);
        error = maps_group(maps, order, all);
    }
    if (error) {
        struct system_memory_status status = maps->status;
        maps_release(maps);
        maps->status = status; /* why there are none: a zombie, a thread of the kernel */
    }
    return error;
}

void maps_release(struct maps *maps)
{
    smaps_release(&maps->smaps);
    free(maps->command);
    free(maps->kinds);
    free(maps->files);
    free(maps->order);
    *maps = (struct maps){.smaps = SMAPS_INIT};
}
