/* Asks move_pages() about pages (numa.h), through syscall(): glibc has no function for it, and
 * libnuma would be a library more. */
#include "procfs/numa.h"

#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

/* <linux/mempolicy.h>: MPOL_F_MEMS_ALLOWED. */
enum { NUMA_OF_ALLOWED = 1 << 2, NUMA_NODES_MOST = 1024, NUMA_WORD_BITS = 64 };

static bool numa_count_nodes(void)
{
    unsigned long mask[NUMA_NODES_MOST / NUMA_WORD_BITS] = {0};
    int count = 0;
    if (syscall(SYS_get_mempolicy, NULL, mask, (unsigned long)NUMA_NODES_MOST, NULL,
                (unsigned long)NUMA_OF_ALLOWED) < 0)
        return false;
    for (size_t i = 0; i < sizeof mask / sizeof *mask; i++)
        count += __builtin_popcountl(mask[i]);
    return count > 1;
}

bool numa_has_several(void)
{
    static atomic_int numa_several = -1;
    int several = atomic_load_explicit(&numa_several, memory_order_relaxed);
    if (several < 0) {
        several = numa_count_nodes();
        atomic_store_explicit(&numa_several, several, memory_order_relaxed);
    }
    return several;
}

void numa_ask(pid_t pid, uint64_t start, uint64_t step, size_t count, int *nodes)
{
    void *pages[NUMA_PAGES_MOST];
    for (size_t i = 0; i < count; i++) {
        pages[i] = (void *)(uintptr_t)(start + i * step); /* NOLINT: another process's address */
        nodes[i] = NUMA_UNKNOWN;
    }
    long failed = syscall(SYS_move_pages, pid, (unsigned long)count, pages, NULL, nodes, 0);
    for (size_t i = 0; i < count; i++)
        if (failed < 0 || nodes[i] < 0) /* -ENOENT, -EFAULT … */
            nodes[i] = NUMA_UNKNOWN;
}
