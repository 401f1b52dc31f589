/* `tidemark job` and `tidemark-mpi` have the same options and the same output. They differ in what
 * reads the files: threads, or MPI ranks. */
#ifndef TIDEMARK_COMMANDS_JOB_COMMAND_H
#define TIDEMARK_COMMANDS_JOB_COMMAND_H

#include "base/options.h"
#include "job/job_run.h"

struct job_engine {
    const struct options_command *command;
    bool pages; /* may start a pager: not under MPI, whose processes should not fork */
    /* As job_run(), of all files of the job; `threads` 0: not given. Ends the process when memory
     * runs out. */
    void (*analyse)(const struct job_files *files, size_t threads, struct job_summary *summary,
                    struct job_tree *tree, const struct job_progress *progress);
};

extern const struct option_entry job_entries[];
#define JOB_PURPOSE                                                                                \
    "Shows the memory of a job's ranks as one: how unevenly they need it and why, how it went "    \
    "over "                                                                                        \
    "time, what MPI itself holds, and what the ranks of each node held together. With several "    \
    "jobs, how memory per rank grows or shrinks with their number."

/* The exit status. */
int job_command(const struct job_engine *engine, int argc, char **argv);

#endif
