/* Takes the high-water marks of nodes from the ranks' traces (job_marks.h). A profile's timeline
 * only bounds what ranks held together; a trace has the exact figure. Where a trace cannot be read,
 * the bound stays and nothing is said, because the report is of the profiles. */
#include "commands/job_marks.h"

#include <stdlib.h>
#include <string.h>
#include "base/memory.h"
#include "heap_at/node_mark.h"

struct marking {
    struct job *job;
    const struct job_files *files;
    struct node_mark_rank
        *marks; /* by index in the summary; ranks of other nodes have no trace here */
};

static const struct job_file *job_marks_file(const struct marking *marking, size_t rank)
{
    uint32_t place = marking->job->summary.ranks[rank].place;
    return place < marking->files->count ? &marking->files->files[place] : NULL;
}

/* Picks the ranks that ran on the node and have figures. `is_all`: each of them has a trace. */
static bool job_marks_choose(struct marking *marking, const struct job_node_peak *node,
                             bool *is_all)
{
    const struct job_summary *summary = &marking->job->summary;
    bool any = false;
    *is_all = !node->unread;
    for (size_t i = 0; i < summary->rank_count; i++) {
        const struct job_file *file = job_marks_file(marking, i);
        bool is_here = job_rank_has_levels(&summary->ranks[i]) &&
                       !strcmp(job_node_key(&summary->ranks[i]), node->key);
        bool has_trace = is_here && file && file->trace && file->start_unix_ns >= 0;
        marking->marks[i] = (struct node_mark_rank){
            .trace_path = has_trace ? file->trace : NULL,
            .machine = "",
            .start_ns = has_trace ? figure_of((uint64_t)file->start_unix_ns) : FIGURE_UNKNOWN};
        any |= has_trace;
        *is_all &= !is_here || has_trace;
    }
    return any;
}

static void job_marks_find_one(struct marking *marking, struct job_node_peak *node)
{
    size_t count = marking->job->summary.rank_count;
    struct node_mark mark;
    bool is_all;
    if (!job_marks_choose(marking, node, &is_all))
        return;
    node_mark_clocks(marking->marks, count);
    if (node_mark_find(marking->marks, count, &mark) || !mark.is_found)
        return;
    uint64_t *bytes = memory_zeroed(count, sizeof *bytes);
    for (size_t i = 0; i < count; i++) {
        bytes[i] = marking->marks[i].bytes;
        if (marking->marks[i].trace_path)
            is_all &= marking->marks[i].is_read && marking->marks[i].is_whole;
    }
    struct job_node_mark taken = {mark.bytes, mark.time_ns, bytes};
    job_node_take_mark(node, &marking->job->summary, &taken, is_all);
    free(bytes);
}

void job_marks_find(struct job *job, const struct job_files *files)
{
    struct marking marking = {job, files,
                              memory_zeroed(job->summary.rank_count, sizeof *marking.marks)};
    if (job->level == MEMORY_HEAP)
        for (size_t i = 0; i < job->node_count; i++)
            job_marks_find_one(&marking, &job->nodes[i]);
    free(marking.marks);
}
