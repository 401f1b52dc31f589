/* Reads the memory of a process that waits or is stopped. Thread-safe. Inside the room. */
#ifndef TIDEMARK_COLLECTOR_PROGRAM_MEMORY_H
#define TIDEMARK_COLLECTOR_PROGRAM_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "procfs/smaps.h"

struct program_memory {
    int fd; /* /proc/PID/mem */
    pid_t pid;
    const struct smaps *smaps; /* the mappings of the process, with their bytes */
};

/* How many bytes from `address` on could be read; less than `bytes` where a page is gone. The
 * range lies in one mapping. Takes no memory from what other processes share. */
size_t program_memory_read(const struct program_memory *memory, uint64_t address, void *to,
                           size_t bytes);

#endif
