/* Memory of another process. 0 or -errno; -EFAULT: not all of it is mapped. */
#ifndef TIDEMARK_ATTACH_TARGET_MEMORY_H
#define TIDEMARK_ATTACH_TARGET_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

int memory_read(pid_t pid, uintptr_t address, void *bytes, size_t count);
int memory_write(pid_t pid, uintptr_t address, const void *bytes, size_t count);
/* Also writes where the process itself may only read. We must be its tracer. */
int memory_force(pid_t pid, uintptr_t address, const void *bytes, size_t count);
/* Reads a string, cut to `room` bytes with its end. */
int memory_read_string(pid_t pid, uintptr_t address, char *text, size_t room);

#endif
