/* Writes the first profile of a job (job_first.h). Nodes are numbered in the order of their names.
 * Two figures of an entry are left out, because the same columns of the whole job's profile mean
 * something else: the count of allocations has no reallocations, and the duration goes on to when
 * the collector saw the end. */
#include "job/job_first.h"

#include <stdlib.h>
#include <string.h>
#include "base/memory.h"
#include "base/search.h"
#include "job/job_digest.h"
#include "job/job_nodes.h"

void job_first_list(struct job_summary *ranks, const struct job_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        struct job_source source = job_files_source(files, i);
        job_digest_of_none(ranks, &source, JOB_UNREADABLE, NULL);
    }
    job_summary_sort(ranks);
}

/* ---- Nodes --------------------------------------------------------------------------------- */

struct job_first_nodes {
    const struct job_rank **ranks; /* one of each node, by key */
    size_t count;
};

static int job_first_compare_keys(const void *left, const void *right)
{
    return strcmp(job_node_key(*(const struct job_rank *const *)left),
                  job_node_key(*(const struct job_rank *const *)right));
}

static void job_first_find_nodes(struct job_first_nodes *nodes, const struct job_summary *ranks)
{
    *nodes = (struct job_first_nodes){
        .ranks = memory_resize(NULL, ranks->rank_count, sizeof *nodes->ranks)};
    for (size_t i = 0; i < ranks->rank_count; i++)
        nodes->ranks[i] = &ranks->ranks[i];
    if (ranks->rank_count)
        qsort(nodes->ranks, ranks->rank_count, sizeof *nodes->ranks, job_first_compare_keys);
    for (size_t i = 0; i < ranks->rank_count; i++)
        if (!i || job_first_compare_keys(&nodes->ranks[i], &nodes->ranks[nodes->count - 1]))
            nodes->ranks[nodes->count++] = nodes->ranks[i];
}

/* From 1. */
static uint32_t job_first_node_of(const struct job_first_nodes *nodes, const struct job_rank *rank)
{
    size_t low = 0;
    SEARCH_FIRST(low, nodes->count, at,
                 strcmp(job_node_key(nodes->ranks[at]), job_node_key(rank)) < 0);
    return (uint32_t)low + 1;
}

static int job_first_put_nodes(struct profile_writer *writer, const struct job_first_nodes *nodes)
{
    int error = 0;
    for (size_t i = 0; i < nodes->count && !error; i++) {
        const char *name = nodes->ranks[i]->node;
        const struct figure none = FIGURE_UNKNOWN;
        struct profile_node_peak row = {(uint32_t)i + 1,
                                        name ? name : "?",
                                        none,
                                        none,
                                        none,
                                        none,
                                        none,
                                        none,
                                        none,
                                        none,
                                        none,
                                        none,
                                        none,
                                        none};
        error = profile_put_node_peak(writer, &row);
    }
    return error;
}

/* ---- Ranks --------------------------------------------------------------------------------- */

static struct figure job_first_figure(int64_t number)
{
    return number < 0 ? FIGURE_UNKNOWN : figure_of((uint64_t)number);
}

static void job_first_say_end(struct profile_rank *row, const struct job_file *file)
{
    bool is_exit = file->state == MANIFEST_ENDED && file->end_status >= 0;
    bool is_signal = file->state == MANIFEST_KILLED && file->end_status > 0;
    uint32_t status = is_exit || is_signal ? (uint32_t)file->end_status : 0;
    if (is_signal)
        row->signal = status;
    else
        row->status = status;
    if (!file->path)
        row->state = job_state_name(file->is_running ? JOB_BEGUN : JOB_MISSING);
    else if (file->is_running)
        row->state = job_state_name(JOB_RUNNING);
    else if (is_exit || is_signal)
        row->state = job_state_name(status ? JOB_DIED : JOB_COMPLETE);
    else if (file->state == MANIFEST_LEFT)
        row->state = job_state_name(JOB_LEFT);
}

static int job_first_put_rank(struct profile_writer *writer, const struct job_file *file,
                              const struct job_rank *rank, uint32_t id, uint32_t node)
{
    const struct figure none = FIGURE_UNKNOWN;
    bool is_there = file->path;
    struct profile_rank row = {
        .id = id,
        .rank = rank->rank,
        .beside = rank->is_helper,
        .state = JOB_FIRST_NOT_READ,
        .file = rank->file,
        .note = file->note,
        .node = node,
        .pid = file->pid > 0 && file->pid <= INT32_MAX ? (uint32_t)file->pid : 0,
        .start_unix_ns = is_there ? job_first_figure(file->start_unix_ns) : none,
        .duration_ns = none,
        .peak_bytes = is_there ? job_first_figure(file->peak_bytes) : none,
        .peak_ns = none,
        .live_bytes = none,
        .live_count = none,
        .alloc_bytes = none,
        .alloc_count = none,
        .lost_events = none,
        .mpi_peak_bytes = none,
        .resident_peak_bytes = none,
    };
    job_first_say_end(&row, file);
    return profile_put_rank(writer, &row);
}

/* ---- All of it ----------------------------------------------------------------------------- */

static int job_first_put_facts(struct profile_writer *writer, const struct job_files *files,
                               const struct job_summary *ranks, bool all)
{
    size_t own = 0, to_read = 0;
    for (size_t i = 0; i < ranks->rank_count; i++)
        own += !ranks->ranks[i].is_helper;
    for (size_t i = 0; i < files->count; i++)
        to_read += files->files[i].path != NULL;
    int error = profile_put_integer(writer, PROFILE_META_TO_READ, (int64_t)to_read);
    if (!error && all)
        error = profile_put_integer(writer, PROFILE_META_JOB_RANKS, (int64_t)own);
    if (!error && files->program)
        error = profile_put_text(writer, PROFILE_META_PROGRAM, files->program);
    if (!error && files->id && *files->id)
        error = profile_put_text(writer, PROFILE_META_JOB, files->id);
    return error;
}

static int job_first_put_all(struct profile_writer *writer, const struct job_files *files,
                             const struct job_summary *ranks, bool all)
{
    struct job_first_nodes nodes;
    int error = profile_writer_begin(writer);
    job_first_find_nodes(&nodes, ranks);
    error = error ? error : job_first_put_facts(writer, files, ranks, all);
    for (size_t i = 0; i < ranks->rank_count && !error; i++) {
        const struct job_rank *rank = &ranks->ranks[i];
        error = job_first_put_rank(writer, &files->files[rank->place], rank, (uint32_t)i + 1,
                                   job_first_node_of(&nodes, rank));
    }
    error = error ? error : job_first_put_nodes(writer, &nodes);
    free(nodes.ranks);
    return error ? error : profile_writer_commit(writer);
}

int job_first_write(const char *path, const struct job_files *files,
                    const struct job_summary *ranks, bool all)
{
    struct profile_writer *writer;
    int error = profile_writer_open(&writer, path);
    if (error)
        return error;
    error = job_first_put_all(writer, files, ranks, all);
    if (!error)
        return profile_writer_finish(writer, true);
    profile_writer_discard(writer);
    return error;
}
