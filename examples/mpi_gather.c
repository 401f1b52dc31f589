/* Rank 0 collects what all ranks have computed and writes it: it holds the whole field, and the others
 * a part. Tried with four ranks it is nothing; with four thousand it is the end of rank 0.
 *
 *   mpicc -g -O1 examples/mpi_gather.c -o mpi_gather
 *   mpirun -n 8 tidemark record --job=runs ./mpi_gather
 *   tidemark job runs
 *
 * What to look for: imbalance far above 1 with rank 0 on top, and all of the difference asked for by
 * write_field(). MPI-IO, or collecting and writing part after part, needs no more than one part. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 1 << 20 };

__attribute__((noinline)) static double *compute(int rank)
{
    double *part = malloc(CELLS * sizeof *part);
    if (!part)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < CELLS; i++)
        part[i] = rank + i * 1e-6;
    return part;
}

__attribute__((noinline)) static void write_field(const double *part, int rank, int ranks)
{
    double *field = NULL;
    if (rank == 0 && !(field = malloc((size_t)ranks * CELLS * sizeof *field))) /* guilty */
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Gather(part, CELLS, MPI_DOUBLE, field, CELLS, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("last cell: %.6f\n", field[(size_t)ranks * CELLS - 1]);
    free(field);
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    double *part = compute(rank);
    write_field(part, rank, ranks);
    free(part);
    MPI_Finalize();
    return 0;
}
