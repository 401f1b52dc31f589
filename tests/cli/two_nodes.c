/* A machine with several NUMA nodes, for a collector that runs with this in front (numa.sh): memory
 * of one node is said to be of node 1 in each second MiB, of node 10 in each eighth, and not to be
 * told in each sixteenth. What is not there is said as the kernel says it. */
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

static long call(long number, const long words[6])
{
    long result;
    register long fourth __asm__("r10") = words[3];
    register long fifth __asm__("r8") = words[4];
    register long sixth __asm__("r9") = words[5];
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(number), "D"(words[0]), "S"(words[1]), "d"(words[2]), "r"(fourth),
                       "r"(fifth), "r"(sixth)
                     : "rcx", "r11", "memory");
    return result;
}

static void tell(long count, const uintptr_t *pages, int *nodes)
{
    for (long i = 0; i < count; i++)
        if (nodes[i] >= 0) {
            uintptr_t mib = pages[i] >> 20 & 15;
            nodes[i] = mib == 15 ? -EBUSY : mib % 8 == 6 ? 10 : mib % 2 ? 1 : 0;
        }
}

long syscall(long number, ...)
{
    long words[6];
    va_list more;
    va_start(more, number);
    for (int i = 0; i < 6; i++)
        words[i] = va_arg(more, long);
    va_end(more);
    long result = call(number, words);
    if (number == SYS_get_mempolicy && !result)
        *(unsigned long *)words[1] = 0x403; /* nodes 0, 1 and 10 */
    if (number == SYS_move_pages && !result)
        tell(words[1], (const uintptr_t *)words[2], (int *)words[4]);
    if (result >= 0 || result < -4095)
        return result;
    errno = (int)-result;
    return -1;
}
