/* MPI jobs that end otherwise than well, and one that grows. argv[1] says how; all ranks are there
 * when it happens. */
#include <mpi.h>
#include <signal.h>
#include "victim.h"

VICTIM void victim_work(void)
{
    for (int i = 0; i < 100; i++)
        keep(malloc(10));
    barrier();
}

static int spawned(MPI_Comm parent)
{
    MPI_Barrier(parent);
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return 0;
}

static void spawn(char *self)
{
    MPI_Comm children;
    CHECK(MPI_Comm_spawn(self, MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                         MPI_ERRCODES_IGNORE) == MPI_SUCCESS);
    MPI_Barrier(children);
    MPI_Comm_disconnect(&children);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Comm parent;
    MPI_Init(&argc, &argv);
    victim_work();
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL)
        return spawned(parent);
    const char *how = argc > 1 ? argv[1] : "well";
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(how, "abort") && rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 3);
    if (!strcmp(how, "segv") && rank == 1)
        raise(SIGSEGV);
    if (!strcmp(how, "kill") && rank == 1)
        raise(SIGKILL);
    if (!strcmp(how, "spawn"))
        spawn(argv[0]);
    else
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return !strcmp(how, "status") ? 7 : 0;
}
