/* An MPI program as unbalanced as phdMesh on 128 cores (the WMTrace paper's table 6 and figure 4):
 * in a start-up phase every rank preloads data, from 91 MB on the first to 169 MB on the last,
 * which after a re-balance is down to the same 20 MB everywhere. What main keeps all along is 6.7
 * MB. Without MPI (-DWITHOUT_MPI) the rank comes from the environment and nothing else is
 * allocated, so that the high-water mark of the whole process is known as well. */
#ifndef WITHOUT_MPI
#include <mpi.h>
#endif
#include "victim.h"

enum { LEAST = 91000000, MORE = 78000000, KEPT = 6700000, PLATEAU = 20000000, BLOCKS = 100 };

static void *kept, *mesh[BLOCKS], *fields, *solver[BLOCKS];

#ifdef WITHOUT_MPI
static void start(int *argc, char ***argv, int *rank, int *ranks)
{
    (void)argc, (void)argv;
    const char *said = getenv("PMI_RANK"), *size = getenv("PMI_SIZE");
    *rank = said ? atoi(said) : 0;
    *ranks = size ? atoi(size) : 1;
}
static void meet(void)
{
}
static void stop(void)
{
}
#else
static void start(int *argc, char ***argv, int *rank, int *ranks)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    MPI_Comm_size(MPI_COMM_WORLD, ranks);
}
static void meet(void)
{
    int one = 1, sum;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}
static void stop(void)
{
    MPI_Finalize();
}
#endif

static size_t spike_bytes(int rank, int ranks)
{
    return LEAST + (ranks > 1 ? (size_t)MORE * (size_t)rank / (size_t)(ranks - 1) : 0);
}

VICTIM void victim_kept(void)
{
    kept = keep(malloc(KEPT));
    barrier();
}

VICTIM void victim_preload_mesh(size_t spike)
{
    for (int i = 0; i < BLOCKS; i++)
        mesh[i] = keep(malloc(spike / 200));
    barrier();
}

VICTIM void victim_preload_fields(size_t spike)
{
    fields = keep(malloc(spike - BLOCKS * (spike / 200)));
    barrier();
}

VICTIM void victim_rebalance(void)
{
    for (int i = 0; i < BLOCKS; i++)
        free(mesh[i]);
    free(fields);
    barrier();
}

VICTIM void victim_plateau(void)
{
    for (int i = 0; i < BLOCKS; i++)
        solver[i] = keep(malloc(PLATEAU / BLOCKS));
    barrier();
}

int main(int argc, char **argv)
{
    int rank, ranks;
    start(&argc, &argv, &rank, &ranks);
    size_t spike = spike_bytes(rank, ranks);
    victim_kept();
    victim_preload_mesh(spike);
    victim_preload_fields(spike);
    meet();
    victim_rebalance();
    victim_plateau();
    meet();
    dprintf(1, "rank %d of %d: %zu\n", rank, ranks, spike + KEPT);
    stop();
    return 0;
}
