// Ranks with threads: each of three threads builds cells, one of them sends them to the next rank.
#include <mpi.h>
#include <memory>
#include <thread>
#include <vector>
#include "victim.h"

struct cell {
    double values[8];
};

VICTIM void victim_cells(int count)
{
    std::vector<std::unique_ptr<cell>> cells;
    cells.reserve(count);
    for (int i = 0; i < count; i++)
        cells.push_back(std::make_unique<cell>());
    keep(cells.data());
}

VICTIM void victim_exchange(int rank, int ranks)
{
    std::vector<double> out(1000 * (rank + 1), rank), in(1000 * ranks);
    MPI_Status status;
    int count = 0;
    MPI_Sendrecv(out.data(), static_cast<int>(out.size()), MPI_DOUBLE, (rank + 1) % ranks, 7,
                 in.data(), static_cast<int>(in.size()), MPI_DOUBLE, (rank + ranks - 1) % ranks, 7,
                 MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    CHECK(count == 1000 * ((rank + ranks - 1) % ranks + 1) && in[0] == (rank + ranks - 1) % ranks);
}

int main(int argc, char **argv)
{
    int rank, ranks, provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; i++)
        threads.emplace_back(victim_cells, 50 * (rank + 1));
    victim_cells(50 * (rank + 1));
    for (auto &thread : threads)
        thread.join();
    victim_exchange(rank, ranks);
    dprintf(1, "rank %d of %d\n", rank, ranks);
    MPI_Finalize();
    return 0;
}
