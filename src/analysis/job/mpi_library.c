/* See mpi_library.h. Names as Open MPI, MPICH, Intel MPI, MVAPICH and Cray MPICH install them, with
 * PMIx, PRRTE, UCX, libfabric, hwloc and what drives the fabrics below them. */
#include "job/mpi_library.h"

#include <stddef.h>
#include <string.h>

bool mpi_library_is_mpi(const char *file)
{
    static const char *const prefixes[] = {
        "libmpi",        "libmpich", "libmpifort",    "libmpicxx",
        "libmpl.",       "libopa.",  "libopen-rte",   "libopen-pal",
        "libopen-orted", "libmca_",  "mca_",          "libompi",
        "liboshmem",     "libpmix",  "libpmi.",       "libpmi2.",
        "pmix_mca_",     "libprrte", "prte_mca_",     "libucp.",
        "libucs.",       "libucs_",  "libuct.",       "libuct_",
        "libucm.",       "libucm_",  "libucc.",       "libucc_",
        "ucc_",          "libhwloc", "hwloc_",        "libfabric",
        "libyaksa",      "libhcoll", "libsharp",      "libibverbs",
        "librdmacm",     "libmlx4",  "libmlx5",       "libpsm_",
        "libpsm2",       "libpsm3",  "libefa",        "libcxi",
        "libxpmem",      "libknem",  "libevent_core", "libevent_pthreads",
        "libevent-2",    "libdaps",  "libmvapich",    "libportals",
        "libinfinipath", "libfmpi",
    };
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (!strncmp(file, prefixes[i], strlen(prefixes[i])))
            return true;
    return false;
}
