/* Which libraries are MPI, or there for MPI alone. */
#ifndef TIDEMARK_JOB_MPI_LIBRARY_H
#define TIDEMARK_JOB_MPI_LIBRARY_H

#include <stdbool.h>

/* By the file name of a module ("libmpi.so.40"): MPI itself, its run-time system and the transports
 * and topology that it loads. */
bool mpi_library_is_mpi(const char *file);

#endif
