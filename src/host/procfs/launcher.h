/* Which rank of which job a process is, as its launcher has told it in its environment: Open MPI,
 * MPICH and all with Hydra (Intel MPI too), MVAPICH, Slurm, PMIx, PALS and ALPS, Flux, jsrun.
 * Nothing of MPI is linked, loaded or called. */
#ifndef TIDEMARK_PROCFS_LAUNCHER_H
#define TIDEMARK_PROCFS_LAUNCHER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { LAUNCHER_ID_BYTES = 128 };

struct launcher {
    const char *name; /* "openmpi", "hydra", "slurm" …; NULL: the process has no rank */
    int64_t rank;
    int64_t ranks, local_rank, node; /* -1: not said */
    bool is_launcher; /* mpirun, srun or a helper of theirs: it has no rank, even if it was
                         started within a rank and has its environment */
    char job_id[LAUNCHER_ID_BYTES]; /* good as a file name; "": nothing tells the job */
    /* the environment does not name the job, so job_id comes from the process that started the
     * rank: it is only known while that process is an ancestor, and except with Hydra's proxies
     * it differs on each machine */
    bool id_by_ancestor;
};

/* Children of a rank inherit its environment: they are processes of that rank. Where one launcher
 * was started within a rank of another, the inner one counts. Reads /proc only; a process that is
 * gone or hides its environment has no launcher. Thread-safe. */
void launcher_of(struct launcher *launcher, pid_t pid);
/* The same if the executable is already known ("": not known). */
void launcher_of_program(struct launcher *launcher, pid_t pid, const char *executable);

#endif
