/* Takes the high-water marks of nodes from the ranks' traces (job_marks.h). A profile's timeline
 * only bounds what ranks held together; a trace has the exact figure. Where a trace cannot be read,
 * the bound stays and nothing is said, because the report is of the profiles. */
#include "commands/job_marks.h"

#include <stdlib.h>
#include <string.h>
#include "base/memory.h"
#include "heap_at/node_mark.h"

/* Ranks with figures, those of one node side by side. */
struct marking {
    struct job *job;
    const struct job_files *files;
    size_t *ranks; /* indices in the summary */
    size_t *first; /* by node: where its ranks begin; behind the last: how many there are */
};

/* Counts the ranks of each node, and lays them out. */
static void job_marks_lay_out(struct marking *marking)
{
    const struct job *job = marking->job;
    size_t count = job->summary.rank_count;
    marking->first = memory_zeroed(job->node_count + 2, sizeof *marking->first);
    marking->ranks = memory_resize(NULL, count, sizeof *marking->ranks);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < count; i++) {
            uint32_t node = job->rank_nodes[i];
            if (node == JOB_NO_NODE || !job_rank_has_levels(&job->summary.ranks[i]))
                continue;
            if (pass)
                marking->ranks[marking->first[node + 1]++] = i;
            else
                marking->first[node + 2]++;
        }
        for (size_t i = 2; !pass && i < job->node_count + 2; i++)
            marking->first[i] += marking->first[i - 1];
    }
}

static const struct job_file *job_marks_file(const struct marking *marking, size_t rank)
{
    uint32_t place = marking->job->summary.ranks[rank].place;
    return place < marking->files->count ? &marking->files->files[place] : NULL;
}

/* The traces of the ranks. *any: there is one; *is_all: each of them has one. */
static struct node_mark_rank *job_marks_choose(const struct marking *marking, const size_t *ranks,
                                               size_t count, bool *any, bool *is_all)
{
    struct node_mark_rank *marks = memory_zeroed(count, sizeof *marks);
    *any = false;
    for (size_t i = 0; i < count; i++) {
        const struct job_file *file = job_marks_file(marking, ranks[i]);
        bool has_trace = file && file->trace && file->start_unix_ns >= 0;
        marks[i] = (struct node_mark_rank){
            .trace_path = has_trace ? file->trace : NULL,
            .machine = "",
            .start_ns = has_trace ? figure_of((uint64_t)file->start_unix_ns) : FIGURE_UNKNOWN};
        *any |= has_trace;
        *is_all &= has_trace;
    }
    return marks;
}

static void job_marks_find_one(const struct marking *marking, struct job_node_peak *node,
                               const size_t *ranks, size_t count)
{
    struct node_mark mark = {0};
    bool any, is_all = !node->unread;
    struct node_mark_rank *marks = job_marks_choose(marking, ranks, count, &any, &is_all);
    uint64_t *bytes = memory_zeroed(count, sizeof *bytes);
    if (any)
        node_mark_clocks(marks, count);
    if (any && !node_mark_find(marks, count, &mark) && mark.is_found) {
        for (size_t i = 0; i < count; i++) {
            bytes[i] = marks[i].bytes;
            if (marks[i].trace_path)
                is_all &= marks[i].is_read && marks[i].is_whole;
        }
        job_node_take_mark(
            node, &(struct job_node_mark){mark.bytes, mark.time_ns, ranks, bytes, count}, is_all);
    }
    free(bytes);
    free(marks);
}

void job_marks_find(struct job *job, const struct job_files *files, const atomic_bool *stops)
{
    struct marking marking = {.job = job, .files = files};
    if (job->level != MEMORY_HEAP)
        return;
    job_marks_lay_out(&marking);
    for (size_t i = 0; i < job->node_count && !(stops && atomic_load(stops)); i++)
        job_marks_find_one(&marking, &job->nodes[i], marking.ranks + marking.first[i],
                           marking.first[i + 1] - marking.first[i]);
    free(marking.first);
    free(marking.ranks);
}
