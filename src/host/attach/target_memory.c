/* Reads and writes another process's memory by process_vm_readv() and process_vm_writev(). Memory
 * that the process may not write is written through /proc/PID/mem. A string is read byte by byte,
 * because the page behind its end may not be mapped. */
#include "attach/target_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

int memory_read(pid_t pid, uintptr_t address, void *bytes, size_t count)
{
    struct iovec here = {bytes, count}, there = {(void *)address, count};
    ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);
    return got == (ssize_t)count ? 0 : got < 0 ? -errno : -EFAULT;
}

int memory_write(pid_t pid, uintptr_t address, const void *bytes, size_t count)
{
    struct iovec here = {(void *)(uintptr_t)bytes, count}, there = {(void *)address, count};
    ssize_t wrote = process_vm_writev(pid, &here, 1, &there, 1, 0);
    return wrote == (ssize_t)count ? 0 : wrote < 0 ? -errno : -EFAULT;
}

int memory_force(pid_t pid, uintptr_t address, const void *bytes, size_t count)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t wrote = pwrite(fd, bytes, count, (off_t)address);
    int status = wrote == (ssize_t)count ? 0 : wrote < 0 ? -errno : -EFAULT;
    close(fd);
    return status;
}

int memory_read_string(pid_t pid, uintptr_t address, char *text, size_t room)
{
    for (size_t at = 0; at + 1 < room; at++) {
        int status = memory_read(pid, address + at, &text[at], 1);
        if (status < 0 && at == 0)
            return status;
        if (status < 0)
            text[at] = '\0';
        if (text[at] == '\0')
            return 0;
    }
    text[room - 1] = '\0';
    return 0;
}
