/* tidemark-mpi: `tidemark job` with the files shared out over processes.
 *
 *   process 0   options, list of files ──broadcast──▶ all: its share of files ─▶ summary, tree
 *                                                          ◀── binomial tree of merges ──┘
 *               output, as the serial command's
 *
 * Which files a process reads follows from their sizes alone, the largest first, each to whoever
 * has least so far. Merging is exact and knows no order (job/job_summary.h, job/job_tree.h): the
 * result is that of one process, bit for bit. The other processes wait for lists until an empty one
 * comes. */
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "commands/job_command.h"
#include "mpi/channel.h"
#include "procfs/launcher.h"
#include "base/memory.h"
#include "base/term_guard.h"

static const struct options_command command = {
    .name = "tidemark-mpi",
    .synopsis = "[options] DIR | DIR DIR… | PROFILE…",
    .purpose = JOB_PURPOSE,
    .entries = job_entries,
    .epilogue = "Unlike tidemark job: --jobs is 1 unless given, no pager is started, and there\n"
                "is colour with --color=always only.\n\n"
                "Examples:\n"
                "  mpirun -n 16 tidemark-mpi run4096\n"
                "  mpirun -n 16 tidemark-mpi -o run4096.tmk run4096\n",
};

static int mpi_process, mpi_processes;

/* ---- Sharing out --------------------------------------------------------------------------- */

/* The cost of a file is its bytes and a constant for opening it. */
static uint64_t mpi_main_cost_of(const struct job_file *file)
{
    return file->bytes + 65536;
}

static uint32_t *mpi_main_my_share(const struct job_files *files, size_t *count)
{
    uint32_t *order = job_files_by_size(files);
    uint64_t *loads = memory_resize(NULL, (size_t)mpi_processes, sizeof *loads);
    memset(loads, 0, (size_t)mpi_processes * sizeof *loads);
    *count = 0;
    for (size_t i = 0; i < files->count; i++) {
        int least = 0;
        for (int j = 1; j < mpi_processes; j++)
            if (loads[j] < loads[least])
                least = j;
        loads[least] += mpi_main_cost_of(&files->files[order[i]]);
        if (least == mpi_process)
            order[(*count)++] = order[i]; /* never beyond i */
    }
    free(loads);
    return order;
}

/* ---- Merging ------------------------------------------------------------------------------- */

static void mpi_main_send_work(int to, struct job_summary *summary, struct job_tree *tree)
{
    struct strbuf bytes = STRBUF_INIT;
    job_summary_write(&bytes, summary);
    job_summary_release(summary);
    channel_send(to, &bytes);
    if (tree) {
        strbuf_reset(&bytes);
        job_tree_write(&bytes, tree);
        job_tree_release(tree);
        channel_send(to, &bytes);
    }
    strbuf_release(&bytes);
}

static void mpi_main_receive_work(int from, struct job_summary *summary, struct job_tree *tree)
{
    struct strbuf bytes = STRBUF_INIT;
    struct job_summary other;
    struct job_tree other_tree;
    channel_receive(from, &bytes);
    if (job_summary_read(&other, bytes.data, bytes.length))
        channel_abort("a process sent a summary that makes no sense: are all of one version?");
    job_summary_merge(summary, &other);
    if (tree) {
        channel_receive(from, &bytes);
        if (job_tree_read(&other_tree, bytes.data, bytes.length))
            channel_abort(
                "a process sent a call tree that makes no sense: are all of one version?");
        strbuf_release(&bytes);
        job_tree_merge(tree, &other_tree);
    }
    strbuf_release(&bytes);
}

/* In round k processes that are 2^k apart merge, so there are log2(processes) rounds. */
static void mpi_main_reduce(struct job_summary *summary, struct job_tree *tree)
{
    for (int apart = 1; apart < mpi_processes; apart *= 2) {
        if (mpi_process & apart) {
            mpi_main_send_work(mpi_process - apart, summary, tree);
            return;
        }
        if (mpi_process + apart < mpi_processes)
            mpi_main_receive_work(mpi_process + apart, summary, tree);
    }
}

