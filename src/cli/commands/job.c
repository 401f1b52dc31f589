/* The command `tidemark job`, which analyses the files of a job in this process. Threads share
 * the files, and the largest come first. Options and output are those of job_command.h, which
 * the program for MPI uses too. */
#include <unistd.h>
#include <stdlib.h>
#include "commands/commands.h"
#include "commands/job_command.h"

static const struct options_command command = {
    .name = "job",
    .synopsis = "[options] DIR | DIR DIR… | PROFILE…",
    .purpose = JOB_PURPOSE,
    .entries = job_entries,
    .epilogue = "Examples:\n"
                "  mpirun -n 64 tidemark record --job=run64 ./app\n"
                "  tidemark job run64\n"
                "  tidemark job -o run64.tmk run64 && tidemark report run64.tmk\n"
                "  tidemark job run16 run32 run64\n",
};

static void cmd_job_analyse(const struct job_files *files, size_t threads,
                            struct job_summary *summary, struct job_tree *tree,
                            const struct job_progress *progress)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t *order = job_files_by_size(files);
    if (!threads)
        threads = processors > 0 ? (size_t)processors : 1;
    job_run(files, order, files->count, threads, summary, tree, progress);
    free(order);
}

int cmd_job(int argc, char **argv)
{
    static const struct job_engine engine = {&command, true, cmd_job_analyse};
    return job_command(&engine, argc, argv);
}
