/* Reads a process's memory in the cheapest way that leaves it as it is.
 *
 *   process_vm_readv()   copies a page once, and pins it meanwhile. To pin a page that a fork
 *                        shares, the kernel first gives the process a page of its own (decision
 *                        0180), so it only reads mappings that share nothing.
 *   /proc/PID/mem        copies a page twice, pins none, and also reads what the program may not.
 *                        Reads all else, and what the first way stopped at. */
#include "collector/program_memory.h"

#include <sys/uio.h>
#include <unistd.h>

static bool program_memory_may_pin(const struct smaps *smaps, uint64_t address, size_t bytes)
{
    const struct smaps_mapping *mapping = smaps_find(smaps, address);
    return mapping && mapping->readable && !mapping->shared && mapping->end - address >= bytes &&
           figure_equal(mapping->bytes.shared, figure_of(0));
}

static size_t program_memory_pin(pid_t pid, uint64_t address, void *to, size_t bytes)
{
    struct iovec here = {to, bytes}, there = {(void *)(uintptr_t)address, bytes};
    ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);
    return got > 0 ? (size_t)got : 0;
}

size_t program_memory_read(const struct program_memory *memory, uint64_t address, void *to,
                           size_t bytes)
{
    size_t had = program_memory_may_pin(memory->smaps, address, bytes)
                     ? program_memory_pin(memory->pid, address, to, bytes)
                     : 0;
    ssize_t got =
        had < bytes ? pread(memory->fd, (char *)to + had, bytes - had, (off_t)(address + had)) : 0;
    return had + (got > 0 ? (size_t)got : 0);
}