static void mpi_main_work(const struct job_files *files, bool with_tree, size_t threads,
                          struct job_summary *summary, struct job_tree *tree,
                          const struct job_progress *progress)
{
    size_t count;
    uint32_t *share = mpi_main_my_share(files, &count);
    job_run(files, share, count, threads, summary, with_tree ? tree : NULL, progress);
    free(share);
    mpi_main_reduce(summary, with_tree ? tree : NULL);
}

/* ---- Process 0, and the others ------------------------------------------------------------- */

/* Processes work at the same time here, so each has one thread unless more are asked for. */
static void mpi_main_analyse(const struct job_files *files, size_t threads,
                             struct job_summary *summary, struct job_tree *tree,
                             const struct job_progress *progress)
{
    struct strbuf bytes = STRBUF_INIT;
    threads = threads ? threads : 1;
    bytes_put(&bytes, tree != NULL);
    bytes_put(&bytes, threads);
    job_files_write(&bytes, files);
    channel_broadcast(&bytes);
    strbuf_release(&bytes);
    mpi_main_work(files, tree != NULL, threads, summary, tree, progress);
}

static void mpi_main_serve(void)
{
    struct strbuf bytes = STRBUF_INIT;
    for (channel_broadcast(&bytes); bytes.length; channel_broadcast(&bytes)) {
        struct bytes_reader reader = {(unsigned char *)bytes.data,
                                      (unsigned char *)bytes.data + bytes.length, false};
        struct job_summary summary = {0};
        struct job_tree tree = {0};
        struct job_files files;
        bool with_tree = bytes_get_below(&reader, 1);
        size_t threads = bytes_get(&reader);
        if (reader.failed || job_files_read(&files, reader.at, (size_t)(reader.end - reader.at)))
            channel_abort("the list of files makes no sense: are all of one version?");
        mpi_main_work(&files, with_tree, threads, &summary, &tree, NULL);
        job_summary_release(&summary);
        job_tree_release(&tree);
        job_files_release(&files);
    }
    strbuf_release(&bytes);
}

/* Running out of memory is complained of where it happens, and ends by abort(). This ends the other
 * processes too, which would wait forever. */
static void mpi_main_end_all(int number)
{
    (void)number;
    signal(SIGABRT, SIG_DFL);
    MPI_Abort(MPI_COMM_WORLD, 125);
}

/* Under the launcher of another MPI each process is alone in its job: all would do all of the work
 * and write the same file. So the launcher's rank 0 works, and rank 1 says why. The others end with
 * status 0, or the launcher would kill rank 0. */
static bool mpi_main_is_one_too_many(void)
{
    struct launcher launcher;
    launcher_of(&launcher, getpid());
    if (mpi_processes > 1 || !launcher.name || launcher.is_launcher || launcher.rank < 1)
        return false;
    if (launcher.rank == 1)
        fputs("tidemark-mpi: this program is of another MPI than its launcher, so one process does "
              "it all: start it with the mpirun of the MPI that it was built with\n",
              stderr);
    return true;
}

int main(int argc, char **argv)
{
    static const struct job_engine engine = {&command, false, mpi_main_analyse};
    struct strbuf nothing = STRBUF_INIT;
    int status = 0, threads;
    term_guard_begin();
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &threads);
    MPI_Comm_rank(MPI_COMM_WORLD, &mpi_process);
    MPI_Comm_size(MPI_COMM_WORLD, &mpi_processes);
    if (mpi_main_is_one_too_many()) {
        MPI_Finalize();
        return 0;
    }
    signal(SIGABRT, mpi_main_end_all);
    if (mpi_process) {
        mpi_main_serve();
    } else {
        status = job_command(&engine, argc, argv);
        channel_broadcast(&nothing);
    }
    MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
    signal(SIGABRT, SIG_DFL);
    MPI_Finalize();
    term_guard_end();
    return status;
}
