/* Compares the mappings of a stopped process with those that were read before (graph_late.h). Both
 * lists are sorted by address, so one sweep goes through them together. */
#include "collector/graph_late.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/array.h"
#include "procfs/proc_file.h"

struct comparing {
    const struct smaps *smaps;
    size_t at; /* the first mapping that ends above what comes next */
    struct page_table_range *ranges;
    size_t count, room;
};

static bool graph_late_add(struct comparing *comparing, uint64_t start, uint64_t end)
{
    if (start >= end)
        return true;
    if (!array_make_room(&comparing->ranges, &comparing->room, comparing->count,
                         sizeof *comparing->ranges))
        return false;
    comparing->ranges[comparing->count++] = (struct page_table_range){start, end};
    return true;
}

/* Adds the parts of [start, end) that lie in no writable mapping. Room that an arena of glibc's has
 * for growing was mapped before, but only reserved. */
static bool graph_late_compare(struct comparing *comparing, uint64_t start, uint64_t end)
{
    const struct smaps *smaps = comparing->smaps;
    while (comparing->at < smaps->count && smaps->mappings[comparing->at].end <= start)
        comparing->at++;
    bool there = true;
    for (size_t i = comparing->at; there && i < smaps->count && smaps->mappings[i].start < end;
         i++) {
        if (!smaps->mappings[i].writable)
            continue;
        there = graph_late_add(comparing, start, smaps->mappings[i].start);
        start = smaps->mappings[i].end > start ? smaps->mappings[i].end : start;
    }
    return there && graph_late_add(comparing, start, end);
}

static int graph_late_read(struct comparing *comparing, int fd)
{
    struct proc_lines lines = {0};
    char *line, rights[8];
    unsigned long long start, end;
    int error = 0;
    proc_lines_start(&lines, fd);
    while (!error && (line = proc_lines_next(&lines)))
        if (sscanf(line, "%llx-%llx %7s", &start, &end, rights) == 3 && rights[1] == 'w' &&
            rights[3] == 'p' && !graph_late_compare(comparing, start, end))
            error = -ENOMEM;
    error = error ? error : lines.error;
    proc_lines_release(&lines);
    return error;
}

int graph_late_find(pid_t pid, const struct smaps *smaps, struct page_table_range **out,
                    size_t *count)
{
    struct comparing comparing = {.smaps = smaps};
    int fd = proc_open(pid, "maps");
    int error = fd < 0 ? fd : graph_late_read(&comparing, fd);
    if (fd >= 0)
        close(fd);
    if (error)
        free(comparing.ranges);
    *out = error ? NULL : comparing.ranges;
    *count = error ? 0 : comparing.count;
    return error;
}
